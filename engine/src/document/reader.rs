//! Reads a policy document from JSON values, element by element.

use crate::dialect::Dialect;
use crate::json::{Either, Member, Node, Span, Value};
use crate::operator::Operator;
use crate::text::Text;

use super::{Condition, Effect, Element, Guard, Malformed, Principal, Statement};

/// True if a value is known only when the template is deployed.
pub(super) fn is_unknown(value: &Value) -> bool {
    match value {
        Value::Either(_) => true,
        Value::String(text) => !text.is_known(),
        _ => false,
    }
}

/// Placeholders for an unknown statement: one that may allow everything, and one that may deny everything.
pub(super) fn placeholder_statements(index: usize, span: Span, what: &str, guards: &[Guard]) -> Vec<Statement> {
    let everything = || Element {
        negated: false,
        patterns: vec!["*".into()],
        folded: vec!["*".into()],
        key_span: span,
        spans: vec![span],
    };
    [(Effect::Allow, "allows"), (Effect::Deny, "denies")]
        .map(|(effect, verb)| Statement {
            index,
            span,
            sid: None,
            effect,
            action: everything(),
            resource: Some(everything()),
            conditions: Vec::new(),
            principal: None,
            guards: [guards, &[Guard { decision: format!("{what} {verb}"), holds: true }]].concat(),
            is_placeholder: true,
        })
        .into()
}

/// Text of a plain value, or the textual form of an unknown one.
pub(super) fn node_text(node: &Node) -> Option<Text> {
    match &node.value {
        Value::String(text) => Some(text.clone()),
        Value::Either(either) => Some(Text::unknown(&format!("If {}", either.condition))),
        _ => None,
    }
}

/// Elements of a statement read so far.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) sid: Option<(String, Span)>,
    /// The effect; if it is unknown, both effects with the guard that decides.
    effects: Vec<(Effect, Option<Guard>)>,
    pub(super) action: Option<Element>,
    pub(super) resource: Option<Element>,
    pub(super) principal: Option<Principal>,
    pub(super) conditions: Vec<Condition>,
    pub(super) guards: Vec<Guard>,
}

pub(super) struct Reader {
    pub(super) dialect: &'static Dialect,
    pub(super) problems: Vec<Malformed>,
}

impl Reader {
    pub(super) fn refuse(&mut self, node: &Node, pointer: &str, reason: &str) {
        self.problems.push(Malformed { span: node.span, pointer: pointer.to_owned(), reason: reason.to_owned() });
    }

