//! Times on the command line.

use std::time::Duration;

/// A time such as `90s` or `10m`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|_| format!("`{text}` is not a time: write 90s, 10m or 2h"))?;
    Duration::try_from(span).map_err(|_| "a time is not negative".to_owned())
}

/// A time that something may take: none would be over before it begins.
pub fn parse_limit(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("a limit is above 0".to_owned()),
        limit => Ok(limit),
    }
}
