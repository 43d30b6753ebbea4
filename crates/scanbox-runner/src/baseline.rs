//! Other implementations: programs that scan on the same device and answer in lines of JSON.
//!
//! A baseline is started, says what it is, and then answers one line per line that it reads:
//!
//! ```text
//! (first)  {"protocol":2,"tool":"CUB","version":"3.5.0","device":"NVIDIA H200","device_uuid":"…","driver":"…",
//!           "problems":[{"modes":["inclusive"],"elements":["u32","f32"],"ops":["add"]}],
//!           "subjects":[{"name":"cub-scan","result":"scan"},{"name":"cuda-memcpy","result":"copy"}]}
//! {"do":"load","n":N,"seed":S,"mode":"inclusive","element":"u32","op":"add","operator_hash":"","operator_facts":"",
//!  "init_bits":0,"placement":"out-of-place","input":"random"}
//!                                         {"ok":true}
//! {"do":"verify","subject":NAME,"n":N}    {"compared":N,"mismatches":0,"first":null,"call_ns":1234.5}
//! {"do":"time","subject":NAME,"n":N,"cache":"hot","calls":K,"samples":S}
//!                                         {"samples_ns":[S total durations of K dependent calls each]}
//! {"do":"twin","subject":NAME,"n":N,"cache":"hot","calls":K}
//!                                         as of verify: K dependent calls as a sample has them, of which some are compared
//! (any)                                   {"error":"text for people","status":"unsupported"}
//! ```
//!
//! The status of an error may be left out; else it is one of those that rows have. Where elements are wrong, `first` is
//! `{"index":I,"expected":E,"got":G}`, with the bits of elements. A load keeps what is loaded already, so that the
//! largest size comes first, and `verify` and `time` take any size up to that. The program ends when its input ends.
//! One of version 1 has inclusive sums of u32, out of place, and its loads have `n` and `seed` alone.
//! What it prints to stderr is passed on. A cold call finds neither input nor output in a cache
//! ([`crate::backend::Backend::time`]).
//!
//! A baseline that dies, hangs or answers nonsense costs its own rows, nothing else: it is ended, and started once more
//! at the next size. So is one that has reported an error, which may have cost it its device, unless that is only that
//! something is unsupported.

mod greeting;
mod problems;
mod process;
mod reply;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use scanbox_kernels::input::Input;
use scanbox_model::device::{DeviceKind, DeviceProfile};
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Status};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::greeting::{BaselineResult, BaselineSubject, Greeting, PROTOCOL};
pub use self::problems::{AskedProblem, ProblemKind};
use self::process::BaselineProcess;
pub use self::reply::BaselineComparison;
use self::reply::{LoadedReply, RefusalReply, TimesReply};
use crate::backend::Failure;

/// How often a baseline is started at most.
const STARTS_MAX: u32 = 2;
/// Characters of a line that are shown.
const EXCERPT: usize = 120;

#[derive(Serialize, JsonSchema)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum BaselineRequest<'a> {
    Load {
        n: u64,
        seed: u64,
        /// Programs of version 1 have one problem alone, and know no word for it.
        #[serde(flatten)]
        problem: Option<AskedProblem>,
    },
    Verify {
        subject: &'a str,
        n: u64,
    },
    Time {
        subject: &'a str,
        n: u64,
        cache: Cache,
        calls: u32,
        samples: u32,
        /// For scanbox alone, and left out where it is not so: others need not know the word.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        block: bool,
    },
    Twin {
        subject: &'a str,
        n: u64,
        cache: Cache,
        calls: u32,
    },
}

/// How a baseline is started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What it finds in its environment beside what is there already.
    pub environment: Vec<(String, String)>,
    /// What it does not find there.
    pub without: Vec<String>,
    /// Whether its process leaves the group of the one that starts it: who shares a group with a terminal has to ask
    /// for that, so that a Ctrl-C is not for both. A worker does not, and what ends its group ends its baselines.
    pub leaves_group: bool,
}

/// What CUDA programs go by that have devices to choose from.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
const NVIDIA: u32 = 0x10de;

