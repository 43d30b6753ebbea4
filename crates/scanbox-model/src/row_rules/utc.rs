//! Times as rows have them.

/// Whether a text is a time in UTC: `2026-11-22T15:36:08Z`, with or without a fraction of the second.
pub(super) fn is_utc(text: &str) -> bool {
    let Some(text) = text.strip_suffix('Z') else { return false };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let pattern = "dddd-dd-ddTdd:dd:dd";
    let matches =
        |(byte, wanted): (u8, u8)| if wanted == b'd' { byte.is_ascii_digit() } else { byte == wanted };
    let two_digits = |at: usize| whole.get(at..at + 2).and_then(|digits| digits.parse::<u8>().ok());
    let is_from_to =
        |at: usize, from: u8, to: u8| two_digits(at).is_some_and(|part| (from..=to).contains(&part));
    whole.len() == pattern.len()
        && whole.bytes().zip(pattern.bytes()).all(matches)
        && is_from_to(5, 1, 12)
        && is_from_to(8, 1, 31)
        && is_from_to(11, 0, 23)
        && is_from_to(14, 0, 59)
        // There are leap seconds.
        && is_from_to(17, 0, 60)
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}
