//! Pasted text: terminals, chats, log shippers and runtimes each wrap a message, and their wrapping is undone here.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// A message of a paste, with the lines that it spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// First line, counted from one.
    pub(super) first: usize,
    /// Last line.
    pub(super) last: usize,
    /// Readings of the text: with line breaks as spaces, and with hard line breaks removed, with and without indentation.
    pub(super) readings: Vec<String>,
    /// Keys and values of a structured log line.
    pub(super) keys: Vec<(String, String)>,
    /// Its lines with their numbers, if it has few.
    pub(super) lines: Vec<(usize, String)>,
}

/// Most lines of a text without headers that may be several messages.
const MOST_LINES: usize = 40;

/// A literal expression: an error is a mistake in this file, which the tests show.
pub(super) fn expression(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// Escape sequences of a terminal (ECMA-48, control sequences).
static TERMINAL: LazyLock<Option<Regex>> =
    LazyLock::new(|| expression("\u{1b}\\[[0-?]*[ -/]*[@-~]|\u{1b}\\][^\u{7}]*\u{7}"));

/// Beginnings of a message: the headers of klog, logfmt, JSON, timestamps, journald, `kubectl logs --prefix`, and events.
static HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(concat!(
        r"^.{0,80}?[IWEF]\d{4} \d\d:\d\d:\d\d\.\d|^\s*(?:[IWEF]\d{4} \d\d:\d\d|time=|\{\s*\x22|\d{4}[-/]\d\d[-/]\d\d[T ]|",
        r"[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d |\[pod/|(?:\S+ +)?(?:Warning|Normal) +[A-Z]|",
        r"(?:Error|panic|fatal): |\S+\[\d+\]: |An error occurred|Message: {2,}\S)|",
        // Rows of `kubectl get events` and `kubectl events`.
        r"^.{0,120}\s(?:Warning|Normal)\s+[A-Z][A-Za-z]+\s+\S+\s"
    ))
});

/// Characters that terminals, word processors and web pages put in place of others.
const REPLACED: [(&str, &str); 20] = [
    ("&nbsp;", " "),
    ("\r\n", "\n"),
    ("\r", "\n"),
    ("\u{a0}", " "),
    ("\u{202f}", " "),
    ("\u{2502}", ""),
    ("\u{201c}", "\""),
    ("\u{201d}", "\""),
    ("\u{2018}", "'"),
    ("\u{2019}", "'"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&#x22;", "\""),
    ("&apos;", "'"),
    ("&amp;", "&"),
    ("\u{200b}", ""),
];

/// Most levels of escapes that are undone: a message in a field of a log line in a log line.
const LEVELS: usize = 5;

/// The messages of a paste.
pub(super) fn records(paste: &str) -> Vec<Record> {
    let mut text = TERMINAL.as_ref().map_or_else(|| paste.to_owned(), |one| one.replace_all(paste, "").into_owned());
    for (from, to) in REPLACED {
        text = text.replace(from, to);
    }
    let is_header = |line: &str| HEADER.as_ref().is_some_and(|header| header.is_match(line));
    let lines: Vec<&str> = text.lines().map(unquoted).collect();
    let mut groups: Vec<Vec<(usize, &str)>> = Vec::new();
    for (index, line) in lines.into_iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match groups.last_mut() {
            Some(group) if !is_header(line) => group.push((index + 1, line)),
            _ => groups.push(vec![(index + 1, line)]),
        }
    }
    groups.iter().map(|group| record(group)).collect()
}

/// The message that some lines are.
fn record(lines: &[(usize, &str)]) -> Record {
    let trimmed: Vec<&str> = lines.iter().map(|(_, line)| line.trim()).collect();
    let joined = trimmed.concat();
    let mut readings = vec![unescaped(&trimmed.join(" "))];
    if lines.len() > 1 {
        readings.push(unescaped(&joined));
        readings.push(unescaped(&lines.iter().map(|(_, line)| *line).collect::<String>()));
    }
    let first = lines.first().map_or(1, |(number, _)| *number);
    let last = lines.last().map_or(first, |(number, _)| *number);
    let may_be_several = (2..=MOST_LINES).contains(&lines.len());
    let held = lines.iter().filter(|_| may_be_several).map(|(number, line)| (*number, (*line).to_owned()));
    Record { first, last, readings, keys: keys_of(&joined), lines: held.collect() }
}

