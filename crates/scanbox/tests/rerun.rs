//! `scanbox rerun` on the replay device.

use crate::sweeps::Place;
use scanbox_model::pair_file;
use scanbox_model::record::Status;
#[cfg(unix)]
use scanbox_testing::program::write_program;

fn rerun(place: &Place, code: i32) -> Vec<pair_file::PairRow> {
    let program = env!("CARGO_BIN_EXE_scanbox");
    let device = ["--program", program, "--device", "replay:replay.toml", "--out", "pairs.csv"];
    let _ = std::fs::remove_file(place.folder().join("pairs.csv"));
    place.run(&[&["rerun", "out/test.csv", "out/test.csv"], &device[..]].concat(), code);
    pair_file::read(&place.folder().join("pairs.csv")).unwrap()
}

/// Every row is paired, of scans and of reductions, whose output has one element.
#[test]
fn every_row_is_paired() {
    for problem in [&[][..], &["--mode", "reduce"]] {
        let place = Place::in_memory("");
        let arguments = [&["--sizes", "4096,65536", "--filter", "lookback=parallel"], problem].concat();
        let swept = place.sweep(&arguments);
        assert_eq!(swept.code, Some(0), "{}", swept.stderr);
        let rows = rerun(&place, 0);
        assert!(rows.len() >= place.records().len(), "{problem:?}: {rows:?}");
        assert!(rows.iter().all(|row| row.status == Status::Ok), "{problem:?}: {rows:?}");
    }
}

/// What a file of pairs lacks is told as that: the new sweep has a time of it.
#[test]
fn a_file_of_pairs_that_is_bad_or_short() {
    let place = Place::in_memory("");
    let swept = place.sweep(&["--sizes", "4096,65536", "--filter", "lookback=parallel"]);
    assert_eq!(swept.code, Some(0), "{}", swept.stderr);
    let rows = rerun(&place, 0);
    let mut text = Vec::new();
    pair_file::write(&mut text, &rows).unwrap();
    let text = String::from_utf8(text).unwrap();
    let header = text.lines().next().unwrap();
    let of_size = |n: &str| text.lines().filter(|line| !line.starts_with(n)).collect::<Vec<_>>().join("\n");
    let cut = &text[..text.len() - 40];
    for (content, code, says) in [
        ("", 1, "pairs.csv: line 1: the file is empty"),
        ("a,b\n1,2\n", 1, "pairs.csv: line 1: the header of a file of pairs has a column `n_elements`"),
        (header, 1, "pairs.csv: line 2: no pair follows the header"),
        (cut, 1, &format!("pairs.csv: line {}: ", text.lines().count())),
        (&of_size("4096,"), 7, "UNMEASURED: what led the base at 2^12 was not measured again; let"),
        (&of_size("65536,"), 7, "Not measured again, though both sweeps have a time: "),
    ] {
        std::fs::write(place.folder().join("pairs.csv"), content).unwrap();
        let compared = place.run(&["compare", "out/test.csv", "out/test.csv", "--pairs", "pairs.csv"], code);
        let all = format!("{}{}", compared.stdout, compared.stderr);
        assert!(all.replace("\n  ", " ").contains(says), "{content}: {all}");
        assert!(!all.contains("MISSING"), "{content}: {all}");
    }
    // A night that measured nothing is no reference, and leaves no file.
    std::fs::write(place.folder().join("pairs.csv"), &text).unwrap();
    std::fs::write(place.folder().join("earlier.csv"), "").unwrap();
    let judged =
        ["compare", "out/test.csv", "out/test.csv", "--pairs", "pairs.csv", "--earlier", "earlier.csv"];
    // Two rows tell no noise; that they were measured again is not in doubt.
    let compared = place.run(&judged, 7);
    assert!(compared.stdout.starts_with("UNCLEAR: too noisy"), "{}", compared.stdout);
    let device = ["--program", "/bin/false", "--device", "replay:replay.toml", "--out", "none.csv"];
    let failed = place.run(&[&["rerun", "out/test.csv", "out/test.csv"], &device[..]].concat(), 1);
    assert_eq!(failed.stderr.matches("cannot be measured in turns").count(), 1, "{}", failed.stderr);
    assert!(!place.folder().join("none.csv").exists());
}

