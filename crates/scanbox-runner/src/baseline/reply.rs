//! What a baseline answers, and what no answer can say: that is held against the program, not written into rows.

use std::ops::RangeInclusive;
use std::time::Duration;

use scanbox_kernels::rounding;
use scanbox_model::problem::{Operator, Problem};
use scanbox_model::record::Status;
use serde::Deserialize;

use crate::backend::Mismatch;

/// What a baseline has found wrong.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct BaselineComparison {
    /// Elements compared.
    pub compared: u64,
    /// Wrong elements.
    pub mismatches: u64,
    /// The first wrong element.
    #[serde(default)]
    pub first: Option<Mismatch>,
    /// How long the call took, if it knows.
    #[serde(default)]
    pub call_ns: Option<f64>,
    /// Of sums of floats, where they are rounded: the largest error of a right element, as a share.
    #[serde(default)]
    pub max_error: Option<f64>,
    /// What it may be at most.
    #[serde(default)]
    pub error_bound: Option<f64>,
}

impl BaselineComparison {
    /// Whether it can be true of `n` elements of a problem, of a program that has answered within `limit`.
    ///
    /// # Errors
    /// What contradicts itself.
    pub(super) fn check(&self, problem: &Problem, n: u64, limit: Duration) -> Result<(), String> {
        let Self { compared, mismatches, .. } = *self;
        // scanbox itself counts words.
        let most = compared.saturating_mul(u64::from(problem.element().bytes() / 4));
        if mismatches > most {
            return Err(format!("{mismatches} of {compared} elements that were compared are wrong"));
        }
        if let Some(first) = self.first.filter(|_| mismatches == 0) {
            return Err(format!("no element is wrong, and the first of them is element {}", first.index));
        }
        if let Some(same) =
            self.first.filter(|first| (first.expected, first.expected_rest) == (first.got, first.got_rest))
        {
            return Err(format!("element {} is wrong, and it is what was expected", same.index));
        }
        if let Some(ns) = self.call_ns.filter(|ns| !possible_ns(1, limit).contains(ns)) {
            return Err(format!("a call of {ns:e} ns, within {} s", limit.as_secs_f64()));
        }
        let Some(bound) = self.error_bound else { return Ok(()) };
        let error = self.max_error.unwrap_or(0.0);
        if bound < 0.0 || error < 0.0 {
            return Err(format!("an error of {error:e} and a bound of {bound:e}: neither is below zero"));
        }
        if bound > 0.0
            && !(problem.rounds() && problem.operator() == Operator::Add)
            && problem.user().is_none()
        {
            return Err(format!("`error_bound` {bound:e}: {problem} is not rounded"));
        }
        if bound > 0.0 {
            rounding::tells(problem, n, bound).map_err(|rejection| rejection.detail)?;
        }
        if mismatches == 0 && error > bound {
            return Err(format!("no element is wrong, and one is off by {error:e}, more than {bound:e}"));
        }
        Ok(())
    }
}

/// What so many calls in a row can take, in nanoseconds: none takes less than one, and all no longer than the answer.
fn possible_ns(calls: u32, limit: Duration) -> RangeInclusive<f64> {
    f64::from(calls)..=limit.as_nanos() as f64
}

/// The answer to a load.
#[derive(Deserialize)]
pub(super) struct LoadedReply {
    pub ok: bool,
}

/// The answer to a request for times.
#[derive(Deserialize)]
pub(super) struct TimesReply {
    samples_ns: Vec<f64>,
}

impl TimesReply {
    /// The durations, if they can be those of so many samples of so many calls each, of a program that has answered
    /// within `limit`.
    ///
    /// # Errors
    /// What cannot be.
    pub fn durations(self, calls: u32, samples: u32, limit: Duration) -> Result<Vec<f64>, String> {
        let Self { samples_ns } = self;
        let count = samples_ns.len();
        if count != samples as usize {
            return Err(format!("it answered {count} durations where {samples} were asked for"));
        }
        match samples_ns.iter().find(|ns| !possible_ns(calls, limit).contains(ns)) {
            Some(ns) => {
                let seconds = limit.as_secs_f64();
                Err(format!(
                    "it answered the impossible duration of {ns:e} ns for {calls} calls, within {seconds} s"
                ))
            }
            None => Ok(samples_ns),
        }
    }
}

/// What a program says that cannot do what it is asked for.
#[derive(Deserialize)]
pub(super) struct RefusalReply {
    pub error: String,
    /// A word, which may be of another version.
    #[serde(default)]
    status: Option<String>,
}

impl RefusalReply {
    /// The status of its rows: a word that is none of a failure says no more than that there is one.
    pub fn status(&self) -> Status {
        let word = self.status.clone().map(serde_json::Value::from);
        let status = word.and_then(|word| serde_json::from_value(word).ok());
        status.filter(|&status| status != Status::Ok).unwrap_or(Status::RuntimeError)
    }
}

