use crate::alibaba::RegionView;
use crate::rules::alibaba::{self, Context, Installer};
use crate::rules::prelude::*;
use crate::tags;

pub(super) const RULE: Rule = Rule {
    id: "ali-installer-tag",
    title: "an instance lacks the tag of its installer",
    severity: RuleSeverity::depends(
        Severity::Error,
        "error if the tag is missing or has another value; warning for a tag of another cluster",
    ),
    resources: &[ResourceKind::Instance],
    condition: "With --installer: a node does not carry the tag that this installer writes and searches for, with the value that it writes: Gardener `kubernetes.io/cluster/ID=1`, OpenShift and Cluster API `kubernetes.io/cluster/ID=owned`, kOps `KubernetesCluster=ID`; or it carries `kubernetes.io/cluster/` of another id. Alibaba Cloud's controllers read none of them.",
    impact: "the installer does not recognise the machine: it creates another one, or leaves this one behind",
    fix: "Let the installer write it; a value of another tool suggests a machine that was moved by hand.",
    sources: &[
        "gardener/gardener-extension-provider-alicloud pkg/controller/worker/machines.go",
        "gardener/gardener-extension-provider-alicloud pkg/controller/infrastructure/infraflow/context.go#isOwnedByAnotherShoot",
        "openshift/cluster-api-provider-alibaba pkg/actuators/machine/filter.go",
        "kubernetes/kops a0736b3c29 pkg/model/alimodel/context.go",
    ],
    example: "instance `i-bp1` has `kubernetes.io/cluster/prod=shared`, but OpenShift writes `owned`",
    reads: &[Read::EcsDescribeInstances],
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(context: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    let Some(installer) = context.installer else {
        return CheckResult::not_applicable("no installer is named: name it with --installer");
    };
    let (name, key, expected) = written(installer, context.cluster_id());
    let advice = || Fix::none("let the installer write it, or check which cluster the machine belongs to");
    let without = view.members.iter().filter(|member| tags::value(&member.instance.tags, &key).is_none());
    let mut found = alibaba::grouped(view, without, Severity::Error, |members| {
        let verb = if members.len() == 1 { "lacks" } else { "lack" };
        (format!("{} {verb} `{key}={expected}`, which {name} writes", alibaba::phrase(members)), advice())
    });
    for member in &view.members {
        let (tags, id) = (&member.instance.tags, &member.instance.id);
        if let Some(value) = tags::value(tags, &key).filter(|value| *value != expected) {
            let value = text::printable(value);
            let message = format!("instance `{id}` has `{key}={value}`, but {name} writes `{expected}`");
            found.push(Violation::new(Severity::Error, alibaba::instance(view, member), message, advice()));
        }
        let foreign: Vec<&str> =
            tags::cluster_ids(tags).map(|(id, _)| id).filter(|id| *id != context.cluster_id()).collect();
        if !foreign.is_empty() {
            let others = text::list(&foreign, 6);
            let message = format!("instance `{id}` has the installer tag of another cluster: {others}");
            let violation = Violation::new(Severity::Warning, alibaba::instance(view, member), message, advice());
            found.push(violation.with_respect_to("another cluster"));
        }
    }
    CheckResult::counted(view.members.len(), found)
}

/// The installer, and the tag that it writes on instances.
fn written(installer: Installer, cluster_id: &str) -> (&'static str, String, String) {
    let key = tags::cluster_key(cluster_id);
    match installer {
        Installer::Gardener => ("Gardener", key, "1".to_owned()),
        Installer::OpenShift => ("OpenShift", key, tags::OWNED.to_owned()),
        Installer::ClusterApi => ("Cluster API", key, tags::OWNED.to_owned()),
        Installer::Kops => ("kOps", tags::LEGACY_TAG.to_owned(), cluster_id.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::alibaba::Installer;
    use crate::testing::{alibaba, tag};

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            c.installer = Some(Installer::OpenShift);
            for instance in &mut c.region().instances {
                tag(&mut instance.tags, "kubernetes.io/cluster/prod", "shared");
            }
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            c.installer = Some(Installer::OpenShift);
            for instance in &mut c.region().instances {
                tag(&mut instance.tags, "kubernetes.io/cluster/prod", "owned");
            }
        });
    }
}
