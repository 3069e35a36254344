//! JSON text as Go's `encoding/json` spells it, since WAL checksums and byte comparisons depend on the spelling.

/// Appends `text` as a JSON string: Go also escapes `<`, `>`, `&` and the two Unicode line separators.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\x1F' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// `text` as a JSON string.
#[must_use]
pub fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text);
    out
}

/// `["a","b"]`.
#[must_use]
pub fn string_array(texts: &[String]) -> String {
    let items: Vec<String> = texts.iter().map(|text| string(text)).collect();
    format!("[{}]", items.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelled_like_go() {
        assert_eq!(
            string("a<b>&é\"x\\\u{2028}\x01"),
            "\"a\\u003cb\\u003e\\u0026é\\\"x\\\\\\u2028\\u0001\""
        );
    }
}
