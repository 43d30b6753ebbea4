//! What a supervisor and its worker say to each other: lines of JSON, orders one way and messages the other.

use std::path::PathBuf;
use std::time::Duration;

use scanbox_kernels::cases::Circumstance;
use scanbox_kernels::input::Input;
use scanbox_kernels::operator_file::OperatorSource;
use scanbox_model::device::DeviceProfile;
use scanbox_model::guarantee_probe::GuaranteesProbe;
use scanbox_model::probe::ArgumentsProbe;
use scanbox_model::safe_devices::Guarantee;
use scanbox_pack::Promises;
use scanbox_runner::baseline::Greeting;
use scanbox_runner::bench::{BenchJob, EmptyCall};
use scanbox_runner::guarantees::Found;
use scanbox_runner::packed::PackVerdict;
use scanbox_runner::session::{End, Setup};
use scanbox_runner::subject::Subject;
use scanbox_runner::sweep::SweepJob;
use scanbox_runner::verify::{ItemVerdict, VerifyJob};
use serde::{Deserialize, Serialize};

use crate::failure::Cause;

/// What a line of a message begins with: drivers and layers may print to stdout too.
pub const MARK: &str = "scanbox:";

/// From the supervisor, to its worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// Do this.
    Work {
        /// What.
        work: Box<Work>,
        /// The operator, where it is of a user's file.
        operator: Option<OperatorSource>,
        /// What was found out about guarantees of the device, where that is not what is kept.
        guarantees: Option<Box<GuaranteesProbe>>,
        /// What is locked as long as the worker lives.
        device_lock: Option<PathBuf>,
    },
    /// Go on with the config that was announced.
    Go,
    /// Finish: no more configs.
    Stop,
}

/// A job, as it crosses the process boundary.
#[derive(Debug, Serialize, Deserialize)]
pub enum Work {
    /// Verify and measure.
    Sweep(SweepJob),
    /// Verify at many sizes, on many inputs, and do not measure.
    Verify(VerifyJob),
    /// Measure few subjects against each other.
    Bench(BenchWork),
    /// Find out where arguments are best.
    Probe,
    /// Find out what the device keeps beyond what Vulkan promises.
    Guarantees {
        /// These, in this order.
        asked: Vec<Guarantee>,
    },
    /// Try the kernels of a pack.
    Pack {
        /// Its file.
        path: PathBuf,
    },
}

/// A benchmark with the programs that take part in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BenchWork {
    /// The benchmark.
    pub job: BenchJob,
    /// Programs that take part.
    pub baselines: Vec<PathBuf>,
    /// Their subjects that take part; empty: all.
    pub baseline_subjects: Vec<String>,
    /// What the library takes its kernels from, where it takes part.
    #[serde(default)]
    pub pack: Option<LentPack>,
    /// How long one block, or one answer of a program, may take.
    pub timeout: Duration,
}

/// A pack that a program would have, and what it would promise.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LentPack {
    /// Its file.
    pub path: PathBuf,
    /// What is promised of the device.
    pub promises: Promises,
}

/// What a subject in flight is known by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectKey {
    /// What it is. Of a subject of a baseline the worker sees to time-outs.
    pub subject: Subject,
    /// Its size; in a verification, the largest one.
    pub n: u64,
    /// Its input, in a verification.
    pub input: Option<Input>,
}

/// What came of a config.
#[derive(Debug, Serialize, Deserialize)]
pub enum ConfigResult {
    /// A row of a sweep, as it stands in the file, with its line break.
    Row(String),
    /// A verdict of a verification.
    Verdict(Box<ItemVerdict>),
}

/// From the worker, to its supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// The device is open.
    Ready {
        /// What it is.
        profile: Box<DeviceProfile>,
        /// How many devices of the same name come before it.
        unit: usize,
    },
    /// Something takes time before any config runs.
    Setup(Setup),
    /// See [`scanbox_runner::sweep::SweepEvent::Doing`].
    Doing {
        /// What.
        what: String,
    },
    /// See [`scanbox_runner::sweep::SweepEvent::Remark`].
    Remark {
        /// What went wrong.
        text: String,
    },
    /// See [`scanbox_runner::sweep::SweepEvent::Ceiling`].
    Ceiling {
        /// Elements.
        n: u64,
        /// Throughput.
        gbps: f64,
    },
    /// See [`scanbox_runner::sweep::SweepEvent::NoCeiling`].
    NoCeiling {
        /// Elements.
        n: u64,
        /// Whether a result was wrong.
        wrong: bool,
    },
    /// Waits for [`Order::Go`] to run this config.
    Started {
        /// Which.
        key: SubjectKey,
    },
    /// One call of the config begins.
    Calling {
        /// Its size.
        n: u64,
        /// What is special about it.
        circumstance: Circumstance,
    },
    /// A config has come to its end.
    Finished(ConfigResult),
    /// A baseline has started.
    Greeted(Greeting),
    /// See [`scanbox_runner::bench::BenchEvent::EmptyCall`].
    EmptyCall(Result<EmptyCall, String>),
    /// See [`scanbox_runner::bench::BenchEvent::SizeFinished`].
    SizeFinished {
        /// The size.
        n: u64,
    },
    /// What became of a kernel of a pack.
    Packed(Box<PackVerdict>),
    /// What a probe found; or why it found nothing.
    Probed(Result<ArgumentsProbe, String>),
    /// What a probe found about a guarantee.
    Found(Box<Found>),
    /// Nothing more to do.
    Ended {
        /// Why.
        end: End,
        /// Where the time went, by phase, in seconds.
        seconds: Vec<(String, f64)>,
    },
    /// The device failed under something that is no config. Another process may do better.
    Broke {
        /// What failed, and what was going on.
        reason: String,
    },
    /// Nothing could be done.
    Failed {
        /// Why.
        reason: String,
        /// What kind of thing is to blame.
        cause: Cause,
    },
}
