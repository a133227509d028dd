//! Types of the fields that decide about load balancers: the API server rejects an object in which one has another.

use crate::policy::json::{Node, Value};
use crate::tags;
use crate::text;

use super::document::DocumentKind;
use super::source::{Object, Place};

/// A field whose value does not have the type of the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongType {
    /// Path of the field, such as `spec.ports[0].port`.
    pub field: String,
    /// Type of the value, for a sentence.
    pub found: &'static str,
    /// Type of the API, for a sentence.
    pub expected: &'static str,
    /// Place of the value.
    pub place: Place,
}

impl std::fmt::Display for WrongType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` is {} instead of {}", text::printable(&self.field), self.found, self.expected)
    }
}

/// Type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldType {
    Text,
    Number,
    Switch,
    /// `IntOrString`.
    NumberOrText,
    /// A map of strings.
    Texts,
    /// A map of strings, in which a rule reports those without quotes.
    Annotations,
    Object,
}

use FieldType::{Annotations, Number, NumberOrText, Object as Map, Switch, Text, Texts};

/// Path and type; `[]` behind a name stands for the items of a list.
type Field = (&'static str, FieldType);

const METADATA: &[Field] = &[
    ("metadata.name", Text),
    ("metadata.generateName", Text),
    ("metadata.namespace", Text),
    ("metadata.uid", Text),
    ("metadata.labels", Texts),
    ("metadata.finalizers[]", Text),
];

/// Source: kubernetes/kubernetes `staging/src/k8s.io/api/core/v1/types.go#ServiceSpec`, `#ServicePort`.
const SERVICE: &[Field] = &[
    ("metadata.annotations", Annotations),
    ("spec.type", Text),
    ("spec.loadBalancerClass", Text),
    ("spec.loadBalancerIP", Text),
    ("spec.loadBalancerSourceRanges[]", Text),
    ("spec.clusterIP", Text),
    ("spec.externalIPs[]", Text),
    ("spec.publishNotReadyAddresses", Switch),
    ("spec.sessionAffinityConfig", Map),
    ("spec.ipFamilies[]", Text),
    ("spec.ipFamilyPolicy", Text),
    ("spec.externalTrafficPolicy", Text),
    ("spec.sessionAffinity", Text),
    ("spec.allocateLoadBalancerNodePorts", Switch),
    ("spec.healthCheckNodePort", Number),
    ("spec.selector", Texts),
    ("spec.ports[]", Map),
    ("spec.ports[].name", Text),
    ("spec.ports[].protocol", Text),
    ("spec.ports[].appProtocol", Text),
    ("spec.ports[].port", Number),
    ("spec.ports[].nodePort", Number),
    ("spec.ports[].targetPort", NumberOrText),
];

/// Source: kubernetes/kubernetes `staging/src/k8s.io/api/networking/v1/types.go#IngressSpec`.
const INGRESS: &[Field] = &[
    ("metadata.annotations", Texts),
    ("spec.ingressClassName", Text),
    ("spec.defaultBackend", Map),
    ("spec.defaultBackend.resource", Map),
    ("spec.defaultBackend.service.name", Text),
    ("spec.defaultBackend.service.port.name", Text),
    ("spec.defaultBackend.service.port.number", Number),
    ("spec.tls[].hosts[]", Text),
    ("spec.tls[].secretName", Text),
    ("spec.rules[]", Map),
    ("spec.rules[].host", Text),
    ("spec.rules[].http.paths[]", Map),
    ("spec.rules[].http.paths[].path", Text),
    ("spec.rules[].http.paths[].pathType", Text),
    ("spec.rules[].http.paths[].backend.service.name", Text),
    ("spec.rules[].http.paths[].backend.service.port.name", Text),
    ("spec.rules[].http.paths[].backend.service.port.number", Number),
];

/// Source: kubernetes/kubernetes `staging/src/k8s.io/api/networking/v1/types.go#IngressClassSpec`.
const INGRESS_CLASS: &[Field] = &[
    ("metadata.annotations", Texts),
    ("spec.controller", Text),
    ("spec.parameters", Map),
    ("spec.parameters.apiGroup", Text),
    ("spec.parameters.kind", Text),
    ("spec.parameters.name", Text),
    ("spec.parameters.namespace", Text),
    ("spec.parameters.scope", Text),
];

/// Fields of a kind of documents that have a type of the API.
fn fields(kind: DocumentKind) -> Option<&'static [Field]> {
    match kind {
        DocumentKind::Ingress => Some(INGRESS),
        DocumentKind::IngressClass => Some(INGRESS_CLASS),
        _ => None,
    }
}

