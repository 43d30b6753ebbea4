//! Plans: what has to run on a device for one call, as data. A plan names no driver and no API.

use std::fmt;
use std::sync::Arc;

use scanbox_model::api::Api;
use scanbox_model::config::{Arguments, Config, Parameter, Reset, TileState};
use scanbox_model::problem::{Placement, Problem};
use scanbox_model::space::Rejection;
use scanbox_model::user_operator::UserOperator;
use serde::{Deserialize, Serialize};

pub use scanbox_pack::layout::{
    ARGUMENT_WORDS, BANK_WORDS, FIRST_TURN, GROUP_TILES, LINE_BYTES, N_WORD, NEXT_WORD, READERS_WORD,
    RECORD_WORDS, ROW, STATES_OFFSET, TICKET_BYTES, TURN_WORD,
};
use scanbox_pack::{Place, Step};
pub use scanbox_pack::{PushWord, Scratch, ScratchContent, Tickets};

use crate::variant::{LineUse, Variant};

/// Words behind the last output element that every plan leaves alone: they show writes past the end.
pub const GUARD_WORDS: u64 = 256;

/// What one call of a kernel, or of one of the helpers around it, consists of.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What it was made from.
    pub kind: PlanKind,
    /// What that is called, for messages. Whoever wants to know something of a plan asks its kind.
    pub label: String,
    /// What it computes; of a kernel beside the scans, what the session does.
    pub problem: Problem,
    /// Elements that it works on.
    pub n: u64,
    /// Bytes that it moves at least (reads and writes).
    pub bytes_moved: u64,
    /// What the output holds afterwards.
    pub result: Expected,
    /// How far an element may be off on an input whose sums are rounded (see [`crate::rounding`]); 0: not at all.
    pub error_bound: f64,
    /// The scratch memory it needs, and what it expects there.
    pub scratch: Scratch,
    /// The passes, in order; each depends on the one before.
    pub passes: Vec<Pass>,
}

impl Plan {
    /// Elements that the output has afterwards.
    #[must_use]
    pub fn outputs(&self) -> u64 {
        match self.result {
            Expected::Scan | Expected::Copy => self.n,
            Expected::Total => 1,
            Expected::Sums { run_words } => self.words_of(self.n).div_ceil(run_words.into()),
        }
    }

    /// Words of 4 bytes that the output has afterwards.
    #[must_use]
    pub fn output_words(&self) -> u64 {
        match self.result {
            Expected::Sums { .. } => self.outputs(),
            Expected::Scan | Expected::Total | Expected::Copy => self.words_of(self.outputs()),
        }
    }

    /// Words of 4 bytes of so many elements.
    fn words_of(&self, elements: u64) -> u64 {
        elements * self.problem.element_bytes() / 4
    }

    /// How many tiles its workgroups count for what their lookbacks do; none where they do not count.
    #[must_use]
    pub fn counted_tiles(&self) -> Option<u64> {
        let mut bindings = self.passes.iter().flat_map(|pass| &pass.bindings);
        bindings.find_map(|binding| if let Binding::Counts(tiles) = binding { Some(*tiles) } else { None })
    }

    /// What it was built from, if that is a config.
    #[must_use]
    pub fn build(&self) -> Option<&Build> {
        if let PlanKind::Config(build) = &self.kind { Some(build) } else { None }
    }

    /// Whether the library records it that programs have, out of a pack.
    #[must_use]
    pub fn is_by_library(&self) -> bool {
        self.build().is_some_and(|build| build.variant.by_library)
    }

    /// Whether it was made for one input and output alone: cold calls have others each.
    #[must_use]
    pub fn is_baked(&self) -> bool {
        self.passes.iter().any(|pass| pass.shader.arguments() == Arguments::Baked)
    }

    /// The most elements that a call of it may have, where memory says how many (see [`Variant::max_n`]): what it was
    /// laid out for.
    #[must_use]
    pub fn max_n(&self) -> Option<u64> {
        self.build().and_then(|build| build.variant.max_n)
    }

