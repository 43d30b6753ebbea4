//! `scanbox report` as a user runs it: pages that are well formed whatever the files say, plots, and files that are
//! whole or not there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::cargo::cargo_bin_cmd;
use roxmltree::{Document, Node, ParsingOptions};
use scanbox_model::csv_file;
use scanbox_model::record::{Record, Status, TimeStats};
use tempfile::TempDir;

use crate::readme::RUN;

const HOSTILE: &str = "</title><script>alert('x')</script>&\"<img src=x onerror=y>\u{202e}\u{1}";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn published(name: &str) -> PathBuf {
    root().join("results").join(name)
}

fn report(folder: &Path, arguments: &[&str]) -> Output {
    cargo_bin_cmd!("scanbox").current_dir(folder).arg("report").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs the command, which has to work, and returns the page.
fn page(folder: &Path, arguments: &[&str]) -> String {
    let output = report(folder, arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty(), "the page goes into a file");
    fs::read_to_string(folder.join("report.html")).unwrap()
}

/// Parses a page as XML, and checks that it needs nothing from outside and runs nothing.
fn check_page(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>"), "a browser has to take it for HTML");
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(page, options).unwrap();
    let mut ids = Vec::new();
    for node in document.descendants().filter(Node::is_element) {
        let name = node.tag_name().name();
        assert!(!["script", "link", "img", "iframe", "object", "image"].contains(&name), "{name}");
        for attribute in node.attributes() {
            assert!(!attribute.name().starts_with("on"), "{attribute:?}");
            let target = ["src", "href"].contains(&attribute.name());
            assert!(!target || attribute.value().starts_with('#'), "{attribute:?}");
        }
        ids.extend(node.attribute("id"));
    }
    let targets = document.descendants().filter_map(|node| node.attribute("href"));
    assert!(targets.map(|target| &target[1..]).all(|target| ids.contains(&target)));
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "two of one id");
    let plots: Vec<Node<'_, '_>> = document
        .descendants()
        .filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "svg")))
        .collect();
    assert!(!plots.is_empty());
    plots.into_iter().for_each(check_plot);
}

/// Every text and every line of a plot is inside of it.
fn check_plot(svg: Node<'_, '_>) {
    let number = |node: Node<'_, '_>, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    let view: Vec<f64> =
        svg.attribute("viewBox").unwrap().split(' ').map(|part| part.parse().unwrap()).collect();
    for node in svg.descendants().filter(Node::is_element) {
        // Groups do nothing but move what is in them.
        let moves = node.ancestors().filter_map(|node| node.attribute("transform"));
        let (mut left, mut top) = (0.0, 0.0);
        for place in moves.map(|text| text.trim_start_matches("translate(").trim_end_matches(')')) {
            let (x, y) = place.split_once(' ').unwrap();
            left += x.parse::<f64>().unwrap();
            top += y.parse::<f64>().unwrap();
        }
        let inside = |x: f64, y: f64| {
            let (x, y) = (left + x, top + y);
            let is_inside = (-1.0..=view[2] + 1.0).contains(&x) && (-1.0..=view[3] + 1.0).contains(&y);
            assert!(is_inside, "{x} {y} of {view:?}: {:?} {node:?}", node.text());
        };
        match node.tag_name().name() {
            "text" => {
                let (x, y) = (number(node, "x"), number(node, "y"));
                // No letter of a digit's width is left out, and few are wider.
                let width = 6.0 * node.text().unwrap_or_default().chars().count() as f64;
                let begin = match node.attribute("text-anchor") {
                    None => x,
                    Some("middle") => x - width / 2.0,
                    Some(_) => x - width,
                };
                inside(begin.max(x - width), y);
                inside(begin + width, y - 8.0);
            }
            "rect" => {
                let at = |name: &str| node.attribute(name).map_or(0.0, |value| value.parse().unwrap());
                inside(at("x"), at("y"));
                inside(at("x") + at("width"), at("y") + at("height"));
            }
            "path" => {
                let path = node.attribute("d").unwrap();
                for point in path.split(['M', 'L']).filter(|point| !point.is_empty()) {
                    let (x, y) = point.trim_end_matches("h.01").split_once(' ').unwrap();
                    inside(x.parse().unwrap(), y.parse().unwrap());
                }
            }
            _ => {}
        }
    }
}

