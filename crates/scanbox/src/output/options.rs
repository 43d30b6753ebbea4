//! Every option and argument whose value is a path, and what it is for. A test sees that none is missing; another one
//! tries each of those that write against every kind of file.

/// What a path is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It is read: what it must be, and what makes one, for who names a file that is not there.
    Read(&'static str),
    /// The same of rows, of which a folder may have many files.
    ReadRows(&'static str),
    /// A folder of files that are named by a hash of their content; what else is there is left alone.
    Cache,
    /// A folder of attempts: each has a name of its own; what else is there is left alone.
    Attempts,
    /// It is written.
    Write(Writes),
}

/// What is written to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// Rows of a sweep, to a file or to one in a folder, with its metadata, journal and lock.
    Sweep,
    /// Rows of a benchmark, with metadata.
    Benchmark,
    /// Rows of another implementation.
    Import,
    /// Rows of several sweeps, with their metadata.
    Merged,
    /// A page of answers.
    Page,
    /// A picture.
    Picture,
    /// A folder of pictures and of tables as CSV.
    Plots,
    /// Base and new measured in turns.
    Pairs,
    /// Rows for other programs, in the format that `--format` says, or kernels in a folder.
    Export,
    /// Kernels for programs.
    Pack,
    /// What a compiler says of pipelines, as CSV.
    Pipelines,
}

const KERNELS: Use = Use::Read("a folder of kernel sources, like kernels/glsl of the repository");
const BROWSER: Use = Use::Read("a browser; `--browser chromium` takes the one of this system");
const SPACE: Use = Use::Read("a space file; `scanbox space --template` prints one");
const OPERATOR: Use = Use::Read("a GLSL file with an operator; kernels/README.md shows one");
const PROFILE: Use = Use::Read("the metadata of a sweep; `scanbox sweep` writes it beside the rows");
const SWEEP: Use = Use::ReadRows("rows of a sweep; `scanbox sweep` writes them");
const BENCHMARK: Use = Use::ReadRows("rows of a benchmark; `scanbox bench --out FILE` writes them");
const IMPORT: Use = Use::ReadRows("rows of another implementation; `scanbox import` writes them");
const FOREIGN: Use = Use::Read("a table of times; `scanbox import --help` says which");
const BASELINE: Use =
    Use::Read("a program that measures another implementation; docs/baselines.md shows one");
const PACK: Use = Use::Read("a pack; `scanbox tune` and `scanbox pack` write one");
const WEIGHTS: Use = Use::Read("a CSV file with the columns `n_elements,weight`");
const PAIRS: Use = Use::Read("pairs of a base and a new build; `scanbox rerun` writes them");
const PROGRAM: Use = Use::Read("the program of the base; `cargo build --release` makes one");

/// The command (empty: all of them), the name of the argument, and what it is for.
pub const PATHS: &[(&str, &str, Use)] = &[
    ("", "kernels", KERNELS),
    ("", "cache", Use::Cache),
    ("", "browser", BROWSER),
    ("space", "space", SPACE),
    ("space", "operator", OPERATOR),
    ("space", "profile", PROFILE),
    ("space", "compile", Use::Write(Writes::Pipelines)),
    ("sweep", "space", SPACE),
    ("sweep", "operator", OPERATOR),
    ("sweep", "out", Use::Write(Writes::Sweep)),
    ("sweep", "scratch", Use::Attempts),
    ("sweep", "publish", Use::Attempts),
    ("verify", "space", SPACE),
    ("verify", "operator", OPERATOR),
    ("verify", "list_pairs", OPERATOR),
    ("bench", "from", SWEEP),
    ("bench", "operator", OPERATOR),
    ("bench", "baseline", BASELINE),
    ("bench", "with", IMPORT),
    ("bench", "show", BENCHMARK),
    ("bench", "out", Use::Write(Writes::Benchmark)),
    ("bench", "pack", PACK),
    ("bench", "plot", Use::Write(Writes::Picture)),
    ("bench", "plots", Use::Write(Writes::Plots)),
    ("import", "files", FOREIGN),
    ("import", "out", Use::Write(Writes::Import)),
    ("merge", "files", SWEEP),
    ("merge", "out", Use::Write(Writes::Merged)),
    ("analyze", "files", SWEEP),
    ("analyze", "name", SWEEP),
    ("analyze", "weights", WEIGHTS),
    ("report", "files", SWEEP),
    ("report", "name", SWEEP),
    ("report", "weights", WEIGHTS),
    ("report", "out", Use::Write(Writes::Page)),
    ("report", "plots", Use::Write(Writes::Plots)),
    ("compare", "base", SWEEP),
    ("compare", "new", SWEEP),
    ("compare", "pairs", PAIRS),
    ("compare", "earlier", PAIRS),
    ("rerun", "base", SWEEP),
    ("rerun", "new", SWEEP),
    ("rerun", "program", PROGRAM),
    ("rerun", "out", Use::Write(Writes::Pairs)),
    ("serve", "operator", OPERATOR),
    ("pack", "files", SWEEP),
    ("pack", "operator", OPERATOR),
    ("pack", "show", PACK),
    ("pack", "check", PACK),
    ("pack", "output", Use::Write(Writes::Pack)),
    ("tune", "space", SPACE),
    ("tune", "operator", OPERATOR),
    ("tune", "folder", Use::Write(Writes::Pack)),
    ("explain", "profile", PROFILE),
    ("explain", "from", SWEEP),
    ("export", "files", SWEEP),
    ("export", "operator", OPERATOR),
    ("export", "output", Use::Write(Writes::Export)),
];
