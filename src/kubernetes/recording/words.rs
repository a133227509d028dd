//! Arguments in a recording: of nodes, of controllers and of a control plane, without what may be a credential.

use serde_json::{Map, Value};

use crate::controller::{alibaba_companion, companion};
use crate::text::secrets::{is_credential, masked, shown};

use super::super::controller_flags;
use super::super::web_identity::WEBHOOK_IMAGE;
use super::HIDDEN;

/// A value that rules check, without credentials in it: those of a URL, and what follows an argument in the same word.
pub(super) fn plain(value: &str) -> String {
    let value = masked(value);
    let value = match value.find(" -") {
        Some(at) => format!("{} {HIDDEN}", value.get(..at).unwrap_or_default()),
        None => value.into_owned(),
    };
    let Some((scheme, rest)) = value.split_once("://") else { return value };
    let rest = rest.split_once(['?', '#']).map_or(rest, |(before, _)| before);
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// Value of a setting, hidden unless it is known to hold no credential.
pub(super) fn redact_setting(name: &str, value: &str) -> String {
    let told = shown(name, value);
    // An argument without a value is the name of a flag.
    let is_name = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let is_bare = name.ends_with("-arg") && !value.contains('=') && !is_name(value);
    if told.ends_with("(not shown)") || is_bare {
        match value.split_once('=') {
            Some((flag, _)) if name.ends_with("-arg") => format!("{flag}={HIDDEN}"),
            _ => HIDDEN.to_owned(),
        }
    } else {
        told
    }
}

/// Hides everything not known to be harmless in the arguments that RKE2 and K3s record on their Nodes.
pub(super) fn hide_arguments(node: &mut Value) {
    let Some(annotations) = node.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) else { return };
    for (name, value) in annotations {
        let Some(text) = value.as_str() else { continue };
        let hidden = if name.ends_with("/node-args") {
            serde_json::from_str::<Vec<String>>(text).ok().map(|words| Value::from(hidden_words(&words)))
        } else if name.ends_with("/node-env") {
            // Only one variable of it is checked.
            serde_json::from_str::<Map<String, Value>>(text).ok().map(|mut variables| {
                variables.retain(|name, _| name == "RKE2_CLOUD_PROVIDER_NAME");
                Value::Object(variables)
            })
        } else {
            continue;
        };
        *value = hidden.unwrap_or_default().to_string().into();
    }
}

/// Hides the values of arguments in the form `--name`, value or `--name=value`.
fn hidden_words(words: &[String]) -> Vec<String> {
    let mut last = String::new();
    let hide = |(index, word): (usize, &String)| {
        let Some(argument) = word.strip_prefix('-') else {
            let name = std::mem::take(&mut last);
            // The first word is the role.
            return match name.is_empty() {
                true if index == 0 => word.clone(),
                true => HIDDEN.to_owned(),
                false => redact_setting(&name, word),
            };
        };
        let argument = argument.trim_start_matches('-');
        if let Some((name, value)) = argument.split_once('=') {
            last.clear();
            format!("--{name}={}", redact_setting(name, value))
        } else {
            argument.clone_into(&mut last);
            word.clone()
        }
    };
    words.iter().enumerate().map(hide).collect()
}

/// Hides the words of containers other than a controller or a control plane, and credentials in the words of those.
pub(super) fn hide_words(pod: Option<&mut Value>, is_pod: bool) {
    let containers = pod.and_then(|pod| pod.get_mut("containers")).and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        let is_companion = container["image"].as_str().is_some_and(|image| {
            let is_of_alibaba = alibaba_companion::IMAGES.contains(&alibaba_companion::image_parts(image).0);
            companion::identify(image).is_some() || is_of_alibaba || image.contains(WEBHOOK_IMAGE)
        });
        let is_known = is_pod || is_companion || {
            let text = container.to_string();
            ["cloud-controller-manager", "cloud-provider"].iter().any(|mark| text.contains(mark))
        };
        let value_of = if is_companion { companion_value } else { hidden_value };
        let Some(container) = container.as_object_mut() else { continue };
        let (mut behind, mut is_first) = (None, true);
        for list in ["command", "args"] {
            if !is_known {
                container.remove(list);
                continue;
            }
            for word in container.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(text) = word.as_str() {
                    let hidden = hidden_word(text, is_first, &mut behind, value_of);
                    *word = hidden.into();
                    is_first = false;
                }
            }
        }
    }
}

