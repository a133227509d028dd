//! Reads and writes single resources. Every write is sent exactly once: after a lost answer, the caller has to read the
//! result back.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;

use crate::alibaba::{Account, Inventory, Policy, PolicyType, Principal, PrincipalKind, Region, grant};
use crate::estate::Estate;
use crate::fix::plan::{DryRunAnswer, Kind, Plan, PlannedChange};
use crate::inventory::{Provider, Read};
use crate::provider::account_writer::{AccountWriter, Answer, RecordedVersions};
use crate::provider::alibaba::answers::{Done, Instances, PolicyAnswer, PolicyList, PolicyVersions, RoleAnswer};
use crate::provider::error::Error;
use crate::provider::signals;
use crate::provider::write_error::{WriteError, WriteErrorKind};
use crate::resource::ResourceKind;
use crate::role_audit::grant::{restored_version, undone_version};
use crate::transition::{Attribute, Operation, Transition, Value, policy_name};

use super::client::{ApiCall, CallError, CallErrorKind, api_for_operation, is_passing};
use super::endpoint::Product;
use super::session::{Session, joined, whole};
use super::{Connection, Request};

/// Instances in one request: `DescribeInstances` accepts a hundred ids.
const IDS: usize = 100;

/// Versions that a custom policy may have. Source: RAM documentation, "Limits" (2025-12-16).
const STORED_VERSIONS: usize = 5;

/// A connection to one account, for reading and writing.
pub(crate) struct Writer {
    session: Session,
    account_id: String,
    caller_arn: String,
}

impl From<&CallError> for WriteError {
    fn from(error: &CallError) -> Self {
        let kind = match error.kind {
            CallErrorKind::Throttled => WriteErrorKind::Throttled,
            CallErrorKind::Credentials | CallErrorKind::Clock => WriteErrorKind::Credentials,
            CallErrorKind::Denied => WriteErrorKind::Denied,
            CallErrorKind::Timeout | CallErrorKind::Unreachable | CallErrorKind::Protocol | CallErrorKind::TooLarge => {
                WriteErrorKind::Ambiguous
            }
            // A transient service failure leaves open whether it wrote.
            CallErrorKind::Other if is_passing(&error.code) => WriteErrorKind::Ambiguous,
            CallErrorKind::NotFound
            | CallErrorKind::NoSuchRegion
            | CallErrorKind::Certificate
            | CallErrorKind::Other => WriteErrorKind::Invalid,
            CallErrorKind::Stopped => WriteErrorKind::Stopped,
        };
        Self { kind, message: format!("{}: {}", error.code, error.message), code: error.code.clone() }
    }
}

/// The client blocks, so that every answer is there as soon as it is asked for.
impl AccountWriter for Writer {
    fn account(&self) -> (&str, &str) {
        (&self.account_id, Provider::Alibaba.name())
    }

    fn caller(&self) -> (&str, Option<&str>) {
        (&self.caller_arn, self.session.profile())
    }

    fn look<'w>(&'w self, changes: &'w [&'w PlannedChange]) -> Answer<'w, Result<Estate, WriteError>> {
        Box::pin(ready(self.look(changes)))
    }

    fn write<'w>(
        &'w self,
        plan: &'w Plan,
        batch: &'w [&'w PlannedChange],
        versions: &'w RecordedVersions,
    ) -> Answer<'w, Result<Option<String>, WriteError>> {
        Box::pin(ready(self.write(plan, batch, versions)))
    }

    /// Of the calls that are made here none has a dry run.
    fn try_out<'w>(&'w self, _: &'w Plan, _: &'w [&'w PlannedChange]) -> Answer<'w, (DryRunAnswer, bool)> {
        Box::pin(ready((DryRunAnswer::Unknown, false)))
    }

    fn delete_undone_version<'w>(
        &'w self,
        change: &'w PlannedChange,
        versions: &'w RecordedVersions,
    ) -> Answer<'w, Result<(), WriteError>> {
        Box::pin(ready(self.delete_undone_version(change, versions)))
    }
}

impl Writer {
    /// Connects and identifies the caller.
    pub(crate) fn connect(request: &Request<'_>) -> Result<Self, Error> {
        let connection = Connection::open(request)?;
        let role = match request.assume_roles.as_slice() {
            [] => None,
            [role] => Some(role),
            _ => {
                return Err(Error::usage("a fix is made in one account at a time").help("give one --assume-role"));
            }
        };
        let session = connection.session(request, role);
        let identity = session.identity()?;
        Ok(Self { session, account_id: identity.account_id, caller_arn: identity.arn })
    }

