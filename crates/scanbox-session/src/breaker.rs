//! Ends what hangs on a device, before every config of its kind has cost a reset.
//!
//! Configs that wait alike ([`catalog::waiting`]) hang alike. After three of a kind that timed out or lost the device,
//! unless more of them became ok there, the others get rows that say so, from the smallest of those sizes upward: where
//! fewer elements leave nobody to wait for, all of them may run. A config that hangs at three sizes ends itself in the
//! same way, and says nothing about others. What counts are the rows of the file, so that a sweep that is continued
//! goes on with it, and `--retry-failed`, which takes them away, tries again.

use std::collections::{BTreeMap, BTreeSet};

use scanbox_kernels::catalog::{self, Waiting};
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::{Record, Status};
use scanbox_model::space::Point;

/// How many configs of a kind end it, or sizes of a config.
const ENOUGH: usize = 3;

/// What hangs from a size on.
#[derive(Debug)]
pub struct Hanging {
    waiting: Waiting,
    /// It alone; none where it is the kind.
    config: Option<Config>,
    from: u64,
    /// The first ones that showed it.
    culprits: Vec<(Config, u64)>,
}

impl Hanging {
    /// Whether this point is not to be tried.
    pub fn ends(&self, point: &Point, device: &DeviceProfile) -> bool {
        point.n >= self.from
            && self.config.is_none_or(|config| config == point.config)
            && catalog::waiting(&point.config, device).as_ref() == Some(&self.waiting)
    }

    /// What the rows of the others say.
    pub fn why_ended(&self) -> String {
        let words =
            |guarantees: &[_]| guarantees.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let what = if self.config.is_some() { "it" } else { "its kind of waiting" };
        let culprits: Vec<String> =
            self.culprits.iter().map(|(config, n)| format!("{config} at {n}")).collect();
        format!(
            "not tried: {what} hangs here from {} elements on ({}; it needs {}): {}; a device without that has kernels with \
             fallback or by levels; without --assume and with `scanbox devices --probe` nothing of it is tried, \
             with --retry-failed all of it again [waiting-hangs]",
            self.from,
            self.waiting,
            words(&self.waiting.guarantees),
            culprits.join(", ")
        )
    }
}

/// The rows of a kind, in their order.
#[derive(Default)]
struct Tried {
    hung: Vec<(Config, u64)>,
    ok: Vec<(Config, u64)>,
}

/// What hangs of that which is left: whole kinds first.
pub fn hanging<'a>(
    records: &[Record],
    left: impl IntoIterator<Item = &'a Point>,
    device: &DeviceProfile,
) -> Vec<Hanging> {
    let mut kinds: BTreeMap<Waiting, (Tried, BTreeSet<Config>)> = BTreeMap::new();
    for point in left {
        if let Some(waiting) = catalog::waiting(&point.config, device) {
            kinds.entry(waiting).or_default().1.insert(point.config);
        }
    }
    if kinds.is_empty() {
        return Vec::new();
    }
    for record in records {
        let Ok(config) = record.config_id.parse::<Config>() else { continue };
        let kind = catalog::waiting(&config, device).and_then(|waiting| kinds.get_mut(&waiting));
        let Some((tried, _)) = kind else { continue };
        match record.status {
            Status::Timeout | Status::DeviceLost => tried.hung.push((config, record.n_elements)),
            Status::Ok => tried.ok.push((config, record.n_elements)),
            _ => {}
        }
    }
    let (mut all, mut alone) = (Vec::new(), Vec::new());
    for (waiting, (tried, left)) in &kinds {
        if let Some((from, culprits)) = begins(&tried.hung, &tried.ok, |(config, _)| *config) {
            all.push(Hanging { waiting: waiting.clone(), config: None, from, culprits });
        }
        for config in left {
            let of_it = |rows: &[(Config, u64)]| -> Vec<_> {
                rows.iter().filter(|(other, _)| other == config).copied().collect()
            };
            if let Some((from, culprits)) = begins(&of_it(&tried.hung), &of_it(&tried.ok), |(_, n)| *n) {
                alone.push(Hanging { waiting: waiting.clone(), config: Some(*config), from, culprits });
            }
        }
    }
    all.append(&mut alone);
    all
}

/// The smallest of the sizes that hung from which on enough others did, and no more became ok; and the first of them.
/// `other`: what tells them apart.
fn begins<K: Ord>(
    hung: &[(Config, u64)],
    ok: &[(Config, u64)],
    other: impl Fn(&(Config, u64)) -> K,
) -> Option<(u64, Vec<(Config, u64)>)> {
    let count = |rows: &[(Config, u64)], from: u64| {
        rows.iter().filter(|(_, n)| *n >= from).map(&other).collect::<BTreeSet<K>>().len()
    };
    let ends = |from: &u64| count(hung, *from) >= ENOUGH.max(count(ok, *from));
    let from = hung.iter().map(|(_, n)| *n).collect::<BTreeSet<u64>>().into_iter().find(ends)?;
    let mut seen = BTreeSet::new();
    let first = hung.iter().filter(|row| row.1 >= from && seen.insert(other(row))).take(ENOUGH);
    Some((from, first.copied().collect()))
}

#[cfg(test)]
mod tests {
    use scanbox_testing::device::example;

    use super::*;

