//! The block of one load balancer in the table of a simulation.

use std::fmt::Write as _;

use crate::model::{
    Answer, Call, CallAnswer, Decision, HealthCheck, IngressRule, Listener, ModelledController, NewGroup,
};
use crate::policy::Verdict;
use crate::text;

use super::{SHOWN, named};
use crate::render::style::{Painter, TableOptions, paragraph};

/// The block of a load balancer.
pub(super) fn block(page: &mut String, decision: &Decision, painter: Painter, options: &TableOptions) {
    let title = named(&decision.object);
    let (word, paint): (&str, fn(Painter, &str) -> String) = match (&decision.error, decision.handled) {
        (Answer::Is(Some(_)), _) => ("fails", Painter::bad),
        (Answer::Unknown | Answer::Is(None), true) if decision.refused().next().is_some() => ("refused", Painter::bad),
        (Answer::Unknown | Answer::NotReached, _) => ("undecided", Painter::warn),
        (Answer::Is(None), true) if decision.undecided_calls().next().is_some() => ("undecided", Painter::warn),
        (Answer::Is(None), true) => ("succeeds", Painter::good),
        (Answer::Is(None), false) => ("ignored", Painter::dim),
    };
    let _ = writeln!(page, "\n{} {}", paint(painter, word), painter.bold(&title));
    let mut line = |label: &str, body: &str| paragraph(page, label, body, painter, options);
    let by = decision.controller.describe();
    let is_open = decision.error == Answer::Unknown;
    if !decision.handled {
        let takes = if is_open { "whether the {} takes it is not known" } else { "the {} does not take it" };
        line("by", &takes.replace("{}", by));
    }
    if !decision.members.is_empty() {
        let names: Vec<String> =
            decision.members.iter().map(|member| format!("{}/{}", member.namespace, member.name)).collect();
        line("group", &format!("also {}", list(&names, options)));
    }
    if decision.handled {
        let what = load_balancer(decision);
        let version = &decision.version;
        match (&decision.error, decision.created) {
            (Answer::Is(None), _) if decision.refused().next().is_some() => {
                line(
                    "asks",
                    &format!("for {what} from the {by} {version}, whose role lacks the permission for some calls"),
                );
            }
            (Answer::Is(None), _) if decision.undecided_calls().next().is_some() => {
                line("asks", &format!("for {what} from the {by} {version}, but some of its calls may be refused"));
            }
            (Answer::Is(None), _) => line("gets", &format!("{what} from the {by} {version}")),
            (Answer::Is(Some(_)), true) => line("gets", &format!("{what} from the {by} {version}, which then stops")),
            (Answer::Is(Some(_)), false) => {
                line("asks", &format!("for {what}, which the {by} {version} does not create"));
            }
            (Answer::Unknown | Answer::NotReached, _) => {
                line("asks", &format!("for {what} from the {by} {version}, which may stop"));
            }
        }
    }
    if let Answer::Is(Some(error)) = &decision.error {
        line("error", error);
    }
    let refused = decision.refused().filter_map(|call| Some((call, call.answer.as_ref()?)));
    for (call, answer) in refused {
        line("refused", &refusal(call, answer, options));
    }
    if let Some(open) = open_rights(decision, options) {
        line("rights", &open);
    }
    existing(&mut line, decision);
    network(&mut line, decision, options);
    answer(&mut line, "listens", &decision.listeners, |all| listeners(all));
    answer(&mut line, "groups", &decision.lb_groups, |groups| {
        if groups.is_empty() { "none".to_owned() } else { list(groups, options) }
    });
    if let Answer::Is(Some(group)) = &decision.new_group {
        line("", &format!("new group {}", created(group, options)));
    }
    answer(&mut line, "nodes", &decision.rules, |rules| {
        let rules: Vec<String> = rules.iter().map(rule).collect();
        if rules.is_empty() { "no rule is added".to_owned() } else { list(&rules, options) }
    });
    if let Answer::Is(removed) = &decision.rules_removed
        && !removed.is_empty()
    {
        line("", &format!("removed: {}", list(&removed.iter().map(rule).collect::<Vec<_>>(), options)));
    }
    targets(&mut line, decision, options);
    answer(&mut line, "health", &decision.health_check, health);
    explanations(&mut line, decision, options);
}

