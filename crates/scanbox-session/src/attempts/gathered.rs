//! What earlier attempts at a sweep have published, as one.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use scanbox_analysis::anchors::{drifted_runs, is_taken_back};
use scanbox_analysis::merge::fleet::{self, UnitRatio};
use scanbox_analysis::merge::rows::{is_of_point, unite};
use scanbox_model::csv_file::{self, CsvError};
use scanbox_model::merged::MergedUnit;
use scanbox_model::metadata::{Metadata, Run};
use scanbox_model::record::{Record, Status};
use scanbox_model::shard::ShardBy;
use scanbox_model::units::plural;

use super::MARK;
use crate::notes::note;
use crate::store::companions::is_journal;
use crate::store::{RowKey, row_key};

/// How often a file is read that a network file system has just replaced.
const READS: u32 = 3;

/// What earlier attempts have published.
#[derive(Default)]
pub struct Gathered {
    /// Their rows: of a point all that are wrong, and the best of the others.
    pub rows: Vec<Record>,
    /// What they say about themselves, together.
    pub metadata: Option<Metadata>,
    /// What their journals hold against configs.
    pub journal: String,
    /// Where they are; the last one has seen most.
    pub files: Vec<PathBuf>,
    /// How many rows are left out, as the anchors of their shard drifted.
    pub taken_back: usize,
    /// Units that are off at the anchors of all shards, whose times are left out, too.
    pub off: Vec<UnitRatio>,
    /// How many of their rows are.
    pub taken_back_off: usize,
    /// Files of the folder that are of no attempt at any sweep.
    pub foreign: Vec<String>,
}

/// One attempt, as it is published.
struct PublishedAttempt {
    csv: PathBuf,
    rows: Vec<Record>,
    metadata: Option<Metadata>,
    journal: String,
}

impl Gathered {
    /// Reads what attempts at this sweep have published in a folder. A row that was cut off, and a file that cannot be
    /// read, are left out and told: what they had is measured again.
    ///
    /// # Errors
    /// When the folder cannot be read, or a file of it because the system says no.
    pub fn of(publish: &Path, sweep: &str) -> anyhow::Result<Self> {
        let listed = || format!("--publish {}", publish.display());
        let mut names = Vec::new();
        for entry in fs::read_dir(publish).with_context(listed)? {
            names.push(entry.with_context(listed)?.file_name().to_string_lossy().into_owned());
        }
        names.sort_unstable();
        let own = |name: &&String| of_attempt(name).is_some_and(|of| of == sweep);
        let mut attempts = Vec::new();
        for name in names.iter().filter(own).filter(|name| name.ends_with(".csv")) {
            attempts.extend(PublishedAttempt::read(publish.join(name))?);
        }
        let points = attempts
            .iter()
            .find_map(|attempt| Some(attempt.metadata.as_ref()?.shard.as_ref()?.points.clone()));
        let others: Vec<Vec<Record>> = match points {
            Some(points) => {
                let others = names.iter().filter(|name| is_of_other_shard(name, sweep));
                others.filter_map(|name| anchors_of(&publish.join(name), &points)).collect()
            }
            None => Vec::new(),
        };
        // An attempt publishes its journal first of all, so one that died over that has nothing else there.
        let has_rows = |stem: &str| names.binary_search(&format!("{stem}.csv")).is_ok();
        let alone = names.iter().filter(own).filter_map(|name| name.strip_suffix(".journal"));
        let alone = alone.filter(|stem| !has_rows(stem));
        let journal: String =
            alone.map(|stem| journal_of(&publish.join(format!("{stem}.journal")))).collect();
        let foreign = names.iter().filter(|name| is_foreign(name)).cloned().collect();
        let mut all = Self { foreign, ..Self::join(attempts, &others) };
        all.journal += &journal;
        Ok(all)
    }

