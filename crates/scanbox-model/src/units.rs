//! Numbers with units: throughput, and sizes as people write them; texts as people can read them.

use std::borrow::Cow;

/// Throughput in GB/s (10^9 bytes per second): bytes per nanosecond. The only place where it is computed.
///
/// `None` for a time of zero, which no measurement has.
#[must_use]
pub fn throughput_gbps(bytes_moved: u64, time_ns: u64) -> Option<f64> {
    (time_ns > 0).then(|| bytes_moved as f64 / time_ns as f64)
}

/// An input size as people read it: `2^20` for a power of two, digits otherwise.
#[must_use]
pub fn size_label(n: u64) -> String {
    if n.is_power_of_two() && n >= 1024 { format!("2^{}", n.ilog2()) } else { n.to_string() }
}

/// A name as a part of a file name: lower case, parentheses dropped, everything else than letters and digits a dash.
#[must_use]
pub fn slug(name: &str) -> String {
    let before_parenthesis = name.split('(').next().unwrap_or(name);
    let words: Vec<String> = before_parenthesis
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    if words.is_empty() { "device".to_owned() } else { words.join("-") }
}

/// A text as a terminal may get it: what moves the cursor, changes colours or rings a bell is shown as a mark. Names in
/// files are what somebody else has written there.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(is_bad) { text.replace(is_bad, "\u{fffd}").into() } else { text.into() }
}

/// A count with its thing: `1 size`, `2 sizes`.
#[must_use]
pub fn plural(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_printed_moves_the_cursor() {
        let check = |text: &str, expected: &str| assert_eq!(printable(text), expected, "{text:?}");
        check("NVIDIA H200\n\tcafé ─ 2^10", "NVIDIA H200\n\tcafé ─ 2^10");
        check("\u{1b}[31mred\u{7}\r\u{9b}2J", "\u{fffd}[31mred\u{fffd}\u{fffd}\u{fffd}2J");
    }
}