/// Listeners with their certificates.
fn listeners(all: &[Listener]) -> String {
    if all.is_empty() {
        return "none".to_owned();
    }
    let described = all.iter().map(|one| {
        let certificates: Vec<_> = one.certificates.iter().map(|id| text::printable(id)).collect();
        let more = if certificates.is_empty() { String::new() } else { format!(" ({})", text::list(&certificates, 2)) };
        format!("{}{more}", text::printable(&one.describe()))
    });
    described.collect::<Vec<_>>().join(", ")
}

/// The word for the subnets of a load balancer.
fn networks(decision: &Decision) -> &'static str {
    match decision.controller {
        ModelledController::CloudProviderAlibaba => "vSwitch",
        ModelledController::CloudProviderAws | ModelledController::LoadBalancerController => "subnets",
    }
}

/// The load balancer that exists.
fn existing(line: &mut impl FnMut(&str, &str), decision: &Decision) {
    let Answer::Is(id) = &decision.load_balancer_id else { return };
    let listeners = match decision.listeners_written {
        Answer::Is(false) => "; its listeners stay as they are (`force-override-listeners` is not `true`)",
        _ => "",
    };
    line("exists", &format!("{}{listeners}", text::printable(id)));
}

/// Subnets, vSwitches and zones.
fn network(line: &mut impl FnMut(&str, &str), decision: &Decision, options: &TableOptions) {
    answer(line, networks(decision), &decision.subnets, |subnets| list(subnets, options));
    answer(line, "one of", &decision.subnets_one_of, |subnets| list(subnets, options));
    answer(line, "zones", &decision.zone_mappings, |zones| {
        list(&zones.iter().map(|one| format!("{} ({})", one.zone, one.vswitch)).collect::<Vec<_>>(), options)
    });
    if decision.subnets.is_not_reached() && !decision.subnets_passed_over.is_empty() {
        line("subnets", "none is chosen");
    }
    let passed = decision.subnets_passed_over.iter();
    for (reason, subnets) in by_reason(passed.map(|one| (&one.reason, format!("{} ({})", one.subnet, one.zone)))) {
        line("", &format!("not {}: {reason}", list(&subnets, options)));
    }
}

/// Targets, and the Nodes that are none.
fn targets(line: &mut impl FnMut(&str, &str), decision: &Decision, options: &TableOptions) {
    answer(line, "targets", &decision.targets, |targets| {
        if targets.is_empty() { "none".to_owned() } else { format!("{}: {}", targets.len(), list(targets, options)) }
    });
    if let Answer::Is(weights) = &decision.weights
        && weights.values().any(|weight| Some(weight) != weights.values().next())
    {
        let weights: Vec<String> = weights.iter().map(|(target, weight)| format!("{target} {weight}")).collect();
        line("", &format!("weights: {}", list(&weights, options)));
    }
    if let Answer::Is(groups) = &decision.server_groups {
        let groups = if groups.is_empty() { "none".to_owned() } else { list(groups, options) };
        line("", &format!("server groups: {groups}"));
    }
    let left_out = decision.nodes_left_out.iter();
    for (reason, nodes) in by_reason(left_out.map(|one| (&one.reason, one.node.clone()))) {
        line("", &format!("not {}: {reason}", list(&nodes, options)));
    }
}

/// Assumptions, unknown fields, calls and functions of a decision.
fn explanations(line: &mut impl FnMut(&str, &str), decision: &Decision, options: &TableOptions) {
    for note in &decision.notes {
        line("note", note);
    }
    let unknown = decision.unknown.iter();
    for (reason, fields) in by_reason(unknown.map(|one| (&one.reason, one.field.replace('_', " ")))) {
        line("unknown", &format!("{}: {reason}", fields.join(", ")));
    }
    if options.verbose {
        for call in decision.calls.iter().filter(|call| !call.is_refused()) {
            let verdict = call.answer.as_ref().map_or("its role is not known", |answer| answer.verdict.name());
            line("calls", &format!("{}: {verdict}", call.action));
        }
        for step in &decision.steps {
            line("decided", &format!("{}: {}", step.decides.replace('_', " "), step.function));
        }
    }
}

