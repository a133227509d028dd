//! Reads and writes single resources. Every call is made exactly once: after a lost answer, the caller has to read the
//! result back.

use std::error::Error as StdError;
use std::future::Future;

use aws_sdk_ec2::operation::RequestId;
use aws_sdk_ec2::types::AttributeBooleanValue;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

use crate::aws::grant;
use crate::estate::Estate;
use crate::fix::plan::{DryRunAnswer, Kind, Plan, PlannedChange};
use crate::inventory::Read;
use crate::provider::account_writer::{AccountWriter, Answer, RecordedVersions};
use crate::provider::signals::{self, SignalGuard};
use crate::provider::write_error::WriteError;
use crate::resource::ResourceKind;
use crate::role_audit::grant::{restored_version, undone_version};
use crate::transition::{
    Attribute, MetadataOption, Operation, Target, Transition, Value, VpcAttribute, managed_policy_path,
};

use super::call::{CallError, Caller};
use super::config::Session;
use super::{Error, ErrorKind, Request, config, iam, identity};

mod error;
mod leftovers;
mod look;
mod tag_call;
mod template;

use error::{refused, stopped, unknown};
use tag_call::TagCall;

/// Versions that a managed policy may have (IAM quotas).
const STORED_VERSIONS: usize = 5;

/// Code of a dry run that was answered like a real call.
const DRY_RUN_IGNORED: &str = "DryRunIgnored";

/// A connection to one account, for reading and writing.
pub(crate) struct Writer {
    session: Session,
    reads: Caller,
    writes: Caller,
    account_id: String,
    partition: String,
    caller_arn: String,
}

impl AccountWriter for Writer {
    fn account(&self) -> (&str, &str) {
        (&self.account_id, &self.partition)
    }

    fn caller(&self) -> (&str, Option<&str>) {
        (&self.caller_arn, self.session.profile())
    }

    fn look<'w>(&'w self, changes: &'w [&'w PlannedChange]) -> Answer<'w, Result<Estate, WriteError>> {
        Box::pin(self.look(changes))
    }

    fn write<'w>(
        &'w self,
        plan: &'w Plan,
        batch: &'w [&'w PlannedChange],
        versions: &'w RecordedVersions,
    ) -> Answer<'w, Result<Option<String>, WriteError>> {
        Box::pin(self.send_batch(plan, batch, Some(versions)))
    }

    fn try_out<'w>(&'w self, plan: &'w Plan, batch: &'w [&'w PlannedChange]) -> Answer<'w, (DryRunAnswer, bool)> {
        Box::pin(async {
            if !batch.first().is_some_and(|change| Self::has_dry_run(change)) {
                return (DryRunAnswer::Unknown, false);
            }
            match self.send_batch(plan, batch, None).await {
                Ok(_) => (DryRunAnswer::Allowed, false),
                Err(error) => {
                    let is_ignored = error.code == DRY_RUN_IGNORED;
                    (DryRunAnswer::Refused(error.message), is_ignored)
                }
            }
        })
    }

    fn delete_undone_version<'w>(
        &'w self,
        change: &'w PlannedChange,
        versions: &'w RecordedVersions,
    ) -> Answer<'w, Result<(), WriteError>> {
        Box::pin(self.delete_undone_version(change, versions))
    }
}

impl Writer {
    /// Connects and identifies the caller.
    pub(crate) async fn connect(request: &Request<'_>) -> Result<Self, Error> {
        config::validate_environment(request)?;
        let caller = Caller::new(request);
        let session = Session::load(request).await?;
        let session = match request.assume_roles.as_slice() {
            [] => session,
            [role] => session.assume(role, request).await,
            _ => {
                return Err(Error::new(ErrorKind::Usage, "a fix is made in one account at a time")
                    .help("give one --assume-role"));
            }
        };
        let (account_id, caller_arn, partition) = identity(&session, &caller).await?;
        Ok(Self {
            session: session.for_account(&account_id),
            reads: caller.for_account(&account_id),
            writes: caller.for_writes(),
            account_id,
            partition,
            caller_arn,
        })
    }

