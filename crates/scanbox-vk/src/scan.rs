//! Scans: kernels for a problem, up to a number of elements, and the recording of their calls. Those of more elements
//! than a kernel takes are recorded in parts, each of which begins with the total of the part before it.

use std::sync::Arc;

use ash::vk;
use scanbox_pack::{ArgumentKind, Reason, Recipe, ScanMode, ScanProblem, Step};

use crate::call::{CallLength, CallRules, CheckedCall, DeviceRange, SCRATCH_ALIGNMENT, ScanCall, aligned};
use crate::hand_over_error::{HandOverError, Operand};
use crate::record::{Access, Dispatch, barrier, record};
use crate::scanner::Scanner;
use crate::step::{CallMemory, pushed};
use crate::words::{described, pack_with};

/// Scratch memory that calls of a scan need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScratchNeeds {
    /// Bytes. Where they are 0 no memory is needed, and Vulkan has no such buffers: pass [`DeviceRange::default`],
    /// whose address is 0.
    pub bytes: u64,
    /// What its address is a multiple of, in bytes.
    pub alignment: u64,
}

/// What a barrier has on the side of a scan, where work before it and behind it depends on it or it on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanSync {
    /// The second side of a barrier in front of a call or of [`Scan::cmd_prepare`]: of what wrote its input, and of
    /// the call before on the same scratch memory.
    pub before: Access,
    /// The first side of a barrier behind them.
    pub behind: Access,
}

/// What runs for a number of elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChosenKernel<'a> {
    /// Its label.
    pub label: &'a str,
    /// On what ground it was chosen.
    pub reason: Reason,
    /// What input and output begin at multiples of, in bytes.
    pub alignment: u64,
    /// What was measured of it on the device of the pack, at the nearest size; none where nothing was, or this is no
    /// such device.
    pub measured: Option<MeasuredTime>,
    /// By how much it is slower than the fastest that was measured, at the worst size of its range, in parts per
    /// million.
    pub worst_loss_ppm: Option<u32>,
    /// What runs instead where input or output begin elsewhere; none: nothing, such calls are refused.
    pub unaligned: Option<UnalignedKernel<'a>>,
}

/// What runs where input or output begin elsewhere than the best kernel allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnalignedKernel<'a> {
    /// Its label.
    pub label: &'a str,
    /// On what ground it was chosen.
    pub reason: Reason,
    /// What input and output begin at multiples of, in bytes.
    pub alignment: u64,
}

/// What was measured of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredTime {
    /// At how many elements.
    pub n: u64,
    /// The median time of a call in nanoseconds.
    pub nanoseconds: f64,
}

/// A scan of up to so many elements. Clones are the same scan; threads may record it at the same time, each into its
/// own command buffer.
///
/// What was recorded is valid as long as the scan or a clone of it lives, however often it is submitted.
#[derive(Debug, Clone)]
pub struct Scan {
    pub(crate) parts: Arc<ScanParts>,
}

#[derive(Debug)]
pub(crate) struct ScanParts {
    pub scanner: Scanner,
    pub rules: CallRules,
    pub problem: ScanProblem,
    /// Which kernels run for which numbers of elements where vectors may begin, and at any element.
    pub lists: [Vec<ScanRange>; 2],
    pub kernels: Vec<RangeKernel>,
    /// What calls of more elements than these kernels take are made of.
    pub long: Option<LongScan>,
}

/// Which kernel runs from a number of elements on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanRange {
    /// The fewest elements.
    pub from: u64,
    /// Its place among the kernels.
    pub kernel: usize,
    /// On what ground it was chosen.
    pub reason: Reason,
    /// By how much it is slower than the fastest that was measured, in parts per million.
    pub worst_loss_ppm: Option<u32>,
}

/// A kernel with its own part of the scratch memory.
#[derive(Debug)]
pub(crate) struct RangeKernel {
    /// Its place in the pack.
    pub place: u16,
    /// What runs.
    pub recipe: Recipe<vk::Pipeline>,
    /// The most elements that it is chosen for, for which its memory is laid out.
    pub max_n: u64,
    /// Where its scratch memory begins.
    pub offset: u64,
}

impl RangeKernel {
    pub fn scratch_bytes(&self) -> u64 {
        self.recipe.laid_out(self.max_n).map_or(0, |laid_out| laid_out.scratch_bytes())
    }

    /// Whether it finds in its scratch memory what its calls have left there.
    pub fn remembers(&self) -> bool {
        !self.recipe.formula.content(self.max_n).is_stateless()
    }
}

