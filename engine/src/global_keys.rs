//! Global condition keys and their types. Source: AWS IAM User Guide, "AWS global condition context keys".

/// Global condition keys, lower-case, with their types. Source: IAM User Guide, "AWS global condition context keys".
pub(super) const GLOBAL_KEYS: &[(&str, &str)] = &[
    ("aws:assumedroot", "String"),
    ("aws:calledvia", "ArrayOfString"),
    ("aws:calledviafirst", "String"),
    ("aws:calledvialast", "String"),
    ("aws:calledviaawsmcp", "String"),
    ("aws:chatbotsourcearn", "ARN"),
    ("aws:currenttime", "Date"),
    ("aws:ec2instancesourceprivateipv4", "IPAddress"),
    ("aws:ec2instancesourcevpc", "String"),
    ("aws:epochtime", "Date"),
    ("aws:federatedprovider", "String"),
    ("aws:ismcpserviceaction", "Bool"),
    ("aws:multifactorauthage", "Numeric"),
    ("aws:multifactorauthpresent", "Bool"),
    ("aws:principalaccount", "String"),
    ("aws:principalarn", "ARN"),
    ("aws:principalisawsservice", "Bool"),
    ("aws:principalorgid", "String"),
    ("aws:principalorgpaths", "ArrayOfString"),
    ("aws:principalservicename", "String"),
    ("aws:principalservicenameslist", "ArrayOfString"),
    ("aws:principaltype", "String"),
    ("aws:referer", "String"),
    ("aws:requestedregion", "String"),
    ("aws:resourceaccount", "String"),
    ("aws:resourceorgid", "String"),
    ("aws:resourceorgpaths", "ArrayOfString"),
    ("aws:securetransport", "Bool"),
    ("aws:signinsessionarn", "ARN"),
    ("aws:sourceaccount", "String"),
    ("aws:sourcearn", "ARN"),
    ("aws:sourceidentity", "String"),
    ("aws:sourceip", "IPAddress"),
    ("aws:sourceorgid", "String"),
    ("aws:sourceorgpaths", "ArrayOfString"),
    ("aws:sourceowner", "String"),
    ("aws:sourcevpc", "String"),
    ("aws:sourcevpcarn", "ARN"),
    ("aws:sourcevpce", "String"),
    ("aws:tagkeys", "ArrayOfString"),
    ("aws:tokenissuetime", "Date"),
    ("aws:useragent", "String"),
    ("aws:userid", "String"),
    ("aws:username", "String"),
    ("aws:viaawsmcpservice", "Bool"),
    ("aws:viaawsservice", "Bool"),
    ("aws:vpceaccount", "String"),
    ("aws:vpceorgid", "String"),
    ("aws:vpceorgpaths", "ArrayOfString"),
    ("aws:vpcsourceip", "IPAddress"),
];

/// Prefixes of global keys that end in a user-defined name; their values are single strings.
pub(super) const OPEN_GLOBAL_KEYS: &[&str] = &["aws:principaltag/", "aws:requesttag/", "aws:resourcetag/"];

/// Type of a global condition key (lower-case); `None` for any other key.
pub(super) fn global_kind(folded: &str) -> Option<&'static str> {
    let is_open = || OPEN_GLOBAL_KEYS.iter().any(|open| folded.starts_with(open));
    let listed = GLOBAL_KEYS.iter().find(|(name, _)| *name == folded).map(|(_, kind)| *kind);
    listed.or_else(|| is_open().then_some("String"))
}

/// Condition keys of every service of Alibaba Cloud, lower-case, with their types. Source: RAM documentation, "Policy
/// elements", common condition keys.
pub(super) const RAM_KEYS: &[(&str, &str)] = &[
    ("acs:currenttime", "Date"),
    ("acs:mfapresent", "Bool"),
    ("acs:securetransport", "Bool"),
    ("acs:sourceip", "IPAddress"),
];
