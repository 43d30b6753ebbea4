//! Problems: what is computed, whatever kernel computes it.
//!
//! A problem is no part of a config or its label: the same kernel scans any type with any operator. Rows of different
//! problems are never of the same point, so a sweep file holds one of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::Record;
use crate::user_operator::{OperatorName, Tolerance, UserOperator};

mod shown;
mod structure_value;
mod surroundings;
mod value;
mod words;
use self::words::Words;
pub use shown::ProblemDifference;
pub use structure_value::{Component, StructureValue};
pub use surroundings::{Direction, InitSource, Placement, Total};
pub use value::ElementValue;
use value::read_init;

parameter! {
    /// Which prefixes are written.
    Mode, "mode", {
        /// Element i of the output combines elements 0 to i of the input, behind an initial value where there is one.
        Inclusive = "inclusive" / "",
        /// Element i of the output combines an initial value and elements 0 to i - 1 of the input.
        Exclusive = "exclusive" / "exclusive",
        /// The output is one element: all of the input combined, behind an initial value where there is one.
        Reduce = "reduce" / "reduce",
    }
}
parameter! {
    /// The type of an element.
    Element, "element", {
        /// 32-bit unsigned integer, arithmetic modulo 2^32.
        U32 = "u32" / "",
        /// 32-bit signed integer in two's complement, arithmetic modulo 2^32.
        I32 = "i32" / "i32",
        /// IEEE 754 binary32.
        F32 = "f32" / "f32",
        /// 64-bit unsigned integer, arithmetic modulo 2^64.
        U64 = "u64" / "u64",
        /// 64-bit signed integer in two's complement, arithmetic modulo 2^64.
        I64 = "i64" / "i64",
        /// IEEE 754 binary64.
        F64 = "f64" / "f64",
        /// A structure of a user's operator, of 4 bytes.
        Struct4 = "struct4" / "struct4",
        /// One of 8 bytes.
        Struct8 = "struct8" / "struct8",
        /// One of 12 bytes, which stand in an array without a gap.
        Struct12 = "struct12" / "struct12",
        /// One of 16 bytes.
        Struct16 = "struct16" / "struct16",
    }
}
parameter! {
    /// The associative operator.
    Operator, "op", {
        /// Addition.
        Add = "add" / "",
        /// The smaller one.
        Min = "min" / "min",
        /// The larger one.
        Max = "max" / "max",
        /// Multiplication.
        Mul = "mul" / "mul",
        /// Bits that are set in both.
        And = "and" / "and",
        /// Bits that are set in one of them, or in both.
        Or = "or" / "or",
        /// Bits that are set in one of them.
        Xor = "xor" / "xor",
        /// That of a user's file ([`Problem::user`]).
        User = "user" / "user",
    }
}
#[expect(clippy::derivable_impls, reason = "the macro of the words takes no attribute but comments")]
impl Default for Element {
    fn default() -> Self {
        Self::U32
    }
}

impl Element {
    /// Every size of an element, in bytes.
    pub const ALL_BYTES: [u32; 4] = [4, 8, 12, 16];

    /// Bytes of one element.
    #[must_use]
    pub fn bytes(self) -> u32 {
        match self {
            Self::U32 | Self::I32 | Self::F32 | Self::Struct4 => 4,
            Self::U64 | Self::I64 | Self::F64 | Self::Struct8 => 8,
            Self::Struct12 => 12,
            Self::Struct16 => 16,
        }
    }

    /// What addresses of elements are multiples of, in bytes: the largest power of two that divides their size.
    #[must_use]
    pub fn alignment(self) -> u32 {
        1 << self.bytes().trailing_zeros()
    }

    /// Whether it is a floating-point type: results then depend on the order in which elements are combined.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    /// Whether it is a structure, which a user's operator brings.
    #[must_use]
    pub fn is_struct(self) -> bool {
        matches!(self, Self::Struct4 | Self::Struct8 | Self::Struct12 | Self::Struct16)
    }
}