/// What could not be told comes with the two commands that tell it, which run as they stand: with the device of the new
/// sweep, the program that is kept beside the base, and what was asked for. Where no program is kept, words say what is
/// to be put in.
#[cfg(unix)]
#[test]
fn what_could_not_be_told_comes_with_commands_that_run() {
    let place = Place::in_memory("");
    let swept = place.sweep(&["--sizes", "4096,65536", "--filter", "lookback=parallel"]);
    assert_eq!(swept.code, Some(0), "{}", swept.stderr);
    let uuid = place.records()[0].device_uuid.clone();
    let check = |asked: &[&str], told: &str, rerun: &str, compare: &str| {
        let compared = place.run(&[&["compare", "out/test.csv", "out/test.csv"], asked].concat(), 7);
        let (_, next) = compared.stdout.split_once("\nnext       ").unwrap();
        let (words, commands) = next.split_once(":\n").unwrap();
        assert_eq!(
            words.replace("\n           ", " "),
            format!("to measure both again in turns, and to compare, {told}")
        );
        let commands: Vec<Vec<String>> =
            commands.lines().take(2).map(|line| shlex::split(line).unwrap()).collect();
        let of_program = |words: &[String]| words[1..].join(" ");
        let rerun = format!("rerun out/test.csv out/test.csv --program {rerun}").replace("UUID", &uuid);
        let compare = format!("compare out/test.csv out/test.csv {compare}");
        assert_eq!(commands.iter().map(|words| of_program(words)).collect::<Vec<_>>(), [rerun, compare]);
        commands
    };
    let metadata = scanbox_model::metadata::Metadata::read(&place.file("meta.json")).unwrap();
    let tool = format!("version {}, commit {}", metadata.tool_version, metadata.tool_commit);
    let put = format!("put the path of the scanbox that made the base ({tool}) in place of PROGRAM, and run");
    check(&[], &put, "PROGRAM --device UUID --out pairs.csv", "--pairs pairs.csv");
    let kept = place.folder().join("out/scanbox");
    // The program that runs did not make the base.
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_scanbox"), &kept).unwrap();
    check(&[], &put, "PROGRAM --device UUID --out pairs.csv", "--pairs pairs.csv");
    std::fs::remove_file(&kept).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_scanbox"), &kept).unwrap();
    let commands = check(
        &["--threshold=5", "--metric", "cosine", "--time", "steady"],
        "run",
        "out/scanbox --device UUID --threshold 5 --metric cosine --out pairs.csv",
        "--threshold=5 --metric cosine --time steady --pairs pairs.csv",
    );
    // Where the tests run, the device is a file, which no list of devices has.
    for (words, code) in commands.iter().zip([0, 7]) {
        let word = |word: &String| if *word == uuid { "replay:replay.toml".to_owned() } else { word.clone() };
        let words: Vec<String> = words[1..].iter().map(word).collect();
        place.run(&words.iter().map(String::as_str).collect::<Vec<_>>(), code);
    }
    // Pairs that told nothing are not written over, and the next ones take their place.
    check(
        &["--pairs", "pairs.csv"],
        "run",
        "out/scanbox --device UUID --out pairs.2.csv",
        "--pairs pairs.2.csv",
    );
    // By WebGPU no base is measured again, so there is no command.
    place.script("api = \"webgpu\"\nimplementation = \"wgpu 30.0.1 (Vulkan)\"\n");
    let web = ["--device", "replay:replay.toml", "--space", "space.toml", "--assume", "progress"];
    place.run(&[&["sweep", "--sizes", "4096", "--out", "web.csv"], &web[..]].concat(), 0);
    let compared = place.run(&["compare", "web.csv", "web.csv"], 7);
    assert!(!compared.stdout.contains("\nnext "), "{}", compared.stdout);
}

