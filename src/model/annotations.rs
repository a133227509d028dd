//! Annotations, as the Go code of the controllers reads them.

use std::collections::BTreeMap;

use super::decision::Stop;

/// Values accepted by Go's `strconv.ParseBool`.
pub(super) fn parse_bool(text: &str) -> Option<bool> {
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
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Annotations with a common prefix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Annotations<'a> {
    pub(super) all: &'a BTreeMap<String, String>,
    pub(super) prefix: &'static str,
}

impl<'a> Annotations<'a> {
    pub(super) fn key(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.prefix)
    }

    pub(super) fn get(&self, suffix: &str) -> Option<&'a str> {
        self.all.get(&self.key(suffix)).map(String::as_str)
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
                "failed to parse int32 annotation, {}: {raw}: strconv.ParseInt: parsing {}: invalid syntax",
                self.key(suffix),
                go_quoted(raw)
            )),
        }
    }

    /// A map.
    /// Source: aws-load-balancer-controller `pkg/annotations/parser.go#ParseStringMapAnnotation`.
    pub(super) fn map(&self, suffix: &str) -> Result<BTreeMap<String, String>, Stop> {
        let raw = self.get(suffix).unwrap_or_default();
        let mut map = BTreeMap::new();
        for entry in split(raw) {
            let (key, value) = entry.split_once('=').map_or((entry.as_str(), None), |(key, value)| (key, Some(value)));
            match value.map(str::trim).filter(|_| !key.trim().is_empty()) {
                Some(value) => map.insert(key.trim().to_owned(), value.to_owned()),
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
