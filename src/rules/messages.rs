//! What the controllers write in logs and events, with the versions that write it and the function that does. One table
//! for each component.

use std::sync::LazyLock;

mod account;
mod alb_ingress_build;
mod alibaba;
mod alibaba_api;
mod alibaba_build;
mod auto_scaling;
mod cloud_controller;
mod cloud_controller_build;
mod credentials;
mod ebs_volumes;
mod efs;
mod elastic_load_balancing;
mod ingress_build;
mod karpenter;
mod kubernetes_objects;
mod load_balancer_build;
mod load_balancer_controller;
mod node_state;
mod nodes;
mod scaling;
mod storage;

/// Words of a line of the AWS Load Balancer Controller: its events, its annotations, and its structured log.
const LBC_FRAMES: &[&str] = &[
    "Failed build model",
    "FailedBuildModel",
    "FailedDeployModel",
    "aws-load-balancer",
    "alb.ingress.kubernetes.io",
    "elbv2.k8s.aws",
    "\"controller\":\"ingress\"",
    "\"controller\":\"service\"",
];

/// Words of a line about Alibaba Cloud.
const OF_ALIBABA: &[&str] = &["alibaba", "alicloud", "aliyun", "alb-ingress-controller"];

/// Words of pipelines, which assume roles with the tokens of their platforms.
const OF_PIPELINES: &[&str] =
    &["githubusercontent", "GitHub", "GitLab", "with OIDC", "Terraform", "Jenkins", "keycloak"];

/// Components that write messages of several tables.
const ALIBABA: &str = "cloud controller (Alibaba Cloud)";
const CLOUD_CONTROLLER: &str = "cloud controller (AWS)";
const LOAD_BALANCER_CONTROLLER: &str = "AWS Load Balancer Controller";

/// Rules that find why a call was refused, the most probable first.
pub(crate) mod refusals {
    /// A RAM policy refused.
    pub(crate) const RAM: &[&str] =
        &["ram-action-missing", "ram-action-denied", "ram-action-partial", "ram-controller-principal-assumed"];
    /// No policy of the role allows the action.
    pub(crate) const NOTHING_ALLOWS: &[&str] = &[
        "iam-action-missing",
        "iam-action-partial",
        "iam-controller-action-missing",
        "controller-action-missing",
        "controller-condition-unmet",
    ];
    /// The line does not state which policy refused.
    pub(crate) const UNSTATED: &[&str] = &[
        "iam-action-missing",
        "iam-action-partial",
        "iam-action-denied",
        "iam-controller-action-missing",
        "controller-action-missing",
        "controller-condition-unmet",
    ];
    /// The Pods of a controller use the role of their node, although their ServiceAccount names another one.
    pub(crate) const WITHOUT_TOKEN: &str = "sa-token-pod-without";
    /// A controller has no role, and those of its nodes grant nothing, or not all.
    pub(crate) const WITHOUT_ROLE: &[&str] = &["controller-rights-absent", "controller-node-rights-missing"];
    /// Rules that find why the AWS Load Balancer Controller may not make the call.
    pub(crate) const OF_INGRESSES: &[&str] = &["lbc-v1-resource"];
    /// Rules that find why a call was necessary: the account has no service-linked role yet.
    pub(crate) const SERVICE_LINKED_ROLE: &[&str] = &["lb-service-linked-role-missing"];
    /// A policy refused whatever the role allows.
    pub(crate) const DENIED: &[&str] = &["iam-action-denied"];
}

/// Rules that find why the metadata service refused, by its status.
/// Source: AWS re:Post, "ec2-linux-metadata-retrieval".
pub(crate) mod metadata {
    /// 403: the service is off.
    pub(crate) const OFF: &[&str] = &["imds-disabled"];
    /// 404 for credentials: no profile, or one without a role.
    pub(crate) const NO_ROLE: &[&str] = &["instance-profile-missing", "instance-profile-without-role"];
    /// 401, or no answer: the token does not come back.
    pub(crate) const NO_TOKEN: &[&str] = &["imds-hop-limit-low", "controller-metadata-unreachable"];
}

/// Part of the inventory that explains a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExplainedBy {
    /// Its rules alone.
    Rules,
    /// Users of the resources that cannot be deleted.
    Users,
    /// The defaults of the metadata service, which a launch may leave open.
    MetadataDefaults,
}

