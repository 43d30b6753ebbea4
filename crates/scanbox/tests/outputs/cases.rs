//! Every option that writes, and a command that uses it.

use crate::sweeps::CONFIG;

/// An output: the option, and a command that writes to `OUT`.
pub struct Case {
    pub command: &'static str,
    pub option: &'static str,
    /// The word for what is written, of [`kinds`].
    pub writes: &'static str,
    pub line: &'static [&'static str],
    /// The name of the output, and, of a folder, the file in it that is put to the test.
    pub out: &'static str,
    pub file: &'static str,
    /// A file that the command reads.
    pub input: &'static str,
}

const BENCH: [&str; 12] = [
    "bench",
    CONFIG,
    "--device",
    "replay:replay.toml",
    "--sizes",
    "4096",
    "--rounds",
    "1",
    "--samples",
    "3",
    "--with",
    "bench.csv",
];

/// Every output.
pub fn cases() -> Vec<Case> {
    let case = |command, option, writes, line, out, file, input| Case {
        command,
        option,
        writes,
        line,
        out,
        file,
        input,
    };
    let export = |format: &'static str| -> &'static [&'static str] {
        match format {
            "t4" => &["export", "sweep.csv", "--format", "t4", "--output"],
            "json" => &["export", "sweep.csv", "--format", "json", "--output"],
            _ => &["export", "sweep.csv", "--format", "csv", "--output"],
        }
    };
    let blocking: &[&str] = &[
        "bench",
        "b4.vec4.fallback.rake.wg64",
        "--device",
        "replay:replay.toml",
        "--blocking=2",
        "--sizes",
        "4096",
        "--rounds",
        "1",
        "--out",
        "blocking.csv",
        "--plots",
    ];
    vec![
        case(
            "sweep",
            "out",
            "sweep",
            &["sweep", "--device", "replay:replay.toml", "--space", "./space.csv", "--out"],
            "x.csv",
            "x.csv",
            "space.csv",
        ),
        case(
            "space",
            "compile",
            "pipelines",
            &["space", "--device", "replay:replay.toml", "--space", "./space.csv", "--compile"],
            "x.csv",
            "x.csv",
            "space.csv",
        ),
        case("bench", "out", "benchmark", &BENCH_OUT, "x.csv", "x.csv", "bench.csv"),
        case(
            "bench",
            "plot",
            "picture",
            &["bench", "--show", "bench.csv", "--plot"],
            "x.svg",
            "x.svg",
            "bench.csv",
        ),
        case("bench", "plots", "picture", blocking, "plots", "plots/spins.svg", ""),
        case("bench", "plots", "table", blocking, "plots", "plots/fallbacks.csv", ""),
        case(
            "import",
            "out",
            "import",
            &[
                "import",
                "times.csv",
                "--subject",
                "other",
                "--version",
                "Other 1",
                "--device-name",
                "Replay",
                "--out",
            ],
            "x.csv",
            "x.csv",
            "times.csv",
        ),
        case("merge", "out", "merged", &["merge", "sweep.csv", "--out"], "x.csv", "x.csv", "sweep.csv"),
        case("report", "out", "page", &["report", "sweep.csv", "--out"], "x.html", "x.html", "sweep.csv"),
        case(
            "report",
            "plots",
            "picture",
            &["report", "sweep.csv", "--out", "page.html", "--plots"],
            "plots",
            "plots/replay.throughput.svg",
            "",
        ),
        case(
            "report",
            "plots",
            "table",
            &["report", "sweep.csv", "--out", "page.html", "--plots"],
            "plots",
            "plots/replay.throughput.csv",
            "",
        ),
        case(
            "rerun",
            "out",
            "pairs",
            &[
                "rerun",
                "sweep.csv",
                "sweep.csv",
                "--program",
                env!("CARGO_BIN_EXE_scanbox"),
                "--device",
                "replay:replay.toml",
                "--out",
            ],
            "x.csv",
            "x.csv",
            "sweep.csv",
        ),
        case("export", "output", "t4", export("t4"), "x.json", "x.json", "sweep.csv"),
        case("export", "output", "json", export("json"), "x.json", "x.json", "sweep.csv"),
        case("export", "output", "csv", export("csv"), "x.csv", "x.csv", "sweep.csv"),
        case(
            "export",
            "output",
            "kernels",
            &["export", "sweep.csv", "--format", "kernels", "--output"],
            "plots",
            "plots/README.md",
            "",
        ),
        case("tune", "folder", "pack", &TUNE, "plots", "plots/replay.u32-add-inclusive.scanpack", ""),
        case(
            "pack",
            "output",
            "pack",
            &["pack", "sweep.csv", "--uses", "pushed", "--portable", "none", "--output"],
            "x.scanpack",
            "x.scanpack",
            "sweep.csv",
        ),
    ]
}

pub const BENCH_OUT: [&str; 13] = {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = BENCH;
    [a, b, c, d, e, f, g, h, i, j, k, l, "--out"]
};

const TUNE: [&str; 10] = [
    "tune",
    "--device",
    "replay:replay.toml",
    "--space",
    "./space.csv",
    "--uses",
    "pushed",
    "--portable",
    "none",
    "--folder",
];
