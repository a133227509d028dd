//! Options as they were given: for reports, for plans, and for the command that applies a plan.

use clap::ValueEnum;

use crate::cli::args::{AuditArgs, ConnectionArgs, ControllerRightsArgs, EvidenceArgs};

/// An option, and its value if it takes one.
pub(in crate::cli) type Said = (&'static str, Option<String>);

impl AuditArgs {
    /// Every option that changes the findings.
    pub(in crate::cli) fn said(&self) -> Vec<Said> {
        let Self {
            evidence: EvidenceArgs { nodes, kubernetes, kube_context, node_role, controller_version },
            baseline,
            catalogue,
            target,
            cloud_routes,
            without,
            rights: ControllerRightsArgs { controller_role, controller_credentials, scp },
            installer,
        } = self;
        let mut said: Vec<Said> = Vec::new();
        let mut say = |option: &'static str, value: String| said.push((option, Some(value)));
        if let Some(path) = nodes {
            say("--nodes", path.display().to_string());
        }
        for path in kubernetes {
            say("--kubernetes", path.display().to_string());
        }
        for context in kube_context {
            say("--kube-context", context.clone());
        }
        for baseline in baseline {
            say("--baseline", baseline.clone());
        }
        for path in scp {
            say("--scp", path.display().to_string());
        }
        if let Some(path) = &catalogue.catalogue {
            say("--catalogue", path.display().to_string());
        }
        if let Some(version) = target.target_kubernetes {
            say("--target-kubernetes", version.to_string());
        }
        for version in &target.target_controller {
            say("--target-controller", version.to_string());
        }
        for selector in node_role {
            say("--node-role", selector.to_string());
        }
        for version in controller_version {
            say("--controller-version", version.to_string());
        }
        for controller in without.iter().filter_map(ValueEnum::to_possible_value) {
            say("--without", controller.get_name().to_owned());
        }
        for role in controller_role {
            say("--controller-role", role.clone());
        }
        if let Some(credentials) = controller_credentials.as_ref().and_then(ValueEnum::to_possible_value) {
            say("--controller-credentials", credentials.get_name().to_owned());
        }
        if let Some(installer) = installer.as_ref().and_then(ValueEnum::to_possible_value) {
            say("--installer", installer.get_name().to_owned());
        }
        if *cloud_routes {
            said.push(("--cloud-routes", None));
        }
        said
    }
}

impl ConnectionArgs {
    /// Options that reach an account, except its regions and options with a good default in every command. The external
    /// id is not repeated: anyone who assumes the role knows it.
    pub(in crate::cli) fn said(&self) -> Vec<Said> {
        let Self {
            profile,
            endpoint_url,
            insecure_endpoint,
            region: _,
            assume_role,
            external_id,
            requests_per_second: _,
            timeout: _,
        } = self;
        let mut said: Vec<Said> = Vec::new();
        said.extend(profile.clone().map(|name| ("--profile", Some(name))));
        said.extend(endpoint_url.clone().map(|url| ("--endpoint-url", Some(url))));
        said.extend(insecure_endpoint.then_some(("--insecure-endpoint", None)));
        said.extend(assume_role.iter().map(|role| ("--assume-role", Some(role.clone()))));
        said.extend(external_id.as_ref().map(|_| ("--external-id", Some("EXTERNAL_ID".to_owned()))));
        said
    }
}
