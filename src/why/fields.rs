//! Ids, names and codes in a line.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::paste::{Record, expression};
use super::refusal::Refusal;

/// How values of a field are taken.
#[derive(Debug, Clone, Copy)]
enum Take {
    First,
    /// All different ones, in their order.
    All,
}

struct Field {
    name: &'static str,
    take: Take,
    expression: LazyLock<Option<Regex>>,
}

macro_rules! fields {
    ($($name:literal $take:ident $text:literal;)*) => {
        [$(Field { name: $name, take: Take::$take, expression: LazyLock::new(|| expression($text)) }),*]
    };
}

/// Fields by the text around them; of several expressions for one field the first that fits counts.
static FIELDS: [Field; 65] = fields! {
    "instance" First r"(?i)(?:instance(?: ID)?|node) \\?[\x22']?(i-[0-9a-z]{4,17})\b";
    "instance" First r"assumed-role/[^/\s]+/(i-[0-9a-f]{4,17})\b";
    "instance" First r"\b(i-[0-9a-f]{8,17})\b";
    "security_groups" All r"\b(sg-[0-9a-f]{4,17})\b";
    "subnets" All r"\b(subnet-[0-9a-f]{4,17})\b";
    "eni" First r"\b(eni-[0-9a-f]{4,17})\b";
    "volume" First r"\b(vol-[0-9a-f]{4,17})\b";
    "vpc" First r"\b(vpc-[0-9a-z]{4,24})\b";
    "load_balancer" First r"\b((?:lb|nlb)-[0-9a-z]{8,32})\b";
    "service" First r"(?:processing service|for service|svccontroller: service) ([a-z0-9.-]+/[a-z0-9.-]+)";
    "node" First r"syncing '([^'/]+)'";
    "node" First r"for node addresses(?:[\s:,]|$)|(?:for node|if node|node name to discover node|initialized node|Initializing node|doAddCloudNode) \x22?([A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9])";
    "node" First r"(?:Node|node|CSINode) ([A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9]) (?:has no providerId|provider id is not exist|does not contain driver)";
    "node" First r"node \x22([A-Za-z0-9][A-Za-z0-9.-]*)\x22 did not have ProviderID|Deleting node ([A-Za-z0-9][A-Za-z0-9.-]*) because it does not";
    "node" First r"(?:for|instances,) node: ([A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9])";
    "node" First r"(?:mapping|for) node \x22([A-Za-z0-9][A-Za-z0-9.-]*)\x22";
    "node" First r"ignore node\[([^\]\s]+)\]|correspond node ([A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9])";
    "node" First r"Unable to register node \x22([^\x22]+)\x22";
    "node" First r"\x22?node\x22?=\x22([^\x22]+)\x22";
    "node" First r"node ENI for nodes: \[([^\]\s]+)";
    "provider_id" First r"\b((?:aws|rke2|k3s|alicloud|openstack|azure|gce|hcloud|vsphere)://[^\s\x22'`,)\]<?&]*[^\s\x22'`,)\]</?&])(?:$|[\s\x22'`,)\]])";
    "cluster_ids" All r"(?:tags did not match:|\bvs) \x22([^\x22]+)\x22";
    "cluster_id" First r"filtering on ClusterID: ([^\s\x22'`]+)";
    "cluster_id" First r"kubernetes\.io/cluster/([A-Za-z0-9_-][A-Za-z0-9._-]*)";
    "annotation" First r"((?:service\.beta|alb\.ingress)\.kubernetes\.io/[a-z0-9.-]+)";
    "flag" First r"(?:unknown flag|can't set):? (--[a-z0-9-]+|[a-z0-9-]+)";
    "flag" First r"(--cluster-cidr|--cloud-provider-name)\b";
    "user" First r"User \x22([^\x22]+)\x22 cannot";
    "verb" First r"cannot ([a-z]+) resource";
    "resource" First r"cannot [a-z]+ resource \x22([^\x22]+)\x22";
    "taint" First r"taint \{([^:}]+)";
    "driver" First r"\b(ebs\.csi\.aws\.com|efs\.csi\.aws\.com)\b";
    "gate" First r"feature gate: ([A-Za-z0-9]+)";
    "aws_service" First r"operation error (ec2imds):";
    "operation" First r"operation error [A-Za-z0-9 ]+: ([A-Za-z0-9]+),";
    "api" First r"\bAPI: ([A-Za-z]+),";
    "host" First r"(?:found for host:|lookup) ([a-z0-9.-]+\.[a-z]{2,})";
    "asg" First r"Instance group (\S+) cannot provision";
    "webhook" First r"failed calling webhook \x22([^\x22]+)\x22";
    "service" First r"\x22controller\x22=\x22(?:service|nlb)-controller\x22 .*?(\x22namespace\x22=\x22[^\x22]+\x22 \x22name\x22=\x22[^\x22]+)\x22";
    "service" First r"\x22service\x22=\x22([a-z0-9.-]+/[a-z0-9.-]+)\x22";
    "service" First r"(?:process service|processing service) ([a-z0-9.-]+/[a-z0-9.-]+[a-z0-9])";
    "region" First r"RegionId=([a-z]{2}-[a-z0-9-]+)";
    "image" First r"\x22?([0-9]{12}\.dkr\.ecr\.[a-z0-9.-]+/[A-Za-z0-9/._-]+:[A-Za-z0-9._-]+)";
    "zone" First r"\x22([a-z]{2}(?:-[a-z]+)+-[0-9][a-z])\x22";
    "zone" First r"\(([a-z]{2}(?:-[a-z]+)+-[0-9][a-z])\)";
    "image" First r"for image ([0-9]{12}\.dkr\.ecr\.[a-z0-9.-]+/[A-Za-z0-9/._-]*[A-Za-z0-9])";
    "provider" First r"unknown cloud provider \x22([^\x22]+)\x22";
    "zone" First r"Availability Zone ([a-z]{2}(?:-[a-z]+)+-[0-9][a-z]):";
    "cidr" First r"\b((?:[0-9]{1,3}\.){3}[0-9]{1,3}/[0-9]{1,2})\b";
    "principal" First r"User: (arn:aws[a-z-]*:[a-z]+::[0-9]{12}:[^\s?&\x22]+)";
    "principal" First r"\x22arn\x22: ?\x22(arn:aws[a-z-]*:(?:sts|iam)::[0-9]{12}:(?:assumed-role|role|user)/[^\s\x22]+)\x22";
    "role" First r"assumed-role/([^/\s\x22]+)";
    "role" First r"\brole/(?:[A-Za-z0-9+=,.@_-]+/)*([A-Za-z0-9+=,.@_-]+)";
    "resource" First r"on resource: (arn:[^\s?&\x22]+|\*)";
    "resource" First r"\x22resource\x22: ?\x22(arn:[^\s\x22]+)\x22";
    "resource" First r"(arn:aws[a-z-]*:acm:[^\s'\x22]+)";
    "code" First r"(?:api error|ErrorCode:|[0-9] Code:) ([A-Za-z][A-Za-z0-9.]+)";
    "code" First r"with fleet error\(s\), ([A-Za-z.]+):";
    "code" First r"(?:due to|caused by:) ([A-Z][A-Za-z]+\.[A-Z][A-Za-z]+):";
    "code" First r"An error occurred \(([A-Za-z0-9.]+)\)";
    "code" First r"\b(AccessDenied(?:Exception)?|UnauthorizedOperation|RulesPerSecurityGroupLimitExceeded|InvalidVolume\.NotFound|InvalidIdentityToken|InsufficientInstanceCapacity|RequestLimitExceeded|DependencyViolation)\b";
    "request_id" First r"(?i)request ?id: ([0-9a-f-]{36})";
    "ip" First r"(?:by ip|node IP:|matches ip:?) \[?\\?\x22?([0-9]{1,3}(?:\.[0-9]{1,3}){3})";
    "storage_class" First r"StorageClass \x22([^\x22]+)\x22";
};

