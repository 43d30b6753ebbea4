//! A device as the page of a browser drives it: what a session wants done, as requests.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use scanbox_kernels::plan::Module;
use scanbox_model::record::Status;
use scanbox_runner::backend::{Failure, TickInterval};
use scanbox_runner::webgpu::work::{
    BINDING_ALIGNMENT, BoundDispatch, BufferKey, ByteRange, DeviceDriver, DeviceWork, Graveyard, HeldBuffer,
    PipelineKey, SLOT_WORDS, VECTOR_BYTES, WORD_BYTES, WorkDone, WorkStep,
};
use scanbox_runner::webgpu::{StorageUse, storage_of};
use serde::{Deserialize, Serialize};

use crate::chromium::Chromium;
use crate::link::{PageFailure, PageLink, no_answer};
use crate::server::{OpenPage, PagePlace, PageServer};

/// How long a browser that ends may take until it has.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// Timed passes of a submission: a set of queries has two timestamps for each.
const MAX_TIMED: usize = 2048;

/// What a request says; each is one of the page's.
#[derive(Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum PageOrder {
    Open,
    Buffer { key: u32, name: &'static str, bytes: u64 },
    Write { to: (u32, u64) },
    Pipelines { sources: Vec<PageSource> },
    Check { texts: Vec<String> },
    Round { step_ns: u32 },
    Run { writes: Vec<PageRange>, dispatches: Vec<PageDispatch>, steps: Vec<PageStep> },
}

#[derive(Serialize)]
struct Ordered<'a> {
    #[serde(flatten)]
    order: &'a PageOrder,
    /// Buffers that nobody holds any more.
    free: Vec<u32>,
}

/// A buffer, an offset and a length in bytes.
type PageRange = (u32, u64, u64);

#[derive(Serialize)]
struct PageSource {
    text: String,
    /// Whether the shader writes to a storage buffer, from binding 1 on.
    writes: Vec<bool>,
}

#[derive(Serialize)]
struct PageDispatch {
    pipeline: u32,
    bindings: Vec<PageRange>,
    groups: [u32; 2],
}

#[derive(Serialize)]
#[serde(untagged)]
enum PageStep {
    Clear { clear: PageRange },
    Copy { copy: PageRange, to: (u32, u64) },
    Fetch { fetch: PageRange },
    Pass { pass: Vec<usize>, timed: bool },
}

#[derive(Deserialize)]
struct Nothing {}

#[derive(Deserialize)]
struct PipelinesMade {
    made: Vec<PipelineMade>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PipelineMade {
    Failed { failed: PageFailure },
    Made { pipeline: u32 },
}

#[derive(Deserialize)]
struct ShadersChecked {
    remarks: Vec<Vec<String>>,
}

#[derive(Deserialize)]
struct WorkRan {
    took_ms: f64,
}

/// What timed passes took by a clock that nobody has rounded, in order.
pub type ExactSpans = Rc<RefCell<Vec<TickInterval>>>;

/// A device behind a page. With it goes the browser, if it was started for this.
pub struct PageDriver {
    link: PageLink,
    graveyard: Graveyard,
    /// Buffers that were made.
    made: u32,
    has_timestamps: bool,
    binding_bytes: u64,
    buffer_bytes: u64,
    busy_ns: f64,
    /// Where timestamps are rounded: what each timed pass took without that.
    exact: Option<ExactSpans>,
    // In this order: the page goes, then what it comes from.
    chromium: Option<Chromium>,
    _place: PagePlace,
    _server: PageServer,
}

impl PageDriver {
    /// Opens the device of a page.
    ///
    /// # Errors
    /// What the browser says.
    pub fn open(page: OpenPage, server: PageServer, chromium: Option<Chromium>) -> Result<Self, Failure> {
        let listed = page.hello.listed().map_err(|error| no_answer(&error.to_string()))?;
        let mut driver = Self {
            link: PageLink::new(page.socket, page.hello.engine()),
            graveyard: Rc::default(),
            made: 0,
            has_timestamps: page.hello.has_timestamps(),
            binding_bytes: listed.profile.max_storage_buffer_bytes,
            buffer_bytes: listed.profile.max_allocation_bytes,
            busy_ns: 0.0,
            exact: None,
            chromium,
            _place: page.place,
            _server: server,
        };
        driver.ask::<Nothing>(&PageOrder::Open, &[])?;
        Ok(driver)
    }