    /// Reads exactly the resources that changes are made on, and those that they depend on. Missing ones are not in the
    /// result.
    fn look(&self, changes: &[&PlannedChange]) -> Result<Estate, WriteError> {
        self.session.client().extend();
        self.read(changes).map_err(|error| WriteError::from(&error))
    }

    fn read(&self, changes: &[&PlannedChange]) -> Result<Estate, CallError> {
        let mut instances: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let (mut roles, mut policies) = (BTreeSet::new(), BTreeSet::new());
        for change in changes {
            let Transition { target, attribute, .. } = &change.transition;
            match target.kind {
                ResourceKind::Instance => {
                    instances.entry(target.region()).or_default().insert(&target.id);
                }
                ResourceKind::RamRole => {
                    roles.insert(target.id.as_str());
                }
                _ => {
                    policies.insert(policy_name(&target.id));
                }
            }
            if let Attribute::AttachedPolicy { policy_arn } = attribute {
                policies.insert(policy_name(policy_arn));
            }
            roles.extend(change.expect.for_role.as_deref());
        }
        let mut account =
            Account { account_id: self.account_id.clone(), caller_arn: self.caller_arn.clone(), ..Account::default() };
        std::thread::scope(|scope| {
            let regions: Vec<_> = instances.iter().map(|(name, ids)| scope.spawn(|| self.region(name, ids))).collect();
            let roles: Vec<_> = roles.iter().map(|name| scope.spawn(|| self.role(name))).collect();
            let policies: Vec<_> = policies.iter().map(|name| scope.spawn(|| self.policy(name))).collect();
            for region in regions {
                account.regions.push(joined(region)?);
            }
            for role in roles {
                account.principals.extend(joined(role)?);
            }
            for policy in policies {
                account.policies.extend(joined(policy)?);
            }
            Ok::<(), CallError>(())
        })?;
        let mut seen = Inventory::new(None);
        seen.accounts.push(account);
        seen.canonicalise();
        Ok(Estate::Alibaba(seen))
    }

    fn region(&self, name: &str, ids: &BTreeSet<&str>) -> Result<Region, CallError> {
        let mut region = Region::new(name);
        for chunk in ids.iter().collect::<Vec<_>>().chunks(IDS) {
            let list = serde_json::json!(chunk).to_string();
            let call = Session::call_for_read(Read::EcsDescribeInstances, name)
                .with("RegionId", name)
                .with("InstanceIds", list);
            let found = self.session.client().pages::<Instances>(&self.session.keys()?, &call, ("MaxResults", IDS))?;
            region.instances.extend(found.into_iter().map(Into::into));
        }
        Ok(region)
    }

    fn role(&self, name: &str) -> Result<Option<Principal>, CallError> {
        let home = self.session.home();
        let answer: RoleAnswer =
            match self.session.call(&Session::call_for_read(Read::RamGetRole, home).with("RoleName", name)) {
                Err(error) if error.kind == CallErrorKind::NotFound => return Ok(None),
                other => other?,
            };
        let mut role = Principal::new(PrincipalKind::Role, name);
        role.id = answer.role.role_id;
        role.trust_policy = answer.role.assume_role_policy_document;
        let listed: PolicyList =
            self.session.call(&Session::call_for_read(Read::ListPoliciesForRole, home).with("RoleName", name))?;
        whole(listed.is_truncated)?;
        role.attachments = listed.into_attachments();
        Ok(Some(role))
    }

    fn get_policy(&self, name: &str) -> Result<Option<PolicyAnswer>, CallError> {
        let call = Session::call_for_read(Read::RamGetPolicy, self.session.home())
            .with("PolicyName", name)
            .with("PolicyType", PolicyType::Custom.name());
        match self.session.call(&call) {
            Err(error) if error.kind == CallErrorKind::NotFound => Ok(None),
            other => other.map(Some),
        }
    }

    fn policy(&self, name: &str) -> Result<Option<Policy>, CallError> {
        let Some(answer) = self.get_policy(name)? else { return Ok(None) };
        let unknown = || {
            CallError::new(
                CallErrorKind::Protocol,
                "Protocol",
                format!("the answer does not contain the document of `{name}`"),
            )
        };
        // A policy without a document in the answer is not absent.
        answer.into_policy().filter(|policy| policy.document.is_some()).ok_or_else(unknown).map(Some)
    }