/// Writes records, changed, as `name` in a folder.
fn write(folder: &Path, name: &str, records: &[Record]) {
    csv_file::write(File::create(folder.join(name)).unwrap(), true, records).unwrap();
}

/// The published rows of a few sizes.
fn rows() -> Vec<Record> {
    let records = csv_file::read(&published("published.nvidia-h200.thesis.csv")).unwrap().records;
    records.into_iter().filter(|record| (1 << 18..=1 << 22).contains(&record.n_elements)).collect()
}

#[test]
fn the_published_files() {
    let folder = TempDir::new().unwrap();
    let [thesis, full] = ["published.nvidia-h200.thesis.csv", "published.nvidia-h200.full.csv"]
        .map(|name| published(name).display().to_string());
    let bench = root().join(RUN).join("bench.csv").display().to_string();
    let all = page(folder.path(), &[&full, &bench, "--peak-gbps", "4800", "--plots", "plots"]);
    check_page(&all);
    for said in [
        "Throughput of NVIDIA H200",
        "Launch this config in this range",
        "Ideal configuration set",
        "cub-scan (CUB 3.0.1)",
        "times as fast as CUB; not slower at any of 20 sizes",
        "4231</strong> GB/s",
        "given bandwidth",
        "Worth shipping",
    ] {
        assert!(all.contains(said), "{said}");
    }
    assert!(all.contains("scanbox verify pers."), "the failures have their command");
    assert!(all.len() < 1_000_000, "{} bytes", all.len());
    check_plots(&folder.path().join("plots"));

    let two = page(folder.path(), &[&thesis, &full, "--runs", "all", "--portfolio", "2"]);
    check_page(&two);
}

/// Ten devices of a whole sweep each fit into a page that can be sent by mail.
#[test]
fn ten_devices_are_small() {
    let folder = TempDir::new().unwrap();
    let all = csv_file::read(&published("published.nvidia-h200.thesis.csv")).unwrap().records;
    assert!(all.len() >= 3600);
    let file = |number: usize| {
        let mut records = all.clone();
        for (index, record) in records.iter_mut().enumerate() {
            record.device = format!("GPU of model {number}");
            record.device_uuid = format!("uuid {number}");
            let slower = |ns: u64| ns + ns * (number * (1 + index % (number + 2))) as u64 / 16;
            record.steady = record.steady.map(|time| TimeStats {
                median_ns: slower(time.median_ns),
                q1_ns: slower(time.q1_ns),
                q3_ns: slower(time.q3_ns),
                ..time
            });
        }
        let name = format!("{number}.csv");
        write(folder.path(), &name, &records);
        name
    };
    let files: Vec<String> = (0..10).map(file).collect();
    let page = page(folder.path(), &files.iter().map(String::as_str).collect::<Vec<_>>());
    check_page(&page);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert_eq!(page.matches("class=\"card\"").count(), 10, "one card per device");
}

