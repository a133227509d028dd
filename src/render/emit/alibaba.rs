//! Plans of Alibaba Cloud as Terraform, and the account check of its scripts.

use std::fmt::Write as _;

use crate::fix::plan::Plan;
use crate::transition::{Attribute, Transition, policy_name};

use super::{because, block, by_hand, comment, hcl_string};

/// Prints the account of the credentials. `aliyun` prints JSON, and its only other form is a table.
pub(super) const WHO: &str = r#"aliyun sts GetCallerIdentity | sed -n 's/.*"AccountId": *"\([0-9]*\)".*/\1/p'"#;

/// The plan in HCL, for the provider `aliyun/alicloud`. Source: aliyun/terraform-provider-alicloud,
/// `alicloud_ram_policy` (since 1.114: `policy_name`, `policy_document`) and `alicloud_ram_role_policy_attachment`.
/// Tags are arguments of `alicloud_instance`, not separate resources.
pub(super) fn terraform(plan: &Plan) -> String {
    let mut page = super::heading(plan);
    comment(
        &mut page,
        "The provider `alicloud` has no resource for tags of instances: set them in the `tags` of each instance.",
    );
    for change in &plan.changes {
        page.push('\n');
        because(&mut page, change);
        let Transition { target, attribute, old, new } = &change.transition;
        let name = format!("tagaudit_{}", change.id);
        let text = new.as_ref().map(ToString::to_string);
        match (attribute, text.as_deref()) {
            (Attribute::ManagedPolicy {}, Some(document)) => {
                let policy = policy_name(&target.id);
                if old.is_some() {
                    // It exists, and Terraform would create it a second time.
                    let id = hcl_string(policy);
                    let _ = writeln!(page, "import {{\n  to = alicloud_ram_policy.{name}\n  id = {id}\n}}\n");
                }
                let fields = [("policy_name", policy), ("policy_document", document)];
                block(&mut page, "alicloud_ram_policy", &name, &fields);
            }
            (Attribute::AttachedPolicy { policy_arn }, Some(_)) => {
                let made = plan.changes.iter().find(|other| other.transition.target.id == *policy_arn);
                // By reference if the plan creates the policy, which has to exist first.
                let policy = match made {
                    Some(policy) => format!("alicloud_ram_policy.tagaudit_{}.policy_name", policy.id),
                    None => hcl_string(policy_name(policy_arn)),
                };
                let role = hcl_string(&target.id);
                let _ = writeln!(
                    page,
                    "resource \"alicloud_ram_role_policy_attachment\" \"{name}\" {{\n  policy_name = {policy}\n  policy_type = \"Custom\"\n  role_name   = {role}\n}}"
                );
            }
            _ => comment(&mut page, &by_hand(&change.transition)),
        }
    }
    page
}
