//! Numbers with units: throughput, and sizes as people write them.

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

/// A count with its thing: `1 size`, `2 sizes`.
#[must_use]
pub fn plural(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}