/// What has a heading, a name, or a text instead, for people who do not see the page.
#[test]
fn every_part_has_a_name() {
    let folder = TempDir::new().unwrap();
    let page = page(folder.path(), &[&published("published.nvidia-h200.thesis.csv").display().to_string()]);
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    let document = Document::parse_with_options(&page, options).unwrap();
    let name = |node: &Node<'_, '_>| node.tag_name().name().to_owned();
    let elements = || document.descendants().filter(Node::is_element);
    let mut level = 0;
    for node in elements() {
        match name(&node).as_str() {
            heading @ ("h1" | "h2" | "h3") => {
                let own = heading[1..].parse::<u32>().unwrap();
                assert!(own <= level + 1, "{heading} follows a heading of level {level}");
                level = own;
            }
            "svg" => assert!(node.attribute("aria-label").is_some_and(|label| label.len() > 10)),
            "table" => {
                assert!(node.children().any(|child| name(&child) == "caption"));
                let heads: Vec<_> = node.descendants().filter(|node| name(node) == "th").collect();
                assert!(heads.iter().all(|head| head.attribute("scope").is_some()) && heads.len() > 2);
            }
            _ => {}
        }
    }
    let first = elements().find(|node| name(node) == "a").unwrap();
    assert_eq!((first.attribute("class"), first.attribute("href")), (Some("skip"), Some("#results")));
}

#[test]
fn pictures_for_papers_come_as_pdf_too() {
    let folder = TempDir::new().unwrap();
    write(folder.path(), "rows.csv", &rows());
    page(folder.path(), &["rows.csv", "--plots", "plots", "--style", "paper"]);
    let mut count = 0;
    for entry in fs::read_dir(folder.path().join("plots")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "svg") {
            let svg = fs::read_to_string(&path).unwrap();
            check_plot(Document::parse(&svg).unwrap().root_element());
            assert!(svg.contains("mm\"") && !svg.contains("prefers-color-scheme"), "{}", path.display());
            let pdf = fs::read(path.with_extension("pdf")).unwrap();
            assert!(pdf.starts_with(b"%PDF-") && pdf.len() > 2000, "{}", path.display());
            count += 1;
        }
    }
    assert!(count >= 5);
    // The same again replaces what is there.
    page(folder.path(), &["rows.csv", "--plots", "plots", "--style", "paper"]);
    fs::write(folder.path().join("plots/devices.pdf"), "%PDF-1.7 of somebody else").unwrap();
    let refused = report(folder.path(), &["rows.csv", "--plots", "plots", "--style", "paper"]);
    assert!(!refused.status.success() && text(&refused.stderr).contains("devices.pdf"));
    assert_eq!(report(folder.path(), &["rows.csv", "--style", "paper"]).status.code(), Some(2));
}

/// The picture that README.md and docs/benchmark.md show (scripts/report makes it again).
#[test]
fn the_published_picture() {
    let folder = TempDir::new().unwrap();
    let run = root().join(RUN);
    let mut command = cargo_bin_cmd!("scanbox");
    command.arg("bench").arg("--show").arg(run.join("bench.csv")).args(["--plot", "bench.svg"]);
    command.current_dir(folder.path()).assert().success();
    let drawn = fs::read_to_string(folder.path().join("bench.svg")).unwrap();
    let published = fs::read_to_string(run.join("bench.svg")).unwrap();
    assert_eq!(drawn, published, "scripts/report makes it again");
    let document = Document::parse(&drawn).unwrap();
    check_plot(document.root_element());
    let svg = "http://www.w3.org/2000/svg";
    let texts: Vec<&str> = document
        .descendants()
        .filter(|node| node.has_tag_name((svg, "text")))
        .filter_map(|node| node.text())
        .collect();
    for name in ["scanbox", "same contract", "CUB", "copy", "2¹⁰", "10000"] {
        assert!(texts.contains(&name), "no {name} in {texts:?}");
    }
    let lines = document
        .descendants()
        .filter_map(|node| node.attribute("class"))
        .filter(|class| class.starts_with("l "));
    let colours: std::collections::BTreeSet<&str> =
        lines.filter_map(|class| class.split(' ').nth(1)).collect();
    assert_eq!(colours.len(), 3, "scanbox, CUB and the copy");
    assert!(drawn.contains("prefers-color-scheme:dark"));
}

#[test]
fn the_published_reports() {
    let mut count = 0;
    for entry in fs::read_dir(published("report")).unwrap() {
        let page = fs::read_to_string(entry.unwrap().path()).unwrap();
        check_page(&page);
        assert!(page.len() < 1_000_000);
        count += 1;
    }
    assert!(count > 1);
}