/// Something that a component writes.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact about the text")]
pub(crate) struct Message {
    pub(crate) component: &'static str,
    /// Constant parts of its text, all of which it contains.
    pub(crate) parts: &'static [&'static str],
    /// Parts that it does not contain.
    without: &'static [&'static str],
    /// Parts of which it contains one; none if it needs none.
    among: &'static [&'static str],
    /// Versions of the component that write it; `..` before the first that was read.
    pub(crate) versions: &'static str,
    /// `path#function` in the repository of the component, or a document.
    pub(crate) source: &'static str,
    pub(crate) meaning: &'static str,
    /// False if nothing is wrong.
    pub(crate) is_defect: bool,
    /// Rules that find the cause, the most probable first.
    pub(crate) rules: &'static [&'static str],
    /// Rules that apply under a further condition.
    pub(crate) conditions: &'static [&'static str],
    /// True if it counts although the line reports a refusal of IAM.
    pub(crate) is_over_refusal: bool,
    /// True if its words are those of other programs too: it counts in a line that a controller certainly wrote.
    needs_context: bool,
    /// True if it means the same for every caller: a controller, a person or a pipeline.
    pub(crate) is_of_any_caller: bool,
    /// Part of the inventory that explains it.
    pub(crate) explained_by: ExplainedBy,
    /// True if the status of the metadata service in the line decides about the cause.
    pub(crate) is_about_metadata: bool,
    /// True if its cause is at the instance on which the controller runs.
    pub(crate) is_about_host: bool,
    /// Those of its rules that check its condition itself: if all of them pass, what the others find does not lead to it.
    pub(crate) deciding: &'static [&'static str],
}

/// All messages.
pub(crate) fn all() -> impl Iterator<Item = &'static Message> {
    let tables = [
        cloud_controller::MESSAGES,
        load_balancer_controller::MESSAGES,
        load_balancer_build::MESSAGES,
        ingress_build::MESSAGES,
        cloud_controller_build::MESSAGES,
        alibaba_build::MESSAGES,
        alb_ingress_build::MESSAGES,
        storage::MESSAGES,
        ebs_volumes::MESSAGES,
        efs::MESSAGES,
        scaling::MESSAGES,
        auto_scaling::MESSAGES,
        karpenter::MESSAGES,
        nodes::MESSAGES,
        node_state::MESSAGES,
        kubernetes_objects::MESSAGES,
        credentials::MESSAGES,
        account::MESSAGES,
        elastic_load_balancing::MESSAGES,
        alibaba::MESSAGES,
        alibaba_api::MESSAGES,
    ];
    tables.into_iter().flatten()
}

/// Longest list of messages that the description of a rule has.
const SHOWN: usize = 6;

/// Messages of the components whose cause a rule finds: constant parts, with `…` between them. Messages for which the
/// rule is the most probable cause come first.
pub(crate) fn of_rule(id: &str) -> Vec<(&'static str, String)> {
    let mut found: Vec<(usize, &'static str, String)> = all()
        .filter(|message| message.is_defect)
        .filter_map(|message| {
            let place = message.rules.iter().position(|rule| *rule == id)?;
            Some((place.min(1), message.component, message.parts.join(" … ")))
        })
        .collect();
    found.sort_by_key(|(place, ..)| *place);
    let mut shown: Vec<(&'static str, String)> = Vec::new();
    for (_, component, text) in &found {
        // Another message has the same words and more.
        let is_shortened = found.iter().any(|(.., other)| other != text && other.contains(text.as_str()));
        let is_shown = shown.iter().any(|(_, other)| other == text);
        if !is_shortened && !is_shown && shown.len() < SHOWN {
            shown.push((component, text.clone()));
        }
    }
    shown
}

const fn message(
    component: &'static str,
    parts: &'static [&'static str],
    versions: &'static str,
    source: &'static str,
    is_defect: bool,
) -> Message {
    Message {
        component,
        parts,
        without: &[],
        among: &[],
        versions,
        source,
        meaning: "",
        is_defect,
        rules: &[],
        conditions: &[],
        is_over_refusal: false,
        needs_context: false,
        is_of_any_caller: false,
        explained_by: ExplainedBy::Rules,
        is_about_metadata: false,
        is_about_host: false,
        deciding: &[],
    }
}

/// A message that reports a defect.
const fn defect(
    component: &'static str,
    parts: &'static [&'static str],
    versions: &'static str,
    source: &'static str,
) -> Message {
    message(component, parts, versions, source, true)
}

/// A message that looks bad, or good, and reports no defect.
const fn harmless(
    component: &'static str,
    parts: &'static [&'static str],
    versions: &'static str,
    source: &'static str,
) -> Message {
    message(component, parts, versions, source, false)
}

