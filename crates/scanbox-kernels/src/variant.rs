//! Variants: builds of a kernel that are no kernels of their own, and no part of a label: what is measured of them
//! says so beside it. Some show how a lookback behaves, others take calls that ordinary builds do not.

use std::fmt;

use scanbox_model::call_form::CallForm;
use scanbox_model::config::Kernel;
use scanbox_model::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a build of a kernel has that others do not. The default has nothing, and is compiled from the same defines as
/// before there were variants.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
pub struct Variant {
    /// Simulated blocking: 1 in 2^k tiles never publishes its total, the first tile among them
    /// (stages/lookback/blocking.glsl).
    pub blocking: Option<u32>,
    /// Whether workgroups count what their lookback does (stages/lookback/counts.glsl). It takes registers and time.
    pub counted: bool,
    /// Every call has its own number of elements, which memory says and the device may have written: its line of
    /// arguments or, where arguments are pushed, a word whose address is one. From none to this many, which more counts
    /// as.
    #[serde(default)]
    pub max_n: Option<u64>,
    /// Whether source and target may begin at any element, and not only where a vector may.
    #[serde(default)]
    pub any_element: bool,
    /// Whether a scan stores the total of all elements too: what an inclusive one stores last, what would come next in
    /// an exclusive one. Where the problem has a total, every build does.
    #[serde(default)]
    pub total: bool,
    /// Whether memory says what a call begins with; another one may have written it. Where the problem says so, every
    /// build finds it there.
    #[serde(default)]
    pub init_in_memory: bool,
    /// How the line of a call comes to be what it is. The build is the same.
    #[serde(default)]
    pub line: LineUse,
    /// Whether workgroups are late where others wait for them, and their looks early, beyond all measure: most tiles
    /// never publish what others can do without, and of four looks at one, one sees all that is there
    /// (stages/state/late.glsl).
    /// Subgroups are apart: barriers alone order accesses to shared memory, and calls of an odd number of workgroups
    /// have their subgroups the other way round (place.glsl).
    #[serde(default)]
    pub late: bool,
    /// Whether a program's library records it, out of a pack. The build is the same.
    #[serde(default)]
    pub by_library: bool,
}

/// How the line of arguments comes to be what a call finds there.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
pub enum LineUse {
    /// The call before has written it.
    #[default]
    Rewritten,
    /// It is what it was.
    Unchanged,
    /// A copy in the command buffer has written it.
    Updated,
}

/// 1 in 2^31 tiles is none but the first.
pub const MAX_BLOCKING: u32 = 31;

impl Variant {
    /// A build with simulated blocking, or none.
    #[must_use]
    pub fn blocked(blocking: Option<u32>) -> Self {
        Self { blocking, ..Self::default() }
    }

    /// A build whose calls have up to so many elements each.
    #[must_use]
    pub fn up_to(max_n: u64) -> Self {
        Self { max_n: Some(max_n), ..Self::default() }
    }

    /// The same, for arrays that begin at any element.
    #[must_use]
    pub fn at_any_element(self) -> Self {
        Self { any_element: true, ..self }
    }

    /// The same, with the total.
    #[must_use]
    pub fn with_total(self) -> Self {
        Self { total: true, ..self }
    }

    /// The same, with the initial value in memory.
    #[must_use]
    pub fn with_init_in_memory(self) -> Self {
        Self { init_in_memory: true, ..self }
    }

    /// The build of a problem: its total and its initial value in memory are there whatever else is asked for.
    #[must_use]
    pub fn of_problem(self, problem: &Problem) -> Self {
        let (total, init_in_memory) =
            (self.total || problem.has_total(), self.init_in_memory || problem.reads_init());
        Self { total, init_in_memory, ..self }
    }

    /// A build whose workgroups are late.
    #[must_use]
    pub fn of_late_workgroups() -> Self {
        Self { late: true, ..Self::default() }
    }

    /// The same, recorded by the library.
    #[must_use]
    pub fn recorded_by_library(self) -> Self {
        Self { by_library: true, ..self }
    }

    /// The build for a form of calls of so many elements.
    #[must_use]
    pub fn of_form(form: CallForm, n: u64) -> Self {
        let line = |line| Self { line, ..Self::default() };
        match form {
            CallForm::UnchangedLine => line(LineUse::Unchanged),
            CallForm::UpdatedLine => line(LineUse::Updated),
            CallForm::Max(factor) => Self::up_to(n.saturating_mul(factor.into())),
            CallForm::AnyElement => Self::default().at_any_element(),
            CallForm::Total => Self::default().with_total(),
            CallForm::Library => Self::default().recorded_by_library(),
            CallForm::LibraryUpdated => line(LineUse::Updated).recorded_by_library(),
            CallForm::LibraryLength => Self::up_to(n).recorded_by_library(),
        }
    }

    /// What the addresses of source and target are multiples of in this build of a kernel, in bytes.
    pub(crate) fn alignment(self, kernel: &Kernel, problem: &Problem) -> u32 {
        let lanes = if self.any_element { 1 } else { kernel.vector_width.lanes() };
        problem.element().alignment() * lanes
    }

    /// The form of calls of so many elements that it is the build for, if it is that of one.
    #[must_use]
    pub fn form(self, n: u64) -> Option<CallForm> {
        let largest = self.max_n.filter(|max_n| n > 0 && max_n.is_multiple_of(n));
        let largest = largest.and_then(|max_n| u32::try_from(max_n / n).ok()).map(CallForm::Max);
        let forms = [
            CallForm::UnchangedLine,
            CallForm::UpdatedLine,
            CallForm::AnyElement,
            CallForm::Total,
            CallForm::Library,
            CallForm::LibraryUpdated,
            CallForm::LibraryLength,
        ];
        largest.into_iter().chain(forms).find(|form| Self::of_form(*form, n) == self)
    }

    /// The same, with counts.
    #[must_use]
    pub fn counted(self) -> Self {
        Self { counted: true, ..self }
    }
}

impl fmt::Display for Variant {
    /// ` blocked 1 in 8 counted`: what stands behind a label in messages; nothing for the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(k) = self.blocking {
            write!(f, " blocked 1 in {}", 1u64 << k.min(63))?;
        }
        if self.counted {
            f.write_str(" counted")?;
        }
        if let Some(max_n) = self.max_n {
            write!(f, " up to {max_n}")?;
        }
        if self.any_element {
            f.write_str(" at any element")?;
        }
        if self.total {
            f.write_str(" with total")?;
        }
        if self.init_in_memory {
            f.write_str(" with init in memory")?;
        }
        f.write_str(match self.line {
            LineUse::Rewritten => "",
            LineUse::Unchanged => " with an unchanged line",
            LineUse::Updated => " with an updated line",
        })?;
        if self.late {
            f.write_str(" with late workgroups")?;
        }
        f.write_str(if self.by_library { " by the library" } else { "" })
    }
}