/// A line without the marks of quotations in mails.
fn unquoted(line: &str) -> &str {
    let mut line = line;
    while let Some(rest) = line.strip_prefix("> ").or_else(|| line.strip_prefix(">>")) {
        line = rest;
    }
    line
}

/// A text with the escapes of its levels undone, and runs of white space as one space.
fn unescaped(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..LEVELS {
        let next = text
            .replace("\\\\", "\\")
            .replace("\\\"", "\"")
            .replace("\\n", " ")
            .replace("\\t", " ")
            .replace("\\u003c", "<")
            .replace("\\u003e", ">")
            .replace("\\u0026", "&")
            .replace("\\u001b", "\u{1b}")
            .replace("\\u0022", "\"")
            .replace("\\u0027", "'");
        if next == text {
            break;
        }
        text = next;
    }
    let text = TERMINAL.as_ref().map_or_else(|| text.clone(), |one| one.replace_all(&text, "").into_owned());
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Headers of klog, and of the loggers of controller-runtime.
static HAS_LOGGER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(r#"(?:^|[\s\x22])[IWEF]\d{4} \d\d:\d\d:\d\d\.\d|"controller":"|"logger":"(?:controller|setup)"#)
});

/// Names of controllers, and reasons of their events.
static OF_CONTROLLER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(concat!(
        r"(?i)csi\.aws\.com|karpenter|cluster-api-provider-aws|capa-controller|cloud-controller|load-balancer-controller|aws-node|external-dns|ipamd|\bkubelet\b|",
        r"failed to create or get machine|create machine at cloudprovider|security groups to load balancer|classic load balancer|",
        r"SyncLoadBalancerFailed|FailedToCreateRoute|service-controller|attachdetach-controller|FailedDeployModel|FailedBuildModel|Reconciler error"
    ))
});

/// Programs whose lines look like those of the controllers, and controllers of other clouds.
static OF_OTHERS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(concat!(
        r"(?i)external-secrets\.io|cert-manager/|secrets store objects|fluxcd\.io|keda|scaledobject|velero|backup_storage_location|",
        r"crossplane|upbound\.io|^argocd: |assumed-role/argocd|TencentCloudSDK|(?:openstack|hcloud|azure|gce|vsphere)-cloud|\bmetrics-server-|prometheus|datadog|",
        r"Traceback \(most recent"
    ))
});

/// Values of `spec.providerID` in other clouds.
static OTHER_PROVIDER_ID: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(r"(?i)(?:proxmox|nutanix|kubevirt|scaleway|digitalocean|hcloud|vsphere|openstack|azure|gce)://")
});

/// What the controllers for AWS write about a Node of another cloud: all words of a row.
const REFUSES_PROVIDER_ID: [&[&str]; 4] = [
    &["Invalid scheme for AWS instance"],
    &["instances.go:", "unable to parse ProviderID"],
    &["is invalid for EC2 instances"],
    &["failed to map provider ID to AWS instance ID"],
];

/// The API group of the objects of a controller, in a line that is not JSON.
static GROUP: LazyLock<Option<Regex>> = LazyLock::new(|| expression(r#"controllerGroup"?[:=]\s*"?([A-Za-z0-9.-]+)"#));

/// The program that wrote an event about a load balancer, in the table of `kubectl describe` (type, reason, age, source, text), or
/// in the wide one of `kubectl get events` (reason, object, source, text).
/// Sources: kubernetes/kubectl `pkg/describe/describe.go#DescribeEvents`, `pkg/cmd/events/event_printer.go`;
/// kubernetes/kubernetes `pkg/printers/internalversion/printers.go#printEvent`.
static SOURCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(concat!(
        r"\b(?:(?:Failed(?:Build|Deploy)Model|SyncLoadBalancerFailed)\s+(?:(?:\d+[smhdy])+|<unknown>|<invalid>)\s+",
        // Each text with one of these reasons begins with `Failed`: what stands before it is the source.
        r"(?:\(x\d+ over [^)]*\)\s+)?|Failed(?:Build|Deploy)Model\s+[a-z][a-z.]*/\S+\s+)",
        r"([A-Za-z][A-Za-z0-9./-]*)(?:,|\s)"
    ))
});

