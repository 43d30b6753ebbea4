//! Kernels and configs: the parameters, their values, and the label grammar.
//!
//! A label is made of tags joined by dots, in this order; parameters at their default are left out:
//!
//! ```text
//! label      = kernel "." "wg" SIZE [ "." "g" COUNT | "." "u" COUNT ]
//! kernel     = [ family "." ] "b" BATCH "." vector "." lookback "." block [ "." subgroup ] [ "." layout ] [ "." order ]
//!              [ "." publish ] [ "." rendezvous ] [ "." "width" WIDTH ] [ "." "spins" SPINS ] [ "." backoff ] [ "." "stride" STRIDE ] [ "." state ] [ "." reset ]
//! family     = "one" | "redo" | "pers" | "rts" | "stp"     (default: the chained scan)
//! vector     = "scalar" | "vec2" | "vec4"
//! lookback   = "seq" | "par" | "gather" | "two" | "none" | "chain" | "fallback"
//! block      = "rake" | "blelloch" | "sub" | "ks" | "sk" | "bk" | "rs"
//! subgroup   = "shuffle"                   (default: operation)
//! layout     = "direct" | "striped"        (default: transposed)
//! order      = "wgid" | "robin"            (default: ticket)
//! publish    = "early"                     (default: after the scan)
//! rendezvous = "flags"                     (default: barrier)
//! backoff    = "pause" | "backoff"         (default: none)
//! state      = "word64" | "packed" | "split"  (default: auto)
//! reset      = "fill" | "epoch" | "clean"  (default: auto)
//! ```
//!
//! WIDTH and STRIDE are 1 by default, SPINS is 4. `b4.vec4.par.rake.wg256.g1024` is a complete label. Printing and parsing are
//! inverse: a label in another order, or with a default written out, is refused.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::space::{
    MAX_BATCH_SIZE, MAX_LOOKBACK_WIDTH, MAX_MAX_SPINS, MAX_STATE_STRIDE, MAX_WORKGROUP_SIZE, MAX_WORKGROUPS,
    MAX_WORKGROUPS_PER_UNIT,
};

/// A parameter whose values have one word in space files and CSV, and one tag in labels.
pub trait Parameter: Copy + PartialEq + Sized + 'static {
    /// The name of the parameter as it stands in space files and CSV headers.
    const NAME: &'static str;
    /// Every value, in the order in which they are enumerated.
    const VALUES: &'static [Self];
    /// The word in space files and CSV.
    fn word(self) -> &'static str;
    /// The tag in labels.
    fn tag(self) -> &'static str;

    /// The value with this word, or a message that lists the words there are.
    ///
    /// # Errors
    /// When no value has this word.
    fn from_word(word: &str) -> Result<Self, String> {
        let known = Self::VALUES.iter().copied().find(|value| value.word() == word);
        known.ok_or_else(|| Self::unknown(word, |_| true))
    }

    /// The message about a word that no value has: it lists the words of the values that `listed` lets through.
    fn unknown(word: &str, listed: impl Fn(Self) -> bool) -> String {
        let words = Self::VALUES.iter().filter(|value| listed(**value)).map(|value| value.word());
        format!("`{word}` is no {}; it is one of {}", Self::NAME, words.collect::<Vec<_>>().join(", "))
    }
}