/// Access keys, tokens, and what unlocks an address: no field, wherever they stand.
static SECRET: LazyLock<Option<Regex>> =
    LazyLock::new(|| expression(r"\b(?:AKIA|ASIA|LTAI)[0-9A-Za-z]{12,}|\beyJ[A-Za-z0-9_-]{10,}|//[^/\s]*@"));

/// The fields of a record. The encoded message of EC2 is only stated to be there.
pub(super) fn fields(record: &Record, refusal: Option<&Refusal>) -> BTreeMap<&'static str, Value> {
    let mut found: BTreeMap<&'static str, Value> = BTreeMap::new();
    let text = record.readings.last().map_or("", String::as_str);
    let spaced = record.readings.first().map_or("", String::as_str);
    for field in &FIELDS {
        if found.contains_key(field.name) {
            continue;
        }
        let Some(expression) = field.expression.as_ref() else { continue };
        let mut values: Vec<String> = Vec::new();
        let found_in = |text| expression.captures_iter(text).filter_map(|one| one.iter().skip(1).flatten().next());
        // The next line may continue an id with letters that no id has.
        let text = if expression.is_match(text) { text } else { spaced };
        for value in found_in(text) {
            let value = value.as_str().trim_end_matches(['.', ',', ';', ':']);
            let value = if IDS.contains(&field.name) { without_next_word(value, spaced) } else { value };
            // klogr writes namespace and name as two keys.
            let value = value.replace("\"namespace\"=\"", "").replace("\" \"name\"=\"", "/");
            let is_secret = SECRET.as_ref().is_none_or(|one| one.is_match(&value));
            if !is_secret && !values.contains(&value) {
                values.push(value);
            }
        }
        match (field.take, values.is_empty()) {
            (_, true) => {}
            (Take::First, false) => {
                found.insert(field.name, values.swap_remove(0).into());
            }
            (Take::All, false) => {
                found.insert(field.name, values.into());
            }
        }
    }
    let is_open = |text: &str| SECRET.as_ref().is_some_and(|one| !one.is_match(text));
    if let Some((kind, name)) = object(record).filter(|(_, name)| is_open(name)) {
        found.entry(kind).or_insert_with(|| name.into());
    }
    if let Some(refusal) = refusal {
        if let Some(action) = &refusal.action {
            found.insert("action", action.clone().into());
        }
        if let Some(kind) = refusal.by.policy() {
            found.insert("deny", kind.into());
        }
    }
    if text.contains("Encoded authorization failure message") {
        found.insert("encoded", true.into());
    }
    found
}

