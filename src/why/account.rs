//! Answers joined with an inventory: what the policies of the role that a line names answer today, and whether
//! what the line names exists.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::aws::companion_requests::RoleGrants;
use crate::aws::interface_holder::{deleted_load_balancer, holder};
use crate::aws::{Account, Inventory, NetworkInterface, Role, SecurityGroup};
use crate::controller::call_tags::{CallTags, TaggedCall};
use crate::inventory::{Gap, Read};
use crate::policy::{Assessment, StatementRef, Verdict};
use crate::role_audit::RoleAuditOptions;
use crate::rules::messages::ExplainedBy;
use crate::text;

use super::{LineAnswer, Why, texts};

impl Why {
    /// Adds what an inventory shows about each known line.
    pub(crate) fn join(&mut self, inventory: &Inventory, options: &RoleAuditOptions) {
        let accounts: Vec<&str> = inventory.accounts.iter().map(|account| account.account_id.as_str()).collect();
        let regions = || inventory.accounts.iter().flat_map(|account| &account.regions);
        let is_here = |id: &str| {
            regions().any(|region| {
                region.find(id).is_some()
                    || region.instance(id).is_some()
                    || region.network_interfaces.iter().any(|one| one.id == id)
            })
        };
        for line in self.lines.iter_mut().filter(|line| line.known) {
            let rights = rights(line, inventory, options);
            // The answer of the policies is the cause, or it is not known.
            line.excludes_nothing = rights.is_some();
            line.here.extend(rights);
            let principal = field(line, "principal").and_then(role_of);
            line.excludes_nothing |= principal.is_some_and(|(account, _)| !accounts.contains(&account));
            note_missing(line, is_here);
            match line.explained_by {
                ExplainedBy::Rules => {}
                ExplainedBy::Users => note_holders(line, inventory),
                ExplainedBy::MetadataDefaults => note_defaults(line, inventory),
            }
        }
    }

    /// As [`Self::join`], in Alibaba Cloud: messages there do not name a principal.
    pub(crate) fn join_alibaba(&mut self, inventory: &crate::alibaba::Inventory) {
        let regions = || inventory.accounts.iter().flat_map(|account| &account.regions);
        let is_here = |id: &str| {
            regions().any(|region| {
                region.instances.iter().any(|one| one.id == id) || region.security_groups.iter().any(|one| one.id == id)
            })
        };
        for line in self.lines.iter_mut().filter(|line| line.known) {
            note_missing(line, is_here);
        }
    }
}

/// Notes the subnets, groups and instances of the line that the inventory does not hold.
fn note_missing(line: &mut LineAnswer, is_here: impl Fn(&str) -> bool) {
    let ids = ["instance", "subnets", "security_groups", "volume", "vpc", "eni"];
    let ids = ids.into_iter().filter_map(|name| line.fields.get(name));
    let missing: Vec<String> = ids
        .flat_map(texts)
        .filter(|id| !is_here(id))
        .map(|id| format!("`{}` is not in the inventory", text::printable(id)))
        .collect();
    line.excludes_nothing |= !missing.is_empty();
    line.here.extend(missing);
}

/// Notes what uses the groups, subnets and VPCs of the line: network interfaces, and rules of other groups.
fn note_holders(line: &mut LineAnswer, inventory: &Inventory) {
    let ids = ["security_groups", "subnets", "vpc"].into_iter().filter_map(|name| line.fields.get(name));
    let ids: BTreeSet<&str> = ids.flat_map(texts).collect();
    let mut noted = Vec::new();
    for id in ids {
        let regions =
            inventory.accounts.iter().flat_map(|account| account.regions.iter().map(move |one| (account, one)));
        let Some((account, region)) = regions.into_iter().find(|(_, region)| region.find(id).is_some()) else {
            continue;
        };
        let is_on = |interface: &&NetworkInterface| {
            interface.security_groups.iter().any(|group| group == id)
                || [&interface.subnet_id, &interface.vpc_id].into_iter().flatten().any(|place| place == id)
        };
        let interfaces = region.network_interfaces.iter().filter(is_on).map(|interface| {
            let is_left = deleted_load_balancer(interface, &account.account_id, region);
            let left = if is_left {
                ", which was deleted: Elastic Load Balancing removes its network interfaces within minutes"
            } else {
                ""
            };
            holder(interface) + left
        });
        let refers = |group: &&SecurityGroup| {
            let is_named = || group.ingress.iter().any(|rule| rule.groups.iter().any(|one| one.source == id));
            group.id != id && (is_named() || group.egress_groups.iter().any(|one| one == id))
        };
        let rules = region.security_groups.iter().filter(refers).map(|group| format!("a rule of {}", group.id));
        let users: BTreeSet<String> = interfaces.chain(rules).collect();
        let users: Vec<String> = users.into_iter().collect();
        if !users.is_empty() {
            noted.push(format!("`{}` is used by {}", text::printable(id), text::printable(&text::list(&users, 8))));
        } else if region.security_groups.iter().any(|group| group.id == id)
            && !lacks_interfaces(inventory, &region.name)
        {
            noted.push(format!("no network interface and no rule of the inventory uses `{}`", text::printable(id)));
        }
    }
    line.here.extend(noted);
}

