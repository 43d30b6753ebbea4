//! Calls that the library records which programs have, out of a pack: what is timed of them is what a program gets.

use std::sync::Arc;

use ash::vk;
use scanbox_kernels::packing::scan_problem;
use scanbox_kernels::plan::{Binding, Plan};
use scanbox_model::config::{Arguments, Config};
use scanbox_model::record::Status;
use scanbox_pack::{ArgumentKind, CallUse, Pack, Promises, ScanProblem};
use scanbox_vk::{
    Access, Bound, CallLength, DeviceRange, HandOverError, LineBuffer, Scan, ScanCall, Scanner, ScannerInfo,
};

use super::buffer::Buffer;
use super::commands::Recorder;
use super::device::Gpu;
use super::memory::{INITIAL_OFFSET, Memory, N_OFFSET};
use crate::backend::Failure;

/// What ranges of scratch memory and lines begin at multiples of.
pub(super) const ALIGNMENT: u64 = 256;

/// A pack as a program has it: a scanner of the device, and scans of it. They work on the scratch memory and the lines
/// of the session, where its own calls do: times of the two differ by 100 ns where only their memory differs.
pub(super) struct Library {
    scanner: Scanner,
    pack: Arc<Pack>,
    promises: Promises,
    /// By what they compute, their use, and the most elements of a call.
    scans: Vec<((ScanProblem, CallUse, u64), Scan)>,
    /// Those that are bound to what the last plan works on: making one takes milliseconds.
    bound: Vec<(LibraryBoundKey, Arc<Bound>)>,
    /// Outlives them, and so goes last.
    gpu: Arc<Gpu>,
}

/// What a bound scan is of (problem, most elements, use, call): it stays while that stays.
type LibraryBoundKey = (ScanProblem, u64, CallUse, ScanCall);

/// The scan of a plan, and what it was made for.
pub(super) struct LibraryScan {
    scan: Scan,
    problem: ScanProblem,
    max_n: u64,
    call_use: CallUse,
}

impl LibraryScan {
    /// Bytes of scratch memory that it needs.
    pub fn scratch_bytes(&self) -> u64 {
        self.scan.scratch().bytes
    }
}

/// A call that the library records, any number of times.
pub(super) struct LibraryCall {
    scan: Scan,
    bound: Option<Arc<Bound>>,
    call: ScanCall,
    /// Whether its input is its output.
    in_place: bool,
    /// What has to stand in memory until it does, where that is, in bytes: the number of elements, the initial value.
    untold: Vec<(u64, Vec<u32>)>,
    /// Whether its scratch memory fits.
    is_prepared: bool,
    /// Whether it has a line, and whether that has what it says.
    has_line: bool,
    is_told: bool,
    /// Dispatches of a call, about: as many as the plan has.
    pub dispatches: usize,
    /// The first call that the library refused.
    refused: Option<HandOverError>,
}

impl Library {
    /// A program's scanner of this pack on the device of the session.
    pub fn new(gpu: &Arc<Gpu>, pack: Arc<Pack>, promises: Promises) -> Result<Self, Failure> {
        let scanner = scanner(gpu, Arc::clone(&pack), promises)?;
        Ok(Self { scanner, pack, promises, scans: Vec::new(), bound: Vec::new(), gpu: Arc::clone(gpu) })
    }

    /// Drops the scans and makes the scanner anew, as a program that begins once more.
    pub fn renew(&mut self) -> Result<(), Failure> {
        *self = Self::new(&self.gpu, Arc::clone(&self.pack), self.promises)?;
        Ok(())
    }

    fn scan(&mut self, problem: ScanProblem, call_use: CallUse, max_n: u64) -> Result<Scan, Failure> {
        let key = (problem, call_use, max_n);
        if let Some((_, scan)) = self.scans.iter().find(|(other, _)| *other == key) {
            return Ok(scan.clone());
        }
        let scan = self.scanner.scan(&key.0, max_n, call_use).map_err(refused)?;
        self.scans.push((key, scan.clone()));
        Ok(scan)
    }

    /// The scan bound to a call, where its arguments are not pushed.
    fn bound(
        &mut self,
        scan: &Scan,
        key: LibraryBoundKey,
        lines: &Buffer,
    ) -> Result<Option<Arc<Bound>>, Failure> {
        let (.., call_use, call) = &key;
        // Calls of the size before do not come again.
        self.bound
            .retain(|((.., other), _)| other.n == call.n || matches!(other.n, CallLength::Device { .. }));
        if let Some((_, bound)) = self.bound.iter().find(|(other, _)| *other == key) {
            return Ok(Some(Arc::clone(bound)));
        }
        let made = bound(scan, call, call_use.arguments, lines)?.map(Arc::new);
        self.bound.extend(made.iter().map(|bound| (key.clone(), Arc::clone(bound))));
        Ok(made)
    }

