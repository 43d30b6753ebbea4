//! Every option and argument whose value is a path, and what it is for. A test sees that none is missing; another one
//! tries each of those that write against every kind of file.

/// What a path is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It is read.
    Read,
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

/// The command (empty: all of them), the name of the argument, and what it is for.
pub const PATHS: &[(&str, &str, Use)] = &[
    ("", "kernels", Use::Read),
    ("", "cache", Use::Cache),
    ("", "browser", Use::Read),
    ("space", "space", Use::Read),
    ("space", "operator", Use::Read),
    ("space", "profile", Use::Read),
    ("space", "compile", Use::Write(Writes::Pipelines)),
    ("sweep", "space", Use::Read),
    ("sweep", "operator", Use::Read),
    ("sweep", "out", Use::Write(Writes::Sweep)),
    ("sweep", "scratch", Use::Attempts),
    ("sweep", "publish", Use::Attempts),
    ("verify", "space", Use::Read),
    ("verify", "operator", Use::Read),
    ("verify", "list_pairs", Use::Read),
    ("bench", "from", Use::Read),
    ("bench", "operator", Use::Read),
    ("bench", "baseline", Use::Read),
    ("bench", "with", Use::Read),
    ("bench", "show", Use::Read),
    ("bench", "out", Use::Write(Writes::Benchmark)),
    ("bench", "pack", Use::Read),
    ("bench", "plot", Use::Write(Writes::Picture)),
    ("bench", "plots", Use::Write(Writes::Plots)),
    ("import", "files", Use::Read),
    ("import", "out", Use::Write(Writes::Import)),
    ("merge", "files", Use::Read),
    ("merge", "out", Use::Write(Writes::Merged)),
    ("analyze", "files", Use::Read),
    ("analyze", "name", Use::Read),
    ("analyze", "weights", Use::Read),
    ("report", "files", Use::Read),
    ("report", "name", Use::Read),
    ("report", "weights", Use::Read),
    ("report", "out", Use::Write(Writes::Page)),
    ("report", "plots", Use::Write(Writes::Plots)),
    ("compare", "base", Use::Read),
    ("compare", "new", Use::Read),
    ("compare", "pairs", Use::Read),
    ("compare", "earlier", Use::Read),
    ("rerun", "base", Use::Read),
    ("rerun", "new", Use::Read),
    ("rerun", "program", Use::Read),
    ("rerun", "out", Use::Write(Writes::Pairs)),
    ("serve", "operator", Use::Read),
    ("pack", "files", Use::Read),
    ("pack", "operator", Use::Read),
    ("pack", "show", Use::Read),
    ("pack", "check", Use::Read),
    ("pack", "output", Use::Write(Writes::Pack)),
    ("tune", "space", Use::Read),
    ("tune", "operator", Use::Read),
    ("tune", "folder", Use::Write(Writes::Pack)),
    ("explain", "profile", Use::Read),
    ("explain", "from", Use::Read),
    ("export", "files", Use::Read),
    ("export", "operator", Use::Read),
    ("export", "output", Use::Write(Writes::Export)),
];