    /// Makes a batch of changes in one call (several for managed policies), or dry-runs it in EC2. Returns the request
    /// id of the answer. `recorded` is absent in a dry run.
    async fn send_batch(
        &self,
        plan: &Plan,
        batch: &[&PlannedChange],
        recorded: Option<&RecordedVersions>,
    ) -> Result<Option<String>, WriteError> {
        let sent = match batch.first() {
            None => Ok(None),
            Some(change) if recorded.is_none() && !Self::has_dry_run(change) => Ok(None),
            Some(change) => self.make(plan, batch, &change.transition, recorded).await,
        };
        sent.map_err(|error| WriteError::from(&error))
    }

    /// True if a change has a dry run.
    fn has_dry_run(change: &PlannedChange) -> bool {
        // `ModifyVpcAttribute` has no such argument, and neither has any call of IAM, Auto Scaling or Elastic Load Balancing.
        let Transition { target, attribute, .. } = &change.transition;
        let is_of_ec2 = *attribute != Attribute::Resource {} || target.kind == ResourceKind::SecurityGroup;
        let has_none = matches!(attribute, Attribute::VpcAttribute { .. } | Attribute::GroupTag { .. });
        is_of_ec2 && !attribute.is_iam() && !has_none
    }

    /// Makes one call, once, and returns the request id of its answer.
    async fn send<O, E, F>(
        &self,
        operation: Operation,
        region: &str,
        send: impl FnOnce() -> F,
    ) -> Result<Option<String>, CallError>
    where
        F: Future<Output = Result<O, SdkError<E, HttpResponse>>>,
        O: RequestId,
        E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
    {
        // A write may need reads of its own: the signal that came meanwhile prevents it.
        if signals::has_come() {
            return Err(stopped());
        }
        let answer = self.writes.once(operation.action(), region, send).await?;
        Ok(answer.request_id().map(str::to_owned))
    }

    /// Makes a call that a write depends on. A signal ends the wait.
    async fn until_signal<T>(call: impl Future<Output = Result<T, CallError>>) -> Result<T, CallError> {
        let guard = SignalGuard::begin();
        tokio::select! {
            biased;
            _ = guard.signal() => Err(stopped()),
            answer = call => answer,
        }
    }

    async fn make(
        &self,
        plan: &Plan,
        batch: &[&PlannedChange],
        transition: &Transition,
        recorded: Option<&RecordedVersions>,
    ) -> Result<Option<String>, CallError> {
        let dry_run = recorded.is_none();
        let Transition { target, attribute, new, .. } = transition;
        let id = target.id.as_str();
        let sent = match attribute {
            Attribute::Tag { .. } => self.write_tag(batch, target.region(), new.is_some(), dry_run).await,
            Attribute::MetadataOption { option } => {
                self.write_metadata_option(target, *option, new.as_ref(), dry_run).await
            }
            Attribute::VpcAttribute { attribute } => self.write_vpc_attribute(target, *attribute, new.as_ref()).await,
            Attribute::SourceDestCheck {} => self.write_source_dest_check(target, new.as_ref(), dry_run).await,
            Attribute::GroupTag { key } => self.write_group_tag(target, key, new.as_ref()).await,
            Attribute::TemplateTags { version } => {
                Box::pin(self.write_template_version(target, *version, new.as_ref(), dry_run)).await
            }
            Attribute::Resource {} => self.delete(target, dry_run).await,
            Attribute::IngressRule { rule } => self.write_rule(transition, rule, dry_run).await,
            Attribute::InlinePolicy { name } => {
                return self.write_inline_policy(id, name, new.as_ref().and_then(Value::document)).await;
            }
            Attribute::AttachedPolicy { policy_arn } => {
                return self.write_attachment(id, policy_arn, new.is_some()).await;
            }
            Attribute::ManagedPolicy {} => {
                return self
                    .write_managed_policy(plan, transition, recorded.and_then(|versions| versions.restored.as_deref()))
                    .await;
            }
        };
        match sent {
            // The answer to a dry run that would have succeeded is an error of this name.
            Err(error) if dry_run && error.code == "DryRunOperation" => Ok(None),
            // EC2 never answers so; a substitute for it may, and then it has written.
            Ok(_) if dry_run => Err(CallError::new(
                DRY_RUN_IGNORED,
                "the endpoint does not support dry runs and may have made the change".to_owned(),
            )),
            other => other,
        }
    }