    /// The scan that the library has for a plan. It is one of no more elements than the plan has: of the kernels of a
    /// scan, that for the most begins its scratch memory, as the kernel of a plan does.
    ///
    /// # Errors
    /// `unsupported`, where the library would run something else, or nothing.
    pub fn scan_of(&mut self, plan: &Plan) -> Result<LibraryScan, Failure> {
        let max_n = plan.max_n().unwrap_or(plan.n);
        let arguments = plan.passes.first().map_or(Arguments::Push, |pass| pass.shader.arguments());
        let arguments = match arguments {
            Arguments::Block => ArgumentKind::Line,
            Arguments::Baked => ArgumentKind::Baked,
            Arguments::Push => ArgumentKind::Pushed,
        };
        let call_use = CallUse {
            arguments,
            n_on_device: plan.max_n().is_some(),
            total: plan.stores_total(),
            init_in_memory: plan.problem.reads_init(),
            ..CallUse::default()
        };
        let problem = scan_problem(&plan.problem);
        let scan = self.scan(problem.clone(), call_use, max_n)?;
        let chosen = scan.chosen(max_n).label;
        let config = plan.build().map(|build| build.config);
        if chosen.parse::<Config>().ok() != config {
            let reason = format!("for {} elements the library runs {chosen}", plan.n);
            return Err(Failure::new(Status::Unsupported, reason));
        }
        Ok(LibraryScan { scan, problem, max_n, call_use })
    }

    /// A plan as the library records it. There is scratch memory for its scan.
    ///
    /// # Errors
    /// Where memory is missing, and what the library refuses.
    pub fn prepare(&mut self, of: LibraryScan, plan: &Plan, memory: &Memory) -> Result<LibraryCall, Failure> {
        let LibraryScan { scan, problem, max_n, call_use } = of;
        let elements = plan.max_n().unwrap_or(plan.n);
        let outputs = plan.problem.outputs(elements);
        let bytes = plan.problem.element_bytes();
        let range = |address, elements: u64| DeviceRange { address, bytes: elements * bytes };
        let output = range(memory.address(Binding::Output, plan)?, outputs);
        let input = match plan.in_place() {
            true => output,
            false => range(memory.address(Binding::Input, plan)?, elements),
        };
        let missing = |what| Failure::new(Status::RuntimeError, format!("{} has no {what}", plan.label));
        let bytes = scan.scratch().bytes;
        let scratch = memory.scratch().filter(|scratch| scratch.bytes() >= bytes).map(Buffer::address);
        let scratch = match bytes {
            0 => DeviceRange::default(),
            _ => DeviceRange { address: scratch.ok_or_else(|| missing("scratch memory"))?, bytes },
        };
        if scan.line_needs().bytes > N_OFFSET {
            return Err(Failure::new(Status::Unsupported, format!("{} has too many lines", plan.label)));
        }
        let n_word = memory.lines().address() + N_OFFSET;
        let in_memory = call_use.n_on_device && call_use.arguments == ArgumentKind::Pushed;
        let call = ScanCall {
            input,
            output,
            scratch,
            n: if in_memory { CallLength::Device { address: n_word } } else { CallLength::Host(plan.n) },
            init: call_use.init_in_memory.then_some(memory.lines().address() + INITIAL_OFFSET),
            total: memory.total().filter(|_| call_use.total).map(Buffer::address),
        };
        let bound = self.bound(&scan, (problem, max_n, call_use, call), memory.lines())?;
        Ok(LibraryCall {
            scan,
            bound,
            call,
            in_place: plan.in_place(),
            untold: in_memory
                .then(|| (N_OFFSET, vec![plan.n as u32]))
                .into_iter()
                .chain(
                    plan.problem
                        .init_words()
                        .filter(|_| call_use.init_in_memory)
                        .map(|words| (INITIAL_OFFSET, words.to_vec())),
                )
                .collect(),
            is_prepared: false,
            has_line: call_use.arguments == ArgumentKind::Line,
            is_told: false,
            dispatches: plan.passes.len().max(1),
            refused: None,
        })
    }
}

impl LibraryCall {
    /// Lets the calls that are recorded from now on find this binding here; those with lines behind the next
    /// [`LibraryCall::tell`].
    pub fn aim(&mut self, binding: Binding, address: vk::DeviceAddress) {
        let ScanCall { input, output, .. } = &mut self.call;
        let range = match binding {
            Binding::Input if !self.in_place => input,
            Binding::Output => {
                if self.in_place {
                    input.address = address;
                }
                output
            }
            _ => return,
        };
        if std::mem::replace(&mut range.address, address) != address {
            self.forget_line();
        }
    }

