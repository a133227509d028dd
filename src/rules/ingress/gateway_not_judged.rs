use crate::inventory::Provider;
use crate::kubernetes::{Document, DocumentKind};
use crate::rules::prelude::*;

use super::{LISTS, full_name};

pub(super) const RULE: Rule = Rule {
    id: "gateway-not-judged",
    title: "objects of the Gateway API are not judged",
    severity: RuleSeverity::always(Severity::Info),
    resources: &[ResourceKind::ClusterConfig],
    condition: "A Gateway, a ListenerSet or a route of the Gateway API (`gateway.networking.k8s.io`) was given. What its controller does about it is not modelled, and its load balancers are not compared.",
    impact: "their load balancers are not audited",
    fix: "Nothing: read the status of the Gateway, and the log of its controller.",
    sources: &["Kubernetes Gateway API documentation, API specification"],
    example: "2 objects of the Gateway API are not judged: Gateway shop/web, HTTPRoute shop/site",
    lists: LISTS,
    ..Rule::evidence(&[Provider::Aws, Provider::Alibaba], check)
};

/// Objects that a message names.
const SHOWN: usize = 4;

fn check(context: &KubernetesContext<'_>) -> CheckResult {
    let objects: Vec<&Document> = context.evidence.documents_by_kind(DocumentKind::GatewayApi).collect();
    let Some(first) = objects.first() else {
        return CheckResult::not_applicable("no object of the Gateway API was given");
    };
    let names: Vec<String> =
        objects.iter().map(|one| format!("{} {}", one.kind_name(), full_name(one.object()))).collect();
    let shown: Vec<String> = names.iter().map(|name| text::printable(name).into_owned()).collect();
    let verb = if objects.len() == 1 { "is" } else { "are" };
    let message = format!(
        "{} of the Gateway API {verb} not judged: {}",
        text::count(objects.len(), "object"),
        text::list(&shown.iter().map(String::as_str).collect::<Vec<_>>(), SHOWN)
    );
    let fix = Fix::none("read the status of the Gateway, and the log of its controller");
    let resource = ResourceRef::bare(ResourceKind::ClusterConfig, "gateway.networking.k8s.io");
    let violation = Violation::new(Severity::Info, resource, message, fix).at(&first.object().head());
    CheckResult::counted(objects.len(), [violation])
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::lint;

    const DEFECT: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: web
  namespace: shop
";

    #[test]
    fn fires() {
        lint::fires(&RULE, DEFECT);
    }

    #[test]
    fn does_not_apply() {
        lint::does_not_apply(
            &RULE,
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  type: LoadBalancer\n",
        );
    }
}