/// Two sweeps of two rows at each size leave a loss open; measured in turns, each row is measured again, and tells it.
#[cfg(unix)]
#[test]
fn a_loss_of_few_rows_is_told_in_turns_alone() {
    let noise = "[noise]\nsmall_ratio = 0.004\nlarge_ratio = 0.002\n";
    let place = Place::in_memory(&format!("run = 1\n{noise}"));
    let write = |name: &str, text: &str| std::fs::write(place.folder().join(name), text).unwrap();
    write("new.toml", &format!("run = 2\n{noise}[[slow]]\nfactor = 1.2\nn = 4096\n"));
    let base = "#!/bin/bash\nexec \"$SCANBOX\" \"${@/replay:new.toml/replay:replay.toml}\"\n";
    write_program(&place.folder().join("base"), base);
    for (script, out) in [("replay.toml", "base.csv"), ("new.toml", "new.csv")] {
        let device = format!("replay:{script}");
        let two = ["--space", "space.toml", "--filter", "batch_size=1", "--out", out];
        place.run(&[&["sweep", "--device", &device], &two[..]].concat(), 0);
    }
    let compared = place.run(&["compare", "base.csv", "new.csv"], 7);
    let verdict = "UNCLEAR: slower at 2^12, or noise; measure again\n";
    assert!(compared.stdout.starts_with(verdict), "{}", compared.stdout);
    assert!(compared.stdout.contains("\nnext       to measure both again in turns, "), "{}", compared.stdout);
    let rerun = ["rerun", "base.csv", "new.csv", "--program", "base", "--device", "replay:new.toml"];
    let mut rerun = place.scanbox(&[&rerun[..], &["--out", "pairs.csv"]].concat());
    let reran = crate::sweeps::ended(rerun.env("SCANBOX", env!("CARGO_BIN_EXE_scanbox")).output().unwrap());
    assert_eq!(reran.code, Some(0), "{}", reran.stderr);
    let compared = place.run(&["compare", "base.csv", "new.csv", "--pairs", "pairs.csv"], 6);
    assert!(compared.stdout.starts_with("SLOWER: +"), "{}", compared.stdout);
    let rows = pair_file::read(&place.folder().join("pairs.csv")).unwrap();
    let again: std::collections::BTreeSet<&str> =
        rows.iter().filter(|row| row.round > 1).map(|row| row.config_id.as_str()).collect();
    assert_eq!((again.len(), rows.iter().all(|row| row.round < 2 || row.n_elements == 4096)), (2, true));
}

/// What blocks have in common with each other is not what they have for themselves.
#[test]
fn every_block_of_a_row_has_noise_of_its_own() {
    let place = Place::in_memory("[noise]\nsmall_ratio = 0.05\nlarge_ratio = 0.02\n");
    let swept = place.sweep(&["--sizes", "4096,65536", "--filter", "lookback=parallel"]);
    assert_eq!(swept.code, Some(0), "{}", swept.stderr);
    for row in rerun(&place, 0) {
        for [first, second] in row.times().unwrap() {
            assert!((first / second - 1.0).abs() > 1e-6, "{row:?}");
        }
    }
}

/// 48 rows at each of 6 sizes.
const SPACE_OF_RATES: &str = r#"
name = "rates"
sizes = "2^10,2^12,2^14,2^16,2^18,2^20"
[[block]]
family = ["chained-scan"]
batch_size = [1, 2, 4, 8]
vector_width = ["vec2", "vec4"]
workgroup_size = [64, 128, 256]
lookback = ["parallel", "sequential"]
block_scan = ["raking"]
"#;