/// The calls of which it is not known if the role may make them, and why.
fn open_rights(decision: &Decision, options: &TableOptions) -> Option<String> {
    let is_compared = |call: &&Call| call.answer.is_some();
    let (conditional, unknown): (Vec<&Call>, Vec<&Call>) = decision.undecided_calls().partition(is_compared);
    let names = |calls: &[&Call]| {
        let mut names: Vec<String> = calls.iter().map(|call| call.action.to_owned()).collect();
        names.dedup();
        list(&names, options)
    };
    let is_whole = unknown.len() == decision.calls.len();
    let of_unknown = match unknown.is_empty() {
        true => None,
        false if is_whole => {
            Some("not known: the role of the controller, or one of its policies, was not read".to_owned())
        }
        false => Some(format!("not compared with policies: {}", names(&unknown))),
    };
    let of_conditional = (!conditional.is_empty()).then(|| {
        format!("granted on some resources, or under conditions that the request decides: {}", names(&conditional))
    });
    let both: Vec<String> = of_unknown.into_iter().chain(of_conditional).collect();
    (!both.is_empty()).then(|| both.join("; "))
}

/// A call that the role may not make, and the statement that decides.
fn refusal(call: &Call, answer: &CallAnswer, options: &TableOptions) -> String {
    let role = answer.role.rsplit('/').next().unwrap_or_default();
    let because = answer.because.iter().map(|one| text::printable(&one.describe()).into_owned());
    let because: Vec<String> = because.collect();
    let why = match answer.verdict {
        Verdict::Denied if because.is_empty() => format!("a policy of the role `{role}` denies it"),
        Verdict::Denied => format!("{} denies it to the role `{role}`", because.join(", ")),
        _ => format!("no statement of the role `{role}` grants it"),
    };
    format!("{} on {}: {why}", call.action, list(&call.resources, options))
}

/// Items with the same reason, in the order of the first of each.
fn by_reason<'r>(items: impl Iterator<Item = (&'r String, String)>) -> Vec<(&'r String, Vec<String>)> {
    let mut found: Vec<(&String, Vec<String>)> = Vec::new();
    for (reason, item) in items {
        match found.iter_mut().find(|(one, _)| *one == reason) {
            Some((_, held)) => held.push(item),
            None => found.push((reason, vec![item])),
        }
    }
    found
}

pub(super) fn limit(options: &TableOptions) -> usize {
    if options.verbose { usize::MAX } else { SHOWN }
}

pub(super) fn list<T: AsRef<str>>(items: &[T], options: &TableOptions) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    text::list(&items, limit(options))
}

/// Writes an answer that the controller reached.
fn answer<T>(line: &mut impl FnMut(&str, &str), label: &str, answer: &Answer<T>, show: impl Fn(&T) -> String) {
    match answer {
        Answer::NotReached => {}
        Answer::Unknown => line(label, "unknown"),
        Answer::Is(value) => line(label, &show(value)),
    }
}

/// Scheme, kind and name of a load balancer.
fn load_balancer(decision: &Decision) -> String {
    let kind = match decision.kind.known() {
        Some(&"clb") => "Classic Load Balancer",
        Some(&"nlb") => "Network Load Balancer",
        Some(&"alb") => "Application Load Balancer",
        _ => "load balancer",
    };
    let scheme = match decision.scheme.known() {
        Some(scheme) => format!("an {scheme} {kind}"),
        None => format!("a {kind}"),
    };
    match decision.name.known() {
        Some(name) => format!("{scheme} `{name}`"),
        None => scheme,
    }
}

fn created(group: &NewGroup, options: &TableOptions) -> String {
    let rules: Vec<String> = group.rules.iter().map(opening).collect();
    format!("`{}` with {}", group.name, list(&rules, options))
}

/// A rule with its group.
fn rule(rule: &IngressRule) -> String {
    format!("{} of {}", opening(rule), rule.group)
}

/// Protocol, ports and source of a rule.
fn opening(rule: &IngressRule) -> String {
    let protocol = if rule.protocol == "-1" { "all" } else { rule.protocol.as_str() };
    match (rule.from, rule.to) {
        (Some(kind), Some(code)) if protocol.starts_with("icmp") => {
            format!("{protocol} type {kind} code {code} from {}", rule.source)
        }
        (Some(from), Some(to)) if from == to => format!("{protocol} {from} from {}", rule.source),
        (Some(from), Some(to)) => format!("{protocol} {from}-{to} from {}", rule.source),
        _ => format!("{protocol} from {}", rule.source),
    }
}

fn health(health: &HealthCheck) -> String {
    let target = health.target.clone().unwrap_or_else(|| {
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        format!("{}:{}{}", of(&health.protocol), of(&health.port), of(&health.path))
    });
    format!(
        "{target} every {} s, timeout {} s, {} successes, {} failures",
        health.interval, health.timeout, health.healthy, health.unhealthy
    )
}
