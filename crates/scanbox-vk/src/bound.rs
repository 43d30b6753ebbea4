//! Bound scans: kernels that read no push constants, whose pipelines know where they find what they are told.

use ash::vk;
use scanbox_pack::layout::{LINE_BYTES, N_WORD};
use scanbox_pack::{ArgumentKind, CallSizes, Launch, Recipe};

use crate::call::{CallLength, CallRules, CheckedCall, DeviceRange, ScanCall, aligned, apart, large_enough};
use crate::hand_over_error::{HandOverError, Operand};
use crate::pipeline::constants;
use crate::record::{Access, Dispatch, Told, barrier, record};
use crate::scan::{RangeKernel, Scan};
use crate::scanner::{PipelineFailure, Scanner};
use crate::step::{CallMemory, in_line};

/// Memory that lines of arguments need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineNeeds {
    /// Bytes; 0: none.
    pub bytes: u64,
    /// What its address is a multiple of, in bytes.
    pub alignment: u64,
}

/// Where lines of arguments stand: commands that write them need the buffer, shaders its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineBuffer {
    /// The buffer, with usages `SHADER_DEVICE_ADDRESS` and `TRANSFER_DST`.
    pub buffer: vk::Buffer,
    /// Where the lines begin in it, in bytes.
    pub offset: u64,
    /// The same memory by its address.
    pub range: DeviceRange,
}

/// A scan with pipelines of its own, which belong to its scratch memory and its lines; where arguments are constants,
/// to its arrays and its number of elements too.
///
/// Its calls find what they are told without waiting for push constants. Making one makes pipelines, which takes
/// milliseconds. It is no [`Clone`]: what is bound to it belongs to one use that may be pending. Dropping it destroys
/// its pipelines, so that nothing which was recorded with it may be pending then, or run later.
#[derive(Debug)]
pub struct Bound {
    scan: Scan,
    /// The place of its kernel among those of the scan; none of a call that has nothing to do.
    kernel: Option<usize>,
    /// Elements of its calls; where each says how many, the most.
    n: u64,
    /// The scratch memory that was bound.
    scratch: u64,
    lines: Option<LineBuffer>,
    dispatches: Vec<Dispatch>,
    /// Those of its dispatches.
    _pipelines: OwnPipelines,
}

/// Pipelines that go with their owner.
#[derive(Debug)]
struct OwnPipelines {
    scanner: Scanner,
    pipelines: Vec<vk::Pipeline>,
}

impl Drop for OwnPipelines {
    fn drop(&mut self) {
        for pipeline in self.pipelines.drain(..) {
            // SAFETY: whoever drops the owner sees to it that no work with its pipelines is pending.
            unsafe { self.scanner.parts.device.destroy_pipeline(pipeline, None) };
        }
    }
}

/// The rules of calls that are told in lines how many elements they have: for the host, as for any other.
fn told_rules(rules: &CallRules) -> CallRules {
    let mut rules = *rules;
    rules.call_use.n_on_device = false;
    rules
}

/// A call of a kernel that is bound.
fn launch_of<M>(recipe: &Recipe<M>, max_n: u64, n: u64) -> Launch<'_, M> {
    // Calls of a kernel that take turns by themselves all have the number that it is laid out for.
    let most = if recipe.call_sizes == CallSizes::Same { n } else { max_n };
    let launch = recipe.laid_out(most).and_then(|laid_out| laid_out.at(n));
    launch.expect("its range is of elements that it takes")
}

impl Scan {
    /// The memory that lines of a [`Bound`] need; none but where the scan was made for arguments in lines.
    #[must_use]
    pub fn line_needs(&self) -> LineNeeds {
        let parts = &*self.parts;
        let in_lines = parts.rules.call_use.arguments == ArgumentKind::Line;
        let steps = |kernel: &RangeKernel| {
            launch_of(&kernel.recipe, kernel.max_n, kernel.max_n).steps().count() as u64
        };
        let most = parts.kernels.iter().filter(|_| in_lines).map(steps).max();
        LineNeeds { bytes: most.unwrap_or(0) * LINE_BYTES, alignment: LINE_BYTES }
    }