/// A process of either side is another one each time, so its script has another run: the base's program starts first.
#[cfg(unix)]
const PROGRAM_OF_RATES: &str = r#"#!/bin/bash
count=$(cat count 2>/dev/null || echo 100)
echo $((count + 2)) >count
sed "s/^run = .*/run = $count/" base-tonight.toml >"base-$count.toml"
sed -i "s/^run = .*/run = $((count + 1))/" new-tonight.toml
arguments=()
for argument in "$@"; do
    case $argument in replay:*) argument=replay:base-$count.toml ;; esac
    arguments+=("$argument")
done
exec "$SCANBOX" "${arguments[@]}"
"#;

/// The exit codes of two equal nights, judged by pairs and without.
#[cfg(unix)]
fn equal_nights(noise: &str, seed: u64) -> [i32; 2] {
    let place = Place::in_memory("");
    let write = |name: &str, text: &str| std::fs::write(place.folder().join(name), text).unwrap();
    write("rates.toml", SPACE_OF_RATES);
    write_program(&place.folder().join("prog"), PROGRAM_OF_RATES);
    // What each night has in common is drift and weather.
    for (name, run, night) in [("base", 1, 1), ("new", 2, 2), ("base-tonight", 21, 2), ("new-tonight", 22, 2)]
    {
        write(
            &format!("{name}.toml"),
            &format!("run = {run}\nnight = {night}\nseed = {seed}\n[noise]\n{noise}"),
        );
    }
    for name in ["base", "new"] {
        let (device, out) = (format!("replay:{name}.toml"), format!("{name}.csv"));
        let space = ["--space", "rates.toml", "--confirm", "4", "--rounds", "9"];
        place.run(&[&["sweep", "--device", &device, "--out", &out], &space[..]].concat(), 0);
    }
    let device = ["--program", "./prog", "--device", "replay:new-tonight.toml", "--out", "pairs.csv"];
    let mut rerun = place.scanbox(&[&["rerun", "base.csv", "new.csv"], &device[..]].concat());
    let rerun = crate::sweeps::ended(rerun.env("SCANBOX", env!("CARGO_BIN_EXE_scanbox")).output().unwrap());
    assert_eq!(rerun.code, Some(0), "{}", rerun.stderr);
    [&["--pairs", "pairs.csv"][..], &[]].map(|pairs| {
        let mut compare = place.scanbox(&[&["compare", "base.csv", "new.csv"], pairs].concat());
        crate::sweeps::ended(compare.output().unwrap()).code.unwrap()
    })
}

/// How often equal nights are judged how, through the commands; `SCANBOX_PAIRS` says of how many pairs, `SCANBOX_SEED`
/// from which seed on.
#[cfg(unix)]
#[test]
#[ignore = "some minutes: the rates of docs/decisions/gate.md on the replay device"]
#[allow(clippy::print_stdout, reason = "the figures are for people")]
fn rates() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (pairs, seed) = (number("SCANBOX_PAIRS").unwrap_or(20), number("SCANBOX_SEED").unwrap_or(0));
    let rows = "small_ratio = 0.05\nlarge_ratio = 0.003\n";
    for (name, noise) in [
        ("none", String::new()),
        ("drift within a run, 2 %", "drift_ratio = 0.02\n".to_owned()),
        ("Student t with 2.5 degrees, 1 % outliers", "degrees = 2.5\noutlier_share = 0.01\n".to_owned()),
    ] {
        let mut counts = [[0; 2]; 2];
        for seed in seed..seed + pairs {
            for (count, code) in counts.iter_mut().zip(equal_nights(&format!("{rows}{noise}"), seed)) {
                count[0] += u64::from(code == 6);
                count[1] += u64::from(code == 7);
            }
        }
        let [[slower, open], [slower_alone, open_alone]] = counts;
        println!("| {name} | {pairs} | {slower} | {open} | {slower_alone} | {open_alone} |");
        // One in a hundred may be wrong.
        assert!(slower <= 1 + pairs / 100, "{name}: {slower} of {pairs} equal nights are SLOWER");
    }
}
