//! JSON tokens over a slice that may end in the middle of anything.

use crate::json::string::{find_quote_or_escape, unescape};
use std::borrow::Cow;

/// Deepest nesting of a value that is passed over.
const DEPTH_MAX: usize = 64;

/// Why a token could not be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The slice ends inside it: try again with more bytes.
    More,
    /// It is wrong, at this byte of the slice.
    Wrong(&'static str, usize),
}

pub(crate) type Taken<T> = Result<T, Stop>;

/// A place in a slice of JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    json: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(json: &'a [u8]) -> Self {
        Self { json, at: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn wrong<T>(&self, what: &'static str) -> Taken<T> {
        Err(Stop::Wrong(what, self.at))
    }

    /// The next byte that is not whitespace, not taken.
    #[inline]
    pub(crate) fn peek(&mut self) -> Taken<u8> {
        loop {
            match self.json.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(&byte) => return Ok(byte),
                None => return Err(Stop::More),
            }
        }
    }

    /// Takes the next byte that is not whitespace.
    #[inline]
    pub(crate) fn take(&mut self) -> Taken<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    pub(crate) fn expect(&mut self, wanted: u8, what: &'static str) -> Taken<()> {
        if self.peek()? != wanted {
            return self.wrong(what);
        }
        self.at += 1;
        Ok(())
    }

    /// Takes `null` if it is next.
    #[inline]
    pub(crate) fn null(&mut self) -> Taken<bool> {
        if self.peek()? != b'n' {
            return Ok(false);
        }
        self.word(b"null")?;
        Ok(true)
    }

    /// Hands each member of an object to `member`, which must take the value.
    #[inline]
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &[u8]) -> Taken<()>,
    ) -> Taken<()> {
        self.expect(b'{', "expected an object")?;
        if self.peek()? == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            let (raw, escaped) = self.string()?;
            let name = if escaped {
                Cow::Owned(unescape(raw))
            } else {
                Cow::Borrowed(raw)
            };
            self.expect(b':', "expected a colon")?;
            member(self, &name)?;
            match self.take()? {
                b',' => {}
                b'}' => return Ok(()),
                _ => return self.wrong("expected a comma or the end of the object"),
            }
        }
    }

    /// Takes a string: its bytes between the quotes, and whether there are escapes in them.
    #[inline]
    pub(crate) fn string(&mut self) -> Taken<(&'a [u8], bool)> {
        self.expect(b'"', "expected a string")?;
        let rest = self.json.get(self.at..).unwrap_or_default();
        let stop = find_quote_or_escape(rest).ok_or(Stop::More)?;
        if rest.get(stop) == Some(&b'"') {
            self.at += stop + 1;
            return Ok((rest.get(..stop).unwrap_or_default(), false));
        }
        let mut end = stop;
        loop {
            match rest.get(end) {
                None => return Err(Stop::More),
                Some(b'"') => break,
                Some(b'\\') => end += 2,
                Some(_) => end += 1,
            }
        }
        self.at += end + 1;
        Ok((rest.get(..end).unwrap_or_default(), true))
    }

    /// Takes a whole number of 64 bits; a fraction or an exponent is refused, as Go does.
    #[inline]
    pub(crate) fn int64(&mut self) -> Taken<i64> {
        let negative = self.peek()? == b'-';
        let digits = self.at + usize::from(negative);
        let mut value: i64 = 0;
        let mut at = digits;
        let next = loop {
            let Some(&byte) = self.json.get(at) else {
                return Err(Stop::More);
            };
            if !byte.is_ascii_digit() {
                break byte;
            }
            // Counted downwards: the negative range is one longer.
            let digit = i64::from(byte - b'0');
            let Some(more) = value
                .checked_mul(10)
                .and_then(|value| value.checked_sub(digit))
            else {
                return self.wrong("the number does not fit 64 bits");
            };
            value = more;
            at += 1;
        };
        let leading_zero = at - digits > 1 && self.json.get(digits) == Some(&b'0');
        if at == digits || leading_zero || matches!(next, b'.' | b'e' | b'E') {
            return self.wrong("expected a whole number");
        }
        if !negative {
            value = match value.checked_neg() {
                Some(value) => value,
                None => return self.wrong("the number does not fit 64 bits"),
            };
        }
        self.at = at;
        Ok(value)
    }

    /// Passes over any value.
    pub(crate) fn skip(&mut self) -> Taken<()> {
        self.skip_nested(0)
    }

    fn skip_nested(&mut self, depth: usize) -> Taken<()> {
        if depth > DEPTH_MAX {
            return self.wrong("values are nested too deeply");
        }
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' => self.object(|cursor, _| cursor.skip_nested(depth + 1)),
            b'[' => self.skip_array(depth),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            b'-' | b'0'..=b'9' => self.skip_number(),
            _ => self.wrong("expected a value"),
        }
    }

    fn skip_array(&mut self, depth: usize) -> Taken<()> {
        self.expect(b'[', "expected an array")?;
        if self.peek()? == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.skip_nested(depth + 1)?;
            match self.take()? {
                b',' => {}
                b']' => return Ok(()),
                _ => return self.wrong("expected a comma or the end of the array"),
            }
        }
    }

    fn skip_number(&mut self) -> Taken<()> {
        loop {
            match self.json.get(self.at) {
                None => return Err(Stop::More),
                Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9') => self.at += 1,
                Some(_) => return Ok(()),
            }
        }
    }

    fn word(&mut self, word: &'static [u8]) -> Taken<()> {
        let rest = self.json.get(self.at..).unwrap_or_default();
        if rest.starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        if word.starts_with(rest) {
            Err(Stop::More)
        } else {
            self.wrong("expected true, false or null")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_int64_is_exact(value: i64) {
            let text = format!("{value},");
            prop_assert_eq!(Cursor::new(text.as_bytes()).int64(), Ok(value));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = Cursor::new(&bytes).skip();
            let _ = Cursor::new(&bytes).int64();
        }
    }

    #[test]
    fn numbers_that_go_refuses_are_refused() {
        for text in [
            "1.0 ",
            "1e3 ",
            "01 ",
            "- ",
            "+1 ",
            "\"1\" ",
            "9223372036854775808 ",
            "-9223372036854775809 ",
        ] {
            assert!(
                matches!(Cursor::new(text.as_bytes()).int64(), Err(Stop::Wrong(..))),
                "{text}"
            );
        }
        assert_eq!(Cursor::new(b"12").int64(), Err(Stop::More));
    }

    #[test]
    fn nesting_has_a_bound() {
        let deep = vec![b'['; 100_000];
        assert!(matches!(Cursor::new(&deep).skip(), Err(Stop::Wrong(..))));
    }
}
