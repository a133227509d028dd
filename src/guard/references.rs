//! References of a configuration, followed to the resources of the plan.
//! Source: hashicorp/terraform `internal/command/jsonconfig/expression.go#marshalExpression`: references are relative to
//! their module and listed from the most specific to the resource; they have an index only if it is constant.

use serde_json::Value;

use super::change::{Change, Segment, index_length};

/// Number of modules and outputs that a reference is followed through.
const DEPTH: usize = 32;

/// The place of an expression: its module, and the index of the resource or module call that holds it.
#[derive(Debug, Clone)]
struct Context {
    module: Vec<Segment>,
    /// The index as it is written; empty without one.
    index: String,
}

/// Depth of a reference.
#[derive(Debug, Clone, Copy)]
struct Step(usize);

impl Step {
    fn next(self) -> Option<Self> {
        (self.0 < DEPTH).then_some(Self(self.0 + 1))
    }
}

impl Context {
    fn of(change: &Change) -> Self {
        let index = change.index.as_ref().map(Value::to_string).unwrap_or_default();
        Self { module: change.module.clone(), index }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.module.iter().map(|one| one.name.as_str())
    }
}

/// The configuration that a plan was made from.
#[derive(Debug, Default)]
pub(super) struct Configuration(pub(super) Value);

impl Configuration {
    /// The resources of the plan that an attribute refers to; `None` if it refers to anything else.
    pub(super) fn targets<'c>(&self, changes: &'c [Change], change: &Change, path: &[&str]) -> Option<Vec<&'c Change>> {
        let resource = self.resource(change)?;
        let mut expressions = vec![resource.get("expressions")?];
        for step in path {
            let blocks = expressions.into_iter().flat_map(|one| match one {
                Value::Array(list) => list.iter().collect(),
                other => vec![other],
            });
            expressions = blocks.filter_map(|one| one.get(step)).collect();
        }
        let context = Context::of(change);
        let found = self.follow(changes, &context, &expressions, Step(0))?;
        (!found.is_empty()).then_some(found)
    }

    /// True if an expression refers to an attribute of a resource that is not its id, its ARN or its name.
    pub(super) fn refers_to_part(&self, change: &Change, key: &str) -> bool {
        let Some(expression) = self.resource(change).and_then(|one| one.get("expressions")?.get(key)) else {
            return false;
        };
        let mut references = Vec::new();
        collect(expression, &mut references);
        references.into_iter().any(|reference| {
            let (kind, rest) = reference.split_once('.').unwrap_or((reference, ""));
            let (_, tail) = rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()));
            let (_, tail) = tail.split_at(index_length(tail));
            let attribute = tail.strip_prefix('.').and_then(|tail| tail.split(['.', '[']).next());
            kind.contains('_') && attribute.is_some_and(|one| !names_object(kind, one))
        })
    }

    /// True if the configuration sets an attribute of a block, or is not there.
    pub(super) fn is_block_configured(&self, change: &Change, block: &str, key: &str) -> bool {
        let Some(resource) = self.resource(change) else { return true };
        let blocks = resource.get("expressions").and_then(|all| all.get(block));
        match blocks {
            Some(Value::Array(blocks)) => blocks.iter().any(|one| one.get(key).is_some()),
            Some(one) => one.get(key).is_some() || one.get("references").is_some(),
            None => false,
        }
    }

    /// True if the configuration sets an attribute.
    pub(super) fn is_configured(&self, change: &Change, key: &str) -> bool {
        let expressions = self.resource(change).and_then(|resource| resource.get("expressions"));
        // A constant null or empty text sets nothing.
        expressions.and_then(|all| all.get(key)).is_some_and(|one| {
            one.get("constant_value").is_none_or(|value| !value.is_null() && value.as_str() != Some(""))
        })
    }

    pub(super) fn resource(&self, change: &Change) -> Option<&Value> {
        let module = self.module(change.module.iter().map(|one| one.name.as_str()))?;
        let is_it = |one: &&Value| {
            one.get("mode").and_then(Value::as_str) != Some("data")
                && one.get("type").and_then(Value::as_str) == Some(&change.kind)
                && one.get("name").and_then(Value::as_str) == Some(&change.name)
        };
        module.get("resources")?.as_array()?.iter().find(is_it)
    }

    /// The configuration of a module by the names of the modules from the root.
    pub(super) fn module<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Option<&Value> {
        let root = self.0.get("root_module")?;
        names.into_iter().try_fold(root, |module, name| module.get("module_calls")?.get(name)?.get("module"))
    }

    pub(super) fn provider(&self, change: &Change) -> Option<&Value> {
        let key = self.resource(change)?.get("provider_config_key")?.as_str()?;
        let all = self.0.get("provider_config")?;
        // A module without a provider of this name has that of its caller.
        all.get(key).or_else(|| all.get(key.rsplit_once(':').map_or(key, |(_, name)| name)))
    }

    /// The resources that expressions refer to; `None` if they refer to anything whose value the plan does not show.
    fn follow<'c>(
        &self,
        changes: &'c [Change],
        context: &Context,
        expressions: &[&Value],
        step: Step,
    ) -> Option<Vec<&'c Change>> {
        let mut references = Vec::new();
        for expression in expressions {
            collect(expression, &mut references);
        }
        let same_index = references.iter().any(|one| matches!(*one, "count.index" | "each.key"));
        let mut found: Vec<&Change> = Vec::new();
        for reference in references {
            let (head, rest) = reference.split_once('.').unwrap_or((reference, ""));
            let targets = match head {
                "count" | "path" | "terraform" => continue,
                "each" if rest == "key" => continue,
                "each" | "local" | "data" | "self" => return None,
                "var" => self.variable(changes, context, rest, step.next()?)?,
                "module" => self.output(changes, context, rest, same_index, step.next()?)?,
                kind => resources(changes, context, kind, rest, same_index)?,
            };
            for target in targets {
                if !found.iter().any(|one| std::ptr::eq(*one, target)) {
                    found.push(target);
                }
            }
        }
        Some(found)
    }

    /// A variable of a module: the expression of its caller. Those of the root module have known values.
    fn variable<'c>(
        &self,
        changes: &'c [Change],
        context: &Context,
        rest: &str,
        step: Step,
    ) -> Option<Vec<&'c Change>> {
        let (last, callers) = context.module.split_last()?;
        let name = rest.split(['.', '[']).next()?;
        let caller = self.module(callers.iter().map(|one| one.name.as_str()))?;
        let expression = caller.get("module_calls")?.get(&last.name)?.get("expressions")?.get(name)?;
        let outside = Context { module: callers.to_vec(), index: last.index.clone() };
        self.follow(changes, &outside, &[expression], step)
    }

    /// An output of a module that this one calls. The module itself, which is listed after its outputs, adds nothing.
    fn output<'c>(
        &self,
        changes: &'c [Change],
        context: &Context,
        rest: &str,
        same_index: bool,
        step: Step,
    ) -> Option<Vec<&'c Change>> {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, tail) = rest.split_at(end);
        let (index, tail) = tail.split_at(index_length(tail));
        let Some(output) = tail.strip_prefix('.') else { return Some(Vec::new()) };
        let output = output.split(['.', '[']).next()?;
        let called = self.module(context.names().chain([name]))?;
        let expression = called.get("outputs")?.get(output)?.get("expression")?;
        let index = match index.strip_prefix('[').and_then(|index| index.strip_suffix(']')) {
            Some(index) => index.to_owned(),
            None if same_index => context.index.clone(),
            None => String::new(),
        };
        let mut module = context.module.clone();
        module.push(Segment { name: name.to_owned(), index });
        self.follow(changes, &Context { module, index: String::new() }, &[expression], step)
    }
}

