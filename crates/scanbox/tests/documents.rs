//! What the documents of this repository promise a reader: links that lead somewhere, a book with every page, and
//! commands that work as they are written.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::cargo::cargo_bin;

use crate::machines::Machine;
use crate::tidy::{documents, root};

/// Markdown without its blocks of code.
fn prose(text: &str) -> String {
    let mut in_code = false;
    let mut kept = String::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        if !in_code && !is_fence {
            kept.push_str(line);
        }
        kept.push('\n');
    }
    kept
}

/// The anchor of a heading, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let letters = heading.trim().to_lowercase();
    let kept = letters.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// Every anchor of a document; a heading that stands twice has a number the second time.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let prose = prose(text);
    let headings = prose.lines().filter_map(|line| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len() && heading.starts_with(' ')).then(|| anchor(heading))
    });
    headings
        .map(|anchor| {
            let count = counts.entry(anchor.clone()).or_default();
            *count += 1;
            if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
        })
        .collect()
}

/// The targets of links and pictures: what stands in `](...)`, outside of code.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let outside_code: String = prose.split('`').step_by(2).collect::<Vec<_>>().join("`");
    let targets = outside_code.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.split_whitespace().collect()).collect()
}

/// What is wrong with a link of this document, if anything.
fn broken(document: &Path, link: &str) -> Option<String> {
    if link.starts_with("https://") {
        return None;
    }
    let (path, fragment) = link.split_once('#').map_or((link, None), |(path, name)| (path, Some(name)));
    let target = match path {
        "" => document.to_owned(),
        path => document.parent().unwrap().join(path),
    };
    let Ok(there) = target.canonicalize() else { return Some("there is no such file".to_owned()) };
    if !there.starts_with(root()) {
        return Some("it leads out of the repository".to_owned());
    }
    let fragment = fragment?;
    let anchors = anchors(&fs::read_to_string(&there).ok()?);
    (!anchors.contains(fragment)).then(|| format!("it has no heading of that name, only {anchors:?}"))
}