/// Hides what may be a credential in a word of a command line; `behind` is the flag before it that has no value yet.
fn hidden_word(word: &str, is_first: bool, behind: &mut Option<String>, value_of: fn(&str, &str) -> String) -> String {
    // The value of a credential may begin with a dash.
    if let Some(name) = behind.take_if(|name| is_credential(name) && word.starts_with('-') && !word.starts_with("--")) {
        return value_of(&name, HIDDEN);
    }
    // Two arguments in one word: the first is kept as if it were alone.
    if let Some((first, _)) = word.split_once(char::is_whitespace).filter(|_| word.starts_with('-')) {
        return match first.split_once('=') {
            Some(_) => format!("{} {HIDDEN}", hidden_word(first, is_first, behind, value_of)),
            None => format!("{first} {HIDDEN}"),
        };
    }
    let flag = word.strip_prefix('-').map(|flag| flag.strip_prefix('-').unwrap_or(flag));
    let flag = flag.map(|flag| flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value))));
    let dashes = if word.starts_with("--") { "--" } else { "-" };
    match (flag, behind.take()) {
        (Some((name, Some(value))), _) => format!("{dashes}{name}={}", value_of(name, value)),
        (Some((name, None)), _) => {
            *behind = Some(name.to_owned());
            word.to_owned()
        }
        (None, Some(name)) if !word.starts_with('-') => value_of(&name, word),
        _ => {
            // The name of a program; for a script, the program that it starts is enough.
            const CONTROLLER: &str = "cloud-controller-manager";
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
            if word.chars().all(is_name) && (is_first || word.contains(CONTROLLER)) {
                word.to_owned()
            } else if word.contains(CONTROLLER) {
                format!("{HIDDEN} {CONTROLLER} {HIDDEN}")
            } else {
                HIDDEN.to_owned()
            }
        }
    }
}

/// Value of a flag of a control plane, hidden unless it is known to hold no credential.
fn hidden_value(name: &str, value: &str) -> String {
    // Users choose tags freely.
    let is_known = controller_flags::known(name).is_some() && name != "tags";
    let is_plain =
        ["true", "false", ""].contains(&value) || value.len() < 6 && value.chars().all(|c| c.is_ascii_digit());
    if is_plain {
        value.to_owned()
    } else if is_known {
        plain(value)
    } else {
        redact_setting(name, value)
    }
}

