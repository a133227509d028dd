//! The writes of the mock of Alibaba Cloud, with the limits that its API has: fifty instances and twenty tags a call, lengths and
//! beginnings of keys and values, twenty tags of a resource, names and lengths of policies, five versions, ten custom policies of a role,
//! policies that are in use. Sources: ECS 2014-05-26 `TagResources`, RAM 2015-05-01, RAM documentation "Limits" (2025-12-16).

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use tagaudit::internals::alibaba::{Attachment, Inventory, Policy, PolicyType, PrincipalKind};
use tagaudit::internals::policy::{Document, RAM};
use tagaudit::internals::tags::Tag;

use super::alibaba_mock::refusal;

/// A value that a write changed: what it was made on, and the value afterwards.
pub(crate) type Effect = (String, Option<String>);

/// Stored versions of custom policies that have more than one: id and document.
pub(crate) type Versions = HashMap<String, Vec<(String, String)>>;

/// Whether a call writes.
pub(crate) fn is_write(name: &str) -> bool {
    let action = name.split_once(':').map_or(name, |(_, action)| action);
    ["Tag", "Untag", "Create", "Delete", "Attach", "Detach", "Set"].iter().any(|verb| action.starts_with(verb))
}

/// What a write works on.
pub(crate) struct Write<'a> {
    pub(crate) inventory: &'a mut Inventory,
    pub(crate) versions: &'a mut Versions,
    pub(crate) effects: &'a mut Vec<Effect>,
    pub(crate) parameters: &'a BTreeMap<String, String>,
}

type Refused = (u16, Value);

fn refuse<T>(status: u16, code: &str, message: &str) -> Result<T, Refused> {
    Err((status, refusal(code, message)))
}

