use crate::alibaba::PrincipalAudit;
use crate::finding::{Applicability, Fix, Severity};
use crate::inventory::Read;
use crate::resource::ResourceKind;
use crate::rules::alibaba::{self, Context, Counted};
use crate::rules::{Check, Rule, RuleSeverity, Subjects, Violation};
use crate::text;

use super::{instances, whom};
use crate::policy::{self, Caller, Decision, Document, RAM};

pub(super) const RULE: Rule = Rule {
    id: "ram-role-trust-not-ecs",
    title: "the RAM role of nodes does not trust ECS",
    severity: RuleSeverity::always(Severity::Error),
    resources: &[ResourceKind::RamRole],
    condition: "The trust policy of the RAM role of a node does not let the service `ecs.aliyuncs.com` assume it.",
    impact: "the metadata service gives no credentials to anything on the node",
    fix: "Let `ecs.aliyuncs.com` assume the role in its trust policy.",
    applicability: Applicability::None,
    sources: &["ECS documentation, Instance RAM roles: the trusted service is ecs.aliyuncs.com"],
    example: "role `k8s-worker` of 4 nodes does not trust ecs.aliyuncs.com",
    reads: &[Read::EcsDescribeInstances, Read::DescribeInstanceRamRole],
    subjects: Subjects::RamPrincipals,
    check: Check::Alibaba(alibaba::Check::Principal(check)),
};

fn check(_: &Context<'_>, audit: &PrincipalAudit<'_>) -> Counted {
    let Some(trust) = audit.principal.trust_policy.as_deref().filter(|_| !audit.members.is_empty()) else {
        return Counted::not_applicable("no trust policy of a node's role was read");
    };
    let is_trusted = Document::parse_as(trust, &RAM).is_ok_and(|document| {
        let ecs = Caller::Service("ecs.aliyuncs.com".to_owned());
        policy::trusts(&document, &ecs, "sts:AssumeRole", &policy::Context::default()) == Decision::Allowed
    });
    if is_trusted {
        return Counted::new(1, []);
    }
    let nodes = text::count(audit.members.len(), "node");
    let message = format!("{} of {nodes} does not trust ecs.aliyuncs.com", whom(audit));
    let fix = Fix::none("let the service `ecs.aliyuncs.com` assume the role in its trust policy");
    Counted::new(1, [Violation::new(Severity::Error, audit.resource(), message, fix).related(instances(audit))])
}
