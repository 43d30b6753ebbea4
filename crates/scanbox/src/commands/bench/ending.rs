//! How a benchmark has left what it was asked for.

use scanbox_analysis::grouping::OWN_SUBJECT;
use scanbox_model::device::DeviceProfile;
use scanbox_model::record::{Record, Selection, Status};
use scanbox_runner::baseline::{BaselineResult, Greeting};
use scanbox_runner::bench::BenchJob;
use scanbox_runner::session::End;
use scanbox_session::notes::note;
use scanbox_session::supervise::Supervised;

use crate::exit::{Completion, nothing_ok};

/// How a run has left what it was asked for, and what to say where nothing became `ok`: no config where configs took
/// part, else no subject at all, and no scan of a baseline.
pub fn completion(
    records: &[Record],
    job: &BenchJob,
    baselines: &[Greeting],
    supervised: &Supervised,
) -> (Completion, Vec<String>) {
    let own: Vec<&Record> = records.iter().filter(|record| record.subject == OWN_SUBJECT).collect();
    let (what, judged) = if own.is_empty() {
        ("no subject could be measured", records.iter().collect())
    } else {
        ("no config could be measured", own)
    };
    // Who lacks the problem has said so, and could not be compared with anyway.
    let able = baselines.iter().filter(|one| !one.lacks(&job.computation.problem, &job.input));
    let outcomes = judged.iter().map(|record| (record.status, record.reason.as_str()));
    let without_ok: Vec<String> = nothing_ok(what, outcomes)
        .into_iter()
        .chain(able.filter_map(|baseline| nothing_ok_of(baseline, records)))
        .collect();
    let wrong = records.iter().filter(|record| record.status == Status::WrongResult).count() as u64;
    let completion = Completion {
        // It does not go on where it ended, so what is wrong comes first.
        left: supervised.end != End::Complete && wrong == 0,
        stuck: supervised.trouble.is_some() && supervised.finished == 0,
        wrong,
        nothing_ok: !without_ok.is_empty() || judged.is_empty(),
    };
    (completion, without_ok)
}

/// What to say of a baseline of which no scan became `ok`; of one that has no scan, nothing at all. Nobody can be
/// compared with it, whatever else has a row.
fn nothing_ok_of(baseline: &Greeting, records: &[Record]) -> Option<String> {
    let name = format!("{} {}", baseline.tool, baseline.version);
    let subjects = |result| baseline.subjects.iter().filter(move |subject| subject.result == result);
    let scans: Vec<&str> = subjects(BaselineResult::Scan).map(|subject| subject.name.as_str()).collect();
    let (what, of_it) = match scans.is_empty() {
        false => ("scan", scans),
        true => ("subject", subjects(BaselineResult::Copy).map(|subject| subject.name.as_str()).collect()),
    };
    let is_of_it = |record: &&Record| {
        record.subject_version == name
            && record.selection.contains(&Selection::Baseline)
            && of_it.contains(&record.subject.as_str())
    };
    let outcomes = records.iter().filter(is_of_it).map(|record| (record.status, record.reason.as_str()));
    nothing_ok(&format!("no {what} of the baseline {name} could be measured"), outcomes)
}

/// A baseline on another device measures something else.
pub fn warn_of_other_devices(device: &DeviceProfile, baselines: &[Greeting]) {
    for Greeting { tool, device: name, device_uuid, .. } in baselines {
        if !device_uuid.is_empty() && !device_uuid.eq_ignore_ascii_case(&device.uuid) {
            note(&format!(
                "warning: {tool} ran on {name} ({device_uuid}), scanbox on {} ({})",
                device.name, device.uuid
            ));
        }
    }
}
