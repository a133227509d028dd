//! One change of a plan, and its values: known, unknown until the plan is applied, or absent.

use serde_json::{Map, Value};

use super::secrets::secrets;
use super::terraform::RawChange;

/// The effect of a change on its resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Create,
    Update,
    Delete,
    /// It is deleted and created again, in either order: another object takes its place.
    Replace,
}

/// A change that writes something.
#[derive(Debug)]
pub(super) struct Change {
    /// Address in the plan, such as `module.vpc.aws_subnet.private[2]`.
    pub(super) address: String,
    /// Modules from the root, each with its index in brackets, if it has one.
    pub(super) module: Vec<Segment>,
    /// Resource type, such as `aws_subnet`.
    pub(super) kind: String,
    /// The type in the words of the tool that wrote the plan.
    pub(super) shown_kind: String,
    pub(super) name: String,
    pub(super) index: Option<Value>,
    /// Absent for an entry that writes nothing.
    pub(super) action: Option<Action>,
    /// Id of an object that this change makes again in another place of a list.
    pub(super) claims: Option<String>,
    /// True if another change makes its old object again.
    pub(super) is_released: bool,
    /// True for a replacement that makes the new object before it deletes the old one.
    pub(super) is_made_first: bool,
    before: Map<String, Value>,
    after: Map<String, Value>,
    unknown: Map<String, Value>,
    /// Texts that must not be shown.
    pub(super) secrets: Vec<String>,
}

/// A module in an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) name: String,
    /// Its index as it is written, such as `0` or `"prod"`; empty for a single module.
    pub(super) index: String,
}

/// A value after the plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Setting<'a> {
    Known(&'a Value),
    /// Known only after the plan is applied.
    Unknown,
    Absent,
}

/// The meaning of the actions of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    Writes(Action),
    /// A data source, a resource that stays as it is, or one that Terraform only forgets.
    Nothing,
    /// An action of a later version.
    Unheard,
}

/// Kinds whose writes replace what has the same key: making such a connection again succeeds, and deleting it afterwards
/// takes it away.
const OVERWRITING: [&str; 10] = [
    "alicloud_ram_group_policy_attachment",
    "alicloud_ram_role_policy_attachment",
    "alicloud_ram_user_group_attachment",
    "alicloud_ram_user_policy_attachment",
    "aws_autoscaling_attachment",
    "aws_autoscaling_group_tag",
    "aws_ec2_tag",
    "aws_iam_policy_attachment",
    "aws_iam_role_policy",
    "aws_iam_role_policy_attachment",
];

/// Source: hashicorp/terraform `internal/command/jsonplan/resource.go#UnmarshalActions`, `values.go`.
pub(super) fn meaning(actions: &[String]) -> Meaning {
    let actions: Vec<&str> = actions.iter().map(String::as_str).collect();
    match actions.as_slice() {
        ["no-op" | "read" | "forget"] => Meaning::Nothing,
        ["update"] => Meaning::Writes(Action::Update),
        ["delete"] => Meaning::Writes(Action::Delete),
        ["create"] | ["create", "forget"] => Meaning::Writes(Action::Create),
        ["delete", "create"] | ["create", "delete"] => Meaning::Writes(Action::Replace),
        _ => Meaning::Unheard,
    }
}

impl Change {
    pub(super) fn new(raw: &RawChange, action: Option<Action>) -> Self {
        // With `forget` the account keeps the old object too, which the plan no longer manages.
        let is_new = action == Some(Action::Create);
        Self {
            address: raw.address.clone(),
            module: segments(&raw.module_address),
            kind: raw.kind.clone(),
            shown_kind: raw.shown_kind.as_ref().unwrap_or(&raw.kind).clone(),
            name: raw.name.clone(),
            index: raw.index.clone(),
            action,
            claims: None,
            is_released: false,
            is_made_first: raw.change.actions == ["create", "delete"],
            before: raw.change.before.clone().filter(|_| !is_new).unwrap_or_default(),
            after: raw.change.after.clone().unwrap_or_default(),
            unknown: raw.change.after_unknown.clone(),
            secrets: secrets(&raw.change),
        }
    }

    /// True if it writes something.
    pub(super) fn is_effective(&self) -> bool {
        self.action.is_some()
    }

