//! Associations of EKS Pod Identity, as EKS answers: REST, in JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::mock::{Context, Fault, Refusal, refuse};

/// Operation and parameters of a request line; `None` for any other service.
pub(crate) fn parameters(line: &str) -> Option<BTreeMap<String, String>> {
    let path = line.strip_prefix("GET /clusters/")?.split(' ').next()?;
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut found: BTreeMap<String, String> =
        url::form_urlencoded::parse(query.as_bytes()).map(|(k, v)| (k.into_owned(), v.into_owned())).collect();
    let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    let action = match parts[..] {
        [_, "pod-identity-associations"] => "ListPodIdentityAssociations",
        [_, "pod-identity-associations", id] => {
            found.insert("associationId".to_owned(), id.to_owned());
            "DescribePodIdentityAssociation"
        }
        _ => return None,
    };
    found.insert("Action".to_owned(), action.to_owned());
    found.insert("name".to_owned(), parts[0].to_owned());
    Some(found)
}

pub(crate) fn answer(action: &str, context: &Context<'_>) -> Result<String, Refusal> {
    let name = context.parameter("name")?;
    let Some(all) = context.region.and_then(|region| region.pod_identities.get(name)) else {
        return refuse(404, "ResourceNotFoundException", &format!("No cluster found for name: {name}."));
    };
    let described = all.iter().enumerate().map(|(index, one)| {
        json!({
            "clusterName": name, "namespace": one.namespace, "serviceAccount": one.service_account,
            "associationId": format!("a-{index}"), "roleArn": one.role_arn, "targetRoleArn": one.target_role_arn,
        })
    });
    let mut described: Vec<Value> = described.collect();
    if action == "DescribePodIdentityAssociation" {
        context.only(&["name", "associationId"])?;
        let id = context.parameter("associationId")?;
        return match described.iter().find(|one| one["associationId"] == id) {
            Some(one) => Ok(json!({"association": one}).to_string()),
            None => refuse(404, "ResourceNotFoundException", "No association found"),
        };
    }
    context.only(&["name", "maxResults", "nextToken"])?;
    for one in &mut described {
        one.as_object_mut().unwrap().retain(|key, _| !key.ends_with("oleArn"));
    }
    let all = described.iter().map(Value::to_string).collect();
    let page = context.paged(all, "maxResults", "nextToken", (1, 100))?;
    if matches!(context.fault, Some(Fault::WithoutList)) {
        return Ok("{}".to_owned());
    }
    let token = page.token.map(|token| format!(",\"nextToken\":\"{token}\"")).unwrap_or_default();
    Ok(format!("{{\"associations\":[{}]{token}}}", page.items.join(",")))
}