/// Declares an enum of parameter values with its word and tag per value.
macro_rules! parameter {
    ($(#[$doc:meta])* $type:ident, $name:literal, { $($(#[$value_doc:meta])* $value:ident = $word:literal / $tag:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $type {
            $($(#[$value_doc])* #[serde(rename = $word)] $value,)+
        }

        impl Parameter for $type {
            const NAME: &'static str = $name;
            const VALUES: &'static [Self] = &[$(Self::$value),+];
            fn word(self) -> &'static str {
                match self { $(Self::$value => $word),+ }
            }
            fn tag(self) -> &'static str {
                match self { $(Self::$value => $tag),+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

parameter! {
    /// How the device-wide scan is organised: which root shader runs.
    Family, "family", {
        /// One pass over tiles that pass their running total along (thesis 3.1).
        ChainedScan = "chained-scan" / "",
        /// One workgroup goes over everything, with a carry.
        OneWorkgroup = "one-workgroup" / "one",
        /// Every workgroup adds up all elements before its tile itself, and waits for nobody.
        Recompute = "recompute" / "redo",
        /// Workgroups go from tile to tile, and publish the total of the next before they wait for the prefix of the
        /// current one.
        Persistent = "persistent" / "pers",
        /// Level by level: tiles are added up, their totals scanned in the same way, and the tiles read again and scanned
        /// behind them. Nobody waits; passes do.
        ReduceThenScan = "reduce-then-scan" / "rts",
        /// Level by level: tiles are scanned on their own, their totals in the same way, and these combined with every
        /// element of the output (Sengupta, Harris, Zhang and Owens 2007).
        ScanThenPropagate = "scan-then-propagate" / "stp",
    }
}
parameter! {
    /// How many elements one load or store moves (thesis 3.6, "data type").
    VectorWidth, "vector_width", {
        /// One element.
        Scalar = "scalar" / "scalar",
        /// Two elements.
        Vec2 = "vec2" / "vec2",
        /// Four elements.
        Vec4 = "vec4" / "vec4",
    }
}
parameter! {
    /// How a workgroup finds the total of all tiles before its own (thesis 3.3 and 3.4).
    Lookback, "lookback", {
        /// One invocation looks at one tile at a time.
        Sequential = "sequential" / "seq",
        /// One subgroup looks at a window of tiles at a time.
        Parallel = "parallel" / "par",
        /// All invocations read the totals of all predecessors, in one hop; nobody publishes an inclusive prefix.
        Gather = "gather" / "gather",
        /// The same in two levels: tiles of the own group, and the sums of the groups before it.
        TwoLevel = "two-level" / "two",
        /// There is nothing to look back at.
        None = "none" / "none",
        /// One invocation waits for the inclusive prefix of the tile before it alone, as StreamScan does (Yan, Long and
        /// Zhang 2013): a chained scan without any lookback. Prefixes are combined in the order of the tiles.
        Chain = "chain" / "chain",
        /// As parallel; a workgroup that has waited too long for a tile adds it up itself (Smith, Levien and Owens 2025).
        Fallback = "fallback" / "fallback",
    }
}
parameter! {
    /// How the totals of the invocations of a workgroup are scanned (thesis 3.5).
    BlockScan, "block_scan", {
        /// One subgroup, each invocation serially over its share.
        Raking = "raking" / "rake",
        /// Work-efficient up-sweep and down-sweep by all invocations (Blelloch 1990).
        Blelloch = "blelloch" / "blelloch",
        /// Each subgroup scans its own part, then reads the totals of all subgroups.
        Subgroup = "subgroup" / "sub",
        /// All invocations add what stands before them at distances that double (Kogge and Stone 1973).
        KoggeStone = "kogge-stone" / "ks",
        /// All invocations of every second run add the total of the run before theirs; runs double (Sklansky 1960).
        Sklansky = "sklansky" / "sk",
        /// Inclusive up-sweep and down-sweep with the fewest additions (Brent and Kung 1982).
        BrentKung = "brent-kung" / "bk",
        /// That up-sweep until few totals are left, Sklansky's scan of these, and that down-sweep.
        ReduceScan = "reduce-scan" / "rs",
    }
}
parameter! {
    /// How an invocation gets the successive vectors that it owns.
    LoadLayout, "load_layout", {
        /// Each subgroup loads rows of successive vectors and transposes them through shared memory.
        Transposed = "transposed" / "",
        /// Each invocation loads its own vectors.
        Direct = "direct" / "direct",
        /// Each subgroup owns rows of successive vectors and scans row by row.
        Striped = "striped" / "striped",
    }
}
parameter! {
    /// Which tile a workgroup works on.
    TileOrder, "tile_order", {
        /// The next one, by an atomic counter: in the order in which workgroups start.
        Ticket = "ticket" / "",
        /// The one with the number of the workgroup; persistent: the first one, the others by ticket.
        WorkgroupId = "workgroup-id" / "wgid",
        /// Every so-manieth one, where all workgroups run at the same time.
        RoundRobin = "round-robin" / "robin",
    }
}
parameter! {
    /// When the total of a tile is published.
    Publish, "publish", {
        /// After the items are scanned.
        AfterScan = "after-scan" / "",
        /// Before: the items are added up first, and scanned while the total is on its way.
        BeforeScan = "before-scan" / "early",
    }
}
parameter! {
    /// How the subgroups of a persistent workgroup wait for each other.
    Rendezvous, "rendezvous", {
        /// At barriers of the workgroup.
        Barrier = "barrier" / "",
        /// On flags in shared memory, each subgroup on its own.
        Flags = "flags" / "flags",
    }
}
parameter! {
    /// What an invocation does before it looks again at a state that is not there yet.
    BackOff, "back_off", {
        /// Nothing.
        None = "none" / "",
        /// A short pause.
        Fixed = "fixed" / "pause",
        /// A pause that doubles every time, up to a limit.
        Exponential = "exponential" / "backoff",
    }
}
parameter! {
    /// How a subgroup scans the rows of its part of a tile.
    SubgroupScan, "subgroup_scan", {
        /// Row after row, each by one subgroup operation.
        Operation = "operation" / "",
        /// All rows step by step together, by shuffles.
        Shuffle = "shuffle" / "shuffle",
    }
}
parameter! {
    /// How a tile's state and value are published.
    TileState, "tile_state", {
        /// The 64-bit word where the device has 64-bit buffer atomics and elements have 32 bits, else the split state.
        Auto = "auto" / "",
        /// One 64-bit atomic word: 32-bit value, 30-bit epoch, 2-bit state. Exact modulo 2^32.
        Word64 = "word64" / "word64",
        /// One 32-bit atomic word: 30-bit value, 2-bit state (thesis 4.6). Legal only where the total fits.
        Packed = "packed" / "packed",
        /// Several 32-bit atomic words: 16 bits of the value, a 14-bit epoch and the 2-bit state in each. For values of any
        /// length, on any device (Smith, Levien and Owens 2025).
        Split = "split" / "split",
    }
}
parameter! {
    /// How the tile states of an earlier call are kept from being read in this one.
    Reset, "reset", {
        /// Epoch tags where the tile state has room for them, else a fill.
        Auto = "auto" / "",
        /// Tile states and ticket are filled with zeros before each call, inside the measured time.
        Fill = "fill" / "fill",
        /// The state word carries the number of the call; the ticket counts on. Nothing is cleared.
        Epoch = "epoch" / "epoch",
        /// The last workgroup of a call clears what the call has written, inside the measured time.
        Clean = "clean" / "clean",
    }
}
impl VectorWidth {
    /// Elements per vector.
    #[must_use]
    pub fn lanes(self) -> u32 {
        match self {
            Self::Scalar => 1,
            Self::Vec2 => 2,
            Self::Vec4 => 4,
        }
    }
}

/// What is compiled in, apart from the workgroup size and the problem: the unit that one application would ship.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kernel {
    /// How the device-wide scan is organised.
    pub family: Family,
    /// Vectors that one invocation loads per tile.
    pub batch_size: u32,
    /// Elements per vector.
    pub vector_width: VectorWidth,
    /// How the exclusive prefix of a tile is found.
    pub lookback: Lookback,
    /// How a workgroup scans its tile.
    pub block_scan: BlockScan,
    /// How a subgroup scans its part.
    pub subgroup_scan: SubgroupScan,
    /// How vectors reach their invocations.
    pub load_layout: LoadLayout,
    /// Which tile a workgroup works on.
    pub tile_order: TileOrder,
    /// When the total of a tile is published.
    pub publish: Publish,
    /// How subgroups wait for each other.
    pub rendezvous: Rendezvous,
    /// Tile states that one invocation of a parallel lookback looks at at once.
    pub lookback_width: u32,
    /// How often a lookback with fallback looks again at a tile that has published nothing, before it adds the tile up
    /// itself; [`DEFAULT_MAX_SPINS`] for all others, where it has no meaning.
    pub max_spins: u32,
    /// What happens between two looks at a state.
    pub back_off: BackOff,
    /// Words from one tile state to the next; 1: no gaps.
    pub state_stride: u32,
    /// How tiles publish.
    pub tile_state: TileState,
    /// How stale tile states are told apart.
    pub reset: Reset,
}

/// What labels and spaces leave out: what the paper of decoupled fallback uses on all its devices (section 5.1).
pub const DEFAULT_MAX_SPINS: u32 = 4;

/// A kernel plus its launch shape. Serialized it is its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Config {
    /// What is compiled in.
    pub kernel: Kernel,
    /// Invocations per workgroup.
    pub workgroup_size: u32,
    /// Workgroups per call, where the config fixes them; otherwise they follow from the input size.
    pub workgroups: Option<u32>,
    /// Workgroups per compute unit of the device, for kernels whose workgroups go from tile to tile.
    pub workgroups_per_unit: Option<u32>,
}

impl Kernel {
    /// Elements that one invocation owns per tile.
    #[must_use]
    pub fn items_per_invocation(&self) -> u32 {
        self.batch_size * self.vector_width.lanes()
    }
}

impl Config {
    /// Elements per tile: what one workgroup processes at a time.
    #[must_use]
    pub fn tile_elements(&self) -> u64 {
        u64::from(self.kernel.items_per_invocation()) * u64::from(self.workgroup_size)
    }

    /// Tiles for `n` elements.
    #[must_use]
    pub fn tiles(&self, n: u64) -> u64 {
        n.div_ceil(self.tile_elements())
    }

    /// The input size that a config with fixed workgroups stands for; `None` where it takes any size.
    #[must_use]
    pub fn fixed_elements(&self) -> Option<u64> {
        self.workgroups.map(|workgroups| u64::from(workgroups) * self.tile_elements())
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |tag: &str, value: u32| if value == 1 { String::new() } else { format!("{tag}{value}") };
        let tags = [
            self.family.tag(),
            &format!("b{}", self.batch_size),
            self.vector_width.tag(),
            self.lookback.tag(),
            self.block_scan.tag(),
            self.subgroup_scan.tag(),
            self.load_layout.tag(),
            self.tile_order.tag(),
            self.publish.tag(),
            self.rendezvous.tag(),
            &number("width", self.lookback_width),
            &match self.max_spins {
                DEFAULT_MAX_SPINS => String::new(),
                max_spins => format!("spins{max_spins}"),
            },
            self.back_off.tag(),
            &number("stride", self.state_stride),
            self.tile_state.tag(),
            self.reset.tag(),
        ];
        let tags: Vec<&str> = tags.into_iter().filter(|tag| !tag.is_empty()).collect();
        f.write_str(&tags.join("."))
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.wg{}", self.kernel, self.workgroup_size)?;
        if let Some(workgroups) = self.workgroups {
            write!(f, ".g{workgroups}")?;
        }
        if let Some(workgroups) = self.workgroups_per_unit {
            write!(f, ".u{workgroups}")?;
        }
        Ok(())
    }
}

/// What stands before the numbers in labels.
pub const NUMBER_TAGS: [&str; 7] = ["b", "width", "spins", "stride", "wg", "g", "u"];

/// Every tag of a label that is no number.
#[must_use]
pub fn label_tags() -> Vec<&'static str> {
    fn tags<P: Parameter>() -> impl Iterator<Item = &'static str> {
        P::VALUES.iter().map(|value| value.tag()).filter(|tag| !tag.is_empty())
    }
    tags::<Family>()
        .chain(tags::<VectorWidth>())
        .chain(tags::<Lookback>())
        .chain(tags::<BlockScan>())
        .chain(tags::<SubgroupScan>())
        .chain(tags::<LoadLayout>())
        .chain(tags::<TileOrder>())
        .chain(tags::<Publish>())
        .chain(tags::<Rendezvous>())
        .chain(tags::<BackOff>())
        .chain(tags::<TileState>())
        .chain(tags::<Reset>())
        .collect()
}

/// Why a text is no label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{label}` is no label: {reason} (a complete one is b4.vec4.par.rake.wg256.g1024)")]
pub struct LabelError {
    /// The text.
    pub label: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Tags of a label, taken one by one in grammar order.
struct Tags<'a> {
    label: &'a str,
    rest: std::iter::Peekable<std::str::Split<'a, char>>,
}

impl<'a> Tags<'a> {
    fn new(label: &'a str) -> Self {
        Self { label, rest: label.split('.').peekable() }
    }

    fn error(&self, reason: String) -> LabelError {
        // A label from a file can be anything: show its beginning only.
        LabelError { label: self.label.chars().take(80).collect(), reason }
    }

    /// Takes the next tag if it is `prefix` followed by a number from 1 to `most` without leading zeros.
    fn number(&mut self, prefix: &str, most: u32) -> Option<u32> {
        let digits = self.rest.peek()?.strip_prefix(prefix)?;
        let canonical = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
        let number = digits.parse().ok().filter(|number| canonical && *number <= most)?;
        self.rest.next();
        Some(number)
    }

    /// The same for numbers whose default is 1, which is not written out.
    fn beyond_one(&mut self, prefix: &str, most: u32) -> Option<u32> {
        if self.rest.peek().is_some_and(|tag| tag.strip_prefix(prefix) == Some("1")) {
            return None;
        }
        self.number(prefix, most)
    }

    /// Takes the next tag if it is a maximum spin count, which may be 0, other than the default.
    fn max_spins(&mut self) -> Option<u32> {
        match self.rest.peek()?.strip_prefix("spins") {
            Some("0") => {
                self.rest.next();
                Some(0)
            }
            Some(digits) if digits == DEFAULT_MAX_SPINS.to_string() => None,
            _ => self.number("spins", MAX_MAX_SPINS),
        }
    }

    /// Takes the next tag if it is the tag of a value of `P`.
    fn value<P: Parameter>(&mut self) -> Option<P> {
        let tag = *self.rest.peek()?;
        let value = P::VALUES.iter().copied().find(|value| !tag.is_empty() && value.tag() == tag)?;
        self.rest.next();
        Some(value)
    }

    fn required<P: Parameter>(&mut self) -> Result<P, LabelError> {
        self.value().ok_or_else(|| {
            let tags: Vec<_> = P::VALUES.iter().map(|value| value.tag()).collect();
            self.expected(&format!("the {} ({})", P::NAME, tags.join(", ")))
        })
    }

    fn expected(&mut self, what: &str) -> LabelError {
        let found = self
            .rest
            .peek()
            .map_or("the end".to_owned(), |tag| format!("`{}`", tag.chars().take(20).collect::<String>()));
        self.error(format!("expected {what}, found {found}"))
    }

    fn kernel(&mut self) -> Result<Kernel, LabelError> {
        let family = self.value().unwrap_or(Family::ChainedScan);
        let batch_size = self
            .number("b", MAX_BATCH_SIZE)
            .ok_or_else(|| self.expected(&format!("the batch size (b1 to b{MAX_BATCH_SIZE})")))?;
        Ok(Kernel {
            family,
            batch_size,
            vector_width: self.required()?,
            lookback: self.required()?,
            block_scan: self.required()?,
            subgroup_scan: self.value().unwrap_or(SubgroupScan::Operation),
            load_layout: self.value().unwrap_or(LoadLayout::Transposed),
            tile_order: self.value().unwrap_or(TileOrder::Ticket),
            publish: self.value().unwrap_or(Publish::AfterScan),
            rendezvous: self.value().unwrap_or(Rendezvous::Barrier),
            lookback_width: self.beyond_one("width", MAX_LOOKBACK_WIDTH).unwrap_or(1),
            max_spins: self.max_spins().unwrap_or(DEFAULT_MAX_SPINS),
            back_off: self.value().unwrap_or(BackOff::None),
            state_stride: self.beyond_one("stride", MAX_STATE_STRIDE).unwrap_or(1),
            tile_state: self.value().unwrap_or(TileState::Auto),
            reset: self.value().unwrap_or(Reset::Auto),
        })
    }

    fn end(&mut self) -> Result<(), LabelError> {
        if self.rest.peek().is_none() { Ok(()) } else { Err(self.expected("the end")) }
    }
}

impl FromStr for Kernel {
    type Err = LabelError;

    fn from_str(label: &str) -> Result<Self, LabelError> {
        let mut tags = Tags::new(label);
        let kernel = tags.kernel()?;
        tags.end()?;
        Ok(kernel)
    }
}

impl From<Config> for String {
    fn from(config: Config) -> Self {
        config.to_string()
    }
}

impl TryFrom<String> for Config {
    type Error = LabelError;

    fn try_from(label: String) -> Result<Self, LabelError> {
        label.parse()
    }
}

impl FromStr for Config {
    type Err = LabelError;

    fn from_str(label: &str) -> Result<Self, LabelError> {
        let mut tags = Tags::new(label);
        let kernel = tags.kernel()?;
        let workgroup_size = tags
            .number("wg", MAX_WORKGROUP_SIZE)
            .ok_or_else(|| tags.expected(&format!("the workgroup size (wg1 to wg{MAX_WORKGROUP_SIZE})")))?;
        let workgroups = tags.number("g", MAX_WORKGROUPS);
        let workgroups_per_unit = match workgroups {
            Some(_) => None,
            None => tags.number("u", MAX_WORKGROUPS_PER_UNIT),
        };
        tags.end()?;
        Ok(Self { kernel, workgroup_size, workgroups, workgroups_per_unit })
    }
}
