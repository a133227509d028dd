//! Answers to pasted lines: which message of which component a line is, its probable causes, and the rules that find them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;
use serde_json::Value;

use crate::report::Finding;
use crate::resource::ResourceKind;
use crate::rules::messages::ExplainedBy;
use crate::rules::{self, messages};

mod account;
mod checked;
mod controllers;
mod decoded;
mod fields;
mod paste;
mod refusal;

pub(crate) use checked::{CheckedRule, workers};
pub(crate) use decoded::Decoded;
#[cfg(feature = "aws")]
pub(crate) use decoded::{NotDecoded, encoded};
use paste::{Record, expression};
use refusal::RefusedBy;

/// Schema of [`Why`]; `docs/why.schema.json` describes it.
const SCHEMA: &str = "tagaudit.why/1";

/// Most messages of a paste that are answered; a log may have millions of lines.
const MOST: usize = 10_000;

/// The answers to a paste.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Why {
    pub(crate) schema: &'static str,
    /// One entry for each message, in the order of the paste; equal messages are one entry.
    pub(crate) lines: Vec<LineAnswer>,
    /// The cluster in which the rules were checked.
    #[serde(skip)]
    pub(crate) cluster_id: Option<String>,
    /// Number of messages beyond the most that are read.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) not_read: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The answer to a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact about the line")]
pub(crate) struct LineAnswer {
    /// First line of the message in the paste, counted from one.
    pub(crate) line: usize,
    /// Its last line.
    pub(crate) last_line: usize,
    /// Number of times that it occurs.
    pub(crate) times: usize,
    /// True if the message is known.
    pub(crate) known: bool,
    /// False if it reports no defect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) is_defect: Option<bool>,
    /// The component that writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) component: Option<&'static str>,
    /// Versions of the component that write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) versions: Option<&'static str>,
    /// Function that writes it, or document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) meaning: Option<&'static str>,
    /// Rules that find the cause, the most probable first.
    pub(crate) rules: Vec<&'static str>,
    /// Rules that apply under a further condition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<&'static str>,
    /// Rules and conditions, checked in an audit: the certain causes first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) checked: Vec<CheckedRule>,
    /// What an inventory shows about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) here: Vec<String>,
    /// True if the policies grant the refused call today: what they lack is not its cause.
    #[serde(skip)]
    pub(crate) is_granted_today: bool,
    /// True if no rule excludes a cause: it names what the inventory does not hold, or the cause is known already.
    #[serde(skip)]
    pub(crate) excludes_nothing: bool,
    /// True if its cause is at the instance on which the controller runs.
    #[serde(skip)]
    pub(crate) is_about_host: bool,
    /// Part of the inventory that explains it.
    #[serde(skip)]
    pub(crate) explained_by: ExplainedBy,
    /// Those of its rules that check the condition of the message itself.
    #[serde(skip)]
    pub(crate) deciding: &'static [&'static str],
    /// The workload that makes the call: what a rule finds on others is not the cause.
    #[serde(skip)]
    pub(crate) workload: Option<String>,
    /// Ids, names and codes in the message.
    pub(crate) fields: BTreeMap<&'static str, Value>,
}

/// The texts of a field.
fn texts(field: &Value) -> impl Iterator<Item = &str> {
    let all = match field {
        Value::Array(all) => all.as_slice(),
        other => std::slice::from_ref(other),
    };
    all.iter().filter_map(Value::as_str)
}

/// The meaning of a message of a component, and the findings that explain it, the most probable first.
pub(crate) fn explained<'f>(text: &str, findings: &'f [Finding]) -> (Option<&'static str>, Vec<&'f Finding>) {
    let answers = answer(text);
    let Some(line) = answers.lines.iter().find(|line| line.known && line.is_defect == Some(true)) else {
        return (None, Vec::new());
    };
    let rank = |finding: &Finding| line.rules.iter().chain(&line.conditions).position(|rule| *rule == finding.rule);
    let mut found: Vec<&Finding> =
        findings.iter().filter(|one| one.is_open() && rank(one).is_some() && checked::is_about(line, one)).collect();
    found.sort_by_key(|one| rank(one));
    (line.meaning, found)
}

/// Answers a paste.
pub(crate) fn answer(paste: &str) -> Why {
    answer_decoded(paste, &Decoded::new())
}

