//! Reads and writes times as texts in the form of RFC 3339.

use time::format_description::well_known::Rfc3339;
use time::{Date, Month, OffsetDateTime, Time};

/// Parses a date and time as in RFC 3339; `None` for any other text. White space at both ends of
/// the text is ignored.
pub fn parse_datetime(text: &str) -> Option<OffsetDateTime> {
    let text = text.trim();
    parse_utc_time(text.as_bytes()).or_else(|| OffsetDateTime::parse(text, &Rfc3339).ok())
}

/// Parses the most frequent form of a time, `YYYY-MM-DDTHH:MM:SSZ`, with a tenth of the work of the
/// general parser. `None` for other forms, and for times that do not exist.
fn parse_utc_time(text: &[u8]) -> Option<OffsetDateTime> {
    let &[y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b'T', ref rest @ ..] = text else { return None };
    let &[h0, h1, b':', n0, n1, b':', s0, s1, b'Z'] = rest else { return None };
    let digit = |byte: u8| Some(byte.wrapping_sub(b'0')).filter(|digit| *digit <= 9);
    let two_digits = |tens: u8, ones: u8| Some(digit(tens)? * 10 + digit(ones)?);
    let year = i32::from(two_digits(y0, y1)?) * 100 + i32::from(two_digits(y2, y3)?);
    let month = Month::try_from(two_digits(m0, m1)?).ok()?;
    let date = Date::from_calendar_date(year, month, two_digits(d0, d1)?).ok()?;
    let time = Time::from_hms(two_digits(h0, h1)?, two_digits(n0, n1)?, two_digits(s0, s1)?).ok()?;
    Some(OffsetDateTime::new_utc(date, time))
}

pub fn format_datetime(time: OffsetDateTime) -> String {
    time.format(&Rfc3339).unwrap_or_else(|_| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fast parser accepts only texts that the general parser accepts, with the same result.
    #[test]
    fn the_fast_parser_agrees_with_the_general_one() {
        const TEXT: &str = "2024-02-29T23:59:58Z";
        let mut accepted = 0;
        let mut check = |text: &[u8]| {
            let Some(fast) = parse_utc_time(text) else { return };
            let text = std::str::from_utf8(text).expect("only ASCII is accepted");
            assert_eq!(OffsetDateTime::parse(text, &Rfc3339), Ok(fast), "{text}");
            accepted += 1;
        };
        // Each pair of bytes that follow each other is replaced by each pair of these characters.
        let characters = b"0123456789-T:Zz/ +\xff";
        for index in 0..TEXT.len() - 1 {
            for pair in characters.iter().flat_map(|one| characters.map(|other| [*one, other])) {
                let mut text = TEXT.as_bytes().to_vec();
                text[index..index + 2].copy_from_slice(&pair);
                check(&text);
            }
        }
        check(b"2023-02-29T00:00:00Z");
        check(b"2024-02-29T00:00:00");
        check(b"2024-02-29T00:00:00ZZ");
        assert!(accepted > 400, "{accepted}");
        for text in
            ["2024-02-29T23:59:60Z", "2024-02-29T24:00:00Z", "2023-02-29T00:00:00Z", "0000-00-00T00:00:00Z"]
        {
            assert!(parse_utc_time(text.as_bytes()).is_none(), "{text}");
        }
        let parse = |text: &str| parse_datetime(text).map(format_datetime);
        assert_eq!(parse(" 2024-02-29T23:59:58Z "), Some(TEXT.to_owned()));
        assert_eq!(parse("2024-02-29t23:59:58.5+02:00").as_deref(), Some("2024-02-29T23:59:58.5+02:00"));
    }
}