/// Fields with an id of letters and digits.
const IDS: [&str; 3] = ["instance", "vpc", "load_balancer"];

/// A value without the first word of the next line, which the reading without line breaks joins to it.
fn without_next_word<'v>(value: &'v str, spaced: &str) -> &'v str {
    if spaced.contains(value) {
        return value;
    }
    let start = value.trim_end_matches(|one: char| one.is_ascii_alphabetic());
    let ends = (start.len()..value.len()).filter(|end| value.is_char_boundary(*end));
    let mut cut = ends.filter_map(|end| value.split_at_checked(end)).filter(|(id, word)| {
        // Hexadecimal digits may be the rest of a wrapped id.
        word.contains(|one: char| !one.is_ascii_hexdigit()) && spaced.contains(&format!("{id} {word}"))
    });
    cut.next().map_or(value, |(id, _)| id)
}

/// The Service or Ingress of a structured line of a controller.
fn object(record: &Record) -> Option<(&'static str, String)> {
    let key = |name: &str| record.keys.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let controller = key("controller").or_else(|| key("logger"))?;
    let (namespace, name) = (key("namespace")?, key("name")?);
    let controller = controller.to_lowercase();
    if controller.ends_with("service") {
        return Some(("service", format!("{namespace}/{name}")));
    }
    controller.ends_with("ingress").then(|| ("ingress", name.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::why::paste::records;

    #[test]
    fn every_expression_is_valid() {
        assert!(FIELDS.iter().all(|field| field.expression.is_some()) && SECRET.is_some());
    }

    #[test]
    fn words_of_a_message_are_no_node() {
        let line = "Error getting instance metadata for node addresses: instance not found";
        assert_eq!(fields(&records(line)[0], None).get("node"), None);
        let line = "failed to get instance metadata for node addresses-1: instance not found";
        assert_eq!(fields(&records(line)[0], None)["node"], "addresses-1");
    }

    #[test]
    fn the_first_word_of_the_next_line_is_no_part_of_an_id() {
        let of = |text: &str, name: &str| fields(&records(text)[0], None).get(name).cloned();
        let line = "couldn't delete vpc-0abc12345\nbecause it has dependencies";
        assert_eq!(of(line, "vpc"), Some("vpc-0abc12345".into()));
        assert_eq!(of("couldn't delete vpc-0abc\n12345 of eni-0abc1234\nuntil", "vpc"), Some("vpc-0abc12345".into()));
        assert_eq!(of("couldn't delete eni-0abc1234\nuntil it is free", "eni"), Some("eni-0abc1234".into()));
    }

    #[test]
    fn ids_and_names_are_taken_from_a_line() {
        let line = "error processing service web/front (will retry): Multiple tagged security groups found for instance i-0f552cc5023d8319a; sg-0ea1181f76f3adcbd(nodes) sg-0c189941acf780de9(ssh)";
        let found = fields(&records(line)[0], None);
        assert_eq!(found["service"], "web/front");
        assert_eq!(found["instance"], "i-0f552cc5023d8319a");
        assert_eq!(found["security_groups"], json!(["sg-0ea1181f76f3adcbd", "sg-0c189941acf780de9"]));
    }

    /// Runtimes, shippers and `kubectl logs --prefix` wrap the line of a controller.
    #[test]
    fn the_object_of_a_line_is_read_in_each_wrapping() {
        let line = r#"{"level":"error","msg":"Reconciler error","controller":"service","namespace":"shop","name":"web","error":"x"}"#;
        let docker = serde_json::to_string(&json!({"log": format!("{line}\n"), "stream": "stderr"})).unwrap();
        for wrapped in [
            line.to_owned(),
            docker,
            format!("[pod/lbc-1/controller] {line}"),
            format!("2026-04-07T13:54:32.1Z stderr F {line}"),
            "ERROR\tReconciler error\t{\"controller\": \"service\", \"namespace\": \"shop\", \"name\": \"web\"}"
                .to_owned(),
        ] {
            assert_eq!(fields(&records(&wrapped)[0], None).get("service"), Some(&json!("shop/web")), "{wrapped}");
        }
    }

    #[test]
    fn names_end_where_their_quotes_do() {
        let of = |line: &str| fields(&records(line)[0], None);
        assert_eq!(of("clusterID tags did not match: \"a\" vs \"b\"")["cluster_ids"], json!(["a", "b"]));
        assert_eq!(of("filtering on ClusterID: prod\"")["cluster_id"], "prod");
        assert_eq!(of("Tag \"KubernetesCluster\" nor \"kubernetes.io/cluster/...\" not found").get("cluster_id"), None);
        assert_eq!(of("providerID is not specified for node: worker-3")["node"], "worker-3");
        assert_eq!(of("ignore node[worker-9] without providerid")["node"], "worker-9");
        assert_eq!(of("\"arn\":\"arn:aws:iam::111122223333:role/org/project/ec2\"")["role"], "ec2");
    }

    #[test]
    fn keys_and_encoded_messages_are_not_repeated() {
        let line = "Get \"https://ecs.aliyuncs.com/?AccessKeyId=LTAI5tSECRET&SecurityToken=CAISTOKEN&Signature=abc%3D\": dial tcp: i/o timeout UnauthorizedOperation: You are not authorized to perform this operation. Encoded authorization failure message: Ed90HQ81VpL6vS4b";
        let line = format!(
            "{line} for node \"AKIAIOSFODNN7EXAMPLE\" aws://user:PASSWORD@host/x {{\"controller\":\"service\",\"namespace\":\"a\",\"name\":\"eyJhbGciOiJIUzI1\"}}"
        );
        let text = serde_json::to_string(&fields(&records(&line)[0], None)).unwrap();
        for secret in ["LTAI5tSECRET", "CAISTOKEN", "abc%3D", "Ed90HQ81VpL6vS4b", "AKIAIOS", "PASSWORD", "eyJ"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}
