//! A verification as its supervisor sees it: the items that are left, and how those did that are not.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use scanbox_kernels::cases::{Builds, Item};
use scanbox_kernels::catalog::Variant;
use scanbox_kernels::input::Input;
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::record::Status;
use scanbox_runner::subject::Subject;
use scanbox_runner::verify::{FailedCase, ItemVerdict, Tally, VerifyJob};

use crate::event::StepsDone;
use crate::progress::ProgressLine;
use crate::protocol::{ConfigResult, SubjectKey, Work};
use crate::supervise::{Death, Task, WORKERS_PER_CONFIG};

/// Gets a verdict on every item, or on the first that fails of a config.
pub struct VerifyTask<'a> {
    problem: Problem,
    variant: Variant,
    builds: Builds,
    items: &'a [Item],
    /// Places in `items` of those without a verdict.
    left: BTreeSet<usize>,
    places: HashMap<(String, Input), usize>,
    seed: u64,
    fail_fast: bool,
    line: ProgressLine,
    /// Says what a failure looks like.
    remark: &'a dyn Fn(&ItemVerdict) -> String,
    /// Workers that were ended from outside while they ran a config.
    ended: HashMap<Subject, u32>,
    /// How many there are of each kind.
    verdicts: BTreeMap<Status, u64>,
    results: VerifyResults,
}

/// How the configs did.
#[derive(Debug, Default)]
pub struct VerifyResults {
    /// The first failure of each config that has one, in the order in which they were found.
    pub failures: Vec<ItemVerdict>,
    /// What was verified.
    pub tally: Tally,
    /// Configs that were not tried to their end.
    pub unfinished: BTreeSet<Config>,
}

impl VerifyResults {
    /// Configs by status, of `configs` in all.
    pub fn counts(&self, configs: usize) -> BTreeMap<Status, u64> {
        let mut counts = BTreeMap::new();
        for failure in &self.failures {
            *counts.entry(failure.status).or_insert(0) += 1;
        }
        let ok = (configs - self.failures.len() - self.unfinished.len()) as u64;
        if ok > 0 {
            counts.insert(Status::Ok, ok);
        }
        counts
    }
}

impl<'a> VerifyTask<'a> {
    /// The task of getting verdicts on these items, of this build of each config, and of those beside
    /// it. `remark` puts a failure into words.
    pub fn new(
        problem: Problem,
        variant: Variant,
        builds: Builds,
        items: &'a [Item],
        seed: u64,
        fail_fast: bool,
        remark: &'a dyn Fn(&ItemVerdict) -> String,
    ) -> Self {
        let key = |item: &Item| (item.config.to_string(), item.input);
        Self {
            problem,
            variant,
            builds,
            items,
            left: (0..items.len()).collect(),
            places: items.iter().enumerate().map(|(place, item)| (key(item), place)).collect(),
            seed,
            fail_fast,
            line: ProgressLine::new("verify", items.len() as u64),
            remark,
            ended: HashMap::new(),
            verdicts: BTreeMap::new(),
            results: VerifyResults::default(),
        }
    }

    /// Takes the progress away, and gives the results.
    pub fn end(mut self) -> VerifyResults {
        self.line.end();
        self.results.unfinished = self.left.iter().map(|&place| self.items[place].config).collect();
        self.results
    }

    fn conclude(&mut self, verdict: ItemVerdict) {
        self.results.tally.add(&verdict.tally);
        *self.verdicts.entry(verdict.status).or_default() += 1;
        if verdict.status == Status::Ok {
            if let Some(place) = self.places.get(&(verdict.config, verdict.input)) {
                self.left.remove(place);
            }
        } else {
            // One failure is enough: the other inputs of the config are not tried.
            let items = self.items;
            self.left.retain(|&place| items[place].config.to_string() != verdict.config);
            self.line.remark(&(self.remark)(&verdict));
            self.results.failures.push(verdict);
        }
        let (total, failed) = (self.items.len(), self.results.failures.len());
        let tally = self.results.tally;
        let steps = StepsDone {
            done: (total - self.left.len()) as u64,
            total: total as u64,
            rows_by_status: self.verdicts.clone(),
            ..StepsDone::default()
        };
        self.line.steps(steps, || {
            let failed = if failed == 0 { String::new() } else { format!(", {failed} configs not ok") };
            format!("configs on inputs, {} cases, {} elements{failed}", tally.cases, tally.elements)
        });
    }

    /// The verdict on a config that could not give one itself.
    fn conclude_for(&mut self, death: &Death, status: Status, reason: String) {
        let item = death.key.input.and_then(|input| {
            self.places.get(&(death.key.subject.label(), input)).map(|&place| &self.items[place])
        });
        let Some(item) = item else { return };
        let failed = match death.call {
            Some((n, circumstance)) => {
                FailedCase { n, circumstance: Some(circumstance), reason, mismatch: None }
            }
            None => FailedCase { n: death.key.n, circumstance: None, reason, mismatch: None },
        };
        self.conclude(ItemVerdict::failed(&item.config, item.input, status, failed));
    }
}

impl Task for VerifyTask<'_> {
    fn work(&self, one_by_one: bool) -> Work {
        Work::Verify(VerifyJob {
            problem: self.problem,
            items: self.left.iter().map(|&place| self.items[place].clone()).collect(),
            variant: self.variant,
            builds: self.builds,
            seed: self.seed,
            one_by_one,
        })
    }

    fn is_complete(&self) -> bool {
        self.left.is_empty()
    }

    fn has_enough(&self) -> bool {
        self.fail_fast && !self.results.failures.is_empty()
    }

    fn begin(&mut self, _device: &DeviceProfile) -> anyhow::Result<()> {
        Ok(())
    }

    fn remark(&mut self, text: &str) {
        self.line.remark(text);
    }

    fn phase(&mut self, what: &str) {
        self.line.aside(|| what.to_owned());
    }

    fn intend(&mut self, _key: &SubjectKey) -> anyhow::Result<()> {
        Ok(())
    }

    fn finish(&mut self, product: ConfigResult) -> anyhow::Result<()> {
        if let ConfigResult::Verdict(verdict) = product {
            self.conclude(*verdict);
        }
        Ok(())
    }

    fn worker_ended(&mut self, death: &Death, _device: &DeviceProfile) -> anyhow::Result<()> {
        if let Some((status, reason)) = &death.outcome {
            self.conclude_for(death, *status, reason.clone());
            return Ok(());
        }
        let ended = self.ended.entry(death.key.subject.clone()).or_insert(0);
        *ended += 1;
        let ended = *ended;
        if ended >= WORKERS_PER_CONFIG {
            let reason = format!("{ended} workers ended while they ran it; the last one was {}", death.how);
            self.conclude_for(death, Status::Quarantined, reason);
        }
        Ok(())
    }

    fn dropped(&mut self, _key: &SubjectKey) -> anyhow::Result<()> {
        Ok(())
    }
}
