//! Policy variables: `${key}`, `${key, 'default'}`, and the escapes `${*}`, `${?}`, `${$}`.
//! Source: AWS IAM User Guide, "IAM policy elements: Variables and tags".

/// A piece of a text that may hold variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Text in which `*` and `?` are wildcards, if the element supports wildcards.
    Text(String),
    /// Literal text.
    Literal(String),
    /// Value of a context key.
    Variable {
        /// Context key, in lower case.
        key: String,
        /// Default if the request does not carry the key.
        default: Option<String>,
    },
}

/// Error in a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VariableError {
    /// `${` without `}`.
    Unclosed,
    /// `${}`.
    Empty,
    /// White space in the name.
    Space,
    /// A default that is not in single quotes.
    Quote,
}

/// Splits a text into its pieces. A malformed variable is plain text.
pub(super) fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((inner, after)) = behind.split_once('}') else { break };
        if !before.is_empty() {
            pieces.push(Piece::Text(before.to_owned()));
        }
        pieces.push(match variable(inner) {
            Ok(piece) => piece,
            Err(_) => Piece::Literal(format!("${{{inner}}}")),
        });
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    pieces
}

/// Replaces the variables that have a single value. A value with special characters is not inserted.
pub(super) fn filled<'v>(text: &str, value: impl Fn(&str) -> Option<&'v str>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((inner, after)) = behind.split_once('}') else { break };
        out.push_str(before);
        let known = match variable(inner) {
            Ok(Piece::Variable { key, .. }) => value(&key).filter(|value| !value.contains(['*', '?', '$'])),
            _ => None,
        };
        out.push_str(&known.map_or_else(|| format!("${{{inner}}}"), str::to_owned));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Errors in the variables of a text.
pub(super) fn errors(text: &str) -> Vec<VariableError> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, behind)) = rest.split_once("${") {
        let Some((inner, after)) = behind.split_once('}') else {
            found.push(VariableError::Unclosed);
            break;
        };
        found.extend(variable(inner).err());
        rest = after;
    }
    found
}

/// True if a text holds a variable for a condition key. `${PARTITION}` and `${AWS::Region}` are placeholders, which
/// another tool replaces before the cloud receives the policy.
pub(super) fn is_used(text: &str) -> bool {
    is_used_before(text, usize::MAX)
}

/// True if a text holds such a variable before this number of colons.
pub(super) fn is_used_before(text: &str, colons: usize) -> bool {
    let mut passed = 0;
    pieces(text).iter().any(|piece| match piece {
        Piece::Text(text) | Piece::Literal(text) => {
            passed += text.matches(':').count();
            false
        }
        Piece::Variable { key, .. } => passed < colons && key.contains(':') && !key.contains("::"),
    })
}

fn variable(inner: &str) -> Result<Piece, VariableError> {
    if matches!(inner, "*" | "?" | "$") {
        return Ok(Piece::Literal(inner.to_owned()));
    }
    let (key, default) = match inner.split_once(',') {
        Some((key, default)) => {
            let default = default.trim_start().strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
            (key, Some(default.ok_or(VariableError::Quote)?.to_owned()))
        }
        None => (inner, None),
    };
    if key.is_empty() {
        return Err(VariableError::Empty);
    }
    if key.contains(char::is_whitespace) {
        return Err(VariableError::Space);
    }
    Ok(Piece::Variable { key: key.to_ascii_lowercase(), default })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_defaults_and_escapes() {
        assert_eq!(
            pieces("a/${aws:UserName}/*${*}${?}x"),
            [
                Piece::Text("a/".into()),
                Piece::Variable { key: "aws:username".into(), default: None },
                Piece::Text("/*".into()),
                Piece::Literal("*".into()),
                Piece::Literal("?".into()),
                Piece::Text("x".into()),
            ]
        );
        assert_eq!(
            pieces("${aws:PrincipalTag/team, 'company-wide'}"),
            [Piece::Variable { key: "aws:principaltag/team".into(), default: Some("company-wide".into()) }]
        );
        assert_eq!(pieces("${a"), [Piece::Text("${a".into())]);
    }

    #[test]
    fn what_every_request_carries_is_filled_in_and_nothing_else() {
        let of = |key: &str| match key {
            "aws:principalaccount" => Some("111122223333"),
            "aws:wild" => Some("a*"),
            _ => None,
        };
        let text = "b-${aws:PrincipalAccount}/${aws:PrincipalAccount, 'x'}/${aws:Wild}/${aws:UserName}/${*}/${";
        assert_eq!(filled(text, of), "b-111122223333/111122223333/${aws:Wild}/${aws:UserName}/${*}/${");
    }

    #[test]
    fn malformed_variables_are_named() {
        assert_eq!(errors("${"), [VariableError::Unclosed]);
        assert_eq!(
            errors("${} ${a b} ${a, b} ${ok}"),
            [VariableError::Empty, VariableError::Space, VariableError::Quote]
        );
    }
}