impl Operator {
    /// Whether elements of this type can be combined by it. Structures go with the operator that brings them.
    #[must_use]
    pub fn takes(self, element: Element) -> bool {
        (self == Self::User) == element.is_struct()
            && !(element.is_float() && matches!(self, Self::And | Self::Or | Self::Xor))
    }
}

/// What is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Words", into = "Words")]
pub struct Problem {
    mode: Mode,
    element: Element,
    operator: Operator,
    user: Option<UserOperator>,
    init: Option<ElementValue>,
    user_init: Option<StructureValue>,
    placement: Placement,
    direction: Direction,
    total: Total,
    init_source: InitSource,
}

impl Default for Problem {
    /// The inclusive sum of 32-bit words, out of place.
    fn default() -> Self {
        Self {
            mode: Mode::Inclusive,
            element: Element::U32,
            operator: Operator::Add,
            user: None,
            init: None,
            user_init: None,
            placement: Placement::OutOfPlace,
            direction: Direction::Forward,
            total: Total::Absent,
            init_source: InitSource::Arguments,
        }
    }
}

impl Problem {
    /// A problem, if its parts go together. `init` is what it begins with, as text; left out, the identity of the
    /// operator. A scan that is not exclusive, and a reduction, has no initial value where that is the identity: it is
    /// the same problem.
    ///
    /// # Errors
    /// What does not go together; the message names the flags.
    pub fn new(
        mode: Mode,
        element: Element,
        operator: Operator,
        init: Option<&str>,
        placement: Placement,
    ) -> Result<Self, String> {
        if operator == Operator::User || element.is_struct() {
            return Err("an operator of your own, and its type, come with --operator FILE".to_owned());
        }
        if !operator.takes(element) {
            return Err(format!("operator \"{operator}\" needs an integer type, not {element}"));
        }
        Self::check_placement(mode, placement)?;
        let identity = operator.identity(element);
        let init = match init {
            None => identity,
            Some(text) => read_init(element, operator, text).map_err(|reason| format!("--init: {reason}"))?,
        };
        let init = Some(init).filter(|init| mode == Mode::Exclusive || *init != identity);
        Ok(Self { mode, element, operator, init, placement, ..Self::default() })
    }

    /// A problem of a user's operator. It begins with its identity.
    ///
    /// # Errors
    /// What does not go together; the message names the flags.
    pub fn of_user(mode: Mode, user: UserOperator, placement: Placement) -> Result<Self, String> {
        Self::check_placement(mode, placement)?;
        let (element, operator) = (user.element, Operator::User);
        Ok(Self { mode, element, operator, user: Some(user), placement, ..Self::default() })
    }

    /// The same problem of a user's operator, which begins with this value.
    ///
    /// # Errors
    /// When the value has other bytes than an element, or the operator is one of scanbox's own.
    pub fn beginning_with(self, value: StructureValue) -> Result<Self, String> {
        if self.user.is_none() {
            return Err(format!("the initial value {value} of a structure with --op {}", self.operator));
        }
        if value.bytes() != self.element.bytes() {
            let (has, bytes) = (value.bytes(), self.element.bytes());
            return Err(format!("the initial value {value} has {has} bytes, and an element {bytes}"));
        }
        Ok(Self { user_init: Some(value), ..self })
    }

    /// The same problem in this direction.
    #[must_use]
    pub fn in_direction(self, direction: Direction) -> Self {
        Self { direction, ..self }
    }

    /// The same problem from the last element on.
    #[must_use]
    pub fn reversed(self) -> Self {
        self.in_direction(Direction::Reverse)
    }

    /// The same problem, with or without a total beside the scan, and with its initial value there.
    ///
    /// # Errors
    /// What does not go together; the message names the flags.
    pub fn with_operands(self, total: Total, init_source: InitSource) -> Result<Self, String> {
        if total == Total::Stored && self.mode == Mode::Reduce {
            return Err("--total with --mode reduce: its output is the total".to_owned());
        }
        if init_source == InitSource::Memory && self.init_words().is_none() {
            return Err("--init-in-memory: --init says which value stands there, other than the identity of the operator"
                .to_owned());
        }
        Ok(Self { total, init_source, ..self })
    }

