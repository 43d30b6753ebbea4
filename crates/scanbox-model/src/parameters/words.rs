//! The words of the parameters: every enum of values, with word, tag and meaning of each value.

use crate::nearest::hint;

/// A parameter whose values have one word in space files and CSV, and one tag in labels.
pub trait Parameter: Copy + PartialEq + Sized + 'static {
    /// The name of the parameter as it stands in space files and CSV headers.
    const NAME: &'static str;
    /// Every value, in the order in which they are enumerated. The first one is the default where its tag is empty.
    const VALUES: &'static [Self];
    /// What each of them is called, in the same order.
    const WORDS: &'static [Word];
    /// The word in space files and CSV.
    fn word(self) -> &'static str {
        Self::WORDS[self.place()].word
    }
    /// The tag in labels.
    fn tag(self) -> &'static str {
        Self::WORDS[self.place()].tag
    }
    /// Its place among the values.
    fn place(self) -> usize;

    /// The value with this word, or a message that lists the words there are.
    ///
    /// # Errors
    /// When no value has this word.
    fn from_word(word: &str) -> Result<Self, String> {
        let known = Self::VALUES.iter().copied().find(|value| value.word() == word);
        known.ok_or_else(|| Self::unknown(word, |_| true, ""))
    }

    /// The message about a word that no value has: it lists the words of the values that `listed` lets through, and
    /// `more`, then the nearest one.
    fn unknown(word: &str, listed: impl Fn(Self) -> bool, more: &str) -> String {
        let words = Self::VALUES.iter().filter(|value| listed(**value)).map(|value| value.word());
        let words: Vec<_> = words.collect();
        format!(
            "`{word}` is not a value of {}; it is one of {}{more}{}",
            Self::NAME,
            words.join(", "),
            hint(word, &words)
        )
    }
}

/// What a value is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// In space files and CSV.
    pub word: &'static str,
    /// In labels; empty where they leave the value out.
    pub tag: &'static str,
    /// What the value means.
    pub meaning: &'static str,
}

/// Declares an enum of parameter values with word, tag and meaning per value.
macro_rules! parameter {
    (
        $(#[$attribute:meta])* $type:ident, $name:literal,
        { $($(#[doc = $meaning:literal])+ $value:ident = $word:literal / $tag:literal),+ $(,)? }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        #[derive(schemars::JsonSchema)]
        pub enum $type {
            $($(#[doc = $meaning])+ #[serde(rename = $word)] $value,)+
        }

        impl $crate::parameters::words::Parameter for $type {
            const NAME: &'static str = $name;
            const VALUES: &'static [Self] = &[$(Self::$value),+];
            const WORDS: &'static [$crate::parameters::words::Word] = &[
                $($crate::parameters::words::Word { word: $word, tag: $tag, meaning: concat!($($meaning),+) }),+
            ];
            fn place(self) -> usize {
                self as usize
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::parameters::words::Parameter::word(*self))
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
        /// Level by level: tiles are added up, their totals scanned in the same way, and the tiles read again and
        /// scanned behind them. Nobody waits; passes do.
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
        /// One invocation waits for the inclusive prefix of the tile before it alone, as `StreamScan` does (Yan, Long
        /// and Zhang 2013): a chained scan without any lookback. Prefixes are combined in the order of the tiles.
        Chain = "chain" / "chain",
        /// As parallel; a workgroup that has waited too long for a tile adds it up itself (Smith, Levien and
        /// Owens 2025).
        Fallback = "fallback" / "fallback",
        /// As gather, with the same fallback.
        GatherFallback = "gather-fallback" / "gatherfall",
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
        /// Every n-th one, where all workgroups run at the same time.
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
        /// Sets of rows together, by shuffles: invocations exchange their shares of rows, scan runs of a row each, and
        /// exchange what comes before.
        Exchange = "exchange" / "exchange",
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
        /// Several 32-bit atomic words: 16 bits of the value, a 14-bit epoch and the 2-bit state in each. For values
        /// of any length, on any device (Smith, Levien and Owens 2025).
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
        /// As epoch, but the call itself counts the calls, in memory: what was recorded with pushed arguments stays
        /// valid. (Calls whose arguments are not pushed always do.)
        Turn = "turn" / "turn",
    }
}
parameter! {
    /// Where a kernel finds its arguments: addresses, number of elements, what call it is.
    Arguments, "arguments", {
        /// Push constants, which the host changes from call to call; it counts the calls too.
        Push = "push" / "",
        /// A line of memory, whose address is a constant of the pipeline; the device counts the calls. What was
        /// recorded stays valid when the line changes.
        Block = "block" / "block",
        /// Constants of the pipeline, which is made for these arrays and this size; the device counts the calls.
        Baked = "baked" / "baked",
    }
}
parameter! {
    /// Invocations of a subgroup. A kernel is compiled for one number of them, and its pipeline pinned to that.
    SubgroupSize, "subgroup_size", {
        /// The device's own choice, which its driver has tuned its compiler for.
        Device = "device" / "",
        /// Four.
        Four = "4" / "sg4",
        /// Eight.
        Eight = "8" / "sg8",
        /// Sixteen.
        Sixteen = "16" / "sg16",
        /// Thirty-two.
        ThirtyTwo = "32" / "sg32",
        /// Sixty-four.
        SixtyFour = "64" / "sg64",
        /// A hundred and twenty-eight.
        Hundred28 = "128" / "sg128",
    }
}
impl SubgroupSize {
    /// As many, where it is not left to the device.
    #[must_use]
    pub fn invocations(self) -> Option<u32> {
        (self != Self::Device).then(|| 2 << self as u32)
    }
}

impl Lookback {
    /// Whether whoever has waited too long for a tile adds it up itself, so that nobody is waited for.
    #[must_use]
    pub fn falls_back(self) -> bool {
        matches!(self, Self::Fallback | Self::GatherFallback)
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
