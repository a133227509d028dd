//! Parts of an ARN before the resource: partition, Region, account.

use crate::display;
use crate::document::Statement;
use crate::json::Span;
use crate::pattern::split_arn;
use crate::text::Text;

use super::Remarks;

/// Partitions with their Regions. Source: boto/botocore `botocore/data/partitions.json`.
const PARTITIONS: &[(&str, &[&str])] = &[
    (
        "aws",
        &[
            "af-south-1",
            "ap-east-1",
            "ap-east-2",
            "ap-northeast-1",
            "ap-northeast-2",
            "ap-northeast-3",
            "ap-south-1",
            "ap-south-2",
            "ap-southeast-1",
            "ap-southeast-2",
            "ap-southeast-3",
            "ap-southeast-4",
            "ap-southeast-5",
            "ap-southeast-6",
            "ap-southeast-7",
            "ca-central-1",
            "ca-west-1",
            "eu-central-1",
            "eu-central-2",
            "eu-north-1",
            "eu-south-1",
            "eu-south-2",
            "eu-west-1",
            "eu-west-2",
            "eu-west-3",
            "il-central-1",
            "me-central-1",
            "me-south-1",
            "me-west-1",
            "mx-central-1",
            "sa-east-1",
            "sa-west-1",
            "us-east-1",
            "us-east-2",
            "us-west-1",
            "us-west-2",
        ],
    ),
    ("aws-cn", &["cn-north-1", "cn-northwest-1"]),
    ("aws-us-gov", &["us-gov-east-1", "us-gov-west-1"]),
    ("aws-eusc", &["eusc-de-east-1"]),
    ("aws-iso", &["us-iso-east-1", "us-iso-west-1"]),
    ("aws-iso-b", &["us-isob-east-1", "us-isob-west-1"]),
    ("aws-iso-e", &["eu-isoe-west-1"]),
    ("aws-iso-f", &["us-isof-east-1", "us-isof-south-1"]),
];

/// True if a text is a placeholder, to be replaced later or used in a test.
fn is_placeholder(text: &str) -> bool {
    ["partition", "region", "test", "example", "your", "my-"].iter().any(|word| text.contains(word))
}

/// True if a text has the form of a Region but is not a Region known to this version. Text with a wildcard, a variable
/// or a placeholder such as `<region>` is ignored.
pub(super) fn is_invalid_region(text: &str) -> bool {
    let is_plain = text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    is_plain
        && !text.is_empty()
        && !is_placeholder(text)
        && !PARTITIONS.iter().any(|(_, regions)| regions.contains(&text))
}

/// True if a text consists of digits.
pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// True if a text resembles an account id but is not a valid one. Source: AWS General Reference, "AWS account
/// identifiers".
pub(super) fn is_invalid_account(text: &str) -> bool {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    is_number && !(text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Checks the partition, Region and account of an ARN.
pub(super) fn check(statement: &Statement, arn: &Text, span: Span, remarks: &mut Remarks<'_>) {
    let is_arn = arn.is_known() && arn.starts_with("arn:") && remarks.dialect.knows_resources;
    if !is_arn || arn.matches(':').count() < 5 {
        return;
    }
    let [_, partition, _, region, account, _] = split_arn(arn);
    let is_plain = partition.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    let is_partition = PARTITIONS.iter().any(|(name, _)| *name == partition);
    let mut say = |message: String| remarks.report("arn-part", Some(statement), span, message);
    let shown = display::printable(arn);
    if is_plain && !is_partition && !is_placeholder(partition) {
        say(format!("invalid partition in `{shown}`: AWS has no `{partition}`"));
    }
    if is_invalid_region(region) {
        say(format!("invalid Region in `{shown}`: AWS has no `{region}`"));
    }
    let home = PARTITIONS.iter().find(|(_, regions)| regions.contains(&region));
    if let Some((home, _)) = home.filter(|(home, _)| is_partition && *home != partition) {
        say(format!("`{shown}` does not exist: `{region}` is a Region of the partition `{home}`"));
    }
    if is_invalid_account(account) {
        say(format!("invalid account in `{shown}`: an account id has 12 digits"));
    }
}
