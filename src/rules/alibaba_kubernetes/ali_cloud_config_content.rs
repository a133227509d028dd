use crate::finding::{Applicability, Fix, ResourceRef, Severity};
use crate::inventory::Provider;
use crate::kubernetes::cloud_config::OF_ALIBABA;
use crate::kubernetes::{Document, DocumentKind, Located, Object, Place};
use crate::resource::ResourceKind;
use crate::rules::{ALIBABA, Check, Counted, KubernetesContext, Rule, RuleSeverity, Subjects, Violation};
use crate::text;

pub(super) const RULE: Rule = Rule {
    id: "ali-cloud-config-content",
    title: "the cloud configuration is not what the controller reads",
    severity: RuleSeverity::depends(Severity::Error, "error; warning without `clusterID`"),
    resources: &[ResourceKind::ClusterConfig],
    condition: "`cloud-config.conf` of a ConfigMap is no JSON, has a key under `Global` that the controller does not have, or half of an access key. Without `clusterID` it is a warning: the tags of load balancers then say `clusterid`, like those of every such cluster.",
    impact: "the setting does nothing, or the controller does not start",
    fix: "Correct the key; name the cluster with `clusterID`.",
    applicability: Applicability::None,
    sources: &["kubernetes/cloud-provider-alibaba-cloud pkg/config/cloud_config.go"],
    example: "`vpcId` is no key of the cloud configuration",
    reads: &[],
    subjects: Subjects::Evidence,
    check: Check::Evidence(ALIBABA, check),
};

/// The cloud configuration of a `ConfigMap`: where it stands, whether it has an access key, whether only half of one, what is wrong
/// with its keys, and whether it names the cluster. `None` where there is none, or where it cannot be read.
pub(super) fn cloud_config(map: &Document) -> Option<(Place, bool, bool, Vec<Located<String>>, bool)> {
    let text = map.object().at(&["data", "cloud-config.conf"])?;
    let inner = map.source.inner(text.node)?;
    let node = inner.documents().ok()?.into_iter().next()?;
    let config = Object { source: &inner, node: &node };
    let has = |key: &str| config.text(&["Global", key]).is_some_and(|value| !value.is_empty());
    let keys = [has("accessKeyID"), has("accessKeySecret")];
    let unknown = config.members(&["Global"]).map(|(key, _)| key).filter(|key| {
        // Go reads keys of JSON in any case.
        !OF_ALIBABA.iter().any(|known| known.eq_ignore_ascii_case(&key.value)) && key.value != "zoneid"
    });
    let has_id = has("clusterID");
    Some((text.place(), keys == [true, true], keys[0] != keys[1], unknown.collect(), has_id))
}

fn check(context: &KubernetesContext<'_>) -> Counted {
    let maps = context.evidence.documents_of(DocumentKind::ConfigMap);
    let maps: Vec<_> = maps.filter(|map| map.object().at(&["data", "cloud-config.conf"]).is_some()).collect();
    if maps.is_empty() {
        return Counted::not_applicable("no ConfigMap with `cloud-config.conf` was given");
    }
    // AWS has a file of this name too, of another form.
    let is_of_aws = context.evidence.controllers().iter().any(|one| one.cloud == Provider::Aws);
    let mut found = Vec::new();
    for map in maps.iter().filter(|_| !is_of_aws) {
        let mut add = |severity: Severity, place: &Place, what: &str, message: String, fix: String| {
            let resource = ResourceRef::bare(ResourceKind::ClusterConfig, &map.name);
            found.push(Violation::new(severity, resource, message, Fix::none(fix)).at(place).with_respect_to(what));
        };
        let Some((place, _, is_half, unknown, has_id)) = cloud_config(map) else {
            let place = map.object().head();
            let message = "`cloud-config.conf` cannot be read as JSON".to_owned();
            add(Severity::Error, &place, "malformed", message, "correct it".to_owned());
            continue;
        };
        if is_half {
            let message = "`cloud-config.conf` has half of an access key".to_owned();
            add(
                Severity::Error,
                &place,
                "key",
                message,
                "take it out: a RAM role of the nodes does without".to_owned(),
            );
        }
        for key in unknown {
            let nearest = text::most_alike(&key.value, OF_ALIBABA, 0.9);
            let message = format!("`{}` is no key of the cloud configuration", text::printable(&key.value));
            let fix = nearest.map_or_else(|| "take it out".to_owned(), |nearest| format!("write `{nearest}`"));
            add(Severity::Error, &key.place, &key.value, message, fix);
        }
        if !has_id {
            let message = "`cloud-config.conf` has no `clusterID`".to_owned();
            add(
                Severity::Warning,
                &place,
                "clusterID",
                message,
                "name the cluster with `clusterID` in `Global`".to_owned(),
            );
        }
    }
    Counted::new(maps.len(), found)
}
