//! Refusals of IAM and RAM in a line: the action, who asked, and which kind of policy refused.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::paste::expression;
use regex::Regex;

use crate::baseline::EMBEDDED;
use crate::controller::alibaba::{self, AlibabaController};
use crate::controller::companion::COMPANIONS;
use crate::policy;
use crate::rules::messages::refusals;

/// The policy that refused, as far as the line states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusedBy {
    /// No policy of the identity allows it.
    NothingAllows,
    /// A statement denies it.
    ExplicitDeny,
    /// The permissions boundary does not allow it.
    Boundary,
    /// A service control policy does not allow it, or denies it.
    ServiceControlPolicy,
    /// The session policy does not allow it, or denies it.
    SessionPolicy,
    /// The policy of the resource, or of the VPC endpoint, does not allow it.
    OtherPolicy,
    /// The line does not state it.
    Unstated,
}

/// A refused call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact about the caller")]
pub(super) struct Refusal {
    /// `service:Action`; absent if the line does not show it.
    pub(super) action: Option<String>,
    pub(super) by: RefusedBy,
    /// True if it was refused to a person at the AWS CLI.
    pub(super) is_of_person: bool,
    /// True if it was refused to a user of IAM.
    is_of_user: bool,
    /// True if a controller that makes machines wrote it: its credentials are none of the nodes'.
    is_of_machines: bool,
    /// True if it is a decoded authorization message of EC2.
    is_decoded: bool,
    /// True if no known controller makes the call, or another program has the code.
    is_of_others: bool,
    pub(super) cloud: Cloud,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cloud {
    Aws,
    Alibaba,
}

static ACTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(r"(?i)(?:not authorized to perform:?|authorized to call|failed to call) ([a-z0-9-]+:[A-Za-z0-9]+)")
});
static OPERATION: LazyLock<Option<Regex>> =
    LazyLock::new(|| expression(r"(?i)operation error ([A-Za-z0-9 ]+?): ([A-Za-z0-9]+),"));
static CALLED: LazyLock<Option<Regex>> = LazyLock::new(|| expression(r"(?i)when calling the ([A-Za-z0-9]+) operation"));
static DECODED: LazyLock<Option<Regex>> =
    LazyLock::new(|| expression(r#"(?i)"action"\s*:\s*"([a-z0-9-]+:[A-Za-z0-9]+)""#));
static TRAIL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(r#"(?i)"eventSource"\s*:\s*"([a-z0-9-]+)\.amazonaws\.com"|"eventName"\s*:\s*"([A-Za-z0-9]+)""#)
});
static ALIBABA: LazyLock<Option<Regex>> = LazyLock::new(|| {
    expression(
        r"(?i)(?:API: ([A-Za-z]+), (?:StatusCode: \d+, )?ErrorCode: |Code: )(Forbidden\.RAM|Forbidden|NoPermission)\b",
    )
});

/// IAM prefixes by the names that the AWS SDKs print.
/// Source: aws-sdk-go-v2, `ServiceID` of each service.
const SERVICES: [(&str, &str); 18] = [
    ("ACM", "acm"),
    ("Auto Scaling", "autoscaling"),
    ("Cognito Identity Provider", "cognito-idp"),
    ("EC2", "ec2"),
    ("ECR", "ecr"),
    ("EFS", "elasticfilesystem"),
    ("EKS", "eks"),
    ("Elastic Load Balancing", "elasticloadbalancing"),
    ("Elastic Load Balancing v2", "elasticloadbalancing"),
    ("IAM", "iam"),
    ("KMS", "kms"),
    ("Pricing", "pricing"),
    ("Route 53", "route53"),
    ("Shield", "shield"),
    ("SQS", "sqs"),
    ("SSM", "ssm"),
    ("STS", "sts"),
    ("WAFV2", "wafv2"),
];

/// Services that the controllers of a cluster call, by their published policies, and applications rarely.
const OF_CONTROLLERS: [&str; 10] = [
    "autoscaling",
    "ec2",
    "ecr",
    "ecr-public",
    "eks",
    "elasticfilesystem",
    "elasticloadbalancing",
    "shield",
    "waf-regional",
    "wafv2",
];

/// Services that controllers and applications call: a line counts only if a controller certainly wrote it.
const OF_CONTROLLERS_TOO: [&str; 8] = ["acm", "cognito-idp", "kms", "pricing", "route53", "sqs", "ssm", "tag"];

/// Actions of the embedded policies and calls of the known controllers, in lower case; those that cover a whole service show nothing.
static PUBLISHED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let all = EMBEDDED.iter().filter_map(|embedded| embedded.baseline(None).ok());
    let called = COMPANIONS.iter().flat_map(|row| row.needed).map(|needed| needed.action.to_owned());
    let actions = all.flat_map(|baseline| baseline.actions).chain(called).map(|action| action.to_lowercase());
    actions.filter(|action| !action.ends_with(":*")).collect()
});