/// Answers a paste of which encoded messages were decoded.
pub(crate) fn answer_decoded(paste: &str, decoded: &Decoded) -> Why {
    let mut records = paste::records(paste);
    let not_read = records.len().saturating_sub(MOST);
    records.truncate(MOST);
    let mut lines: Vec<LineAnswer> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for found in records.iter().flat_map(|record| answers(record, decoded)) {
        if !found.known {
            lines.push(found);
            continue;
        }
        let fields: Vec<String> = found.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let key = format!("{:?} {:?} {}", found.source, found.meaning, fields.join(" "));
        let first = *known.entry(key).or_insert(lines.len());
        match lines.get_mut(first) {
            Some(same) => same.times += 1,
            None => lines.push(found),
        }
    }
    Why { schema: SCHEMA, lines, cluster_id: None, not_read }
}

impl Why {
    /// True if a message of the paste is known.
    pub(crate) fn is_known(&self) -> bool {
        self.lines.iter().any(|line| line.known)
    }
}

/// The answer to a record, or those to its parts if they are several messages: a text without headers may hold several
/// errors, one on each line or in each paragraph.
fn answers(record: &Record, decoded: &Decoded) -> Vec<LineAnswer> {
    let answer = |record: &Record| {
        decoded::replaced(record, decoded)
            .map_or_else(|| answer_pasted(record), |(record, here)| LineAnswer { here, ..answer_record(&record) })
    };
    // A refusal that is not in a table may be a part of the message around it.
    let differ = |found: &[LineAnswer]| {
        let own = found.iter().filter(|one| one.known && one.source.is_some());
        let known: BTreeSet<_> = own.map(|one| (one.source, one.meaning)).collect();
        known.len() > 1
    };
    let lines = record.by_line();
    let by_line: Vec<LineAnswer> = lines.iter().map(answer).take_while(|one| one.known).collect();
    if by_line.len() == lines.len() && differ(&by_line) {
        return by_line;
    }
    let paragraphs = record.by_paragraph();
    // A single one is the record.
    if paragraphs.len() > 1 {
        let by_paragraph: Vec<LineAnswer> = paragraphs.iter().map(answer).collect();
        if differ(&by_paragraph) {
            return by_paragraph;
        }
    }
    vec![answer(record)]
}

fn answer_pasted(record: &Record) -> LineAnswer {
    let answer = answer_record(record);
    let here = if answer.known { decoded::pasted(record) } else { Vec::new() };
    LineAnswer { here, ..answer }
}

fn answer_record(record: &Record) -> LineAnswer {
    let is_of_controller = record.is_of_controller();
    let refusals = record.readings.iter().filter_map(|text| refusal::refusal(text));
    let is_of_people = record.is_of_people();
    let counting = refusals.filter(|one| {
        one.is_of_controllers(is_of_controller, record.names_controller()) && (!is_of_people || one.is_of_person)
    });
    // A reading that shows more is the right one.
    let refused = counting.max_by_key(|one| (one.action.is_some(), one.by != RefusedBy::Unstated));
    let bare = record.readings.last().map_or_else(String::new, |text| messages::bare(text));
    let line = messages::Line { is_refusal: refused.is_some(), is_of_controller, is_long: record.last > record.first };
    let mut found = LineAnswer {
        line: record.first,
        last_line: record.last,
        times: 1,
        known: false,
        is_defect: None,
        component: None,
        versions: None,
        source: None,
        meaning: None,
        rules: Vec::new(),
        conditions: Vec::new(),
        checked: Vec::new(),
        here: Vec::new(),
        is_granted_today: false,
        excludes_nothing: false,
        is_about_host: false,
        explained_by: ExplainedBy::Rules,
        deciding: &[],
        workload: None,
        fields: BTreeMap::new(),
    };
    let message = messages::find(&bare, line);
    let is_of_any_caller = message.is_some_and(|one| one.is_of_any_caller);
    if record.is_of_others() || is_of_people && refused.is_none() && !is_of_controller && !is_of_any_caller {
        return found;
    }
    match (message, &refused) {
        (Some(message), _) => {
            found.known = true;
            found.is_defect = Some(message.is_defect);
            found.component = Some(message.component);
            found.versions = Some(message.versions);
            found.source = Some(message.source);
            found.meaning = Some(message.meaning);
            found.rules = message.rules.to_vec();
            if message.is_about_metadata
                && let Some(rules) = by_status(&bare)
            {
                found.rules = rules.to_vec();
            }
            found.conditions = message.conditions.to_vec();
            // Which policy refused is more than that a call failed.
            if let Some(refused) = refused.as_ref().filter(|one| one.by.policy().is_some()) {
                found.rules = refused.rules().to_vec();
                found.meaning = Some(refused.meaning());
            }
            found.is_about_host = message.is_about_host;
            found.explained_by = message.explained_by;
            found.deciding = message.deciding;
        }
        (None, Some(refused)) => {
            found.known = true;
            found.is_defect = Some(true);
            found.meaning = Some(refused.meaning());
            found.rules = refused.rules().to_vec();
        }
        (None, None) => return found,
    }
    if let Some(refused) = &refused
        && refused.by.policy().is_none()
        && !found.rules.is_empty()
        && (record.is_about_ingress() || refused.is_of_ingresses())
    {
        found.rules.extend(messages::refusals::OF_INGRESSES);
    }
    // Both kinds of objects stop with the same words.
    if record.is_about_ingress() {
        found.rules.sort_by_key(|rule| rules::restates_model(rule) && rules::is_about(rule, ResourceKind::Service));
    }
    found.conditions.extend(refused.iter().flat_map(refusal::Refusal::conditions));
    found.fields = fields::fields(record, refused.as_ref());
    found
}