impl DocumentKind {
    /// True if the types of its fields are checked.
    pub(crate) fn has_field_types(self) -> bool {
        fields(self).is_some()
    }
}

/// First field of a Service with another type.
pub(super) fn wrong_in_service(service: Object<'_>) -> Option<WrongType> {
    first_wrong(service, SERVICE)
}

/// First field of a document with another type.
pub(super) fn wrong_in_document(document: Object<'_>, kind: DocumentKind) -> Option<WrongType> {
    first_wrong(document, fields(kind)?)
}

fn first_wrong(object: Object<'_>, fields: &[Field]) -> Option<WrongType> {
    let mut all = METADATA.iter().chain(fields);
    all.find_map(|(path, expected)| at(object, &path.split('.').collect::<Vec<_>>(), String::new(), *expected))
}

/// First wrong value at the rest of a path; `before` is the path of the object.
fn at(object: Object<'_>, path: &[&str], before: String, expected: FieldType) -> Option<WrongType> {
    let Some((key, rest)) = path.split_first() else { return mismatch(object, before, expected) };
    if object.node.value == Value::Null {
        return None;
    }
    if object.node.members().is_none() {
        return wrong(object, before, "an object");
    }
    let (name, is_list) = key.strip_suffix("[]").map_or((*key, false), |name| (name, true));
    let node = object.node.get(name)?;
    let field = if before.is_empty() { name.to_owned() } else { format!("{before}.{name}") };
    let value = Object { node, ..object };
    if !is_list {
        return at(value, rest, field, expected);
    }
    match (&node.value, node.items()) {
        (Value::Null, _) => None,
        (_, None) => wrong(value, field, "a list"),
        (_, Some(items)) => items
            .iter()
            .enumerate()
            .find_map(|(index, node)| at(Object { node, ..object }, rest, format!("{field}[{index}]"), expected)),
    }
}

/// The value, if it does not have the type. Null is as good as absent, and what fills a placeholder in is not known.
fn mismatch(value: Object<'_>, field: String, expected: FieldType) -> Option<WrongType> {
    let is_filled_in = value.node.as_str().is_some_and(tags::is_placeholder);
    if value.node.value == Value::Null || is_filled_in {
        return None;
    }
    // A tag states the type, and is not in the value.
    if value.is_tagged() {
        return None;
    }
    let is_boolean = value.without_quotes().is_some() && !matches!(value.node.value, Value::Number(_));
    let is_unquoted = is_boolean || value.is_number_of_yaml();
    let number = value.number(&[]).map(i32::try_from);
    let is_number = matches!(number, Some(Ok(_)));
    match expected {
        Number | NumberOrText if matches!(number, Some(Err(_))) => {
            let expected = if expected == Number { "an integer" } else { "an integer or a string" };
            Some(WrongType { field, found: "a number beyond 32 bits", expected, place: value.place() })
        }
        Text if is_unquoted || value.scalar().is_none() => wrong(value, field, "a string"),
        Number if !is_number => wrong(value, field, "an integer"),
        Switch if !is_boolean => wrong(value, field, "a boolean"),
        NumberOrText if !is_number && (is_unquoted || value.scalar().is_none()) => {
            wrong(value, field, "an integer or a string")
        }
        Map if value.node.members().is_none() => wrong(value, field, "an object"),
        Texts | Annotations => {
            let Some(members) = value.node.members() else { return wrong(value, field, "an object") };
            members.iter().find_map(|member| {
                let inner = Object { node: &member.value, ..value };
                let is_told =
                    expected == Annotations && inner.without_quotes().is_some() && inner.node.value != Value::Null;
                (!is_told).then(|| mismatch(inner, format!("{field}[\"{}\"]", member.key), Text))?
            })
        }
        Text | Number | Switch | NumberOrText | Map => None,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "every caller returns an option")]
fn wrong(value: Object<'_>, field: String, expected: &'static str) -> Option<WrongType> {
    let field = if field.is_empty() { "the document".to_owned() } else { field };
    let found = match value.without_quotes() {
        Some((kind, _)) => kind,
        None if value.is_number_of_yaml() => "a number",
        None => Node::kind(value.node),
    };
    Some(WrongType { field, found, expected, place: value.place() })
}

#[cfg(test)]
mod tests {
    use super::super::Evidence;

    fn rejected(port: &str) -> Vec<(String, &'static str, usize, usize)> {
        let text =
            format!("apiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec:\n  ports:\n  - port: {port}\n");
        let evidence = Evidence::parse("web.yaml", text.into_bytes()).unwrap();
        let wrong = evidence.rejected.into_iter().map(|one| one.wrong);
        wrong.map(|one| (one.field, one.found, one.place.line, one.place.column)).collect()
    }

