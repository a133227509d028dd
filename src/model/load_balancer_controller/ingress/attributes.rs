//! Attributes, tags and redirects of a group, and annotations that are not modelled.
//! Sources: aws-load-balancer-controller `pkg/ingress/model_build_load_balancer_attributes.go`, `model_build_tags.go`,
//! `model_builder.go#buildSSLRedirectConfig`, `pkg/annotations/constants.go`.

use std::collections::{BTreeMap, BTreeSet};

use super::listeners::Listener;
use super::{Decision, Object, Request, Stop};
use crate::model::annotations::go_list;

/// Annotations with which the controller can fail, and that are not modelled: a name, or the start of several.
const NOT_MODELLED: [&str; 13] = [
    "auth-",
    "conditions.",
    "enable-frontend-nlb",
    "ipam-ipv4-pool-id",
    "jwt-validation",
    "listener-attributes.",
    "minimum-load-balancer-capacity",
    "mutual-authentication",
    "shield-advanced-protection",
    "target-control-port.",
    "transforms.",
    "use-regex-path-match",
    "wafv2-acl-name",
];

/// Annotations of the web firewall, which must not differ in a group.
const FIREWALL: [&str; 3] = ["wafv2-acl-arn", "waf-acl-id", "web-acl-id"];

impl Request<'_> {
    /// The pool of addresses on an Outpost must be one.
    /// Source: `pkg/ingress/model_build_load_balancer.go#buildLoadBalancerCOIPv4Pool`.
    pub(super) fn validate_pool(&self) -> Result<(), Stop> {
        const POOL: &str = "customer-owned-ipv4-pool";
        let mut pools = BTreeSet::new();
        for member in &self.group.members {
            let Some(pool) = member.annotations().get(POOL) else { continue };
            if pool.is_empty() {
                return Stop::error(format!(
                    "cannot use empty value for {POOL} annotation, ingress: {}/{}",
                    member.name.namespace, member.name.name
                ));
            }
            pools.insert(pool.to_owned());
        }
        if pools.len() > 1 {
            let pools: Vec<String> = pools.into_iter().collect();
            return Stop::error(format!("conflicting CustomerOwnedIPv4Pool: {}", go_list(&pools)));
        }
        Ok(())
    }

    /// Attributes must be maps that do not conflict.
    pub(super) fn validate_attributes(&self) -> Result<(), Stop> {
        let members = &self.group.members;
        let of_class: BTreeMap<String, String> =
            members.first().and_then(|first| first.parameters).map(attributes).unwrap_or_default();
        let mut held: BTreeMap<String, String> = BTreeMap::new();
        for member in members {
            for (key, value) in member.annotations().map("load-balancer-attributes")? {
                let before = held.insert(key.clone(), value.clone());
                if let Some(before) = before.filter(|before| *before != value && !of_class.contains_key(&key)) {
                    return Stop::error(format!("conflicting load balancer attributes {key}: {before} | {value}"));
                }
            }
        }
        Ok(())
    }

    /// The same for tags.
    pub(super) fn validate_tags(&self) -> Result<(), Stop> {
        let managed = self.config.list("external-managed-tags");
        let mut held: BTreeMap<String, String> = BTreeMap::new();
        for member in &self.group.members {
            let own = member.annotations().map("tags")?;
            if let Some(key) = own.keys().find(|key| managed.contains(key)) {
                return Stop::error(format!(
                    "failed build tags for Ingress {}/{}: external managed tag key {key} cannot be specified",
                    member.name.namespace, member.name.name
                ));
            }
            // Tags of the class take precedence.
            let of_class = member.parameters.iter().flat_map(|one| one.items(&["spec", "tags"]));
            let of_class = of_class.filter_map(|tag| {
                let text = |key: &str| tag.text(&[key]).map(str::to_owned);
                Some((text("key")?, text("value").unwrap_or_default()))
            });
            let mut all = own;
            all.extend(of_class);
            for (key, value) in all {
                let before = held.insert(key.clone(), value.clone());
                if let Some(before) = before.filter(|before| *before != value) {
                    return Stop::error(format!("conflicting tag {key}: {before} | {value}"));
                }
            }
        }
        Ok(())
    }

    /// The port of HTTPS to which HTTP is redirected.
    pub(super) fn redirect(&self, listeners: &[Listener]) -> Result<Option<i64>, Stop> {
        let mut ports = BTreeSet::new();
        for member in &self.group.members {
            // Since v2.14.
            let of_class = member.parameter(&["spec", "sslRedirectPort"]).filter(|_| self.config.is_since(2, 14));
            if let Some(port) = of_class {
                let Ok(port) = port.parse::<i32>() else { return Ok(None) };
                ports.insert(i64::from(port));
                continue;
            }
            match member.annotations().number("ssl-redirect") {
                Ok(port) => ports.extend(port),
                Err(Stop::Error(message)) => {
                    let name = &member.name;
                    return Stop::error(format!("ingress: {}/{}: {message}", name.namespace, name.name));
                }
                Err(stop) => return Err(stop),
            }
        }
        let mut all = ports.iter();
        let (Some(port), None) = (all.next(), all.next()) else {
            let ports: Vec<String> = ports.iter().map(i64::to_string).collect();
            return match ports.as_slice() {
                [] => Ok(None),
                several => Stop::error(format!("conflicting sslRedirect port: {}", go_list(several))),
            };
        };
        match listeners.iter().find(|listener| listener.port == *port) {
            None => Stop::error(format!("listener does not exist for SSLRedirect port: {port}")),
            Some(listener) if listener.protocol != "HTTPS" => {
                Stop::error(format!("listener protocol non-SSL for SSLRedirect port: {port}"))
            }
            Some(_) => Ok(Some(*port)),
        }
    }

    /// Annotations with which the controller may fail after all that was decided.
    pub(super) fn note_not_modelled(&self, decision: &mut Decision) {
        for member in &self.group.members {
            // Names that the controller looks up, and fails if they do not exist.
            if self.config.is_since(2, 14) && member.parameter(&["spec", "wafv2AclName"]).is_some() {
                decision.may_fail("the class parameter `wafv2AclName` is not modelled, and can stop the controller");
            }
            for suffix in member.annotations().suffixes() {
                let value = member.annotations().get(suffix).unwrap_or_default().to_ascii_lowercase();
                if suffix.starts_with("actions.") && self.config.is_since(2, 14) && value.contains("targetgroupname") {
                    decision.is_not_modelled(&member.annotations().key(suffix));
                }
                let is_shared = self.group.members.len() > 1 && FIREWALL.contains(&suffix);
                let creates = suffix == "create-acm-cert" && self.config.gate("EnableCertificateManagement", false);
                let is_off = suffix == "auth-type" && member.annotations().get(suffix) == Some("none");
                if !is_off && (is_shared || creates || NOT_MODELLED.iter().any(|one| suffix.starts_with(one))) {
                    decision.is_not_modelled(&member.annotations().key(suffix));
                }
            }
        }
    }
}

/// Attributes of class parameters.
fn attributes(parameters: Object<'_>) -> BTreeMap<String, String> {
    let read =
        |one: Object<'_>| Some((one.text(&["key"])?.to_owned(), one.text(&["value"]).unwrap_or_default().to_owned()));
    parameters.items(&["spec", "loadBalancerAttributes"]).filter_map(read).collect()
}
