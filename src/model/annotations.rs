//! Annotations, as the Go code of the controllers reads them.

use std::collections::BTreeMap;

use super::decision::Stop;

/// Values accepted by Go's `strconv.ParseBool`.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// Entries between commas, without white space around them; empty ones are dropped.
/// Sources: kubernetes/cloud-provider-aws `pkg/providers/v1/aws.go#splitCommaSeparatedString`;
/// aws-load-balancer-controller `pkg/annotations/parser.go#splitCommaSeparatedString`.
pub(super) fn split(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Pairs between commas. A backslash escapes a character, and an empty entry stays.
/// Source: aws-load-balancer-controller `pkg/annotations/parser.go#splitKeyValuePairs`, since v2.14.1.
fn split_pairs(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut current = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => current.push(rest.next().unwrap_or(c)),
            ',' => {
                let remaining = rest.as_str().trim();
                if remaining.is_empty() {
                    current.push(c);
                    continue;
                }
                found.push(std::mem::take(&mut current).trim().to_owned());
                if !remaining.contains('=') {
                    found.push(remaining.to_owned());
                    return found;
                }
            }
            _ => current.push(c),
        }
    }
    if !current.is_empty() {
        found.push(current.trim().to_owned());
    }
    found
}

/// `K=V` pairs between commas; a key alone has an empty value.
/// Source: kubernetes/cloud-provider-aws `pkg/providers/v1/aws_loadbalancer.go#getKeyValuePropertiesFromAnnotation`.
pub(super) fn pairs(text: &str) -> BTreeMap<String, String> {
    let pair = |part: &str| {
        let mut parts = part.trim().split('=');
        let key = parts.next().filter(|key| !key.is_empty())?;
        Some((key.to_owned(), parts.next().unwrap_or_default().to_owned()))
    };
    text.trim().split(',').filter_map(pair).collect()
}

/// A list as Go's `%v` prints it.
pub(super) fn go_list<T: AsRef<str>>(items: &[T]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    format!("[{}]", items.join(" "))
}

/// A set of strings as Go's `%v` prints a map without values.
pub(super) fn go_set<'t>(items: impl Iterator<Item = &'t str>) -> String {
    let mut items: Vec<String> = items.map(|item| format!("{item}:{{}}")).collect();
    items.sort();
    format!("map[{}]", items.join(" "))
}

/// A text as Go's `%q` prints it.
pub(super) fn go_quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' | '"' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The error of Go's `strconv.ParseInt` for a text that is not a number of the size wanted.
pub(super) fn go_number_error(raw: &str) -> String {
    let digits = raw.strip_prefix(['+', '-']).unwrap_or(raw);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let why = if is_number { "value out of range" } else { "invalid syntax" };
    format!("strconv.ParseInt: parsing {}: {why}", go_quoted(raw))
}

/// The error of Go's `json.Unmarshal`: that of the syntax, or `…` for a value of another type than expected.
pub(super) fn go_json_error(raw: &str) -> String {
    super::go_json::syntax_error(raw).unwrap_or_else(|| "…".to_owned())
}

/// Annotations with a common prefix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Annotations<'a> {
    pub(super) all: &'a BTreeMap<String, String>,
    pub(super) prefix: &'static str,
    /// True if a backslash escapes a comma in a map: the AWS Load Balancer Controller since v2.14.1.
    pub(super) has_escapes: bool,
}

impl<'a> Annotations<'a> {
    pub(super) fn key(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.prefix)
    }

    pub(super) fn get(&self, suffix: &str) -> Option<&'a str> {
        self.all.get(&self.key(suffix)).map(String::as_str)
    }

    /// Annotations with the prefix, without it.
    pub(super) fn suffixes(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let prefix = self.prefix;
        self.all.keys().filter_map(move |key| key.strip_prefix(prefix))
    }

    /// Entries of a list; `None` without the annotation.
    pub(super) fn list(&self, suffix: &str) -> Option<Vec<String>> {
        self.get(suffix).map(split)
    }

    /// A switch.
    /// Source: aws-load-balancer-controller `pkg/annotations/parser.go#ParseBoolAnnotation`.
    pub(super) fn switch(&self, suffix: &str) -> Result<Option<bool>, Stop> {
        let Some(raw) = self.get(suffix) else { return Ok(None) };
        match parse_bool(raw) {
            Some(value) => Ok(Some(value)),
            None => Stop::error(format!(
                "failed to parse bool annotation, {}: {raw}: strconv.ParseBool: parsing {}: invalid syntax",
                self.key(suffix),
                go_quoted(raw)
            )),
        }
    }

    /// A number of 32 bits.
    /// Source: aws-load-balancer-controller `pkg/annotations/parser.go#ParseInt32Annotation`.
    pub(super) fn number(&self, suffix: &str) -> Result<Option<i64>, Stop> {
        let Some(raw) = self.get(suffix) else { return Ok(None) };
        match raw.parse::<i32>() {
            Ok(value) => Ok(Some(value.into())),
            Err(_) => Stop::error(format!(
                "failed to parse int32 annotation, {}: {raw}: {}",
                self.key(suffix),
                go_number_error(raw)
            )),
        }
    }

    /// A map.
    /// Source: aws-load-balancer-controller `pkg/annotations/parser.go#ParseStringMapAnnotation`.
    pub(super) fn map(&self, suffix: &str) -> Result<BTreeMap<String, String>, Stop> {
        let raw = self.get(suffix).unwrap_or_default();
        let mut map = BTreeMap::new();
        let entries = if self.has_escapes { split_pairs(raw) } else { split(raw) };
        for entry in entries {
            let (key, value) = entry.split_once('=').map_or((entry.as_str(), None), |(key, value)| (key, Some(value)));
            let key = if self.has_escapes { key.trim() } else { key };
            match value.filter(|_| !key.is_empty()) {
                Some(value) if self.has_escapes => map.insert(key.to_owned(), value.trim().to_owned()),
                Some(value) => map.insert(key.to_owned(), value.to_owned()),
                None => {
                    return Stop::error(format!("failed to parse stringMap annotation, {}: {raw}", self.key(suffix)));
                }
            };
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_go_reads_them() {
        assert_eq!((parse_bool("T"), parse_bool("yes"), parse_bool("")), (Some(true), None, None));
        assert_eq!(split(" a, ,b ,"), ["a", "b"]);
        assert_eq!(split_pairs("a=b\\,c, d=e"), ["a=b,c", "d=e"]);
        assert_eq!(split_pairs(",a=b"), ["", "a=b"]);
        assert_eq!(split_pairs("a=b,"), ["a=b,"]);
        assert_eq!(split_pairs("a=b,c"), ["a=b", "c"]);
        let read = pairs(" k=v ,k2, =x,k3=, k4=a=b");
        let read: Vec<(&str, &str)> = read.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(read, [("k", "v"), ("k2", ""), ("k3", ""), ("k4", "a")]);
    }

    #[test]
    fn texts_are_written_as_go_writes_them() {
        assert_eq!(go_list(&["b", "a"]), "[b a]");
        assert_eq!(go_set(["foo", "baz"].into_iter()), "map[baz:{} foo:{}]");
        assert_eq!(go_quoted("a\"b"), "\"a\\\"b\"");
    }
}
