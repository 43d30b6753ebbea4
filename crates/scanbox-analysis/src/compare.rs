//! Two sweeps of one space, before and after: which sizes became slower, beyond what noise and drift explain.
//!
//! Rows are set against each other config by config; what decides are two lines, the ideal line and that of the best
//! kernel of the base. A line has one time per size and run: that of its best config, by confirmed times where both
//! runs have them. Taking the best on both sides keeps the luck of the best in balance: the winner of the base alone
//! was lucky in the base, and would look slower in every other run.
//!
//! A line is what a run can offer. So a config that led the base and is not `ok` any more takes with it what it led by;
//! and whatever that was, the line is not the same ([`Gone`]). A config that worked and does not any more
//! ([`ConfigChange::is_broken`]) is a regression wherever it stands.
//!
//! Two nights differ by more than what changed, so the better question is [`Night`]: what both versions measured
//! tonight, in turns ([`crate::pairs`]). Then the pairs decide, and of the two sweeps only what is gone or broken.
//! Without them all rows of a size speak together (`rows`), and lines where they are clear.
//!
//! A change is `ln(new / base)`, less the drift of the run ([`drift`]). It counts when it is above the threshold and
//! above the noise floor ([`noise`]), which is [`LINE_SIGMAS`] standard deviations of such a change. So the intervals
//! around the two times, each half as wide as the floor, do not overlap. And it has to have been seen more than once:
//! in the rounds of a confirmation, or by the next configs of the line.

pub mod device;
pub mod drift;
pub mod noise;
mod rows;
mod run_rows;

use scanbox_model::record::{Clock, Record, Status};

use self::device::DeviceChange;
use self::drift::Drift;
use self::noise::Noise;
use self::run_rows::{RunRows, Time, differences, unmeasured};
use crate::AnalysisError;
use crate::answers::{Question, answer};
use crate::grouping::{Builder, RecordFile, Runs};
use crate::metric::Metric;
use crate::pairs::{Failed, Judgement, POWER, Pairs, Roles, SINGLE_LIMIT, is_powerless, judge};
use crate::spread::median;
use crate::trust::Trust;
use crate::verdict::breaks;
pub use crate::verdict::{Outcome, USUAL_METRIC, USUAL_PERCENT, Verdict};

/// Standard deviations from which on a change of a line is no chance: 42 lines (21 sizes twice) at 3 in 100,000 each
/// are wrong in 1 of 750 comparisons, where noise is normal, and it has somewhat more weight in its tails.
pub const LINE_SIGMAS: f64 = 4.0;
/// The same for single configs, of which there are thousands.
pub const CONFIG_SIGMAS: f64 = 5.0;
/// So many configs next to the best have to have seen a loss that was not measured in rounds.
const WITNESSES: std::ops::RangeInclusive<usize> = 3..=4;
/// Drift above this leaves nothing that could be compared: a device at another clock has another best config.
pub const DRIFT_LIMIT: f64 = 0.10;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CompareQuestion {
    /// Chooses the kernel of the base whose line decides.
    pub metric: Metric,
    /// Which time.
    pub clock: Clock,
    /// The smallest change that matters, as a share.
    pub threshold: f64,
    /// Whether two models of devices may be compared.
    pub accept_device: bool,
    /// Whether the new run ended before its space did: then a row that is not there says nothing.
    pub new_is_cut: bool,
}

/// What both versions measured tonight.
#[derive(Debug, Clone, Copy)]
pub struct Night<'a> {
    /// Base and new in turns.
    pub pairs: &'a Pairs,
    /// The same of earlier nights with this base, the first one first: how fast the base's own program was then.
    pub earlier: &'a [Pairs],
}

/// A config and its time at one size in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// The label of the config.
    pub config: String,
    /// Its time in nanoseconds.
    pub ns: u64,
    /// Whether that is the time of a confirmation.
    pub confirmed: bool,
}