    async fn write_tag(
        &self,
        batch: &[&PlannedChange],
        region: &str,
        is_set: bool,
        dry_run: bool,
    ) -> Result<Option<String>, CallError> {
        let client = self.session.ec2_writer(region);
        let call = TagCall::from_batch(batch).ok_or_else(unknown)?;
        let (resources, tag) = (Some(call.resources()), call.tag());
        if is_set {
            let request = client.create_tags().set_resources(resources).tags(tag).dry_run(dry_run);
            self.send(Operation::CreateTags, region, || request.send()).await
        } else {
            let request = client.delete_tags().set_resources(resources).tags(tag).dry_run(dry_run);
            self.send(Operation::DeleteTags, region, || request.send()).await
        }
    }

    async fn write_group_tag(
        &self,
        target: &Target,
        key: &str,
        new: Option<&Value>,
    ) -> Result<Option<String>, CallError> {
        let (client, region) = (self.session.autoscaling_writer(target.region()), target.region());
        let tag = aws_sdk_autoscaling::types::Tag::builder();
        let tag = tag.resource_id(&target.id).resource_type("auto-scaling-group").key(key);
        match new {
            Some(Value::GroupTag { value, propagates }) => {
                let tag = tag.value(value).propagate_at_launch(*propagates).build();
                let request = client.create_or_update_tags().tags(tag);
                self.send(Operation::CreateOrUpdateGroupTags, region, || request.send()).await
            }
            Some(_) => Err(unknown()),
            None => {
                let request = client.delete_tags().tags(tag.build());
                self.send(Operation::DeleteGroupTags, region, || request.send()).await
            }
        }
    }

    async fn write_metadata_option(
        &self,
        target: &Target,
        option: MetadataOption,
        value: Option<&Value>,
        dry_run: bool,
    ) -> Result<Option<String>, CallError> {
        let client = self.session.ec2_writer(target.region());
        let request = client.modify_instance_metadata_options().instance_id(&target.id).dry_run(dry_run);
        let value = value.ok_or_else(unknown)?;
        let word = value.to_string();
        let request = match option {
            MetadataOption::HttpEndpoint => request.http_endpoint(word.as_str().into()),
            MetadataOption::InstanceMetadataTags => request.instance_metadata_tags(word.as_str().into()),
            MetadataOption::HttpPutResponseHopLimit => {
                let Value::Number(limit) = value else { return Err(unknown()) };
                request.http_put_response_hop_limit(*limit)
            }
        };
        self.send(Operation::ModifyInstanceMetadataOptions, target.region(), || request.send()).await
    }

    async fn write_vpc_attribute(
        &self,
        target: &Target,
        attribute: VpcAttribute,
        value: Option<&Value>,
    ) -> Result<Option<String>, CallError> {
        let client = self.session.ec2_writer(target.region());
        let request = client.modify_vpc_attribute().vpc_id(&target.id);
        let request = match attribute {
            VpcAttribute::EnableDnsSupport => request.enable_dns_support(switch(value)?),
            VpcAttribute::EnableDnsHostnames => request.enable_dns_hostnames(switch(value)?),
        };
        self.send(Operation::ModifyVpcAttribute, target.region(), || request.send()).await
    }