/// Each plot has an SVG that is one and a CSV that says something.
fn check_plots(folder: &Path) {
    let names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for kind in ["throughput", "loss", "relative", "parameters", "density", "portfolio"] {
        for ending in ["svg", "csv"] {
            let name = format!("nvidia-h200.{kind}.{ending}");
            assert!(names.contains(&name), "{name} of {names:?}");
        }
    }
    for name in &names {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        if name.ends_with(".svg") {
            check_plot(Document::parse(&text).unwrap().root_element());
        } else {
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            assert!(reader.records().map(Result::unwrap).count() > 0, "{name}");
        }
    }
}

/// Three devices: the published rows, the same rows slower by config, and a third without two of the sizes.
fn three_devices(folder: &Path) -> Vec<String> {
    let names = ["One", "Two", "Three"];
    for (number, name) in names.iter().enumerate() {
        let mut records = rows();
        records.retain(|record| number < 2 || record.n_elements >= 1 << 20);
        for (index, record) in records.iter_mut().enumerate() {
            record.device = format!("GPU {name}");
            record.device_uuid = format!("uuid {name}");
            let slower = |ns: u64| ns + ns * (index * number % 17) as u64 / 20;
            record.steady = record.steady.map(|time| TimeStats {
                median_ns: slower(time.median_ns),
                q1_ns: slower(time.q1_ns),
                q3_ns: slower(time.q3_ns),
                ..time
            });
            if number == 1 && index % 50 == 0 {
                record.status = Status::Timeout;
                record.reason = "it took longer than 5 s".into();
            }
            if number == 2 {
                record.kernel_hash = "another".into();
            }
        }
        write(folder, &format!("{name}.csv"), &records);
    }
    names.map(|name| format!("{name}.csv")).into()
}

#[test]
fn several_devices() {
    let folder = TempDir::new().unwrap();
    let files = three_devices(folder.path());
    let arguments: Vec<&str> = files.iter().map(String::as_str).chain(["--plots", "plots"]).collect();
    let page = page(folder.path(), &arguments);
    check_page(&page);
    let again = self::page(folder.path(), &arguments);
    assert_eq!(page, again, "nothing in the page depends on when it was made");
    let twice: Vec<&str> = arguments.iter().copied().chain([arguments[0], arguments[1]]).collect();
    let twice = self::page(folder.path(), &twice);
    let failures = |page: &str| {
        page.split("attempts of a config").next().unwrap().rsplit('>').next().unwrap().to_owned()
    };
    assert_eq!(failures(&page), failures(&twice), "a file that is named twice is read once");
    let said = [
        "Across 3 devices",
        "Portability cascade",
        "Transfer: rows on columns",
        "set of GPU Two",
        "shared configs by squared",
        "They differ in: kernel sources.",
        "it took longer than 5 s",
        "--device &#39;GPU Two&#39; --sizes",
    ];
    for said in said {
        assert!(page.contains(said), "{said}");
    }
    for name in ["across.cascade", "across.transfer", "across.portable", "gpu-one.shared", "gpu-two.transfer"]
    {
        assert!(folder.path().join(format!("plots/{name}.svg")).exists(), "{name}");
    }
}

#[test]
fn what_files_say_is_text() {
    let folder = TempDir::new().unwrap();
    let mut records = rows();
    let count = records.len();
    for (index, record) in records.iter_mut().enumerate() {
        record.device = HOSTILE.into();
        record.driver = HOSTILE.into();
        if index % (count / 3) == 0 {
            record.status = Status::RuntimeError;
            record.reason = format!("{HOSTILE} '; rm -rf /");
        }
    }
    let mut baseline = records[1].clone();
    baseline.subject = HOSTILE.into();
    baseline.subject_version = HOSTILE.into();
    baseline.cache = Some(scanbox_model::record::Cache::Hot);
    baseline.selection = vec![scanbox_model::record::Selection::Baseline];
    records.push(baseline);
    write(folder.path(), "a'<b>.csv", &records);
    let page = page(folder.path(), &["a'<b>.csv", "--title", HOSTILE, "--plots", "plots"]);
    check_page(&page);
    assert!(!page.contains("<script") && !page.contains("<img"));
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1}'));
    for entry in fs::read_dir(folder.path().join("plots")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "svg") {
            Document::parse(&fs::read_to_string(path).unwrap()).unwrap();
        }
    }
}