/// Notes the regions whose account default enables instance tags in the metadata service.
fn note_defaults(line: &mut LineAnswer, inventory: &Inventory) {
    let regions = inventory.accounts.iter().flat_map(|account| &account.regions);
    let enabled = regions.filter(|region| {
        let defaults = region.metadata_defaults.as_ref();
        defaults.is_some_and(|defaults| defaults.options.instance_metadata_tags.as_deref() == Some("enabled"))
    });
    let names: Vec<&str> = enabled.map(|region| region.name.as_str()).collect();
    if !names.is_empty() {
        line.here.push(format!(
            "the account's default in {} is InstanceMetadataTags=enabled: it applies to every launch that does not set the option",
            text::list(&names, 3)
        ));
    }
}

/// True if the network interfaces of a region were not all read.
fn lacks_interfaces(inventory: &Inventory, region: &str) -> bool {
    let is_here = |gap: &Gap| gap.region.as_deref().is_none_or(|name| name == region);
    inventory.gaps.iter().any(|gap| gap.read == Read::DescribeNetworkInterfaces && is_here(gap))
}

/// A field with one text.
fn field<'l>(line: &'l LineAnswer, name: &str) -> Option<&'l str> {
    line.fields.get(name).and_then(Value::as_str)
}

/// Account and name of the role of a principal: `arn:…:assumed-role/NAME/SESSION` or `arn:…:role/PATH/NAME`.
fn role_of(principal: &str) -> Option<(&str, &str)> {
    let mut parts = principal.splitn(6, ':').skip(4);
    let (account, resource) = (parts.next()?, parts.next()?);
    match resource.strip_prefix("assumed-role/") {
        Some(rest) => Some((account, rest.split('/').next()?)),
        None => Some((account, resource.strip_prefix("role/")?.rsplit('/').next()?)),
    }
}

/// The answer of the policies of the role that was refused.
fn rights(line: &mut LineAnswer, inventory: &Inventory, options: &RoleAuditOptions) -> Option<String> {
    let line_action = field(line, "action")?.to_owned();
    let action = line_action.as_str();
    let principal = field(line, "principal")?.to_owned();
    let (account_id, name) = role_of(&principal)?;
    let shown = text::printable(name);
    let Some(account) = inventory.accounts.iter().find(|account| account.account_id == account_id) else {
        return Some(format!("not audited: account {} is not in the inventory", text::printable(account_id)));
    };
    let Some(role) = account.roles.iter().find(|role| role.name == name) else {
        let why = if account.has_all_roles { "does not exist" } else { "was not read" };
        return Some(format!("not audited: the role `{shown}` {why}"));
    };
    let resources: Vec<String> =
        field(line, "resource").filter(|arn| arn.starts_with("arn:")).map(str::to_owned).into_iter().collect();
    let Some(answer) = assess(account, role, (action, &resources), options) else {
        return Some(format!("not audited: a policy of the role `{shown}` was not read, or is malformed"));
    };
    let action = text::printable(action);
    let limits = answer.describe_limits(|_| true);
    line.is_granted_today = answer.verdict == Verdict::Granted;
    Some(match answer.verdict {
        Verdict::Granted => format!(
            "today the policies of the role `{shown}` grant {action} there: they were changed, or something outside of them denies it, such as a control policy"
        ),
        Verdict::Partial => format!("the role `{shown}` has {action} in part: {}", text::list(&limits, 4)),
        Verdict::Denied => format!("{} denies {action} to the role `{shown}`", statements(&answer.because)),
        Verdict::Missing => format!("no statement of the role `{shown}` grants {action} there"),
        Verdict::Undecided => format!("it is not decided whether the role `{shown}` has {action}"),
    })
}

/// The answer for the action on the resource of the message. Tags of the request are not known.
fn assess(
    account: &Account,
    role: &Role,
    (action, resources): (&str, &[String]),
    options: &RoleAuditOptions,
) -> Option<Assessment> {
    let regions = account.regions.iter().map(|region| region.name.clone()).collect();
    let grants = RoleGrants::of_role(account, role, regions, options)?;
    let unknown = CallTags::unknown();
    let call = TaggedCall { action, resources, creation: None, request: &unknown, resource: &unknown };
    Some(grants.assess(&call, options.catalogue()))
}