impl Message {
    const fn rules(self, rules: &'static [&'static str]) -> Self {
        Self { rules, ..self }
    }

    const fn conditions(self, conditions: &'static [&'static str]) -> Self {
        Self { conditions, ..self }
    }

    const fn means(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    const fn unless(self, without: &'static [&'static str]) -> Self {
        Self { without, ..self }
    }

    const fn with_one_of(self, among: &'static [&'static str]) -> Self {
        Self { among, ..self }
    }

    const fn in_context(self) -> Self {
        Self { needs_context: true, ..self }
    }

    const fn of_any_caller(self) -> Self {
        Self { is_of_any_caller: true, ..self }
    }

    /// Counts for every caller, and for what it names the inventory shows what uses it.
    const fn deletion(self) -> Self {
        Self { is_of_any_caller: true, explained_by: ExplainedBy::Users, ..self }
    }

    const fn metadata_defaults(self) -> Self {
        Self { explained_by: ExplainedBy::MetadataDefaults, ..self }
    }

    const fn metadata(self) -> Self {
        Self { is_about_metadata: true, ..self }
    }

    const fn host(self) -> Self {
        Self { is_about_host: true, ..self }
    }

    const fn decided_by(self, deciding: &'static [&'static str]) -> Self {
        Self { deciding, ..self }
    }

    const fn over_refusal(self) -> Self {
        Self { is_over_refusal: true, ..self }
    }

    /// Number of characters that are constant: the more, the more specific.
    fn weight(&self) -> usize {
        self.parts.iter().map(|part| part.len()).sum()
    }
}

/// A message with its parts as they are compared: without white space and in lower case, since pastes are wrapped anywhere.
struct Pattern {
    message: &'static Message,
    parts: Vec<String>,
    without: Vec<String>,
    among: Vec<String>,
}

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let bare = |parts: &[&str]| parts.iter().map(|part| bare(part)).collect();
    let pattern = |message: &'static Message| Pattern {
        message,
        parts: bare(message.parts),
        without: bare(message.without),
        among: bare(message.among),
    };
    all().map(pattern).collect()
});

/// A text without white space, in lower case.
pub(crate) fn bare(text: &str) -> String {
    text.chars().filter(|one| !one.is_whitespace()).flat_map(char::to_lowercase).collect()
}

impl Pattern {
    /// True if a bare text is this message.
    fn is_in(&self, text: &str) -> bool {
        let has = |part: &String| contains(text, part);
        self.parts.iter().all(has)
            && !self.without.iter().any(has)
            && (self.among.is_empty() || self.among.iter().any(has))
    }

    /// True if a bare text ends within this message: a paste that was cut, which a mark at its end may show.
    fn is_cut_off_in(&self, text: &str, is_marked: bool) -> bool {
        let [whole] = self.parts.as_slice() else { return false };
        let shortest = if is_marked { SHORTEST_CUT } else { SHORTEST_UNMARKED };
        let least = shortest.max(whole.len() * 2 / 5);
        let ends = (least..whole.len()).rev().filter(|end| whole.is_char_boundary(*end));
        ends.filter_map(|end| whole.get(..end)).any(|start| text.ends_with(start))
    }
}

/// True if a bare text contains a part. A number is whole: `0 have` is not in `10 have`.
fn contains(text: &str, part: &str) -> bool {
    let is_number = part.starts_with(|first: char| first.is_ascii_digit());
    let is_within = |at: usize| text.get(..at).is_some_and(|before| before.ends_with(|one: char| one.is_ascii_digit()));
    text.match_indices(part).any(|(at, _)| !is_number || !is_within(at))
}

/// Fewest characters by which a message that was cut is known, with a mark where it was cut.
const SHORTEST_CUT: usize = 17;

/// The same without a mark.
const SHORTEST_UNMARKED: usize = 24;

/// What is known about a line besides its text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    /// True if it reports a refusal of IAM.
    pub(crate) is_refusal: bool,
    /// True if a controller certainly wrote it.
    pub(crate) is_of_controller: bool,
    /// True if it may hold several messages: a defect counts more than what is harmless.
    pub(crate) is_long: bool,
}