    /// Binds the scan, which was made for arguments in lines or constants, to the scratch memory of `call`, to lines
    /// where it has some, and to as many elements as the call has; where arguments are constants, to all of the call.
    /// Where it was made for calls whose number of elements the device knows, each call may have another one.
    ///
    /// Lines have to be told ([`Bound::cmd_set`]) before the first call runs, and the scratch memory prepared
    /// ([`Scan::cmd_prepare`]). One scratch memory is for one [`Bound`] at a time: prepare it again for another one.
    ///
    /// # Errors
    /// What is wrong with the call or the lines; what Vulkan said of the pipelines.
    ///
    /// # Safety
    /// The memory is what [`Scan::cmd_scan`] says it is, and the buffer of the lines is where they say.
    pub unsafe fn bind(&self, lines: Option<LineBuffer>, call: &ScanCall) -> Result<Bound, HandOverError> {
        let parts = &*self.parts;
        let rules = told_rules(&parts.rules);
        let lines = self.checked_lines(lines)?;
        let (checked, n) = rules.check_bound(call, &parts.rules)?;
        self.lines_apart(lines, call, n)?;
        let bound = CheckedCall { n, ..checked };
        // Lines may be told of other arrays later, constants not.
        let kernel = match lines.filter(|_| rules.call_use.any_element) {
            Some(_) => parts.kernel_of_any_element(&bound)?,
            None => parts.kernel(&bound)?,
        };
        let scanner = &parts.scanner;
        let mut pipelines = OwnPipelines { scanner: scanner.clone(), pipelines: Vec::new() };
        let mut dispatches = Vec::new();
        let scratch = checked.memory.scratch;
        if let Some(kernel) = kernel {
            let modules = scanner.parts.recipe(kernel.place);
            // The same steps, by their modules.
            let launch = launch_of(modules, kernel.max_n, n);
            let memory = CallMemory { scratch: scratch + kernel.offset, ..checked.memory };
            let fill = launch.fill().map(|step| (step, None));
            let steps = (0..).zip(launch.steps()).map(|(place, step)| {
                let line = lines.map(|lines| lines.range.address + place * LINE_BYTES);
                (step, line)
            });
            for (step, line) in fill.into_iter().chain(steps) {
                let told = in_line(&step, &memory, scanner.parts.facts.max_groups);
                let (words, groups) =
                    told.expect("a call of most elements was checked when the scan was made");
                let varies = modules.call_sizes == CallSizes::InMemory;
                let max_n = if varies { kernel.max_n as u32 } else { 0 };
                let constants = match line {
                    Some(line) => constants(None, line, memory.scratch, max_n),
                    None => constants(Some(words.words()), 0, memory.scratch, 0),
                };
                let made = scanner.parts.create(*step.module(), &constants);
                let pipeline = made.map_err(|failure| self.unmade(kernel, failure))?;
                pipelines.pipelines.push(pipeline);
                let told = if line.is_some() { Told::Line } else { Told::Baked };
                dispatches.push(Dispatch { pipelines: [pipeline; 2], told, groups });
            }
        }
        let kernel = kernel.map(|kernel| parts.kernels.iter().position(|other| std::ptr::eq(other, kernel)));
        let kernel = kernel.flatten();
        Ok(Bound { scan: self.clone(), kernel, n, scratch, lines, dispatches, _pipelines: pipelines })
    }

