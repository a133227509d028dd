use crate::alibaba::{CLUSTER_TAG, RegionView, SYSTEM_TAG_PREFIX, TAG_QUOTA};
use crate::rules::alibaba::{self, Context};
use crate::rules::prelude::*;
use crate::tags;

pub(super) const RULE: Rule = Rule {
    id: "ali-tags-near-quota",
    title: "an instance is at its tag limit",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::Instance],
    condition: "An instance of the cluster that lacks `ack.aliyun.com` has 20 tags, the maximum; those of Alibaba Cloud itself (`acs:…`) do not count.",
    impact: "the tag cannot be added",
    fix: "Remove an unused tag.",
    sources: &["ECS 2014-05-26, TagResources: at most 20 tags"],
    example: "instance `i-bp1` has 20 of 20 tags and lacks `ack.aliyun.com`",
    reads: &[Read::EcsDescribeInstances],
    ..Rule::alibaba(alibaba::Check::Region(check))
};

fn check(_: &Context<'_>, view: &RegionView<'_>) -> CheckResult {
    let full = view.members.iter().filter(|member| {
        let own = member.instance.tags.iter().filter(|tag| !tag.key.starts_with(SYSTEM_TAG_PREFIX));
        own.count() >= TAG_QUOTA && tags::value(&member.instance.tags, CLUSTER_TAG).is_none()
    });
    let found = full.map(|member| {
        let id = &member.instance.id;
        let message = format!("instance `{id}` has {TAG_QUOTA} of {TAG_QUOTA} tags and lacks `{CLUSTER_TAG}`");
        let fix = Fix::none("remove an unused tag");
        Violation::new(Severity::Info, alibaba::instance(view, member), message, fix)
    });
    CheckResult::counted(view.members.len(), found.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{alibaba, tag};

    #[test]
    fn fires() {
        alibaba::fires(&RULE, |c| {
            let tags = &mut c.instance(alibaba::WORKER).tags;
            tags.clear();
            (0..20).for_each(|n| tag(tags, &format!("note-{n}"), "x"));
        });
    }

    #[test]
    fn silent() {
        alibaba::silent(&RULE, |c| {
            let tags = &mut c.instance(alibaba::WORKER).tags;
            tags.clear();
            (0..19).for_each(|n| tag(tags, &format!("note-{n}"), "x"));
        });
    }
}