    /// Makes a batch of changes in one call (several for policies). Returns the request id of the answer.
    fn write(
        &self,
        plan: &Plan,
        batch: &[&PlannedChange],
        recorded: &RecordedVersions,
    ) -> Result<Option<String>, WriteError> {
        let Some(first) = batch.first() else { return Ok(None) };
        self.make(plan, batch, &first.transition, recorded).map_err(|error| WriteError::from(&error))
    }

    /// Makes one call, once, and returns the request id of its answer.
    fn send(
        &self,
        operation: Operation,
        region: &str,
        arguments: &[(&str, &str)],
    ) -> Result<Option<String>, CallError> {
        let (product, action) = api_for_operation(operation).ok_or_else(unknown)?;
        // A write may need reads of its own, and they block: the signal that came meanwhile prevents it.
        if signals::has_come() {
            return Err(CallError::new(CallErrorKind::Stopped, "Stopped", "a signal came"));
        }
        let call = ApiCall::new(product, action, region);
        let call = arguments.iter().fold(call, |call, (name, value)| call.with(name, *value));
        let done: Done = self.session.client().once(&self.session.keys()?, &call)?;
        Ok(done.request_id)
    }

    fn make(
        &self,
        plan: &Plan,
        batch: &[&PlannedChange],
        transition: &Transition,
        recorded: &RecordedVersions,
    ) -> Result<Option<String>, CallError> {
        let Transition { target, attribute, old, new } = transition;
        match attribute {
            Attribute::Tag { key } => self.write_tag(batch, target.region(), key, new.as_ref()),
            Attribute::AttachedPolicy { policy_arn } => {
                let operation = transition.operation();
                let arguments = [
                    ("PolicyType", PolicyType::Custom.name()),
                    ("PolicyName", policy_name(policy_arn)),
                    ("RoleName", target.id.as_str()),
                ];
                self.send(operation, self.session.home(), &arguments)
            }
            Attribute::ManagedPolicy {} => {
                let name = policy_name(&target.id);
                match new.as_ref().and_then(Value::document) {
                    None => self.delete_policy(name),
                    Some(document) if old.is_some() => {
                        self.set_default_version(plan, &target.id, document, recorded.restored.as_deref())
                    }
                    Some(document) => {
                        let arguments = [("PolicyName", name), ("PolicyDocument", document)];
                        self.send(Operation::RamCreatePolicy, self.session.home(), &arguments)
                    }
                }
            }
            Attribute::MetadataOption { .. }
            | Attribute::VpcAttribute { .. }
            | Attribute::SourceDestCheck {}
            | Attribute::GroupTag { .. }
            | Attribute::TemplateTags { .. }
            | Attribute::Resource {}
            | Attribute::IngressRule { .. }
            | Attribute::InlinePolicy { .. } => Err(unknown()),
        }
    }

    /// Sets or removes one tag of at least one instance: `UntagResources` without a key and with `All` removes every
    /// tag, and nothing leads to such a call.
    fn write_tag(
        &self,
        batch: &[&PlannedChange],
        region: &str,
        key: &str,
        value: Option<&Value>,
    ) -> Result<Option<String>, CallError> {
        if batch.is_empty() || key.is_empty() {
            return Err(unknown());
        }
        let numbered = |(index, change): (usize, &&PlannedChange)| {
            (format!("ResourceId.{}", index + 1), change.transition.target.id.clone())
        };
        let ids: Vec<(String, String)> = batch.iter().enumerate().map(numbered).collect();
        let mut arguments: Vec<(&str, &str)> = vec![("RegionId", region), ("ResourceType", "instance")];
        arguments.extend(ids.iter().map(|(name, id)| (name.as_str(), id.as_str())));
        if let Some(value) = value.map(ToString::to_string) {
            arguments.extend([("Tag.1.Key", key), ("Tag.1.Value", value.as_str())]);
            return self.send(Operation::EcsTagResources, region, &arguments);
        }
        arguments.push(("TagKey.1", key));
        self.send(Operation::EcsUntagResources, region, &arguments)
    }