/// Value of a flag of another controller, hidden unless rules check it. Tags and names are those of the account.
fn companion_value(name: &str, value: &str) -> String {
    if companion::CHECKED_ARGUMENTS.contains(&name) { plain(value) } else { hidden_value(name, value) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::inventory::kubernetes::List;

    use super::super::recorded;
    use super::*;

    #[test]
    fn keeps_controller_words_without_credentials() {
        let words = json!(["--cloud-provider=aws", "--aws-secret=abc", "--v=2"]);
        let set = json!({"spec": {"template": {"spec": {"containers": [{"image": "a/cloud-controller-manager:v1", "args": words}]}}}});
        let kept = recorded(List::DaemonSets, set);
        let found = &kept["spec"]["template"]["spec"]["containers"][0]["args"];
        assert_eq!(*found, json!(["--cloud-provider=aws", "--aws-secret=********", "--v=2"]));
    }

    #[test]
    fn credentials_behind_a_flag_or_in_a_script_are_hidden() {
        let words = json!([
            "--cloud-provider=aws",
            "--password",
            "leak",
            "--v",
            "2",
            "--etcd-password=le ak leak",
            "AWS_SECRET_ACCESS_KEY=\"a leak\" exec x"
        ]);
        let set = json!({"spec": {"template": {"spec": {"containers": [{"image": "a/cloud-controller-manager:v1", "args": words}]}}}});
        let kept = recorded(List::DaemonSets, set);
        let found = &kept["spec"]["template"]["spec"]["containers"][0]["args"];
        assert!(!found.to_string().contains("leak"), "{found}");
        assert_eq!((&found[3], &found[4]), (&json!("--v"), &json!("2")));
    }

    #[test]
    fn hides_node_arguments_unless_harmless() {
        let words = [
            "server",
            "--token",
            "abc",
            "--node-ip=10.0.0.1",
            "--kubelet-arg",
            "cloud-provider=external",
            "--kubelet-arg=x=y",
            "--datastore-endpoint=mysql://u:p@h",
            "--disable-cloud-controller",
            "--agent-token",
            "z",
        ];
        let node = json!({"metadata": {"annotations": {
            "rke2.io/node-args": json!(words).to_string(),
            "rke2.io/node-env": json!({"RKE2_TOKEN": "x", "RKE2_CLOUD_PROVIDER_NAME": "aws"}).to_string(),
            "other": "secret",
        }}});
        let kept = recorded(List::Nodes, node);
        let annotations = &kept["metadata"]["annotations"];
        let expected = [
            "server",
            "--token",
            HIDDEN,
            "--node-ip=10.0.0.1",
            "--kubelet-arg",
            "cloud-provider=external",
            "--kubelet-arg=x=********",
            "--datastore-endpoint=********",
            "--disable-cloud-controller",
            "--agent-token",
            HIDDEN,
        ];
        assert_eq!(annotations["rke2.io/node-args"], json!(json!(expected).to_string()));
        assert_eq!(annotations["rke2.io/node-env"], json!(r#"{"RKE2_CLOUD_PROVIDER_NAME":"aws"}"#));
        assert_eq!(annotations.as_object().unwrap().len(), 2);
    }

    #[test]
    fn keeps_values_only_for_known_flags() {
        let words = json!([
            "--kubeconfig-data",
            "leak",
            "--service-account-key=leak",
            "--tags=owner=leak",
            "--unknown=leak",
            "--leader-elect",
            "--v",
            "2",
            "--cluster-cidr=10.0.0.0/16",
            "--controllers",
            "*,-route",
            "--cloud-provider=aws",
            "--unknown-switch=true"
        ]);
        let set = json!({"spec": {"template": {"spec": {"containers": [{"image": "a/cloud-controller-manager:v1", "args": words}]}}}});
        let kept = recorded(List::DaemonSets, set);
        let found = &kept["spec"]["template"]["spec"]["containers"][0]["args"];
        let expected = json!([
            "--kubeconfig-data",
            HIDDEN,
            format!("--service-account-key={HIDDEN}"),
            format!("--tags={HIDDEN}"),
            format!("--unknown={HIDDEN}"),
            "--leader-elect",
            "--v",
            "2",
            "--cluster-cidr=10.0.0.0/16",
            "--controllers",
            "*,-route",
            "--cloud-provider=aws",
            "--unknown-switch=true"
        ]);
        assert_eq!(*found, expected);
    }

    #[test]
    fn credentials_in_odd_places_are_hidden() {
        let words = json!([
            "--provider=pdns",
            "--pdns-api-key leak",
            "--provider=pdns --pdns-api-key leak",
            "--cloudflare-api-token",
            "-leak",
            "--provider",
            "aws --pdns-api-key leak",
            "--cluster-name=https://leak@h/x?sig=leak",
            "--feature-gates=A=true",
        ]);
        let container = json!({
            "image": "registry.k8s.io/external-dns/external-dns:v0.20.0",
            "args": words,
            "env": [{"name": "QUEUE_URL", "value": "https://leak@sqs.us-east-1.amazonaws.com/123456789012/q?x=leak"}],
        });
        let set = json!({"spec": {"template": {"spec": {"containers": [container]}}}});
        let kept = recorded(List::Deployments, set).to_string();
        assert!(!kept.contains("leak"), "{kept}");
        for known in ["--provider=pdns", "https://h/x", "--feature-gates=A=true", "amazonaws.com/123456789012/q"] {
            assert!(kept.contains(known), "{known}: {kept}");
        }
    }

    #[test]
    fn keeps_the_arguments_of_other_controllers_that_rules_check() {
        let words = json!([
            "--cluster-name=prod",
            "--default-tags=team=a,password=leak",
            "--webhook-token=leak",
            "--nodes",
            "1:3:workers"
        ]);
        let set = json!({"spec": {"template": {"spec": {"containers": [
            {"image": "public.ecr.aws/eks/aws-load-balancer-controller:v2.13.0", "args": words},
            {"image": "example/other:1", "args": ["--cluster-name=prod"]},
        ]}}}});
        let kept = recorded(List::Deployments, set);
        let containers = &kept["spec"]["template"]["spec"]["containers"];
        let expected = json!([
            "--cluster-name=prod",
            "--default-tags=team=a,password=****",
            format!("--webhook-token={HIDDEN}"),
            "--nodes",
            "1:3:workers"
        ]);
        assert_eq!(containers[0]["args"], expected);
        assert_eq!(containers[1].get("args"), None);
    }
}