/// True if a published policy of a controller names an action.
fn is_published(service: &str, action: &str) -> bool {
    let asked = format!("{service}:{action}");
    PUBLISHED.iter().any(|pattern| policy::matches(pattern, &asked))
}

/// Parts of the actions of IAM that they call.
const OF_IAM: [&str; 4] = ["instanceprofile", "passrole", "servicelinkedrole", "servercertificate"];

/// Calls by what their callers write where the error itself does not name the action.
const CALLERS: [(&str, &str); 18] = [
    ("launching instances, creating fleet", "ec2:CreateFleet"),
    ("error configuring source-dest-check", "ec2:ModifyInstanceAttribute"),
    ("error creating aws route", "ec2:CreateRoute"),
    ("error in tagging ec2 instance", "ec2:CreateTags"),
    ("error checking if node", "ec2:DescribeInstances"),
    // kubernetes-sigs/cluster-api-provider-aws `pkg/cloud/services/ec2/ami.go#defaultAMIIDLookup`.
    ("failed to find ami", "ec2:DescribeImages"),
    ("failed to createnetworkinterface", "ec2:CreateNetworkInterface"),
    ("failed to tag the newly created eni", "ec2:CreateTags"),
    ("could not create volume in ec2", "ec2:CreateVolume"),
    ("could not attach volume", "ec2:AttachVolume"),
    ("could not detach volume", "ec2:DetachVolume"),
    ("error creating security group", "ec2:CreateSecurityGroup"),
    ("error authorizing security group ingress", "ec2:AuthorizeSecurityGroupIngress"),
    ("error listing aws instances", "ec2:DescribeInstances"),
    ("error describing load balancer", "elasticloadbalancing:DescribeLoadBalancers"),
    ("error creating load balancer", "elasticloadbalancing:CreateLoadBalancer"),
    ("failed to regenerate asg cache", "autoscaling:DescribeAutoScalingGroups"),
    ("failed to generate aws ec2 instance types", "ec2:DescribeInstanceTypes"),
];

/// Words of the controllers that make machines.
/// Sources: kubernetes-sigs/cluster-api-provider-aws `pkg/cloud/services/ec2`, `pkg/cloud/services/elb`; kubermatic/machine-controller
/// `pkg/controller/machine`.
const OF_MACHINES: [&str; 5] = [
    "cluster-api-provider-aws",
    "capa-controller",
    "failed to create or get machine",
    "create machine at cloudprovider",
    "failed to apply security groups to load balancer",
];