/// The most specific message of a bare text. A message that was cut counts only if no whole one is there.
pub(crate) fn find(text: &str, line: Line) -> Option<&'static Message> {
    let counts = |pattern: &&Pattern| {
        let message = pattern.message;
        (!line.is_refusal || message.is_over_refusal) && (!message.needs_context || line.is_of_controller)
    };
    let whole = PATTERNS.iter().filter(counts).filter(|pattern| pattern.is_in(text)).map(|pattern| pattern.message);
    let rank = |message: &Message| (line.is_long && message.is_defect, message.weight());
    // Of equals the first counts.
    let best = whole.reduce(|best, other| if rank(other) > rank(best) { other } else { best });
    let cut = text.strip_suffix("[truncated]").unwrap_or(text).trim_end_matches(['…', '.', '"', '\'', '\\']);
    let is_marked = cut.len() < text.len();
    best.or_else(|| {
        let is_cut = |pattern: &&Pattern| pattern.is_cut_off_in(cut, is_marked);
        PATTERNS.iter().filter(counts).filter(|_| !line.is_refusal).find(is_cut).map(|pattern| pattern.message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_of_a_message_exists() {
        for message in all() {
            for rule in message.rules.iter().chain(message.conditions) {
                assert!(crate::rules::find(rule).is_some(), "{rule} of {:?}", message.parts);
            }
            assert!(!message.meaning.is_empty() && !message.source.is_empty(), "{:?}", message.parts);
            assert!(message.is_defect || message.rules.is_empty(), "{:?}", message.parts);
        }
    }

    const LINE: Line = Line { is_refusal: false, is_of_controller: true, is_long: false };

    /// Each message is found by its own constant parts: no other one is more specific there.
    #[test]
    fn no_message_hides_another() {
        for message in all() {
            let one = message.among.first().copied().unwrap_or_default();
            let found = find(&bare(&format!("{} … {one}", message.parts.join(" … "))), LINE).unwrap();
            assert!(
                std::ptr::eq(found, message) || found.rules == message.rules,
                "{:?} is taken for {:?}",
                message.parts,
                found.parts
            );
        }
    }

    /// Only what the API server cannot connect to is not reached.
    #[test]
    fn a_webhook_that_answers_is_reached() {
        let line = |end: &str| {
            let text = format!(
                "Error: Internal error occurred: failed calling webhook \"vingress.elbv2.k8s.aws\": failed to call webhook: Post \"https://aws-load-balancer-webhook-service.kube-system.svc:443/validate-networking-v1-ingress?timeout=10s\": {end}"
            );
            find(&bare(&text), LINE).unwrap().meaning
        };
        assert!(line("context deadline exceeded").contains("does not reach"));
        assert!(line("dial tcp 10.0.1.7:9443: connect: connection refused").contains("does not reach"));
        assert!(line("x509: certificate signed by unknown authority").contains("caBundle"));
        assert!(line("tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time 2026-01-05T08:00:00Z is after 2026-01-01T00:00:00Z").contains("expired"));
        assert!(line("x509: certificate is valid for a, not b").contains("does not accept"));
        assert!(line("the server could not find the requested resource").contains("another release"));
        assert!(line("service \"aws-load-balancer-webhook-service\" not found").contains("does not exist"));
    }

    /// A message whose parts contain those of another is the more specific one, wherever both are.
    #[test]
    fn what_states_more_counts_more() {
        for (one, other) in all().flat_map(|one| all().map(move |other| (one, other))) {
            let contains = |part: &&str| one.parts.iter().any(|own| bare(own).contains(&bare(part)));
            let is_wider = !std::ptr::eq(one, other) && other.parts.iter().all(contains);
            assert!(!is_wider || one.weight() >= other.weight(), "{:?} and {:?}", one.parts, other.parts);
        }
    }

    #[test]
    fn a_message_that_was_cut_is_known_by_its_beginning() {
        assert!(find(&bare("x: multiple tagged secur…"), LINE).is_some());
        assert!(find(&bare("failed to ensure load balancer: error"), LINE).is_none());
    }

    /// A count is a whole number, and a whole line is not the beginning of a message.
    #[test]
    fn numbers_and_lines_are_whole() {
        let of = |counts: &str| {
            let text = format!(
                "unable to resolve at least one subnet. Evaluated 20 subnets: {counts} insufficient available IP addresses"
            );
            find(&bare(&text), LINE).unwrap().rules
        };
        assert_eq!(of("0 are tagged for other clusters, and 10 have"), ["subnet-low-free-ips"]);
        assert_eq!(of("10 are tagged for other clusters, and 0 have").first(), Some(&"subnet-foreign-cluster-tag"));
        assert!(find(&bare("nginx: Error: no certificate found"), LINE).is_none());
        let pulled = |text: &str| find(&bare(text), LINE).map(|one| one.component);
        let image = "111122223333.dkr.ecr.eu-west-1.amazonaws.com/shop:1";
        assert!(pulled(&format!("GET /orders 401 Unauthorized container_image={image}")).is_none());
        assert!(pulled(&format!("Failed to pull image \"{image}\": unexpected status: 401 Unauthorized")).is_some());
    }

    #[test]
    fn words_of_other_programs_need_a_controller() {
        let line = Line { is_of_controller: false, ..LINE };
        assert!(find(&bare("NoCredentialProviders: no valid providers in chain"), line).is_none());
    }
}