/// True if an attribute of a resource is its id, its ARN or its name.
fn names_object(kind: &str, attribute: &str) -> bool {
    match attribute {
        "arn" | "id" | "name" => true,
        // The provider of Alibaba Cloud names the same thing twice.
        "role_name" => matches!(kind, "alicloud_ram_role" | "alicloud_resource_manager_role"),
        "policy_name" => matches!(kind, "alicloud_ram_policy" | "alicloud_resource_manager_policy"),
        "group_name" => kind == "alicloud_ram_group",
        _ => false,
    }
}

/// The references of an expression and of the blocks in it.
fn collect<'v>(expression: &'v Value, references: &mut Vec<&'v str>) {
    let mut open = vec![expression];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(list) => open.extend(list),
            Value::Object(map) => {
                let listed = map.get("references").and_then(Value::as_array);
                references.extend(listed.into_iter().flatten().filter_map(Value::as_str));
                open.extend(
                    map.iter().filter(|(key, _)| *key != "references" && *key != "constant_value").map(|(_, v)| v),
                );
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// The resources of a name in the module: the one with the index, or all of them if there is only one.
fn resources<'c>(
    changes: &'c [Change],
    context: &Context,
    kind: &str,
    rest: &str,
    same_index: bool,
) -> Option<Vec<&'c Change>> {
    let end = rest.find(['.', '[']).unwrap_or(rest.len());
    let (name, tail) = rest.split_at(end);
    let (index, _) = tail.split_at(index_length(tail));
    let of_name = |one: &&Change| one.kind == kind && one.name == name && one.module == context.module && one.keeps();
    let candidates: Vec<&Change> = changes.iter().filter(of_name).collect();
    let with = |index: &str| candidates.iter().copied().find(|one| Context::of(one).index == index);
    let stated = index.strip_prefix('[').and_then(|index| index.strip_suffix(']'));
    match (stated, candidates.as_slice()) {
        (Some(index), _) => Some(vec![with(index)?]),
        // A reference without an index follows the one with it.
        (None, []) => None,
        (None, [one]) => Some(vec![one]),
        (None, _) if same_index => Some(vec![with(&context.index)?]),
        (None, _) => Some(Vec::new()),
    }
}
