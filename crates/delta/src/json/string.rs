//! JSON strings: where they end, and their escapes.

/// Eight bytes at a time: values are long and hold neither.
#[inline]
pub(crate) fn find_quote_or_escape(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let zero_byte = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let (words, tail) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found =
            zero_byte(word ^ (ONES * b'"' as u64)) | zero_byte(word ^ (ONES * b'\\' as u64));
        if found != 0 {
            return Some(index * 8 + (found.trailing_zeros() / 8) as usize);
        }
    }
    let found = tail.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    Some(words.len() * 8 + found)
}

/// Undoes the escapes of a string; what is not a valid escape stays as it is and fails wherever it is used.
pub(crate) fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some((&escape, tail)) = rest.split_first() else {
            break;
        };
        rest = tail;
        match escape {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => {
                let (code, tail) = rest.split_at_checked(4).unwrap_or((rest, &[]));
                rest = tail;
                let code = std::str::from_utf8(code)
                    .ok()
                    .and_then(|hex| u32::from_str_radix(hex, 16).ok());
                let character = code
                    .and_then(char::from_u32)
                    .unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn confusable_bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop::sample::select(b"ab\"\\\xA2\xDC\x21\x23".to_vec());
        proptest::collection::vec(byte, 0..40)
    }

    proptest! {
        #[test]
        fn quote_and_escape_are_found_where_they_are(bytes in confusable_bytes()) {
            let slow = bytes.iter().position(|byte| matches!(byte, b'"' | b'\\'));
            prop_assert_eq!(find_quote_or_escape(&bytes), slow);
        }

        #[test]
        fn arbitrary_escapes_never_panic(bytes: Vec<u8>) {
            let _ = unescape(&bytes);
        }
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(
            unescape(br#"a\u0062\/\n\"\ud800"#),
            "ab/\n\"\u{FFFD}".as_bytes()
        );
    }
}