    /// `others` are the anchors of attempts at other shards of the same points.
    fn join(mut attempts: Vec<PublishedAttempt>, others: &[Vec<Record>]) -> Self {
        // An attempt knows the runs of those before it, so that no clock has to say which came first.
        attempts.sort_by_key(|attempt| attempt.metadata.as_ref().map_or(0, |metadata| metadata.runs.len()));
        let (mut rows, mut all_rows) = (RowsOfAttempts::default(), Vec::new());
        let mut all = Self::default();
        // An attempt before may have published rows of a run that drifted before anybody knew.
        let drifted: BTreeSet<String> =
            attempts.iter().flat_map(|attempt| drifted_runs(&attempt.rows)).collect();
        all.off = units_off(attempts.iter().map(|attempt| &attempt.rows).chain(others));
        let (mut taken_back, mut taken_back_off) = (BTreeSet::new(), BTreeSet::new());
        for PublishedAttempt { csv, rows: found, metadata, journal } in attempts {
            let (back, found): (Vec<Record>, Vec<Record>) =
                found.into_iter().partition(|row| is_taken_back(row, &drifted));
            taken_back.extend(back.iter().map(|row| (row.run_id.clone(), row_key(row))));
            let (off, found): (Vec<Record>, Vec<Record>) =
                found.into_iter().partition(|row| is_of_unit_off(row, &all.off));
            taken_back_off.extend(off.iter().map(|row| (row.run_id.clone(), row_key(row))));
            all_rows.extend(found);
            all.journal += &journal;
            all.metadata = match (all.metadata.take(), metadata) {
                (Some(before), Some(now)) => Some(joined(before, now)),
                (before, now) => now.or(before),
            };
            all.files.push(csv);
        }
        (all.taken_back, all.taken_back_off) = (taken_back.len(), taken_back_off.len());
        // Of each unit as whoever merges has it; a sweep needs a point of one unit only.
        unite(all_rows).records.into_iter().for_each(|row| rows.take(row));
        all.rows = rows.rows;
        all
    }
}

/// What a journal says, if it is there. A line that was cut off says nothing.
fn journal_of(path: &Path) -> String {
    let journal = fs::read_to_string(path).unwrap_or_default();
    let complete = journal.rfind('\n').map_or("", |end| &journal[..=end]);
    if is_journal(complete) { complete.to_owned() } else { String::new() }
}

/// Whether a file has rows of an attempt at another shard of the same sweep, where sizes are split: each measures the
/// same anchors.
fn is_of_other_shard(name: &str, sweep: &str) -> bool {
    let splits_sizes = |of: &&str| of.ends_with(&format!("-by-{}", ShardBy::Pipeline.word()));
    let parts = |sweep| shard_of(sweep).map(|(whole, of, _)| (whole, of)).filter(|(_, of)| splits_sizes(of));
    let of = of_attempt(name).filter(|of| name.ends_with(".csv") && *of != sweep);
    of.and_then(parts).is_some_and(|of| Some(of) == parts(sweep))
}

/// What a sweep is a shard of, by its name: the whole, into how many and what it is split, and its number.
pub(super) fn shard_of(sweep: &str) -> Option<(&str, &str, u32)> {
    let (whole, shard) = sweep.rsplit_once(".shard-")?;
    let (index, of) = shard.split_once("-of-")?;
    Some((whole, of, index.parse().ok()?))
}

/// The anchors of an attempt at a shard of these points. What cannot be read says nothing: its own attempts tell it.
fn anchors_of(csv: &Path, points: &str) -> Option<Vec<Record>> {
    let metadata = Metadata::read(&Metadata::path_beside(csv)).ok()?;
    metadata.shard.filter(|shard| shard.points == points)?;
    let mut rows = patiently(|| csv_file::read(csv)).ok()?.records;
    rows.retain(Record::is_anchor);
    Some(rows)
}