    pub(super) fn is(&self, action: Action) -> bool {
        self.action == Some(action)
    }

    /// True for a kind of which two resources can be the same connection.
    pub(super) fn overwrites(&self) -> bool {
        OVERWRITING.contains(&self.kind.as_str())
    }

    /// True if the object after the change is another one than before.
    pub(super) fn makes(&self) -> bool {
        matches!(self.action, Some(Action::Create | Action::Replace))
    }

    /// True if an object exists afterwards.
    pub(super) fn keeps(&self) -> bool {
        !self.is(Action::Delete)
    }

    pub(super) fn before(&self, key: &str) -> Option<&Value> {
        self.before.get(key).filter(|value| !value.is_null())
    }

    /// A text before; absent if it is empty, as the provider writes what is not set.
    pub(super) fn before_text(&self, key: &str) -> Option<&str> {
        self.before(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    pub(super) fn after(&self, key: &str) -> Setting<'_> {
        if self.unknown.get(key) == Some(&Value::Bool(true)) {
            return Setting::Unknown;
        }
        match self.after.get(key) {
            None | Some(Value::Null) => Setting::Absent,
            Some(value) => Setting::Known(value),
        }
    }

    /// A known value after; absent if it is unknown or not set.
    pub(super) fn known(&self, key: &str) -> Option<&Value> {
        match self.after(key) {
            Setting::Known(value) => Some(value),
            Setting::Unknown | Setting::Absent => None,
        }
    }

    /// A known text after; absent if it is empty, unknown or not set.
    pub(super) fn after_text(&self, key: &str) -> Option<&str> {
        self.known(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// Keys of the values that are unknown as a whole.
    pub(super) fn unknown_keys(&self) -> impl Iterator<Item = &str> {
        self.unknown.iter().filter(|(_, flag)| **flag == Value::Bool(true)).map(|(key, _)| key.as_str())
    }

    /// The parts of a value that are unknown.
    pub(super) fn unknown(&self, key: &str) -> Option<&Value> {
        self.unknown.get(key)
    }

    /// True if a part of a value is unknown.
    pub(super) fn has_unknown(&self, key: &str) -> bool {
        fn any(value: &Value) -> bool {
            match value {
                Value::Bool(unknown) => *unknown,
                Value::Array(list) => list.iter().any(any),
                Value::Object(map) => map.values().any(any),
                Value::Null | Value::Number(_) | Value::String(_) => false,
            }
        }
        self.unknown.get(key).is_some_and(any)
    }

    /// True if a value differs after the plan, or may differ. Lists and sets are compared as they are written.
    pub(super) fn differs(&self, key: &str) -> bool {
        if self.has_unknown(key) {
            return true;
        }
        // The provider writes a value that is not set as null, as an empty text, or as an empty list.
        let is_set = |value: &&Value| match value {
            Value::String(text) => !text.is_empty(),
            Value::Array(list) => !list.is_empty(),
            Value::Object(map) => !map.is_empty(),
            Value::Null => false,
            Value::Bool(_) | Value::Number(_) => true,
        };
        self.before(key).filter(is_set) != self.known(key).filter(is_set)
    }

    /// A replacement whose old object another change makes again only creates an object.
    pub(super) fn settle(&mut self) {
        if self.is_released && self.claims.is_none() && self.is(Action::Replace) {
            self.action = Some(Action::Create);
            self.before.clear();
        }
    }

    /// True if the object that it makes has the values of the one that another change takes away.
    pub(super) fn makes_again(&self, other: &Self) -> bool {
        let mut known = self.after.iter().filter(|(_, value)| !value.is_null()).peekable();
        known.peek().is_some() && known.all(|(key, value)| other.before.get(key) == Some(value))
    }

    /// The id of an object in the copy of the account: its own, or the address of an object that does not exist yet.
    /// The object that replaces another one keeps its id: what refers to it follows.
    pub(super) fn identity(&self) -> String {
        if let Some(id) = &self.claims {
            return id.clone();
        }
        let of = |key: &str| self.after_text(key).or_else(|| self.before_text(key)).map(str::to_owned);
        let own = match self.kind.as_str() {
            "aws_iam_policy" => of("arn"),
            "aws_iam_role" | "aws_iam_instance_profile" | "aws_autoscaling_group" => of("name").or_else(|| of("id")),
            "alicloud_ram_role" | "alicloud_resource_manager_role" => self.renamed("role_name"),
            "alicloud_ram_policy" | "alicloud_resource_manager_policy" => self.renamed("policy_name"),
            "alicloud_ram_group" => self.renamed("group_name"),
            "alicloud_ram_user" => self.renamed("name"),
            "aws_default_route_table" => of("id").or_else(|| of("default_route_table_id")),
            _ => self.before_text("id").map(str::to_owned).or_else(|| of("id")),
        };
        own.unwrap_or_else(|| match self.kind.as_str() {
            // The cloud controller tells an internet gateway by the beginning of its id.
            "aws_internet_gateway" => format!("igw:{}", self.address),
            "aws_vpn_gateway" => format!("vgw:{}", self.address),
            "aws_iam_policy" => match of("name") {
                Some(name) => format!("policy{}{name}", of("path").unwrap_or_else(|| "/".to_owned())),
                None => self.address.clone(),
            },
            _ => self.address.clone(),
        })
    }

    /// The name of an object of RAM, by an attribute that has its older spelling `name` too: the one that the plan changes.
    fn renamed(&self, key: &str) -> Option<String> {
        let keys = [key, "name"];
        let changed = keys.into_iter().find(|key| self.after_text(key).is_some() && self.differs(key));
        let after = changed.or_else(|| keys.into_iter().find(|key| self.after_text(key).is_some()));
        let after = after.and_then(|key| self.after_text(key));
        let before = || keys.into_iter().find_map(|key| self.before_text(key));
        after.or_else(before).or_else(|| self.before_text("id")).map(str::to_owned)
    }

    /// Keys of every value after.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        let known = self.before.keys().chain(self.after.keys()).chain(self.unknown.keys());
        known.map(String::as_str)
    }

    /// Every text in its values, for a search of ARNs.
    pub(super) fn texts(&self) -> Vec<&str> {
        ["arn", "owner_id", "policy_arn", "permissions_boundary"]
            .into_iter()
            .filter_map(|key| self.before_text(key).or_else(|| self.after_text(key)))
            .collect()
    }
}

/// The first block of a list of blocks.
pub(super) fn block(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value?.as_array()?.first()?.as_object()
}

/// The texts of a list or a set.
pub(super) fn texts(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The modules of an address. A key may hold dots, brackets and quotes.
pub(super) fn segments(address: &str) -> Vec<Segment> {
    let mut found = Vec::new();
    let mut rest = address;
    while let Some(after) = rest.strip_prefix("module.") {
        let end = after.find(['.', '[']).unwrap_or(after.len());
        let (name, tail) = after.split_at(end);
        let length = index_length(tail);
        let (index, tail) = tail.split_at(length);
        let index = index.strip_prefix('[').and_then(|index| index.strip_suffix(']')).unwrap_or_default();
        found.push(Segment { name: name.to_owned(), index: index.to_owned() });
        rest = tail.strip_prefix('.').unwrap_or_default();
    }
    found
}

/// Length of the index at the beginning of a text, with its brackets; 0 if there is none.
pub(super) fn index_length(text: &str) -> usize {
    if !text.starts_with('[') {
        return 0;
    }
    let (mut quoted, mut escaped) = (false, false);
    for (at, one) in text.char_indices() {
        match one {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return at + 1,
            _ => {}
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_an_address_at_modules_only() {
        let of = |address: &str| -> Vec<(String, String)> {
            segments(address).into_iter().map(|one| (one.name, one.index)).collect()
        };
        let pair = |name: &str, index: &str| (name.to_owned(), index.to_owned());
        assert_eq!(of(""), []);
        assert_eq!(of("module.a.module.b[0]"), [pair("a", ""), pair("b", "0")]);
        assert_eq!(of(r#"module.n["x.y[1]\"]."].module.z"#), [pair("n", r#""x.y[1]\"].""#), pair("z", "")]);
    }

    #[test]
    fn knows_which_actions_write() {
        let of = |actions: &[&str]| meaning(&actions.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["forget"]), Meaning::Nothing);
        assert_eq!(of(&["create", "delete"]), Meaning::Writes(Action::Replace));
        assert_eq!(of(&["dissolve"]), Meaning::Unheard);
    }
}
