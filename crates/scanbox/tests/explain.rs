//! `scanbox explain` as a user runs it: every word that scanbox shows has a meaning, and documents have the same ones.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The exit code and both outputs of `scanbox explain` with these arguments, at the root of the repository.
fn explain(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("scanbox").unwrap();
    let output =
        command.arg("explain").args(arguments).env("COLUMNS", "80").current_dir(root()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn json(arguments: &[&str]) -> Value {
    let (code, out, err) = explain(&[arguments, &["--format", "json"]].concat());
    assert_eq!(code, 0, "{arguments:?}: {err}");
    serde_json::from_str(&out).unwrap()
}

/// The cells of the list of one meaning.
fn list(meaning: &Value) -> Vec<[String; 3]> {
    let rows = meaning["list"]["words"].as_array().unwrap();
    rows.iter().map(|row| serde_json::from_value(row.clone()).unwrap()).collect()
}

/// Every word of each kind is one that can be asked for by itself, and no meaning is empty.
#[test]
fn every_word_of_every_kind_has_a_meaning() {
    let kinds = list(&json(&[])["meanings"][0]);
    assert_eq!(kinds.len(), 17);
    let (_, help, _) = explain(&["--help"]);
    for [kind, ..] in kinds {
        assert!(help.contains(&kind), "{kind}: {help}");
        let words = list(&json(&[&kind])["meanings"][0]);
        assert!(words.len() > 3, "{kind}");
        for [word, between, text] in words {
            assert!(text.len() > 3 || between.len() > 20, "{kind} {word}: {between} {text}");
            // What stands behind this one is the id of an issue.
            if word.starts_with("known-issue:") {
                continue;
            }
            let meanings = &json(&[&word])["meanings"];
            assert!(!meanings.as_array().unwrap().is_empty(), "{kind} {word}");
        }
    }
}

/// Words as people write them: values of options, plurals, other spellings, parts of labels.
#[test]
fn a_word_is_known_in_other_forms() {
    for (word, kind) in [
        ("size-best", "normalisation"),
        ("stateless", "value of --scratch"),
        ("steady", "value of --time"),
        ("buffers", "option --buffers"),
        ("incomplete", "exit"),
        ("packs", "word: pack"),
        ("exit code 3", "exit code"),
        ("130", "exit code"),
        ("spike", "input"),
        ("guards", "word: scratch"),
        ("in-a-row", "circumstance"),
        ("wg64.u1", "parts of a label"),
        ("gather.exchange", "parts of a label"),
    ] {
        let kinds: Vec<String> = json(&[word])["meanings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|meaning| meaning["kind"].as_str().unwrap().to_owned())
            .collect();
        assert!(kinds.iter().any(|found| found == kind), "{word}: {kinds:?}");
    }
    // Whatever an option takes can be asked for.
    for [option, words, _] in list(&json(&["options"])["meanings"][0]) {
        for word in words.split(", ") {
            let meanings = json(&[word])["meanings"].to_string();
            assert!(meanings.contains(&format!("value of --{option}")), "{option} {word}: {meanings}");
        }
    }
    for word in ["wg64.nothing", "nothing", "wg64.", "exit 99", "code"] {
        assert_eq!(explain(&[word]).0, 2, "{word}");
    }
}

/// What tables, file names and errors of fleets say.
/// Every head of a column that a table may have, but for plain words, and every word of the documents' own lists.
#[test]
fn what_stands_on_a_screen_is_explained() {
    const PLAIN: [&str; 30] = [
        "",
        "1",
        "%",
        "at",
        "at most",
        "device",
        "empty",
        "file",
        "host",
        "kernel, or other",
        "made in s",
        "no.",
        "of",
        "on",
        "others",
        "parameter",
        "reason",
        "refused",
        "shader",
        "tried",
        "what",
        "which",
        "words",
        "time",
        "GB/s of 1",
        "GB/s of 2",
        "2 over 1",
        "made in",
        "set",
        "kind",
    ];
    let mut heads = BTreeSet::new();
    let mut folders = vec![root().join("crates/scanbox-report/src"), root().join("crates/scanbox/src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for maker in ["Column::numbers(\"", "Column::words(\""] {
                let found = text.split(maker).skip(1).filter_map(|rest| rest.split('"').next());
                heads.extend(found.map(str::to_owned));
            }
        }
    }
    assert!(heads.len() > 60, "{heads:?}");
    for document in ["docs/answers.md", "docs/benchmark.md", "docs/nightly.md"] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let (_, table) = text.split_once("\n## Words\n").unwrap();
        let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
        let words = rows.filter(|word| !["word", "---"].contains(word)).flat_map(|words| words.split(", "));
        heads.extend(words.map(str::to_owned));
    }
    let told = |word: &str| explain(&[word]).0 == 0;
    let unknown: Vec<&String> =
        heads.iter().filter(|head| !PLAIN.contains(&head.as_str()) && !told(head)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for word in [
        "ICS",
        "ics",
        "Loss",
        "loss %",
        "lead",
        "ties",
        "kernel",
        "portfolio",
        "tile",
        "confirm",
        "pack",
        "turn",
        "UNCLEAR",
        "SAME",
        "DEVICE SLOWER",
        "canary",
        "transfer",
        "sees",
        "slower alone",
        "n-on-device",
        "any-element",
        "pushed",
        "portable",
        "line",
        "operator",
        "laws",
        "law",
        "draw",
        "transform",
        "transforms",
        "transform_input",
        "combine",
        "identity",
        "commutative",
        "tolerance",
        "ordered+exact",
        "by the size",
        "probe",
        "noise",
        "within noise",
        "missing",
    ] {
        assert!(json(&[word])["meanings"][0]["text"].as_str().unwrap().len() > 30, "{word}");
    }
}

#[test]
fn words_of_fleets_are_explained() {
    for word in ["shard", "attempt", "unit", "anchor", "anchor-start", "anchor-middle", "anchor-end", "drift"]
    {
        let meanings = &json(&[word])["meanings"];
        assert!(meanings[0]["text"].as_str().unwrap().len() > 30, "{word}");
    }
}

/// A sweep of several units says which of them a cost is of.
#[test]
fn a_cost_says_its_unit_where_there_are_several() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("merged.csv");
    let found = scanbox_model::csv_file::read(&root().join("results/published.nvidia-h200.thesis.csv"))
        .unwrap()
        .records;
    let row = found.iter().find(|row| row.n_elements == 1 << 20).unwrap();
    let on = |host: &str| scanbox_model::record::Record { host: host.into(), ..row.clone() };
    scanbox_model::csv_file::replace(&file, [&on("node1"), &on("node2")]).unwrap();
    let (code, out, err) = explain(&[&row.config_id, "--from", file.to_str().unwrap(), "--format", "json"]);
    assert_eq!(code, 0, "{err}");
    for part in ["2 units", "on node1", "on node2"] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

/// Names of rules in the sources: what stands behind `reject(` or `rule: `.
fn rules_in(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rules_in(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]").next().unwrap();
        for marker in ["reject(", "rule: "] {
            for (at, _) in text.match_indices(marker) {
                let rest = text[at + marker.len()..].trim_start();
                let Some(name) = rest.strip_prefix('"').and_then(|rest| rest.split('"').next()) else {
                    continue;
                };
                if !name.is_empty() {
                    found.insert(name.to_owned());
                }
            }
        }
    }
}

/// A rule that nobody explains would be a name without a reason.
#[test]
fn the_rules_of_the_sources_are_the_rules_that_are_explained() {
    let mut found = BTreeSet::new();
    for room in ["scanbox-model", "scanbox-kernels", "scanbox-runner", "scanbox-session", "scanbox"] {
        rules_in(&root().join("crates").join(room).join("src"), &mut found);
    }
    let told: BTreeSet<String> = list(&json(&["rules"])["meanings"][0])
        .into_iter()
        .map(|[name, ..]| name)
        // These are made of guarantees and issues.
        .filter(|name| !name.starts_with("known-issue:"))
        .filter(|name| {
            !["progress", "workgroup-order", "subgroup-progress", "co-residency"]
                .iter()
                .any(|guarantee| name == &format!("needs-{guarantee}"))
        })
        .collect();
    assert_eq!(found, told);
    assert!(found.len() > 40, "{}", found.len());
}

/// The parts of a label are the label, and each says what it stands for.
#[test]
fn a_label_is_taken_apart() {
    fn check(label: &str, kind: &str, parts: &[&str]) {
        let explained = json(&[label]);
        let meaning = &explained["meanings"][0];
        assert_eq!(meaning["kind"], kind, "{label}");
        let words = list(meaning);
        let tags: Vec<&str> = words.iter().map(|[tag, ..]| tag.as_str()).collect();
        assert_eq!(tags.join("."), label);
        for part in parts {
            assert!(words.iter().any(|[_, parameter, _]| parameter == part), "{part} in {words:?}");
        }
    }
    check(
        "b4.vec4.gather.sub.shuffle.striped.wgid.early.wg256",
        "a config",
        &[
            "batch_size 4",
            "lookback gather",
            "publish before-scan",
            "tile_order workgroup-id",
            "workgroup_size 256",
        ],
    );
    check("b16.vec4.par.rake", "a kernel", &["vector_width vec4", "block_scan raking"]);
    check(
        "pers.b6.vec2.gatherfall.sub.wg192.u3",
        "a config",
        &["family persistent", "workgroups_per_unit 3"],
    );
    check("b4.vec4.par.rake.wg256.g1024", "a config", &["workgroups 1024"]);
}

const PROFILE: &str = "results/published.nvidia-h200.full.meta.json";

/// On a device, a label has the sources that it is made of, and no others; or the rule that rejects it.
/// Whatever the device: parts that do not go together are told, and others are not.
#[test]
fn a_label_that_no_device_runs_says_so() {
    for (label, rule) in [
        ("b4.vec4.par.rake.wg256.u2", Some("persistent-has-workgroups-per-unit")),
        ("pers.b4.vec4.par.rake.wg256.u2", Some("family-lookback")),
        ("b4.vec4.par.rake.flags.wg256", Some("flags-need-persistent")),
        ("pers.b4.vec4.gather.sub.striped.early.wg256.u2", None),
        ("b4.vec4.par.rake.wg256", None),
    ] {
        let text = json(&[label])["meanings"][0]["text"].as_str().unwrap().to_owned();
        match rule {
            Some(rule) => {
                assert!(text.starts_with("No device runs it: ") && text.contains(rule), "{label}: {text}");
            }
            None => assert_eq!(text, "", "{label}"),
        }
    }
}

#[test]
fn a_label_says_what_it_comes_to_on_a_device() {
    fn check(label: &str, parts: &[&str], not: &[&str]) {
        let (code, out, err) = explain(&[label, "--profile", PROFILE]);
        assert_eq!(code, 0, "{err}");
        for part in parts {
            assert!(out.contains(part), "no `{part}` in:\n{out}");
        }
        for part in not {
            assert!(!out.contains(part), "`{part}` in:\n{out}");
        }
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    }
    check(
        "b4.vec4.gather.sub.shuffle.striped.wgid.early.wg256",
        &["on NVIDIA H200", "workgroup-order (given)", "chained_scan.comp", "lookback/gather.glsl"],
        &["fallback.glsl", "raking.glsl"],
    );
    check(
        "rts.b4.vec4.none.rake.wg128",
        &["nothing beyond", "reduce_tiles.comp", "raking.glsl"],
        &["gather.glsl"],
    );
    check("b4.vec4.par.blelloch.wg96", &["does not run", "blelloch-power-of-two"], &["blelloch.glsl"]);
    check("b4.vec4.par.rake", &["has no workgroup size"], &["rake.glsl"]);
}

/// What it cost stands in the rows of the files that are named.
#[test]
fn a_label_says_what_it_cost() {
    let published = "results/published.nvidia-h200.full.csv";
    let text = fs::read_to_string(root().join(published)).unwrap();
    let record = scanbox_model::csv_file::read(&root().join(published)).unwrap().records;
    let row = record.iter().find(|row| row.registers.is_some() && row.n_elements == 1 << 20).unwrap();
    let (_, out, err) = explain(&[&row.config_id, "--from", published]);
    assert!(out.contains("1048576") || out.contains("2^20"), "{out}{err}");
    assert!(out.contains(&format!("{} registers", row.registers.unwrap())), "{out}{err}");
    assert!(out.contains(&format!("driver {}", row.driver)), "{out}{err}");
    assert!(!text.contains("b64.scalar.seq.bk.wg64"));
    assert!(explain(&["b64.scalar.seq.bk.wg64", "--from", published]).1.contains("no row of it"));
}

#[test]
fn what_has_no_meaning_is_refused_with_what_was_meant() {
    fn check(arguments: &[&str], parts: &[&str]) {
        let (code, out, err) = explain(arguments);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        for part in parts {
            assert!(err.contains(part), "no `{part}` in: {err}");
        }
    }
    check(&["loockback"], &["`loockback`", "lookback", "scanbox explain"]);
    check(&["sqared"], &["squared"]);
    check(&["needs-progres"], &["needs-progress"]);
    check(&[""], &["nothing is called"]);
    check(&["xyzzy"], &["nothing is called `xyzzy`;"]);
    check(&["b4.vec4.par.rake.wg0"], &["workgroup size"]);
    check(&["b4.vec4.nonsense"], &["expected the lookback", "found `nonsense`"]);
    check(&["power:0"], &["nothing is called"]);
    check(&["squared", "--profile", PROFILE], &["not the label", "--profile"]);
    check(&["lookback", "--from", "results/published.nvidia-h200.full.csv"], &["not the label", "--from"]);
    check(&["b4.vec4.par.rake.wg256", "--from", "README.md"], &["README.md"]);
    check(&["b4.vec4.par.rake.wg256", "--device", "0", "--profile", PROFILE], &["cannot be used with"]);
    let long = "x".repeat(100_000);
    check(&[&long], &["nothing is called"]);
}

/// With `SCANBOX_WRITE_DOCUMENTS=1` they are written instead.
#[test]
fn the_documents_of_rules_and_columns_are_what_the_program_says() {
    for (kind, heading) in [("rules", "Rules"), ("columns", "Columns of result files")] {
        let (_, out, _) = explain(&[kind, "--format", "md"]);
        let (_, body) = out.split_once('\n').unwrap();
        let made = format!(
            "# {heading}\n\nMade by `scanbox explain {kind} --format md`; a test compares the two.\n{body}"
        );
        let path = root().join(format!("docs/{kind}.md"));
        if std::env::var_os("SCANBOX_WRITE_DOCUMENTS").is_some() {
            fs::write(&path, &made).unwrap();
        }
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(there, made, "SCANBOX_WRITE_DOCUMENTS=1 cargo test -p scanbox explain:: writes it");
    }
}

/// The template is a space, and what it says is what the program does.
#[test]
fn the_template_of_a_space_can_be_counted_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let run = |arguments: &[&str]| {
        let output =
            Command::cargo_bin("scanbox").unwrap().args(arguments).current_dir(root()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let template = run(&["space", "--template"]);
    // Options and variables of all commands go with it, others do not.
    let scanbox = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("scanbox").unwrap();
        command.args(arguments).env("SCANBOX_CACHE", folder.path()).env("SCANBOX_API", "webgpu");
        command.output().unwrap()
    };
    for arguments in [&["space", "--template", "-q", "--color", "never"][..], &["space", "--template", "-vv"]]
    {
        assert_eq!(String::from_utf8(scanbox(arguments).stdout).unwrap(), template, "{arguments:?}");
    }
    for more in ["--space=full", "--device=0", "--shard=0/2", "--format=json"] {
        assert_eq!(scanbox(&["space", "--template", more]).status.code(), Some(2), "{more}");
    }
    fs::write(&file, template).unwrap();
    let counts = run(&["space", "--space", file.to_str().unwrap(), "--profile", PROFILE, "--format", "json"]);
    let counts: Value = serde_json::from_str(&counts).unwrap();
    assert_eq!(counts["space"], "mine");
    assert!(counts["configs"].as_u64().unwrap() > 50, "{counts}");
}

/// Every command and option stands in what shells and readers of manuals get; what is internal does not.
#[test]
fn shells_and_manuals_know_every_command() {
    let run = |arguments: &[&str]| Command::cargo_bin("scanbox").unwrap().args(arguments).output().unwrap();
    let text = |arguments: &[&str]| {
        let output = run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&["completions", shell]);
        for word in ["analyze", "sweep", "metric", "explain"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let page = text(&["man"]);
    for command in ["sweep", "analyze", "explain", "completions"] {
        assert!(page.contains(&format!("scanbox\\-{command}(1)")), "{command}");
        let own = text(&["man", command]);
        assert!(own.contains(&format!(".TH scanbox-{command}")), "{command}");
        assert!(own.contains(env!("CARGO_PKG_VERSION")), "{command}: {own}");
    }
    assert!(!page.contains("scanbox\\-worker"), "{page}");
    for (arguments, says) in [
        (["man", "worker"], "there is no command `worker`"),
        (["man", "nothing"], "analyze"),
        (["completions", "cmd"], "bash"),
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(says), "{arguments:?}");
    }
}