/// The refusal that a text reports.
pub(super) fn refusal(text: &str) -> Option<Refusal> {
    let lower = text.to_lowercase();
    // `status code: Forbidden` is that of any HTTP client.
    let is_status =
        |at: usize| text.get(..at).is_some_and(|before| before.to_lowercase().trim_end().ends_with("status"));
    let of_alibaba = ALIBABA.as_ref().and_then(|one| one.captures(text));
    if let Some(found) = of_alibaba.filter(|found| !found.get(0).is_some_and(|all| is_status(all.start()))) {
        let api = found.get(1).map(|api| api.as_str());
        let action = api.map(|api| format!("{}:{api}", product(api, &lower)));
        return Some(Refusal {
            action,
            by: RefusedBy::Unstated,
            is_of_person: false,
            is_of_user: false,
            is_of_machines: false,
            is_decoded: false,
            is_of_others: match api {
                Some(api) => products(api).is_empty(),
                // Other programs have codes of these names.
                None => !["requestid", "request id", "sdkerror", "aliyun", "forbidden.ram"]
                    .iter()
                    .any(|one| lower.contains(one)),
            },
            cloud: Cloud::Alibaba,
        });
    }
    let compact: String = lower.chars().filter(|one| !one.is_whitespace()).collect();
    let is_decoded = compact.contains("\"allowed\":false");
    let words = [
        "not authorized to perform",
        "unauthorizedoperation",
        "accessdenied",
        "isn't authorized to call",
        "unauthorized operation: failed to call",
    ];
    if !is_decoded && !words.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let first = |expression: &LazyLock<Option<Regex>>| {
        expression
            .as_ref()
            .and_then(|one| one.captures(text))
            .and_then(|found| found.get(1))
            .map(|one| one.as_str().to_owned())
    };
    let by_operation = || {
        let found = OPERATION.as_ref()?.captures(text)?;
        let (service, operation) = (found.get(1)?.as_str(), found.get(2)?.as_str());
        let prefix = SERVICES.iter().find(|(name, _)| name.eq_ignore_ascii_case(service)).map(|(_, prefix)| *prefix)?;
        Some(format!("{prefix}:{operation}"))
    };
    let by_caller = || CALLERS.iter().find(|(words, _)| lower.contains(words)).map(|(_, action)| (*action).to_owned());
    // This code is one of EC2 alone.
    let by_tool = || {
        let called = if lower.contains("(unauthorizedoperation)") { first(&CALLED) } else { None };
        called.map(|operation| format!("ec2:{operation}"))
    };
    let by_trail = || {
        let (mut service, mut event) = (None, None);
        for found in TRAIL.as_ref()?.captures_iter(text) {
            service = service.or(found.get(1).map(|one| one.as_str().to_owned()));
            event = event.or(found.get(2).map(|one| one.as_str().to_owned()));
        }
        Some(format!("{}:{}", service?, event?))
    };
    let decoded = || if is_decoded { first(&DECODED) } else { None };
    let action =
        first(&ACTION).or_else(decoded).or_else(by_trail).or_else(by_operation).or_else(by_caller).or_else(by_tool);
    Some(Refusal {
        action,
        by: refused_by(&compact),
        is_of_person: lower.contains("an error occurred ("),
        is_of_user: lower.contains(":user/"),
        is_of_machines: OF_MACHINES.iter().any(|words| lower.contains(words)),
        is_decoded,
        is_of_others: false,
        cloud: Cloud::Aws,
    })
}

impl RefusedBy {
    /// The policy that is in the way, if the line states one.
    pub(super) fn policy(self) -> Option<&'static str> {
        match self {
            Self::ExplicitDeny => Some("explicit"),
            Self::Boundary => Some("boundary"),
            Self::ServiceControlPolicy => Some("service control policy"),
            Self::SessionPolicy => Some("session policy"),
            Self::OtherPolicy => Some("policy of the resource or the VPC endpoint"),
            Self::NothingAllows | Self::Unstated => None,
        }
    }
}

impl Refusal {
    /// True if a controller of a cluster makes such calls; a refusal of another call is not about a cluster.
    /// `is_of_controller` is true if a controller certainly wrote the line, `is_named` if it names one.
    pub(super) fn is_of_controllers(&self, is_of_controller: bool, is_named: bool) -> bool {
        let Some((service, action)) = self.action.as_deref().and_then(|action| action.split_once(':')) else {
            return self.cloud == Cloud::Alibaba && (!self.is_of_others || is_of_controller) || is_named;
        };
        let (service, action) = (service.to_lowercase(), action.to_lowercase());
        let service = service.as_str();
        match self.cloud {
            Cloud::Alibaba => !self.is_of_others || is_of_controller,
            // A decoded message is that of a call of EC2, by any caller.
            Cloud::Aws if self.is_decoded => is_published(service, &action),
            // People and pipelines have the same rights refused.
            Cloud::Aws if self.is_of_user && !is_of_controller => self.is_of_person,
            Cloud::Aws if service == "iam" => is_of_controller || OF_IAM.iter().any(|part| action.contains(part)),
            Cloud::Aws if is_of_controller => {
                OF_CONTROLLERS.contains(&service) || OF_CONTROLLERS_TOO.contains(&service)
            }
            Cloud::Aws => OF_CONTROLLERS.contains(&service) && is_published(service, &action),
        }
    }

