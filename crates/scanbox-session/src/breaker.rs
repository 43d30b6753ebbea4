//! Ends a kind of waiting that hangs on a device, before every config of it has cost a reset.
//!
//! Configs that wait alike ([`catalog::waiting`]) hang alike. After three of a kind that timed out or lost the device,
//! unless more of them became ok at such sizes, the others get rows that say so. What counts are the rows of the file,
//! so that a sweep that is continued goes on with it, and `--retry-failed`, which takes them away, tries again.

use std::collections::BTreeMap;

use scanbox_kernels::catalog::{self, Waiting};
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::{Record, Status};

/// How many of a kind end it.
const ENOUGH: usize = 3;

/// What happened to the configs of a kind.
#[derive(Default)]
struct Tried {
    /// Those that hung, with their sizes, in the order of the rows.
    hung: Vec<(String, u64)>,
    /// The sizes of those that became ok.
    ok: Vec<u64>,
}

/// The kinds that hang among those of the configs that are left, each with the first configs that showed it.
pub fn hanging_kinds(
    records: &[Record],
    left: impl IntoIterator<Item = Config>,
    device: &DeviceProfile,
) -> Vec<(Waiting, Vec<String>)> {
    let mut kinds: BTreeMap<Waiting, Tried> = left
        .into_iter()
        .filter_map(|config| catalog::waiting(&config, device))
        .map(|waiting| (waiting, Tried::default()))
        .collect();
    if kinds.is_empty() {
        return Vec::new();
    }
    for record in records {
        let Some(tried) = record
            .config_id
            .parse()
            .ok()
            .and_then(|config| catalog::waiting(&config, device))
            .and_then(|waiting| kinds.get_mut(&waiting))
        else {
            continue;
        };
        match record.status {
            Status::Timeout | Status::DeviceLost => {
                tried.hung.push((record.config_id.clone(), record.n_elements));
            }
            Status::Ok => tried.ok.push(record.n_elements),
            _ => {}
        }
    }
    let ended = kinds.into_iter().filter(|(_, tried)| {
        // Where nobody has to wait, as at small sizes, everybody is ok.
        let smallest = tried.hung.iter().map(|(_, n)| *n).min().unwrap_or(0);
        let ok = tried.ok.iter().filter(|&&n| n >= smallest).count();
        tried.hung.len() >= ENOUGH && tried.hung.len() >= ok
    });
    let named = |(waiting, tried): (Waiting, Tried)| {
        let first = tried.hung.into_iter().take(ENOUGH);
        (waiting, first.map(|(config, n)| format!("{config} at {n}")).collect())
    };
    ended.map(named).collect()
}

/// What the rows of a kind say that was ended.
pub fn why_ended(waiting: &Waiting, culprits: &[String]) -> String {
    let guarantees: Vec<String> = waiting.guarantees.iter().map(ToString::to_string).collect();
    let guarantees = guarantees.join(", ");
    format!(
        "not tried: its kind of waiting hangs here ({waiting}; it needs {guarantees}): {}; a device without that has kernels with \
         fallback or by levels; without --assume and with `scanbox devices --probe` nothing of it is tried, \
         with --retry-failed all of it again [waiting-hangs]",
        culprits.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use scanbox_testing::device::example;

    use super::*;

    fn row(config: &str, n: u64, status: Status) -> Record {
        Record { config_id: config.to_owned(), n_elements: n, status, ..Record::default() }
    }

    #[test]
    fn three_that_hang_end_their_kind_unless_more_are_ok() {
        use Status::{DeviceLost, Ok, Timeout, WrongResult};
        let device = example("GPU", 0, "driver");
        let left = ["b4.vec4.par.sub.wg64", "b4.vec4.seq.rake.wg64", "b4.vec4.fallback.sub.wg64"];
        let check = |rows: &[(&str, u64, Status)], expected: &[&[&str]]| {
            let records: Vec<Record> =
                rows.iter().map(|(config, n, status)| row(config, *n, *status)).collect();
            let left = left.iter().map(|label| label.parse().unwrap());
            let ended = hanging_kinds(&records, left, &device);
            let named: Vec<Vec<String>> = ended.into_iter().map(|(_, culprits)| culprits).collect();
            assert_eq!(named, expected, "{rows:?}");
        };
        let (one, two) = ("b1.vec4.par.sub.wg64", "b2.vec2.par.rake.wg128");
        check(&[(one, 4096, Timeout), (two, 4096, Timeout)], &[]);
        let three = [(one, 8192, Timeout), (two, 4096, DeviceLost), (one, 4096, Timeout)];
        let named = [
            "b1.vec4.par.sub.wg64 at 8192",
            "b2.vec2.par.rake.wg128 at 4096",
            "b1.vec4.par.sub.wg64 at 4096",
        ];
        check(&three, &[&named]);
        // Of other kinds, or of other failures.
        check(&[(one, 8192, Timeout), (two, 4096, WrongResult), (one, 4096, Timeout)], &[]);
        check(&[(one, 8192, Timeout), ("b1.vec4.seq.rake.wg64", 4096, Timeout), (two, 4096, Timeout)], &[]);
        // Nobody waits for ever who falls back: whatever they hang of is another matter.
        let fallback = "b1.vec4.fallback.sub.wg64";
        check(&[(fallback, 4096, Timeout), (fallback, 8192, Timeout), (fallback, 1024, Timeout)], &[]);
        // Small sizes say nothing; as many at such sizes as hung do not either.
        let with_ok = |n: u64, count: usize| [&three[..], &vec![(two, n, Ok); count]].concat();
        check(&with_ok(1024, 10), &[&named]);
        check(&with_ok(8192, 3), &[&named]);
        check(&with_ok(8192, 4), &[]);
    }
}
