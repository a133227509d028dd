//! Encodings of text files.

use std::borrow::Cow;

/// True if a text starts with the mark of UTF-16.
pub(crate) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF])
}

/// The text in UTF-8, if it starts with the mark of UTF-16: PowerShell writes redirected output like that.
pub(crate) fn in_utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    let (rest, from): (&[u8], fn([u8; 2]) -> u16) = match bytes {
        [0xFF, 0xFE, rest @ ..] if bytes.len().is_multiple_of(2) => (rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] if bytes.len().is_multiple_of(2) => (rest, u16::from_be_bytes),
        _ => return Cow::Borrowed(bytes),
    };
    let units = rest.chunks_exact(2).filter_map(|pair| pair.try_into().ok().map(from));
    let text: String = char::decode_utf16(units).map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    Cow::Owned(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_16_is_read_in_either_order() {
        let text = "{\"name\": \"\u{4e0a}\u{6d77}\u{1f600}\"}";
        for (mark, order) in [([0xFF, 0xFE], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xFE, 0xFF], u16::to_be_bytes)]
        {
            let bytes: Vec<u8> = mark.into_iter().chain(text.encode_utf16().flat_map(order)).collect();
            assert_eq!(in_utf8(&bytes), text.as_bytes());
        }
        for other in [&b""[..], b"{}", b"\xEF\xBB\xBF{}", b"\xFF", b"\xFF\xFE{"] {
            assert_eq!(in_utf8(other), other);
        }
    }
}