    /// The same problem, which begins with nothing: an exclusive scan with the identity.
    #[must_use]
    pub fn without_init(self) -> Self {
        let init = self.init.filter(|_| self.mode == Mode::Exclusive);
        let init = init.map(|init| self.operator.identity(init.element));
        Self { init, user_init: None, init_source: InitSource::Arguments, ..self }
    }

    fn check_placement(mode: Mode, placement: Placement) -> Result<(), String> {
        if mode == Mode::Reduce && placement == Placement::InPlace {
            return Err("--in-place with --mode reduce: its output is one element".to_owned());
        }
        Ok(())
    }

    /// Which prefixes are written.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The type of an element.
    #[must_use]
    pub fn element(&self) -> Element {
        self.element
    }

    /// The operator.
    #[must_use]
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The operator, where it is of a user's file.
    #[must_use]
    pub fn user(&self) -> Option<UserOperator> {
        self.user
    }

    /// Whether calls in parts, each of which begins with the total of the one before, leave what one call leaves.
    #[must_use]
    pub fn splits(&self) -> bool {
        self.user.is_none_or(|user| user.splits(self.mode))
    }

    /// The name of the operator.
    #[must_use]
    pub fn operator_name(&self) -> OperatorName {
        self.user.map_or_else(|| self.operator.into(), |user| user.name)
    }

    /// Whether the order of two elements makes no difference.
    #[must_use]
    pub fn commutes(&self) -> bool {
        self.user.is_none_or(|user| user.commutative)
    }

    /// What it begins with, of scanbox's own operators: an exclusive scan always, other problems where somebody said
    /// so.
    #[must_use]
    pub fn init(&self) -> Option<ElementValue> {
        self.init
    }

    /// What a problem of a user's operator begins with; `None` where that is the identity, which its file knows.
    #[must_use]
    pub fn user_init(&self) -> Option<StructureValue> {
        self.user_init
    }

    /// The words of what it begins with, the lowest first and zeros behind them, where that is known without a file.
    #[must_use]
    pub fn init_words(&self) -> Option<[u32; 4]> {
        let words = |value: ElementValue| [value.bits as u32, (value.bits >> 32) as u32, 0, 0];
        self.init.map(words).or(self.user_init.map(StructureValue::words))
    }

    /// The same; the identity, of scanbox's own operators, where nobody said anything. `None` of an identity that its
    /// file alone knows.
    #[must_use]
    pub fn first_words(&self) -> Option<[u32; 4]> {
        let identity = || {
            let value = self.user.is_none().then(|| self.operator.identity(self.element))?;
            Some([value.bits as u32, (value.bits >> 32) as u32, 0, 0])
        };
        self.init_words().or_else(identity)
    }

    /// What it begins with, as rows say it; empty where they say nothing.
    #[must_use]
    pub fn init_text(&self) -> String {
        let own = self.init.map(|init| init.to_string());
        own.or(self.user_init.map(|init| init.to_string())).unwrap_or_default()
    }

    /// From which end elements are combined.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Whether elements are combined from the last one on.
    #[must_use]
    pub fn is_reversed(&self) -> bool {
        self.direction == Direction::Reverse
    }

    /// Whether the total of all elements is stored beside the scan.
    #[must_use]
    pub fn total(&self) -> Total {
        self.total
    }

    /// Whether it is.
    #[must_use]
    pub fn has_total(&self) -> bool {
        self.total == Total::Stored
    }

    /// Where a call finds what it begins with.
    #[must_use]
    pub fn init_source(&self) -> InitSource {
        self.init_source
    }

    /// Whether it finds that in memory.
    #[must_use]
    pub fn reads_init(&self) -> bool {
        self.init_source == InitSource::Memory
    }

    /// Where the output stands.
    #[must_use]
    pub fn placement(&self) -> Placement {
        self.placement
    }