    fn row(config: &str, n: u64, status: Status) -> Record {
        Record { config_id: config.to_owned(), n_elements: n, status, ..Record::default() }
    }

    /// Whether it is a kind, its size, its first culprits.
    type NamedEnd<'a> = (bool, u64, &'a [(&'a str, u64)]);

    #[test]
    fn three_that_hang_end_their_kind_from_their_sizes_upward_unless_more_are_ok() {
        use Status::{DeviceLost, Ok, Timeout, WrongResult};
        let device = example("GPU", 0, "driver");
        let (one, two, three) = ("b1.vec4.par.sub.wg64", "b2.vec2.par.rake.wg128", "b4.vec4.par.sub.wg256");
        let left = [one, two, "b8.vec4.par.sub.wg64", "b4.vec4.seq.rake.wg64", "b4.vec4.fallback.sub.wg64"];
        let left = left.map(|label| Point { n: 1 << 20, config: label.parse().unwrap() });
        let check = |rows: &[(&str, u64, Status)], expected: &[NamedEnd<'_>]| {
            let records: Vec<Record> =
                rows.iter().map(|(config, n, status)| row(config, *n, *status)).collect();
            let found = hanging(&records, &left, &device);
            let told: Vec<_> =
                found.iter().map(|one| (one.config.is_none(), one.from, one.culprits.clone())).collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|(kind, from, named)| {
                    let named: Vec<(Config, u64)> =
                        named.iter().map(|(config, n)| (config.parse().unwrap(), *n)).collect();
                    (*kind, *from, named)
                })
                .collect();
            assert_eq!(told, expected, "{rows:?}");
            for (hanging, (is_kind, from, _)) in found.iter().zip(&expected) {
                for point in &left {
                    let same = catalog::waiting(&point.config, &device)
                        == catalog::waiting(&one.parse().unwrap(), &device);
                    let ends = same && (*is_kind || Some(point.config) == hanging.config);
                    assert_eq!(hanging.ends(point, &device), ends, "{rows:?}: {point:?}");
                    let below = Point { n: from - 1, ..*point };
                    assert!(!hanging.ends(&below, &device), "{rows:?}: {point:?}");
                }
                assert!(hanging.why_ended().contains(&format!("from {from} elements on")));
            }
        };
        check(&[(one, 4096, Timeout), (two, 4096, Timeout)], &[]);
        let all = [(one, 8192, Timeout), (two, 4096, DeviceLost), (three, 4096, Timeout)];
        let named = [(one, 8192), (two, 4096), (three, 4096)];
        check(&all, &[(true, 4096, &named)]);
        // One config three times is one: it ends itself.
        let alone = [(one, 8192, Timeout), (one, 1 << 20, Timeout), (one, 16384, DeviceLost)];
        check(&alone, &[(false, 8192, &[(one, 8192), (one, 1 << 20), (one, 16384)])]);
        check(
            &[&alone[..], &[(two, 4096, Timeout)]].concat(),
            &[(false, 8192, &[(one, 8192), (one, 1 << 20), (one, 16384)])],
        );
        check(
            &[&alone[..], &[(one, 16385, Ok), (one, 16386, Ok), (one, 16387, Ok), (one, 8193, Ok)]].concat(),
            &[],
        );
        // The same size again says nothing new.
        check(&[(one, 8192, Timeout), (one, 8192, Timeout), (one, 8192, DeviceLost)], &[]);
        // Of other kinds, or of other failures.
        check(&[(one, 8192, Timeout), (two, 4096, WrongResult), (three, 4096, Timeout)], &[]);
        check(&[(one, 8192, Timeout), ("b1.vec4.seq.rake.wg64", 4096, Timeout), (two, 4096, Timeout)], &[]);
        // Nobody waits for ever who falls back: whatever they hang of is another matter.
        let fallback = "b1.vec4.fallback.sub.wg64";
        check(&[(fallback, 4096, Timeout), (fallback, 8192, Timeout), (fallback, 1024, Timeout)], &[]);
        // Small sizes say nothing; as many others that are ok there do not either, and one at many sizes is one.
        let oks = [
            "b1.vec4.par.sub.wg128",
            "b2.vec4.par.sub.wg128",
            "b4.vec4.par.sub.wg128",
            "b8.vec4.par.sub.wg128",
        ];
        let with_ok = |n: u64, count: usize| {
            [&all[..], &oks[..count].iter().map(|config| (*config, n, Ok)).collect::<Vec<_>>()].concat()
        };
        check(&with_ok(1024, 4), &[(true, 4096, &named)]);
        check(&with_ok(8192, 3), &[(true, 4096, &named)]);
        check(&with_ok(8192, 4), &[]);
        check(
            &[&all[..], &[4097, 4098, 4099, 5000].map(|n| (oks[0], n, Ok))].concat(),
            &[(true, 4096, &named)],
        );
        // One that hangs below, where most are ok, does not hide that all hang above.
        let above =
            [(one, 4096, Timeout), (one, 8192, Timeout), (two, 8192, Timeout), (three, 9000, Timeout)];
        let with_below = [&above[..], &oks.map(|config| (config, 8000, Ok))].concat();
        check(&with_below, &[(true, 8192, &[(one, 8192), (two, 8192), (three, 9000)])]);
    }
}