    /// Rules that find the cause, the most probable first.
    pub(super) fn rules(&self) -> &'static [&'static str] {
        match (self.cloud, self.by) {
            (Cloud::Alibaba, _) => refusals::RAM,
            // The rules judge roles.
            (Cloud::Aws, _) if self.is_of_person || self.is_of_user || self.is_of_machines => &[],
            (Cloud::Aws, RefusedBy::NothingAllows) => refusals::NOTHING_ALLOWS,
            (Cloud::Aws, RefusedBy::Unstated) => refusals::UNSTATED,
            (
                Cloud::Aws,
                RefusedBy::ExplicitDeny
                | RefusedBy::Boundary
                | RefusedBy::ServiceControlPolicy
                | RefusedBy::SessionPolicy
                | RefusedBy::OtherPolicy,
            ) => refusals::DENIED,
        }
    }

    /// True for a decoded message about a group or a target group, which the AWS Load Balancer Controller may have made.
    pub(super) fn is_of_ingresses(&self) -> bool {
        const CALLS: [&str; 4] = [
            "ec2:CreateTags",
            "ec2:DeleteSecurityGroup",
            "elasticloadbalancing:AddTags",
            "elasticloadbalancing:DeleteTargetGroup",
        ];
        self.is_decoded && self.action.as_deref().is_some_and(|action| CALLS.contains(&action))
    }

    /// Rules that find why the call was made.
    pub(super) fn conditions(&self) -> &'static [&'static str] {
        let is_for_role = |action: &str| action.eq_ignore_ascii_case("iam:CreateServiceLinkedRole");
        if self.action.as_deref().is_some_and(is_for_role) { refusals::SERVICE_LINKED_ROLE } else { &[] }
    }

    /// The meaning, in a sentence without its end.
    pub(super) fn meaning(&self) -> &'static str {
        match (self.cloud, self.by) {
            (Cloud::Alibaba, _) => "no RAM policy of the caller allows the call, or one denies it",
            (Cloud::Aws, RefusedBy::NothingAllows) if self.is_of_user => {
                "no policy of the user, whose keys the controller has, allows the action on this resource"
            }
            (Cloud::Aws, RefusedBy::Unstated) if self.is_of_user => {
                "the user whose keys the controller has may not make the call: its policies do not allow it on this resource, or one denies it"
            }
            (Cloud::Aws, RefusedBy::Unstated) if self.is_of_machines => {
                "the credentials of the controller that makes machines do not allow the call, or a policy denies it: the role or the user that it was given, not those of the nodes"
            }
            (Cloud::Aws, RefusedBy::NothingAllows) => "no policy of the role allows the action on this resource",
            (Cloud::Aws, RefusedBy::ExplicitDeny) => {
                "a statement denies the action: allowing it elsewhere changes nothing"
            }
            (Cloud::Aws, RefusedBy::Boundary) => {
                "the permissions boundary of the role does not allow the action: more rights on the role change nothing"
            }
            (Cloud::Aws, RefusedBy::ServiceControlPolicy) => {
                "a service control policy of the organization refuses the action: more rights on the role change nothing"
            }
            (Cloud::Aws, RefusedBy::SessionPolicy) => {
                "the session policy does not allow the action: more rights on the role change nothing"
            }
            (Cloud::Aws, RefusedBy::OtherPolicy) => {
                "the policy of the resource, or of the VPC endpoint, does not allow the action: more rights on the role change nothing"
            }
            (Cloud::Aws, RefusedBy::Unstated) => {
                "the role may not make the call: its policies do not allow it on this resource, or one denies it"
            }
        }
    }
}

/// Product of Alibaba Cloud that a controller calls; the text of its errors does not name it. Most calls are those of one
/// product alone.
fn product(api: &str, lower: &str) -> &'static str {
    let products = products(api);
    if let Some(only) = products.first().filter(|_| products.len() == 1) {
        return only;
    }
    if lower.contains("nlb-controller") || lower.contains("nlb error") {
        "nlb"
    } else if lower.contains("node-controller") || lower.contains("find ecs") {
        "ecs"
    } else if lower.contains("route-controller") || lower.contains("route entry") || lower.contains("creating route") {
        "vpc"
    } else {
        "slb"
    }
}

/// Products whose call of this name a known controller makes.
fn products(api: &str) -> BTreeSet<&'static str> {
    AlibabaController::ALL
        .iter()
        .flat_map(|controller| alibaba::calls(*controller, None))
        .filter_map(|call| call.action.split_once(':'))
        .filter(|(_, name)| name.eq_ignore_ascii_case(api))
        .map(|(product, _)| product)
        .collect()
}

