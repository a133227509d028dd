//! The writes of the mock, with the limits that AWS enforces and other doubles do not: fifty tags, lengths of keys and
//! values, reserved prefixes, the rule of the metadata service for slashes, a thousand ids, `DeleteTags` without tags, the
//! total of inline policies, attached policies, versions, protected roles.

use std::collections::{BTreeMap, HashMap};

use tagaudit::internals::inventory::{Account, InlinePolicy, Inventory, ManagedPolicy, Region, Tag};

use super::mock::{Refusal, refuse};
use super::mock_scaling;

/// A value that a write changed: what it was made on, and the value afterwards.
pub(crate) type Effect = (String, Option<String>);

/// What a write works on.
pub(crate) struct Write<'a> {
    pub(crate) inventory: &'a mut Inventory,
    /// Stored versions of managed policies that have more than one.
    pub(crate) versions: &'a mut HashMap<String, Vec<(String, String)>>,
    pub(crate) account: usize,
    pub(crate) region: &'a str,
    pub(crate) parameters: &'a BTreeMap<String, String>,
    pub(crate) effects: &'a mut Vec<Effect>,
}

/// Whether an action writes.
pub(crate) fn is_write(action: &str) -> bool {
    ["Create", "Delete", "Modify", "Put", "Attach", "Detach", "Set"].iter().any(|verb| action.starts_with(verb))
}

