//! The changes of a plan, and the values that its configuration shows before it is applied.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::inventory::Provider;
use crate::target;

use super::change::{Action, Change, Meaning, Setting, meaning, texts};
use super::references::Configuration;
use super::terraform::{Document, RawChange};

/// A plan.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The cloud whose resources are judged.
    cloud: Provider,
    /// True if it holds resources of another cloud.
    has_other_cloud: bool,
    /// Every resource in its order, those that stay as they are too: others refer to them.
    pub(super) changes: Vec<Change>,
    /// Addresses that cannot be judged at all, each with the reason.
    pub(super) open: Vec<(String, String)>,
    /// Parts that the plan does not hold.
    pub(super) notes: Vec<String>,
    configuration: Configuration,
    variables: BTreeMap<String, Value>,
    /// The account of the caller, if the plan reads it.
    pub(super) account: Option<String>,
    /// Version of the tool that wrote it.
    pub(crate) version: Option<String>,
}

/// The account of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProviderAccount {
    Is(String),
    /// It assumes a role whose ARN the plan does not show.
    Unknown,
    /// Nothing states it: that of the credentials.
    Unstated,
}

/// The account in an ARN: `arn:partition:service:region:account:…`, in Alibaba Cloud `acs:service:region:account:…`.
pub(super) fn account_of_arn(arn: &str) -> Option<&str> {
    let (cloud, account) = match arn.strip_prefix("acs:") {
        Some(rest) => (Provider::Alibaba, rest.split(':').nth(2)?),
        None => (Provider::Aws, arn.strip_prefix("arn:")?.split(':').nth(3)?),
    };
    cloud.is_account_id(account).then_some(account)
}

/// True for a kind whose objects are always in the account of the provider; a subscription has the ARN of its topic.
fn is_in_own_account(change: &Change) -> bool {
    const KINDS: [&str; 9] = [
        "alicloud_ram_",
        "aws_autoscaling_group",
        "aws_eks_",
        "aws_iam_",
        "aws_instance",
        "aws_launch_template",
        "aws_security_group",
        "aws_subnet",
        "aws_vpc",
    ];
    KINDS.iter().any(|kind| change.kind.starts_with(kind))
}

/// A text after the plan, with references to other resources of the plan resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Text {
    Known(String),
    Absent,
    Unknown,
}

impl Plan {
    /// True if it changes resources of another cloud alone.
    pub(super) fn is_of_another_cloud(&self) -> bool {
        self.changes.is_empty() && self.open.is_empty() && self.has_other_cloud
    }

    /// The changes of a document to the resources of one cloud.
    pub(crate) fn new(document: Document, cloud: Provider) -> Self {
        let mut plan = Self {
            cloud,
            has_other_cloud: document.resource_changes.iter().any(|raw| {
                raw.mode != "data" && Provider::ALL.iter().any(|one| *one != cloud && is_of(*one, &raw.provider_name))
            }),
            changes: Vec::new(),
            open: document.open.clone(),
            notes: document.notes.clone(),
            configuration: Configuration::default(),
            variables: BTreeMap::new(),
            account: document.account.clone().or_else(|| caller(&document, cloud)),
            version: document.terraform_version.clone(),
        };
        for raw in document.resource_changes.iter().filter(|raw| is_of(cloud, &raw.provider_name)) {
            plan.add(raw);
        }
        let others = document.resource_changes.iter().filter(|raw| is_of_otherwise(cloud, &raw.provider_name));
        for raw in others.filter(|raw| meaning(&raw.change.actions) != Meaning::Nothing) {
            plan.notes.push(format!("{}: changes by the provider `{}` are not read", raw.address, raw.provider_name));
        }
        let of_cluster = document.resource_changes.iter().filter(|raw| makes_load_balancers(raw));
        for raw in of_cluster.filter(|raw| meaning(&raw.change.actions) != Meaning::Nothing) {
            plan.notes.push(format!(
                "{}: Kubernetes objects in a plan are not read: pass them rendered with `--manifests`",
                raw.address
            ));
        }
        for raw in document.deferred().filter(|raw| is_of(cloud, &raw.provider_name)) {
            plan.open.push((raw.address.clone(), "the change was put off to a later plan".to_owned()));
        }
        if document.errored || (document.complete == Some(false) && document.applyable == Some(false)) {
            let planned = |address: &str| document.resource_changes.iter().any(|raw| raw.address == address);
            let lost = document
                .prior_state
                .resources()
                .into_iter()
                .filter(|one| one.mode == "managed" && is_of(cloud, &one.provider_name) && !planned(&one.address));
            plan.open.extend(lost.map(|one| (one.address.clone(), "planning failed before it".to_owned())));
            plan.notes.push("planning failed: the plan holds only what was planned until then".to_owned());
        } else if document.complete == Some(false) {
            plan.notes
                .push("the plan covers a part of the configuration (`-target`): the rest is not judged".to_owned());
        }
        plan.configuration = Configuration(document.configuration);
        plan.pair();
        plan.variables = document.variables.into_iter().map(|(name, variable)| (name, variable.value)).collect();
        plan
    }
}

