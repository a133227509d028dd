//! References of an argument in a plan's configuration, followed through `for_each`, variables and outputs of modules.
//! Source: Terraform documentation, "JSON output format", configuration and expression representation: `references`
//! lists everything that an expression uses, the longest form first; it does not state which part an instance receives.

use std::collections::BTreeSet;

use crate::json::Node;

/// Maximum depth of variables and outputs that are followed.
const MAX_DEPTH: usize = 32;

/// Data sources that describe the environment of the plan or are documents; their values do not refer to a resource of
/// the plan.
const AMBIENT: [&str; 4] = ["aws_partition", "aws_caller_identity", "aws_region", "aws_iam_policy_document"];

/// A module of a path, or a resource, with the key of its instance if known: empty without `count` and `for_each`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PathStep {
    pub(super) name: String,
    pub(super) key: Option<String>,
}

/// Address of a resource: its modules, then the resource as `type.name`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Address {
    pub(super) modules: Vec<PathStep>,
    pub(super) resource: PathStep,
}

impl Address {
    /// Parses the address of a resource instance, such as `module.m["a"].aws_iam_role.r[0]`.
    pub(super) fn parse(address: &str) -> Self {
        let (modules, rest) = modules(address, Some(""));
        let mut rest = rest.into_iter();
        let (kind, last) = (rest.next().unwrap_or_default(), rest.next().unwrap_or_default());
        let resource = PathStep { name: format!("{}.{}", kind.0, last.0), key: Some(last.1.unwrap_or_default()) };
        Self { modules, resource }
    }

    /// True if the address may refer to an instance of a resource. An unknown key matches any.
    pub(super) fn covers(&self, instance: &Self) -> bool {
        let is_step = |step: &PathStep, other: &PathStep| {
            step.name == other.name && (step.key.is_none() || step.key == other.key)
        };
        self.modules.len() == instance.modules.len()
            && self.modules.iter().zip(&instance.modules).all(|(step, other)| is_step(step, other))
            && is_step(&self.resource, &instance.resource)
    }
}

/// Parts of a dotted address, each with its key in brackets. Dots within brackets are part of a key.
fn parts(address: &str) -> Vec<(String, Option<String>)> {
    let mut found: Vec<(String, Option<String>)> = vec![(String::new(), None)];
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for character in address.chars() {
        let Some((name, key)) = found.last_mut() else { break };
        if depth > 0 {
            match character {
                _ if is_escaped => is_escaped = false,
                '\\' if is_quoted => is_escaped = true,
                '"' => is_quoted = !is_quoted,
                '[' if !is_quoted => depth += 1,
                ']' if !is_quoted => depth -= 1,
                _ => {}
            }
            if depth > 0 {
                key.get_or_insert_default().push(character);
            }
        } else {
            match character {
                '[' => {
                    depth = 1;
                    *key = Some(String::new());
                }
                '.' => found.push((String::new(), None)),
                other => name.push(other),
            }
        }
    }
    found
}

/// Splits an address into its modules and the rest. A module without a key gets the given one.
fn modules(address: &str, without: Option<&str>) -> (Vec<PathStep>, Vec<(String, Option<String>)>) {
    let mut rest = parts(address);
    let mut found = Vec::new();
    while rest.len() >= 2 && rest.first().is_some_and(|(name, _)| name == "module") {
        let mut taken = rest.drain(..2);
        if let Some((name, key)) = taken.nth(1) {
            found.push(PathStep { name, key: key.or_else(|| without.map(str::to_owned)) });
        }
    }
    (found, rest)
}

/// Resources to which an argument may refer.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// Resources of the configuration, with the known part of their keys.
    pub(super) resources: BTreeSet<Address>,
    /// True if it may refer to others: a local value, a data source, a module that is not in the plan.
    pub(super) is_open: bool,
}

/// Configuration of a plan.
pub(super) struct Configuration<'v> {
    root: Option<&'v Node>,
    providers: Option<&'v Node>,
}

/// Scope of an expression: the instance of a module, and the instance of a resource or module call.
struct ModuleScope<'s> {
    modules: &'s [PathStep],
    key: Option<&'s str>,
}

impl<'v> Configuration<'v> {
    pub(super) fn new(plan: &'v Node) -> Self {
        Self {
            root: plan.at(&["configuration", "root_module"]),
            providers: plan.at(&["configuration", "provider_config"]),
        }
    }

