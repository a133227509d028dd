//! The frame of a page.

use std::io::{self, Write};

use sha2::{Digest, Sha256};

use crate::text;

use super::markup::Markup;

const STYLE: &str = include_str!("page.css");

/// Writes a whole page, with a policy that lets only the script of the tool run.
pub(super) fn document(title: &str, body: Markup, script: Option<&'static str>, out: &mut dyn Write) -> io::Result<()> {
    let language = body.language().code();
    let body = body.into_string();
    // An author of a tag cannot foresee the hash of the page, and without it no injected script is run.
    let nonce = text::hex(&Sha256::digest(&body), 16);
    let allowed = script.map(|_| format!(" script-src 'nonce-{nonce}';")).unwrap_or_default();
    let policy = format!("default-src 'none'; style-src 'unsafe-inline';{allowed} base-uri 'none'; form-action 'none'");
    let mut head = Markup::default();
    head.raw("<!DOCTYPE html>\n")
        .open("html", &[("lang", &language)])
        .raw("\n<head>\n<meta charset=\"utf-8\">\n")
        .open("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &policy)])
        .raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        .element("title", &[], title)
        .raw("\n<style>\n")
        .raw(STYLE)
        .raw("</style>\n</head>\n<body>\n");
    let mut foot = Markup::default();
    if let Some(script) = script {
        foot.open("script", &[("nonce", &nonce)]).raw("\n").raw(script).raw("</script>\n");
    }
    foot.raw("</body>\n</html>\n");
    for part in [head.into_string(), body, foot.into_string()] {
        out.write_all(part.as_bytes())?;
    }
    out.flush()
}
