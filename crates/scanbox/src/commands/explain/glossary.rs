//! Words of the program's own screens: those of its domain, and the heads of columns of its tables.

/// Words with one meaning, the first of which names it, and that meaning.
pub type GlossaryEntry = (&'static [&'static str], &'static str);

/// The words, by name.
pub const GLOSSARY: &[GlossaryEntry] = &[
    (
        &["any-element"],
        "A use of a scan: its arrays may begin at any element, not only where a vector may. `scanbox pack --uses any-element`.",
    ),
    (&["base"], "The sweep that a new one is compared with: `scanbox compare BASE NEW`."),
    (
        &["stand-ins"],
        "How many other kernels a pack has for a range of sizes, in case the first one cannot be compiled on a device.",
    ),
    (
        &["addresses"],
        "A dispatch whose arguments are device addresses in a push constant: one of the forms of `bench --dispatch`.",
    ),
    (
        &["baked"],
        "A dispatch whose arguments are specialization constants: another size needs another pipeline.",
    ),
    (
        &["block"],
        "Samples of one subject in one round, after a warm-up. Of arguments: a line of memory that has them. Of a \
        space file: a product.",
    ),
    (
        &["baseline", "copy of a baseline", "x base", "x baseline", "x free", "times as fast"],
        "A program that runs another implementation, such as CUB. The column x base has how many times as fast scanbox is: 1.2 \
         is 20 % more throughput.",
    ),
    (
        &["best config", "best config now", "winner", "winners"],
        "The config with the highest throughput at a size. Those within noise of it count as ties.",
    ),
    (
        &["best constant", "worst value", "worst value loses", "must change with the size"],
        "A parameter pinned to one value at all compared sizes, with everything else free: the value that loses least, what the \
         worst value loses, and whether one value is not enough.",
    ),
    (
        &["best kernel", "one kernel", "one kernel, kept", "one kernel, same contract"],
        "The kernel that loses least against the ideal line if it serves every size. `scanbox explain metrics` says how that is \
         judged.",
    ),
    (
        &["blocked"],
        "How many workgroups were kept from publishing, to see what the others do: `bench --blocked`.",
    ),
    (
        &["buffers", "hot", "cold"],
        "Hot: every call works on the same buffers. Cold: each call works on other ones than the calls before it, so caches do \
         not have them.",
    ),
    (
        &["build", "builds", "swept"],
        "A kernel compiled for a circumstance. The build that a sweep times is called swept; beside it, `scanbox verify` runs \
         others, such as one with late workgroups, which `--builds swept` leaves out. `scanbox explain circumstances` lists them.",
    ),
    (
        &["canary"],
        "A copy that a sweep times again and again between its configs: how far its times range says whether the device \
        kept its speed. `scanbox compare` names it where that is further than the threshold.",
    ),
    (
        &["ceiling", "copy", "read"],
        "A kernel that moves the bytes of a scan (copy) or of a reduction (read) and does nothing else: the most that a scan \
         can reach. The column copy % has what a config reaches of it.",
    ),
    (
        &["chosen as", "selection of a row"],
        "Why a config is in a benchmark: `scanbox explain selections` lists the reasons.",
    ),
    (
        &["combine", "associative"],
        "The function of an operator file that makes one element of two, the earlier one first. It must be associative: a scan \
         combines neighbours in groups that it chooses.",
    ),
    (
        &["commutative", "ordered", "exact", "tolerance", "ordered+exact", "commutative+exact", "unindexed"],
        "What the pragma of an operator file says: whether swapped elements combine to the same (commutative, else ordered), and \
         whether results are exact or may be off by a tolerance, a share. `scanbox verify --operator FILE` tries both. Rows name \
         transforms behind that, and that they are unindexed if they do not look at the index.",
    ),
    (
        &["compute unit", "compute units"],
        "A processor of a device that runs workgroups (multiprocessor, compute unit, core): u2 in a label is two workgroups for each.",
    ),
    (
        &["confirm", "confirmed", "confirmation"],
        "`sweep --confirm K` measures the K fastest configs of each size again, in alternating blocks. What it finds decides.",
    ),
    (
        &["config", "configs", "other configs"],
        "A kernel plus its launch: workgroup size, and workgroup count or workgroups per \
        compute unit. Its label is all of that as text.",
    ),
    (
        &["coverage", "not covered"],
        "The sizes at which a kernel must have been measured to be compared with others.",
    ),
    (
        &["DEVICE SLOWER"],
        "A verdict of `scanbox compare`: the device as a whole lost more than 7 %, by a driver, clocks or cooling. No size is \
         slower beside that. The exit code is 6.",
    ),
    (
        &["draw"],
        "The function of an operator file that makes an element for tests and times, of 64 random bits and an index. Optional \
         if no field is a float and any bits are valid. A loss of one of its elements should change the answer.",
    ),
    (
        &["fallback", "fallbacks"],
        "A workgroup that has waited too long computes the total of the tile before it by itself: how often that happened.",
    ),
    (
        &["GB/s", "throughput", "gbps"],
        "Throughput: the bytes that a call must read and write, divided by its time.",
    ),
    (&["heat"], "The subjects of a benchmark at one size and cache state: they are measured in turns."),
    (
        &["ICS", "ideal configuration set", "ideal"],
        "The ideal configuration set: the best config of each size.",
    ),
    (
        &["ideal line", "line", "I", "L", "L 1", "L 2"],
        "The best throughput of each size on one device (I). The line of a kernel (L) has the best of its configs at each size. Of \
         arguments, a line is a line of memory that has them: the use `line` of a pack, the value `block` of a kernel.",
    ),
    (
        &["identity"],
        "The element that changes no other one when the two are combined, on either side: 0 of sums. Your operator file has it \
         as a function.",
    ),
    (&["inserted", "insertions"], "Tiles whose totals a workgroup put in for others that were late."),
    (
        &["iqr", "spread", "q1", "q3", "noise"],
        "How far samples lie apart: the interquartile range (from the first quartile to the third) over the median. Differences \
         that the spread of samples and rounds explains are noise.",
    ),
    (
        &["kernel", "kernels", "set of", "set"],
        "What is compiled: family, batch size, vector width, lookback, block scan and more. A \
        config adds how it is launched.",
    ),
    (
        &["label"],
        "A kernel or config as text, such as b4.vec4.par.rake.wg256. `scanbox explain LABEL` takes it apart.",
    ),
    (
        &["launch", "launch ranges"],
        "What to start at a size: a config and its workgroups. `scanbox analyze --at SIZE` says it.",
    ),
    (
        &["laws", "law", "laws of an operator"],
        "What each operator must keep: identity() changes no element, combine is associative and, if the file says so, \
         commutative. scanbox tries them on elements that draw() makes, before it runs a kernel. A broken law is exit code 5.",
    ),
    (
        &["lead", "more"],
        "By how much the best config of a size is faster than the runner-up, in percent. A small one may be chance.",
    ),
    (
        &["of all"],
        "How much slower a pack is than the fastest kernel of the size, wherever arguments stand. The column before it: \
        than the fastest with arguments in the same place.",
    ),
    (&["level"], "The input, or the totals of the tiles of the level before, as an array."),
    (
        &[
            "loss",
            "loses at most",
            "mean loss",
            "worst loss",
            "worst elsewhere",
            "loses",
            "worst",
            "mean",
            "arithmetic mean",
        ],
        "How much lower the throughput is than that of the best config of the size, in percent of it: of one kernel, one set or \
         one value that serves several sizes the mean and the worst.",
    ),
    (
        &["metric", "score", "its score", "term 1", "term 2", "w"],
        "How one kernel for all sizes is judged. `scanbox explain metrics` \
        has the formulas. A score is its value, a term what one size adds to it, w the weight of a size.",
    ),
    (&["measured at"], "The measured sizes behind an answer about another size."),
    (
        &["n-on-device"],
        "A use of a scan: only memory on the device holds the number of elements. `scanbox pack --uses n-on-device`.",
    ),
    (
        &["normalisation", "normalised by"],
        "What throughput is divided by before a metric adds it up: `analyze --normalize`.",
    ),
    (
        &["operator", "operators", "operator file"],
        "What a scan combines elements with: add, max and others (`--op`), or your own in a file of GLSL (`--operator FILE`). \
         Such a file has a struct Element, identity(), combine() and facts about it, and may have draw() and transforms. \
         `scanbox verify --operator FILE` tries its laws; kernels/operators has examples.",
    ),
    (
        &["pack", "use", "uses", "module", "on device", "on any device with subgroups of"],
        "A file of kernels with the sizes that each is for, which a program opens to run scans: `scanbox pack` and `scanbox tune` \
         make it. It lists devices, uses of scans, and portable kernels for devices that nobody has measured.",
    ),
    (&["pipeline", "pipelines", "compile"], "A kernel with a workgroup size, compiled by the driver."),
    (&["point"], "A config at an input size."),
    (
        &["portability", "PP"],
        "What a kernel is worth on several devices: the harmonic mean of the share of the best throughput that it has on each.",
    ),
    (
        &["portable kernel", "portable"],
        "The kernel that loses least on several devices together. Of a pack: a kernel that runs on any device with such \
        subgroups, measured or not.",
    ),
    (&["portfolio"], "A set of kernels, of which the fastest runs at each size: `analyze --portfolio K`."),
    (
        &["problem", "element"],
        "What is computed: mode (inclusive, exclusive, reduce), element type, operator, in place or not.",
    ),
    (
        &["pushed"],
        "A use of a scan: the addresses of its arrays come with each call, as push constants. Its kernels have the value `push` \
         of `arguments`.",
    ),
    (
        &["push us", "longer by ns", "at most ns", "keeps it"],
        "A config with its arguments in memory or in the pipeline, held against itself with push constants, in a \
        benchmark that has both: the time of a call with push constants, by how much its own takes longer (and the \
        interval that holds that at 95 %), how much longer it may take (1 % or 30 ns, the larger), and whether the \
        upper end of the interval keeps that.",
    ),
    (
        &["push", "block - push", "baked - push", "form"],
        "A dispatch whose arguments are push constants, and by how much other forms \
        differ from it: `bench --dispatch`.",
    ),
    (
        &[
            "registers",
            "most registers",
            "spill",
            "spills",
            "spilled",
            "spilled per subgroup",
            "fewest subgroups per SIMD",
        ],
        "What the compiler of the driver says of a kernel: registers of an invocation, and what had no room in them and went to \
         memory.",
    ),
    (
        &["probe", "probes"],
        "A program of scanbox that finds on a device what no list says: which guarantees are seen to hold, and where arguments \
         stand best. It runs once for a device and driver; `scanbox devices` shows what it found.",
    ),
    (
        &["promises", "promise", "needs"],
        "What a kernel needs of a device beyond what Vulkan promises, as that workgroups which have started make progress. \
         `pack --promises` says what programs will promise; `scanbox explain guarantees` lists what there is.",
    ),
    (&["round", "rounds"], "One turn of all subjects of a benchmark; in each they run in another order."),
    (
        &["row", "rows", "record"],
        "What was measured of a config at a size: a line of a CSV file. `scanbox explain columns` says \
        what it has.",
    ),
    (
        &["runner-up", "against"],
        "The second-fastest config of a size, or the kernel that comes second by a metric: what the best one leads.",
    ),
    (&["sample", "samples"], "One measurement. A row has the median of several."),
    (
        &["SAME"],
        "A verdict of `scanbox compare`: nothing is slower by more than the threshold, and a loss that large would have been \
         found. The exit code is 0.",
    ),
    (
        &["scratch", "scratch kept", "scratch bytes", "same contract", "guard", "guards"],
        "Memory for tile states, tickets and totals. Kept: it belongs \
        to one scan and needs no clearing. Same contract: its content is unknown before each call, as with CUB. Around it, the \
        output and the total, guards show whether a kernel writes outside.",
    ),
    (&["search"], "Whether every set of kernels was tried, or one kernel more than the set before."),
    (
        &["sees"],
        "The loss in percent that 95 of 100 such comparisons would find at this size; none: no loss would be found. Below it, \
         nothing can be said.",
    ),
    (&["shared config"], "The config of a size that is best for several devices together."),
    (&["size", "sizes", "n", "from n", "at n", "elements"], "Input elements of a call."),
    (
        &["span", "steady", "span us", "ordinary us", "us", "ns", "more ns"],
        "Times of a call, in microseconds (us) or nanoseconds (ns). Steady, \
        the default: one of many dependent calls back to back. Span: one call between two timestamps.",
    ),
    (
        &["slower alone", "slower"],
        "In `scanbox compare`, how many of the configs in both sweeps lost more than noise by their one time in each. It decides \
         nothing: a winner can be SLOWER by all rows, by turns or by confirmed times where this is 0.",
    ),
    (&["spins"], "How often invocations read a tile state that was not there yet."),
    (&["subject"], "What is measured: a config, a copy, or another implementation."),
    (
        &["suspect"],
        "A config that decides alone and looks slower than before: `compare` asks to measure it again.",
    ),
    (&["sweep"], "Measuring a space on one device: `scanbox sweep`."),
    (
        &["tie", "ties", "within noise"],
        "How many configs of a size are within noise of the best one: any of them may be the best in the next run.",
    ),
    (&["tile", "tiles"], "The elements that one workgroup processes at a time."),
    (
        &["tile state"],
        "What a tile tells later tiles: nothing yet (INVALID), its own total (AGGREGATE), the total of all \
        elements up to and including its own (INCLUSIVE).",
    ),
    (&["total", "prefix"], "All elements of a tile combined; all elements before a tile combined."),
    (
        &["transfer", "transfers", "missing"],
        "What the best configs of one device are worth on another one: `scanbox analyze A.csv B.csv` says it. At sizes that are \
         missing, such a config is not ok on the other device.",
    ),
    (
        &["transform", "transforms", "transform_input", "transform_output"],
        "Functions of an operator file: transform_input changes an element of the input before it is combined, \
         transform_output one of the answer as it is stored. Each is a pure function of an element and its index.",
    ),
    (
        &["turn", "turns", "pair"],
        "Two neighbouring blocks of one config, one of each program: `compare --pairs` measures so.",
    ),
    (
        &["twin"],
        "The calls of the timed path once more, untimed and compared: they show that timed calls were right.",
    ),
    (
        &["UNCLEAR"],
        "A verdict of `scanbox compare`: noise or drift is too large to say whether something is slower. Measure again, best in \
         turns: `scanbox rerun`. The exit code is 7.",
    ),
    (
        &["units", "anchors"],
        "Devices of one model. The column units % has how far they differ in a lead: half of them lie within \
        it, and a smaller lead is a tie.",
    ),
    (&["warm-up"], "Calls right before the first sample: clocks fall when a device idles."),
    (
        &["workgroup", "workgroups", "workgroup size", "subgroup size", "by the size", "per compute unit"],
        "Invocations that share memory and barriers; how many \
        invocations one has, and how many workgroups a call starts: by the size, one for each tile, or so many per compute unit. A \
        subgroup is the part that runs in lockstep.",
    ),
];

/// The entry of a word. Units at its end, capitals and a plural do not matter.
pub fn entry(subject: &str) -> Option<&'static GlossaryEntry> {
    let exact = GLOSSARY.iter().find(|(words, _)| words.contains(&subject));
    let plain = |word: &str| {
        let word = word.trim().trim_end_matches('%').trim();
        word.strip_suffix(" GB/s").unwrap_or(word).trim_end_matches(',').to_lowercase()
    };
    let subject = plain(subject);
    let is_asked = |word: &&str| plain(word) == subject;
    let is_one_of_them = |word: &&str| subject.strip_suffix('s').is_some_and(|one| plain(word) == one);
    let by = |is_meant: &dyn Fn(&&str) -> bool| GLOSSARY.iter().find(|(words, _)| words.iter().any(is_meant));
    exact.or_else(|| by(&is_asked)).or_else(|| by(&is_one_of_them))
}
