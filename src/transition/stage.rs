//! Order of transitions.

use crate::resource::ResourceKind;

use super::{Attribute, MetadataOption, State, Transition, Value, VpcAttribute};

impl Transition {
    /// Position in the order of a plan. A key with a slash can only be added with instance metadata tags off; correct
    /// values are added before wrong ones are removed; a policy is created before it is attached, and detached before
    /// it is deleted; leftovers are deleted last, those that use others first.
    #[must_use]
    pub fn stage(&self) -> u8 {
        let Self { attribute, new, .. } = self;
        match (attribute, new) {
            (Attribute::MetadataOption { option: MetadataOption::InstanceMetadataTags }, Some(value)) => {
                if *value == Value::State(State::Enabled) { 4 } else { 0 }
            }
            (Attribute::Tag { .. } | Attribute::GroupTag { .. } | Attribute::IngressRule { .. }, Some(_)) => 1,
            (Attribute::Tag { .. } | Attribute::GroupTag { .. }, None) | (Attribute::TemplateTags { .. }, _) => 2,
            // Host names need DNS support: enabled after it, disabled before it.
            (Attribute::VpcAttribute { attribute }, Some(value)) => {
                if (*attribute == VpcAttribute::EnableDnsSupport) == (*value == Value::Switch(true)) { 3 } else { 4 }
            }
            (Attribute::MetadataOption { .. } | Attribute::VpcAttribute { .. } | Attribute::SourceDestCheck {}, _) => 3,
            (Attribute::ManagedPolicy {}, Some(_)) => 5,
            (Attribute::InlinePolicy { .. } | Attribute::AttachedPolicy { .. }, Some(_)) => 6,
            (Attribute::InlinePolicy { .. } | Attribute::AttachedPolicy { .. }, None) => 7,
            (Attribute::ManagedPolicy {}, None) => 8,
            // A load balancer uses its target groups and security groups; a security group cannot be deleted while a
            // rule names it.
            (Attribute::Resource {}, _) => match self.target.kind {
                ResourceKind::LoadBalancer => 9,
                ResourceKind::TargetGroup => 10,
                _ => 12,
            },
            (Attribute::IngressRule { .. }, None) => 11,
        }
    }
}