    /// Where the tile states begin in the scratch memory, in bytes, of kernels whose workgroups pass totals on.
    #[must_use]
    pub fn states_offset(&self) -> u64 {
        let Some(Pass { shader, bindings, words, .. }) = self.passes.first() else { return 0 };
        let has_states = self.build().is_some_and(|build| build.tile_state.is_some());
        if let Some(PushWord::Value(word)) =
            words.last().filter(|_| has_states && shader.api() == Api::WebGpu)
        {
            // All scratch memory is bound at once, and the last word says where states begin.
            return u64::from(*word) * 4;
        }
        let offset = |binding: &Binding| if let Binding::Scratch(at) = binding { Some(*at) } else { None };
        bindings.iter().filter_map(offset).next_back().unwrap_or(0)
    }

    /// Whether it stores the total of all elements beside the scan.
    #[must_use]
    pub fn stores_total(&self) -> bool {
        self.build().is_some_and(|build| build.variant.total)
    }

    /// How the lines of its calls come to be what they are, where it has some.
    #[must_use]
    pub fn line_use(&self) -> LineUse {
        let variant = self.build().map(|build| build.variant).unwrap_or_default();
        let has_lines = || self.passes.iter().any(|pass| pass.shader.arguments() == Arguments::Block);
        match variant.line {
            // A program tells a line when it has something to say.
            LineUse::Rewritten if variant.by_library && has_lines() => LineUse::Unchanged,
            line => line,
        }
    }

    /// What the addresses of its source and target are multiples of, in bytes.
    #[must_use]
    pub fn alignment(&self) -> u64 {
        match &self.kind {
            PlanKind::Config(build) => build.variant.alignment(&build.config.kernel, &self.problem).into(),
            PlanKind::Copy(_) | PlanKind::Read(_) => 16,
            PlanKind::Empty | PlanKind::Operator(_) | PlanKind::Helper(_) => 4,
        }
    }

    /// Whether source or target may begin at this address.
    ///
    /// # Errors
    /// The rule `vector-alignment`, with what to do about it: a GPU may read something else there, or nothing ever
    /// again.
    pub fn check_address(&self, address: u64) -> Result<(), Rejection> {
        let alignment = self.alignment();
        if address.is_multiple_of(alignment) {
            return Ok(());
        }
        let detail = format!(
            "{} reads and writes vectors at multiples of {alignment} bytes, and an array begins at {address:#x}: use its \
             variant for any element, or vectors of one",
            self.label
        );
        Err(Rejection { rule: "vector-alignment".into(), detail })
    }

    /// Whether the calls of a sample all work on the same arrays: none of them is told anything else.
    #[must_use]
    pub fn keeps_its_arrays(&self) -> bool {
        self.is_baked() || self.line_use() == LineUse::Unchanged
    }

    /// Whether it moves what a problem has to move at least, and does nothing else.
    #[must_use]
    pub fn is_ceiling(&self) -> bool {
        matches!(self.kind, PlanKind::Copy(_) | PlanKind::Read(_))
    }

    /// Whether the output stands where the input stood.
    #[must_use]
    pub fn in_place(&self) -> bool {
        matches!(self.result, Expected::Scan | Expected::Total)
            && self.problem.placement() == Placement::InPlace
    }
}

/// What a plan was made from.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanKind {
    /// A config.
    Config(Build),
    /// The kernel that copies the input to the output, in this launch shape.
    Copy(CeilingShape),
    /// The kernel that reads the input, in this launch shape.
    Read(CeilingShape),
    /// The kernel that does nothing.
    Empty,
    /// The kernels that make the input of a user's operator and its answer, and check the laws.
    Operator(UserOperator),
    /// A kernel of this name that works around the calls of another plan: clears, poisons, compares.
    Helper(&'static str),
}

impl fmt::Display for PlanKind {
    /// The label of a config, or the name of a kernel.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(Build { config, variant, .. }) => write!(f, "{config}{variant}"),
            Self::Copy(shape) => write!(f, "copy.{shape}"),
            Self::Read(shape) => write!(f, "read.{shape}"),
            Self::Empty => f.write_str("empty"),
            Self::Operator(user) => write!(f, "operator {}", user.name),
            Self::Helper(name) => f.write_str(name),
        }
    }
}

/// How a copy or a read is launched, and where it finds its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CeilingShape {
    /// Vectors of four words per invocation.
    pub batch_size: u32,
    /// Invocations per workgroup.
    pub workgroup_size: u32,
    /// Where it finds its arguments.
    pub arguments: Arguments,
}

impl CeilingShape {
    /// One whose arguments are pushed.
    #[must_use]
    pub const fn new(batch_size: u32, workgroup_size: u32) -> Self {
        Self { batch_size, workgroup_size, arguments: Arguments::Push }
    }
}

