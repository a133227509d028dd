//! Masking of credentials in foreign text.

use std::borrow::Cow;

/// Parts of names whose values are credentials.
const NAMES: [&str; 16] = [
    "token",
    "secret",
    "pass",
    "keyid",
    "accesskey",
    "access-key",
    "access_key",
    "apikey",
    "joinkey",
    "vpn-auth",
    "private-key",
    "datastore-endpoint",
    "api-key",
    "api_key",
    "signing-key",
    "encryption-key",
];

/// Settings whose values are shown; any other value may contain a credential.
const SHOWN: [&str; 34] = [
    "cloud-provider-config",
    "cloud-provider-name",
    "cluster-cidr",
    "cluster-dns",
    "cluster-domain",
    "cluster-init",
    "cni",
    "data-dir",
    "debug",
    "disable",
    "embedded-registry",
    "enable-servicelb",
    "etcd-expose-metrics",
    "flannel-backend",
    "ingress-controller",
    "kubelet-path",
    "node-external-ip",
    "node-ip",
    "node-label",
    "node-name",
    "node-name-from-cloud-provider-metadata",
    "node-taint",
    "private-registry",
    "profile",
    "protect-kernel-defaults",
    "secrets-encryption",
    "selinux",
    "service-account-issuer",
    "service-cidr",
    "service-node-port-range",
    "snapshotter",
    "tls-san",
    "v",
    "write-kubeconfig-mode",
];

/// Settings whose names only resemble those of credentials.
const HARMLESS: [&str; 1] = ["secrets-encryption"];

/// Prefixes of settings, and of component flags, whose values are shown.
const SHOWN_BEGINNINGS: [&str; 20] = [
    "allocate-",
    "anonymous-auth",
    "authorization-mode",
    "bind-address",
    "cloud-",
    "cluster-",
    "configure-cloud-routes",
    "controllers",
    "disable-",
    "enable-",
    "eviction-",
    "external-cloud-volume-plugin",
    "feature-gates",
    "hostname-override",
    "image-credential-provider",
    "leader-",
    "max-pods",
    "node-",
    "provider-id",
    "service-cluster-ip-range",
];

/// The value of a setting for display, masked or hidden if necessary.
pub(crate) fn shown(name: &str, value: &str) -> String {
    const HIDDEN: &str = "(not shown)";
    let is_plain = |name: &str| {
        let is_known = SHOWN.contains(&name) || SHOWN_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
        is_known && (!is_credential(name) || HARMLESS.contains(&name))
    };
    if let Some(component) = name.strip_suffix("-arg") {
        // An argument of a component has its own name.
        return match value.split_once('=') {
            Some((flag, value)) if is_plain(flag.trim_start_matches('-')) && !component.is_empty() => {
                format!("{flag}={}", masked(value))
            }
            Some((flag, _)) => format!("{flag}={HIDDEN}"),
            None => value.to_owned(),
        };
    }
    if is_plain(name) { masked(value).into_owned() } else { HIDDEN.to_owned() }
}

/// True if values with this name are credentials.
pub(crate) fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|part| name.contains(part))
}