/// The units that are off at the anchors in these files, as a merge of them finds them.
fn units_off<'a>(files: impl Iterator<Item = &'a Vec<Record>> + Clone) -> Vec<UnitRatio> {
    // The file that shows the drift of a run is another one than that which has published its first rows.
    let drifted: BTreeSet<String> = files.clone().flat_map(|rows| drifted_runs(rows)).collect();
    let counts = |row: &&Record| row.is_anchor() && !is_taken_back(row, &drifted);
    let anchors = files.flatten().filter(counts).cloned().collect();
    let ratios = fleet::ratios(&unite(anchors).records, &[]);
    ratios.into_iter().filter(|unit| unit.is_off).collect()
}

/// Whether a row says a time that does not count, because its unit is one of these. Their anchors stay, which say so.
fn is_of_unit_off(row: &Record, off: &[UnitRatio]) -> bool {
    row.status == Status::Ok && is_of_point(row) && off.iter().any(|unit| unit.unit == MergedUnit::of(row))
}

/// Whether a file is of no attempt: another sweep of the same folder has its own.
fn is_foreign(name: &str) -> bool {
    // What is being written, or was when its writer died.
    of_attempt(name).is_none() && !name.starts_with(".scanbox-")
}

/// The sweep of a file that an attempt has published, by its name: behind the mark stand time, host, process and
/// random letters.
pub(super) fn of_attempt(name: &str) -> Option<&str> {
    let stem = [".csv", ".meta.json", ".journal"].iter().find_map(|ending| name.strip_suffix(ending))?;
    let (sweep, id) = stem.rsplit_once(MARK)?;
    let (time, rest) = id.split_once('-')?;
    let (rest, random) = rest.rsplit_once('-')?;
    let (host, process) = rest.rsplit_once('-')?;
    let is_time = time.len() == 16
        && time.bytes().enumerate().all(|(at, byte)| match at {
            8 => byte == b'T',
            15 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        });
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_process = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
    (is_time && is_process && is_plain(host) && !random.is_empty() && is_plain(random)).then_some(sweep)
}

impl PublishedAttempt {
    fn read(csv: PathBuf) -> anyhow::Result<Option<Self>> {
        let leave = |error: &CsvError| {
            let why = match error {
                CsvError::Io { path, source } => format!("{}: {source}", path.display()),
                error => error.to_string(),
            };
            note(&format!("warning: {why}; it is left alone, and what only it has is measured again"));
        };
        // Before the rows: it is published before those that it tells of.
        let beside = Metadata::path_beside(&csv);
        let metadata = match beside.exists().then(|| Metadata::read(&beside)) {
            Some(Ok(metadata)) => Some(metadata),
            Some(Err(error)) => {
                note(&format!("warning: {error}; what it says is made anew"));
                None
            }
            None => None,
        };
        let rows = match patiently(|| csv_file::read(&csv)) {
            Ok(found) => {
                for warning in found.warnings(&csv.display().to_string()) {
                    note(&format!("warning: {warning}"));
                }
                found.records
            }
            Err(error @ CsvError::Empty { .. }) => {
                if metadata.is_none() {
                    leave(&error);
                }
                Vec::new()
            }
            Err(CsvError::Io { source, path }) if source.kind() == io::ErrorKind::PermissionDenied => {
                return Err(CsvError::Io { source, path }.into());
            }
            Err(error) => {
                leave(&error);
                return Ok(None);
            }
        };
        let told = metadata.as_ref().map_or(0, |metadata| metadata.counts.values().sum::<u64>());
        let there = rows.iter().filter(|row| is_of_point(row)).count() as u64;
        // An attempt that runs publishes metadata first, and rows a moment later.
        let last_run = metadata.as_ref().and_then(|metadata| metadata.runs.last());
        let is_running = last_run.is_some_and(|run| run.ended_utc.is_none());
        if told > there && !is_running {
            note(&format!(
                "warning: {}: its metadata names {}, and the file has {there}; what is lost is measured again",
                csv.display(),
                plural(told as usize, "row")
            ));
        }
        let journal = journal_of(&csv.with_extension("journal"));
        Ok(Some(Self { csv, rows, metadata, journal }))
    }
}