    /// Has the next [`LibraryCall::tell`] write the line.
    pub fn forget_line(&mut self) {
        self.is_told = false;
    }

    /// Records what a program records before its calls.
    pub fn tell(&mut self, recorder: &mut Recorder<'_>, memory: &Memory) {
        if !std::mem::replace(&mut self.is_prepared, true) {
            recorder.barrier(Access::COMPUTE, Access::COMPUTE);
            // SAFETY: the command buffer is recording on the device of the scan, the memory is the session's, and
            // barriers stand on both sides.
            let prepared = unsafe { self.scan.cmd_prepare(recorder.raw(), self.call.scratch) };
            self.note(prepared);
            recorder.barrier(Access::COMPUTE, Access::COMPUTE);
        }
        let untold = std::mem::take(&mut self.untold);
        if !untold.is_empty() {
            recorder.barrier(Access::COMPUTE, Access::TRANSFER);
            for (offset, words) in untold {
                recorder.update(memory.lines(), offset, &words);
            }
            recorder.barrier(Access::TRANSFER, Access::COMPUTE);
        }
        if let Some(bound) = self.bound.clone().filter(|_| self.has_line && !self.is_told) {
            // SAFETY: as above; it has barriers of its own.
            let set = unsafe { bound.cmd_set(recorder.raw(), &self.call) };
            self.note(set);
            self.is_told = true;
        }
        recorder.forget_bound();
    }

    /// Records one call.
    pub fn record(&mut self, recorder: &mut Recorder<'_>) {
        match &self.bound {
            // SAFETY: the command buffer is recording on the device of the scan, and all that the call names lives in
            // the session until the submission has come to its end. Barriers are the caller's.
            Some(bound) => unsafe { bound.cmd_scan(recorder.raw()) },
            None => {
                // SAFETY: as above.
                let recorded = unsafe { self.scan.cmd_scan(recorder.raw(), &self.call) };
                self.note(recorded);
            }
        }
        recorder.forget_bound();
    }

    fn note(&mut self, done: Result<(), HandOverError>) {
        if let Err(error) = done {
            self.refused.get_or_insert(error);
        }
    }

    /// # Errors
    /// What the library refused to record. What was recorded beside it must not be submitted.
    pub fn check(&mut self) -> Result<(), Failure> {
        self.refused.take().map_or(Ok(()), |error| Err(refused(error)))
    }
}

/// A program's scanner of a pack on the device of the session.
pub(super) fn scanner(gpu: &Gpu, pack: Arc<Pack>, promises: Promises) -> Result<Scanner, Failure> {
    let info = ScannerInfo {
        instance: gpu.instance(),
        physical: gpu.physical,
        device: &gpu.raw,
        enabled: gpu.enabled,
        pipeline_cache: vk::PipelineCache::null(),
        pack,
        promises,
    };
    // SAFETY: instance and device are those of the session, which outlives the scans and has enabled what it says.
    // Whoever has a pack tried or measured trusts its code.
    unsafe { Scanner::new(&info) }.map_err(refused)
}

/// The scan bound to its memory, where its arguments are not pushed.
pub(super) fn bound(
    scan: &Scan,
    call: &ScanCall,
    arguments: ArgumentKind,
    memory: &Buffer,
) -> Result<Option<Bound>, Failure> {
    let address = memory.address().next_multiple_of(ALIGNMENT);
    let lines = LineBuffer {
        buffer: memory.raw(),
        offset: address - memory.address(),
        range: DeviceRange { address, bytes: scan.line_needs().bytes },
    };
    let lines = match arguments {
        ArgumentKind::Pushed => return Ok(None),
        ArgumentKind::Line => Some(lines),
        ArgumentKind::Baked => None,
    };
    // SAFETY: the memory is the caller's, and outlives what is recorded.
    unsafe { scan.bind(lines, call) }.map(Some).map_err(refused)
}

/// What the library refuses: a device that cannot run the kernel is no fault of it.
pub(super) fn refused(error: HandOverError) -> Failure {
    let status = match &error {
        HandOverError::NoKernel { .. }
        | HandOverError::Lacks { .. }
        | HandOverError::NotOffered { .. }
        | HandOverError::TooLarge { .. }
        | HandOverError::TooLargeForKernels { .. } => Status::Unsupported,
        _ => Status::RuntimeError,
    };
    Failure::new(status, error.to_string())
}