impl Write<'_> {
    fn get(&self, name: &str) -> Result<&str, Refusal> {
        match self.parameters.get(name) {
            Some(value) => Ok(value),
            None => refuse(400, "MissingParameter", &format!("The request must contain the parameter {name}")),
        }
    }

    fn only(&self, allowed: &[&str]) -> Result<(), Refusal> {
        for name in self.parameters.keys() {
            let stem = name.split('.').next().unwrap_or(name);
            if !["Action", "Version", "DryRun"].contains(&stem) && !allowed.contains(&stem) {
                return refuse(400, "UnknownParameter", &format!("The parameter {name} is not recognized"));
            }
        }
        Ok(())
    }

    fn list(&self, stem: &str) -> Vec<String> {
        (1..).map_while(|index| self.parameters.get(&format!("{stem}.{index}")).cloned()).collect()
    }

    fn account(&mut self) -> &mut Account {
        &mut self.inventory.accounts[self.account]
    }

    fn region(&mut self) -> Result<&mut Region, Refusal> {
        let name = self.region;
        match self.account().regions.iter_mut().find(|region| region.name == name) {
            Some(region) => Ok(region),
            None => refuse(400, "InvalidParameterValue", "nothing lives in this region"),
        }
    }

    fn note(&mut self, what: String, value: Option<&str>) {
        self.effects.push((what, value.map(str::to_owned)));
    }

    /// Makes a write, or refuses it whole. What it answers is what stands within the envelope.
    pub(crate) fn run(&mut self, action: &str) -> Result<String, Refusal> {
        match action {
            "CreateTags" | "DeleteTags" => self.tags(action),
            "ModifyInstanceMetadataOptions" => self.metadata_options(),
            "ModifyInstanceAttribute" => self.instance_attribute(),
            "ModifyVpcAttribute" => self.vpc_attribute(),
            "CreateLaunchTemplateVersion" | "ModifyLaunchTemplate" => self.launch_template(action),
            "PutRolePolicy" | "DeleteRolePolicy" => self.role_policy(action),
            "AttachRolePolicy" | "DetachRolePolicy" => self.attachment(action),
            "CreatePolicy" | "DeletePolicy" => self.managed_policy(action),
            "CreatePolicyVersion" | "DeletePolicyVersion" | "SetDefaultPolicyVersion" => self.policy_version(action),
            _ => refuse(400, "InvalidAction", &format!("The action {action} is not valid for this web service.")),
        }
    }

    fn launch_template(&mut self, action: &str) -> Result<String, Refusal> {
        let stems = ["ClientToken", "LaunchTemplateId", "SourceVersion", "LaunchTemplateData", "SetDefaultVersion"];
        self.only(&stems)?;
        let parameters = self.parameters;
        let region = self.region()?;
        let (answer, effects) = match action {
            "CreateLaunchTemplateVersion" => mock_scaling::create_version(region, parameters)?,
            _ => mock_scaling::set_default(region, parameters)?,
        };
        self.effects.extend(effects);
        Ok(answer)
    }

    fn dry_run(&self) -> Result<(), Refusal> {
        if self.parameters.get("DryRun").is_some_and(|value| value == "true") {
            return refuse(412, "DryRunOperation", "Request would have succeeded, but DryRun flag is set.");
        }
        Ok(())
    }

    fn tags(&mut self, action: &str) -> Result<String, Refusal> {
        self.only(&["ResourceId", "Tag"])?;
        let resources = self.list("ResourceId");
        if resources.is_empty() {
            return refuse(400, "MissingParameter", "The request must contain the parameter resourceIdSet");
        }
        if resources.len() > 1_000 {
            return refuse(400, "InvalidParameterValue", "At most 1000 resources can be tagged in one call");
        }
        let mut tags: Vec<(String, Option<String>)> = Vec::new();
        for index in 1.. {
            let Some(key) = self.parameters.get(&format!("Tag.{index}.Key")) else { break };
            tags.push((key.clone(), self.parameters.get(&format!("Tag.{index}.Value")).cloned()));
        }
        for (key, value) in &tags {
            let wrong = |message: &str| refuse(400, "InvalidParameterValue", message);
            if key.to_lowercase().starts_with("aws:") {
                return wrong("Tag keys starting with 'aws:' are reserved for internal use");
            }
            if key.is_empty() || key.chars().count() > 127 {
                return wrong("Tag key exceeds the maximum length of 127 characters");
            }
            if value.as_ref().is_some_and(|value| value.chars().count() > 256) {
                return wrong("Tag value exceeds the maximum length of 256 characters");
            }
        }
        let region = self.region()?;
        for id in &resources {
            let Some(held) = region.tags_of(id) else {
                let kind = match id.split('-').next().unwrap_or_default() {
                    "i" => "InvalidInstanceID",
                    "subnet" => "InvalidSubnetID",
                    "vpc" => "InvalidVpcID",
                    "sg" => "InvalidGroup",
                    _ => "InvalidID",
                };
                return refuse(400, &format!("{kind}.NotFound"), &format!("The ID '{id}' does not exist"));
            };
            if action == "DeleteTags" {
                continue;
            }
            let user = held.iter().filter(|tag| !tag.key.starts_with("aws:")).count();
            let new = tags.iter().filter(|(key, _)| !held.iter().any(|tag| tag.key == *key)).count();
            if user + new > 50 {
                return refuse(400, "TagLimitExceeded", &format!("{id} has more than the maximum of 50 tags"));
            }
            let instance = region.instances.iter().find(|instance| instance.id == *id);
            let options = instance.and_then(|instance| instance.metadata_options.as_ref());
            let readable = options.is_some_and(|o| o.instance_metadata_tags.as_deref() == Some("enabled"));
            if let Some((key, _)) = tags.iter().find(|(key, _)| readable && key.contains(['/', ' '])) {
                let message = format!(
                    "'{key}' is not a valid tag key. Tag keys must match pattern ([0-9a-zA-Z\\-_+=,.@:]{{1,255}})"
                );
                return refuse(400, "InvalidParameterValue", &message);
            }
            if instance.is_some_and(|instance| instance.managed_by.is_some()) {
                return refuse(400, "OperationNotPermitted", &format!("{id} is managed by a service"));
            }
        }
        self.dry_run()?;
        let mut effects = Vec::new();
        let region = self.region()?;
        for id in &resources {
            let Some(held) = region.tags_of_mut(id) else { continue };
            let before = held.clone();
            if action == "CreateTags" {
                for (key, value) in &tags {
                    let value = value.clone().unwrap_or_default();
                    held.retain(|tag| tag.key != *key);
                    held.push(Tag { key: key.clone(), value });
                }
            } else if tags.is_empty() {
                // What the API does with an empty list.
                held.retain(|tag| tag.key.starts_with("aws:"));
            } else {
                held.retain(|tag| {
                    !tags
                        .iter()
                        .any(|(key, value)| tag.key == *key && value.as_ref().is_none_or(|value| *value == tag.value))
                });
            }
            held.sort();
            for tag in held.iter().filter(|tag| !before.contains(tag)) {
                effects.push((format!("{id} {}", tag.key), Some(tag.value.clone())));
            }
            for tag in before.iter().filter(|tag| !held.iter().any(|kept| kept.key == tag.key)) {
                effects.push((format!("{id} {}", tag.key), None));
            }
        }
        self.effects.extend(effects);
        Ok("<return>true</return>".to_owned())
    }

    fn metadata_options(&mut self) -> Result<String, Refusal> {
        self.only(&["InstanceId", "HttpEndpoint", "HttpPutResponseHopLimit", "InstanceMetadataTags", "HttpTokens"])?;
        let id = self.get("InstanceId")?.to_owned();
        let get = |name: &str| self.parameters.get(name).cloned();
        let (endpoint, hops, tags) = (get("HttpEndpoint"), get("HttpPutResponseHopLimit"), get("InstanceMetadataTags"));
        let region = self.region()?;
        let Some(instance) = region.instances.iter().find(|instance| instance.id == id) else {
            return refuse(400, "InvalidInstanceID.NotFound", &format!("The instance ID '{id}' does not exist"));
        };
        if tags.as_deref() == Some("enabled")
            && let Some(tag) =
                instance.tags.iter().find(|tag| tag.key.contains(['/', ' ']) && !tag.key.starts_with("aws:"))
        {
            return refuse(400, "InvalidParameterValue", &format!("'{}' is not a valid tag key.", tag.key));
        }
        self.dry_run()?;
        let region = self.region()?;
        let instance = region.instances.iter_mut().find(|instance| instance.id == id).unwrap();
        let options = instance.metadata_options.get_or_insert_default();
        let mut effects = Vec::new();
        if let Some(value) = endpoint {
            effects.push((format!("{id} http-endpoint"), Some(value.clone())));
            options.http_endpoint = Some(value);
        }
        if let Some(value) = hops {
            effects.push((format!("{id} http-put-response-hop-limit"), Some(value.clone())));
            options.http_put_response_hop_limit = value.parse().ok();
        }
        if let Some(value) = tags {
            effects.push((format!("{id} instance-metadata-tags"), Some(value.clone())));
            options.instance_metadata_tags = Some(value);
        }
        self.effects.extend(effects);
        Ok(format!(
            "<instanceId>{id}</instanceId><instanceMetadataOptions><state>pending</state></instanceMetadataOptions>"
        ))
    }

    fn instance_attribute(&mut self) -> Result<String, Refusal> {
        self.only(&["InstanceId", "SourceDestCheck"])?;
        let id = self.get("InstanceId")?.to_owned();
        let on = self.get("SourceDestCheck.Value")? == "true";
        let region = self.region()?;
        if !region.instances.iter().any(|instance| instance.id == id) {
            return refuse(400, "InvalidInstanceID.NotFound", &format!("The instance ID '{id}' does not exist"));
        }
        self.dry_run()?;
        let region = self.region()?;
        let instance = region.instances.iter_mut().find(|instance| instance.id == id).unwrap();
        instance.source_dest_check = Some(on);
        self.note(format!("{id} source-dest-check"), Some(if on { "true" } else { "false" }));
        Ok("<return>true</return>".to_owned())
    }

    fn vpc_attribute(&mut self) -> Result<String, Refusal> {
        self.only(&["VpcId", "EnableDnsSupport", "EnableDnsHostnames"])?;
        if self.parameters.contains_key("DryRun") {
            return refuse(400, "UnknownParameter", "The parameter DryRun is not recognized");
        }
        let id = self.get("VpcId")?.to_owned();
        let get = |name: &str| self.parameters.get(name).map(|value| value == "true");
        let (support, names) = (get("EnableDnsSupport.Value"), get("EnableDnsHostnames.Value"));
        if support.is_some() == names.is_some() {
            return refuse(400, "InvalidParameterCombination", "Exactly one attribute can be changed in a call");
        }
        let region = self.region()?;
        let Some(vpc) = region.vpcs.iter_mut().find(|vpc| vpc.id == id) else {
            return refuse(400, "InvalidVpcID.NotFound", &format!("The vpc ID '{id}' does not exist"));
        };
        if names == Some(true) && vpc.enable_dns_support == Some(false) {
            return refuse(400, "InvalidParameterValue", "DNS host names need DNS support");
        }
        if support == Some(false) && vpc.enable_dns_hostnames == Some(true) {
            return refuse(400, "InvalidParameterValue", "DNS host names are on");
        }
        vpc.enable_dns_support = support.or(vpc.enable_dns_support);
        vpc.enable_dns_hostnames = names.or(vpc.enable_dns_hostnames);
        let (attribute, value) = if support.is_some() { ("support", support) } else { ("hostnames", names) };
        self.note(format!("{id} enable-dns-{attribute}"), value.map(|on| if on { "true" } else { "false" }));
        Ok("<return>true</return>".to_owned())
    }

    fn role(&mut self) -> Result<usize, Refusal> {
        let name = self.get("RoleName")?.to_owned();
        let account = self.account();
        let Some(at) = account.roles.iter().position(|role| role.name.eq_ignore_ascii_case(&name)) else {
            return refuse(404, "NoSuchEntity", &format!("The role with name {name} cannot be found."));
        };
        let path = account.roles[at].path.as_str();
        if path.starts_with("/aws-service-role/") || path.starts_with("/aws-reserved/") {
            return refuse(
                400,
                "UnmodifiableEntity",
                &format!(
                    "Cannot perform the operation on the protected role '{name}' - this role is only modifiable by AWS"
                ),
            );
        }
        Ok(at)
    }

    fn role_policy(&mut self, action: &str) -> Result<String, Refusal> {
        self.only(&["RoleName", "PolicyName", "PolicyDocument"])?;
        let name = self.get("PolicyName")?.to_owned();
        let document = self.parameters.get("PolicyDocument").cloned();
        let at = self.role()?;
        let role = &mut self.account().roles[at];
        let key = format!("{} {name}", role.name);
        let policies = role.inline_policies.get_or_insert_default();
        if action == "DeleteRolePolicy" {
            let before = policies.len();
            policies.retain(|policy| policy.name != name);
            if policies.len() == before {
                return refuse(404, "NoSuchEntity", &format!("The role policy with name {name} cannot be found."));
            }
            self.note(key, None);
            return Ok(String::new());
        }
        let Some(document) = document else { return refuse(400, "MissingParameter", "PolicyDocument") };
        well_formed(&document)?;
        let used: usize = policies
            .iter()
            .filter(|policy| policy.name != name)
            .filter_map(|policy| policy.document.as_deref())
            .map(counted)
            .sum();
        if used + counted(&document) > 10_240 {
            return refuse(
                409,
                "LimitExceeded",
                &format!("Maximum policy size of 10240 bytes exceeded for role {}", role.name),
            );
        }
        let changed = !policies.iter().any(|policy| policy.name == name && policy.document.as_ref() == Some(&document));
        policies.retain(|policy| policy.name != name);
        policies.push(InlinePolicy { name, document: Some(document.clone()) });
        policies.sort_by(|a, b| a.name.cmp(&b.name));
        if changed {
            self.note(key, Some(&document));
        }
        Ok(String::new())
    }

    fn attachment(&mut self, action: &str) -> Result<String, Refusal> {
        self.only(&["RoleName", "PolicyArn"])?;
        let arn = self.get("PolicyArn")?.to_owned();
        let at = self.role()?;
        let account = self.account();
        if !account.managed_policies.iter().any(|policy| policy.arn == arn) {
            return refuse(404, "NoSuchEntity", &format!("Policy {arn} does not exist or is not attachable."));
        }
        let role = &mut account.roles[at];
        let key = format!("{} attached {arn}", role.name);
        let attached = role.attached_policies.get_or_insert_default();
        if action == "DetachRolePolicy" {
            let before = attached.len();
            attached.retain(|held| *held != arn);
            if attached.len() == before {
                return refuse(404, "NoSuchEntity", &format!("Policy {arn} was not found."));
            }
            self.note(key, None);
        } else if !attached.contains(&arn) {
            if attached.len() >= 10 {
                return refuse(409, "LimitExceeded", "Cannot exceed quota for PoliciesPerRole: 10");
            }
            attached.push(arn);
            attached.sort();
            self.note(key, Some("attached"));
        }
        Ok(String::new())
    }

    fn managed_policy(&mut self, action: &str) -> Result<String, Refusal> {
        self.only(&["PolicyName", "Path", "PolicyDocument", "PolicyArn"])?;
        if action == "DeletePolicy" {
            let arn = self.get("PolicyArn")?.to_owned();
            let several = self.versions.get(&arn).is_some_and(|versions| versions.len() > 1);
            let account = self.account();
            let is_attached =
                account.roles.iter().any(|role| role.attached_policies.iter().flatten().any(|held| *held == arn));
            if is_attached || several {
                return refuse(
                    409,
                    "DeleteConflict",
                    "Cannot delete a policy that is attached or has several versions.",
                );
            }
            let before = account.managed_policies.len();
            account.managed_policies.retain(|policy| policy.arn != arn);
            if account.managed_policies.len() == before {
                return refuse(404, "NoSuchEntity", &format!("Policy {arn} was not found."));
            }
            self.note(arn, None);
            return Ok(String::new());
        }
        let document = self.get("PolicyDocument")?.to_owned();
        well_formed(&document)?;
        if counted(&document) > 6_144 {
            return refuse(409, "LimitExceeded", "Cannot exceed quota for PolicySize: 6144");
        }
        let name = self.get("PolicyName")?.to_owned();
        let path = self.parameters.get("Path").map_or("/", String::as_str).to_owned();
        let account = self.account();
        let arn = format!("arn:{}:iam::{}:policy{path}{name}", account.partition, account.account_id);
        if account.managed_policies.iter().any(|policy| policy.arn == arn) {
            return refuse(409, "EntityAlreadyExists", &format!("A policy called {name} already exists."));
        }
        let version_id = Some("v1".to_owned());
        account.managed_policies.push(ManagedPolicy { arn: arn.clone(), version_id, document: Some(document.clone()) });
        self.note(arn.clone(), Some(&document));
        Ok(format!("<Policy><Arn>{arn}</Arn><DefaultVersionId>v1</DefaultVersionId></Policy>"))
    }

    fn policy_version(&mut self, action: &str) -> Result<String, Refusal> {
        self.only(&["PolicyArn", "PolicyDocument", "SetAsDefault", "VersionId"])?;
        let arn = self.get("PolicyArn")?.to_owned();
        let account = &mut self.inventory.accounts[self.account];
        let Some(policy) = account.managed_policies.iter_mut().find(|policy| policy.arn == arn) else {
            return refuse(404, "NoSuchEntity", &format!("Policy {arn} was not found."));
        };
        let first = (policy.version_id.clone().unwrap(), policy.document.clone().unwrap());
        let versions = self.versions.entry(arn.clone()).or_insert_with(|| vec![first]);
        if action == "CreatePolicyVersion" {
            let Some(document) = self.parameters.get("PolicyDocument") else {
                return refuse(400, "MissingParameter", "PolicyDocument");
            };
            well_formed(document)?;
            if versions.len() >= 5 {
                return refuse(409, "LimitExceeded", "A managed policy can have up to 5 versions.");
            }
            let highest = versions.iter().filter_map(|(id, _)| id.strip_prefix('v')?.parse::<u32>().ok()).max();
            let id = format!("v{}", highest.unwrap_or(0) + 1);
            versions.push((id.clone(), document.clone()));
            policy.version_id = Some(id.clone());
            policy.document = Some(document.clone());
            self.effects.push((arn, Some(document.clone())));
            return Ok(format!(
                "<PolicyVersion><VersionId>{id}</VersionId><IsDefaultVersion>true</IsDefaultVersion></PolicyVersion>"
            ));
        }
        let wanted = self.parameters.get("VersionId").cloned().unwrap_or_default();
        let Some((_, document)) = versions.iter().find(|(id, _)| *id == wanted).cloned() else {
            return refuse(404, "NoSuchEntity", &format!("Policy {arn} version {wanted} does not exist"));
        };
        if action == "SetDefaultPolicyVersion" {
            policy.version_id = Some(wanted);
            policy.document = Some(document.clone());
            self.effects.push((arn, Some(document)));
        } else if policy.version_id.as_ref() == Some(&wanted) {
            return refuse(409, "DeleteConflict", "Cannot delete the default version of a policy.");
        } else {
            versions.retain(|(id, _)| *id != wanted);
        }
        Ok(String::new())
    }
}

fn counted(document: &str) -> usize {
    document.chars().filter(|c| !c.is_whitespace()).count()
}

fn well_formed(document: &str) -> Result<(), Refusal> {
    match tagaudit::internals::policy::Document::parse(document) {
        Ok(_) => Ok(()),
        Err(error) => refuse(400, "MalformedPolicyDocument", &error.to_string()),
    }
}