/// Sources of such events.
/// Sources: kubernetes-sigs/aws-load-balancer-controller `controllers/` (`controllerName`);
/// kubernetes/cloud-provider `controllers/service/controller.go#New`; kubernetes/cloud-provider-alibaba-cloud
/// `pkg/controller/ingress/alb_controller.go`, `pkg/controller/service/nlbv2/nlb_controller.go`.
const OWN_SOURCES: [&str; 8] = [
    "service",
    "ingress",
    "targetGroupBinding",
    "globalAccelerator",
    "service-controller",
    "nlb-controller",
    // Without the column, the text follows.
    "Failed",
    "Error",
];

/// Reasons of events about load balancers.
const REASONS: [&str; 3] = ["FailedBuildModel", "FailedDeployModel", "SyncLoadBalancerFailed"];

/// Members of an event that name its source.
const COMPONENTS: [&str; 3] = ["reportingComponent", "reportingController", "source.component"];

/// Minimum length of a controller name that a line break truncates.
const CUT: usize = 3;

/// True if the event source is one of the controllers, even if a line break in the paste truncates its name.
fn is_own_source(name: &str) -> bool {
    let is_cut = |own: &&str| name.len() >= CUT && own.starts_with(name);
    OWN_SOURCES.iter().any(|own| *own == name || is_cut(own)) || name.contains("aws")
}

/// API groups of the objects that the known controllers reconcile.
const OWN_GROUPS: [&str; 6] =
    ["karpenter.sh", "karpenter.k8s.aws", "elbv2.k8s.aws", "networking.k8s.io", "apps", "alibabacloud.com"];

/// People and pipelines that call AWS or Alibaba Cloud.
static OF_PEOPLE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"(?i)AWSReservedSSO_|\bterraform\b|assumed-role/packer|amazon-ebs\.|terraform-provider-|alicloud_[a-z]+[.:]|\.tf line|\bwith aws_[a-z]+\.|\bJenkins\b|^ERROR: SDK|Terraform AWS Provider|No valid credential sources found|Could not assume role with OIDC",
    )
});

impl Record {
    /// Its lines, each as a message.
    pub(super) fn by_line(&self) -> Vec<Self> {
        self.lines.iter().map(|(number, line)| record(&[(*number, line)])).collect()
    }

    /// Its paragraphs, each as a message.
    pub(super) fn by_paragraph(&self) -> Vec<Self> {
        let lines: Vec<(usize, &str)> = self.lines.iter().map(|(number, line)| (*number, line.as_str())).collect();
        lines.chunk_by(|(one, _), (next, _)| one + 1 == *next).map(record).collect()
    }

    /// True if another program certainly wrote the line.
    pub(super) fn is_of_others(&self) -> bool {
        let is_own = |group: &str| group.is_empty() || OWN_GROUPS.iter().any(|own| group.ends_with(own));
        let mut groups = self.keys.iter().filter(|(key, _)| key == "controllerGroup");
        let is_match = |one: &LazyLock<Option<Regex>>, text: &str| one.as_ref().is_some_and(|one| one.is_match(text));
        let refuses = |text: &str| REFUSES_PROVIDER_ID.iter().any(|words| words.iter().all(|one| text.contains(one)));
        let group_in = |text: &str| {
            let found = GROUP.as_ref().and_then(|one| one.captures(text)).and_then(|found| found.get(1));
            found.is_some_and(|group| !is_own(group.as_str()))
        };
        let source_in = |text: &str| {
            let found = SOURCE.as_ref().and_then(|one| one.captures(text)).and_then(|found| found.get(1));
            found.map(|one| is_own_source(one.as_str()))
        };
        // A reading without a line break may join the source with the next word.
        let sources: Vec<bool> = self.readings.iter().filter_map(|text| source_in(text)).collect();
        let has_other_source = !sources.is_empty() && !sources.contains(&true);
        let mut components = self.keys.iter().filter(|(key, _)| COMPONENTS.contains(&key.as_str()));
        let is_event = |reason: &str| self.keys.iter().any(|(key, value)| key == "reason" && value == reason);
        let is_of_balancer = REASONS.iter().any(|reason| is_event(reason));
        let has_other_component =
            is_of_balancer && components.any(|(_, name)| !name.is_empty() && !is_own_source(name));
        groups.any(|(_, group)| !is_own(group))
            || has_other_component
            || has_other_source
            || self.readings.iter().any(|text| {
                is_match(&OF_OTHERS, text) || group_in(text) || is_match(&OTHER_PROVIDER_ID, text) && !refuses(text)
            })
    }