/// Replaces the values of such names with asterisks: the length is unchanged, so that places stay correct.
pub(crate) fn masked(source: &str) -> Cow<'_, str> {
    let lower = source.to_ascii_lowercase();
    let mut hidden: Vec<(usize, usize)> = Vec::new();
    for name in NAMES {
        let mut at = 0;
        while let Some(found) = lower.get(at..).and_then(|rest| rest.find(name)) {
            let behind = at + found + name.len();
            at = behind;
            hidden.extend(value_behind(source, behind));
        }
    }
    // Credentials in a URL: `user:password@host`, but not an image with its digest.
    for (at, _) in source.match_indices('@') {
        let (before, behind) = source.split_at(at);
        let start = before.rfind(|c: char| c.is_whitespace() || "\"'[{=".contains(c)).map_or(0, |at| at + 1);
        let start = before.get(start..).and_then(|word| word.rfind("://")).map_or(start, |at| start + at + 3);
        if before.get(start..).is_some_and(|word| word.contains(':')) && !behind.starts_with("@sha256:") {
            hidden.push((start, at));
        }
    }
    if hidden.is_empty() {
        return Cow::Borrowed(source);
    }
    let mut shown = String::with_capacity(source.len());
    for (index, character) in source.char_indices() {
        if hidden.iter().any(|(start, end)| (*start..*end).contains(&index)) {
            shown.extend(std::iter::repeat_n('*', character.len_utf8()));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// The value after a name that ends here, on its line: after the rest of the name, its quotation mark, and a colon or
/// an equals sign.
fn value_behind(source: &str, behind: usize) -> Option<(usize, usize)> {
    let line = source.get(behind..)?.split('\n').next()?;
    let name_end = line.find(|c: char| !(c.is_alphanumeric() || "-_.".contains(c))).unwrap_or(line.len());
    let rest = line.get(name_end..)?;
    // A quotation mark within a JSON string is escaped. In a list, a word is the value of the word before it.
    let sign = rest.trim_start_matches(['"', '\'', '\\', ' ', '\t']);
    let is_quoted = sign.len() < rest.len() && rest.starts_with(['"', '\'', '\\']);
    // An environment variable of a container: its name is followed by the key `value`.
    let of_variable = || {
        let named = sign.strip_prefix(',')?.trim_start_matches([' ', '\t', '"', '\'', '\\']).strip_prefix("value")?;
        named.trim_start_matches([' ', '\t', '"', '\'', '\\']).strip_prefix(':')
    };
    if let Some(behind_colon) = of_variable() {
        return value_at(behind_colon, behind + line.len());
    }
    // In a comment, the value follows the name directly.
    let comment = source.get(..behind)?.rsplit('\n').next()?;
    if comment.trim_start().starts_with('#') && rest.starts_with([' ', '\t']) && !sign.starts_with([':', '=']) {
        return value_at(rest, behind + line.len());
    }
    let behind_sign = sign.strip_prefix([':', '=']).or_else(|| sign.strip_prefix(',').filter(|_| is_quoted))?;
    value_at(behind_sign, behind + line.len())
}

/// The first value of the rest of a line, which ends at an offset.
fn value_at(rest: &str, line_end: usize) -> Option<(usize, usize)> {
    let value = rest.trim_start_matches([' ', '\t', '"', '\'', '\\']);
    let start = line_end - value.len();
    let end = value.find(['"', '\'', '\\', ',', '}', ']', ' ', '\r']).unwrap_or(value.len());
    (end > 0).then_some((start, start + end))
}

/// Masks session tokens, signatures and secret keys in a message of a service: an error about a signature quotes the
/// signed headers, and a proxy or an emulator may quote anything.
/// Sources: IAM User Guide, "Troubleshoot Signature Version 4 for AWS API requests"; Alibaba Cloud SDK documentation,
/// "V3 request syntax and signature".
#[cfg(any(feature = "aws", feature = "alibaba"))]
pub(crate) fn without_session_tokens(message: &str) -> Cow<'_, str> {
    static TOKEN: std::sync::LazyLock<Option<regex::Regex>> = std::sync::LazyLock::new(|| {
        // A value after a sign, or a long one right after the word.
        let pattern = r#"(?i)((?:security[-_]?token|session[-_]?token|secret[-_]?(?:access[-_]?)?key|access[-_]?key[-_]?secret|signature)['"]?\s*[:=]\s*['"]?)[^\s,;&'"<>)]+|((?:signature|token|secret|key)\s+)[a-z0-9+/=]{40,}"#;
        regex::Regex::new(pattern).ok()
    });
    match TOKEN.as_ref() {
        Some(token) => token.replace_all(message, "${1}${2}***"),
        // Without the pattern nothing may be shown.
        None => Cow::Borrowed("***"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_to_be_harmless_is_shown() {
        for (name, value, expected) in [
            ("t", "abc", "(not shown)"),
            ("server", "https://u:p@h:9345", "(not shown)"),
            ("cloud-provider-name", "aws", "aws"),
            ("secrets-encryption", "true", "true"),
            ("kubelet-arg", "cloud-provider=external", "cloud-provider=external"),
            ("kubelet-arg", "env=AWS_SECRET_ACCESS_KEY=abc", "env=(not shown)"),
            ("kube-apiserver-arg", "etcd-servers=https://u:p@e", "etcd-servers=(not shown)"),
            ("kube-apiserver-extra-env", "A=b", "(not shown)"),
            ("vpn-auth", "name=tailscale,joinKey=abc", "(not shown)"),
            ("cluster-secret", "abc", "(not shown)"),
            ("kubelet-arg", "node-token=abc", "node-token=(not shown)"),
        ] {
            assert_eq!(shown(name, value), expected, "{name}");
        }
    }

    #[test]
    fn masks_credentials_in_place() {
        for (source, expected) in [
            ("token: abc", "token: ***"),
            ("  special.keyid: a\n  special.keysecret: 'b c'\n", "  special.keyid: *\n  special.keysecret: '* c'\n"),
            (r#"{"accessKeySecret": "abc", "region": "x"}"#, r#"{"accessKeySecret": "***", "region": "x"}"#),
            ("- registry-password=abc", "- registry-password=***"),
            ("endpoint: mysql://user:pass@tcp/db", "endpoint: mysql://*********@tcp/db"),
            ("serviceaccounts/token", "serviceaccounts/token"),
            ("tokens are é: x", "tokens are é: x"),
            ("secret-é=é", "secret-é=**"),
            ("- DB_PASS=abc", "- DB_PASS=***"),
            (
                r#""x": "{\"accessKeyID\": \"abc\", \"region\": \"r\"}""#,
                r#""x": "{\"accessKeyID\": \"***\", \"region\": \"r\"}""#,
            ),
            (r#"Password=\"abc\"\nVPC=x"#, r#"Password=\"***\"\nVPC=x"#),
            (r#"args: ["--password", "abc", "--v=2"]"#, r#"args: ["--password", "***", "--v=2"]"#),
            ("args: ['--token','abc']", "args: ['--token','***']"),
            ("endpoint: u:p@s3", "endpoint: ***@s3"),
            (
                "env: [{name: AWS_SECRET_ACCESS_KEY, value: abc}], args: [x]",
                "env: [{name: AWS_SECRET_ACCESS_KEY, value: ***}], args: [x]",
            ),
            (r#"{"name": "DB_PASSWORD", "value": "abc"}"#, r#"{"name": "DB_PASSWORD", "value": "***"}"#),
            ("- 'service-account-signing-key=abc'", "- 'service-account-signing-key=***'"),
            (r#""api-key: abc""#, r#""api-key: ***""#),
            ("# password abc", "# password ***"),
            ("encryption-key=abc", "encryption-key=***"),
            ("image: registry.example.com/a:v1@sha256:00", "image: registry.example.com/a:v1@sha256:00"),
        ] {
            assert_eq!(masked(source), expected);
            assert_eq!(masked(source).len(), source.len());
        }
    }

    #[cfg(any(feature = "aws", feature = "alibaba"))]
    #[test]
    fn masks_secrets_in_service_messages() {
        for (message, expected) in [
            ("host:a\nx-amz-security-token:IQoJ/b3=\n\nhost", "host:a\nx-amz-security-token:***\n\nhost"),
            ("x-acs-security-token: CAIS+a==, x", "x-acs-security-token: ***, x"),
            ("X-Amz-Security-Token=IQoJ%2Fb3&X-Amz-Date=1", "X-Amz-Security-Token=***&X-Amz-Date=1"),
            ("SecurityToken=CAIS&Action=x", "SecurityToken=***&Action=x"),
            (
                "AWS4-HMAC-SHA256 Credential=AKIA/x, SignedHeaders=host, Signature=0f3a' in Authorization header",
                "AWS4-HMAC-SHA256 Credential=AKIA/x, SignedHeaders=host, Signature=***' in Authorization header",
            ),
            (
                r#"{"SecretAccessKey": "wJalr/x", "SessionToken":"IQoJ"}"#,
                r#"{"SecretAccessKey": "***", "SessionToken":"***"}"#,
            ),
            ("AccessKeySecret=abc, aws_secret_access_key = x", "AccessKeySecret=***, aws_secret_access_key = ***"),
            (
                "Signature beb375101369611015b3670d3f319ba1bdffd8e6aa3944b7594bb7e756820000 is wrong",
                "Signature *** is wrong",
            ),
            ("the secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY failed", "the secret *** failed"),
            (
                "The request signature we calculated does not match",
                "The request signature we calculated does not match",
            ),
            (
                "The security token included in the request is invalid",
                "The security token included in the request is invalid",
            ),
        ] {
            assert_eq!(without_session_tokens(message), expected);
        }
    }
}