/// The account that a data source of the caller's identity read.
fn caller(document: &Document, cloud: Provider) -> Option<String> {
    let (kinds, key): (&[&str], _) = match cloud {
        Provider::Aws => (&["aws_caller_identity"], "account_id"),
        Provider::Alibaba => (&["alicloud_account", "alicloud_caller_identity"], "id"),
    };
    let resources = document.prior_state.resources();
    let caller = resources.into_iter().find(|one| one.mode == "data" && kinds.contains(&one.kind.as_str()))?;
    let id = caller.values.get("account_id").or_else(|| caller.values.get(key))?.as_str()?;
    cloud.is_account_id(id).then(|| id.to_owned())
}

/// True for the provider of a cloud, a mirror of it too. Terraform 0.12 writes its local name and alias, later versions its
/// source address. Source: hashicorp/terraform v0.12.31 and v1.14.0 `command/jsonplan/plan.go#marshalResourceChanges`.
pub(super) fn is_of(cloud: Provider, provider: &str) -> bool {
    let name = match cloud {
        Provider::Aws => "aws",
        Provider::Alibaba => "alicloud",
    };
    let local = provider.split_once('.').map_or(provider, |(local, _)| local);
    local == name || provider.rsplit_once('/').is_some_and(|(_, last)| last == name)
}

/// True for the provider of the Cloud Control API, which manages the same resources under other names.
fn is_of_otherwise(cloud: Provider, provider: &str) -> bool {
    cloud == Provider::Aws && provider.ends_with("/awscc")
}

/// True for a resource of the Kubernetes, kubectl, kustomization or Helm provider that is, changes, or may contain an object
/// by which a controller makes load balancers.
/// Source: documentation of the providers hashicorp/kubernetes, hashicorp/helm, gavinbunney/kubectl, alekc/kubectl,
/// kbst/kustomization.
fn makes_load_balancers(raw: &RawChange) -> bool {
    // Mirrors too.
    const PROVIDERS: [&str; 4] = ["/kubernetes", "/helm", "/kubectl", "/kustomization"];
    if raw.mode == "data" || !PROVIDERS.iter().any(|provider| raw.provider_name.ends_with(provider)) {
        return false;
    }
    let held = || [&raw.change.after, &raw.change.before].into_iter().flatten();
    let decides = |kind: &str| DECIDING.contains(&kind);
    // A kind that is not known may be one of them.
    let has_kind = |kinds: Vec<&str>| kinds.is_empty() || kinds.into_iter().any(decides);
    match raw.kind.trim_end_matches("_v1") {
        "kubernetes_service" => {
            let types = held().map(|values| values.get("spec")?.get(0)?.get("type")?.as_str());
            let types: Vec<Option<&str>> = types.collect();
            types.iter().any(|one| one.is_none_or(|one| one == "LoadBalancer"))
        }
        "kubernetes_ingress" | "kubernetes_ingress_class" | "helm_release" | "kustomization_resource" => true,
        "kubernetes_manifest" => {
            has_kind(held().filter_map(|one| one.get("manifest")?.get("kind")?.as_str()).collect())
        }
        "kubernetes_annotations" | "kubernetes_labels" => {
            let kinds: Vec<&str> = held().filter_map(|one| one.get("kind")?.as_str()).collect();
            has_kind(kinds)
        }
        "kubectl_manifest" => {
            let bodies = held().filter_map(|one| one.get("yaml_body")?.as_str());
            let kinds = bodies.flat_map(str::lines).filter_map(|line| line.strip_prefix("kind:")).map(str::trim);
            has_kind(kinds.collect())
        }
        _ => false,
    }
}