    fn module(&self, path: &[PathStep]) -> Option<&'v Node> {
        let mut module = self.root?;
        for step in path {
            module = module.at(&["module_calls", &step.name, "module"])?;
        }
        Some(module)
    }

    fn call(&self, path: &[PathStep]) -> Option<&'v Node> {
        let (last, parents) = path.split_last()?;
        self.module(parents)?.at(&["module_calls", &last.name])
    }

    fn resource(&self, modules: &[PathStep], name: &str) -> Option<&'v Node> {
        let all = self.module(modules)?.get("resources").and_then(Node::items)?;
        all.iter().find(|resource| resource.get("address").and_then(Node::as_str) == Some(name))
    }

    /// True if the configuration has the resource.
    pub(super) fn has_resource(&self, address: &Address) -> bool {
        self.resource(&address.modules, &address.resource.name).is_some()
    }

    /// Credentials in the provider configuration of a resource, without the region, because IAM names belong to an
    /// account. `None` if the plan does not state the provider.
    pub(super) fn provider_credentials(&self, address: &Address) -> Option<String> {
        let key = self.resource(&address.modules, &address.resource.name)?.get("provider_config_key")?.as_str()?;
        let expressions = self.providers.and_then(|all| all.get(key)).and_then(|one| one.get("expressions"));
        let Some(members) = expressions.and_then(Node::members) else { return Some(format!("provider {key}")) };
        let mut own: Vec<String> = members
            .iter()
            .filter(|member| *member.key != *"region")
            .map(|member| format!("{}: {}", member.key, member.value))
            .collect();
        own.sort();
        Some(own.join(", "))
    }

    /// True if the configuration of an argument has references.
    pub(super) fn has_references(&self, address: &Address, argument: &str) -> bool {
        self.expression(address, argument).is_some_and(|expression| !names(expression).is_empty())
    }

    fn expression(&self, address: &Address, argument: &str) -> Option<&'v Node> {
        self.resource(&address.modules, &address.resource.name)?.at(&["expressions", argument])
    }

    /// Resources to which an argument of a resource refers.
    pub(super) fn targets(&self, address: &Address, argument: &str) -> Targets {
        let mut found = Targets::default();
        if let Some(expression) = self.expression(address, argument) {
            let scope = ModuleScope { modules: &address.modules, key: address.resource.key.as_deref() };
            let each =
                self.resource(&address.modules, &address.resource.name).and_then(|one| one.get("for_each_expression"));
            self.follow(expression, each, &scope, &mut found, MAX_DEPTH);
        }
        found
    }

    fn follow(
        &self,
        expression: &Node,
        each: Option<&Node>,
        scope: &ModuleScope<'_>,
        found: &mut Targets,
        depth: usize,
    ) {
        let Some(depth) = depth.checked_sub(1) else {
            found.is_open = true;
            return;
        };
        let names = names(expression);
        let is_keyed = names.iter().any(|name| ["each.key", "each.value", "count.index"].contains(name));
        // An instance of `for_each` or `count` that uses its key refers to the instance with the same key.
        let key = scope.key.filter(|key| is_keyed && !key.is_empty());
        for name in longest(&names) {
            let (below, rest) = modules(name, None);
            let first = rest.first().map_or("", |(name, _)| name.as_str());
            let second = rest.get(1).map_or("", |(name, _)| name.as_str());
            match first {
                _ if !below.is_empty() => self.follow_output(below, first, key, scope, found, depth),
                "var" => self.follow_variable(second, scope, found, depth),
                "each" if second == "value" || name == "each" => match each {
                    Some(each) => self.follow(each, None, scope, found, depth),
                    None => found.is_open = true,
                },
                "each" | "count" | "path" | "terraform" | "self" => {}
                "data" => {
                    found.is_open |= !AMBIENT.contains(&second);
                }
                "local" => found.is_open = true,
                _ if second.is_empty() => found.is_open = true,
                _ => {
                    let given = rest.get(1).and_then(|(_, key)| key.clone());
                    let name = format!("{first}.{second}");
                    let has_keys = self.resource(scope.modules, &name).is_none_or(is_repeated);
                    let key = given.or_else(|| if has_keys { key.map(str::to_owned) } else { None });
                    found
                        .resources
                        .insert(Address { modules: scope.modules.to_vec(), resource: PathStep { name, key } });
                }
            }
        }
    }

    /// Follows a module variable to the argument of its call; a variable of the root module does not refer to a
    /// resource.
    fn follow_variable(&self, name: &str, scope: &ModuleScope<'_>, found: &mut Targets, depth: usize) {
        let Some((own, parents)) = scope.modules.split_last() else { return };
        let Some(call) = self.call(scope.modules) else {
            found.is_open = true;
            return;
        };
        if let Some(expression) = call.at(&["expressions", name]) {
            let outer = ModuleScope { modules: parents, key: own.key.as_deref() };
            self.follow(expression, call.get("for_each_expression"), &outer, found, depth);
        }
    }

    fn follow_output(
        &self,
        below: Vec<PathStep>,
        name: &str,
        key: Option<&str>,
        scope: &ModuleScope<'_>,
        found: &mut Targets,
        depth: usize,
    ) {
        let mut path = scope.modules.to_vec();
        for mut step in below {
            if step.key.is_none() {
                let is_repeated =
                    self.module(&path).and_then(|one| one.at(&["module_calls", &step.name])).is_some_and(is_repeated);
                step.key = if is_repeated { key.map(str::to_owned) } else { Some(String::new()) };
            }
            path.push(step);
        }
        let Some(outputs) = self.module(&path).and_then(|module| module.get("outputs")).and_then(Node::members) else {
            found.is_open = true;
            return;
        };
        let meant = outputs.iter().filter(|output| name.is_empty() || *output.key == *name);
        let expressions: Vec<&Node> = meant.filter_map(|output| output.value.get("expression")).collect();
        found.is_open |= expressions.is_empty();
        for expression in expressions {
            self.follow(expression, None, &ModuleScope { modules: &path, key: None }, found, depth);
        }
    }
}

/// True if a resource or a call has `count` or `for_each`.
fn is_repeated(node: &Node) -> bool {
    node.get("count_expression").is_some() || node.get("for_each_expression").is_some()
}

/// References of an expression, including those of its blocks.
fn names(expression: &Node) -> Vec<&str> {
    let own = expression.get("references").and_then(Node::items).unwrap_or_default();
    own.iter().filter_map(Node::as_str).collect()
}

/// References without shorter forms of the preceding one: `aws_iam_role.r.arn` is followed by `aws_iam_role.r`.
fn longest<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let mut kept: Vec<&str> = Vec::new();
    for name in names {
        let is_form = |longer: &&str| longer.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', '[']));
        if !kept.last().is_some_and(is_form) {
            kept.push(name);
        }
    }
    kept
}
