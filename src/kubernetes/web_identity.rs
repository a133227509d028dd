//! Pods that assume an AWS role by web identity: a ServiceAccount names the role in an annotation, for which a webhook
//! mounts the token, or the pod does both itself.
//! Sources: aws/amazon-eks-pod-identity-webhook README.md and `pkg/handler/handler.go#MutatePod`; Amazon EKS User
//! Guide, "IAM roles for service accounts".

use super::arguments::Component;
use super::document::{Document, DocumentKind};
use super::evidence::Evidence;
use super::source::{Object, Place};
use super::workload::{Container, Workload};

/// Annotation in which a ServiceAccount names its role.
pub(crate) const ROLE_ANNOTATION: &str = "eks.amazonaws.com/role-arn";

/// Beginning of the subject of a token; namespace and name follow, separated by a colon.
/// Source: Kubernetes documentation, "Authenticating", "Service account tokens".
pub(crate) const SUBJECT_PREFIX: &str = "system:serviceaccount:";

/// Subject of a ServiceAccount that no cluster has: a role that admits it admits every ServiceAccount.
pub(crate) const ANY_SUBJECT: &str = "system:serviceaccount:tagaudit-any:tagaudit-any";

/// Annotation that sets the audience of the token.
const AUDIENCE_ANNOTATION: &str = "eks.amazonaws.com/audience";

/// Default audience of the webhook.
const DEFAULT_AUDIENCE: &str = "sts.amazonaws.com";

/// Part of the name of the image of the webhook.
pub(super) const WEBHOOK_IMAGE: &str = "pod-identity-webhook";

/// Option of the webhook for the audience of the tokens that it mounts.
const AUDIENCE_OPTION: &str = "token-audience";

/// Name of the webhook that mounts the tokens.
const WEBHOOK: &str = "iam-for-pods.amazonaws.com";

/// A ServiceAccount that assumes a role by web identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebIdentity<'e> {
    pub namespace: &'e str,
    pub service_account: &'e str,
    pub role_arn: &'e str,
    /// Audience of its token; `None` if unknown.
    pub audience: Option<&'e str>,
    /// Workload that names the role in its environment; `None` for an annotation of the ServiceAccount.
    pub workload: Option<&'e Workload>,
    /// Place of the name of the role.
    pub place: Place,
}

impl WebIdentity<'_> {
    /// `NAMESPACE/NAME` of the ServiceAccount.
    #[must_use]
    pub fn account_name(&self) -> String {
        format!("{}/{}", self.namespace, self.service_account)
    }

    /// Subject of its token.
    #[must_use]
    pub fn subject(&self) -> String {
        format!("{SUBJECT_PREFIX}{}:{}", self.namespace, self.service_account)
    }
}

impl Evidence {
    /// ServiceAccounts that were given, with namespace and name.
    pub fn service_accounts(&self) -> impl Iterator<Item = (&str, &str, Object<'_>)> {
        self.documents_by_kind(DocumentKind::ServiceAccount).map(Document::object).map(|object| {
            let text =
                |key: &str, default| object.text(&["metadata", key]).filter(|text| !text.is_empty()).unwrap_or(default);
            (text("namespace", "default"), text("name", ""), object)
        })
    }