/// What became of the config that led a line in the base, where it is not `ok` in the new run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gone {
    /// Its label.
    pub config: String,
    /// How it ended in the new run; `None` where it has no row there.
    pub status: Option<Status>,
    /// Why, where it failed.
    pub reason: String,
}

/// A line at one size.
#[derive(Debug, Clone, PartialEq)]
pub struct LineChange {
    /// Input size in elements.
    pub n: u64,
    /// Its best config in the base.
    pub base: Measured,
    /// The same in the new run; `None` where there is none.
    pub new: Option<Measured>,
    /// How much slower, as a share of the base, less the drift; negative is faster.
    pub change: Option<f64>,
    /// The noise floor, as a share; `None` where nothing tells it.
    pub floor: Option<f64>,
    /// The loss that would have been found in 95 of 100 nights, as a share; `None` where nothing tells the noise.
    pub limit: Option<f64>,
    /// What that amounts to.
    pub verdict: Verdict,
    /// How many of its configs ended `ok` in the base and were tried, all in vain, in the new run; 0 where one is `ok`.
    pub lost_configs: usize,
    /// The config that led the base, where the new run has no time of it.
    pub gone: Option<Gone>,
}

/// A config at one size that is `ok` in the base.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigChange {
    /// Input size in elements.
    pub n: u64,
    /// Its label.
    pub config: String,
    /// Its time in the base, in nanoseconds.
    pub base_ns: u64,
    /// Its time in the new run; `None` where it has none.
    pub new_ns: Option<u64>,
    /// As in [`LineChange`].
    pub change: Option<f64>,
    /// As in [`LineChange`], with [`CONFIG_SIGMAS`].
    pub floor: Option<f64>,
    /// What that amounts to.
    pub verdict: Verdict,
    /// How it ended in the new run, where it was tried.
    pub status: Option<Status>,
    /// Why, where it failed.
    pub reason: String,
}

impl ConfigChange {
    /// Whether it was `ok` and is not any more.
    #[must_use]
    pub fn fails_now(&self) -> bool {
        self.status.is_some_and(|status| status != Status::Ok)
    }

    /// Whether it worked, and is wrong, hangs, crashes or cannot be built now. A device that has no memory left for
    /// it, or a rule that takes it out, is no fault of its own.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.status.is_some_and(breaks)
    }
}

/// Another config wins a size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WinnerChange {
    /// Input size in elements.
    pub n: u64,
    /// The winner in the base.
    pub base: String,
    /// The winner in the new run.
    pub new: String,
}

/// Something that two runs should have in common and do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDifference {
    /// What: device, unit, driver, kernels, version.
    pub what: &'static str,
    /// In the base.
    pub base: String,
    /// In the new run.
    pub new: String,
}

/// The whole comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What it comes to.
    pub outcome: Outcome,
    /// What the two runs do not have in common.
    pub differences: Vec<RunDifference>,
    /// How the device as a whole changed its speed, by the two sweeps.
    pub drift: Drift,
    /// What the device lost against the night of the base.
    pub device: DeviceChange,
    /// Whether base and new were measured in turns.
    pub is_paired: bool,
    /// Rows of a size together, and configs that decide alone: by the pairs, else by the sweeps.
    pub judgement: Judgement,
    /// What one of the programs could not run tonight.
    pub failed: Vec<Failed>,
    /// How many configs have a time in both sweeps and were not measured again tonight; 0 without pairs.
    pub unmeasured: usize,
    /// How far the canary ranged within the base and within the new run, as a share.
    pub canary: [Option<f64>; 2],
    /// The ideal line, by size: every size at which the base has an `ok` row.
    pub ideal: Vec<LineChange>,
    /// The label of the best kernel of the base.
    pub kernel: Option<String>,
    /// Its line, by size.
    pub kernel_line: Vec<LineChange>,
    /// Every config that is `ok` in the base, by size and label. They decide nothing.
    pub configs: Vec<ConfigChange>,
    /// Sizes that have another winner.
    pub winners: Vec<WinnerChange>,
    /// Sizes that only the new run has.
    pub new_sizes: Vec<u64>,
}

