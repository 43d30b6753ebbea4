//! Configs on request: this version of scanbox as a program that another version measures itself against.
//!
//! It speaks the protocol of [`crate::baseline`], which changes less often than the messages between a supervisor and
//! its worker, with labels as its subjects: so a binary that was kept with a base can still be asked by later ones.
//! Nothing hangs it but a kernel; whoever asks ends it then.

use std::io::{self, BufRead, Write};

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::plan::Plan;
use scanbox_model::config::Config;
use scanbox_model::problem::Problem;
use scanbox_model::record::{Cache, Status};
use serde::{Deserialize, Serialize};

use crate::backend::{Backend, Failure, leaves_input};
use crate::baseline::{Greeting, PROTOCOL};
use crate::measure::{TimedPlan, duration_ns, take};
use crate::session::{Ahead, Session};
use crate::verify::verify;

/// What can be asked: see [`crate::baseline`].
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum ServeRequest {
    Load {
        n: u64,
        seed: u64,
    },
    Verify {
        subject: String,
        n: u64,
    },
    Time {
        subject: String,
        n: u64,
        cache: Cache,
        calls: u32,
        samples: u32,
        /// Whether a block begins; programs of older versions do not say so.
        #[serde(default)]
        block: bool,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ServeReply {
    Loaded { ok: bool },
    Compared { compared: u64, mismatches: u64, first: Option<First>, call_ns: Option<f64> },
    Times { samples_ns: Vec<f64> },
    Refusal { error: String, status: Status },
}

#[derive(Serialize)]
struct First {
    index: u64,
    expected: u64,
    got: u64,
}

/// Answers requests until there are no more.
///
/// # Errors
/// When requests cannot be read or replies not written.
pub fn serve(
    backend: &mut dyn Backend,
    compiler: &Compiler,
    problem: Problem,
    version: &str,
    requests: impl BufRead,
    replies: &mut impl Write,
) -> io::Result<()> {
    let profile = backend.profile();
    let greeting = Greeting {
        protocol: PROTOCOL,
        tool: "scanbox".to_owned(),
        version: version.to_owned(),
        device: profile.name.clone(),
        device_uuid: profile.uuid.clone(),
        driver: profile.driver.clone(),
        device_api: profile.device_api(),
        timer_resolution_ns: profile.timer_resolution_ns.ceil() as u64,
        // Any label is one.
        subjects: Vec::new(),
        // Each version has shown in its own sweep that what it times is right.
        twins: false,
    };
    say(replies, &greeting)?;
    let mut server = Server { session: Session::new(backend, compiler, problem), loaded: None };
    // What is lost here is lost at the first request, which has an answer.
    let _ = server.session.prepare::<Failure>(Ahead::default(), &mut |_| Ok(()));
    for line in requests.lines() {
        let reply = match serde_json::from_str(&line?) {
            Ok(request) => server.answer(&request).unwrap_or_else(|failure| ServeReply::Refusal {
                error: failure.reason,
                status: failure.status,
            }),
            Err(error) => {
                ServeReply::Refusal { error: format!("no request: {error}"), status: Status::RuntimeError }
            }
        };
        say(replies, &reply)?;
    }
    Ok(())
}

fn say(replies: &mut impl Write, reply: &impl Serialize) -> io::Result<()> {
    writeln!(replies, "{}", serde_json::to_string(reply).map_err(io::Error::other)?)?;
    replies.flush()
}

struct Server<'a> {
    session: Session<'a>,
    /// The largest size, and the input.
    loaded: Option<(u64, Input)>,
}

impl Server<'_> {
    fn answer(&mut self, request: &ServeRequest) -> Result<ServeReply, Failure> {
        match request {
            ServeRequest::Load { n, seed } => {
                self.load(*n, Input { kind: InputKind::Random, seed: *seed })?;
                Ok(ServeReply::Loaded { ok: true })
            }
            ServeRequest::Verify { subject, n } => {
                let plan = self.plan(subject, *n)?;
                // Whatever the rows before have left, this one answers for itself alone.
                self.session.backend.forget_scratch();
                let comparison = verify(self.session.backend, &plan)?;
                Ok(ServeReply::Compared {
                    compared: comparison.compared,
                    mismatches: comparison.mismatches,
                    first: comparison.first.map(|first| First {
                        index: first.index,
                        expected: first.expected,
                        got: first.got,
                    }),
                    call_ns: duration_ns(comparison.call, self.session.backend.profile()),
                })
            }
            ServeRequest::Time { subject, n, cache, calls, samples, block } => {
                let plan = self.plan(subject, *n)?;
                let backend = &mut *self.session.backend;
                if *block {
                    backend.begin_block();
                }
                let mut timed = TimedPlan { backend, plan: &plan, cache: *cache };
                let taken = take(&mut timed, *calls, *samples);
                let samples_ns = leaves_input(backend, &plan, taken)?;
                Ok(ServeReply::Times { samples_ns })
            }
        }
    }

    /// What is loaded already is kept.
    fn load(&mut self, n: u64, input: Input) -> Result<(), Failure> {
        if self.loaded.is_some_and(|(largest_n, loaded)| n <= largest_n && loaded.seed == input.seed) {
            return Ok(());
        }
        self.reload(n, input)
    }

    fn reload(&mut self, n: u64, input: Input) -> Result<(), Failure> {
        self.loaded = None;
        self.session.backend.load(&self.session.problem, &input, n)?;
        self.loaded = Some((n, input));
        Ok(())
    }

    /// The plan of a config, with its pipelines, on an input that it can run on.
    fn plan(&mut self, label: &str, n: u64) -> Result<Plan, Failure> {
        let unsupported = |reason: String| Failure::new(Status::Unsupported, reason);
        let config: Config = label.parse().map_err(|error| unsupported(format!("{label}: {error}")))?;
        let Some((largest_n, input)) = self.loaded.filter(|(largest_n, _)| n <= *largest_n) else {
            return Err(Failure::new(Status::RuntimeError, format!("there is no input of {n} elements")));
        };
        // One that runs on small elements only gets them; the others run on those as well.
        let kind = catalog::input_kind(&config.kernel, self.session.backend.profile(), largest_n);
        if kind != InputKind::Random && kind != input.kind {
            self.reload(largest_n, Input { kind, ..input })?;
        }
        self.session.ready(&config, Variant::default(), n)
    }
}