impl Write<'_> {
    fn get(&self, name: &str) -> Result<&str, Refused> {
        match self.parameters.get(name) {
            Some(value) => Ok(value),
            None => refuse(400, "MissingParameter", &format!("{name} is mandatory for this action.")),
        }
    }

    fn list(&self, stem: &str, end: &str) -> Vec<String> {
        (1..).map_while(|index| self.parameters.get(&format!("{stem}.{index}{end}")).cloned()).collect()
    }

    /// Makes a write, or refuses it whole.
    pub(crate) fn run(&mut self, name: &str) -> Result<Value, Refused> {
        match name {
            "ecs:TagResources" => self.tag(),
            "ecs:UntagResources" => self.untag(),
            "ram:CreatePolicy" => self.create_policy(),
            "ram:CreatePolicyVersion" => self.create_version(),
            "ram:SetDefaultPolicyVersion" => self.set_default(),
            "ram:DeletePolicyVersion" => self.delete_version(),
            "ram:DeletePolicy" => self.delete_policy(),
            "ram:AttachPolicyToRole" => self.attach(true),
            "ram:DetachPolicyFromRole" => self.attach(false),
            other => refuse(404, "InvalidAction.NotFound", other),
        }
    }

    fn instances(&self) -> Result<Vec<String>, Refused> {
        if self.get("ResourceType")? != "instance" {
            return refuse(404, "InvalidResourceType.NotFound", "The ResourceType provided does not exist");
        }
        let ids = self.list("ResourceId", "");
        if ids.is_empty() || ids.len() > 50 {
            return refuse(400, "InvalidResourceId.Count", "one to fifty resources");
        }
        let region = self.get("RegionId")?;
        let regions = self.inventory.accounts[0].regions.iter().filter(|one| one.name == region);
        let known: Vec<&str> = regions.flat_map(|region| &region.instances).map(|one| one.id.as_str()).collect();
        match ids.iter().find(|id| !known.contains(&id.as_str())) {
            Some(id) => {
                refuse(404, "InvalidResourceId.NotFound", &format!("The specified ResourceIds are not found: {id}"))
            }
            None => Ok(ids),
        }
    }

    fn each(&mut self, ids: &[String], change: impl Fn(&mut Vec<Tag>)) {
        for region in &mut self.inventory.accounts[0].regions {
            for instance in region.instances.iter_mut().filter(|one| ids.contains(&one.id)) {
                change(&mut instance.tags);
                instance.tags.sort();
            }
        }
    }

    fn tag(&mut self) -> Result<Value, Refused> {
        let ids = self.instances()?;
        let keys = self.list("Tag", ".Key");
        let values: Vec<String> = (1..=keys.len())
            .map(|index| self.parameters.get(&format!("Tag.{index}.Value")).cloned().unwrap_or_default())
            .collect();
        if keys.is_empty() || keys.len() > 20 {
            return refuse(400, "InvalidTag.Count", "one to twenty tags");
        }
        for (text, most, least, what) in keys
            .iter()
            .map(|key| (key, 128, 1, "InvalidTagKey.Malformed"))
            .chain(values.iter().map(|value| (value, 128, 0, "InvalidTagValue.Malformed")))
        {
            let lower = text.to_lowercase();
            let length = text.chars().count();
            if length < least
                || length > most
                || lower.starts_with("acs:")
                || lower.starts_with("aliyun")
                || lower.contains("http://")
                || lower.contains("https://")
            {
                return refuse(400, what, "The specified tag is not valid.");
            }
        }
        let instances = self.inventory.accounts[0].regions.iter().flat_map(|region| &region.instances);
        for instance in instances.filter(|one| ids.contains(&one.id)) {
            let added = keys.iter().filter(|key| !instance.tags.iter().any(|tag| tag.key == **key)).count();
            let held = instance.tags.iter().filter(|tag| !tag.key.starts_with("acs:")).count();
            if held + added > 20 {
                return refuse(400, "InvalidTagCount", "The number of tags of the resource exceeds the limit.");
            }
        }
        for (key, value) in keys.into_iter().zip(values) {
            self.each(&ids, |tags| {
                tags.retain(|tag| tag.key != key);
                tags.push(Tag { key: key.clone(), value: value.clone() });
            });
            self.effects.extend(ids.iter().map(|id| (format!("{id} {key}"), Some(value.clone()))));
        }
        Ok(json!({}))
    }

    fn untag(&mut self) -> Result<Value, Refused> {
        let ids = self.instances()?;
        assert!(!self.parameters.contains_key("All"), "every tag would go");
        let keys = self.list("TagKey", "");
        assert!(!keys.is_empty(), "a call that removes nothing");
        for key in keys {
            self.each(&ids, |tags| tags.retain(|tag| tag.key != key));
            self.effects.extend(ids.iter().map(|id| (format!("{id} {key}"), None)));
        }
        Ok(json!({}))
    }

    fn document(&self) -> Result<String, Refused> {
        let document = self.get("PolicyDocument")?.to_owned();
        if document.chars().count() > 6_144 {
            return refuse(400, "InvalidParameter.PolicyDocument.Length", "The policy document is too long.");
        }
        match Document::parse_as(&document, &RAM) {
            Ok(_) => Ok(document),
            Err(error) => refuse(400, "MalformedPolicyDocument", &error.to_string()),
        }
    }

    fn name(&self) -> Result<String, Refused> {
        let name = self.get("PolicyName")?;
        if name.is_empty() || name.len() > 128 {
            return refuse(400, "InvalidParameter.PolicyName.Length", "The name beyond the length limit.");
        }
        if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            return refuse(400, "InvalidParameter.PolicyName.InvalidChars", "The name contains invalid chars.");
        }
        Ok(name.to_owned())
    }

    fn policy(&mut self) -> Result<&mut Policy, Refused> {
        let name = self.name()?;
        let policies = &mut self.inventory.accounts[0].policies;
        match policies.iter_mut().find(|one| one.policy_type == PolicyType::Custom && one.name == name) {
            Some(policy) => Ok(policy),
            None => refuse(404, "EntityNotExist.Policy", "The policy does not exist."),
        }
    }

    fn stored(&mut self) -> Result<&mut Vec<(String, String)>, Refused> {
        let policy = self.policy()?.clone();
        Ok(self.versions.entry(policy.name.clone()).or_insert_with(|| versions_of(&policy)))
    }

    fn create_policy(&mut self) -> Result<Value, Refused> {
        let (name, document) = (self.name()?, self.document()?);
        if self.policy().is_ok() {
            return refuse(409, "EntityAlreadyExists.Policy", "The policy does already exist.");
        }
        self.effects.push((format!("policy {name}"), Some(document.clone())));
        let account = &mut self.inventory.accounts[0];
        account.policies.push(Policy {
            policy_type: PolicyType::Custom,
            name: name.clone(),
            default_version: Some("v1".to_owned()),
            document: Some(document),
            attachment_count: None,
        });
        account.policies.sort_by(|a, b| (a.policy_type, &a.name).cmp(&(b.policy_type, &b.name)));
        Ok(json!({"Policy": {"PolicyName": name, "PolicyType": "Custom", "DefaultVersion": "v1"}}))
    }

    fn create_version(&mut self) -> Result<Value, Refused> {
        let document = self.document()?;
        let is_default = self.parameters.get("SetAsDefault").is_some_and(|text| text == "true");
        let stored = self.stored()?;
        if stored.len() >= 5 {
            return refuse(
                409,
                "LimitExceeded.Policy.Version",
                "The count of policy version beyond the current limits.",
            );
        }
        let newest = stored.iter().filter_map(|(id, _)| id.trim_start_matches('v').parse::<u32>().ok()).max();
        let id = format!("v{}", newest.unwrap_or(0) + 1);
        stored.push((id.clone(), document.clone()));
        if is_default {
            self.make_default(&id, &document)?;
        }
        Ok(json!({"PolicyVersion": {"VersionId": id, "IsDefaultVersion": is_default, "PolicyDocument": document}}))
    }

    fn make_default(&mut self, id: &str, document: &str) -> Result<(), Refused> {
        let policy = self.policy()?;
        policy.default_version = Some(id.to_owned());
        policy.document = Some(document.to_owned());
        let effect = (format!("policy {}", policy.name), Some(document.to_owned()));
        self.effects.push(effect);
        Ok(())
    }

    fn set_default(&mut self) -> Result<Value, Refused> {
        let id = self.get("VersionId")?.to_owned();
        let Some((id, document)) = self.stored()?.iter().find(|(known, _)| *known == id).cloned() else {
            return refuse(404, "EntityNotExist.Policy.Version", "The policy version does not exist.");
        };
        self.make_default(&id, &document)?;
        Ok(json!({}))
    }

    fn delete_version(&mut self) -> Result<Value, Refused> {
        let id = self.get("VersionId")?.to_owned();
        if self.policy()?.default_version.as_ref() == Some(&id) {
            return refuse(409, "DeleteConflict.Policy.Version.Default", "The default version cannot be deleted.");
        }
        self.stored()?.retain(|(known, _)| *known != id);
        Ok(json!({}))
    }

    fn delete_policy(&mut self) -> Result<Value, Refused> {
        assert!(!self.parameters.contains_key("CascadingDelete"), "others may use it");
        let name = self.policy()?.name.clone();
        if self.stored()?.len() > 1 {
            return refuse(409, "DeleteConflict.Policy.Version", "The policy has versions.");
        }
        if attachments(self.inventory, PolicyType::Custom, &name) > 0 {
            return refuse(409, "DeleteConflict.Role.Policy", "The policy is attached.");
        }
        self.inventory.accounts[0].policies.retain(|one| one.policy_type != PolicyType::Custom || one.name != name);
        self.versions.remove(&name);
        self.effects.push((format!("policy {name}"), None));
        Ok(json!({}))
    }

    fn attach(&mut self, is_attached: bool) -> Result<Value, Refused> {
        assert_eq!(self.get("PolicyType")?, "Custom");
        let (policy, role) = (self.policy()?.name.clone(), self.get("RoleName")?.to_owned());
        let mut principals = self.inventory.accounts[0].principals.iter_mut();
        let found = principals.find(|one| one.kind == PrincipalKind::Role && one.name.eq_ignore_ascii_case(&role));
        let Some(attached) = found.and_then(|role| role.attachments.as_mut()) else {
            return refuse(404, "EntityNotExist.Role", "The role does not exist.");
        };
        let wanted = Attachment { policy_type: PolicyType::Custom, policy: policy.clone(), resource_group_id: None };
        match (attached.contains(&wanted), is_attached) {
            (true, true) => {
                return refuse(409, "EntityAlreadyExists.Role.Policy", "The policy is attached already.");
            }
            (false, false) => return refuse(404, "EntityNotExist.Role.Policy", "The policy is not attached."),
            (true, false) => attached.retain(|one| *one != wanted),
            (false, true) => {
                if attached.iter().filter(|one| one.policy_type == PolicyType::Custom).count() >= 10 {
                    return refuse(409, "LimitExceeded.Role.Policy", "The count of policies beyond the limits.");
                }
                attached.push(wanted);
                attached.sort();
            }
        }
        self.effects.push((format!("{role} {policy}"), is_attached.then(|| "attached".to_owned())));
        Ok(json!({}))
    }
}

/// The versions of a policy of which nobody made another.
pub(crate) fn versions_of(policy: &Policy) -> Vec<(String, String)> {
    let id = policy.default_version.clone().unwrap_or_else(|| "v1".to_owned());
    vec![(id, policy.document.clone().unwrap_or_default())]
}

/// How many principals have a policy attached, in the account or in a resource group.
pub(crate) fn attachments(inventory: &Inventory, policy_type: PolicyType, name: &str) -> usize {
    let principals = inventory.accounts.iter().flat_map(|account| &account.principals);
    let all = principals.flat_map(|one| one.attachments.iter().chain(&one.resource_group_attachments).flatten());
    all.filter(|one| one.policy_type == policy_type && one.policy == name).count()
}
