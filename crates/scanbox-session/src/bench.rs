//! A benchmark as its supervisor sees it: the sizes that are left, and the rows of those that are not.
//!
//! A size is done when all of its rows are there: blocks of subjects that alternate cannot be continued by another
//! worker. A worker that ends takes its size with it; the next one measures that size again, without the subject that
//! the worker ended on, which has its rows by then.

use std::collections::{BTreeMap, HashMap, HashSet};

use scanbox_kernels::catalog::Variant;
use scanbox_model::call_form::CallForm;
use scanbox_model::csv_file;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::{Cache, Record, Status};
use scanbox_model::units::size_label;
use scanbox_runner::baseline::Greeting;
use scanbox_runner::bench::{BenchJob, EmptyCall, Selected, blank, external_row};
use scanbox_runner::row::now_utc;
use scanbox_runner::subject::Subject;

use crate::progress::ProgressLine;
use crate::protocol::{BenchWork, ConfigResult, SubjectKey, Work};
use crate::supervise::{Death, Task, WORKERS_PER_CONFIG};

/// What comes of a benchmark.
pub enum News {
    /// A row.
    Row(Box<Record>),
    /// The last row of a size has come.
    SizeFinished(u64),
}

/// What a row is known by: config, version, blocking, form of its calls, size, cache state.
type BenchRowKey = (String, String, Option<u32>, Option<CallForm>, u64, Option<Cache>);

/// Gets the rows of every size.
pub struct BenchTask<'a> {
    left: BTreeMap<u64, Vec<Selected>>,
    sizes: u64,
    /// Without its sizes.
    work: BenchWork,
    /// Rows that have come.
    rows: HashSet<BenchRowKey>,
    /// Workers that were ended from outside while they ran a subject.
    ended: HashMap<(Subject, u64), u32>,
    /// What the baselines said about themselves.
    pub greetings: Vec<Greeting>,
    /// The same of those that take no part any more.
    left_out: Vec<Greeting>,
    /// What calls cost that do nothing.
    pub empty_calls: Vec<EmptyCall>,
    line: ProgressLine,
    sink: &'a mut dyn FnMut(News) -> anyhow::Result<()>,
}

impl<'a> BenchTask<'a> {
    /// The task of getting all rows of this work to `sink`. Progress calls it `what`.
    pub fn new(what: &str, mut work: BenchWork, sink: &'a mut dyn FnMut(News) -> anyhow::Result<()>) -> Self {
        let sizes = std::mem::take(&mut work.job.sizes);
        let count = sizes.len() as u64;
        Self {
            left: sizes.into_iter().collect(),
            sizes: count,
            work,
            rows: HashSet::new(),
            ended: HashMap::new(),
            greetings: Vec::new(),
            left_out: Vec::new(),
            empty_calls: Vec::new(),
            line: ProgressLine::new(what, count),
            sink,
        }
    }

    /// Takes the progress away; what the baselines said about themselves, and what empty calls cost.
    pub fn end(mut self) -> (Vec<Greeting>, Vec<EmptyCall>) {
        self.line.end();
        self.greetings.append(&mut self.left_out);
        (self.greetings, self.empty_calls)
    }

    /// A baseline that ends workers takes no part any more, and has rows that say so at all sizes that are left: it has
    /// none of its own that could keep it from being tried for ever.
    fn leave_out_baseline(
        &mut self,
        name: &str,
        device: &DeviceProfile,
        status: Status,
        reason: &str,
    ) -> anyhow::Result<()> {
        let is_it = |greeting: &Greeting| {
            greeting.tool == name || greeting.subjects.iter().any(|subject| subject.name == name)
        };
        let Some(place) = self.greetings.iter().position(is_it) else { return Ok(()) };
        let greeting = self.greetings.remove(place);
        self.work.baselines.remove(place);
        let BenchJob { computation, input, caches, .. } = &self.work.job;
        let mut rows = Vec::new();
        for &n in self.left.keys() {
            for subject in greeting.taking_part(&computation.problem, input) {
                let row = external_row(&greeting, subject, n, &self.work.job, device);
                let row = Record { status, reason: reason.to_owned(), timestamp_utc: now_utc(), ..row };
                rows.extend(caches.iter().map(|&cache| Record { cache: Some(cache), ..row.clone() }));
            }
        }
        self.left_out.push(greeting);
        rows.into_iter().try_for_each(|row| self.row(row))
    }

    fn leave_out_empty_calls(&mut self) {
        self.work.job.empty_calls = false;
        self.left.values_mut().for_each(|all| all.retain(|one| one.subject != Subject::Empty));
    }

    fn row(&mut self, record: Record) -> anyhow::Result<()> {
        // A size that is measured again has some of its rows already.
        // Two versions of a baseline have subjects of the same name.
        let version = record.subject_version.clone();
        let (config, size) = (record.config_id.clone(), record.n_elements);
        if !self.rows.insert((config, version, record.blocking, record.call_form, size, record.cache)) {
            return Ok(());
        }
        if record.status != Status::Ok {
            let (config, size) = (&record.config_id, size_label(record.n_elements));
            let blocked = Variant::blocked(record.blocking);
            let variant = record.call_form.map_or(blocked, |form| Variant::of_form(form, record.n_elements));
            self.line.remark(&format!("{}: {config}{variant} at {size}: {}", record.status, record.reason));
            if let Some(selected) = self.left.get_mut(&record.n_elements) {
                selected.retain(|Selected { subject, .. }| {
                    let Variant { blocking, .. } = subject.variant();
                    let form = subject.variant().form(record.n_elements);
                    (subject.label(), blocking, form)
                        != (record.config_id.clone(), record.blocking, record.call_form)
                });
            }
        }
        (self.sink)(News::Row(Box::new(record)))
    }