/// Kinds of objects by which a controller makes load balancers, or adds targets to them.
const DECIDING: [&str; 6] =
    ["Gateway", "Ingress", "IngressClass", "IngressClassParams", "Service", "TargetGroupBinding"];

impl Plan {
    fn add(&mut self, raw: &RawChange) {
        // A data source is read, not written; no attribute takes an id of the plan from it.
        if raw.mode == "data" {
            return;
        }
        match meaning(&raw.change.actions) {
            Meaning::Writes(action) => self.changes.push(Change::new(raw, Some(action))),
            Meaning::Nothing => self.changes.push(Change::new(raw, None)),
            Meaning::Unheard => {
                let actions = raw.change.actions.join(", ");
                self.open.push((raw.address.clone(), format!("the action `{actions}` is not known")));
            }
        }
    }

    /// Pairs the objects that a list makes with those that it takes away: a counted list that loses an element replaces
    /// every element behind it by its successor. What has the same values is the same object: the end counts.
    fn pair(&mut self) {
        let mut lists: BTreeMap<(String, String, String), Vec<usize>> = BTreeMap::new();
        for (at, change) in self.effective() {
            let is_paired = change.index.is_some() && !change.overwrites();
            if matches!(change.action, Some(Action::Replace | Action::Delete)) && is_paired {
                let module: Vec<String> =
                    change.module.iter().map(|one| format!("{}[{}]", one.name, one.index)).collect();
                let key = (module.join("."), change.kind.clone(), change.name.clone());
                lists.entry(key).or_default().push(at);
            }
        }
        for list in lists.into_values().filter(|list| list.len() > 1) {
            let mut pairs: Vec<(usize, usize)> = Vec::new();
            for maker in list.iter().filter_map(|at| self.changes.get(*at).map(|one| (*at, one))) {
                let makes = |at: &usize| {
                    *at != maker.0
                        && !self.has_open_values(maker.1)
                        && !pairs.iter().any(|(_, taken)| taken == at)
                        && self.changes.get(*at).is_some_and(|other| maker.1.makes_again(other))
                };
                if maker.1.is(Action::Replace)
                    && let Some(taken) = list.iter().copied().find(makes)
                {
                    pairs.push((maker.0, taken));
                }
            }
            for (maker, taken) in pairs {
                let id = self.changes.get(taken).and_then(|one| one.before_text("id")).map(str::to_owned);
                if let Some(one) = self.changes.get_mut(maker) {
                    one.claims = id;
                }
                if let Some(one) = self.changes.get_mut(taken) {
                    one.is_released = true;
                }
            }
        }
        for change in &mut self.changes {
            change.settle();
        }
    }

    /// True if an attribute that the configuration sets is unknown: what the object will be is not known.
    fn has_open_values(&self, change: &Change) -> bool {
        change.unknown_keys().any(|key| self.is_configured(change, key))
    }

    /// Changes that write something.
    pub(super) fn effective(&self) -> impl Iterator<Item = (usize, &Change)> {
        self.changes.iter().enumerate().filter(|(_, change)| change.is_effective())
    }

