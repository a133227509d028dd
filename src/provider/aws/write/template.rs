//! Makes new versions of launch templates.

use aws_sdk_ec2::types::{LaunchTemplateTagSpecificationRequest, RequestLaunchTemplateData, Tag};

use crate::provider::aws::call::CallError;
use crate::tags::TagSpecification;
use crate::transition::{Operation, Target, TemplateAlias, Value, tag_specifications};

use super::Writer;
use super::error::unknown;

impl Writer {
    /// Makes a new version with these tags, which inherits the rest from the version of the alias. One of the default version
    /// becomes the default.
    pub(super) async fn write_template_version(
        &self,
        target: &Target,
        source: TemplateAlias,
        new: Option<&Value>,
        dry_run: bool,
    ) -> Result<Option<String>, CallError> {
        let (client, region) = (self.session.ec2_writer(target.region()), target.region());
        let all = new.and_then(|value| tag_specifications::parse(&value.to_string())).ok_or_else(unknown)?;
        let data = all
            .into_iter()
            .fold(RequestLaunchTemplateData::builder(), |data, one| data.tag_specifications(specification(one)));
        let request = client.create_launch_template_version().launch_template_id(&target.id);
        let request = request.source_version(source.name()).launch_template_data(data.build()).dry_run(dry_run);
        let mut made = None;
        let create = self.send(Operation::CreateLaunchTemplateVersion, region, || async {
            let answer = request.send().await;
            made = answer.as_ref().ok().and_then(|answer| answer.launch_template_version()?.version_number());
            answer
        });
        let created = Box::pin(create).await;
        let request_id = match created {
            // Both calls are tried out.
            Err(error) if dry_run && source == TemplateAlias::Default && error.code == "DryRunOperation" => None,
            other => other?,
        };
        if source == TemplateAlias::Latest {
            return Ok(request_id);
        }
        // Another version may have been made meanwhile: the number names this one.
        let default = match made {
            Some(number) => number.to_string(),
            None if dry_run => TemplateAlias::Latest.name().to_owned(),
            None => return Err(unknown()),
        };
        let request = client.modify_launch_template().launch_template_id(&target.id);
        let request = request.default_version(default).dry_run(dry_run);
        let moved = self.send(Operation::ModifyLaunchTemplate, region, || request.send()).await;
        moved.map_err(|error| match made {
            Some(number) => {
                let (code, id) = (error.code.clone(), &target.id);
                CallError::new(
                    &code,
                    format!("{}; version {number} of {id} was made, and is not the default", error.message),
                )
            }
            None => error,
        })
    }
}

fn specification(one: TagSpecification) -> LaunchTemplateTagSpecificationRequest {
    let builder = LaunchTemplateTagSpecificationRequest::builder().resource_type(one.resource_type.as_str().into());
    let tags = one.tags.into_iter().map(|tag| Tag::builder().key(tag.key).value(tag.value).build());
    builder.set_tags(Some(tags.collect())).build()
}
