//! How the process ends: the one table of exit codes, and which of them a run calls for.

use std::collections::BTreeMap;
use std::process::ExitCode;

use scanbox_model::record::Status;
use scanbox_report::terminal;
use scanbox_session::failure::Cause;

/// One table: the enum, `--help` and (by a test) docs/commands.md are made of it.
macro_rules! exits {
    ($($name:ident = $code:literal, $word:literal, $meaning:literal;)*) => {
        /// How the process ends.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Exit {
            $(#[doc = $meaning] $name = $code,)*
        }

        /// All ways, each with its name and meaning.
        pub const EXITS: &[(Exit, &str, &str)] = &[$((Exit::$name, $word, $meaning),)*];
    };
}

exits! {
    Done = 0, "done", "everything that you asked for is done";
    Operational = 1, "failed", "something failed: a file, the device, a run in which nothing became ok, or every scan of a baseline that you asked for";
    Usage = 2, "usage", "the command line makes no sense";
    NoDevice = 3, "no device", "no device can be used";
    Incomplete = 4, "incomplete", "something is left, or the device or the file is in use: run the same command again, with which a sweep continues and a benchmark begins anew; a sweep may also have wrong results among its rows";
    WrongResult = 5, "wrong result", "a result was wrong, also that of a copy (the sweep is then complete), or your operator breaks a law";
    Regression = 6, "regression", "a comparison found a regression";
    Inconclusive = 7, "cannot tell", "a comparison found no regression and could not exclude one";
    InterruptedTwice = 130, "interrupted", "a second Ctrl-C ended the process at once; the same command continues a sweep";
}

impl Exit {
    /// The one with this code.
    pub fn of_code(code: Option<i32>) -> Option<Self> {
        EXITS.iter().map(|(exit, ..)| *exit).find(|exit| Some(i32::from(*exit as u8)) == code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// The widest help.
pub const HELP_WIDTH: usize = 100;

/// The table as text, for `--help`: in lines that have room, because clap breaks longer ones without indenting them.
pub fn help() -> String {
    let width = terminal::width().unwrap_or(HELP_WIDTH).min(HELP_WIDTH);
    let line = |(exit, word, meaning): &(Exit, &str, &str)| {
        terminal::fold(&format!("{:>5}  ", *exit as u8), &format!("{word}: {meaning}"), 7, Some(width))
    };
    let lines: Vec<String> = EXITS.iter().map(line).collect();
    format!("Exit codes:\n{}", lines.join("\n"))
}

/// The command line asks for something that there is not.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// The exit code of an error.
pub fn exit_of(error: &anyhow::Error) -> Exit {
    if error.downcast_ref::<UsageError>().is_some() {
        return Exit::Usage;
    }
    match Cause::of(error) {
        Cause::NoDevice => Exit::NoDevice,
        Cause::Selector => Exit::Usage,
        Cause::Operator => Exit::WrongResult,
        Cause::Postponed => Exit::Incomplete,
        Cause::Other => Exit::Operational,
    }
}

/// How a run has left what it was asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Completion {
    /// Something is left to do.
    pub left: bool,
    /// No worker could go on, and none came to anything before.
    pub stuck: bool,
    /// Results that are wrong.
    pub wrong: u64,
    /// Of something that was asked for (the configs, a baseline) nothing became ok.
    pub nothing_ok: bool,
}

impl Completion {
    /// What it calls for. What is left comes first: a script that goes on until nothing is hears of wrong results then.
    pub fn exit(&self) -> Exit {
        match self {
            Self { left: true, stuck: true, .. } => Exit::Operational,
            Self { left: true, .. } => Exit::Incomplete,
            Self { wrong: 1.., .. } => Exit::WrongResult,
            Self { nothing_ok: true, .. } => Exit::Operational,
            _ => Exit::Done,
        }
    }
}

/// A sentence that begins with `head` for a run in which nothing became `ok`, with the most frequent reason; `None`
/// where something did, and where nothing came to its end.
pub fn nothing_ok<'a>(head: &str, outcomes: impl Iterator<Item = (Status, &'a str)>) -> Option<String> {
    let mut reasons: BTreeMap<(Status, String), u64> = BTreeMap::new();
    let mut all = 0;
    for (status, reason) in outcomes {
        if status == Status::Ok {
            return None;
        }
        *reasons.entry((status, without_defines(reason))).or_default() += 1;
        all += 1;
    }
    // The first of equally frequent ones.
    let ((status, reason), count) = reasons.into_iter().rev().max_by_key(|(_, count)| *count)?;
    let reason = if reason.is_empty() { "no reason is known" } else { &reason };
    Some(format!("{head}; the most frequent outcome, {count} of {all}: {status}: {reason}"))
}