    /// Lines exactly where the scan has some, as large and aligned as it says: no more of them than it needs.
    fn checked_lines(&self, lines: Option<LineBuffer>) -> Result<Option<LineBuffer>, HandOverError> {
        let what = Operand::Lines;
        match (self.parts.rules.call_use.arguments, lines) {
            (ArgumentKind::Pushed, _) => {
                Err(HandOverError::OtherArguments { arguments: ArgumentKind::Pushed })
            }
            (ArgumentKind::Line, None) => Err(HandOverError::Missing { what }),
            (ArgumentKind::Baked, Some(_)) => Err(HandOverError::Unexpected { what }),
            (ArgumentKind::Baked, None) => Ok(None),
            (ArgumentKind::Line, Some(lines)) => {
                let needs = self.line_needs();
                large_enough(what, lines.range, needs.bytes)?;
                aligned(what, lines.range.address, needs.alignment)?;
                // Commands that write them want whole words.
                aligned(what, lines.offset, 4)?;
                let range = DeviceRange { bytes: needs.bytes, ..lines.range };
                Ok(Some(LineBuffer { range, ..lines }))
            }
        }
    }

    /// Lines share no bytes with what a call of `n` elements reads or writes.
    fn lines_apart(&self, lines: Option<LineBuffer>, call: &ScanCall, n: u64) -> Result<(), HandOverError> {
        let Some(lines) = lines else { return Ok(()) };
        let rules = &self.parts.rules;
        let one = |address: Option<u64>| address.map_or((0, 0), |address| (address, rules.element_bytes));
        let arrays = [
            (Operand::Scratch, (call.scratch.address, rules.scratch_bytes)),
            (Operand::Output, (call.output.address, rules.output_bytes(n))),
            (Operand::Total, one(call.total)),
            (Operand::Input, (call.input.address, n * rules.element_bytes)),
            (Operand::Init, one(call.init)),
        ];
        let of_lines = (lines.range.address, lines.range.bytes);
        match arrays.into_iter().find(|(_, range)| !apart(of_lines, *range)) {
            None => Ok(()),
            Some((other, _)) => Err(HandOverError::Overlap { one: Operand::Lines, other }),
        }
    }

    fn unmade(&self, kernel: &RangeKernel, failure: PipelineFailure) -> HandOverError {
        match failure {
            PipelineFailure::Vulkan(result) => {
                HandOverError::Vulkan { call: "vkCreateComputePipelines", result }
            }
            PipelineFailure::Unfit(why) => {
                let label = self.parts.scanner.parts.label(kernel.place);
                self.parts.no_kernel(format!("{label}: {why}"))
            }
        }
    }
}

impl CallRules {
    /// What a bound call works on, and how many elements its dispatches are for. `asked`: the rules of the scan.
    fn check_bound(&self, call: &ScanCall, asked: &Self) -> Result<(CheckedCall, u64), HandOverError> {
        if !asked.call_use.n_on_device {
            let checked = self.check(call)?;
            return Ok((checked, checked.n));
        }
        // Whatever number the device writes, up to the most there may be, has to have room.
        let told = match call.n {
            CallLength::Host(n) => n,
            CallLength::Device { .. } => asked.max_n,
        };
        let checked = self.check(&ScanCall { n: CallLength::Host(told), ..*call })?;
        Ok((checked, asked.max_n))
    }
}

impl Bound {
    /// Elements of its calls; where each says how many it has, the most.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The address of the word, in its line, that says how many elements the next call has, where the scan was made for
    /// calls whose number the device knows: the device may write it, behind a [`Bound::cmd_set`] and a barrier, and
    /// with a barrier in front of the call. The arrays of that [`Bound::cmd_set`] then need room for as many, which is
    /// checked where the call was told this address.
    #[must_use]
    pub fn length_address(&self) -> Option<u64> {
        let varies = self.scan.parts.rules.call_use.n_on_device;
        self.lines.filter(|_| varies).map(|lines| lines.range.address + 4 * N_WORD as u64)
    }

