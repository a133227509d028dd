use crate::kubernetes::{DocumentKind, Located, is_no, is_yes, rke_part};
use crate::rules::AWS;
use crate::rules::prelude::*;

use super::{for_each_document, on};

pub(super) const RULE: Rule = Rule {
    id: "rke-metadata-hostname-off",
    title: "RKE gives nodes names that the cloud controller cannot find",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`cluster.yml` has `cloud_provider.name: external-aws` without `useInstanceMetadataHostname: true`, and a node has no `hostname_override` of the form `ip-….compute.internal` or `i-…`: RKE then names it by its `address`. Or the value of the key is a string, not a boolean.",
    impact: "the cloud controller looks for an instance of that name and finds none: the node keeps the taint of uninitialised nodes",
    fix: "Set `useInstanceMetadataHostname: true`, and `internal_address` of each node.",
    sources: &["rancher/rke cluster/cluster.go", "https://github.com/rancher/rancher/issues/43258"],
    example: "2 nodes are named by their address: `useInstanceMetadataHostname` is off",
    migration: Some(Prerequisite::Names),
    ..Rule::evidence(AWS, check)
};

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    for_each_document(context, DocumentKind::RkeCluster, |document| {
        let cluster = rke_part(document);
        let Some(name) = cluster.located(&["cloud_provider", "name"]).filter(|name| name.value == "external-aws")
        else {
            return Vec::new();
        };
        let given = cluster.at(&["cloud_provider", "useInstanceMetadataHostname"]);
        // `yes` is a boolean, and `"yes"` is a string.
        let is_quoted = given.is_some_and(|given| {
            let text = given.source.text().get(given.node.span.range()).unwrap_or_default();
            text.starts_with(['"', '\''])
        });
        let is_text = |text: &Located<String>| is_quoted || !is_yes(&text.value) && !is_no(&text.value);
        if let Some(text) = given.and_then(|given| given.located(&[])).filter(is_text) {
            let message =
                format!("`useInstanceMetadataHostname` is `{}`, neither true nor false", text::printable(&text.value));
            let fix = "write `useInstanceMetadataHostname: true`";
            return vec![
                on(&document.name, Severity::Error, &text.place, "useInstanceMetadataHostname", message, fix)
                    .impact(Some("RKE does not read the file: a string is not a boolean".to_owned())),
            ];
        }
        let nodes: Vec<_> = cluster.items(&["nodes"]).collect();
        let is_on = cluster.switch(&["cloud_provider", "useInstanceMetadataHostname"]) == Some(true);
        let is_found = |name: &str| name.starts_with("i-") || name.ends_with(".internal");
        if is_on {
            // RKE identifies a renamed node by its internal address.
            let without = nodes.iter().find(|node| node.text(&["internal_address"]).is_none());
            let found = without.map(|node| {
                let message = "a node has no `internal_address`, by which RKE finds it under its new name";
                let fix = "give each node its `internal_address`";
                on(&document.name, Severity::Error, &node.head(), "internal_address", message, fix)
                    .impact(Some("`rke up` fails with `failed to find node`".to_owned()))
            });
            return found.into_iter().collect();
        }
        let unnamed = nodes.iter().filter(|node| !node.text(&["hostname_override"]).is_some_and(is_found)).count();
        if unnamed == 0 {
            return Vec::new();
        }
        let are = if unnamed == 1 { "is named by its address" } else { "are named by their address" };
        let message = format!("{} {are}: `useInstanceMetadataHostname` is off", text::count(unnamed, "node"));
        let fix = "set `useInstanceMetadataHostname: true` in `cloud_provider`";
        vec![on(&document.name, Severity::Error, &name.place, "useInstanceMetadataHostname", message, fix)]
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
cloud_provider:
  name: external-aws
nodes:
- internal_address: 10.0.0.1
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn silent() {
        lint::silent(
            &RULE,
            DEFECT,
            "name: external-aws\n",
            "name: external-aws\n  useInstanceMetadataHostname: true\n",
        );
    }
}
