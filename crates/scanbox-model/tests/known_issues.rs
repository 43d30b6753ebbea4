//! Known issues: which devices they are about, what they do to configs, and what a wrong file gets for an answer.

use scanbox_model::api::Api;
use scanbox_model::config::{Config, Reset, TileState};
use scanbox_model::device::{DeviceProfile, Forced};
use scanbox_model::known_issues::{DeviceIssues, Expectation, KnownIssues, Version};
use scanbox_model::record::{Record, Status};
use scanbox_testing::device::example as device;

const BUILT_IN: &str = include_str!("../../../configs/known_issues.toml");

const LAVAPIPE: &str = "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)";

/// An issue that matches by `matches` and does what `action` says.
fn issue(id: &str, matches: &str, action: &str) -> String {
    format!("[[issue]]\nid = \"{id}\"\nmatch = {matches}\nwhy = \"it is slow\"\nseen = \"2026\"\n{action}\n")
}

fn read(text: &str) -> KnownIssues {
    KnownIssues::from_toml(text, "known.toml").unwrap()
}

fn unset(_: &str) -> Option<String> {
    None
}

/// The issues of the example device with these actions, one issue each.
fn issues(actions: &[&str]) -> DeviceIssues {
    let issue =
        |(index, action): (usize, &&str)| issue(&format!("issue-{index}"), "{ vendor_id = 1 }", action);
    let text: String = actions.iter().enumerate().map(issue).collect();
    read(&text).on(&device("Example", 1, "Example 1.0"), unset)
}

fn config(label: &str) -> Config {
    label.parse().unwrap()
}