    /// True if it is about a call of a person, or of a pipeline.
    pub(super) fn is_of_people(&self) -> bool {
        self.readings.iter().any(|text| OF_PEOPLE.as_ref().is_some_and(|one| one.is_match(text)))
    }

    /// True if a controller, or a component of Kubernetes, certainly wrote the line.
    pub(super) fn is_of_controller(&self) -> bool {
        let has_logger = |text: &String| HAS_LOGGER.as_ref().is_some_and(|one| one.is_match(text));
        self.names_controller()
            || self.readings.iter().any(has_logger)
            || self.keys.iter().any(|(key, _)| key == "controller")
    }

    /// True if a controller certainly wrote it about an Ingress.
    pub(super) fn is_about_ingress(&self) -> bool {
        let is_of_ingress = |text: &str| {
            let source = SOURCE.as_ref().and_then(|one| one.captures(text)).and_then(|found| found.get(1));
            source.is_some_and(|one| one.as_str() == "ingress") || text.contains("alb.ingress.kubernetes.io/")
        };
        self.keys.iter().any(|(key, value)| key == "controller" && value == "ingress")
            || self.readings.first().is_some_and(|text| is_of_ingress(text))
    }

    /// True if it names a controller.
    pub(super) fn names_controller(&self) -> bool {
        self.readings.iter().any(|text| OF_CONTROLLER.as_ref().is_some_and(|one| one.is_match(text)))
    }
}

/// The keys of a structured line, with nested ones; those of a line that is not JSON are read by expressions.
fn keys_of(text: &str) -> Vec<(String, String)> {
    let mut keys = Vec::new();
    // `kubectl logs --prefix`, runtimes and loggers write something before the object.
    let object = text.find('{').and_then(|at| text.get(at..)).unwrap_or_default();
    if let Some(Ok(value)) = serde_json::Deserializer::from_str(object).into_iter::<Value>().next() {
        collect(&value, "", &mut keys, 0);
    }
    keys
}