/// A reason without what differs from shader to shader, as `BATCH_SIZE=4`: the same thing is wrong with all of them.
fn without_defines(reason: &str) -> String {
    let is_define = |word: &str| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
    };
    let of_define = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '=');
    let mut left = String::new();
    for word in reason.split(' ') {
        if is_define(word) {
            // What ends the sentence stays.
            left.push_str(word.trim_start_matches(of_define));
        } else {
            left.push_str(if left.is_empty() { "" } else { " " });
            left.push_str(word);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_what_scripts_know() {
        let codes: Vec<u8> = EXITS.iter().map(|(exit, ..)| *exit as u8).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 130]);
        for (exit, ..) in EXITS {
            assert_eq!(Exit::of_code(Some(i32::from(*exit as u8))), Some(*exit));
        }
        assert_eq!(Exit::InterruptedTwice as i32, scanbox_session::signals::INTERRUPTED_TWICE);
        assert_eq!(Exit::of_code(Some(99)), None);
        assert_eq!(Exit::of_code(None), None);
    }

    /// Row by row: the manual has this table and no other row.
    #[test]
    fn the_manual_has_the_table() {
        let manual = include_str!("../../../docs/commands.md");
        let rows = manual.lines().skip_while(|line| !line.starts_with("| exit code |")).skip(2);
        let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
        let expected =
            EXITS.iter().map(|(exit, word, meaning)| format!("| {} | {word} | {meaning} |", *exit as u8));
        assert_eq!(rows, expected.collect::<Vec<_>>());
    }

    #[test]
    fn what_is_left_comes_first_and_nothing_ok_is_no_success() {
        fn check(left: bool, stuck: bool, wrong: u64, ok: u64, expected: Exit) {
            let completion = Completion { left, stuck, wrong, nothing_ok: ok == 0 };
            assert_eq!(completion.exit(), expected, "{completion:?}");
        }
        check(false, false, 0, 1, Exit::Done);
        check(false, false, 0, 0, Exit::Operational);
        check(false, false, 1, 0, Exit::WrongResult);
        check(false, false, 2, 9, Exit::WrongResult);
        check(true, false, 0, 0, Exit::Incomplete);
        check(true, false, 0, 9, Exit::Incomplete);
        check(true, false, 2, 9, Exit::Incomplete);
        check(true, true, 0, 0, Exit::Operational);
    }

    #[test]
    fn the_most_frequent_reason_is_named() {
        fn check(outcomes: &[(Status, &str)], expected: Option<&str>) {
            assert_eq!(nothing_ok("no config became ok", outcomes.iter().copied()).as_deref(), expected);
        }
        use Status::{DeviceLost, Ok, Timeout};
        check(&[], None);
        check(&[(Timeout, "slow"), (Ok, "")], None);
        check(
            &[(Timeout, "slow"), (DeviceLost, "gone"), (Timeout, "slow")],
            Some("no config became ok; the most frequent outcome, 2 of 3: timeout: slow"),
        );
        check(
            &[
                (Status::CompileError, "no such file (a.comp WIDTH=1)"),
                (Timeout, "slow"),
                (Status::CompileError, "no such file (a.comp WIDTH=2 LANES=4)"),
            ],
            Some(
                "no config became ok; the most frequent outcome, 2 of 3: compile_error: no such file (a.comp)",
            ),
        );
        check(
            &[(Timeout, "")],
            Some("no config became ok; the most frequent outcome, 1 of 1: timeout: no reason is known"),
        );
    }
}