    #[test]
    fn a_wrong_field_has_its_path_and_place() {
        assert_eq!(rejected("\"80\""), [("spec.ports[0].port".to_owned(), "a string", 6, 11)]);
    }

    const SERVICE: &str = "
kind: Service
apiVersion: v1
metadata:
  name: web
  labels: {app: web}
  annotations: {a: b}
spec:
  type: LoadBalancer
  loadBalancerSourceRanges: [10.0.0.0/8]
  allocateLoadBalancerNodePorts: true
  selector: {app: web}
  ports:
  - port: 80
    name: http
    targetPort: 8080
";

    #[test]
    fn fields_of_a_service_have_the_types_of_the_api() {
        let wrong = |text: &str| Evidence::parse("web.yaml", text.into()).unwrap().rejected.len();
        assert_eq!(wrong(SERVICE), 0);
        for (before, after) in [
            ("port: 80\n", "port: \"80\"\n"),
            ("port: 80\n", "port: 80.5\n"),
            ("port: 80\n", "port: 4294967376\n"),
            ("targetPort: 8080", "targetPort: on"),
            ("labels: {app: web}", "labels: {app: 0x50}"),
            ("labels: {app: web}", "labels: {app: 12_3}"),
            ("port: 80\n", "port: [80]\n"),
            ("[10.0.0.0/8]", "10.0.0.0/8"),
            ("[10.0.0.0/8]", "[10]"),
            ("type: LoadBalancer", "type: 5"),
            ("{a: b}", "[a, b]"),
            ("{a: b}", "{a: [b]}"),
            ("labels: {app: web}", "labels: {app: 1}"),
            ("NodePorts: true", "NodePorts: \"yes\""),
            ("NodePorts: true", "NodePorts: \"true\""),
            ("name: http", "name: on"),
            ("targetPort: 8080", "targetPort: {a: b}"),
            ("name: web\n  labels", "name: 5\n  labels"),
            ("spec:\n  type", "spec: []\nother:\n  type"),
        ] {
            assert!(SERVICE.contains(before), "{before}");
            assert_eq!(wrong(&SERVICE.replacen(before, after, 1)), 1, "{after}");
        }
    }

    /// Source of the numbers: kubectl 1.32.
    #[test]
    fn numbers_are_those_of_yaml_and_json() {
        for (written, expected) in [
            ("80", 80),
            ("80.0", 80),
            ("8e1", 80),
            ("0x50", 80),
            ("0o120", 80),
            ("0120", 80),
            ("0b1010000", 80),
            ("8_0", 80),
            ("+80", 80),
        ] {
            let text = SERVICE.replacen("port: 80\n", &format!("port: {written}\n"), 1);
            let evidence = Evidence::parse("web.yaml", text.into()).unwrap();
            assert_eq!(evidence.rejected, [], "{written}");
            assert_eq!(evidence.services.unwrap()[0].ports[0].port, expected, "{written}");
        }
        let tagged = SERVICE.replacen("port: 80\n", "port: !!int \"80\"\n", 1);
        assert_eq!(Evidence::parse("web.yaml", tagged.into()).unwrap().rejected, []);
        let json = r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80.0}]}}"#;
        assert_eq!(Evidence::parse("web.json", json.into()).unwrap().rejected, []);
    }

    #[test]
    fn ingresses_and_classes_have_types_too() {
        let ingress = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec: ";
        for (spec, field) in [
            ("{tls: [{hosts: example.com}]}", "spec.tls[0].hosts"),
            ("{rules: [{host: 5}]}", "spec.rules[0].host"),
            ("{rules: {}}", "spec.rules"),
            ("{rules: [{http: {paths: [{path: /, pathType: [Prefix]}]}}]}", "spec.rules[0].http.paths[0].pathType"),
            ("[]", "spec"),
        ] {
            let evidence = Evidence::parse("web.yaml", format!("{ingress}{spec}\n").into_bytes()).unwrap();
            let fields: Vec<&str> = evidence.rejected.iter().map(|one| one.wrong.field.as_str()).collect();
            assert_eq!(fields, [field], "{spec}");
        }
    }

    /// kubectl reads YAML 1.1.
    #[test]
    fn yes_is_a_boolean() {
        let text = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {allocateLoadBalancerNodePorts: yes}\n";
        assert_eq!(Evidence::parse("web.yaml", text.into()).unwrap().rejected, []);
    }

    #[test]
    fn what_is_not_known_yet_is_not_wrong() {
        for port in ["80", "${PORT}", "null"] {
            assert_eq!(rejected(port), [], "{port}");
        }
    }
}