    /// What the compiler of the browser says to each of these shaders: errors, warnings, remarks.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn check(&mut self, texts: Vec<String>) -> Result<Vec<Vec<String>>, Failure> {
        let asked = texts.len();
        let (ShadersChecked { remarks }, _) = self.ask(&PageOrder::Check { texts }, &[])?;
        match remarks.len() == asked {
            true => Ok(remarks),
            false => Err(no_answer(&format!("remarks to {} shaders of {asked}", remarks.len()))),
        }
    }

    /// Has the page round timestamps to a multiple of this, as browsers do for strangers, and tells where what they
    /// were before goes: for tests of what samples of such a clock are worth.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn round_timestamps(&mut self, step_ns: u32) -> Result<ExactSpans, Failure> {
        self.ask::<Nothing>(&PageOrder::Round { step_ns }, &[])?;
        let exact = self.exact.get_or_insert_default();
        Ok(Rc::clone(exact))
    }

    fn ask<T: serde::de::DeserializeOwned>(
        &mut self,
        order: &PageOrder,
        words: &[u32],
    ) -> Result<(T, Vec<u32>), Failure> {
        let free = self.graveyard.borrow_mut().drain(..).map(|key| key.0).collect();
        let answer = self.link.ask(&Ordered { order, free }, words);
        answer.map_err(|failure| match self.chromium.as_mut().filter(|_| failure.is_fatal()) {
            // Where the browser has ended, how it did says more than that its page is gone.
            Some(chromium) => match chromium.ended_within(LAST_WORDS) {
                Some(how) => {
                    Failure { reason: format!("{}; the browser ended: {how}", failure.reason), ..failure }
                }
                None => failure,
            },
            None => failure,
        })
    }
}

impl DeviceDriver for PageDriver {
    fn buffer(&mut self, name: &'static str, bytes: u64) -> Result<HeldBuffer, Failure> {
        let bytes = bytes.max(1).checked_next_multiple_of(BINDING_ALIGNMENT).unwrap_or(u64::MAX);
        let most = self.buffer_bytes;
        if bytes > most {
            let reason = format!("{name}: {bytes} bytes, and a buffer has at most {most}");
            return Err(Failure::new(Status::OutOfMemory, reason));
        }
        let key = self.made;
        self.made += 1;
        let made = self.ask::<Nothing>(&PageOrder::Buffer { key, name, bytes }, &[]);
        made.map_err(|failure| Failure { reason: format!("{name}: {}", failure.reason), ..failure })?;
        Ok(HeldBuffer::new(BufferKey(key), bytes, &self.graveyard))
    }

    fn pipelines(&mut self, modules: &[Module]) -> Vec<Result<PipelineKey, Failure>> {
        let texts: Vec<Result<Arc<str>, Failure>> = modules
            .iter()
            .map(|module| {
                module.code.wgsl().ok_or_else(|| {
                    let reason = format!("{}: WebGPU takes WGSL alone", module.shader);
                    Failure::new(Status::CompileError, reason)
                })
            })
            .collect();
        let source = |text: &Arc<str>| PageSource {
            text: text.to_string(),
            writes: storage_of(text).into_iter().map(|storage| storage == StorageUse::ReadWrite).collect(),
        };
        let sources: Vec<PageSource> = texts.iter().flatten().map(source).collect();
        let asked = sources.len();
        let answer = self.ask::<PipelinesMade>(&PageOrder::Pipelines { sources }, &[]);
        let made = answer.and_then(|(PipelinesMade { made }, _)| {
            if made.len() == asked {
                Ok(made)
            } else {
                Err(no_answer(&format!("{} pipelines, and {asked} were asked for", made.len())))
            }
        });
        let mut made = match made {
            Ok(made) => made.into_iter(),
            Err(failure) => return modules.iter().map(|_| Err(failure.clone())).collect(),
        };
        let engine = self.link.engine();
        let outcome = |text: Result<Arc<str>, Failure>| {
            text?;
            match made.next() {
                Some(PipelineMade::Made { pipeline }) => Ok(PipelineKey(pipeline)),
                Some(PipelineMade::Failed { failed }) => Err(failed.told_by(engine)),
                None => Err(no_answer("fewer pipelines than were asked for")),
            }
        };
        texts.into_iter().map(outcome).collect()
    }

