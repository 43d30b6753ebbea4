//! A refusal says what helps: the nearest legal value, what emptied a space, and what makes a file that is not there.
#![cfg(unix)]

use std::fs;

use crate::sweeps::{Ended, Place};

/// The first error of a command that is refused.
fn error(place: &Place, line: &str, code: i32) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let Ended { stderr, .. } = place.run(&words, code);
    let (_, error) = stderr.split_once("error: ").unwrap_or_else(|| panic!("{line}: {stderr}"));
    error.lines().next().unwrap().to_owned()
}

#[test]
fn a_value_that_is_none_brings_the_nearest_legal_one_to_mind() {
    let place = Place::in_memory("");
    let check = |line: &str, near: &str| {
        let error = error(&place, line, 2);
        let asked = format!("did you mean `{near}`?");
        assert_eq!(error.matches(&asked).count(), usize::from(!near.is_empty()), "{line}: {error}");
        assert!(!near.is_empty() || !error.contains("did you mean"), "{line}: {error}");
    };
    let device = "--device replay:replay.toml";
    check(&format!("sweep {device} --space quik"), "quick");
    check(&format!("sweep {device} --space xyzzy"), "");
    check("sweep --op sum", "add");
    check("sweep --op maximum", "max");
    check("sweep --type uint", "u32");
    check("sweep --mode exlusive", "exclusive");
    check("sweep --filter lokback=parallel", "lookback");
    check("sweep --filter lookback=paralel", "parallel");
    check("sweep --filter deterministic=yess", "yes");
    check("tune --problem u32:exclusive:add", "u32:add:exclusive");
    check("tune --problem exclusive:add:u32", "u32:add:exclusive");
    check("tune --problem u32:sum:exclusive", "add");
    check("tune --problem u32:add:exclusive:revers", "reverse");
    check("tune --promises progres", "progress");
    check("tune --uses bakd", "baked");
    check("analyze x.csv --metric sqared", "squared");
    check("analyze x.csv --metric xyzzy", "");
    check("analyze x.csv --shared-metric rank-sun", "rank-sum");
    check("analyze x.csv --coverage comon", "common");
    check("compare a.csv b.csv --metric cosin", "cosine");
    // What is wrong is said once.
    let metric = error(&place, "analyze x.csv --metric sqared", 2);
    assert!(metric.contains("`sqared` is not a metric; the metrics are sum, "), "{metric}");
}

#[test]
fn a_space_that_is_empty_says_what_emptied_it_and_which_command_shows_it() {
    let place = Place::in_memory("");
    let check = |more: &str, why: &str, command: &str| {
        let line = format!("sweep --device replay:replay.toml --space space.toml --out a.csv {more}");
        let error = error(&place, line.trim_end(), 2);
        let (said, shows) = error.split_once("; to see what the space has, run: ").unwrap();
        assert!(said.contains(why), "{more}: {said}");
        assert!(shows.ends_with(command), "{more}: {shows}");
        let words = shlex::split(shows).unwrap();
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        place.run(&words, 0);
    };
    let shown = "space --device replay:replay.toml --space space.toml";
    check("--filter lookback=fallback", "--filter accepts none of its 28 legal points", shown);
    check("--sizes 2^40", "--sizes leaves nothing: rule ", &format!("{shown} --sizes '2^40'"));
    check("--sizes 2^40", " refuses all 4 points (", "");
    // Whatever else decides what is there is in the command too, wherever the user has put it.
    let assumed = "space --assume progress --device replay:replay.toml --space space.toml";
    check("--filter lookback=fallback --assume=progress", "--filter accepts none of its 28 ", assumed);
    check("--sizes 2^40", "at the sizes of its own, from 2^10 to 2^16, the space has 28 legal points", "");
    // `space` says the same, and shows the rules.
    let line = "space --device replay:replay.toml --space space.toml --filter lookback=fallback";
    let counted = place.run(&line.split(' ').collect::<Vec<_>>(), 0);
    let why = "warning: no config is left: --filter accepts none of its 28 legal points";
    assert!(counted.stderr.contains(why), "{counted:?}");
}