/// Values that no answer may repeat: encoded messages, and what signs a request.
static SECRETS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(concat!(
        r"(?i)(encoded authorization failure message:\s*|authorization:\s*(?:bearer|basic)\s+|://[^/\s:@]+:|",
        r"(?:accesskeyid|access[_-]?key|secret[a-z_-]*|signature|sig|securitytoken|x-amz-[a-z-]+|pass(?:word|wd)?|token|api[_-]?key)",
        r"[\x22']?\s*[=:]\s*[\x22']?)[^\s&\x22',}]+",
    ))
});

/// A message of a component, on one line, without what must not be repeated, and cut.
pub(crate) fn quoted(message: &str) -> String {
    const MOST: usize = 400;
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = SECRETS.as_ref().map_or_else(String::new, |secrets| secrets.replace_all(&line, "${1}…").into_owned());
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

/// Rules by the status of the metadata service, in the forms of both SDKs.
fn by_status(bare: &str) -> Option<&'static [&'static str]> {
    // A status of another service says nothing about this one.
    if !bare.contains("imds") && !bare.contains("metadata") {
        return None;
    }
    let has = |status: &str| bare.contains(&format!("statuscode:{status}"));
    if has("403") {
        Some(messages::metadata::OFF)
    } else if has("404") && bare.contains("identitydocument") {
        // The document exists for every instance: the answer is not that of EC2.
        Some(&[])
    } else if has("404") {
        Some(messages::metadata::NO_ROLE)
    } else if has("401") {
        Some(messages::metadata::NO_TOKEN)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(paste: &str) -> Vec<&'static str> {
        answer(paste).lines.iter().flat_map(|line| line.rules.clone()).collect()
    }

    #[test]
    fn independent_faults_of_a_log_are_all_answered_and_repetitions_count() {
        let log = "E1123 07:21:51.870111       1 node_controller.go:237] error syncing 'w-1': failed to get instance metadata for node w-1: instance not found, requeuing
E1123 07:21:52.870111       1 node_controller.go:237] error syncing 'w-1': failed to get instance metadata for node w-1: instance not found, requeuing
E0415 02:54:14.222212       1 controller.go:302] error processing service web/front (will retry): failed to ensure load balancer: could not find any suitable subnets for creating the ELB";
        let found = answer(log);
        assert_eq!(found.lines.iter().map(|line| line.times).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(found.lines[0].rules.first(), Some(&"node-name-mismatch"));
        assert_eq!(found.lines[1].fields["service"], "web/front");
    }

    #[test]
    fn an_event_of_an_ingress_leads_to_the_rule_on_ingresses_first() {
        let event = |source: &str| {
            format!(
                "Warning  FailedBuildModel  42s (x7 over 18m)  {source}  Failed build model due to load balancer name cannot be longer than 32 characters"
            )
        };
        assert_eq!(rules(&event("ingress")), ["ingress-sync-fails", "svc-sync-fails"]);
        assert_eq!(rules(&event("service")), ["svc-sync-fails", "ingress-sync-fails"]);
    }

    #[test]
    fn errors_without_headers_are_answered_one_by_one() {
        let two = "could not find any suitable subnets for creating the ELB
Multiple tagged security groups found for instance i-0a; ensure only the k8s security group is tagged";
        assert_eq!(answer(two).lines.iter().map(|line| line.line).collect::<Vec<_>>(), [1, 2]);
        let paragraphs = "could not find any suitable subnets\nfor creating the ELB\n\nMultiple tagged security groups found for instance i-0a;\nensure only the k8s security group is tagged";
        assert_eq!(answer(paragraphs).lines.iter().map(|line| line.line).collect::<Vec<_>>(), [1, 4]);
        // A message that is wrapped stays one.
        assert_eq!(answer("could not find any suitable subnets\nfor creating the ELB").lines.len(), 1);
    }

    #[test]
    fn a_refusal_counts_more_than_what_wraps_it() {
        let line = "error creating load balancer: \"operation error Elastic Load Balancing v2: CreateLoadBalancer, https response error StatusCode: 403, api error AccessDenied: User: arn:aws:sts::111122223333:assumed-role/cp/i-0a is not authorized to perform: elasticloadbalancing:CreateLoadBalancer on resource: * because no permissions boundary allows the elasticloadbalancing:CreateLoadBalancer action\"";
        assert_eq!(rules(line), ["iam-action-denied"]);
    }

    #[test]
    fn a_refused_service_linked_role_leads_to_the_rule_that_looks_for_it() {
        let line = "E0101 00:00:00.000000       1 a.go:1] AccessDenied: User: arn:aws:sts::111122223333:assumed-role/cp/i-0a is not authorized to perform: iam:CreateServiceLinkedRole on resource: arn:aws:iam::111122223333:role/aws-service-role/elasticloadbalancing.amazonaws.com/AWSServiceRoleForElasticLoadBalancing";
        assert_eq!(answer(line).lines[0].conditions, ["lb-service-linked-role-missing"]);
    }

    /// Terraform and the console meet them as well as the controllers.
    #[test]
    fn what_cannot_be_deleted_is_known_for_every_caller() {
        let line = "Error: deleting Security Group (sg-0a): DependencyViolation: resource sg-0a has a dependent object, with aws_security_group.nodes";
        assert!(answer(line).lines[0].conditions.contains(&"lb-left-behind"));
        assert!(!answer("Error: creating Subnet: InvalidSubnet.Range, with aws_subnet.a").is_known());
    }

    /// A refusal may be a part of the message around it, on a line that is wrapped.
    #[test]
    fn a_refusal_in_a_wrapped_message_is_no_message_of_its_own() {
        let text = "could not find any suitable subnets for creating the ELB\n\ncaused by: AccessDenied: User: arn:aws:sts::111122223333:assumed-role/cp/i-0a is not authorized to perform: ec2:DescribeSubnets";
        assert_eq!(answer(text).lines.len(), 1);
    }

    /// A route table, whose holders are not in an inventory, and messages of other programs with the same words.
    #[test]
    fn what_cannot_be_deleted_is_told_apart() {
        let meaning = |line: &str| answer(line).lines[0].meaning.unwrap_or_default();
        let table = "api error DependencyViolation: The routeTable 'rtb-0a' has dependencies and cannot be deleted.";
        assert!(meaning(table).starts_with("something is still attached"), "{}", meaning(table));
        let vpc = "api error DependencyViolation: The vpc 'vpc-0a' has dependencies and cannot be deleted.";
        assert!(meaning(vpc).contains("still in the VPC"), "{}", meaning(vpc));
        assert!(!answer("ERROR: cannot drop table a because it has a dependent object").is_known());
    }

    /// A message states that a call failed; the clause of the refusal states why.
    #[test]
    fn the_policy_that_refused_counts_more_than_the_message() {
        let line = |clause: &str| {
            format!(
                "error describe availability zones: \"operation error EC2: DescribeAvailabilityZones, api error UnauthorizedOperation: User: arn:aws:sts::111122223333:assumed-role/cp/i-0a is not authorized to perform: ec2:DescribeAvailabilityZones {clause}\""
            )
        };
        assert_eq!(rules(&line("with an explicit deny in a service control policy")), ["iam-action-denied"]);
        let open = rules(&line("because no identity-based policy allows the ec2:DescribeAvailabilityZones action"));
        assert_eq!(open.first(), Some(&"iam-controller-action-missing"));
    }

    /// Only the status of the metadata service says something about it.
    #[test]
    fn the_status_of_the_metadata_service_decides() {
        let plugin = |inner: &str| rules(&format!("Error running credential provider plugin: {inner}"));
        let imds = |status: &str| {
            plugin(&format!(
                "no EC2 IMDS role found, operation error ec2imds: GetMetadata, http response error StatusCode: {status}"
            ))
        };
        assert_eq!(imds("403"), messages::metadata::OFF);
        assert_eq!(imds("404"), messages::metadata::NO_ROLE);
        assert_eq!(imds("401"), messages::metadata::NO_TOKEN);
        assert_eq!(
            plugin("operation error ECR: GetAuthorizationToken, https response error StatusCode: 404").first(),
            Some(&"instance-profile-missing")
        );
        let document = "Failed to retrieve region data from instance metadata EC2MetadataRequestError: failed to get EC2 instance identity document\ncaused by: EC2MetadataError: failed to make EC2Metadata request\n\n\tstatus code: 404, request id: ";
        assert!(answer(document).is_known() && rules(document).is_empty());
    }

    /// A controller of AWS names the provider of another cloud, and programs of other clouds do, too.
    #[test]
    fn a_node_of_another_cloud_is_known_where_a_controller_of_aws_refuses_it() {
        let refused = "W0224 01:04:54.719155       1 instances.go:830] unable to parse ProviderID \"azure:///subscriptions/1/x\" for node \"w-1\"";
        assert_eq!(rules(refused).first(), Some(&"ccm-wrong-cloud-provider"));
        assert!(
            !answer("E0224 01:04:54.719155       1 a.go:1] error syncing azure:///x: instance not found").is_known()
        );
    }

    #[test]
    fn what_signs_and_unlocks_is_not_quoted() {
        for text in [
            "Authorization: Bearer SECRETVALUE",
            "authorization: Basic SECRETVALUE",
            "postgres://admin:SECRETVALUE@db.example/prod",
            "{\"password\":\"SECRETVALUE\"}",
            "AWS_SECRET_ACCESS_KEY: SECRETVALUE",
            "x-amz-security-token: SECRETVALUE",
            "https://h/?sig=SECRETVALUE&a=b",
            "Encoded authorization failure message: SECRETVALUE",
        ] {
            assert!(!quoted(text).contains("SECRETVALUE"), "{}", quoted(text));
        }
        let plain = "no basic auth credentials; the token expired";
        assert_eq!(quoted(plain), plain);
        assert_eq!(quoted(&"a".repeat(1_000)).chars().count(), 401);
    }

    #[test]
    fn nothing_is_guessed() {
        for line in [
            "error",
            "Liveness probe failed: HTTP probe failed with statuscode: 503",
            "AccessDeniedException: User: arn:aws:sts::111122223333:assumed-role/app/s is not authorized to perform: secretsmanager:GetSecretValue on resource: arn:aws:secretsmanager:eu-west-1:111122223333:secret:db",
            "INFO tagging controller of our Jenkins finished: kubernetes.io/cluster/prod ok",
            "E0917 11:02:04.120034       1 controller.go:302] error processing service web/front (retrying with exponential backoff): failed to ensure load balancer: error",
            "",
            // The same words, of programs of other fields.
            "Readiness probe failed: timeout: failed to connect service \"10.0.0.7:50051\" within 1s",
            "rds: ZoneResourceLimitExceeded: the zone has no stock",
            "ecs RunInstances: InvalidVSwitchId.IpNotEnough",
            "controller-runtime of our operator: Operation cannot be fulfilled on services \"a\": the object has been modified",
            r#"E0101 12:00:00.000000 1204 kuberuntime_image.go:55] "Failed to pull image" err="Head \"https://registry.aliyuncs.com/v2/a/b/manifests/3.9\": dial tcp 120.55.105.209:443: i/o timeout""#,
            r#"E0601 12:00:00.000000 1 controller.go:329] "Reconciler error" err="api error Throttling: Rate exceeded" controller="awsmachine" controllerGroup="infrastructure.cluster.x-k8s.io""#,
            r#"ERROR Reconciler error {"controller": "dbinstance", "namespace": "x", "error": "operation error RDS: api error Throttling: Rate exceeded"}"#,
            "kubelet error execing credential provider plugin acr-credential-provider for image x.azurecr.io/app:1: fork/exec /usr/bin/acr-credential-provider: no such file or directory",
            "ApiException: Message: Forbidden HTTP response code: 403 Code: Forbidden",
            "Error: creating EC2 Instance: api error InvalidParameterValue: Value (web) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name with aws_instance.web, on main.tf line 3",
            "azure-cloud-controller-manager route_controller.go:200] Could not create route abc 10.0.0.0/24 for node aks-1: instance not found",
            r#"W0601 12:00:00.000000 1 plugins.go:131] cloud provider "azure" detected a cluster without a ClusterID."#,
            "GitHub Actions: Could not assume role with OIDC: InvalidIdentityToken: Incorrect token audience",
            "pd.csi.storage.gke.io error generating accessibility requirements: no topology key found on CSINode gke-1",
            r#"Error: chart "aws-cloud-controller-manager" version "9.9.9" not found in https://charts.example repository"#,
        ] {
            assert!(!answer(line).is_known(), "{line}");
        }
    }
}
