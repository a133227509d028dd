//! Numbers of YAML 1.1, which kubectl and Helm read.

/// Numbers below it are exact in a double.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// A whole number as YAML 1.1 writes it: decimal, hexadecimal, octal or binary, with underscores, or a fraction of zero.
/// Source: kubernetes-sigs/yaml `goyaml.v2/resolve.go`.
pub(super) fn whole_number(text: &str) -> Option<i64> {
    let bare = text.replace('_', "");
    let (sign, digits) = match bare.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, bare.strip_prefix('+').unwrap_or(&bare)),
    };
    if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let radixes = [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8), ("0O", 8)];
    if let Some((digits, radix)) = radixes.iter().find_map(|(start, radix)| Some((digits.strip_prefix(start)?, *radix)))
    {
        return i64::from_str_radix(digits, radix).ok().map(|number| sign * number);
    }
    let is_octal = digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|one| (b'0'..b'8').contains(&one));
    if is_octal {
        return i64::from_str_radix(digits, 8).ok().map(|number| sign * number);
    }
    if let Ok(number) = digits.parse::<i64>() {
        return Some(sign * number);
    }
    let is_decimal = digits.bytes().all(|one| one.is_ascii_digit() || b".eE+-".contains(&one));
    let number =
        digits.parse::<f64>().ok().filter(|number| is_decimal && number.fract() == 0.0 && *number < LARGEST)?;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
    Some(sign * number as i64)
}