/// The parts of calls of more elements than one part has.
#[derive(Debug)]
pub(crate) struct LongScan {
    /// Elements of each part but the last one.
    pub part: u64,
    /// What scans the first part, and what scans the others: with an initial value in memory.
    pub scans: [Scan; 2],
    /// Where the scratch memory of both begins.
    pub offsets: [u64; 2],
    /// Where the totals of parts stand in scratch memory, in turn in one of two places.
    pub totals: [u64; 2],
    /// Whether the last elements come first.
    pub reverse: bool,
}

/// The range of so many elements.
fn range_of(list: &[ScanRange], n: u64) -> Option<&ScanRange> {
    let behind = list.partition_point(|range| range.from <= n.max(1));
    list.get(behind.checked_sub(1)?)
}

impl ScanParts {
    /// The kernel of a call, `None` where it has nothing to do.
    ///
    /// # Errors
    /// Where its arrays begin elsewhere than any kernel of it allows; where there is none for no elements.
    pub fn kernel(&self, call: &CheckedCall) -> Result<Option<&RangeKernel>, HandOverError> {
        let CheckedCall { memory, n } = call;
        if *n == 0 {
            if !self.rules.stores_one() {
                return Ok(None);
            }
            return self.empty_kernel(memory).map(Some);
        }
        // That of vectors comes first.
        let mut refused = None;
        for range in self.lists.iter().filter_map(|list| range_of(list, *n)) {
            let kernel = &self.kernels[range.kernel];
            let needed = u64::from(kernel.recipe.alignment);
            let checked = aligned(Operand::Input, memory.source, needed)
                .and_then(|()| aligned(Operand::Output, memory.target, needed));
            match checked {
                Ok(()) => return Ok(Some(kernel)),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or_else(|| self.no_empty()))
    }

    /// The kernel of calls whose arrays may begin at any element, wherever those of this one do.
    pub fn kernel_of_any_element(&self, call: &CheckedCall) -> Result<Option<&RangeKernel>, HandOverError> {
        match self.lists.iter().next_back().and_then(|list| range_of(list, call.n)) {
            Some(range) if call.n > 0 => Ok(Some(&self.kernels[range.kernel])),
            _ => self.kernel(call),
        }
    }

    /// The kernel of a call without elements, which stores something.
    fn empty_kernel(&self, memory: &CallMemory) -> Result<&RangeKernel, HandOverError> {
        // Only a reduction touches its output then.
        let target = if self.rules.mode == ScanMode::Reduce { memory.target } else { 0 };
        let mut refused = None;
        for kernel in self.kernels.iter().filter(|kernel| kernel.recipe.min_n == 0) {
            match aligned(Operand::Output, target, kernel.recipe.alignment.into()) {
                Ok(()) => return Ok(kernel),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or_else(|| self.no_empty()))
    }

    fn no_empty(&self) -> HandOverError {
        self.no_kernel("none of its kernels stores what a call without elements leaves".to_owned())
    }

    pub fn no_kernel(&self, why: String) -> HandOverError {
        let Self { problem, rules, .. } = self;
        let mend = pack_with(problem, rules.call_use, None);
        HandOverError::NoKernel { problem: described(problem, rules.call_use), why: vec![why], mend }
    }

    /// A step of a kernel whose pipelines read push constants.
    fn dispatch(&self, step: &Step<'_, vk::Pipeline>, memory: &CallMemory) -> Dispatch {
        let dispatch = pushed(step, *step.module(), memory, self.scanner.parts.facts.max_groups);
        dispatch.expect("a call of most elements was checked when the scan was made")
    }
}

impl Scan {
    /// The scratch memory that its calls need. [`Scan::cmd_prepare`] makes it fit for them.
    ///
    /// Calls that may run at the same time have scratch memory each: one for each frame in flight, and for each queue.
    #[must_use]
    pub fn scratch(&self) -> ScratchNeeds {
        ScratchNeeds { bytes: self.parts.rules.scratch_bytes, alignment: SCRATCH_ALIGNMENT }
    }

    /// The most elements of a call.
    #[must_use]
    pub fn max_n(&self) -> u64 {
        self.parts.rules.max_n
    }

    /// What runs for so many elements, 0 standing for 1, and more than there may be for the most.
    #[must_use]
    pub fn chosen(&self, n: u64) -> ChosenKernel<'_> {
        let parts = &*self.parts;
        let n = n.clamp(1, parts.rules.max_n);
        if let Some(long) = parts.long.as_ref().filter(|long| n > long.part) {
            return long.others().chosen(long.part);
        }
        let mut ranges = parts.lists.iter().filter_map(|list| range_of(list, n));
        let range = ranges.next().expect("there is a kernel for each number of elements");
        let scanner = &parts.scanner.parts;
        let kernel = &parts.kernels[range.kernel];
        let times = scanner.pack.data().times.iter().filter(|time| time.recipe == kernel.place);
        let times = times.filter(|_| range.reason != Reason::Portable);
        // The nearest in the ratio of sizes; of two the confirmed one.
        let distance = |other: u64| (other.max(1) as f64 / n as f64).ln().abs();
        let nearest = times.min_by(|one, other| {
            distance(one.n).total_cmp(&distance(other.n)).then(other.confirmed.cmp(&one.confirmed))
        });
        let unaligned = ranges.next().map(|range| {
            let kernel = &parts.kernels[range.kernel];
            UnalignedKernel {
                label: scanner.label(kernel.place),
                reason: range.reason,
                alignment: kernel.recipe.alignment.into(),
            }
        });
        let alignment = kernel.recipe.alignment.into();
        ChosenKernel {
            label: scanner.label(kernel.place),
            reason: range.reason,
            alignment,
            measured: nearest
                .map(|time| MeasuredTime { n: time.n, nanoseconds: time.picoseconds as f64 / 1000.0 }),
            worst_loss_ppm: range.worst_loss_ppm,
            unaligned: unaligned.filter(|other| other.alignment < alignment),
        }
    }

    /// What barriers around its calls have on their side.
    #[must_use]
    pub fn sync(&self) -> ScanSync {
        let written = vk::AccessFlags2::SHADER_STORAGE_WRITE;
        ScanSync { before: Access::COMPUTE, behind: Access { memory: written, ..Access::COMPUTE } }
    }

    /// Records what makes scratch memory fit for calls, whatever stands there: before its first call, after somebody
    /// else has written to it, and after a submission with a call has not come to its end. Does nothing where scratch
    /// memory may be overwritten between calls. A barrier has to stand between this and a call ([`Scan::sync`]).
    ///
    /// # Errors
    /// Where the memory is too small or begins elsewhere than it may.
    ///
    /// # Safety
    /// As for [`Scan::cmd_scan`].
    pub unsafe fn cmd_prepare(
        &self,
        commands: vk::CommandBuffer,
        scratch: DeviceRange,
    ) -> Result<(), HandOverError> {
        let parts = &*self.parts;
        parts.rules.check_scratch(scratch)?;
        let scanner = &parts.scanner.parts;
        for kernel in &parts.kernels {
            let memory = CallMemory { scratch: scratch.address + kernel.offset, ..CallMemory::default() };
            let steps =
                kernel.recipe.laid_out(kernel.max_n).into_iter().flat_map(|laid_out| laid_out.prepare());
            let dispatches = steps.map(|step| parts.dispatch(&step, &memory));
            let mut bound = vk::Pipeline::null();
            // SAFETY: the caller sees to the command buffer and to the memory; pipelines and layout live with the scan.
            unsafe { record(&scanner.device, commands, scanner.layout, dispatches, 0, &mut bound) };
        }
        if let Some(long) = &parts.long {
            // SAFETY: as above.
            unsafe { long.cmd_prepare(commands, scratch) }?;
        }
        Ok(())
    }

    /// Records one call, with barriers between its own passes alone. Binds a compute pipeline and writes push constants
    /// of compute shaders; descriptors, and what is bound for graphics, stay as they are.
    ///
    /// A call without elements records nothing, unless it is a reduction, or stores the total: one workgroup of a
    /// kernel that takes no elements stores that of nothing. Where the pack has none for this use,
    /// [`HandOverError::NoKernel`] says so.
    ///
    /// Neither allocates nor locks.
    ///
    /// # Errors
    /// What is wrong with the call. Then nothing was recorded.
    ///
    /// # Safety
    /// - The command buffer is of the scanner's device, is recording outside of a render pass, may have dispatches, and
    ///   no other thread uses it.
    /// - The memory that the call names is live, with as many bytes as it says, when what was recorded runs, and its
    ///   buffers have device addresses. Barriers order the call and other work on that memory ([`Scan::sync`]).
    /// - The scratch memory was prepared ([`Scan::cmd_prepare`]) for this scan, and nothing but calls of this scan has
    ///   written to it since; where it may be overwritten between calls, nothing writes to it while one runs.
    /// - The scan, or a clone of it, lives until what was recorded will not run any more.
    pub unsafe fn cmd_scan(&self, commands: vk::CommandBuffer, call: &ScanCall) -> Result<(), HandOverError> {
        let parts = &*self.parts;
        let arguments = parts.rules.call_use.arguments;
        if arguments != ArgumentKind::Pushed {
            return Err(HandOverError::OtherArguments { arguments });
        }
        let checked = parts.rules.check(call)?;
        if let Some(long) = parts.long.as_ref().filter(|long| checked.n > long.part) {
            // SAFETY: as below.
            return unsafe { long.cmd_scan(&parts.scanner.parts.device, commands, call, checked.n) };
        }
        let Some(kernel) = parts.kernel(&checked)? else { return Ok(()) };
        let memory = CallMemory { scratch: checked.memory.scratch + kernel.offset, ..checked.memory };
        let launch = kernel.recipe.laid_out(kernel.max_n).and_then(|laid_out| laid_out.at(checked.n));
        let launch = launch.expect("its range is of elements that it takes");
        let dispatches = launch.fill().into_iter().chain(launch.steps());
        let dispatches = dispatches.map(|step| parts.dispatch(&step, &memory));
        let scanner = &parts.scanner.parts;
        let mut bound = vk::Pipeline::null();
        // SAFETY: the caller sees to the command buffer and to the memory; pipelines and layout live with the scan.
        unsafe { record(&scanner.device, commands, scanner.layout, dispatches, 0, &mut bound) };
        Ok(())
    }
}

impl LongScan {
    /// What runs for the others of its parts.
    pub fn others(&self) -> &Scan {
        &self.scans[1]
    }

