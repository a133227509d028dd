//! Items that the tests and the benchmarks name, and nothing else. The library has no other public interface than
//! [`crate::cli`]: everything else is private, so that the compiler reports code that nobody calls. A test that needs
//! one more item adds it here.

pub use tagaudit_policy as policy;

pub mod alibaba {
    pub use crate::alibaba::{
        Account, ApplicationLoadBalancer, Attachment, ClassicZones, ControlPolicyLevel, ControllerCalls, Disk,
        ElasticIp, Instance, Inventory, LoadBalancer, LoadBalancerKind, LoadBalancerZones, NetworkInterface, Policy,
        PolicyType, Principal, PrincipalKind, PrincipalOptions, Region, RouteTable, RulePolicy, SecurityGroup,
        SecurityGroupRule, VSwitch, Vpc, service_tag_value,
    };
    pub mod grant {
        pub use crate::alibaba::grant::{document, own_actions};
    }
}
pub mod audit {
    pub use crate::audit::{Audit, Auditor, Purpose};
}
pub mod baseline {
    pub use crate::baseline::find;
}
pub mod clusters {
    pub use crate::aws::clusters::READS;
    pub use crate::clusters::Clusters;
}
pub mod config {
    pub use crate::config::{Config, OptionSpec, Takes};
}
pub mod controller {
    pub use crate::controller::Controller;
}
pub mod estate {
    pub use crate::estate::{Estate, EstateRef};
}
pub mod finding {
    pub use crate::finding::{Applicability, CaveatKind, Finding, Severity, Status};
}
pub mod inventory {
    pub use crate::aws::{
        Account, AttachedInterface, AutoScalingGroup, AvailabilityZone, DhcpOptions, ElasticIp, IngressPermission,
        InlinePolicy, Instance, InstanceProfile, InstanceProfileAssociation, InstanceRefresh, InstanceState,
        InterfaceAddresses, Inventory, LaunchSettings, LaunchTemplate, LifecycleHook, Listener, LoadBalancer,
        LoadBalancerKind, LoadBalancing, ManagedPolicy, MetadataDefaults, MetadataOptions, NetworkInterface,
        NetworkLimits, NotInherited, PodIdentity, PrefixList, Region, Role, Route, RouteTable, RuleSource,
        SecurityGroup, Subnet, TargetGroup, TargetHealth, TemplateReference, TemplateVersion, Volume, Vpc,
    };
    pub use crate::inventory::{Gap, Provider, Read, Storage, Tag, to_json};
    pub use crate::tags::TagSpecification;
}
pub mod journal {
    pub use crate::fix::journal::{Journal, Outcome};
}
pub mod kubernetes {
    pub use crate::kubernetes::{DocumentKind, Evidence, List, RecordedList, Recording, Rights, Target, recorded_text};
}
pub mod kubernetes_lint {
    pub use crate::kubernetes_lint::KubernetesLint;
}
pub mod migration {
    pub use crate::migration::{Judged, Migration, Stage, State};
}
pub mod nodes {
    pub use crate::nodes::{KubernetesNode, parse};
}
pub mod permissions {
    pub use crate::permissions::{
        FIX, FIX_ALIBABA, FixLimits, LAUNCH_TEMPLATES, LEFTOVERS, Permission, SCAN, SCAN_ALIBABA, fix_policy,
        fix_policy_alibaba, launch_templates_policy, leftovers_policy, organization_policy,
        organization_policy_alibaba, scan_policy, scan_policy_alibaba,
    };
}
pub mod plan {
    pub use crate::fix::plan::{
        Answer, Approvals, BuildError, Counting, Expect, Fit, Mandate, Plan, Planned, PlannedChange, Scope, SkipReason,
        Skipped, build, created, fit, observe, simulate, undo, unlike_inverse,
    };
}
pub mod provider {
    pub mod alibaba {
        pub mod folder {
            pub use crate::provider::alibaba::folder::FILES;
        }
    }
    pub mod cli_output {
        pub use crate::provider::cli_output::FILES;
    }
}
pub mod render {
    pub use crate::render::{
        EmitFormat, FileFormat, FindingsFormat, Language, ReportFormat, TableOptions, emit, json, migration, plan,
        report, skipped,
    };
}
pub mod report {
    pub use crate::report::{
        LINT_SCHEMA, MIGRATION_SCHEMA, MergeInput, MergeLimits, NotAudited, POLICY_LINT_SCHEMA, PresentShard, Report,
        ReportSet, ResourceRef, SET_SCHEMA, Shards, SourceKind, TargetOutcome, TargetReport,
    };
}
pub mod resource {
    pub use crate::resource::ResourceKind;
}
pub mod role_audit {
    pub use crate::role_audit::RoleAuditOptions;
    pub mod grant {
        pub use crate::aws::grant::{document, managed_arn, own_grants};
    }
}
pub mod rules {
    pub use crate::rules::{Check, KubernetesContext, Outcome, RULES, Rule, find, for_provider, run};
    pub mod aws {
        pub use crate::rules::aws::Check;
    }
}
pub mod tags {
    pub use crate::tags::{MISSPELT_PREFIXES, Tag, cluster_key, is_certain_near_miss};
}
pub mod target {
    pub use crate::target::{Shard, Target};
}
pub mod transition {
    pub use crate::transition::{Attribute, Operation, TemplateAlias, Transition, Value};
}
pub mod view {
    pub use crate::aws::view::{ClusterView, Evidence};
    pub use crate::membership::{Confidence, Held, RoleSource};
}