    fn write(&mut self, to: &HeldBuffer, offset: u64, words: &[u32]) -> Result<(), Failure> {
        self.ask::<Nothing>(&PageOrder::Write { to: (to.key.0, offset) }, words).map(drop)
    }

    fn run(&mut self, work: &DeviceWork) -> Result<WorkDone, Failure> {
        let timed = work.timed_passes();
        if timed > MAX_TIMED || (timed > 1 && !self.has_timestamps) {
            let reason = format!("{timed} timed passes in one submission");
            return Err(Failure::new(Status::Unsupported, reason));
        }
        let (order, words) = order_of(work);
        let start = Instant::now();
        let (WorkRan { took_ms }, words) = self.ask(&order, &words)?;
        self.busy_ns += start.elapsed().as_nanos() as f64;
        if !(0.0..=1e12).contains(&took_ms) {
            return Err(no_answer(&format!("{took_ms} ms")));
        }
        // The clock of the page is nearer to the device than the one of this process.
        let took_ns = (took_ms * 1e6) as u64;
        let understood = |words: &[u32]| {
            work.read(words, self.has_timestamps, took_ns).map_err(|why| match why.status {
                Status::DeviceLost => no_answer(&why.reason),
                _ => Failure { reason: format!("{}: {}", self.link.engine(), why.reason), ..why },
            })
        };
        let Some(exact) = &self.exact else { return understood(&words) };
        let (rounded, unrounded) = words.split_at(words.len() / 2);
        exact.borrow_mut().extend(understood(unrounded)?.spans);
        understood(rounded)
    }

    /// By the clock of this process, from each request to its answer.
    fn busy_ns(&self) -> f64 {
        self.busy_ns
    }

    fn binding_bytes(&self) -> u64 {
        self.binding_bytes / VECTOR_BYTES * VECTOR_BYTES
    }

    fn has_timestamps(&self) -> bool {
        self.has_timestamps
    }
}

fn range(range: &ByteRange) -> PageRange {
    (range.buffer.0, range.offset, range.bytes)
}

/// A submission for the page: each dispatch that it has several times once, and the words of all behind each other.
fn order_of(work: &DeviceWork) -> (PageOrder, Vec<u32>) {
    let mut words = Vec::new();
    let mut writes = Vec::new();
    for (key, offset, written) in &work.writes {
        writes.push((key.0, *offset, written.len() as u64 * WORD_BYTES));
        words.extend_from_slice(written);
    }
    let slots = words.len();
    let mut dispatches = Vec::new();
    let mut known: HashMap<(PipelineKey, &[ByteRange], [u32; 2]), usize> = HashMap::new();
    let mut place_of = |dispatch: &'_ BoundDispatch| {
        dispatches.push(PageDispatch {
            pipeline: dispatch.pipeline.0,
            bindings: dispatch.bindings.iter().map(range).collect(),
            groups: dispatch.groups,
        });
        dispatches.len() - 1
    };
    let mut steps = Vec::new();
    for step in &work.steps {
        steps.push(match step {
            WorkStep::Clear(cleared) => PageStep::Clear { clear: range(cleared) },
            WorkStep::Copy { from, to } => PageStep::Copy { copy: range(from), to: (to.0.0, to.1) },
            WorkStep::Fetch(fetched) => PageStep::Fetch { fetch: range(fetched) },
            WorkStep::Pass { dispatches, is_timed } => {
                let mut pass = Vec::with_capacity(dispatches.len());
                for dispatch in dispatches {
                    let key = (dispatch.pipeline, &*dispatch.bindings, dispatch.groups);
                    pass.push(*known.entry(key).or_insert_with(|| place_of(dispatch)));
                    words.extend_from_slice(&dispatch.words);
                    words.resize(slots + (words.len() - slots).next_multiple_of(SLOT_WORDS), 0);
                }
                PageStep::Pass { pass, timed: *is_timed }
            }
        });
    }
    (PageOrder::Run { writes, dispatches, steps }, words)
}