impl fmt::Display for CeilingShape {
    /// As in the labels of configs: `b1.block.wg256`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b{}.", self.batch_size)?;
        if self.arguments != Arguments::Push {
            write!(f, "{}.", self.arguments.tag())?;
        }
        write!(f, "wg{}", self.workgroup_size)
    }
}

/// A config as it was built.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Build {
    /// The config.
    pub config: Config,
    /// What the build has that others do not.
    pub variant: Variant,
    /// The tile state that runs, never `auto`; none where tiles have no state.
    pub tile_state: Option<TileState>,
    /// Bytes of shared memory of a workgroup, an upper bound.
    pub shared_bytes: u64,
}

/// What the output of a plan is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expected {
    /// The scan of the input: the reference.
    Scan,
    /// One element, the combination of all of the input: the last one of the reference.
    Total,
    /// The input itself: a copy.
    Copy,
    /// Sums of the words of the input, modulo 2^32, one for each run of so many words: a read.
    Sums {
        /// Words of a run; the last one may be shorter.
        run_words: u32,
    },
}

/// One dispatch.
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// The shader.
    pub shader: Shader,
    /// Memory that the shader works on, in this order. By Vulkan it gets the addresses, at the start of its push
    /// constants behind the shape of the dispatch (8 bytes each). By WebGPU they are storage buffers, of which the
    /// first is `@binding(1)`; each is bound once, at a multiple of 256 bytes, and to a multiple of 16.
    pub bindings: Vec<Binding>,
    /// Words behind the addresses (4 bytes each). By WebGPU, behind the two words of the shape (workgroups in a row, in
    /// all rows) in a uniform buffer, `@binding(0)`, which every shader has that has a binding.
    pub words: Vec<PushWord>,
    /// Workgroups that have to start; a backend spreads them over dimensions and may start more.
    pub workgroups: u64,
    /// Tickets that are taken.
    pub tickets: Tickets,
    /// Whether all workgroups have to run at the same time, so that no more than these may start.
    pub co_resident: bool,
}

impl Pass {
    /// A pass of a recipe, in a call.
    pub(crate) fn of_step(step: &Step<'_, Shader>, facts: &CallFacts) -> Self {
        Self {
            shader: step.module().clone(),
            bindings: step.places().map(|place| Binding::of_place(place, facts)).collect(),
            words: step.words().collect(),
            workgroups: step.workgroups,
            tickets: step.tickets,
            co_resident: step.co_resident,
        }
    }
}

impl Pass {
    /// How the shader uses each binding, where it says so: in WGSL.
    #[must_use]
    pub fn accesses(&self) -> Vec<BindingAccess> {
        // What a pass goes over is its first binding, and what it writes to where it works in place.
        let in_place =
            self.shader.defines.iter().find(|(name, _)| *name == "IN_PLACE").map(|(_, value)| *value == 1);
        let access = |(place, binding): (usize, &Binding)| match (place, in_place, binding) {
            (0, Some(true), _) => BindingAccess::ReadWrite,
            (0, Some(false), _) => BindingAccess::Read,
            (_, _, Binding::Input | Binding::Reference | Binding::Expected | Binding::Kept) => {
                BindingAccess::Read
            }
            _ => BindingAccess::ReadWrite,
        };
        self.bindings.iter().enumerate().map(access).collect()
    }
}

/// What a shader does with a binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindingAccess {
    /// It reads.
    Read,
    /// It reads and writes.
    ReadWrite,
}

/// What a session puts where a call of a recipe finds it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CallFacts {
    /// Tiles.
    pub tiles: u64,
    /// Elements.
    pub n: u32,
    /// The words of the initial value.
    pub init: [u32; 4],
}

/// Memory of the session that a pass works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binding {
    /// The input.
    Input,
    /// The output, with [`GUARD_WORDS`] behind its last element.
    Output,
    /// The scan of the input, made on the CPU; of a user's operator, on the device.
    Reference,
    /// What the output must equal: the reference or the input, by [`Plan::result`].
    Expected,
    /// The scratch memory from this offset in bytes.
    Scratch(u64),
    /// The words that the comparison reports in.
    Report,
    /// The output of an earlier call, kept to compare later ones with.
    Kept,
    /// Four words for each of so many tiles, in which workgroups say what their lookback did
    /// (stages/lookback/counts.glsl).
    Counts(u64),
    /// One element: the total of a scan that stores it.
    Total,
    /// One element: what a scan or a reduction begins with, these words unless somebody else has written it.
    Initial([u32; 4]),
    /// A word that says how many elements a call has whose other arguments are pushed: this many, unless somebody else
    /// has written it.
    Elements(u32),
}

