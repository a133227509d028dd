//! Backends of Ingresses: ports of Services, and actions of annotations.
//! Source: aws-load-balancer-controller `pkg/ingress/enhanced_backend_builder.go#Build`, `config_types.go`.

use serde::Deserialize;
use serde_json::Value;

use super::{Annotations, Config, Object, Stop};
use crate::model::annotations::go_json_error;

/// A port of a Service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reference {
    pub(super) service: String,
    /// Number or name.
    pub(super) port: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "lowercase")]
struct Action {
    r#type: Option<String>,
    #[serde(rename = "targetgrouparn")]
    target_group_arn: Option<String>,
    #[serde(rename = "targetgroupname")]
    target_group_name: Option<String>,
    #[serde(rename = "fixedresponseconfig")]
    fixed_response: Option<StatusCode>,
    #[serde(rename = "redirectconfig")]
    redirect: Option<StatusCode>,
    #[serde(rename = "forwardconfig")]
    forward: Option<Forward>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StatusCode {
    #[serde(rename = "statuscode")]
    code: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Forward {
    #[serde(rename = "targetgroups")]
    targets: Option<Vec<Target>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Target {
    #[serde(rename = "targetgrouparn")]
    arn: Option<String>,
    #[serde(rename = "targetgroupname")]
    name: Option<String>,
    #[serde(rename = "servicename")]
    service: Option<String>,
    #[serde(rename = "serviceport")]
    port: Option<Value>,
    weight: Option<i32>,
}

/// Ports of Services to which a backend forwards: none for a redirect, a fixed response, or target groups of others.
pub(super) fn references(
    config: &Config<'_>,
    annotations: Annotations<'_>,
    backend: Object<'_>,
) -> Result<Vec<Reference>, Stop> {
    let Some(service) = backend.at(&["service"]) else {
        return Stop::error("missing required \"service\" field");
    };
    let name = service.text(&["name"]).unwrap_or_default();
    conditions(annotations, name)?;
    let port = match service.text(&["port", "name"]).filter(|port| !port.is_empty()) {
        Some("use-annotation") => return of_annotation(config, annotations, name),
        Some(named) => named.to_owned(),
        None => service.number(&["port", "number"]).unwrap_or(0).to_string(),
    };
    Ok(vec![Reference { service: name.to_owned(), port }])
}

/// Conditions of an annotation; their fields are not checked further.
fn conditions(annotations: Annotations<'_>, name: &str) -> Result<(), Stop> {
    let suffix = format!("conditions.{name}");
    let Some(raw) = annotations.get(&suffix) else { return Ok(()) };
    match serde_json::from_str::<Option<Vec<Value>>>(raw) {
        Ok(_) => Ok(()),
        Err(_) => Stop::error(json_failed(annotations, &suffix, raw)),
    }
}

fn json_failed(annotations: Annotations<'_>, suffix: &str, raw: &str) -> String {
    format!("failed to parse json annotation, {}: {raw}: {}", annotations.key(suffix), go_json_error(raw))
}

/// The action of an annotation: `#buildActionViaAnnotation`.
fn of_annotation(config: &Config<'_>, annotations: Annotations<'_>, name: &str) -> Result<Vec<Reference>, Stop> {
    let suffix = format!("actions.{name}");
    let Some(raw) = annotations.get(&suffix) else {
        // Since v2.8 a fixed response of 503 takes the place of the action.
        if config.is_since(2, 7) && config.switch("tolerate-non-existent-backend-action", true) {
            return Ok(Vec::new());
        }
        return Stop::error(format!("missing {suffix} configuration"));
    };
    let failed = |_: serde_json::Error| Stop::Error(json_failed(annotations, &suffix, raw));
    let value: Value = serde_json::from_str(raw).map_err(failed)?;
    let mut action: Action = serde_json::from_value(with_lowercase_keys(value)).map_err(failed)?;
    if !config.is_since(2, 14) {
        action.target_group_name = None;
        for target in action.forward.iter_mut().flat_map(|forward| forward.targets.iter_mut().flatten()) {
            target.name = None;
        }
    }
    let has_status = |of: &Option<StatusCode>, what: &str| match of {
        None => Stop::error(format!("missing {what}")),
        Some(StatusCode { code: Some(code) }) if !code.is_empty() => Ok(Vec::new()),
        Some(_) => Stop::error(format!("invalid {what}: statusCode is required")),
    };
    match action.r#type.as_deref().unwrap_or_default() {
        "fixed-response" => has_status(&action.fixed_response, "FixedResponseConfig"),
        "redirect" => has_status(&action.redirect, "RedirectConfig"),
        "forward" => forwarded(config, action),
        other => Stop::error(format!("unknown action type: {other}")),
    }
}

/// Targets of an action that forwards.
fn forwarded(config: &Config<'_>, action: Action) -> Result<Vec<Reference>, Stop> {
    // Names of target groups are read since v2.14.
    let either = "TargetGroupARN/TargetGroupName";
    let is_simple = action.target_group_arn.is_some() || action.target_group_name.is_some();
    if !config.is_since(2, 14) && is_simple == action.forward.is_some() {
        return Stop::error("precisely one of TargetGroupArn and ForwardConfig can be specified");
    }
    let Some(forward) = action.forward else {
        return if is_simple { Ok(Vec::new()) } else { Stop::error(format!("missing ForwardConfig or {either}")) };
    };
    if is_simple {
        return Stop::error(format!("either ForwardConfig or {either} can be specified"));
    }
    let either = "targetGroupARN/targetGroupName";
    let targets = forward.targets.unwrap_or_default();
    let invalid = |why: String| Stop::error(format!("invalid ForwardConfig: {why}"));
    for target in &targets {
        let is_given = target.arn.is_some() || target.name.is_some();
        let why = match (is_given, &target.service, &target.port) {
            (false, None, _) | (true, Some(_), _) if !config.is_since(2, 14) => {
                "precisely one of targetGroupARN and serviceName can be specified".to_owned()
            }
            (false, None, _) => format!("missing serviceName or {either}"),
            (true, Some(_), _) => format!("either serviceName or {either} can be specified"),
            (_, Some(_), None) => "missing servicePort".to_owned(),
            _ => continue,
        };
        return invalid(format!("invalid TargetGroupTuple: {why}"));
    }
    if targets.len() > 1 && targets.iter().any(|target| target.weight.is_none()) {
        return invalid("weight must be set when route to multiple target groups".to_owned());
    }
    let port = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let reference = |target: Target| Some(Reference { service: target.service?, port: port(target.port?) });
    Ok(targets.into_iter().filter_map(reference).collect())
}

/// Go reads the keys of JSON without regard to case.
fn with_lowercase_keys(value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members.into_iter().map(|(key, value)| (key.to_lowercase(), with_lowercase_keys(value))).collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(with_lowercase_keys).collect()),
        other => other,
    }
}
