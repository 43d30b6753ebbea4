//! How a sweep has ended: what is told of it, and the exit code.

use std::collections::HashSet;
use std::path::Path;

use scanbox_model::device::DeviceProfile;
use scanbox_model::metadata::RunOutcome;
use scanbox_model::record::Status;
use scanbox_model::shard::{Shard, ShardOf};
use scanbox_model::space::Enumeration;
use scanbox_model::whole_file;
use scanbox_report::paste;
use scanbox_report::sweep::{RunCost, SweepEnding};
use scanbox_runner::session::End;
use scanbox_session::attempts::MARK;
use scanbox_session::device::known_issues;
use scanbox_session::notes::note;
use scanbox_session::store::{RowKey, SweepFile, counts, point_key, row_key};
use scanbox_session::sweep::Ran;

use super::SweepArgs;
use super::place::SweepPlace;
use crate::answer::{answered, print};
use crate::exit::{Completion, Exit, nothing_ok};

/// Says how a sweep ended; its exit code does not depend on whether anybody reads that.
pub fn summarise(
    args: &SweepArgs,
    file: &mut SweepFile,
    place: SweepPlace,
    device: &DeviceProfile,
    enumeration: &Enumeration,
    ran: &Ran,
) -> anyhow::Result<Exit> {
    let Ran { supervised, unconfirmed, ceilings } = ran;
    let supervised = supervised.as_ref();
    let left = file.points_to_do(enumeration).len();
    let end = match supervised {
        Some(supervised) if left > 0 || !ceilings.left.is_empty() || *unconfirmed => supervised.end,
        // Whatever ended the run, it came too late to matter.
        _ => End::Complete,
    };
    let asked: HashSet<RowKey> = enumeration.points.iter().map(point_key).collect();
    let judged = || file.records.iter().filter(|record| asked.contains(&row_key(record)));
    let trouble = supervised.filter(|_| end != End::Complete);
    let trouble = trouble.and_then(|supervised| supervised.trouble().or_else(|| file.without_progress(left)));
    let drifted_pct = file.drifted_pct().filter(|_| end == End::Complete);
    let drifts_again = drifted_pct.and_then(|_| file.without_speed());
    let completion = Completion {
        left: end != End::Complete || drifted_pct.is_some(),
        stuck: drifts_again.is_some()
            || (trouble.is_some() && supervised.is_some_and(|supervised| supervised.finished == 0)),
        wrong: file.distrusted() + ceilings.wrong.len() as u64,
        nothing_ok: !judged().any(|record| record.status == Status::Ok),
    };
    let trouble = trouble.or(drifts_again);
    let mut exit = completion.exit();
    let nothing_ok =
        nothing_ok("no config became ok", judged().map(|record| (record.status, record.reason.as_str())));
    let mut outcome = RunOutcome {
        exit_code: exit as u8,
        rows_by_status: counts(&file.records),
        points_left: left as u64,
        wrong: file.distrusted(),
        wrong_copies: ceilings.wrong.iter().copied().collect(),
        copies_left: ceilings.left.iter().copied().collect(),
        drifted_pct,
        trouble: trouble.clone(),
    };
    if supervised.is_some() {
        file.conclude(outcome.clone())?;
    }
    let (path, published) = place.end(device, &file.records);
    let merge = merge_of_shards(&path, file.metadata.shard.as_ref()).filter(|_| published.is_ok());
    let elsewhere = match &published {
        Ok(off) => off.as_ref().map(|_| Exit::NoDevice),
        Err(_) => Some(Exit::Operational),
    };
    if let Some(elsewhere) = elsewhere {
        exit = elsewhere;
        outcome.exit_code = exit as u8;
    }
    let passed = file.issues.passed(&file.records).into_iter();
    let ending = SweepEnding {
        metadata: &file.metadata,
        records: &file.records,
        path: &path,
        points: enumeration.points.len(),
        outcome,
        end,
        is_published: published.is_ok(),
        merge,
        run: supervised.map(|supervised| RunCost {
            set_up: supervised.set_up.clone(),
            replaced: supervised.replaced,
            seconds: supervised.seconds.clone(),
        }),
        passed: passed.map(|(issue, rows)| known_issues::unexpected_pass(issue, rows)).collect(),
        is_of_sweep: !args.is_step,
    };
    let written = print(&ending, args.format);
    let unpublished = published.unwrap_or_else(|error| Some(format!("{error:#}")));
    for error in trouble.into_iter().chain(nothing_ok).chain(unpublished) {
        note(&format!("error: {error}"));
    }
    answered(written, exit)
}

/// The command that merges all shards, without the program, once each of them has rows beside this file.
fn merge_of_shards(path: &Path, shard: Option<&ShardOf>) -> Option<String> {
    let shard = shard?;
    let name = path.file_name()?.to_str()?;
    // Of attempts those of all shards, whatever they are called behind that.
    let (stem, ending) = match name.split_once(MARK) {
        Some((stem, _)) => (stem, format!("{MARK}*.csv")),
        None => (name.strip_suffix(".csv")?, ".csv".to_owned()),
    };
    let word = |index| Some(Shard::new(index, shard.count)?.file_word(shard.by));
    let own = word(shard.index)?;
    let sweep = stem.strip_suffix(&own)?.strip_suffix('.')?;
    let folder = whole_file::folder_of(path);
    let files = std::fs::read_dir(folder).ok()?.flatten();
    let names: Vec<String> = files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    let (mark, _) = ending.split_once('*').unwrap_or((&ending, ""));
    let has_rows = |index| {
        let begin = word(index).map(|word| format!("{sweep}.{word}{mark}"));
        begin.is_some_and(|begin| names.iter().any(|name| name.starts_with(&begin) && name.ends_with(".csv")))
    };
    if !(0..shard.count).all(has_rows) {
        return None;
    }
    // The star is for the shell.
    let begin = paste::path(&folder.join(format!("{sweep}.shard-")));
    let rest = own.split_once("-of-").map_or("", |(_, rest)| rest);
    Some(format!("merge {begin}*-of-{rest}{ending} --out {}", paste::quoted(&format!("{sweep}.csv"))))
}