fn collect(value: &Value, name: &str, keys: &mut Vec<(String, String)>, depth: usize) {
    if depth > LEVELS {
        return;
    }
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                collect(value, &name, keys, depth + 1);
            }
        }
        Value::String(text) => {
            keys.push((name.to_owned(), text.clone()));
            // A runtime or a shipper puts the line of the program into a field of its own line.
            if text.starts_with('{')
                && let Ok(value) = serde_json::from_str::<Value>(text)
            {
                collect(&value, "", keys, depth + 1);
            }
        }
        Value::Bool(_) | Value::Number(_) => keys.push((name.to_owned(), value.to_string())),
        Value::Null | Value::Array(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_expression_is_valid() {
        let all = [
            &TERMINAL,
            &HEADER,
            &HAS_LOGGER,
            &OF_CONTROLLER,
            &OF_OTHERS,
            &OTHER_PROVIDER_ID,
            &SOURCE,
            &GROUP,
            &OF_PEOPLE,
        ];
        assert!(all.iter().all(|one| one.is_some()));
    }

    #[test]
    fn wrapping_is_undone() {
        for paste in [
            "E0101 00:00:00.000000       1 a.go:1] one \"two\"",
            "\u{1b}[31mE0101 00:00:00.000000       1 a.go:1] one \u{201c}two\u{201d}\u{1b}[0m\r\n",
            "{\"log\":\"E0101 00:00:00.000000       1 a.go:1] one \\\"two\\\"\\n\",\"stream\":\"stderr\"}",
            "> E0101 00:00:00.000000       1 a.go:1] one\n  &quot;two&quot;",
        ] {
            let records = records(paste);
            assert_eq!(records.len(), 1, "{paste}");
            assert!(records[0].readings.iter().any(|one| one.contains("one \"two\"")), "{:?}", records[0]);
        }
    }

    #[test]
    fn rows_of_an_events_table_are_messages() {
        let table = "NAMESPACE  LAST SEEN  TYPE  REASON  OBJECT  MESSAGE\nshop  3m  Warning  SyncLoadBalancerFailed  service/a  one\nweb  3m (x5 over 10m)  Normal  EnsuringLoadBalancer  service/b  two";
        assert_eq!(records(table).len(), 3);
    }

    /// Other programs use the same loggers, and people the same calls.
    #[test]
    fn lines_of_other_programs_are_known_as_such() {
        let of = |text: &str| records(text).remove(0);
        assert!(
            of(r#"{"controller":"externalsecret","controllerGroup":"external-secrets.io","error":"x"}"#).is_of_others()
        );
        assert!(of("User: arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_Ops_0a/me").is_of_people());
        let klog = of("E0911 08:12:44.000000       1 s3.go:77] upload failed: AccessDenied");
        assert!(klog.is_of_controller() && !klog.names_controller());
    }

    #[test]
    fn the_source_of_an_event_is_the_program_that_wrote_it() {
        let of = |text: &str| records(text).remove(0).is_of_others();
        for source in ["seldon", "ml.example.com/trainer", "model-controller"] {
            assert!(
                of(&format!("Warning  FailedBuildModel  3m (x5 over 10m)  {source}  conflicting tag a: 1 | 2")),
                "{source}"
            );
        }
        for source in ["service", "ingress", "targetGroupBinding", "gateway.k8s.aws/alb"] {
            assert!(
                !of(&format!("Warning  FailedDeployModel  1h3m  {source}  Failed deploy model due to x")),
                "{source}"
            );
        }
        assert!(of(
            "5m  Warning  FailedBuildModel  service/web     argocd   Failed build model due to x   10m   7   web.17"
        ));
        assert!(of(
            "Warning  FailedBuildModel  5m (x7 over 10m)  argocd, ip-10-0-0-1.ec2.internal  Failed build model due to x"
        ));
        assert!(of("Warning  FailedBuildModel  <unknown>  argocd  Failed build model due to x"));
        assert!(!of(
            "5m  Warning  FailedBuildModel  service/web   service   Failed build model due to x   10m   7   web.17"
        ));
        assert!(!of("Warning  FailedBuildModel  5m (x7 over 10m)  service\n  Failed build model due to x"));
        assert!(of(
            r#"{"kind":"Event","reason":"FailedBuildModel","source":{"component":"argocd"},"message":"Failed build model due to x"}"#
        ));
        assert!(!of(
            r#"{"kind":"Event","reason":"FailedBuildModel","source":{"component":"ingress"},"message":"Failed build model due to x"}"#
        ));
        assert!(of("Warning  SyncLoadBalancerFailed  5m  argocd  Error syncing load balancer: x"));
        assert!(!of("Warning  SyncLoadBalancerFailed  5m  service-controller  Error syncing load balancer: x"));
        assert!(!of("Warning  SyncLoadBalancerFailed  5m  Error syncing load balancer: x"));
        // Without the column of the source, and in the table of `kubectl get events`; and a word that is broken.
        assert!(!of("Warning  FailedBuildModel  5m (x7 over 10m)  ingr ess  Failed build model due to x"));
        assert!(!of("Warning  FailedBuildModel  3m  Failed build model due to x"));
        assert!(!of("3m  Warning  FailedBuildModel  ingress/web  Failed build model due to x"));
    }

    #[test]
    fn each_header_begins_a_message() {
        let log = "E0101 00:00:00.000000       1 a.go:1] one\n    and more\nI0101 00:00:00.000000       1 a.go:1] two";
        let spans: Vec<(usize, usize)> = records(log).iter().map(|one| (one.first, one.last)).collect();
        assert_eq!(spans, [(1, 2), (3, 3)]);
    }
}
