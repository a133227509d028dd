//! The instance metadata service.

use super::Rule;
use super::region::ids;
use crate::aws::MetadataOptions;
use crate::aws::view::{Member, RegionView};
use crate::resource::ResourceKind;
use crate::transition::{Attribute, MetadataOption, Transition, Value};

mod imds_account_defaults;
mod imds_disabled;
mod imds_hop_limit_low;
mod imds_instance_tags_enabled;
mod imds_v2_required_unsupported;

pub(super) const RULES: &[Rule] = include!(concat!(env!("OUT_DIR"), "/metadata.rs"));

const INSTANCE: &[ResourceKind] = &[ResourceKind::Instance];

fn options<'m>(member: &Member<'m>) -> Option<&'m MetadataOptions> {
    member.instance.metadata_options.as_ref()
}

fn set(region: &RegionView<'_>, members: &[&Member<'_>], option: MetadataOption, value: &Value) -> Vec<Transition> {
    let attribute = Attribute::MetadataOption { option };
    let one = |id| Transition::set(region.target(ResourceKind::Instance, id), attribute.clone(), value.clone());
    ids(members).map(one).collect()
}