    /// Records what makes scratch memory fit for calls of its own.
    ///
    /// # Safety
    /// As for [`Scan::cmd_scan`].
    pub unsafe fn cmd_prepare(
        &self,
        commands: vk::CommandBuffer,
        scratch: DeviceRange,
    ) -> Result<(), HandOverError> {
        for (scan, offset) in self.scans.iter().zip(self.offsets) {
            // SAFETY: the caller sees to it.
            unsafe { scan.cmd_prepare(commands, own(scan, scratch, offset)) }?;
        }
        Ok(())
    }

    /// Records a call of `n` elements that was checked as a whole.
    ///
    /// # Safety
    /// As for [`Scan::cmd_scan`].
    pub unsafe fn cmd_scan(
        &self,
        device: &ash::Device,
        commands: vk::CommandBuffer,
        call: &ScanCall,
        n: u64,
    ) -> Result<(), HandOverError> {
        // Nothing is recorded of a call of which a part is refused.
        for place in 0..n.div_ceil(self.part) {
            let (scan, call) = self.part_of(call, n, place);
            scan.parts.kernel(&scan.parts.rules.check(&call)?)?;
        }
        for place in 0..n.div_ceil(self.part) {
            let (scan, call) = self.part_of(call, n, place);
            // SAFETY: the caller sees to it.
            unsafe {
                if place > 0 {
                    barrier(device, commands, Access::COMPUTE, Access::COMPUTE);
                }
                scan.cmd_scan(commands, &call)?;
            }
        }
        Ok(())
    }