impl Comparison {
    /// The changes that decide, each with whether it is one of the ideal line.
    pub fn deciding(&self) -> impl Iterator<Item = (bool, &LineChange)> {
        self.ideal
            .iter()
            .map(|change| (true, change))
            .chain(self.kernel_line.iter().map(|change| (false, change)))
    }

    /// Configs that worked and do not any more; wrong results first.
    #[must_use]
    pub fn broken(&self) -> Vec<&ConfigChange> {
        let mut broken: Vec<&ConfigChange> =
            self.configs.iter().filter(|config| config.is_broken()).collect();
        broken.sort_by_key(|config| config.status != Some(Status::WrongResult));
        broken
    }

    /// Whether this run may be the next base: nothing is slower, the device neither, and something is faster.
    #[must_use]
    pub fn may_become_base(&self, threshold: f64) -> bool {
        self.outcome == Outcome::NoRegression && self.is_faster() && !self.device.is_above(threshold)
    }

    /// Whether something that decides is faster.
    #[must_use]
    pub fn is_faster(&self) -> bool {
        self.judgement.verdicts().any(|verdict| verdict == Verdict::Faster)
            || (!self.is_paired && self.ideal.iter().any(|change| change.verdict == Verdict::Faster))
    }

    /// The changes that make a regression, the worst first: a line that is gone before one that is slower.
    #[must_use]
    pub fn guilty(&self) -> Vec<(bool, &LineChange)> {
        let mut guilty: Vec<(bool, &LineChange)> =
            self.deciding().filter(|(_, change)| change.is_regression()).collect();
        let loss = |change: &LineChange| change.change.unwrap_or(f64::INFINITY);
        guilty.sort_by(|(_, a), (_, b)| loss(b).total_cmp(&loss(a)));
        guilty
    }
}

impl LineChange {
    /// Whether the gate has to close for it.
    #[must_use]
    pub fn is_regression(&self) -> bool {
        matches!(self.verdict, Verdict::Slower | Verdict::Lost)
    }
}

/// The configs of a base that decide alone.
///
/// # Errors
/// As [`compare`].
pub fn roles(base: &RecordFile<'_>, question: &CompareQuestion) -> Result<Roles, AnalysisError> {
    let kernel = best_kernel(base, question)?;
    Ok(roles_of(&RunRows::new(base, question.clock, &Trust::of(base.records))?, kernel.as_deref()))
}

fn roles_of(base: &RunRows<'_>, kernel: Option<&str>) -> Roles {
    let best = |of: &dyn Fn(&Record) -> bool| {
        let at = |n: u64| {
            let times: Vec<Time<'_>> = base.times(n).filter(|time| of(time.record)).collect();
            Some((n, Time::best(&times)?.record.config_id.clone()))
        };
        base.sizes().filter_map(at).collect()
    };
    Roles {
        shipped: best(&|_| true),
        kernel: kernel.map_or_else(Default::default, |kernel| best(&|record| record.kernel_id == kernel)),
    }
}

