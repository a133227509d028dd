//! The questions that findings put to the operator.

use crate::finding::Choice;
use crate::fix::plan::{Answer, SkipReason, Skipped};

use crate::cli::io::failure::Failure;
use crate::cli::io::terminal::{line, read_line, say};

/// Asks the questions of the findings. Nothing is chosen for the operator: an empty answer skips the finding.
pub(super) fn ask(left: &[Skipped]) -> Result<Vec<Answer>, Failure> {
    let mut answers = Vec::new();
    for left in left {
        let SkipReason::Question(choices) = &left.reason else { continue };
        say("\n");
        line(&format!("{} on {}: {}", left.rule, left.resource, left.what));
        for (index, choice) in choices.iter().enumerate() {
            let proposed = if index == 0 && choices.len() > 1 { " (proposed)" } else { "" };
            line(&format!("  {}  {}{proposed}", index + 1, choice.summary));
        }
        let picked: Option<&Choice> = loop {
            say(&format!("1 to {}, or Enter to skip it: ", choices.len()));
            let answer = read_line()?;
            match answer.trim() {
                "" => break None,
                text => match text.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?)) {
                    Some(choice) => break Some(choice),
                    None => line("that is not one of the choices"),
                },
            }
        };
        answers.extend(picked.map(|choice| Answer {
            rule: left.rule.to_owned(),
            resource: left.resource.clone(),
            value: choice.value.clone(),
        }));
    }
    Ok(answers)
}