#[test]
fn links_lead_somewhere() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (name, text) in documents() {
        for link in links(&text) {
            count += 1;
            wrong.extend(broken(&root().join(&name), &link).map(|why| format!("{name}: {link}: {why}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 150, "only {count} links were found");
}

#[test]
fn broken_links_are_noticed() {
    let text = "# One Thing\n## `two`, or three?\n## Same\n## Same\n[a](b.md) `[c](d)`\n```\n[e](f)\n# no\n```\n![g](h\n#i)";
    assert_eq!(links(text), ["b.md", "h#i"]);
    let anchors: Vec<String> = anchors(text).into_iter().collect();
    assert_eq!(anchors, ["one-thing", "same", "same-1", "two-or-three"]);
    let readme = root().join("README.md");
    for link in
        ["missing.md", "docs/install.md#no-such-heading", "#no-such-heading", "../../../etc/passwd", "../"]
    {
        assert!(broken(&readme, link).is_some(), "{link}");
    }
    for link in ["docs/install.md", "docs", "https://example.org/no", "CONTRIBUTING.md#style"] {
        assert_eq!(broken(&readme, link), None, "{link}");
    }
}

/// The contents of the book have every page below docs/, each once.
#[test]
fn the_book_has_every_page() {
    let contents = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let mut listed: Vec<String> = links(&contents);
    listed.sort();
    let pages = documents().into_iter().filter_map(|(name, _)| Some(name.strip_prefix("docs/")?.to_owned()));
    let mut pages: Vec<String> = pages.filter(|name| name != "SUMMARY.md").collect();
    pages.sort();
    assert_eq!(listed, pages);
    let book = fs::read_to_string(root().join("docs/book.toml")).unwrap();
    let book: toml::Value = toml::from_str(&book).unwrap();
    assert_eq!(book["book"]["src"].as_str(), Some("."));
}

/// A page begins with what it is for and ends with where to go.
#[test]
fn pages_end_with_a_next_step() {
    for (name, text) in documents() {
        let Some(page) = name.strip_prefix("docs/") else { continue };
        if page.contains('/') || page == "SUMMARY.md" || text.contains("; a test compares the two.") {
            continue;
        }
        let first = text.lines().nth(2).unwrap_or_default();
        assert!(
            text.starts_with("# ") && first.starts_with(char::is_alphabetic),
            "{name} begins with {first:?}"
        );
        let last = text.trim_end().rsplit("\n\n").next().unwrap();
        assert!(last.starts_with("Next: ") && last.contains("]("), "{name} ends with {last:?}");
    }
}

/// What a document says of the block of shell commands below: it is run as it is, run with other arguments, or not run.
#[derive(Debug, PartialEq)]
enum Use {
    Run,
    /// Texts to replace, and by what.
    RunWith(Vec<(String, String)>),
    NotRun(String),
}

#[derive(Debug)]
struct Block {
    line: usize,
    text: String,
    use_of_it: Use,
}

/// The blocks of shell commands of a document. The line above one may say how it is tested:
/// `<!-- not run: REASON -->`, or `<!-- run with: OLD => NEW; OLD => NEW -->`.
fn blocks(text: &str) -> Vec<Block> {
    let lines: Vec<&str> = text.lines().collect();
    let is_shell = |(_, line): &(usize, &&str)| **line == "```sh";
    let block = |(index, _): (usize, &&str)| {
        let above = if index == 0 { "" } else { lines[index - 1] };
        let said = above.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")).unwrap_or_default();
        let pairs = |all: &str| {
            let pair =
                |one: &str| one.split_once(" => ").map(|(old, new)| (old.trim().into(), new.trim().into()));
            all.split(';').map(|one| pair(one).unwrap_or_else(|| panic!("no OLD => NEW: {one}"))).collect()
        };
        let use_of_it = match (said.strip_prefix("not run: "), said.strip_prefix("run with: ")) {
            (Some(reason), _) => Use::NotRun(reason.to_owned()),
            (_, Some(all)) => Use::RunWith(pairs(all)),
            _ => Use::Run,
        };
        let text = lines[index + 1..].iter().take_while(|line| **line != "```");
        Block { line: index + 1, text: text.fold(String::new(), |all, line| all + line + "\n"), use_of_it }
    };
    lines.iter().enumerate().filter(is_shell).map(block).collect()
}

/// The commands of a block that are scanbox's own, with lines that go on joined.
fn own_commands(block: &str) -> Vec<String> {
    let joined = block.replace("\\\n", " ");
    joined.lines().filter(|line| line.starts_with("scanbox ")).map(str::to_owned).collect()
}

/// A folder that looks like a clone in which scanbox is installed, for commands to write into.
struct Clone {
    folder: tempfile::TempDir,
}

impl Clone {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for part in ["kernels", "configs", "scripts", "packs", "docs", "crates", "examples", "README.md"] {
            symlink(root().join(part), folder.path().join(part)).unwrap();
        }
        let results = folder.path().join("results");
        fs::create_dir(&results).unwrap();
        symlink(root().join("results/runs"), results.join("runs")).unwrap();
        for entry in fs::read_dir(root().join("results")).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, results.join(path.file_name().unwrap())).unwrap();
            }
        }
        fs::create_dir(folder.path().join("bin")).unwrap();
        Self { folder }
    }

    /// Puts what `scanbox` is on the path: the program, or a script that runs it with this argument behind the others.
    fn install(&self, argument: &str) {
        let place = self.folder.path().join("bin/scanbox");
        let program = cargo_bin("scanbox");
        fs::write(&place, format!("#!/bin/sh\nexec '{}' \"$@\" {argument}\n", program.display())).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs shell commands; what they said, where one of them failed.
    fn run(&self, driver: &Path, commands: &str) -> Result<(), String> {
        let mut path = OsString::from(self.folder.path().join("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", commands]).current_dir(self.folder.path()).env("PATH", path);
        shell.env("VK_DRIVER_FILES", driver).env("LP_NUM_THREADS", "1");
        shell.env("SLURM_JOB_END_TIME", "4102444800");
        shell.env("SCANBOX_LOCKS", self.folder.path()).env("HOME", self.folder.path());
        for name in ["VK_ICD_FILENAMES", "SCANBOX_KERNELS", "SCANBOX_KNOWN_ISSUES", "COLUMNS"] {
            shell.env_remove(name);
        }
        // One for all: what a shader compiles to does not change from page to page.
        shell.env("SCANBOX_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("documents"));
        let output = shell.output().unwrap();
        match output.status.success() {
            true => Ok(()),
            false => Err(format!(
                "{}\n{}{}",
                output.status,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            )),
        }
    }
}

/// Documents whose commands a reader types in a clone.
fn manuals() -> Vec<(String, String)> {
    let is_manual = |name: &str| {
        name == "README.md"
            || name == "kernels/README.md"
            || name == "CONTRIBUTING.md"
            || name.starts_with("docs/")
    };
    documents().into_iter().filter(|(name, _)| is_manual(name) && !name.starts_with("docs/notes/")).collect()
}

/// Every option of every command is one that the program has, whether the block can be run here or not.
#[test]
fn commands_of_documents_have_known_options() {
    let clone = Clone::new();
    clone.install("--help");
    let mut count = 0;
    for (name, text) in manuals() {
        for Block { line, text, use_of_it } in blocks(&text) {
            for command in own_commands(&text) {
                count += 1;
                let ended = clone.run(Path::new("/nonexistent"), &command);
                assert!(ended.is_ok(), "{name}:{line}: {command}: {}", ended.unwrap_err());
            }
            match use_of_it {
                Use::NotRun(reason) => assert!(reason.len() > 10, "{name}:{line}: {reason}"),
                Use::RunWith(pairs) => {
                    for (old, _) in pairs {
                        assert!(text.contains(&old), "{name}:{line}: the block has no {old:?}");
                    }
                }
                Use::Run => {}
            }
        }
    }
    assert!(count > 40, "only {count} commands were found");
}

/// Blocks of shell commands run on the software device, one behind the other in a folder for each document, but for
/// those that say why they cannot.
#[test]
fn commands_of_documents_work() {
    let Some(Machine::With(driver)) = Machine::lavapipe() else { return };
    let mut run = 0;
    for (name, text) in manuals() {
        let clone = Clone::new();
        clone.install("");
        for Block { line, text, use_of_it } in blocks(&text) {
            let commands = match use_of_it {
                Use::NotRun(_) => continue,
                Use::Run => text,
                Use::RunWith(pairs) => pairs.iter().fold(text, |text, (old, new)| text.replace(old, new)),
            };
            run += 1;
            let ended = clone.run(&driver, &commands);
            assert!(ended.is_ok(), "{name}:{line}:\n{commands}\n{}", ended.unwrap_err());
        }
    }
    assert!(run > 10, "only {run} blocks were run");
}

/// `--help` of every script says how it is called, at once, and does nothing else.
#[test]
fn scripts_have_help() {
    let mut count = 0;
    let mut folders = vec![root().join("scripts")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let runs = fs::metadata(&path).unwrap().permissions().mode() & 0o111 != 0;
            let is_script = runs && fs::read(&path).unwrap().starts_with(b"#!");
            // What Slurm runs passes its arguments on.
            if !is_script || path.extension().is_some_and(|ending| ending == "sbatch") {
                continue;
            }
            count += 1;
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let folder = tempfile::tempdir().unwrap();
            for flag in ["--help", "-h"] {
                let mut command = Command::new(&path);
                // Where nothing can be built.
                command.arg(flag).current_dir(folder.path()).env("CARGO", "/bin/false");
                let output = command.env("CARGO_TARGET_DIR", folder.path()).output().unwrap();
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(output.status.success() && said.contains(&name), "{name} {flag}: {output:?}");
                assert!(said.lines().count() >= 3, "{name} {flag}: {said}");
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{name}");
        }
    }
    assert!(count > 15, "only {count} scripts were found");
}

#[test]
fn blocks_say_how_they_are_tested() {
    let text = "```sh\na\n```\n<!-- not run: b -->\n```sh\nscanbox c \\\n  d\nscanbox e\n```\n<!-- run with: f => g; h => -->\n```sh\nf\n```\n```c\ni\n```\n";
    let found = blocks(&text.replace("=> -->", "=>  -->"));
    assert_eq!(found.len(), 3);
    assert_eq!((&found[0].use_of_it, found[0].text.as_str()), (&Use::Run, "a\n"));
    assert_eq!(found[1].use_of_it, Use::NotRun("b".into()));
    assert_eq!(own_commands(&found[1].text), ["scanbox c    d", "scanbox e"]);
    assert_eq!(found[2].use_of_it, Use::RunWith(vec![("f".into(), "g".into()), ("h".into(), String::new())]));
    let clone = Clone::new();
    clone.install("--help");
    for wrong in ["scanbox sweep --no-such-option", "scanbox sweeep", "scanbox sweep --sizes many", "false"] {
        assert!(clone.run(&PathBuf::from("/nonexistent"), wrong).is_err(), "{wrong}");
    }
}
