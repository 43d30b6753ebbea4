//! What arguments in memory or in the pipeline cost: each config of a benchmark against itself with push constants.

use std::collections::BTreeMap;

use scanbox_model::config::{Arguments, Config, Kernel};
use scanbox_model::record::{Cache, Record};

use crate::bench::Heat;
use crate::grouping::OWN_SUBJECT;
use crate::interval::{Estimate, longer_ns, times_as_fast};

/// How much longer it may take, as a share of the time with push constants.
pub const MOST_SHARE: f64 = 0.01;
/// The same in nanoseconds: the larger one counts.
pub const MOST_NS: f64 = 30.0;

/// A config at one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgainstPush<'a> {
    /// Hot or cold.
    pub cache: Cache,
    /// Its row.
    pub record: &'a Record,
    /// The row of the same config with push constants.
    pub push: &'a Record,
    /// Medians of a call in nanoseconds: of the row, and with push constants.
    pub ns: [u64; 2],
    /// By how many nanoseconds it takes longer.
    pub longer_ns: Estimate,
    /// How many times as fast it is.
    pub ratio: Estimate,
}

impl AgainstPush<'_> {
    /// How much longer it may take, in nanoseconds.
    #[must_use]
    pub fn most_ns(&self) -> f64 {
        (self.ns[1] as f64 * MOST_SHARE).max(MOST_NS)
    }

    /// Whether it takes longer by no more than that, at the upper end of the interval.
    #[must_use]
    pub fn keeps(&self) -> bool {
        self.longer_ns.interval.high <= self.most_ns()
    }
}

/// Every config that took part both ways, by size and state of the buffers.
#[must_use]
pub fn against_push<'a>(heats: &[Heat<'a>]) -> Vec<AgainstPush<'a>> {
    let mut all = Vec::new();
    for heat in heats {
        let own = heat.subjects.iter().filter(|subject| subject.record.subject == OWN_SUBJECT);
        let by_config: BTreeMap<(&str, Config), _> = own
            .filter_map(|subject| Some(((&*subject.record.run_id, subject.record.config()?), subject)))
            .collect();
        for ((run, config), subject) in &by_config {
            let kernel = Kernel { arguments: Arguments::Push, ..config.kernel };
            let with_push = by_config.get(&(*run, Config { kernel, ..*config }));
            let Some(push) = with_push.filter(|_| config.kernel.arguments != Arguments::Push) else {
                continue;
            };
            let (record, push_record) = (subject.record, push.record);
            if let (Some(longer_ns), Some(ratio)) =
                (longer_ns(record, push_record), times_as_fast(record, push_record))
            {
                let ns = [subject.median_ns, push.median_ns];
                all.push(AgainstPush { cache: heat.cache, record, push: push_record, ns, longer_ns, ratio });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use scanbox_model::record::{Clock, RoundMedians, Status, TimeStats};

    use super::*;
    use crate::bench::heats;

    fn row(config: &str, n: u64, median_ns: u64, rounds: [f64; 3]) -> Record {
        let steady = TimeStats { median_ns, q1_ns: median_ns, q3_ns: median_ns, ..TimeStats::default() };
        Record {
            subject: OWN_SUBJECT.to_owned(),
            config_id: config.to_owned(),
            n_elements: n,
            bytes_moved: 8 * n,
            cache: Some(Cache::Hot),
            status: Status::Ok,
            steady: Some(steady),
            samples: 100,
            rounds: Some(3),
            round_medians_ns: RoundMedians(rounds.map(|ns| ns + median_ns as f64).to_vec()),
            ..Record::default()
        }
    }

    #[test]
    fn a_config_is_held_against_itself() {
        let (push, block) = ("b4.vec4.gather.sub.wg64", "b4.vec4.gather.sub.block.wg64");
        let even = [0.0; 3];
        let rows = [
            row(push, 1024, 2000, even),
            row(block, 1024, 2030, even),
            row("b4.vec4.gather.sub.baked.wg64", 1024, 1500, even),
            // Others of the size, and one whose push form has no row.
            row("b8.vec4.gather.sub.block.wg64", 1024, 1000, even),
            row(push, 2048, 2000, even),
            row(block, 2048, 2031, even),
            // 1 % is more than 30 ns.
            row(push, 4096, 9000, even),
            row(block, 4096, 9080, even),
            // By its median it is level; its rounds cannot say so.
            row(push, 8192, 2000, even),
            row(block, 8192, 2000, [-20.0, 0.0, 20.0]),
        ];
        let heats = heats(&rows, Clock::Steady);
        let found = against_push(&heats);
        let mut told: Vec<_> = found
            .iter()
            .map(|one| (one.record.n_elements, one.longer_ns.value, one.most_ns(), one.keeps()))
            .collect();
        told.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let expected = [
            (1024, -500.0, 30.0, true),
            (1024, 30.0, 30.0, true),
            (2048, 31.0, 30.0, false),
            (4096, 80.0, 90.0, true),
            (8192, 0.0, 30.0, false),
        ];
        assert_eq!(told, expected);
    }
}