/// Compares a new run with a base; `night` is what both versions measured tonight, if they did.
///
/// # Errors
/// When a file has rows of several devices or labels that are none, or the two are of different models.
pub fn compare(
    base: &RecordFile<'_>,
    new: &RecordFile<'_>,
    question: &CompareQuestion,
    night: Option<&Night<'_>>,
) -> Result<Comparison, AnalysisError> {
    // Both read every label: from here on labels are only compared.
    let kernel = best_kernel(base, question)?;
    Builder::new(question.clock).add(new)?;
    // What is wrong now was not wrong in the base; what was wrong there is wrong now, where it is the same program.
    let (before, both) = (Trust::of(base.records), Trust::of(base.records.iter().chain(new.records)));
    let sides = [RunRows::new(base, question.clock, &before)?, RunRows::new(new, question.clock, &both)?];
    let differences = differences(&sides, question)?;
    let [base, new] = &sides;
    let drift = Drift::between(base, new);
    let canary = [base.canary_range(), new.canary_range()];
    let noise = Noise::between(base, new, &drift);
    let judgement = match night {
        Some(night) => judge(night.pairs, &roles_of(base, kernel.as_deref()), question.threshold),
        None => rows::judge(base, new, &drift, &noise, question.threshold),
    };
    let is_paired = night.is_some();
    let judge = SweepJudge { question, drift: &drift, noise: &noise, canary, base, new, is_paired };
    let lines = |belongs: &dyn Fn(&Record) -> bool| {
        let mut line = judge.line(belongs);
        if is_paired {
            judge.as_paired(&mut line, &judgement);
        }
        line
    };
    let ideal = lines(&|_| true);
    let kernel_line =
        kernel.as_ref().map_or_else(Vec::new, |kernel| lines(&|record| record.kernel_id == *kernel));
    let configs = judge.configs();
    let mut comparison = Comparison {
        outcome: Outcome::Inconclusive,
        differences,
        canary,
        device: DeviceChange::between(base, night, &drift),
        is_paired,
        judgement,
        failed: night.map_or_else(Vec::new, |night| night.pairs.failed.clone()),
        unmeasured: night.map_or(0, |night| unmeasured(night.pairs, &configs)),
        ideal,
        kernel,
        kernel_line,
        configs,
        winners: judge.winners(),
        new_sizes: new.sizes().filter(|&n| base.winner(n).is_none()).collect(),
        drift,
    };
    comparison.outcome = outcome(&comparison, question);
    Ok(comparison)
}

fn outcome(comparison: &Comparison, question: &CompareQuestion) -> Outcome {
    let verdicts =
        || comparison.deciding().map(|(_, change)| change.verdict).chain(comparison.judgement.verdicts());
    let device = &comparison.device;
    if comparison.configs.iter().any(ConfigChange::is_broken)
        || comparison.failed.iter().any(Failed::is_regression)
        || verdicts().any(|verdict| matches!(verdict, Verdict::Slower | Verdict::Lost))
        || device.is_slower()
    {
        return Outcome::Regression;
    }
    let drift = &comparison.drift;
    // The two sweeps are of two nights; pairs are of one.
    let is_unsettled = !comparison.is_paired
        && (drift.removed.abs() > DRIFT_LIMIT
            || drift.is_unexplained(question.threshold)
            || drift.scans_against_ceilings().is_some_and(|alone| alone > question.threshold));
    if comparison.ideal.is_empty()
        || verdicts()
            .any(|verdict| matches!(verdict, Verdict::Unclear | Verdict::Missing | Verdict::Unmeasured))
        || is_unsettled
        || device.is_doubtful()
    {
        return Outcome::Inconclusive;
    }
    Outcome::NoRegression
}

/// The best kernel of a run by the metric; where kernels have no size in common, the best of those that have the most
/// sizes.
fn best_kernel(source: &RecordFile<'_>, question: &CompareQuestion) -> Result<Option<String>, AnalysisError> {
    let mut builder = Builder::new(question.clock);
    builder.add(source)?;
    let (tables, _) = builder.finish(Runs::Latest);
    let asked = Question { metric: question.metric, include_software: true, ..Question::default() };
    let (answers, _) = answer(&tables, &asked);
    let chosen = answers.devices.first().and_then(|device| device.choice.as_ref());
    Ok(chosen.map(|choice| tables.catalog.kernel(choice.ranking.winner.kernel).to_string()))
}

/// Two runs, and what is known of their noise.
struct SweepJudge<'a> {
    question: &'a CompareQuestion,
    drift: &'a Drift,
    noise: &'a Noise,
    canary: [Option<f64>; 2],
    base: &'a RunRows<'a>,
    new: &'a RunRows<'a>,
    is_paired: bool,
}

