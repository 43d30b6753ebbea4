//! How long a run may take: a time, or until something ends.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::time::parse_duration;

/// What stands before a moment.
const UNTIL: &str = "until-";
/// The moment that a batch system ends a job at.
const JOB_END: &str = "job-end";
/// What is left for the last copies and for whatever the job does behind the run, at most; of short jobs a quarter.
const MARGIN: Duration = Duration::from_secs(60);

/// A time such as `10m`, or `until-` and a moment: `job-end`, RFC 3339, or seconds since 1970. Nothing is left
/// of a job whose end has been: the run ends before it begins, and goes on in the next job.
pub fn parse_budget(text: &str) -> Result<Duration, String> {
    budget(text, &|name| std::env::var(name).ok(), Timestamp::now())
}

fn budget(text: &str, variable: &dyn Fn(&str) -> Option<String>, now: Timestamp) -> Result<Duration, String> {
    let Some(moment) = text.strip_prefix(UNTIL) else {
        return parse_duration(text)
            .map_err(|error| format!("{error}, or until-job-end, until-2026-12-01T08:00:00Z"));
    };
    let left = if moment == JOB_END {
        let end = job_time(variable, "SLURM_JOB_END_TIME")?.ok_or(
            "SLURM_JOB_END_TIME is not set: this is not a job of Slurm, or an old version of it; there, \
             SLURM_JOB_END_TIME=$(date -d \"$(squeue -h -j $SLURM_JOB_ID -o %e)\" +%s) sets it",
        )?;
        let limit = job_time(variable, "SLURM_JOB_START_TIME")?.map(|start| end.duration_since(start));
        let left = end.duration_since(now);
        // The clock of this host may be another one than that of whoever planned the job: no job is longer than its
        // limit, and none that begins is over.
        match limit {
            Some(limit) if left > limit || left <= SignedDuration::ZERO => limit,
            _ => left,
        }
    } else {
        let end = moment_of(moment).ok_or_else(|| {
            format!(
                "`{moment}` is not a moment: write until-job-end, until-2026-12-01T08:00:00Z or until-1796112000"
            )
        })?;
        let left = end.duration_since(now);
        // Unlike the end of a job, which is another one for the next job, it does not come again.
        if left <= SignedDuration::ZERO {
            return Err(format!("`{moment}` has passed, by the clock of this host; name a later moment"));
        }
        left
    };
    let left = Duration::try_from(left).unwrap_or_default();
    Ok(left - MARGIN.min(left / 4))
}

fn job_time(variable: &dyn Fn(&str) -> Option<String>, name: &str) -> Result<Option<Timestamp>, String> {
    let Some(text) = variable(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    moment_of(&text).map(Some).ok_or_else(|| format!("{name}={text} is not a moment"))
}

fn moment_of(text: &str) -> Option<Timestamp> {
    match text.parse::<i64>() {
        Ok(seconds) => Timestamp::from_second(seconds).ok(),
        Err(_) => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_time_or_ends_before_a_moment() {
        /// At second 10,000, in a job with this end and this start; what the budget is, or a part of what is told.
        fn check(text: &str, end: &str, start: &str, expected: Result<u64, &str>) {
            let variable = |name: &str| match name {
                "SLURM_JOB_END_TIME" => Some(end.to_owned()),
                "SLURM_JOB_START_TIME" => Some(start.to_owned()),
                _ => None,
            };
            let found = budget(text, &variable, Timestamp::from_second(10_000).unwrap());
            match expected {
                Ok(seconds) => assert_eq!(found, Ok(Duration::from_secs(seconds)), "{text} {end} {start}"),
                Err(part) => assert!(found.clone().is_err_and(|told| told.contains(part)), "{found:?}"),
            }
        }
        check("10m", "", "", Ok(600));
        check("soon", "", "", Err("until-job-end"));
        check("until-10600", "", "", Ok(540));
        check("until-10040", "", "", Ok(30));
        check("until-1970-01-01T03:00:00Z", "", "", Ok(740));
        check("until-9000", "", "", Err("`9000` has passed"));
        check("until-10000", "", "", Err("has passed"));
        check("until-1970-01-01T01:00:00Z", "", "", Err("has passed"));
        check("until-", "", "", Err("is not a moment"));
        check("until-noon", "", "", Err("is not a moment"));
        check("until-99999999999999999", "", "", Err("is not a moment"));
        check("until-job-end", "", "", Err("squeue"));
        check("until-job-end", "never", "", Err("SLURM_JOB_END_TIME=never"));
        check("until-job-end", "10600", "later", Err("SLURM_JOB_START_TIME=later"));
        check("until-job-end", "10600", "", Ok(540));
        check("until-job-end", "10600", "9000", Ok(540));
        // The clock of this host is behind by hours, and before by hours: the limit of the job holds.
        check("until-job-end", "90600", "90000", Ok(540));
        check("until-job-end", "5600", "5000", Ok(540));
        check("until-job-end", "5600", "", Ok(0));
        check("until-job-end", "5600", "5600", Ok(0));
    }
}