    /// What becomes of a subject that ended its worker.
    fn rows_of_death(
        &mut self,
        death: &Death,
        device: &DeviceProfile,
        status: Status,
        reason: &str,
    ) -> anyhow::Result<()> {
        match &death.key.subject {
            Subject::External { name } => self.leave_out_baseline(name, device, status, reason),
            _ => self.rows_for(&death.key, device, status, reason),
        }
    }

    /// The rows of a subject that could not give them itself.
    fn rows_for(
        &mut self,
        key: &SubjectKey,
        device: &DeviceProfile,
        status: Status,
        reason: &str,
    ) -> anyhow::Result<()> {
        let at_size = self.left.get(&key.n);
        let selected = at_size.and_then(|all| all.iter().find(|one| one.subject == key.subject));
        let Some(selected) = selected.cloned() else { return Ok(()) };
        let BenchJob { computation, input, origin, .. } = &self.work.job;
        let record = Record {
            status,
            reason: reason.to_owned(),
            timestamp_utc: now_utc(),
            ..blank(&selected, key.n, computation, input, device, origin)
        };
        for cache in self.work.job.caches.clone() {
            self.row(Record { cache: Some(cache), ..record.clone() })?;
        }
        Ok(())
    }
}

impl Task for BenchTask<'_> {
    fn work(&self, one_by_one: bool) -> Work {
        let mut work = self.work.clone();
        work.job.sizes = self.left.iter().map(|(n, selected)| (*n, selected.clone())).collect();
        work.job.one_by_one = one_by_one;
        Work::Bench(work)
    }

    fn is_complete(&self) -> bool {
        self.left.is_empty()
    }

    fn begin(&mut self, _device: &DeviceProfile) -> anyhow::Result<()> {
        self.greetings.clear();
        Ok(())
    }

    fn remark(&mut self, text: &str) {
        self.line.remark(text);
    }

    fn phase(&mut self, what: &str) {
        self.line.phase(what);
    }

    fn greeted(&mut self, greeting: Greeting) {
        let BenchJob { computation, input, .. } = &self.work.job;
        let lacking = match greeting.lacks(&computation.problem, input) {
            true => format!(", which has no {}: its rows say so", computation.problem.title()),
            false => String::new(),
        };
        self.line.remark(&format!("baseline: {} {}{lacking}", greeting.tool, greeting.version));
        self.greetings.push(greeting);
    }

    fn empty_call(&mut self, call: Result<EmptyCall, String>) {
        match call {
            Ok(call) => {
                // Another worker measures them again.
                let size = |call: &EmptyCall| call.beside.map(|beside| beside.n);
                self.empty_calls.retain(|before| before.of != call.of || size(before) != size(&call));
                self.empty_calls.push(call);
            }
            Err(reason) => {
                self.line.remark(&reason);
                // If it has cost the device, the next worker goes on without.
                self.leave_out_empty_calls();
            }
        }
    }

    fn size_finished(&mut self, n: u64) -> anyhow::Result<()> {
        self.left.remove(&n);
        let (done, total) = (self.sizes - self.left.len() as u64, self.sizes);
        self.line.step(done, total, || format!("sizes, the last one {}", size_label(n)));
        (self.sink)(News::SizeFinished(n))
    }

    fn intend(&mut self, key: &SubjectKey) -> anyhow::Result<()> {
        self.line.aside(|| format!("{} at {}", key.subject, size_label(key.n)));
        Ok(())
    }

    fn finish(&mut self, product: ConfigResult) -> anyhow::Result<()> {
        match product {
            ConfigResult::Row(row) => self.row(csv_file::read_row(&row)?),
            ConfigResult::Verdict(_) => Ok(()),
        }
    }

    fn worker_ended(&mut self, death: &Death, device: &DeviceProfile) -> anyhow::Result<()> {
        if death.key.subject == Subject::Empty {
            // It has no rows that could keep it from being tried for ever.
            self.line
                .remark(&format!("an empty call could not be measured: the worker ended ({})", death.how));
            self.leave_out_empty_calls();
            return Ok(());
        }
        if let Some((status, reason)) = &death.outcome {
            return self.rows_of_death(death, device, *status, reason);
        }
        let ended = self.ended.entry((death.key.subject.clone(), death.key.n)).or_insert(0);
        *ended += 1;
        if *ended >= WORKERS_PER_CONFIG {
            let reason = format!("{ended} workers ended while they ran it; the last one was {}", death.how);
            return self.rows_of_death(death, device, Status::Quarantined, &reason);
        }
        Ok(())
    }

    fn dropped(&mut self, _key: &SubjectKey) -> anyhow::Result<()> {
        Ok(())
    }
}
