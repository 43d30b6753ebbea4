//! What a run says on stderr: lines for people, or an object of JSON per line for programs.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, OnceLock};

use indicatif::ProgressBar;
use scanbox_model::units::printable;

use crate::event::{NoteLevel, ProgressEvent, ProgressForm};

/// How this process speaks on stderr.
#[derive(Debug, Clone, Copy, Default)]
pub struct Voice {
    /// Only errors are said.
    pub quiet: bool,
    /// Whether "error" and "warning" have a colour.
    pub colour: bool,
    /// Somebody asked for a log (`-v`, `RUST_LOG`): it is said even where the rest is not.
    pub logs: bool,
    /// How progress is shown.
    pub progress: ProgressForm,
    /// Breaks a message where the terminal ends; none: nothing does.
    pub wrap: Option<fn(&str) -> String>,
}

static VOICE: OnceLock<Voice> = OnceLock::new();

/// The bar that is on the terminal: lines appear above it.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

impl Voice {
    /// Has this process speak so from now on. The first call counts.
    pub fn set(self) {
        let _ = VOICE.set(self);
    }

    /// How this process speaks.
    pub fn get() -> Self {
        VOICE.get().copied().unwrap_or_default()
    }

    /// How progress is shown: never [`ProgressForm::Auto`].
    pub fn progress(self) -> ProgressForm {
        match self.progress {
            ProgressForm::Auto if self.quiet => ProgressForm::None,
            ProgressForm::Auto | ProgressForm::Bar if std::io::stderr().is_terminal() => ProgressForm::Bar,
            ProgressForm::Auto | ProgressForm::Bar => ProgressForm::Plain,
            form => form,
        }
    }
}

/// Says a line on stderr, with the level that it begins with (`error:`, `warning:`). A closed stderr is nobody's
/// problem.
pub fn note(line: &str) {
    let voice = Voice::get();
    let level = NoteLevel::of(line);
    if voice.quiet && level != NoteLevel::Error {
        return;
    }
    say(voice, level, line);
}

/// Passes on what another process, or a log, says.
pub fn pass_on(line: &str) {
    let voice = Voice::get();
    let level = NoteLevel::of(line);
    if !voice.quiet || voice.logs || level == NoteLevel::Error {
        say(voice, level, line);
    }
}

/// Passes on what a process says that works for this one and speaks as it does, with its name.
pub fn pass_on_of(name: &str, line: &str) {
    if Voice::get().progress() == ProgressForm::Json
        && let Ok(serde_json::Value::Object(mut said)) = serde_json::from_str(line)
    {
        said.insert("device".to_owned(), name.into());
        write_line(&serde_json::Value::Object(said).to_string());
        return;
    }
    // It is as quiet as this one, and its errors are.
    say(Voice::get(), NoteLevel::of(line), &format!("{name}: {line}"));
}

/// Says a line of JSON, where progress is JSON.
pub fn event(event: &ProgressEvent) {
    if Voice::get().progress() == ProgressForm::Json
        && let Ok(line) = serde_json::to_string(event)
    {
        write_line(&line);
    }
}

fn say(voice: Voice, level: NoteLevel, line: &str) {
    if voice.progress() == ProgressForm::Json {
        event(&ProgressEvent::Note { level, text: line.to_owned() });
        return;
    }
    let line = printable(line);
    let line = match voice.wrap {
        Some(wrap) => wrap(&line).into(),
        None => line,
    };
    match level.colour().filter(|_| voice.colour) {
        Some(colour) => {
            let (head, rest) = line.split_once(':').unwrap_or((&line, ""));
            write_line(&format!("{colour}{head}:\u{1b}[0m{rest}"));
        }
        None => write_line(&line),
    }
}

fn write_line(line: &str) {
    let write = || drop(writeln!(std::io::stderr(), "{line}"));
    match BAR.lock().ok().and_then(|bar| bar.clone()) {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Has lines appear above this bar; `None`: there is none.
pub(crate) fn set_bar(bar: Option<ProgressBar>) {
    if let Ok(mut current) = BAR.lock() {
        *current = bar;
    }
}
