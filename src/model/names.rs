//! Names of load balancers, target groups and security groups.

use sha2::{Digest, Sha256};

use crate::text;

/// The hexadecimal digits of a hash that a name keeps.
const DIGITS: usize = 10;

/// The letters and digits of a text, cut to a length.
/// Source: aws-load-balancer-controller `pkg/service/model_build_load_balancer.go#invalidLoadBalancerNamePattern`.
pub(super) fn sanitized(text: &str, length: usize) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).take(length).collect()
}

/// The first ten digits of the SHA-256 of texts, one after the other.
pub(super) fn sha256(parts: &[&str]) -> String {
    text::hex(&Sha256::digest(parts.concat().as_bytes()), DIGITS / 2)
}

/// `k8s-NAMESPACE-NAME-HASH`.
pub(super) fn of_object(namespace: &str, name: &str, hash: &str) -> String {
    format!("k8s-{}-{}-{hash}", sanitized(namespace, 8), sanitized(name, 8))
}

/// The name of a load balancer of the cloud controller: `a`, then the uid without dashes, 32 characters in all.
/// Source: kubernetes/cloud-provider `cloud.go#DefaultLoadBalancerName`.
pub(crate) fn default_load_balancer(uid: &str) -> String {
    let name = format!("a{}", uid.replace('-', ""));
    name.chars().take(32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_controllers() {
        assert_eq!(default_load_balancer("5e4dbfc9-c2ae-4642-b033-5607860aef6a"), "a5e4dbfc9c2ae4642b0335607860aef6");
        let hash = sha256(&["test-cluster", "5e4dbfc9-c2ae-4642-b033-5607860aef6a", "internal"]);
        assert_eq!(of_object("default", "web", &hash), "k8s-default-web-f1f33f27e1");
        assert_eq!(sanitized("my-very.long_name", 8), "myverylo");
    }
}
