//! RFC 3339 times as Go writes and reads them, to and from Unix milliseconds.

const MS_PER_DAY: i64 = 86_400_000;

/// Reads `2006-01-02T15:04:05[.fraction](Z|±hh:mm)`; digits beyond milliseconds are cut.
pub(crate) fn parse_ms(text: &[u8]) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let (&separator, rest) = rest.split_first()?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = *date else {
        return None;
    };
    let [h1, h2, b':', n1, n2, b':', s1, s2] = *clock else {
        return None;
    };
    let year = number(&[y1, y2, y3, y4])?;
    let (month, day) = (number(&[m1, m2])?, number(&[d1, d2])?);
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[n1, n2])?, number(&[s1, s2])?);
    let in_range = (1..=12).contains(&month) && hour < 24 && minute < 60 && second < 60;
    if !separator.eq_ignore_ascii_case(&b'T')
        || !in_range
        || !(1..=days_in_month(year, month)).contains(&day)
    {
        return None;
    }
    let (fraction_ms, zone) = take_fraction(rest)?;
    let zone_minutes = parse_zone(zone)?;
    let days = days_from_civil(year, month, day);
    let minutes = hour * 60 + minute - zone_minutes;
    Some(days * MS_PER_DAY + minutes * 60_000 + second * 1000 + fraction_ms)
}

/// Writes a time in UTC; trailing zeros of the fraction are left out, as Go does.
pub(crate) fn put_ms(out: &mut Vec<u8>, unix_ms: i64) {
    let (year, month, day) = civil_from_days(unix_ms.div_euclid(MS_PER_DAY));
    let ms = unix_ms.rem_euclid(MS_PER_DAY);
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    let date = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    out.extend_from_slice(date.as_bytes());
    let fraction = ms % 1000;
    if fraction != 0 {
        let digits = format!(".{fraction:03}");
        out.extend_from_slice(digits.trim_end_matches('0').as_bytes());
    }
    out.push(b'Z');
}

/// Years that RFC 3339 can write: what lies outside is written as the nearest that can be.
pub(crate) fn clamp_ms(unix_ms: i64) -> i64 {
    const YEAR_0000_MS: i64 = -62_167_219_200_000;
    const YEAR_9999_END_MS: i64 = 253_402_300_799_999;
    unix_ms.clamp(YEAR_0000_MS, YEAR_9999_END_MS)
}

fn take_fraction(rest: &[u8]) -> Option<(i64, &[u8])> {
    let Some((b'.' | b',', digits)) = rest.split_first() else {
        return Some((0, rest));
    };
    let count = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (digits, zone) = digits.split_at_checked(count)?;
    let ms = digits
        .iter()
        .chain([b'0', b'0', b'0'].iter())
        .take(3)
        .fold(0, |ms, byte| ms * 10 + i64::from(byte - b'0'));
    (count > 0).then_some((ms, zone))
}

fn parse_zone(zone: &[u8]) -> Option<i64> {
    match *zone {
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (number(&[h1, h2])?, number(&[m1, m2])?);
            let offset = hours * 60 + minutes;
            (hours < 24 && minutes < 60).then_some(if sign == b'-' { -offset } else { offset })
        }
        _ => None,
    }
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit()
            .then(|| value * 10 + i64::from(byte - b'0'))
    })
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01. Years are counted from March, so the leap day is the last of its year; 400 years repeat.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(unix_ms: i64) -> String {
        let mut out = Vec::new();
        put_ms(&mut out, unix_ms);
        String::from_utf8(out).unwrap()
    }

    proptest! {
        #[test]
        fn a_time_survives_the_round_trip(unix_ms in -62_167_219_200_000i64..=253_402_300_799_999) {
            prop_assert_eq!(parse_ms(text(unix_ms).as_bytes()), Some(unix_ms));
            prop_assert_eq!(clamp_ms(unix_ms), unix_ms);
        }

        #[test]
        fn any_number_can_be_written(unix_ms: i64) {
            prop_assert!(parse_ms(text(clamp_ms(unix_ms)).as_bytes()).is_some());
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            let _ = parse_ms(&bytes);
        }
    }

    #[test]
    fn times_as_go_writes_them() {
        assert_eq!(text(0), "1970-01-01T00:00:00Z");
        assert_eq!(text(1_784_884_502_500), "2026-07-24T09:15:02.5Z");
        assert_eq!(
            parse_ms(b"2026-07-24T09:15:02.123456789Z"),
            Some(1_784_884_502_123)
        );
        assert_eq!(
            parse_ms(b"2026-07-24T09:15:02.5+02:00"),
            Some(1_784_884_502_500 - 7_200_000)
        );
        assert_eq!(parse_ms(b"2024-02-29T00:00:00Z"), Some(1_709_164_800_000));
        for wrong in [
            "2023-02-29T00:00:00Z",
            "2023-01-01T24:00:00Z",
            "2023-01-01T00:00:00",
            "2023-01-01T00:00:00.Z",
            "",
        ] {
            assert_eq!(parse_ms(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