    async fn write_source_dest_check(
        &self,
        target: &Target,
        value: Option<&Value>,
        dry_run: bool,
    ) -> Result<Option<String>, CallError> {
        let client = self.session.ec2_writer(target.region());
        let request = client.modify_instance_attribute().instance_id(&target.id);
        let request = request.source_dest_check(switch(value)?).dry_run(dry_run);
        self.send(Operation::ModifyInstanceAttribute, target.region(), || request.send()).await
    }

    async fn write_inline_policy(
        &self,
        role: &str,
        name: &str,
        document: Option<&str>,
    ) -> Result<Option<String>, CallError> {
        let client = self.session.iam_writer();
        if let Some(document) = document {
            let request = client.put_role_policy().role_name(role).policy_name(name).policy_document(document);
            self.send(Operation::PutRolePolicy, "", || request.send()).await
        } else {
            let request = client.delete_role_policy().role_name(role).policy_name(name);
            self.send(Operation::DeleteRolePolicy, "", || request.send()).await
        }
    }

    async fn write_attachment(&self, role: &str, policy_arn: &str, attach: bool) -> Result<Option<String>, CallError> {
        let client = self.session.iam_writer();
        if attach {
            let request = client.attach_role_policy().role_name(role).policy_arn(policy_arn);
            self.send(Operation::AttachRolePolicy, "", || request.send()).await
        } else {
            let request = client.detach_role_policy().role_name(role).policy_arn(policy_arn);
            self.send(Operation::DetachRolePolicy, "", || request.send()).await
        }
    }

    async fn write_managed_policy(
        &self,
        plan: &Plan,
        transition: &Transition,
        restored: Option<&str>,
    ) -> Result<Option<String>, CallError> {
        let (client, arn) = (self.session.iam_writer(), transition.target.id.as_str());
        match transition.new.as_ref().and_then(Value::document) {
            None => self.delete_policy(&client, arn).await,
            Some(document) if transition.old.is_some() => {
                self.set_default_version(&client, plan, arn, document, restored).await
            }
            Some(document) => {
                let (path, name) = managed_policy_path(arn);
                let request = client.create_policy().policy_name(name).path(path).policy_document(document);
                self.send(Operation::CreatePolicy, "", || request.send()).await
            }
        }
    }

    /// Deletes a managed policy with its versions, if tagaudit wrote all of them and nothing has the policy attached.
    /// IAM refuses to delete a policy with other versions than the default one: an interrupted undo may have left one.
    /// Source: IAM API Reference, `DeletePolicy`.
    async fn delete_policy(&self, client: &aws_sdk_iam::Client, arn: &str) -> Result<Option<String>, CallError> {
        let versions = self.versions(client, arn).await?;
        let is_ours = |held: &Option<String>| held.as_deref().is_some_and(|text| grant::own_grants(text).is_some());
        if !versions.iter().all(|(_, _, held)| is_ours(held)) {
            return Err(refused("the policy has a version that tagaudit did not write"));
        }
        self.check_attachments(client, arn, 0).await?;
        for (version, ..) in versions.iter().filter(|(_, is_default, _)| !is_default) {
            let request = client.delete_policy_version().policy_arn(arn).version_id(version);
            self.send(Operation::DeletePolicyVersion, "", || request.send()).await?;
        }
        let request = client.delete_policy().policy_arn(arn);
        self.send(Operation::DeletePolicy, "", || request.send()).await
    }

    /// Fails if the policy is attached to other principals, which would gain or lose its permissions too.
    async fn check_attachments(&self, client: &aws_sdk_iam::Client, arn: &str, most: i32) -> Result<(), CallError> {
        let call = self.reads.call(Read::GetPolicy.action(), "", || client.get_policy().policy_arn(arn).send());
        let policy = Self::until_signal(call).await?;
        let attachments = policy.policy.and_then(|policy| policy.attachment_count);
        if attachments.is_none_or(|number| number > most) {
            return Err(refused("the policy is attached elsewhere, or its attachments are unknown"));
        }
        Ok(())
    }