impl SweepJudge<'_> {
    /// A line by pairs: its leader's own change, and what became of it where it is gone.
    fn as_paired(&self, line: &mut [LineChange], judgement: &Judgement) {
        for change in line {
            let single = judgement
                .singles
                .iter()
                .find(|single| single.n == change.n && single.config == change.base.config);
            if change.gone.is_none() {
                change.change = single.and_then(|single| single.change);
                change.limit = single.and_then(|single| single.limit);
                change.floor = change.limit;
                change.verdict = single.map_or(Verdict::Unmeasured, |single| single.verdict);
            }
        }
    }

    /// The line of the configs that `belongs` accepts.
    fn line(&self, belongs: impl Fn(&Record) -> bool) -> Vec<LineChange> {
        self.base.sizes().filter_map(|n| self.line_at(n, &belongs)).collect()
    }

    fn line_at(&self, n: u64, belongs: impl Fn(&Record) -> bool) -> Option<LineChange> {
        let [base, new]: [Vec<Time<'_>>; 2] =
            [self.base, self.new].map(|by| by.times(n).filter(|time| belongs(time.record)).collect());
        let base_best = Time::best(&base)?;
        let gone = self.gone(n, &base_best);
        let Some(new_best) = Time::best(&new) else {
            let tried = |time: &&Time<'_>| self.new.has_tried(n, &time.record.config_id);
            return Some(missing(n, &base_best, base.iter().filter(tried).count(), gone));
        };
        let times = base.clone();
        // One sort of time on both sides. Pairs are judged by themselves: there the base's leader is what counts.
        let is_one_sort = base_best.is_confirmed() && new_best.is_confirmed();
        let (base, new) = if is_one_sort || (self.is_paired && gone.is_none()) {
            (base_best, new_best)
        } else {
            (Time::fastest(&base)?, Time::fastest(&new)?)
        };
        let Judged { change, floor, limit, mut verdict } = self.verdict(n, &base, &new, LINE_SIGMAS);
        let in_rounds = base.rounds().is_some() && new.rounds().is_some();
        if verdict == Verdict::Slower && !in_rounds && !self.is_seen_by_others(n, change, &base, &times) {
            verdict = Verdict::Unclear;
        }
        if let Some(gone) = &gone {
            verdict = self.without_leader(gone, verdict);
        }
        Some(LineChange {
            n,
            base: base.measured(),
            new: Some(new.measured()),
            change: Some(change),
            floor,
            limit,
            verdict,
            lost_configs: 0,
            gone,
        })
    }

    /// What became of the config that led the base, where the new run has no time of it.
    fn gone(&self, n: u64, leader: &Time<'_>) -> Option<Gone> {
        let config = &leader.record.config_id;
        if self.new.time(n, config).is_some() {
            return None;
        }
        let end = self.new.end(n, config);
        Some(Gone {
            config: config.clone(),
            status: end.map(|(status, _)| status),
            reason: end.map(|(_, reason)| reason.to_owned()).unwrap_or_default(),
        })
    }

    /// The verdict on a line whose leader is gone: by the best of the others it can be anything, and is never the same.
    fn without_leader(&self, gone: &Gone, by_others: Verdict) -> Verdict {
        match (gone.status, by_others) {
            (Some(_), Verdict::Slower) => Verdict::Lost,
            (Some(status), _) if breaks(status) => Verdict::Lost,
            (None, Verdict::Slower) if !self.question.new_is_cut => Verdict::Lost,
            _ => Verdict::Missing,
        }
    }

    /// Whether the next fastest configs of a line have lost at least half as much, by their median; one of which the
    /// new run has no time has lost everything. A config that was measured once in each run may have been off once:
    /// one row in some thousands is, by 6 % and more, and its samples do not show it.
    fn is_seen_by_others(&self, n: u64, change: f64, best: &Time<'_>, line: &[Time<'_>]) -> bool {
        let mut others: Vec<&Time<'_>> =
            line.iter().filter(|time| time.record.config_id != best.record.config_id).collect();
        others.sort_by_key(|time| time.unconfirmed().ns);
        let changes = others.into_iter().map(|time| match self.new.time(n, &time.record.config_id) {
            Some(new) => {
                (new.unconfirmed().ns as f64 / time.unconfirmed().ns as f64).ln() - self.drift.removed
            }
            None => f64::INFINITY,
        });
        let mut changes: Vec<f64> = changes.take(*WITNESSES.end()).collect();
        WITNESSES.contains(&changes.len()) && median(&mut changes) > Some(0.5 * change.ln_1p())
    }

    /// Every config that is `ok` in the base.
    fn configs(&self) -> Vec<ConfigChange> {
        let mut changes = Vec::new();
        for n in self.base.sizes() {
            for base in self.base.times(n) {
                let base = base.unconfirmed();
                let config = &base.record.config_id;
                let end = self.new.end(n, config);
                let new = self.new.time(n, config).map(|new| new.unconfirmed());
                let judged = new.as_ref().map(|new| self.verdict(n, &base, new, CONFIG_SIGMAS));
                changes.push(ConfigChange {
                    n,
                    config: config.clone(),
                    base_ns: base.ns,
                    new_ns: new.map(|new| new.ns),
                    change: judged.map(|judged| judged.change),
                    floor: judged.and_then(|judged| judged.floor),
                    verdict: judged.map_or(Verdict::Missing, |judged| judged.verdict),
                    status: end.map(|(status, _)| status),
                    reason: end.map(|(_, reason)| reason.to_owned()).unwrap_or_default(),
                });
            }
        }
        changes
    }

    fn winners(&self) -> Vec<WinnerChange> {
        let change = |n: u64| {
            let (base, new) = (self.base.winner(n)?, self.new.winner(n)?);
            let (base, new) = (&base.record.config_id, &new.record.config_id);
            (base != new).then(|| WinnerChange { n, base: base.clone(), new: new.clone() })
        };
        self.base.sizes().filter_map(change).collect()
    }

    /// What two times say. Nothing is the same that could not have been seen, or looks slower by more than matters.
    fn verdict(&self, n: u64, base: &Time<'_>, new: &Time<'_>, sigmas: f64) -> Judged {
        let change = (new.ns as f64 / base.ns as f64).ln() - self.drift.removed;
        let sigma = self.noise.of_change(n, base, new);
        // A canary that ranges further than noise makes it says that the device changed its speed within a run.
        let canary = self.canary.iter().flatten().fold(0.0, |a: f64, &b| a.max(b));
        let unsteady = self.noise.of_rows(n).map_or(0.0, |sigma| canary - LINE_SIGMAS * sigma);
        let floor = sigma.map(|sigma| (sigmas * sigma).max(unsteady));
        let threshold = self.question.threshold.ln_1p();
        let limit = floor.zip(sigma).map(|(floor, sigma)| threshold.max(floor) + POWER * sigma);
        let verdict = match floor.zip(limit) {
            Some((floor, _)) if change > threshold.max(floor) => Verdict::Slower,
            Some((floor, _)) if change < -threshold.max(floor) => Verdict::Faster,
            // Getting faster never needs to be made sure of.
            Some((_, limit)) if change <= threshold && !is_powerless(limit, SINGLE_LIMIT, threshold) => {
                Verdict::Same
            }
            _ => Verdict::Unclear,
        };
        let share = |log: Option<f64>| log.map(f64::exp_m1);
        Judged { change: change.exp_m1(), floor: share(floor), limit: share(limit), verdict }
    }
}

/// What two times say; all numbers are shares.
#[derive(Debug, Clone, Copy)]
struct Judged {
    change: f64,
    floor: Option<f64>,
    limit: Option<f64>,
    verdict: Verdict,
}

/// A line of which the new run has no time at all.
fn missing(n: u64, base: &Time<'_>, lost_configs: usize, gone: Option<Gone>) -> LineChange {
    LineChange {
        n,
        base: base.measured(),
        new: None,
        change: None,
        floor: None,
        limit: None,
        verdict: if lost_configs > 0 { Verdict::Lost } else { Verdict::Missing },
        lost_configs,
        gone,
    }
}
