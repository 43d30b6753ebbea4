//! Runs that come to the same again and again: whoever starts the same command once more has to look first.

use scanbox_model::metadata::Run;
use scanbox_model::shard::ShardOf;

use super::SweepFile;

/// Runs in a row that may end before their first row.
const RUNS_WITHOUT_PROGRESS: usize = 3;

/// Times in a row that the anchors of a shard may drift.
const SWEEPS_WITH_DRIFT: usize = 3;

impl SweepFile {
    /// What is wrong where one run after the other ends before its first row, this one too, and so many points are
    /// left: more runs of the same kind come to nothing either.
    pub fn without_progress(&self, left: usize) -> Option<String> {
        // The rows of one whose anchors drifted were taken back: it had some.
        let drifted = |run: &Run| run.outcome.as_ref().is_some_and(|outcome| outcome.drifted_pct.is_some());
        let is_idle = |run: &&Run| run.rows == 0 && !drifted(run);
        let idle = self.metadata.runs.iter().rev().take_while(is_idle).count();
        (left > 0 && idle >= RUNS_WITHOUT_PROGRESS).then(|| {
            format!(
                "{idle} runs in a row have ended before their first row; give a run more time, or less to set up: fewer \
                 sizes, and a --cache that stays"
            )
        })
    }

    /// The drift of the anchors, where it takes the times of this file back.
    pub fn drifted_pct(&self) -> Option<f64> {
        self.metadata.shard.as_ref().and_then(ShardOf::drifted_pct)
    }

    /// What is wrong where anchors drift whenever the shard is measured, this time too: measuring it once more comes to
    /// the same.
    pub fn without_speed(&self) -> Option<String> {
        self.drifted_pct()?;
        let outcomes = self.metadata.runs.iter().rev().filter_map(|run| run.outcome.as_ref());
        let before = outcomes.filter(|outcome| outcome.points_left == 0);
        let drifted = before.take_while(|outcome| outcome.drifted_pct.is_some()).count() + 1;
        (drifted >= SWEEPS_WITH_DRIFT).then(|| {
            format!(
                "the anchors drifted {drifted} times in a row: the device does not keep its speed; fix its clocks, see what \
                 else runs on it, or take another one; `scanbox merge --keep-units` takes the rows as they are"
            )
        })
    }
}