/// "statement 2 of `policy`".
fn statements(because: &[StatementRef]) -> String {
    let names: Vec<String> = because
        .iter()
        .map(|one| match one.statement {
            Some(_) => text::printable(&one.describe()).into_owned(),
            None => format!("{}, which does not allow it,", text::printable(&one.describe())),
        })
        .collect();
    if names.is_empty() { "a policy".to_owned() } else { text::list(&names, 3) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::aws::MetadataDefaults;
    use crate::role_audit::RoleAuditOptions;
    use crate::testing::aws::{Cluster, SERVER_ROLE, TAGGED_GROUP};
    use crate::why::answer;

    /// What the account shows about a call of a role that was refused.
    fn here(role: &str, action: &str, change: impl FnOnce(&mut Cluster)) -> Vec<String> {
        let mut cluster = Cluster::new();
        change(&mut cluster);
        let account = &cluster.inventory.accounts[0].account_id;
        let line = format!(
            "AccessDenied: User: arn:aws:sts::{account}:assumed-role/{role}/session is not authorized to perform: {action} on resource: arn:aws:ec2:eu-central-1:{account}:security-group/sg-0bb1 because no identity-based policy allows the {action} action"
        );
        let mut found = answer(&line);
        found.join(&cluster.inventory, &RoleAuditOptions::default());
        found.lines.remove(0).here
    }

    fn allow(cluster: &mut Cluster, statements: &Value) {
        *cluster.server_policy() = json!({"Version": "2012-10-17", "Statement": statements}).to_string();
    }

    #[test]
    fn the_policies_of_the_role_are_asked_again() {
        let action = "ec2:AuthorizeSecurityGroupIngress";
        let granted = here(SERVER_ROLE, action, |_| {});
        assert!(granted[0].starts_with("today the policies of the role `rke2-server` grant"), "{granted:?}");
        let missing = here(SERVER_ROLE, action, |c| {
            allow(c, &json!([{"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}]));
        });
        assert!(missing[0].starts_with("no statement of the role `rke2-server` grants"), "{missing:?}");
        let denied = here(SERVER_ROLE, action, |c| {
            let statements = json!([
                {"Effect": "Allow", "Action": "*", "Resource": "*"}, {"Effect": "Deny", "Action": action, "Resource": "*"}
            ]);
            allow(c, &statements);
        });
        assert!(denied[0].starts_with("statement 2 of "), "{denied:?}");
        let conditional = here(SERVER_ROLE, action, |c| {
            let condition = json!({"StringEquals": {"aws:ResourceTag/team": "shop"}});
            allow(c, &json!([{"Effect": "Allow", "Action": action, "Resource": "*", "Condition": condition}]));
        });
        assert!(conditional[0].contains("in part: aws:ResourceTag/team"), "{conditional:?}");
    }

    /// The notes of the account about a group that cannot be deleted.
    fn holders(change: impl FnOnce(&mut Cluster)) -> Vec<String> {
        let mut cluster = Cluster::new();
        cluster.add_group("sg-ffff1111");
        change(&mut cluster);
        let mut found = answer("DependencyViolation: resource sg-ffff1111 has a dependent object");
        found.join(&cluster.inventory, &RoleAuditOptions::default());
        found.lines.remove(0).here
    }

    #[test]
    fn what_uses_a_group_is_named_as_far_as_it_was_read() {
        assert_eq!(holders(|_| {}), ["no network interface and no rule of the inventory uses `sg-ffff1111`"]);
        let outbound = holders(|c| c.group(TAGGED_GROUP).egress_groups = vec!["sg-ffff1111".to_owned()]);
        assert_eq!(outbound, [format!("`sg-ffff1111` is used by a rule of {TAGGED_GROUP}")]);
        let gap = serde_json::from_value(json!({
            "api": "ec2:DescribeNetworkInterfaces", "reason": "UnauthorizedOperation", "message": "refused"
        }));
        let unread = holders(|c| c.inventory.gaps.push(gap.unwrap()));
        assert_eq!(unread, [""; 0]);
    }

    #[test]
    fn the_default_of_the_account_explains_a_tag_key_that_is_refused() {
        let notes = |value: &str| {
            let mut cluster = Cluster::new();
            let options = serde_json::from_value(json!({"instance_metadata_tags": value})).unwrap();
            cluster.region().metadata_defaults = Some(MetadataDefaults { options, tokens_enforced: false });
            let mut found = answer(
                "InvalidParameterValue: 'kubernetes.io/cluster/a' is not a valid tag key. Tag keys must match pattern ([0-9a-zA-Z\\-_+=,.@:]{1,255})",
            );
            found.join(&cluster.inventory, &RoleAuditOptions::default());
            found.lines.remove(0).here
        };
        assert_eq!(notes("disabled"), [""; 0]);
        let enabled = notes("enabled");
        assert!(enabled.len() == 1 && enabled[0].contains("InstanceMetadataTags=enabled"), "{enabled:?}");
    }

    #[test]
    fn what_was_not_read_is_not_audited() {
        let unknown = here("nobody", "ec2:AuthorizeSecurityGroupIngress", |c| c.account().has_all_roles = false);
        assert_eq!(unknown[0], "not audited: the role `nobody` was not read");
        let unread = here(SERVER_ROLE, "ec2:AuthorizeSecurityGroupIngress", |c| {
            c.role(SERVER_ROLE).inline_policies = None;
        });
        assert!(unread[0].starts_with("not audited: a policy of the role"), "{unread:?}");
    }
}
