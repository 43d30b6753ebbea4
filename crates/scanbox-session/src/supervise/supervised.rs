//! How a supervised run went.

use std::collections::BTreeMap;

use scanbox_runner::session::End;

/// How a run went.
pub struct Supervised {
    /// How it ended.
    pub end: End,
    /// Where the time of the workers went, by phase, in seconds.
    pub seconds: BTreeMap<String, f64>,
    /// Workers that had to be replaced.
    pub replaced: u32,
    /// Those of them that were ended by nobody else while no config ran, behind one that had come to its end: it may
    /// have left something broken.
    pub crashed: u32,
    /// Configs that came to their end.
    pub finished: u64,
    /// What was going on when the run had to stop, where that was before its first config.
    pub set_up: Option<String>,
    /// Why no worker could go on, with [`End::DeviceUnusable`].
    pub trouble: Option<String>,
}

impl Supervised {
    /// A run that had to stop before it had a worker.
    pub(crate) fn stopped(end: End) -> Self {
        Self {
            end,
            seconds: BTreeMap::new(),
            replaced: 0,
            crashed: 0,
            finished: 0,
            set_up: None,
            trouble: None,
        }
    }

    /// This run and the one after it.
    #[must_use]
    pub fn then(mut self, next: Self) -> Self {
        for (phase, time) in next.seconds {
            *self.seconds.entry(phase).or_default() += time;
        }
        Self {
            end: next.end,
            replaced: self.replaced + next.replaced,
            crashed: self.crashed + next.crashed,
            finished: self.finished + next.finished,
            set_up: self.set_up,
            trouble: next.trouble,
            ..self
        }
    }

    /// What is wrong where no worker could go on, and what helps.
    pub fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.as_ref()?;
        Some(format!("{trouble}; no config is to blame; `scanbox doctor` looks for the cause"))
    }
}