    /// A text after the plan.
    pub(super) fn text(&self, change: &Change, key: &str) -> Text {
        match change.after(key) {
            Setting::Known(value) => match value {
                Value::String(text) if text.is_empty() => Text::Absent,
                Value::String(text) => Text::Known(text.clone()),
                Value::Number(number) => Text::Known(number.to_string()),
                Value::Bool(flag) => Text::Known(flag.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => Text::Absent,
            },
            Setting::Absent => Text::Absent,
            Setting::Unknown if !self.may_name_object(change, key) => Text::Unknown,
            Setting::Unknown => match self.targets(change, &[key]).as_deref() {
                Some([one]) => Text::Known(one.identity()),
                Some(_) => Text::Unknown,
                None => self.successor(change.before_text(key)).map_or(Text::Unknown, Text::Known),
            },
        }
    }

    /// True if an unknown attribute may be the name or the id of another object. A document, the key or the value of a tag
    /// holds more than that, and another attribute of an object (`root_block_device[0].volume_id`) is not its id.
    fn may_name_object(&self, change: &Change, key: &str) -> bool {
        const TEXTS: [&str; 7] = [
            "assume_role_policy",
            "assume_role_policy_document",
            "document",
            "key",
            "policy",
            "policy_document",
            "value",
        ];
        !TEXTS.contains(&key) && !self.configuration.refers_to_part(change, key)
    }

    /// The object that takes the place of one that the plan replaces. An attribute that named the old one is unknown
    /// because it names the new one, where the configuration does not show what it names (`local`, `each.value`).
    fn successor(&self, id: Option<&str>) -> Option<String> {
        let is_it = |one: &&Change| one.is(Action::Replace) && one.before_text("id") == id;
        let replaced = self.changes.iter().find(|one| id.is_some() && is_it(one))?;
        Some(replaced.identity())
    }

    /// The texts of a list or set after the plan; `None` if some of them are unknown.
    pub(super) fn list(&self, change: &Change, key: &str) -> Option<Vec<String>> {
        match change.after(key) {
            Setting::Absent => Some(Vec::new()),
            Setting::Unknown if self.configuration.refers_to_part(change, key) => None,
            Setting::Unknown => self.identities(change, &[key]).or_else(|| {
                // Every element that is replaced follows; the others stay.
                let before = texts(change.before(key));
                let after = before.iter().map(|id| self.successor(Some(id)).or_else(|| self.staying(id)));
                after.collect::<Option<Vec<_>>>().filter(|after| !after.is_empty())
            }),
            Setting::Known(value) => {
                let mut known = texts(Some(value));
                let is_text = |one: &Value| one.is_string() || one.is_null();
                if !value.as_array().is_some_and(|list| list.iter().all(is_text)) {
                    return None;
                }
                if !change.has_unknown(key) {
                    return Some(known);
                }
                let flags = change.unknown(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let open = flags.iter().filter(|flag| **flag == Value::Bool(true)).count();
                let found = self.identities(change, &[key]).or_else(|| {
                    let replaced = texts(change.before(key));
                    Some(replaced.iter().filter_map(|id| self.successor(Some(id))).collect())
                })?;
                let mut others: Vec<String> = found.into_iter().filter(|id| !known.contains(id)).collect();
                if others.len() != open {
                    return None;
                }
                known.append(&mut others);
                Some(known)
            }
        }
    }

    /// An object of the plan that stays.
    fn staying(&self, id: &str) -> Option<String> {
        self.changes.iter().any(|one| one.keeps() && one.before_text("id") == Some(id)).then(|| id.to_owned())
    }

    /// The objects that an expression names, if it names nothing else.
    fn identities(&self, change: &Change, path: &[&str]) -> Option<Vec<String>> {
        Some(self.targets(change, path)?.into_iter().map(Change::identity).collect())
    }

    /// The resources of the plan that an attribute refers to; `None` if it refers to anything else.
    pub(super) fn targets(&self, change: &Change, path: &[&str]) -> Option<Vec<&Change>> {
        self.configuration.targets(&self.changes, change, path)
    }

    /// True if the configuration sets an attribute.
    pub(super) fn is_configured(&self, change: &Change, key: &str) -> bool {
        self.configuration.is_configured(change, key)
    }

    /// True unless the configuration certainly leaves an attribute out.
    pub(super) fn may_be_configured(&self, change: &Change, key: &str) -> bool {
        self.configuration.resource(change).is_none() || self.is_configured(change, key)
    }

    /// True if the configuration sets an attribute of a block, or is not there.
    pub(super) fn is_block_configured(&self, change: &Change, block: &str, key: &str) -> bool {
        self.configuration.is_block_configured(change, block, key)
    }

    /// The account of the provider of a resource: that of the role that it assumes last, or that of the other resources of
    /// the provider.
    /// Source: hashicorp/terraform-provider-aws documentation, "Assume Role": roles are assumed in the order of the blocks.
    pub(super) fn account(&self, change: &Change) -> ProviderAccount {
        let provider = self.configuration.provider(change);
        let expressions = provider.and_then(|one| one.get("expressions"));
        let block = |name: &str| expressions.and_then(|all| all.get(name)?.as_array()?.last());
        // Alibaba Cloud's provider may state the account alone.
        let stated = expressions.and_then(|all| self.constant(all.get("account_id")?));
        if let Some(account) = stated.filter(|id| self.cloud.is_account_id(id)) {
            return ProviderAccount::Is(account.to_owned());
        }
        let assumed =
            ["assume_role", "assume_role_with_web_identity", "assume_role_with_oidc"].into_iter().find_map(block);
        let arn = assumed.and_then(|block| self.constant(block.get("role_arn")?));
        if let Some(account) = arn.and_then(account_of_arn) {
            return ProviderAccount::Is(account.to_owned());
        }
        let of_resources = || {
            let own = self.provider_key(change)?;
            let others =
                self.changes.iter().filter(|one| self.provider_key(one) == Some(own) && is_in_own_account(one));
            let arns = others.filter_map(|one| one.before_text("arn").or_else(|| one.after_text("arn")));
            let mut accounts = arns.filter_map(account_of_arn);
            let first = accounts.next()?;
            accounts.all(|other| other == first).then_some(first)
        };
        match (of_resources(), assumed.is_some()) {
            (Some(account), _) => ProviderAccount::Is(account.to_owned()),
            (None, true) => ProviderAccount::Unknown,
            (None, false) => ProviderAccount::Unstated,
        }
    }

    /// A text of the configuration: a constant, or the whole value of a variable.
    fn constant<'p>(&'p self, expression: &'p Value) -> Option<&'p str> {
        if let Some(value) = expression.get("constant_value") {
            return value.as_str();
        }
        let [reference] = expression.get("references")?.as_array()?.as_slice() else { return None };
        self.variables.get(reference.as_str()?.strip_prefix("var.")?)?.as_str()
    }

    /// The provider of a resource, as the configuration names it.
    fn provider_key(&self, change: &Change) -> Option<&str> {
        self.configuration.resource(change)?.get("provider_config_key")?.as_str()
    }

    /// True if the provider of a resource is a further one, and its region cannot be read.
    pub(super) fn has_other_region(&self, change: &Change) -> bool {
        let is_further = self.provider_key(change).is_some_and(|key| key.contains('.'));
        let provider = self.configuration.provider(change);
        is_further
            && self.region(change).is_none()
            && provider.and_then(|one| one.pointer("/expressions/region")).is_some()
    }

    /// The region of the provider of a resource, if the plan states it.
    pub(super) fn region(&self, change: &Change) -> Option<String> {
        // From version 6 on, the provider has the attribute on each resource.
        let stated =
            ["region", "region_id"].into_iter().find_map(|key| change.before_text(key).or(change.after_text(key)));
        if let Some(region) = stated {
            return Some(region.to_owned());
        }
        let expression = self.configuration.provider(change)?.get("expressions")?.get("region")?;
        if let Some(region) = expression.get("constant_value") {
            return region.as_str().map(str::to_owned);
        }
        let names = expression.get("references")?.as_array()?.iter().filter_map(Value::as_str);
        let mut variables = names.filter_map(|name| name.strip_prefix("var."));
        // The expression may hold more than the variable.
        let value = self.variables.get(variables.next()?)?.as_str().map(str::to_owned);
        value.filter(|text| match self.cloud {
            Provider::Aws => text.ends_with(|last: char| last.is_ascii_digit()),
            Provider::Alibaba => target::is_region(text),
        })
    }

    /// The tags that the provider adds (`default_tags`); `None` if the plan does not state them.
    pub(super) fn default_tags(&self, change: &Change) -> Option<Map<String, Value>> {
        let provider = self.configuration.provider(change);
        let blocks = provider.and_then(|one| one.get("expressions")?.get("default_tags"));
        let Some(blocks) = blocks else { return Some(Map::new()) };
        let constant = |block: &Value| block.get("tags")?.get("constant_value")?.as_object().cloned();
        if let Some(tags) = blocks.as_array().and_then(|list| constant(list.first()?)) {
            return Some(tags);
        }
        // Another resource of the same provider shows what it adds.
        let key =
            |one: &Change| self.configuration.resource(one)?.get("provider_config_key")?.as_str().map(str::to_owned);
        let own = key(change);
        self.changes.iter().filter(|one| key(one) == own).find_map(|one| {
            if one.has_unknown("tags_all") || one.has_unknown("tags") || one.is(Action::Delete) {
                return None;
            }
            let Setting::Known(Value::Object(all)) = one.after("tags_all") else { return None };
            let tags = match one.after("tags") {
                Setting::Known(Value::Object(tags)) => tags.clone(),
                _ => Map::new(),
            };
            Some(all.iter().filter(|(key, _)| !tags.contains_key(*key)).map(|(k, v)| (k.clone(), v.clone())).collect())
        })
    }
}