    /// Records what its next calls are told: other arrays, another number of elements where the scan was made for that,
    /// with barriers on both sides, so that calls before it have read their lines and calls behind it find theirs.
    /// Where the number of elements is that of [`Bound::length_address`], that word stays as it is.
    ///
    /// Neither allocates nor locks.
    ///
    /// # Errors
    /// What is wrong with the call, [`HandOverError::BoundToOther`] where what was bound would have to be other, and
    /// [`HandOverError::OtherArguments`] where arguments are constants. Then nothing was recorded.
    ///
    /// # Safety
    /// As for [`Scan::cmd_scan`], of the arrays and of the lines.
    pub unsafe fn cmd_set(&self, commands: vk::CommandBuffer, call: &ScanCall) -> Result<(), HandOverError> {
        let parts = &*self.scan.parts;
        let Some(lines) = self.lines else {
            return Err(HandOverError::OtherArguments { arguments: ArgumentKind::Baked });
        };
        let told = match call.n {
            // More than that, which nobody knows here, counts as that.
            CallLength::Device { address } if Some(address) == self.length_address() => {
                ScanCall { n: CallLength::Host(self.n), ..*call }
            }
            CallLength::Device { .. } => return Err(HandOverError::BoundToOther { what: Operand::Length }),
            CallLength::Host(_) => *call,
        };
        let (checked, n) = told_rules(&parts.rules).check_bound(&told, &parts.rules)?;
        let other = |what| Err(HandOverError::BoundToOther { what });
        if n != self.n {
            return other(Operand::Length);
        }
        self.scan.lines_apart(self.lines, &told, n)?;
        if parts.rules.scratch_bytes > 0 && checked.memory.scratch != self.scratch {
            return other(Operand::Scratch);
        }
        let Some(kernel) = self.kernel.map(|at| &parts.kernels[at]) else { return Ok(()) };
        aligned(Operand::Input, checked.memory.source, kernel.recipe.alignment.into())?;
        aligned(Operand::Output, checked.memory.target, kernel.recipe.alignment.into())?;
        let memory = CallMemory { scratch: self.scratch + kernel.offset, ..checked.memory };
        let (scanner, groups) = (&parts.scanner.parts, parts.scanner.parts.facts.max_groups);
        // SAFETY: the caller sees to the command buffer; lines and buffer are what was bound.
        unsafe {
            barrier(&scanner.device, commands, Access::COMPUTE, Access::TRANSFER);
            for (place, step) in (0..).zip(launch_of(&kernel.recipe, kernel.max_n, checked.n).steps()) {
                let told = in_line(&step, &memory, groups);
                let (words, _) = told.expect("a call of most elements was checked when the scan was made");
                let at = lines.offset + place * LINE_BYTES;
                let write = |words: &[u32], first: usize| {
                    let mut bytes = [0; LINE_BYTES as usize];
                    let (used, _) = bytes.split_at_mut(4 * words.len());
                    for (to, word) in used.chunks_exact_mut(4).zip(words) {
                        to.copy_from_slice(&word.to_ne_bytes());
                    }
                    scanner.device.cmd_update_buffer(commands, lines.buffer, at + 4 * first as u64, used);
                };
                match call.n {
                    CallLength::Host(_) => write(words.words(), 0),
                    CallLength::Device { .. } => {
                        let (front, rest) = words.words().split_at(N_WORD);
                        write(front, 0);
                        write(&rest[1..], N_WORD + 1);
                    }
                }
            }
            barrier(&scanner.device, commands, Access::TRANSFER, Access::COMPUTE);
        }
        Ok(())
    }

    /// Records one call, of what it was told last. Barriers stand between its own passes alone.
    ///
    /// Neither allocates nor locks.
    ///
    /// # Safety
    /// As for [`Scan::cmd_scan`], of what the call finds in lines and constants; the [`Bound`] lives until what was
    /// recorded will not run any more.
    pub unsafe fn cmd_scan(&self, commands: vk::CommandBuffer) {
        let scanner = &self.scan.parts.scanner.parts;
        let mut bound = vk::Pipeline::null();
        // SAFETY: the caller sees to the command buffer, the memory and the life of the pipelines.
        unsafe { record(&scanner.device, commands, scanner.layout, &self.dispatches, 0, &mut bound) };
    }
}