/// Source: IAM User Guide, "Troubleshoot access denied error messages".
fn refused_by(compact: &str) -> RefusedBy {
    // A paste may break within the words.
    let has_all = |words: &str| compact.contains(words);
    if has_all("servicecontrolpolicy") {
        RefusedBy::ServiceControlPolicy
    } else if has_all("permissionsboundary") {
        RefusedBy::Boundary
    } else if has_all("sessionpolicy") {
        RefusedBy::SessionPolicy
    } else if has_all("explicitdenyin") || has_all("\"explicitdeny\":true") {
        RefusedBy::ExplicitDeny
    } else if has_all("noresource-basedpolicyallows") || has_all("novpcendpointpolicyallows") {
        RefusedBy::OtherPolicy
    } else if has_all("noidentity-basedpolicyallows") || has_all("\"explicitdeny\":false") {
        RefusedBy::NothingAllows
    } else {
        RefusedBy::Unstated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_controllers_of_machines_are_no_roles_of_nodes() {
        let of = |text: &str| refusal(text).map(|one| (one.rules().is_empty(), one.meaning())).unwrap();
        let user = of(
            "AccessDenied: User: arn:aws:iam::111122223333:user/capa is not authorized to perform: ec2:RunInstances because no identity-based policy allows the ec2:RunInstances action",
        );
        assert!(user.0 && user.1.contains("the user, whose keys"), "{user:?}");
        let machine = of(
            "failed to create or get machine: UnauthorizedOperation: You are not authorized to perform this operation.",
        );
        assert!(machine.0 && machine.1.contains("makes machines"), "{machine:?}");
    }

    #[test]
    fn every_expression_is_valid() {
        assert!([&ACTION, &OPERATION, &CALLED, &DECODED, &ALIBABA].iter().all(|one| one.is_some()));
    }

    #[test]
    fn the_clause_tells_which_policy_refused() {
        let with = |clause: &str| {
            let text = format!(
                "AccessDenied: User: arn:aws:sts::111122223333:assumed-role/cp/i-0a is not authorized to perform: ec2:CreateTags on resource: * {clause}"
            );
            refusal(&text).unwrap()
        };
        for (clause, by) in [
            ("", RefusedBy::Unstated),
            ("because no identity-based policy allows the ec2:CreateTags action", RefusedBy::NothingAllows),
            ("because no permissions boundary allows the ec2:CreateTags action", RefusedBy::Boundary),
            ("with an explicit deny in an identity-based policy", RefusedBy::ExplicitDeny),
            ("with an explicit deny in a service control policy", RefusedBy::ServiceControlPolicy),
            ("because no session policy allows the ec2:CreateTags action", RefusedBy::SessionPolicy),
        ] {
            let found = with(clause);
            assert_eq!((found.by, found.action.as_deref()), (by, Some("ec2:CreateTags")), "{clause}");
        }
    }

    #[test]
    fn calls_of_alibaba_cloud_are_those_of_their_product() {
        let of = |api: &str| {
            refusal(&format!("[SDKError] API: {api}, ErrorCode: Forbidden.RAM, RequestId: 0A")).unwrap().action.unwrap()
        };
        let of_store = refusal("[SDKError] API: GetObject, ErrorCode: Forbidden").unwrap();
        assert!(!of_store.is_of_controllers(false, false) && of_store.is_of_controllers(true, false));
        assert_eq!(of("DescribeVSwitches"), "vpc:DescribeVSwitches");
        assert_eq!(of("DescribeRouteTableList"), "vpc:DescribeRouteTableList");
        assert!(refusal("Unexpected response, status code: Forbidden").is_none());
    }

    #[test]
    fn an_action_that_no_controller_calls_is_of_another_field() {
        let of = |action: &str| {
            refusal(&format!("is not authorized to perform: {action}")).unwrap().is_of_controllers(false, false)
        };
        assert!(of("ec2:CreateTags") && of("iam:CreateServiceLinkedRole") && of("ecr:GetAuthorizationToken"));
        assert!(!of("secretsmanager:GetSecretValue") && !of("s3:GetObject") && !of("iam:CreateUser"));
    }
}