    /// Deletes a custom policy with its versions, if tagaudit wrote all of them and nothing has the policy attached.
    /// RAM refuses to delete a policy with other versions than the default one: an interrupted undo may have left one.
    fn delete_policy(&self, name: &str) -> Result<Option<String>, CallError> {
        let versions = self.versions(name)?;
        let is_ours = |held: &Option<String>| held.as_deref().is_some_and(|text| grant::own_actions(text).is_some());
        if !versions.iter().all(|(_, _, held)| is_ours(held)) {
            return Err(refused("the policy has a version that tagaudit did not write"));
        }
        self.check_attachments(name, 0)?;
        for (version, ..) in versions.iter().filter(|(_, is_default, _)| !is_default) {
            self.delete_version(name, version)?;
        }
        self.send(Operation::RamDeletePolicy, self.session.home(), &[("PolicyName", name)])
    }

    fn delete_version(&self, name: &str, version: &str) -> Result<Option<String>, CallError> {
        let arguments = [("PolicyName", name), ("VersionId", version)];
        self.send(Operation::RamDeletePolicyVersion, self.session.home(), &arguments)
    }

    /// Fails if the policy is attached to other principals, which would gain or lose its permissions too.
    fn check_attachments(&self, name: &str, most: u64) -> Result<(), CallError> {
        let attachments = self.get_policy(name)?.and_then(|answer| answer.policy.attachment_count);
        if attachments.is_none_or(|number| number > most) {
            return Err(refused("the policy is attached elsewhere, or its attachments are unknown"));
        }
        Ok(())
    }

    /// Deletes the version that a fix created and its undo replaced as the default. The policy itself existed before
    /// the fix, and stays.
    fn delete_undone_version(&self, change: &PlannedChange, recorded: &RecordedVersions) -> Result<(), WriteError> {
        let Transition { target, attribute: Attribute::ManagedPolicy {}, old: Some(undone), new: Some(_) } =
            &change.transition
        else {
            return Ok(());
        };
        let name = policy_name(&target.id);
        let versions = self.versions(name).map_err(|error| WriteError::from(&error))?;
        if let Some(version) = undone_version(&versions, undone.document(), recorded.replaced.as_deref()) {
            self.delete_version(name, version).map_err(|error| WriteError::from(&error))?;
        }
        Ok(())
    }

    /// Makes a document the default of a custom policy with a new version; an undo makes the version that holds the old
    /// document the default again. No version is deleted to make room.
    fn set_default_version(
        &self,
        plan: &Plan,
        arn: &str,
        document: &str,
        restored: Option<&str>,
    ) -> Result<Option<String>, CallError> {
        let name = policy_name(arn);
        let attaches = plan.kind == Kind::Fix
            && plan.changes.iter().any(|change| {
                matches!(&change.transition.attribute, Attribute::AttachedPolicy { policy_arn } if policy_arn == arn)
            });
        self.check_attachments(name, u64::from(!attaches))?;
        let versions = self.versions(name)?;
        let earlier = restored_version(&versions, document, restored);
        let Some(version) = earlier.filter(|_| plan.kind == Kind::Undo) else {
            if versions.len() >= STORED_VERSIONS {
                let message =
                    format!("{STORED_VERSIONS} versions of the policy are stored, as many as RAM allows: delete one");
                return Err(CallError::new(CallErrorKind::Other, "LimitExceeded.Policy.Version", message));
            }
            let arguments = [("PolicyName", name), ("PolicyDocument", document), ("SetAsDefault", "true")];
            return self.send(Operation::RamCreatePolicyVersion, self.session.home(), &arguments);
        };
        let arguments = [("PolicyName", name), ("VersionId", version)];
        self.send(Operation::RamSetDefaultPolicyVersion, self.session.home(), &arguments)
    }

    /// Versions of a custom policy: id, true if it is the default, document.
    fn versions(&self, name: &str) -> Result<Vec<(String, bool, Option<String>)>, CallError> {
        let home = self.session.home();
        let of_policy = |action| {
            ApiCall::new(Product::Ram, action, home)
                .with("PolicyName", name)
                .with("PolicyType", PolicyType::Custom.name())
        };
        let listed: PolicyVersions = self.session.call(&of_policy("ListPolicyVersions"))?;
        let all = listed.policy_versions.policy_version.into_iter();
        Ok(all.map(|one| (one.version_id, one.is_default_version, one.policy_document)).collect())
    }
}

/// Error for a change that no valid plan contains.
fn unknown() -> CallError {
    CallError::new(CallErrorKind::Other, "Unknown", "tagaudit does not make this change")
}

/// Error for a write that tagaudit refuses.
fn refused(why: &str) -> CallError {
    CallError::new(CallErrorKind::Other, "Refused", why)
}