    /// What is computed of the totals of tiles where they are an array in memory: their inclusive scan, in place,
    /// whatever the mode is. They stand in the order in which they are combined.
    #[must_use]
    pub fn of_totals(&self) -> Self {
        let Self { element, operator, user, .. } = *self;
        let (mode, placement) = (Mode::Inclusive, Placement::InPlace);
        Self { mode, element, operator, user, placement, ..Self::default() }
    }

    /// What is computed by a pass that goes over the output of a scan: the same, in place.
    #[must_use]
    pub fn of_output(&self) -> Self {
        Self { placement: Placement::InPlace, ..*self }
    }

    /// Bytes of one element.
    #[must_use]
    pub fn element_bytes(&self) -> u64 {
        self.element.bytes().into()
    }

    /// Elements of the output, of `n` elements of the input.
    #[must_use]
    pub fn outputs(&self, n: u64) -> u64 {
        if self.mode == Mode::Reduce { 1 } else { n }
    }

    /// Bytes that a call has to move at least for `n` elements: each read once, each of the output written once
    /// (thesis 3.7). The one element of a total and that of an initial value are not counted.
    #[must_use]
    pub fn bytes_moved(&self, n: u64) -> u64 {
        (n + self.outputs(n)) * self.element_bytes()
    }

    /// The word for what moves as many bytes and does nothing else: the subject of its rows.
    #[must_use]
    pub fn ceiling(&self) -> &'static str {
        if self.mode == Mode::Reduce { "read" } else { "copy" }
    }

    /// Whether results depend on the order in which elements are combined: sums and products of floats, and what a
    /// user's file says has a tolerance.
    #[must_use]
    pub fn rounds(&self) -> bool {
        if let Some(user) = self.user {
            return user.tolerance != Tolerance::EXACT;
        }
        self.element.is_float() && matches!(self.operator, Operator::Add | Operator::Mul)
    }

    /// Whether it is the inclusive sum of 32-bit words, out of place.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The problem of a row; that of files from before rows had one.
    ///
    /// # Errors
    /// When its columns do not go together.
    pub fn of_row(record: &Record) -> Result<Self, String> {
        let mode = record.mode.unwrap_or(Mode::Inclusive);
        let element = record.element.unwrap_or(Element::U32);
        let name = record.op.unwrap_or_else(|| Operator::Add.into());
        let placement = record.placement.unwrap_or(Placement::OutOfPlace);
        let init = Some(record.init.as_str()).filter(|init| !init.is_empty());
        let problem = match name.built_in() {
            Some(operator) => Self::new(mode, element, operator, init, placement),
            None => {
                let user = UserOperator::read(name, element, &record.operator_hash, &record.operator_facts)?;
                Self::of_user(mode, user, placement)?.beginning_as(init)
            }
        };
        problem?.in_direction(record.direction.unwrap_or(Direction::Forward)).with_operands(
            record.total.unwrap_or(Total::Absent),
            record.init_source.unwrap_or(InitSource::Arguments),
        )
    }

    /// The same problem of a user's operator, which begins as a text of [`Problem::init_text`] says.
    fn beginning_as(self, text: Option<&str>) -> Result<Self, String> {
        match text {
            Some(text) => self.beginning_with(text.parse()?),
            None => Ok(self),
        }
    }

    /// Fills the columns of a row that say what was computed for `n` elements.
    pub fn describe(&self, n: u64, record: &mut Record) {
        record.mode = Some(self.mode);
        record.element = Some(self.element);
        record.op = Some(self.operator_name());
        record.operator_hash = self.user.map_or_else(String::new, |user| user.hash_text());
        record.operator_facts = self.user.map_or_else(String::new, |user| user.facts());
        record.element_bytes = self.element.bytes();
        record.bytes_moved = self.bytes_moved(n);
        record.init = self.init_text();
        record.placement = Some(self.placement);
        record.direction = Some(self.direction);
        record.total = Some(self.total);
        record.init_source = Some(self.init_source);
    }
}