    /// Deletes the version that a fix created and its undo replaced as the default. The policy itself existed before
    /// the fix, and stays.
    async fn delete_undone_version(
        &self,
        change: &PlannedChange,
        recorded: &RecordedVersions,
    ) -> Result<(), WriteError> {
        let Transition { target, attribute: Attribute::ManagedPolicy {}, old: Some(undone), new: Some(_) } =
            &change.transition
        else {
            return Ok(());
        };
        let (client, arn) = (self.session.iam_writer(), target.id.as_str());
        let versions = self.versions(&client, arn).await.map_err(|error| WriteError::from(&error))?;
        if let Some(version) = undone_version(&versions, undone.document(), recorded.replaced.as_deref()) {
            let request = client.delete_policy_version().policy_arn(arn).version_id(version);
            let sent = self.send(Operation::DeletePolicyVersion, "", || request.send()).await;
            sent.map_err(|error| WriteError::from(&error))?;
        }
        Ok(())
    }

    /// Makes a document the default of a managed policy with a new version; an undo makes the version that holds the
    /// old document the default again.
    async fn set_default_version(
        &self,
        client: &aws_sdk_iam::Client,
        plan: &Plan,
        arn: &str,
        document: &str,
        restored: Option<&str>,
    ) -> Result<Option<String>, CallError> {
        let attaches = plan.kind == Kind::Fix
            && plan.changes.iter().any(|change| {
                matches!(&change.transition.attribute, Attribute::AttachedPolicy { policy_arn } if policy_arn == arn)
            });
        self.check_attachments(client, arn, i32::from(!attaches)).await?;
        let versions = self.versions(client, arn).await?;
        let earlier = restored_version(&versions, document, restored);
        let Some(version) = earlier.filter(|_| plan.kind == Kind::Undo) else {
            if versions.len() >= STORED_VERSIONS {
                return Err(CallError::new(
                    "LimitExceeded",
                    format!("{STORED_VERSIONS} versions of the policy are stored, as many as IAM allows: delete one"),
                ));
            }
            let request = client.create_policy_version().policy_arn(arn).policy_document(document).set_as_default(true);
            return self.send(Operation::CreatePolicyVersion, "", || request.send()).await;
        };
        let request = client.set_default_policy_version().policy_arn(arn).version_id(version);
        self.send(Operation::SetDefaultPolicyVersion, "", || request.send()).await
    }

    /// Versions of a managed policy: id, true if it is the default, document.
    async fn versions(
        &self,
        client: &aws_sdk_iam::Client,
        arn: &str,
    ) -> Result<Vec<(String, bool, Option<String>)>, CallError> {
        let reads = &self.reads;
        let call = reads.call("iam:ListPolicyVersions", "", || client.list_policy_versions().policy_arn(arn).send());
        let listed = Self::until_signal(call).await?;
        if listed.is_truncated {
            return Err(refused("the list of its versions is truncated"));
        }
        let mut versions = Vec::new();
        for version in listed.versions.unwrap_or_default() {
            let Some(id) = version.version_id else { continue };
            let request = || client.get_policy_version().policy_arn(arn).version_id(&id).send();
            let call = reads.call(Read::GetPolicyVersion.action(), "", request);
            let document = Self::until_signal(call).await?.policy_version;
            let document = document.and_then(|version| version.document).as_deref().map(iam::decode);
            versions.push((id, version.is_default_version, document));
        }
        Ok(versions)
    }
}

fn switch(value: Option<&Value>) -> Result<AttributeBooleanValue, CallError> {
    match value {
        Some(Value::Switch(on)) => Ok(AttributeBooleanValue::builder().value(*on).build()),
        Some(_) | None => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// W23: `DeleteTags` without tags removes all of them, and nothing leads to such a call.
    #[test]
    fn there_is_no_tag_call_without_a_resource_or_without_a_tag() {
        assert!(TagCall::from_batch(&[]).is_none());
    }
}
