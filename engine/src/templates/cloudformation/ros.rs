//! Attachments of RAM policies in templates of ROS, which are separate resources or properties of a role.

use super::{Holder, Template, kind, property};
use crate::json::Node;
use crate::templates::functions::{self, referenced_name};
use crate::templates::{Decision, FoundRole};

/// Types that attach a policy to one holder: the property that names the holder.
const ATTACHMENTS: &[(&str, &str)] =
    &[("ALIYUN::RAM::AttachPolicyToRole", "RoleName"), ("ALIYUN::RAM::AttachPolicyToUser", "UserName")];

impl<'t> Template<'t> {
    /// Adds the policies that attachments give a holder.
    pub(super) fn attach_of_ros(&mut self, holder: &Holder<'t>, role: &mut FoundRole) {
        let attachments = property(holder.node, "PolicyAttachments");
        let named = |kind: &str| attachments.and_then(|all| all.get(kind)).and_then(Node::items).unwrap_or_default();
        for system in named("System") {
            role.policies.push(self.missing_policy(&role.address, system));
        }
        let mut references: Vec<(&'t Node, Vec<Decision>)> =
            named("Custom").iter().map(|name| (name, Vec::new())).collect();
        for (name, resource) in &self.resources {
            let Some((_, named_by)) = ATTACHMENTS.iter().find(|(known, _)| *known == kind(resource)) else { continue };
            let Some(policy) = property(resource, "PolicyName") else { continue };
            for (_, decisions) in self.named(name, resource, named_by, std::slice::from_ref(holder)) {
                let own = Self::own_condition(resource, Some(holder.node));
                references.push((policy, [decisions, own].concat()));
            }
        }
        for (policy, decisions) in references {
            let target = referenced_name(policy).map(str::to_owned).or_else(|| self.policy_by_name(policy));
            match target.and_then(|target| self.attached_policy(&target, holder.node, &decisions)) {
                Some(policy) => role.policies.push(policy),
                None => role.policies.push(self.missing_policy(&role.address, policy)),
            }
        }
    }

    /// Logical name of the policy with this name.
    fn policy_by_name(&self, name: &Node) -> Option<String> {
        let wanted = functions::text(name, self.pseudo);
        let is_it = |resource: &Node| {
            property(resource, "PolicyName").is_some_and(|own| functions::text(own, self.pseudo) == wanted)
        };
        let mut policies = self.resources.iter().filter(|(known, _)| self.documents.contains_key(known));
        policies.find(|(_, resource)| is_it(resource)).map(|(known, _)| (*known).to_owned())
    }
}
