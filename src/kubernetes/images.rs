//! Images in private ECR registries, and the patterns by which kubelets find credentials for images.

use crate::policy;

/// Host suffixes of ECR, after the region.
/// Source: kubernetes/cloud-provider-aws `cmd/ecr-credential-provider/main.go#ecrPrivateHostPattern`, at v1.36.1.
const ENDINGS: [&str; 9] = [
    "amazonaws.com",
    "amazonaws.com.cn",
    "amazonaws.eu",
    "on.aws",
    "on.amazonwebservices.com.cn",
    "sc2s.sgov.gov",
    "c2s.ic.gov",
    "cloud.adc-e.uk",
    "csp.hci.ic.gov",
];

/// Host of an image, if it is a private ECR registry such as `ACCOUNT.dkr.ecr.REGION.amazonaws.com`.
#[must_use]
pub(crate) fn private_ecr_host(image: &str) -> Option<&str> {
    let (host, _) = image.split_once('/')?;
    let (account, rest) = host.split_once('.')?;
    let rest = rest.strip_prefix("dkr.ecr").or_else(|| rest.strip_prefix("dkr-ecr"))?;
    let rest = rest.strip_prefix("-fips").unwrap_or(rest).strip_prefix('.')?;
    let (region, ending) = rest.split_once('.')?;
    let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    let is_region = region.starts_with(|c: char| c.is_ascii_alphanumeric())
        && region.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    (is_account && is_region && ENDINGS.contains(&ending)).then_some(host)
}

/// Pattern for all accounts and regions of the registry of a private host.
#[must_use]
pub(crate) fn pattern_for(private_host: &str) -> String {
    let parts: Vec<&str> = private_host.split('.').collect();
    // `ACCOUNT.dkr.ecr.REGION.…`, or `ACCOUNT.dkr-ecr.REGION.…`.
    let region = if parts.get(1) == Some(&"dkr") { 3 } else { 2 };
    let wide = |(at, part): (usize, &&str)| if at == 0 || at == region { "*".to_owned() } else { (*part).to_owned() };
    parts.iter().enumerate().map(wide).collect::<Vec<String>>().join(".")
}

/// True if a pattern of `matchImages` covers an image: the ports are equal, each part of the host matches, and the path
/// begins with that of the pattern.
/// Source: kubernetes/kubernetes `pkg/credentialprovider/keyring.go#URLsMatch`.
#[must_use]
pub(crate) fn covers(pattern: &str, image: &str) -> bool {
    let split = |text: &'_ str| {
        let text = text.split_once("://").map_or(text, |(_, rest)| rest).to_owned();
        let (host, path) = text.split_once('/').map_or((text.as_str(), ""), |(host, path)| (host, path));
        let (host, port) = host.rsplit_once(':').map_or((host, ""), |(host, port)| (host, port));
        (host.to_owned(), port.to_owned(), path.to_owned())
    };
    let ((pattern, pattern_port, pattern_path), (host, port, path)) = (split(pattern), split(image));
    let (patterns, parts): (Vec<&str>, Vec<&str>) = (pattern.split('.').collect(), host.split('.').collect());
    // Square brackets and escapes are rare, and match anything here.
    let fits = |(pattern, part): (&&str, &&str)| pattern.contains(['[', '\\']) || policy::matches(pattern, part);
    pattern_port == port
        && patterns.len() == parts.len()
        && path.starts_with(&pattern_path)
        && patterns.iter().zip(&parts).all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_registries_are_told_from_others() {
        for (image, is_private) in [
            ("111122223333.dkr.ecr.us-east-1.amazonaws.com/app:1", true),
            ("111122223333.dkr.ecr-fips.us-gov-west-1.amazonaws.com/app@sha256:0", true),
            ("111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/a/b", true),
            ("111122223333.dkr-ecr.us-east-1.on.aws/app", true),
            ("111122223333.dkr.ecr.us-iso-east-1.c2s.ic.gov/app", true),
            ("11112222333.dkr.ecr.us-east-1.amazonaws.com/app", false),
            ("public.ecr.aws/x/app", false),
            ("111122223333.dkr.ecr.us-east-1.amazonaws.com", false),
            ("111122223333.dkr.ecr.us-east-1.amazonaws.com:443/app", false),
            ("x.111122223333.dkr.ecr.us-east-1.amazonaws.com/app", false),
            ("registry.example.com/111122223333.dkr.ecr.us-east-1.amazonaws.com/app", false),
            ("app", false),
        ] {
            assert_eq!(private_ecr_host(image).is_some(), is_private, "{image}");
        }
    }

    #[test]
    fn a_pattern_for_a_host_covers_it_in_all_regions() {
        for (host, pattern) in [
            ("111122223333.dkr.ecr.us-east-1.amazonaws.com", "*.dkr.ecr.*.amazonaws.com"),
            ("111122223333.dkr.ecr-fips.us-east-1.amazonaws.com", "*.dkr.ecr-fips.*.amazonaws.com"),
            ("111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn", "*.dkr.ecr.*.amazonaws.com.cn"),
            ("111122223333.dkr-ecr.us-east-1.on.aws", "*.dkr-ecr.*.on.aws"),
        ] {
            assert_eq!(pattern_for(host), pattern);
            assert!(covers(pattern, &format!("{host}/app")), "{host}");
        }
    }

    /// Cases of kubernetes `pkg/credentialprovider/keyring_test.go#TestURLsMatch`.
    #[test]
    fn patterns_cover_images_as_the_kubelet_says() {
        for (pattern, image, expected) in [
            ("*.kubernetes.io", "prefix.kubernetes.io", true),
            ("*.kubernetes.io", "kubernetes.io", false),
            ("prefix*.kubernetes.io", "prefix-good.kubernetes.io/path", true),
            ("*.kubernetes.io", "a.b.kubernetes.io", false),
            ("kubernetes.io:8888", "kubernetes.io", false),
            ("kubernetes.io:8888", "kubernetes.io:8888/path", true),
            ("kubernetes.io/foo", "kubernetes.io/foo/bar", true),
            ("kubernetes.io/foo", "kubernetes.io/bar", false),
            ("https://kubernetes.io/", "kubernetes.io/foo", true),
            ("*.*.kubernetes.io", "a.b.kubernetes.io/x", true),
            ("*.dkr.ecr.*.amazonaws.com", "111122223333.dkr.ecr.us-east-1.amazonaws.com/app", true),
            ("*.dkr.ecr.*.amazonaws.com", "111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn/app", false),
            ("*.dkr.ecr.*.amazonaws.com", "111122223333.dkr.ecr-fips.us-east-1.amazonaws.com/app", false),
            ("[1]*.example.com", "a.example.com/x", true),
        ] {
            assert_eq!(covers(pattern, image), expected, "{pattern} {image}");
        }
    }
}