impl Program {
    /// The program of a file that is to run on this device: CUDA takes the first of several, whatever scanbox runs on.
    /// `visible`: what the environment names for it already. One device stays.
    #[must_use]
    pub fn on(path: &Path, device: &DeviceProfile, visible: Option<&str>) -> Self {
        let names_one = visible.is_some_and(|names| !names.contains(','));
        let is_cuda =
            device.vendor_id == NVIDIA && device.kind == DeviceKind::Hardware && !device.uuid.is_empty();
        let environment =
            (is_cuda && !names_one).then(|| (VISIBLE.to_owned(), format!("GPU-{}", device.uuid)));
        Self { path: path.to_owned(), environment: environment.into_iter().collect(), ..Self::default() }
    }
}

/// A program that speaks the protocol.
pub struct Baseline {
    program: Program,
    /// How long one answer may take.
    timeout: Duration,
    /// What it said first, without the subjects that do not take part.
    greeting: Greeting,
    /// Those that do, where not all do.
    kept: Option<Vec<String>>,
    running: Option<BaselineProcess>,
    starts: u32,
    /// Why it does not run.
    ended: Option<Failure>,
    /// Whether it has reported an error since it was started.
    refused: bool,
    /// Whether the next request for times begins a block.
    begins: bool,
    /// The problem that it was asked to load.
    problem: Problem,
}

impl Baseline {
    /// Starts a baseline beside this device and waits for its greeting.
    ///
    /// # Errors
    /// When it cannot be started, does not speak the protocol, or has subjects that no row can name.
    pub fn start(path: &Path, device: &DeviceProfile, timeout: Duration) -> Result<Self, Failure> {
        let visible = std::env::var(VISIBLE).ok();
        let started = Self::start_program(&Program::on(path, device, visible.as_deref()), timeout)?;
        started.greeting.check_names().map_err(|wrong| {
            Failure::new(Status::RuntimeError, format!("baseline {}: {wrong}", path.display()))
        })?;
        Ok(started)
    }