#[cfg(test)]
mod tests {
    use scanbox_model::problem::{Element, Mode, Placement};

    use super::*;

    fn problem(element: Element, operator: Operator) -> Problem {
        Problem::new(Mode::Inclusive, element, operator, None, Placement::OutOfPlace).unwrap()
    }

    #[test]
    fn a_comparison_that_contradicts_itself_is_refused() {
        let check = |element, json: &str, wrong: Option<&str>| {
            let found: BaselineComparison = serde_json::from_str(json).unwrap();
            let checked = found.check(&problem(element, Operator::Add), 4096, Duration::from_secs(2));
            match wrong {
                None => assert_eq!(checked, Ok(()), "{json}"),
                Some(part) => {
                    assert!(checked.as_ref().is_err_and(|text| text.contains(part)), "{json}: {checked:?}");
                }
            }
        };
        check(Element::U32, r#"{"compared":4096,"mismatches":0,"first":null}"#, None);
        check(Element::U32, r#"{"compared":4096,"mismatches":4096}"#, None);
        check(Element::F64, r#"{"compared":4097,"mismatches":8193}"#, None);
        check(Element::U32, r#"{"compared":4096,"mismatches":4097}"#, Some("4097 of 4096"));
        check(
            Element::F64,
            r#"{"compared":4096,"mismatches":9223372036854775808}"#,
            Some("9223372036854775808 of"),
        );
        let first = r#"{"compared":4096,"mismatches":0,"first":{"index":3,"expected":1,"got":2}}"#;
        check(Element::U32, first, Some("the first of them is element 3"));
        let differs = |more: &str| {
            format!(r#"{{"compared":4096,"mismatches":1,"first":{{"index":3,"expected":3,"got":3{more}}}}}"#)
        };
        check(Element::U32, &differs(""), Some("element 3 is wrong, and it is what was expected"));
        check(Element::U32, &differs(r#","expected_rest":5,"got_rest":6"#), None);
        let takes = |ns: &str| format!(r#"{{"compared":4096,"mismatches":0,"call_ns":{ns}}}"#);
        for possible in ["1", "1234.5", "2e9", "null"] {
            check(Element::U32, &takes(possible), None);
        }
        for wrong in ["0", "-5.0", "0.9", "2.1e9", "1e300"] {
            check(Element::U32, &takes(wrong), Some("a call of"));
        }
        let errors = |error: &str, bound: &str| {
            format!(r#"{{"compared":4096,"mismatches":0,"max_error":{error},"error_bound":{bound}}}"#)
        };
        check(Element::F32, &errors("1e-7", "1e-5"), None);
        check(Element::F32, &errors("0", "0"), None);
        check(Element::U32, &errors("0", "0"), None);
        check(Element::F32, &errors("1e-4", "1e-5"), Some("off by 1e-4"));
        check(Element::F32, &errors("-1", "1e-5"), Some("below zero"));
        check(Element::F32, &errors("0", "-1e-5"), Some("below zero"));
        check(Element::F32, &errors("0.9", "1e9"), Some("count as right"));
        check(Element::U32, &errors("0", "0.5"), Some("is not rounded"));
    }

    #[test]
    fn durations_are_those_that_were_asked_for_and_possible() {
        let check = |samples_ns: &[f64], is_fine: bool| {
            let reply = TimesReply { samples_ns: samples_ns.to_vec() };
            let durations = reply.durations(10, 3, Duration::from_secs(2));
            assert_eq!(durations.is_ok(), is_fine, "{durations:?}");
        };
        check(&[4e3, 5e3, 2e9], true);
        for wrong in [0.0, -1.0, 9.9, 1e-300, 2.1e9, 1e300, f64::NAN, f64::INFINITY] {
            check(&[4e3, wrong, 4e3], false);
        }
        check(&[4e3, 4e3], false);
        check(&[4e3; 4], false);
        check(&[], false);
    }

    #[test]
    fn a_refusal_has_the_status_that_it_names() {
        for (json, expected) in [
            (r#"{"error":"no"}"#, Status::RuntimeError),
            (r#"{"error":"no","status":"unsupported"}"#, Status::Unsupported),
            (r#"{"error":"no","status":"out_of_memory"}"#, Status::OutOfMemory),
            (r#"{"error":"no","status":"ok"}"#, Status::RuntimeError),
            (r#"{"error":"no","status":"of a later version"}"#, Status::RuntimeError),
        ] {
            assert_eq!(serde_json::from_str::<RefusalReply>(json).unwrap().status(), expected, "{json}");
        }
    }
}