    /// ServiceAccounts that assume a role by web identity, in the order of the evidence.
    #[must_use]
    pub fn web_identities(&self) -> Vec<WebIdentity<'_>> {
        let default = self.webhook_audience();
        let annotated = self.service_accounts().filter_map(|(namespace, service_account, object)| {
            let annotation = |key: &str| object.text(&["metadata", "annotations", key]).filter(|text| !text.is_empty());
            Some(WebIdentity {
                namespace,
                service_account,
                role_arn: annotation(ROLE_ANNOTATION)?,
                audience: annotation(AUDIENCE_ANNOTATION).or(default),
                workload: None,
                place: object.at(&["metadata", "annotations", ROLE_ANNOTATION])?.place(),
            })
        });
        let mounted = self.workloads.iter().filter(|workload| !workload.is_owned).filter_map(|workload| {
            let own = workload.web_identity.as_ref()?;
            Some(WebIdentity {
                namespace: &workload.namespace,
                service_account: &workload.service_account,
                role_arn: &own.role_arn.value,
                audience: own.audience.as_deref(),
                workload: Some(workload),
                place: own.role_arn.place.clone(),
            })
        });
        annotated.chain(mounted).collect()
    }

    /// True if the webhook that mounts tokens for annotated ServiceAccounts is registered.
    #[must_use]
    pub fn has_token_webhook(&self) -> bool {
        let mut webhooks = self.documents_by_kind(DocumentKind::Webhook).map(Document::object);
        webhooks.any(|object| {
            let mut names = object.items(&["webhooks"]).filter_map(|webhook| webhook.text(&["name"]));
            names.any(|name| name == WEBHOOK)
                || object.text(&["metadata", "name"]).is_some_and(|name| name.contains("pod-identity-webhook"))
        })
    }

    /// True if the webhook makes an ARN of the name of a role (`--compose-role-arn`); `None` if its arguments are not known.
    /// Source: aws/amazon-eks-pod-identity-webhook `pkg/cache/cache.go#addSA`.
    pub(crate) fn webhook_composes_arns(&self) -> Option<bool> {
        let containers = || self.workloads.iter().flat_map(|workload| &workload.containers);
        let composes = |container: &Container| {
            let mut words = container.words.iter().map(|word| word.value.as_str());
            words.any(|word| word.starts_with("--compose-role-arn") && !word.ends_with("=false"))
        };
        // An own build may have another name.
        if containers().any(composes) {
            return Some(true);
        }
        let webhook = containers().find(|container| container.image.value.contains(WEBHOOK_IMAGE));
        let is_eks = self.nodes.iter().flatten().any(crate::nodes::KubernetesNode::is_eks);
        match webhook {
            Some(webhook) => (!webhook.starts_shell()).then_some(false),
            None => is_eks.then_some(false),
        }
    }

    /// Audience of the tokens that the webhook mounts, if an annotation names none. EKS runs the webhook with its
    /// default; elsewhere it may be set otherwise, unless its options are known.
    fn webhook_audience(&self) -> Option<&str> {
        let is_webhook = |workload: &&Workload| {
            let mut images = workload.containers.iter().map(|container| container.image.value.as_str());
            images.any(|image| image.contains(WEBHOOK_IMAGE))
        };
        let names_audience = |webhook: &Workload| {
            let mut words = webhook.containers.iter().flat_map(|container| &container.words);
            // The arguments in a script are not known.
            webhook.containers.iter().any(Container::starts_shell)
                || words.any(|word| word.value.contains(AUDIENCE_OPTION))
        };
        let is_eks = self.nodes.iter().flatten().any(crate::nodes::KubernetesNode::is_eks);
        match self.workloads.iter().find(is_webhook) {
            // It may be another than the default.
            Some(webhook) if names_audience(webhook) => None,
            Some(_) => Some(DEFAULT_AUDIENCE),
            None => is_eks.then_some(DEFAULT_AUDIENCE),
        }
    }

    /// Issuers of the tokens of ServiceAccounts, without `https://`, as the API servers are started with; empty if unknown. Of
    /// several, a server writes the first into its tokens. IAM compares them with the provider as they are.
    /// Source: Kubernetes documentation, kube-apiserver, `--service-account-issuer`.
    #[must_use]
    pub fn token_issuers(&self) -> Vec<&str> {
        const FLAG: &str = "service-account-issuer";
        let all = self.arguments();
        let of_arguments = all.iter().filter_map(|arguments| {
            let mut given = arguments.component_arguments(Component::ApiServer).into_iter();
            given.find(|argument| argument.name == FLAG).map(|argument| argument.value)
        });
        // Control planes of other clusters are no static Pods, or run in other namespaces.
        let is_own = |workload: &&Workload| workload.is_static && workload.namespace == "kube-system";
        let containers = self.workloads.iter().filter(is_own).flat_map(|workload| &workload.containers);
        let servers: Vec<&Container> = containers.filter(|container| starts_api_server(container)).collect();
        let of_servers = servers.iter().filter_map(|container| container.flag_values(FLAG).first().copied());
        let mut issuers: Vec<&str> = of_arguments
            .chain(of_servers)
            .map(|issuer| issuer.strip_prefix("https://").unwrap_or(issuer))
            .filter(|issuer| !issuer.is_empty())
            .collect();
        // A script or a variable may set another, and a recording of an earlier version hides it.
        if servers.iter().any(|container| container.starts_shell())
            || issuers.iter().any(|issuer| issuer.contains(['*', '$']))
        {
            return Vec::new();
        }
        issuers.sort_unstable();
        issuers.dedup();
        issuers
    }
}

/// True for a container that starts an API server. kOps starts it through `/go-runner`, and RKE2 from an image of another
/// name.
fn starts_api_server(container: &Container) -> bool {
    let name = Component::ApiServer.name();
    let image = container.image.value.rsplit('/').next().unwrap_or_default();
    let image = image.split(['@', ':']).next().unwrap_or_default();
    let platform = image.strip_prefix(name).map(|rest| rest.trim_start_matches('-'));
    container.program() == name || platform.is_some_and(|one| ["", "amd64", "arm64"].contains(&one))
}