#[test]
fn an_issue_matches_what_it_gives_and_all_of_it() {
    let lavapipe = device("llvmpipe (LLVM 15.0.6, 256 bits)", 0x10005, LAVAPIPE);
    let nvidia = device("NVIDIA H200", 0x10DE, "NVIDIA 580.159.04");
    let check = |matches: &str, device: &DeviceProfile, expected: bool| {
        let found = read(&issue("example", matches, "force.reset = \"fill\"")).on(device, unset);
        assert_eq!(found.active.len(), usize::from(expected), "{matches} on {}", device.driver);
    };
    check("{ vendor_id = 0x10005 }", &lavapipe, true);
    check("{ vendor_id = 0x10005 }", &nvidia, false);
    check("{ device = \"LLVMpipe\" }", &lavapipe, true);
    check("{ device = \"llvmpipe\", vendor_id = 1 }", &lavapipe, false);
    let by_webgpu = DeviceProfile { api: Api::WebGpu, ..nvidia.clone() };
    check("{ api = \"webgpu\" }", &by_webgpu, true);
    check("{ api = \"webgpu\" }", &nvidia, false);
    check("{ api = \"vulkan\", vendor_id = 0x10de }", &by_webgpu, false);
    check("{ driver = \"mesa\" }", &lavapipe, true);
    check("{ driver = \"mesa\", device = \"H200\" }", &nvidia, false);
    let version = |range: &str| format!("{{ driver_version = {range} }}");
    check(&version(r#"{ from = "22.3" }"#), &lavapipe, true);
    check(&version(r#"{ from = "22.3", before = "22.3.6" }"#), &lavapipe, false);
    check(&version(r#"{ from = "22.3.6", before = "22.3.7" }"#), &lavapipe, true);
    check(&version(r#"{ before = "22.10" }"#), &lavapipe, true);
    check(&version(r#"{ from = "580", before = "581" }"#), &nvidia, true);
    check(&version(r#"{ from = "580.159.5" }"#), &nvidia, false);
    check(&version(r#"{ from = "0" }"#), &device("x", 1, "a driver without a version"), false);
    check(&version(r#"{ from = "5" }"#), &device("x", 1, "SwiftShader driver 5.0.0"), true);
    check(
        &version(r#"{ from = "23.1", before = "23.1.1" }"#),
        &device("x", 1, "radv Mesa 23.1.0-devel (git)"),
        true,
    );
}

#[test]
fn versions_compare_number_by_number() {
    let version = |text: &str| Version::try_from(text.to_owned()).unwrap();
    assert_eq!(version("22.3"), version("22.3.0"));
    assert!(version("22.3.6") < version("22.10") && version("22") < version("22.0.1"));
    for text in ["", "22.", "v22", "22.3-rc1", "99999999999"] {
        assert!(Version::try_from(text.to_owned()).is_err(), "{text}");
    }
}

#[test]
fn a_skipped_config_names_the_issue() {
    let issues =
        issues(&[r#"skip = "lookback=parallel,workgroup_size=512|1024""#, r#"skip = "tile_state=word64""#]);
    let allow = |label: &str, ran: &str| {
        issues.allow(&config(label), &config(ran)).map_err(|rejection| rejection.to_string())
    };
    let packed = "b1.vec4.seq.rake.packed.fill.wg512.g16";
    assert_eq!(allow("b1.vec4.seq.rake.wg512.g16", packed), Ok(()));
    assert_eq!(
        allow("b1.vec4.par.rake.wg512.g16", "b1.vec4.par.rake.packed.fill.wg512.g16"),
        Err("it is slow [known-issue:issue-0]".to_owned())
    );
    // `auto` counts as what it stands for on the device, and as itself.
    assert_eq!(
        allow("b1.vec4.seq.rake.wg512.g16", "b1.vec4.seq.rake.word64.epoch.wg512.g16"),
        Err("it is slow [known-issue:issue-1]".to_owned())
    );
}

#[test]
fn the_first_issue_decides_what_auto_stands_for() {
    let forced = |actions: &[&str]| issues(actions).forced();
    assert_eq!(forced(&[]), Forced::default());
    assert_eq!(
        forced(&[r#"force = { reset = "fill" }"#, r#"force = { reset = "epoch", tile_state = "packed" }"#]),
        Forced { reset: Some(Reset::Fill), tile_state: Some(TileState::Packed), ..Forced::default() }
    );
    assert_eq!(
        forced(&["force = { maximal_reconvergence = false }"]),
        Forced { maximal_reconvergence: Some(false), ..Forced::default() }
    );
}

#[test]
fn expected_failures_name_the_issue_and_passes_are_told() {
    let check = |actions: &[&str], label: &str, status: Status, reason: &str, passed: usize| {
        let issues = issues(actions);
        let mut record =
            Record { config_id: label.into(), status, reason: "it hangs".into(), ..Record::default() };
        record.parameters.tile_state = Some(TileState::Packed);
        assert_eq!(issues.passed([&record]).len(), passed, "{label} {status}");
        issues.explain(&mut record);
        assert_eq!((record.status, record.reason.as_str()), (status, reason), "{label} {status}");
    };
    let timeouts = r#"expect = { status = ["timeout", "device_lost"], filter = "lookback=parallel" }"#;
    let sporadic = r#"expect = { status = ["timeout"], sporadic = true }"#;
    let by_what_ran = r#"expect = { status = ["timeout"], filter = "tile_state=packed" }"#;
    let (parallel, sequential) = ("b1.vec4.par.rake.wg64.g16", "b1.vec4.seq.rake.wg64.g16");
    check(&[timeouts], parallel, Status::Timeout, "it hangs; known issue issue-0", 0);
    check(&[timeouts], parallel, Status::WrongResult, "it hangs", 0);
    check(&[timeouts], sequential, Status::Timeout, "it hangs", 0);
    check(&[timeouts], parallel, Status::Ok, "it hangs", 1);
    check(&[timeouts], sequential, Status::Ok, "it hangs", 0);
    check(&[sporadic], sequential, Status::Timeout, "it hangs; known issue issue-0", 0);
    check(&[sporadic], sequential, Status::Ok, "it hangs", 0);
    check(&[sporadic, timeouts], parallel, Status::DeviceLost, "it hangs; known issue issue-1", 0);
    check(&[by_what_ran], sequential, Status::Timeout, "it hangs; known issue issue-0", 0);
    // Rows of other implementations have no config.
    check(&[sporadic], "cub", Status::Timeout, "it hangs", 0);
}

#[test]
fn the_environment_remedies_an_issue_unless_the_user_says_otherwise() {
    let known = read(BUILT_IN);
    let lavapipe = device("llvmpipe (LLVM 15.0.6, 256 bits)", 0x10005, LAVAPIPE);
    let set = |value: &'static str| move |_: &str| Some(value.to_owned());
    let label = config("b1.vec4.par.rake.wg64.g16");

    assert_eq!(known.environment(unset).into_iter().collect::<Vec<_>>(), [("LP_NUM_THREADS", "1")]);
    assert!(known.environment(set("2")).is_empty(), "what the user has set stays");

    let remedied = known.on(&lavapipe, unset);
    assert_eq!((remedied.active.len(), remedied.remedied.len()), (0, 1));
    assert_eq!(known.on(&lavapipe, set("1")), remedied);
    assert_eq!(remedied.judge(&label, &label, Status::WrongResult), Expectation::None);

    let active = known.on(&lavapipe, set("2"));
    assert!(matches!(active.judge(&label, &label, Status::WrongResult), Expectation::Failed(_)));
    assert_eq!(active.judge(&label, &label, Status::Ok), Expectation::None);
    assert_eq!(known.on(&device("Example", 1, "Example 1.0"), unset), DeviceIssues::default());
}

#[test]
fn the_first_value_of_a_variable_counts() {
    let text = issue("one", "{ vendor_id = 1 }", "environment = { A = \"1\" }")
        + &issue("two", "{ vendor_id = 1 }", "environment = { A = \"2\" }");
    let known = read(&text);
    assert_eq!(known.environment(unset).into_iter().collect::<Vec<_>>(), [("A", "1")]);
    let found = known.on(&device("Example", 1, "Example 1.0"), unset);
    assert_eq!((found.remedied[0].id.as_str(), found.active[0].id.as_str()), ("one", "two"));
}

#[test]
fn a_wrong_file_gets_an_answer() {
    let check = |text: &str, parts: &[&str]| {
        let error = KnownIssues::from_toml(text, "known.toml").unwrap_err().to_string();
        for part in ["known.toml"].iter().chain(parts) {
            assert!(error.contains(part), "no `{part}` in:\n{error}");
        }
    };
    let matches = "{ vendor_id = 1 }";
    let example = |action: &str| issue("example", matches, action);
    check(&example("forces = 1"), &["line 6", "unknown field `forces`"]);
    check("[[issues]]", &["line 1", "unknown field `issues`"]);
    check(&issue("example", "{ vendor = 1 }", ""), &["line 3", "unknown field `vendor`"]);
    check(&example("skip = \"lookback=none=\"\nexpect = 1"), &["line 7"]);
    check(&example("skip = \"speed=1\""), &["line 6", "there is no parameter `speed`"]);
    check(&example("force = { tile_state = \"fast\" }"), &["line 6", "fast"]);
    check(&example("force = { block_scan = \"raking\" }"), &["line 6", "block_scan"]);
    check(&example("expect = { status = [\"fine\"] }"), &["line 6", "fine"]);
    check(&example("match.driver_version = { from = \"v1\" }"), &["line 6"]);
    check(
        &issue("example", r#"{ driver_version = { from = "v1" } }"#, ""),
        &["line 3", "`v1` is not a version"],
    );
    check("[[issue]]\nid = \"example\"", &["line 1", "missing field"]);

    let value = |action: &str, key: &str, reason: &str| {
        check(&example(action), &["issue 1 (`example`)", key, reason]);
    };
    value("", "id", "nothing is done about it");
    value("force = {}", "id", "nothing is done about it");
    value("force = { reset = \"auto\" }", "force", "`auto` is what is replaced");
    value("force = { reset = \"turn\" }", "force", "of pushed arguments alone");
    value("force = { maximal_reconvergence = true }", "force", "wherever a device has it");
    value("skip = \"arguments=auto\"", "skip", "name those that it stands for");
    value("expect = { status = [] }", "expect", "empty");
    value("expect = { status = [\"ok\"] }", "expect", "`ok` is not a failure");
    value("environment = { \"A=\" = \"1\" }", "environment", "no `=`");
    let force = "force = { reset = \"fill\" }";
    check(&issue("example", "{}", force), &["`match`", "every device"]);
    check(&issue("example", "{ driver_version = {} }", force), &["`match`", "`from`, `before` or both"]);
    check(&issue("An example", matches, force), &["`id`", "a word of lower-case letters"]);
    check(&(example(force) + &example(force)), &["issue 2", "another issue has it"]);
    check(&example(force).replace("2026", " "), &["`seen`", "empty"]);
    check(&example(force).replace("it is slow", ""), &["`why`", "empty"]);
}