    /// AWS rejects a repeated element; choosing one of its values would be a guess.
    pub(super) fn repeated_keys(&mut self, node: &Node, pointer: &str) {
        match &node.value {
            Value::Object(members) => {
                for (index, member) in members.iter().enumerate() {
                    let here = || format!("{pointer}/{}", member.key);
                    if members.iter().take(index).any(|before| before.key == member.key) {
                        let reason = format!("duplicate key `{}`", crate::display::printable(&member.key));
                        self.problems.push(Malformed { span: member.key_span, pointer: here(), reason });
                    }
                    if matches!(member.value.value, Value::Object(_) | Value::Array(_)) {
                        self.repeated_keys(&member.value, &here());
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    // Plain values have no keys, and lists of a thousand actions are common.
                    if matches!(item.value, Value::Object(_) | Value::Array(_)) {
                        self.repeated_keys(item, &format!("{pointer}/{index}"));
                    }
                }
            }
            _ => {}
        }
    }

    /// Reads a statement, a list of statements, or the alternatives of a stack condition.
    pub(super) fn statements(&mut self, at: &str, node: &Node, guards: &[Guard], found: &mut Vec<Statement>) {
        match &node.value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.statement(&format!("{at}/{index}"), index, item, guards, found);
                }
            }
            Value::Object(_) | Value::Either(_) => self.statement(at, 0, node, guards, found),
            value if is_unknown(value) => self.statement(at, 0, node, guards, found),
            _ => self.refuse(node, at, "`Statement` is neither a statement nor a list of statements"),
        }
    }

    fn statement(&mut self, at: &str, index: usize, node: &Node, guards: &[Guard], found: &mut Vec<Statement>) {
        match &node.value {
            Value::Object(members) => self.plain_statement(at, index, node, members, guards, found),
            Value::Either(either) => {
                let Either { condition, then, otherwise } = &**either;
                for (branch, holds) in [(then, true), (otherwise, false)] {
                    let guard = Guard { decision: format!("condition {condition}"), holds };
                    let guards = [guards, &[guard]].concat();
                    for node in branch.iter().flat_map(|node| node.items().unwrap_or(std::slice::from_ref(node))) {
                        self.statement(at, index, node, &guards, found);
                    }
                }
            }
            Value::String(text) if !text.is_known() => {
                found.extend(placeholder_statements(index, node.span, &format!("the statement {text}"), guards));
            }
            _ => self.refuse(node, at, "a statement is a JSON object"),
        }
    }

    fn plain_statement(
        &mut self,
        at: &str,
        index: usize,
        node: &Node,
        members: &[Member],
        guards: &[Guard],
        found: &mut Vec<Statement>,
    ) {
        let before = self.problems.len();
        let mut parts = Parts { guards: guards.to_vec(), ..Parts::default() };
        for member in members {
            self.member(&format!("{at}/{}", member.key), member, &mut parts);
        }
        let named = |key: &str| members.iter().any(|member| *member.key == *key);
        if !named("Effect") {
            self.refuse(node, at, "the statement has no `Effect`");
        }
        if !named("Action") && !named("NotAction") {
            self.refuse(node, at, "the statement has neither `Action` nor `NotAction`");
        }
        let Some(action) = parts.action.filter(|_| self.problems.len() == before) else { return };
        for (effect, guard) in parts.effects {
            found.push(Statement {
                index,
                span: node.span,
                sid: parts.sid.clone(),
                effect,
                action: action.clone(),
                resource: parts.resource.clone(),
                conditions: parts.conditions.clone(),
                principal: parts.principal.clone(),
                guards: parts.guards.iter().cloned().chain(guard).collect(),
                is_placeholder: false,
            });
        }
    }

    fn member(&mut self, here: &str, member: &Member, parts: &mut Parts) {
        let value = &member.value;
        match (&*member.key, &value.value) {
            ("Sid", Value::String(text)) => parts.sid = Some((text.to_string(), value.span)),
            ("Effect", Value::String(text)) if *text == "Allow" => parts.effects = vec![(Effect::Allow, None)],
            ("Effect", Value::String(text)) if *text == "Deny" => parts.effects = vec![(Effect::Deny, None)],
            ("Effect", unknown) if is_unknown(unknown) => {
                let text = node_text(value).unwrap_or_default();
                let guard = |holds| Some(Guard { decision: format!("the effect {text} is Allow"), holds });
                parts.effects = vec![(Effect::Allow, guard(true)), (Effect::Deny, guard(false))];
            }
            ("Effect", _) => self.refuse(value, here, "the effect is neither `Allow` nor `Deny`"),
            (name @ ("Action" | "NotAction"), _) => {
                if parts.action.is_some() {
                    self.refuse(value, here, "`Action` and `NotAction` exclude each other");
                }
                let mut element = self.element(here, name == "NotAction", member.key_span, value);
                element.folded = element.patterns.iter().map(Text::to_lowercase).collect();
                parts.action = Some(element);
            }
            (name @ ("Resource" | "NotResource"), _) => {
                if parts.resource.is_some() {
                    self.refuse(value, here, "`Resource` and `NotResource` exclude each other");
                }
                let mut element = self.element(here, name == "NotResource", member.key_span, value);
                element.folded.clone_from(&element.patterns);
                parts.resource = Some(element);
            }
            (name @ ("Principal" | "NotPrincipal"), _) => {
                let entries = self.principals(here, value);
                let negated = name == "NotPrincipal";
                parts.principal = Some(Principal { negated, entries, key_span: member.key_span });
            }
            ("Condition", Value::Object(operators)) => {
                for operator in operators {
                    self.operator(&format!("{here}/{}", operator.key), operator, parts);
                }
            }
            ("Condition", unknown) if is_unknown(unknown) => {
                let text = node_text(value).unwrap_or_default();
                parts.guards.push(Guard { decision: format!("the condition {text} holds"), holds: true });
            }
            (other, _) => {
                let reason = format!("`{}` is not valid here", crate::display::printable(other));
                self.problems.push(Malformed { span: member.key_span, pointer: here.to_owned(), reason });
            }
        }
    }

    fn operator(&mut self, at: &str, operator: &Member, parts: &mut Parts) {
        if Operator::parse(&operator.key, self.dialect.operators).is_none() {
            let reason = format!("`{}` is not a condition operator", crate::display::printable(&operator.key));
            self.problems.push(Malformed { span: operator.key_span, pointer: at.to_owned(), reason });
        }
        if is_unknown(&operator.value.value) {
            let text = node_text(&operator.value).unwrap_or_default();
            let decision = format!("the condition {} {text} holds", operator.key);
            parts.guards.push(Guard { decision, holds: true });
            return;
        }
        let Some(keys) = operator.value.members() else {
            self.refuse(&operator.value, at, "an operator requires an object of keys");
            return;
        };
        for key in keys {
            let (values, spans) = self.scalars(&format!("{at}/{}", key.key), &key.value);
            parts.conditions.push(Condition {
                operator: operator.key.to_string(),
                operator_span: operator.key_span,
                key: key.key.clone(),
                key_span: key.key_span,
                values,
                spans,
            });
        }
    }

    fn element(&mut self, at: &str, negated: bool, key_span: Span, node: &Node) -> Element {
        let (patterns, spans) = self.strings(at, node);
        Element { negated, patterns, folded: Vec::new(), key_span, spans }
    }

    fn strings(&mut self, at: &str, node: &Node) -> (Vec<Text>, Vec<Span>) {
        let items = match &node.value {
            Value::Array(items) => items.as_slice(),
            Value::String(_) | Value::Either(_) => std::slice::from_ref(node),
            _ => {
                self.refuse(node, at, "expected a string or a list of strings");
                &[]
            }
        };
        let mut found = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
        for item in items {
            match node_text(item) {
                Some(text) => {
                    found.0.push(text);
                    found.1.push(item.span);
                }
                None => self.refuse(item, at, "a list item is not a string"),
            }
        }
        found
    }

    /// Reads condition values: strings, numbers and booleans, alone or in a list.
    fn scalars(&mut self, at: &str, node: &Node) -> (Vec<Text>, Vec<Span>) {
        let items = match &node.value {
            Value::Array(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let mut found = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
        for item in items {
            let text = match &item.value {
                Value::Number(text) => text.as_str().into(),
                Value::Bool(value) => value.to_string().into(),
                _ => {
                    if let Some(text) = node_text(item) {
                        text
                    } else {
                        self.refuse(item, at, "expected a plain value or a list of plain values");
                        continue;
                    }
                }
            };
            found.0.push(text);
            found.1.push(item.span);
        }
        found
    }

    fn principals(&mut self, at: &str, node: &Node) -> Vec<(String, Text)> {
        match &node.value {
            Value::String(text) if *text == "*" => vec![("*".to_owned(), text.clone())],
            Value::Object(members) => {
                let mut entries = Vec::new();
                for member in members {
                    let (values, _) = self.strings(&format!("{at}/{}", member.key), &member.value);
                    entries.extend(values.into_iter().map(|value| (member.key.to_string(), value)));
                }
                entries
            }
            unknown if is_unknown(unknown) => node_text(node).map(|text| ("?".to_owned(), text)).into_iter().collect(),
            _ => {
                self.refuse(node, at, "expected `*` or an object of principals");
                Vec::new()
            }
        }
    }
}