/// On a network file system a file that was just replaced may be gone for a moment.
fn patiently<T>(read: impl Fn() -> Result<T, CsvError>) -> Result<T, CsvError> {
    for _ in 1..READS {
        match read() {
            Err(CsvError::Io { source, .. }) if source.kind() != io::ErrorKind::PermissionDenied => {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            outcome => return outcome,
        }
    }
    read()
}

/// Rows of several units, each point once.
#[derive(Default)]
struct RowsOfAttempts {
    rows: Vec<Record>,
    /// The place of the row of a point that is not wrong.
    places: HashMap<RowKey, usize>,
    /// The places of its wrong rows, which stay whatever comes.
    wrong: HashMap<RowKey, Vec<usize>>,
}

impl RowsOfAttempts {
    fn take(&mut self, row: Record) {
        // Anchors say how units differ, so that those of every unit and stage stay.
        if !is_of_point(&row) {
            self.rows.push(row);
            return;
        }
        let key = row_key(&row);
        if row.status == Status::WrongResult {
            let places = self.wrong.entry(key).or_default();
            if !places.iter().any(|&place| self.rows[place] == row) {
                places.push(self.rows.len());
                self.rows.push(row);
            }
            return;
        }
        match self.places.get(&key) {
            Some(&place) if worth(&row) > worth(&self.rows[place]) => self.rows[place] = row,
            Some(_) => {}
            None => {
                self.places.insert(key, self.rows.len());
                self.rows.push(row);
            }
        }
    }
}

/// Of two rows of a point the one that says more stays, and of equal ones the first.
fn worth(row: &Record) -> (bool, bool) {
    (row.status == Status::Ok, row.confirmed_ns.is_some())
}

/// What two attempts say about themselves, `before` first.
fn joined(before: Metadata, mut now: Metadata) -> Metadata {
    let name = |run: &Run| (run.run_id.clone(), run.started_utc.clone());
    let mut runs = before.runs;
    let known: HashSet<_> = runs.iter().map(name).collect();
    for run in std::mem::take(&mut now.runs) {
        let same = runs.iter_mut().filter(|_| known.contains(&name(&run)));
        match same.into_iter().find(|known| name(known) == name(&run)) {
            // Only its own attempt says how a run ended.
            Some(known) if known.ended_utc.is_none() => *known = run,
            Some(_) => {}
            None => runs.push(run),
        }
    }
    now.runs = runs;
    for (n, gbps) in before.ceiling_gbps {
        now.ceiling_gbps.entry(n).or_insert(gbps);
    }
    now
}

#[cfg(test)]
mod tests {
    use scanbox_model::record::{Cache, Selection};
    use scanbox_model::row_rules::OWN_SUBJECT;

    use super::*;

    fn row(config: &str, status: Status, time: &str) -> Record {
        Record {
            subject: OWN_SUBJECT.to_owned(),
            config_id: config.to_owned(),
            n_elements: 1024,
            status,
            timestamp_utc: time.to_owned(),
            ..Record::default()
        }
    }

    /// In any order, and taken twice.
    #[test]
    fn a_point_keeps_its_best_row_and_all_wrong_ones() {
        use Status::{Ok, Quarantined, Timeout, WrongResult};
        fn check(rows: &[Record], expected: &[&Record]) {
            let mut taken = RowsOfAttempts::default();
            rows.iter().chain(rows).for_each(|row| taken.take(row.clone()));
            assert_eq!(taken.rows.iter().collect::<Vec<_>>(), expected);
        }
        let (ok, later) = (row("a", Ok, "1"), row("a", Ok, "2"));
        let confirmed = Record { confirmed_ns: Some(7), ..later.clone() };
        let (slow, gone) = (row("a", Timeout, "3"), row("a", Quarantined, "4"));
        let (wrong, again) = (row("a", WrongResult, "5"), row("a", WrongResult, "6"));
        let other = row("b", Ok, "1");
        check(&[], &[]);
        check(&[ok.clone(), later.clone(), other.clone()], &[&ok, &other]);
        check(&[later.clone(), ok.clone()], &[&later]);
        check(&[ok.clone(), confirmed.clone()], &[&confirmed]);
        check(&[confirmed.clone(), ok.clone()], &[&confirmed]);
        check(&[slow.clone(), gone.clone()], &[&slow]);
        check(&[slow.clone(), ok.clone(), gone], &[&ok]);
        check(&[wrong.clone(), ok.clone(), again.clone()], &[&wrong, &ok, &again]);
        check(&[ok.clone(), wrong.clone(), slow], &[&ok, &wrong]);
    }

    /// An attempt that goes on with what another one has published publishes it again.
    #[test]
    fn anchors_of_every_stage_and_unit_stay_once() {
        let anchor = |host: &str, stage| Record {
            host: host.to_owned(),
            selection: vec![stage],
            cache: Some(Cache::Hot),
            ..row("a", Status::Ok, "1")
        };
        let (start, end) = (Selection::AnchorStart, Selection::AnchorEnd);
        let first = vec![anchor("one", start), row("a", Status::Ok, "2"), anchor("one", end)];
        let second: Vec<Record> = first.iter().cloned().chain([anchor("two", start)]).collect();
        let attempt = |rows| PublishedAttempt {
            csv: PathBuf::from("x.csv"),
            rows,
            metadata: None,
            journal: String::new(),
        };
        let rows = Gathered::join(vec![attempt(second.clone()), attempt(first)], &[]).rows;
        let mut stages: Vec<_> = rows.iter().map(|row| (row.host.as_str(), &row.selection[..])).collect();
        stages.sort_unstable();
        assert_eq!(stages, [("", &[][..]), ("one", &[start]), ("one", &[end]), ("two", &[start])]);
    }

    #[test]
    fn other_shards_of_the_same_split_have_the_same_anchors() {
        let sweep = "h200.quick.shard-0-of-3-by-pipeline";
        for (of, ending, expected) in [
            ("h200.quick.shard-1-of-3-by-pipeline", "csv", true),
            ("h200.quick.shard-1-of-3-by-pipeline", "meta.json", false),
            (sweep, "csv", false),
            ("h200.quick.shard-1-of-4-by-pipeline", "csv", false),
            ("h200.quick.shard-1-of-3", "csv", false),
            ("h200.full.shard-1-of-3-by-pipeline", "csv", false),
            ("h200.quick.shard-x-of-3-by-pipeline", "csv", false),
            ("h200.quick", "csv", false),
        ] {
            let name = format!("{of}.attempt-20261124T000000Z-node1-7-a1.{ending}");
            assert_eq!(is_of_other_shard(&name, sweep), expected, "{name}");
        }
        let by_size = "h200.quick.shard-1-of-3.attempt-20261124T000000Z-node1-7-a1.csv";
        assert!(!is_of_other_shard(by_size, "h200.quick.shard-0-of-3"), "a size has one unit");
    }

    #[test]
    fn only_files_of_no_attempt_are_foreign() {
        for (name, foreign) in [
            ("h200.quick.attempt-20261124T000000Z-node1-7-a1.csv", false),
            ("h200.quick.shard-0-of-8.attempt-20261124T000000Z--7-a1.meta.json", false),
            ("a.attempt-x.attempt-20261124T000000Z-n-7-a1.journal", false),
            ("h200.quick.attempt-x.journal", true),
            ("h200.quick.attempt-mine.csv", true),
            ("h200.quick.attempt-20261124T000000Z-node1-7-a1 (copy).csv", true),
            ("h200.quick.attempt-2026-11-24-node1-7-a1.csv", true),
            ("h200.quick.attempt-20261124T000000Z-node1-x-a1.csv", true),
            (".scanbox-abc.partial", false),
            ("h200.quick.csv", true),
            ("h200.quick.attempt-x.txt", true),
            ("notes.txt", true),
        ] {
            assert_eq!(is_foreign(name), foreign, "{name}");
        }
    }
}