#[test]
fn a_file_that_is_not_there_is_told_what_it_must_be_and_what_makes_one() {
    let place = Place::in_memory("");
    fs::write(place.folder().join("measured.csv"), "x").unwrap();
    let check = |line: &str, code: i32, path: &str, what: &str| {
        let error = error(&place, line, code);
        assert!(error.contains("there is no such file"), "{line}: {error}");
        assert!(error.contains(path) && error.contains(&format!(" must be {what}")), "{line}: {error}");
        assert!(!error.contains("os error"), "{line}: {error}");
    };
    let sweep = "rows of a sweep; `scanbox sweep` writes them";
    let pack = "a pack; `scanbox tune` and `scanbox pack` write one";
    check("analyze no.csv", 1, "no.csv", sweep);
    check("analyze no.csv --weights uniform", 1, "no.csv", sweep);
    check("report no.csv -o page.html", 1, "no.csv", sweep);
    check("merge no.csv --out all.csv", 1, "no.csv", sweep);
    check("export no.csv --format json", 1, "no.csv", sweep);
    check("pack no.csv -o no.scanpack", 1, "no.csv", sweep);
    check("explain b4.vec4.par.rake.wg256 --from no.csv", 1, "no.csv", sweep);
    let published = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/published.llvmpipe.quick.csv");
    check(&format!("compare {published} no.csv"), 1, "no.csv", sweep);
    check("analyze measurd.csv", 1, "measurd.csv", &format!("{sweep}; did you mean `measured.csv`?"));
    check("bench --show no.csv", 1, "no.csv", "rows of a benchmark; `scanbox bench --out FILE` writes them");
    check("pack --show no.scanpack", 1, "no.scanpack", pack);
    check("pack --check no.scanpack", 1, "no.scanpack", pack);
    check(
        "space --profile no.meta.json",
        1,
        "no.meta.json",
        "the metadata of a sweep; `scanbox sweep` writes it",
    );
    check("space --space no.toml", 1, "no.toml", "a space file; `scanbox space --template` prints one");
    check(
        "space --operator no.glsl",
        1,
        "no.glsl",
        "a GLSL file with an operator; kernels/README.md shows one",
    );
    check(
        "import no.csv --subject a --device-name b --device-uuid c --out d.csv",
        1,
        "no.csv",
        "a table of times; `scanbox import --help`",
    );
    let own = "sweep --device replay:replay.toml --space space.toml --kernels nowhere";
    check(own, 1, "nowhere", "a folder of kernel sources");
    let weights = format!("analyze {published} --weights no.csv");
    check(&weights, 1, "no.csv", "a CSV file with the columns `n_elements,weight`");
    let packed = format!("pack {published} --operator no.glsl -o no.scanpack");
    check(&packed, 1, "--operator no.glsl: ", "a GLSL file with an operator; ");
    let again = format!("rerun {published} {published} --program no --out pairs.csv");
    check(&again, 1, "--program no: ", "the program of the base; `cargo build --release` makes one");
}

#[test]
fn a_scan_by_an_operator_of_a_file_is_sent_to_tune() {
    let place = Place::in_memory("");
    let own = ", and scans by an operator of your own are packed from rows: `scanbox tune --operator FILE`";
    for (line, listed) in [
        ("pack --any-device struct8:depth:inclusive -o x.scanpack", "and, or, xor"),
        ("pack --any-device pair:add:inclusive -o x.scanpack", "i64, f64"),
        ("tune --problem u32:depth:inclusive", "and, or, xor"),
    ] {
        let error = error(&place, line, 2);
        assert!(error.contains(&format!("{listed}{own}")), "{line}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn a_folder_in_place_of_a_file_is_told_what_it_must_be() {
    let place = Place::in_memory("");
    fs::create_dir(place.folder().join("folder")).unwrap();
    let check = |line: &str, code: i32, what: &str| {
        let error = error(&place, line, code);
        assert!(error.contains(&format!("folder: this is a folder; it must be {what}")), "{line}: {error}");
        assert!(!error.contains("os error"), "{line}: {error}");
    };
    let sweep = "rows of a sweep; `scanbox sweep` writes them";
    check("analyze folder", 1, sweep);
    fs::write(place.folder().join("folder/rows.csv"), "x").unwrap();
    let meant = format!("{sweep}; did you mean `folder/*.csv`?");
    check("analyze folder", 1, &meant);
    check("report folder -o page.html", 1, &meant);
    check("compare folder folder", 1, &meant);
    check("pack folder -o no.scanpack", 1, &meant);
    check("pack --show folder", 1, "a pack; ");
    // Rows of scanbox are of a kind that many files have; what is no such kind is never guessed.
    let table = "a table of times; `scanbox import --help` says which";
    let import = "import folder --subject a --device-name b --device-uuid c --out d.csv";
    check(import, 1, table);
    assert!(error(&place, import, 1).ends_with(table));
    let published = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/published.llvmpipe.quick.csv");
    check(&format!("pack {published} --operator folder -o no.scanpack"), 1, "a GLSL file with an operator; ");
    check("space --operator folder", 1, "a GLSL file with an operator; ");
    check("space --space ./folder", 1, "a space file; ");
}