    /// The part of a call that comes so late, and what scans it.
    fn part_of(&self, call: &ScanCall, n: u64, place: u64) -> (&Scan, ScanCall) {
        let count = n.div_ceil(self.part);
        let from_start = if self.reverse { count - 1 - place } else { place };
        let begin = from_start * self.part;
        let elements = self.part.min(n - begin);
        let is_last = place == count - 1;
        let which = usize::from(place > 0);
        let scan = &self.scans[which];
        let rules = &scan.parts.rules;
        let (bytes, is_reduction) = (rules.element_bytes, rules.mode == ScanMode::Reduce);
        let range = |array: DeviceRange| DeviceRange {
            address: array.address + begin * bytes,
            bytes: elements * bytes,
        };
        // Each part reads the total before it, and writes its own to the other place.
        let total_of = |place: u64| call.scratch.address + self.totals[(place % 2) as usize];
        let own_total = total_of(place);
        let output = match is_reduction {
            true if is_last => call.output,
            true => DeviceRange { address: own_total, bytes },
            false => range(call.output),
        };
        let call = ScanCall {
            input: range(call.input),
            output,
            scratch: own(scan, call.scratch, self.offsets[which]),
            n: CallLength::Host(elements),
            init: if place == 0 { call.init } else { Some(total_of(place - 1)) },
            total: rules.call_use.total.then(|| call.total.filter(|_| is_last).unwrap_or(own_total)),
        };
        (scan, call)
    }
}

/// The scratch memory of a scan within that of the whole.
fn own(scan: &Scan, scratch: DeviceRange, offset: u64) -> DeviceRange {
    match scan.scratch().bytes {
        0 => DeviceRange::default(),
        bytes => DeviceRange { address: scratch.address + offset, bytes },
    }
}
