//! References of a configuration, followed to the resources of the plan.
//! Source: hashicorp/terraform `internal/command/jsonconfig/expression.go#marshalExpression`: references are relative to
//! their module and listed from the most specific to the resource; an index stands in them only if it is constant.

use serde_json::Value;

use super::change::{Change, Segment, index_length};
use super::plan::Plan;

/// Number of modules and outputs that a reference is followed through.
const DEPTH: usize = 32;

/// The place of an expression: its module, and the index of the resource or module call that holds it.
#[derive(Debug, Clone)]
pub(super) struct Context {
    module: Vec<Segment>,
    /// The index as it is written; empty without one.
    index: String,
}

/// Depth of a reference.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step(usize);

impl Step {
    pub(super) const FIRST: Self = Self(0);

    fn next(self) -> Option<Self> {
        (self.0 < DEPTH).then_some(Self(self.0 + 1))
    }
}

impl Context {
    pub(super) fn of(change: &Change) -> Self {
        let index = change.index.as_ref().map(Value::to_string).unwrap_or_default();
        Self { module: change.module.clone(), index }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.module.iter().map(|one| one.name.as_str())
    }
}

impl Plan {
    /// The resources that expressions refer to; `None` if they refer to anything whose value the plan does not show.
    pub(super) fn follow(&self, context: &Context, expressions: &[&Value], step: Step) -> Option<Vec<&Change>> {
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
                "var" => self.variable(context, rest, step.next()?)?,
                "module" => self.output(context, rest, same_index, step.next()?)?,
                kind => self.resources(context, kind, rest, same_index)?,
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
    fn variable(&self, context: &Context, rest: &str, step: Step) -> Option<Vec<&Change>> {
        let (last, callers) = context.module.split_last()?;
        let name = rest.split(['.', '[']).next()?;
        let caller = self.module_configuration(callers.iter().map(|one| one.name.as_str()))?;
        let expression = caller.get("module_calls")?.get(&last.name)?.get("expressions")?.get(name)?;
        let outside = Context { module: callers.to_vec(), index: last.index.clone() };
        self.follow(&outside, &[expression], step)
    }

    /// An output of a module that this one calls. The module itself, which is listed after its outputs, adds nothing.
    fn output(&self, context: &Context, rest: &str, same_index: bool, step: Step) -> Option<Vec<&Change>> {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, tail) = rest.split_at(end);
        let (index, tail) = tail.split_at(index_length(tail));
        let Some(output) = tail.strip_prefix('.') else { return Some(Vec::new()) };
        let output = output.split(['.', '[']).next()?;
        let called = self.module_configuration(context.names().chain([name]))?;
        let expression = called.get("outputs")?.get(output)?.get("expression")?;
        let index = match index.strip_prefix('[').and_then(|index| index.strip_suffix(']')) {
            Some(index) => index.to_owned(),
            None if same_index => context.index.clone(),
            None => String::new(),
        };
        let mut module = context.module.clone();
        module.push(Segment { name: name.to_owned(), index });
        self.follow(&Context { module, index: String::new() }, &[expression], step)
    }

    /// The resources of a name in the module: the one with the index, or all of them if there is only one.
    fn resources(&self, context: &Context, kind: &str, rest: &str, same_index: bool) -> Option<Vec<&Change>> {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, tail) = rest.split_at(end);
        let (index, _) = tail.split_at(index_length(tail));
        let of_name = |one: &&Change| one.kind == kind && one.name == name && one.module == context.module && one.keeps();
        let candidates: Vec<&Change> = self.changes.iter().filter(of_name).collect();
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
                open.extend(map.iter().filter(|(key, _)| *key != "references" && *key != "constant_value").map(|(_, v)| v));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
