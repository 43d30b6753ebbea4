//! How a run stands with others on its device.

use std::time::Duration;

use clap::Args;
use scanbox_session::lock::Sharing;

use super::time::parse_duration;

/// How a run stands with others on its device.
#[derive(Debug, Clone, Args)]
pub struct SharingArgs {
    /// Wait while another run uses the device or the file, at most this time, instead of ending with exit code 4
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "forever", value_parser = parse_wait)]
    wait: Option<Duration>,

    /// Run beside other runs on the device: they disturb each other's times, and rows are marked
    #[arg(long)]
    share_device: bool,
}

impl SharingArgs {
    /// The same without a command line.
    pub fn sharing(&self) -> Sharing {
        Sharing { wait: self.wait, share_device: self.share_device }
    }

    /// The same as a command line has it.
    pub fn flags(&self) -> Vec<String> {
        let wait = self.wait.map(|wait| match wait {
            Duration::MAX => "--wait=forever".to_owned(),
            wait => format!("--wait={}ms", wait.as_millis()),
        });
        wait.into_iter().chain(self.share_device.then(|| "--share-device".to_owned())).collect()
    }
}

/// Whether a word behind `--wait` is its value. What begins as a time is a mistyped one, and no config.
pub fn is_wait(text: &str) -> bool {
    parse_wait(text).is_ok() || text.starts_with(|c: char| c.is_ascii_digit())
}

fn parse_wait(text: &str) -> Result<Duration, String> {
    if text == "forever" { Ok(Duration::MAX) } else { parse_duration(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_has_the_same() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            sharing: SharingArgs,
        }
        let rows: [&[&str]; 4] =
            [&[], &["--wait"], &["--wait", "90s", "--share-device"], &["--share-device"]];
        for row in rows {
            let parsed = |words: Vec<String>| {
                let words = ["scanbox".to_owned()].into_iter().chain(words);
                <Line as clap::Parser>::try_parse_from(words)
                    .map(|line| line.sharing)
                    .unwrap_or_else(|error| panic!("{error}"))
            };
            let asked = parsed(row.iter().map(|word| (*word).to_owned()).collect());
            let again = parsed(asked.flags());
            assert_eq!((asked.wait, asked.share_device), (again.wait, again.share_device), "{row:?}");
        }
    }

    #[test]
    fn a_wait_is_a_time_or_has_no_end() {
        assert_eq!(parse_wait("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_wait("forever"), Ok(Duration::MAX));
        assert!(parse_wait("soon").unwrap_err().contains("is not a time"));
    }
}