impl Binding {
    /// The memory of a session that a recipe means.
    fn of_place(place: Place, facts: &CallFacts) -> Self {
        match place {
            Place::Source => Self::Input,
            Place::Target => Self::Output,
            Place::Scratch(offset) => Self::Scratch(offset),
            Place::Counts => Self::Counts(facts.tiles),
            Place::Total => Self::Total,
            Place::Initial => Self::Initial(facts.init),
            Place::Elements => Self::Elements(facts.n),
        }
    }
}

/// A shader before compilation: its root file and its defines, which are all that may decide its code.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shader {
    /// Root file below `kernels/glsl/`, or below `kernels/wgsl/` with the ending `.wgsl`.
    pub root: &'static str,
    /// Defines in the order of `params.glsl`.
    pub defines: Vec<(&'static str, u32)>,
    /// Invocations per workgroup.
    pub workgroup_size: u32,
    /// The subgroup size it is compiled for; 0 where it finds out.
    pub subgroup_size: u32,
    /// Whether it includes the file of a user's operator.
    pub operator_file: bool,
}

impl Shader {
    /// The define that says where it finds its arguments.
    pub(crate) const ARGUMENTS: &str = "ARGUMENTS";
    /// The define that has it read how many elements there are at each call.
    pub(crate) const N_FROM_MEMORY: &str = "N_FROM_MEMORY";

    /// What it is written for.
    #[must_use]
    pub fn api(&self) -> Api {
        if self.root.ends_with(".wgsl") { Api::WebGpu } else { Api::Vulkan }
    }

    /// Where it finds its arguments.
    #[must_use]
    pub fn arguments(&self) -> Arguments {
        let number =
            self.defines.iter().find(|(name, _)| *name == Self::ARGUMENTS).map(|(_, number)| *number);
        number.and_then(|number| Arguments::VALUES.get(number as usize).copied()).unwrap_or(Arguments::Push)
    }
}

impl Shader {
    /// Whether each call says how many elements it has (see [`Variant::max_n`]).
    #[must_use]
    pub fn counts_at_each_call(&self) -> bool {
        self.defines.contains(&(Self::N_FROM_MEMORY, 1))
    }

    /// Whether the device counts its calls (see [`ScratchContent::SelfTurning`]).
    #[must_use]
    pub fn turns_itself(&self) -> bool {
        self.resets(Reset::Turn) || (self.arguments() != Arguments::Push && self.resets(Reset::Epoch))
    }

    /// Whether this is how it comes by states that no other call has written. Among shaders `auto`, which is the first,
    /// has no number.
    pub(crate) fn resets(&self, reset: Reset) -> bool {
        self.defines.contains(&("RESET", reset as u32 - 1))
    }
}

impl fmt::Display for Shader {
    /// `chained_scan.comp BATCH_SIZE=4 LANES=4 ...`: enough to compile it by hand.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.root)?;
        self.defines.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

/// A compiled shader.
#[derive(Debug, Clone)]
pub struct Module {
    /// What it was compiled from.
    pub shader: Shader,
    /// What a driver takes.
    pub code: Code,
    /// Time it took to compile, in milliseconds; 0 when it came from the cache.
    pub compile_ms: u64,
}

/// The code of a shader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Code {
    /// SPIR-V words.
    Spirv(Arc<[u32]>),
    /// The text in WGSL, as Tint takes it (for naga: [`crate::wgsl::for_naga`]).
    Wgsl(Arc<str>),
}

impl Code {
    /// The words, of SPIR-V.
    #[must_use]
    pub fn spirv(&self) -> Option<Arc<[u32]>> {
        if let Self::Spirv(words) = self { Some(Arc::clone(words)) } else { None }
    }

    /// The text, of WGSL.
    #[must_use]
    pub fn wgsl(&self) -> Option<Arc<str>> {
        if let Self::Wgsl(text) = self { Some(Arc::clone(text)) } else { None }
    }
}