    /// The same of a program that needs arguments.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_program(program: &Program, timeout: Duration) -> Result<Self, Failure> {
        let (running, greeting) = BaselineProcess::start(program, timeout)?;
        Ok(Self {
            program: program.clone(),
            timeout,
            greeting,
            kept: None,
            running: Some(running),
            starts: 1,
            ended: None,
            refused: false,
            begins: false,
            problem: Problem::default(),
        })
    }

    /// Leaves all of its subjects out but these, and the one that does nothing.
    pub fn keep(&mut self, subjects: &[String]) {
        self.greeting.keep(subjects);
        self.kept = Some(subjects.to_vec());
    }

    /// The subject that does nothing, if it has one.
    #[must_use]
    pub fn empty(&self) -> Option<&str> {
        let mut subjects = self.greeting.subjects.iter();
        subjects.find(|subject| subject.result == BaselineResult::Empty).map(|subject| subject.name.as_str())
    }

    /// What it said first.
    #[must_use]
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Makes the input of `n` elements of a problem. A baseline that has ended is started again first, once. One of
    /// version 1 is not told the problem: it has to have it from elsewhere, or to have no other.
    ///
    /// # Errors
    /// When it cannot.
    pub fn load(&mut self, n: u64, problem: &Problem, input: &Input) -> Result<(), Failure> {
        if (self.running.is_none() || self.refused) && self.starts < STARTS_MAX {
            self.starts += 1;
            self.refused = false;
            // The old one first: it may hold most of the memory.
            self.running = None;
            let (running, mut greeting) = BaselineProcess::start(&self.program, self.timeout)?;
            self.kept.iter().for_each(|subjects| greeting.keep(subjects));
            if greeting != self.greeting {
                return Err(self.nonsense("it says something else about itself than before"));
            }
            self.running = Some(running);
        }
        self.problem = *problem;
        let problem = (self.greeting.protocol >= PROTOCOL).then(|| AskedProblem::new(problem, input));
        let loaded: LoadedReply = self.ask(&BaselineRequest::Load { n, seed: input.seed, problem })?;
        if loaded.ok { Ok(()) } else { Err(self.nonsense("it answered a load with `ok` false")) }
    }

    /// Runs a subject once and compares every element.
    ///
    /// # Errors
    /// When it cannot; a wrong element is no error here.
    pub fn verify(&mut self, subject: &str, n: u64) -> Result<BaselineComparison, Failure> {
        let found = self.ask(&BaselineRequest::Verify { subject, n })?;
        self.believed(found, n)
    }

    /// A comparison, unless it contradicts itself.
    fn believed(&mut self, found: BaselineComparison, n: u64) -> Result<BaselineComparison, Failure> {
        match found.check(&self.problem, n, self.timeout) {
            Ok(()) => Ok(found),
            Err(wrong) => Err(self.nonsense(&format!("its answer cannot be: {wrong}"))),
        }
    }

    /// Runs the calls of a sample once more, as [`Self::time`] does, and compares the elements of some of them.
    ///
    /// # Errors
    /// When it cannot; a wrong element is no error here.
    pub fn twin(
        &mut self,
        subject: &str,
        n: u64,
        cache: Cache,
        calls: u32,
    ) -> Result<BaselineComparison, Failure> {
        let found = self.ask(&BaselineRequest::Twin { subject, n, cache, calls })?;
        self.believed(found, n)
    }

    /// A block of samples begins with the next request for times: says so to another scanbox
    /// (see [`crate::backend::Backend::begin_block`]).
    pub fn begin_block(&mut self) {
        self.begins = true;
    }

    /// Takes samples in nanoseconds per sample.
    ///
    /// # Errors
    /// When it cannot, or answers with what is no list of durations.
    pub fn time(
        &mut self,
        subject: &str,
        n: u64,
        cache: Cache,
        calls: u32,
        samples: u32,
    ) -> Result<Vec<f64>, Failure> {
        let block = std::mem::take(&mut self.begins);
        let reply: TimesReply =
            self.ask(&BaselineRequest::Time { subject, n, cache, calls, samples, block })?;
        reply.durations(calls, samples, self.timeout).map_err(|wrong| self.nonsense(&wrong))
    }

    /// Sends a request and waits for the answer.
    fn ask<T: DeserializeOwned>(&mut self, request: &BaselineRequest<'_>) -> Result<T, Failure> {
        let Some(running) = &mut self.running else {
            let ended = || Failure::new(Status::RuntimeError, "the baseline does not run");
            return Err(self.ended.clone().unwrap_or_else(ended));
        };
        let line = running.ask(request, self.timeout);
        let line = line.map_err(|failure| self.end(failure))?;
        if let Ok(refusal) = serde_json::from_str::<RefusalReply>(&line) {
            // What it has not costs it nothing.
            self.refused |= refusal.status() != Status::Unsupported;
            let reason = format!("{}: {}", self.program.path.display(), refusal.error);
            return Err(Failure::new(refusal.status(), reason));
        }
        serde_json::from_str(&line)
            .map_err(|error| self.nonsense(&format!("it answered `{}` ({error})", excerpt(&line))))
    }

    fn nonsense(&mut self, what: &str) -> Failure {
        let version = self.greeting.protocol;
        self.end(Failure::new(Status::RuntimeError, format!("no protocol {version}: {what}")))
    }

    /// Ends the process. From here on every answer is this failure.
    fn end(&mut self, failure: Failure) -> Failure {
        self.running = None;
        let reason = format!("{}: {}", self.program.path.display(), failure.reason);
        let failure = Failure::new(failure.status, reason);
        self.ended = Some(failure.clone());
        failure
    }
}

fn excerpt(line: &str) -> String {
    line.chars().take(EXCERPT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cuda_program_sees_the_device_of_scanbox_alone() {
        let uuid = "e0c1651e-544e-a9c2-b1bc-2cea4de32bd1";
        let device = |vendor_id, kind, uuid: &str| DeviceProfile {
            vendor_id,
            kind,
            uuid: uuid.to_owned(),
            ..scanbox_testing::device::example("NVIDIA H200", vendor_id, "NVIDIA 580")
        };
        let gpu = device(NVIDIA, DeviceKind::Hardware, uuid);
        let named = vec![(VISIBLE.to_owned(), format!("GPU-{uuid}"))];
        for (what, device, visible, expected) in [
            ("nothing is named", &gpu, None, &named),
            ("several are", &gpu, Some("0,1"), &named),
            ("one is", &gpu, Some("1"), &vec![]),
            ("none is", &gpu, Some(""), &vec![]),
            ("another vendor's", &device(0x1002, DeviceKind::Hardware, uuid), None, &vec![]),
            ("a software device", &device(NVIDIA, DeviceKind::Software, uuid), None, &vec![]),
            ("one without UUID", &device(NVIDIA, DeviceKind::Hardware, ""), None, &vec![]),
        ] {
            assert_eq!(Program::on(Path::new("cub"), device, visible).environment, *expected, "{what}");
        }
    }
}