#[test]
fn files_with_little_in_them() {
    let folder = TempDir::new().unwrap();
    let check = |records: &[Record], arguments: &[&str]| {
        write(folder.path(), "little.csv", records);
        let arguments: Vec<&str> = ["little.csv"].iter().chain(arguments).copied().collect();
        check_page(&page(folder.path(), &arguments));
    };
    let all = rows();
    let at =
        |n: u64| -> Vec<Record> { all.iter().filter(|record| record.n_elements == n).cloned().collect() };
    check(&at(1 << 20), &[]);
    check(&at(1 << 20)[..1], &["--peak-gbps", "5000"]);
    // A size that is no power of two, and one config at each of two sizes.
    let odd = |record| Record { n_elements: (1 << 20) - 5, bytes_moved: 8 * ((1 << 20) - 5), ..record };
    let odd: Vec<Record> = at(1 << 20).into_iter().map(odd).collect();
    check(&odd, &[]);
    check(&[at(1 << 20)[0].clone(), at(1 << 21)[0].clone()], &["--metric", "chebyshev", "--time", "span"]);
    // One device has nothing that is ok.
    let failed = at(1 << 20).into_iter().map(|record| Record {
        device: "Broken".into(),
        status: Status::WrongResult,
        reason: "element 7 is 8, not 9".into(),
        ..record
    });
    check(&failed.chain(at(1 << 21)).collect::<Vec<_>>(), &[]);
}

#[test]
fn what_cannot_be_done_leaves_no_file() {
    let folder = TempDir::new().unwrap();
    let failed: Vec<Record> =
        rows().into_iter().map(|record| Record { status: Status::Timeout, ..record }).collect();
    write(folder.path(), "failed.csv", &failed);
    write(folder.path(), "good.csv", &rows());
    let check = |arguments: &[&str], code: i32, said: &str| {
        let before = names(folder.path());
        let output = report(folder.path(), arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{error}");
        assert!(error.contains(said), "{error}");
        assert_eq!(names(folder.path()), before, "{arguments:?}");
    };
    check(&["failed.csv"], 1, "no row of a sweep is ok");
    check(&["nowhere.csv"], 1, "nowhere.csv");
    check(&[], 2, "FILES");
    check(&["good.csv", "-o", "no/such/folder/report.html"], 1, "no/such/folder/report.html");
    fs::create_dir(folder.path().join("taken")).unwrap();
    check(&["good.csv", "-o", "taken"], 1, "taken");
    check(&["good.csv", "--peak-gbps", "0"], 2, "--peak-gbps");
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

#[test]
fn a_file_that_is_there_is_replaced_as_a_whole() {
    use std::os::unix::fs::MetadataExt;
    let folder = TempDir::new().unwrap();
    write(folder.path(), "good.csv", &rows());
    let path = folder.path().join("report.html");
    let before = "<!DOCTYPE html>\n<meta name=\"generator\" content=\"scanbox 0\"/>old";
    fs::write(&path, before).unwrap();
    // Somebody reads the old one: a file that is renamed over it is another file.
    let old = File::open(&path).unwrap();
    check_page(&page(folder.path(), &["good.csv"]));
    assert_eq!(std::io::read_to_string(&old).unwrap(), before);
    assert_ne!(old.metadata().unwrap().ino(), fs::metadata(&path).unwrap().ino());
    assert_eq!(names(folder.path()).len(), 2);
}
