//! Signature of a request: ACS3-HMAC-SHA256. Source: Alibaba Cloud SDK documentation, "V3 request structure and
//! signature".

use hmac::{Hmac, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha2::{Digest, Sha256};

use crate::text::hex;

/// Name of the algorithm in requests.
pub(super) const ALGORITHM: &str = "ACS3-HMAC-SHA256";

/// Characters to escape: all but the unreserved ones of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Bytes of a SHA-256.
const DIGEST_BYTES: usize = 32;

/// A request, ready to be signed.
#[derive(Debug)]
pub(super) struct Unsigned<'r> {
    /// HTTP method: `POST`.
    pub(super) method: &'r str,
    /// Escaped path: `/` for calls by name.
    pub(super) path: &'r str,
    /// Names and values, in any order.
    pub(super) parameters: &'r [(String, String)],
    /// Signed headers, with names in lower case: at least `host`, `content-type` and those of Alibaba Cloud.
    pub(super) headers: &'r [(String, String)],
    pub(super) body: &'r [u8],
}

/// Query of names and values, in the order of the names' code points.
pub(super) fn canonical_query(parameters: &[(String, String)]) -> String {
    let mut sorted: Vec<&(String, String)> = parameters.iter().collect();
    sorted.sort();
    let escaped = |text: &str| utf8_percent_encode(text, RESERVED).to_string();
    let pairs: Vec<String> =
        sorted.into_iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
    pairs.join("&")
}

/// SHA-256 of a body in hexadecimal.
pub(super) fn hashed(body: &[u8]) -> String {
    hex(&Sha256::digest(body), DIGEST_BYTES)
}

/// Signed headers, in order.
fn signed_headers<'r>(request: &'r Unsigned<'_>) -> Vec<(&'r str, &'r str)> {
    let headers = request.headers.iter();
    let mut signed: Vec<(&str, &str)> = headers.map(|(name, value)| (name.as_str(), value.trim())).collect();
    signed.sort_unstable();
    signed
}

/// Canonical form of a request, which is signed.
pub(super) fn canonical_request(request: &Unsigned<'_>) -> String {
    let signed = signed_headers(request);
    let headers = signed.iter().fold(String::new(), |all, (name, value)| all + name + ":" + value + "\n");
    let names: Vec<&str> = signed.iter().map(|(name, _)| *name).collect();
    [
        request.method,
        request.path,
        &canonical_query(request.parameters),
        &headers,
        &names.join(";"),
        &hashed(request.body),
    ]
    .join("\n")
}

/// Value of the header `Authorization`.
pub(super) fn authorization(access_key_id: &str, access_key_secret: &str, request: &Unsigned<'_>) -> String {
    let to_sign = format!("{ALGORITHM}\n{}", hashed(canonical_request(request).as_bytes()));
    let names: Vec<&str> = signed_headers(request).into_iter().map(|(name, _)| name).collect();
    // A key of any length is accepted, so there is always a signature.
    let signature = Hmac::<Sha256>::new_from_slice(access_key_secret.as_bytes())
        .map(|mut mac| {
            mac.update(to_sign.as_bytes());
            hex(&mac.finalize().into_bytes(), DIGEST_BYTES)
        })
        .unwrap_or_default();
    format!("{ALGORITHM} Credential={access_key_id},SignedHeaders={},Signature={signature}", names.join(";"))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Twelve requests that the official SDKs signed, the published example among them.
    #[test]
    fn signatures_match_the_official_clients() {
        let text = include_str!("../../../../fixtures/alibaba/signatures.json");
        let vectors: Value = serde_json::from_str(text).unwrap();
        let vectors = vectors["vectors"].as_array().unwrap();
        assert_eq!(vectors.len(), 12);
        for vector in vectors {
            let text = |key: &str| vector[key].as_str().unwrap();
            let pairs = |key: &str| -> Vec<(String, String)> {
                let map = vector[key].as_object().unwrap().iter();
                map.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).rev().collect()
            };
            let (parameters, headers) = (pairs("query"), pairs("headers"));
            let request = Unsigned {
                method: text("method"),
                path: text("canonical_uri"),
                parameters: &parameters,
                headers: &headers,
                body: text("body").as_bytes(),
            };
            let expected = |key: &str| vector["expected"][key].as_str().unwrap();
            let name = text("name");
            assert_eq!(canonical_query(&parameters), expected("canonical_query_string"), "{name}");
            assert_eq!(hashed(request.body), expected("hashed_request_payload"), "{name}");
            assert_eq!(canonical_request(&request), expected("canonical_request"), "{name}");
            let signed = authorization(text("access_key_id"), text("access_key_secret"), &request);
            assert_eq!(signed, expected("authorization"), "{name}");
        }
    }

    #[test]
    fn names_sort_by_code_point_and_everything_else_is_escaped() {
        let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
            list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        assert_eq!(
            canonical_query(&pairs(&[("Tag.2.Key", "b"), ("Tag.10.Key", "a"), ("Tag.1.Key", "")])),
            "Tag.1.Key=&Tag.10.Key=a&Tag.2.Key=b"
        );
        assert_eq!(canonical_query(&pairs(&[("a", "~-_. */+%\u{0}é")])), "a=~-_.%20%2A%2F%2B%25%00%C3%A9");
        assert_eq!(canonical_query(&[]), "");
    }
}
