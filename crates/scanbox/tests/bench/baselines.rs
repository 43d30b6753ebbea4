//! Baselines that answer badly, or not at all: what that costs, and whom.

use super::*;

#[test]
fn a_baseline_that_comes_back_has_the_same_subjects() {
    let place = Place::new("");
    let once = "*'\"do\":\"verify\"'*) if [ ! -e was-here ]; then touch was-here; exit 3; fi; \
                echo \"{\\\"compared\\\":$(number n),\\\"mismatches\\\":0,\\\"first\\\":null}\" ;;";
    whole_baseline(&place, "fake", once);
    let args = [CONFIG, "--sizes", "4096,8192", "--rounds", "1", "--baseline", "./fake"];
    bench(&place, &[&args[..], &["--baseline-subjects", "fake-scan"]].concat(), 0);
    let rows = rows(&place);
    assert_eq!(status_of(&rows, "fake-scan", 4096), [Status::RuntimeError].into());
    assert_eq!(status_of(&rows, "fake-scan", 8192), [Status::Ok].into(), "{rows:?}");
    assert!(rows.iter().all(|row| row.config_id != "fake-copy"));
}

#[test]
fn what_a_baseline_finds_in_its_twin_is_its_own() {
    fn check(reply: &str, status: Status, reason: &str, code: i32) {
        let place = Place::new("");
        whole_baseline(
            &place,
            "fake",
            &format!("*'\"do\":\"twin\",\"subject\":\"fake-scan\"'*) echo '{reply}' ;;"),
        );
        bench(&place, &[CONFIG, "--sizes", "4096", "--rounds", "2", "--baseline", "./fake"], code);
        let rows = rows(&place);
        let scan = rows.iter().find(|row| row.config_id == "fake-scan").unwrap();
        assert!(scan.status == status && scan.reason.contains(reason), "{scan:#?}");
        let others = rows.iter().filter(|row| row.config_id != "fake-scan");
        assert!(others.clone().all(|row| row.status == Status::Ok), "{:#?}", others.collect::<Vec<_>>());
    }
    let wrong = "{\"compared\":12288,\"mismatches\":7,\"first\":null}";
    check(wrong, Status::WrongResult, "right when called once, wrong within", 5);
    check("{\"compared\":12,\"mismatches\":0}", Status::RuntimeError, "only 12 of", 1);
    let missed = "{\"error\":\"a single sample could not be enqueued before its gate opened, 5 times\"}";
    check(missed, Status::RuntimeError, "before its gate opened", 1);
}

/// A baseline of which something is ok, and something is not.
fn check_one_size(arms: &str) {
    let place = Place::new("");
    baseline(&place, "fake", arms);
    let args = [CONFIG, "--sizes", "4096,8192", "--baseline", "./fake", "--timeout", "2s", "--rounds", "2"];
    let ended = bench(&place, &args, 0);
    assert!(!ended.stderr.contains("error: no scan"), "{}", ended.stderr);
    let rows = rows(&place);
    assert_eq!(status_of(&rows, "fake-scan", 4096), [Status::Ok].into());
    assert_eq!(status_of(&rows, "fake-scan", 8192), [Status::RuntimeError].into());
}

#[test]
fn a_bad_baseline_costs_its_own_rows() {
    fn check(arms: &str, status: Status, reason: &str, code: i32) {
        let place = Place::new("");
        baseline(&place, "fake", arms);
        let args =
            [CONFIG, "--sizes", "4096,8192", "--baseline", "./fake", "--timeout", "2s", "--rounds", "2"];
        let ended = bench(&place, &args, code);
        let told = ended.stderr.contains("error: no scan of the baseline Fake 3.5 could be measured");
        assert_eq!(told, code != 0, "{arms}: {}", ended.stderr);
        let rows = rows(&place);
        assert_eq!(rows.len(), (1 + 2 + COPIES) * 2, "{arms}");
        let scan: Vec<&Record> = rows.iter().filter(|row| row.config_id == "fake-scan").collect();
        assert!(scan.iter().all(|row| row.status == status && row.reason.contains(reason)), "{scan:#?}");
        assert!(scan.iter().all(|row| row.steady.is_none()));
        let own = rows.iter().filter(|row| !row.selection.contains(&Selection::Baseline));
        assert!(own.clone().all(|row| row.status == Status::Ok) && own.count() == 2 * (1 + COPIES));
    }
    let on = |what: &str, then: &str| format!("*'\"do\":\"{what}\",\"subject\":\"fake-scan\"'*) {then} ;;");
    check(&on("verify", "exit 3"), Status::RuntimeError, "it ended: exit status: 3", 1);
    check(&on("time", "exit 0"), Status::RuntimeError, "it ended", 1);
    check(&on("time", "exec sleep 600"), Status::Timeout, "no answer within 2 s", 1);
    check(&on("verify", "echo '{\"error\":\"no memory left\"}'"), Status::RuntimeError, "no memory left", 1);
    check(&on("verify", "echo 'Segmentation fault'"), Status::RuntimeError, "`Segmentation fault`", 1);
    check(&on("time", "echo '{\"samples_ns\":[1.0]}'"), Status::RuntimeError, "1 durations where", 1);
    let impossible = "echo '{\"samples_ns\":[-1,-1,-1,-1,-1]}'";
    check(&on("time", impossible), Status::RuntimeError, "impossible", 1);
    for ns in ["1e300", "1e-300", "0", "3000000000"] {
        let times = format!("echo '{{\"samples_ns\":[{ns},{ns},{ns},{ns},{ns}]}}'");
        check(&on("time", &times), Status::RuntimeError, "impossible", 1);
    }
    for (says, reason) in [
        (
            "{\"compared\":8192,\"mismatches\":0,\"first\":{\"index\":3,\"expected\":1,\"got\":2}}",
            "is element 3",
        ),
        ("{\"compared\":8192,\"mismatches\":9223372036854775808}", "9223372036854775808 of 8192"),
        ("{\"compared\":8192,\"mismatches\":0,\"max_error\":0.1,\"error_bound\":1e9}", "is not rounded"),
        ("{\"error\":\"no luck\",\"status\":\"of a later version\"}", "no luck"),
    ] {
        check(&on("verify", &format!("echo '{says}'")), Status::RuntimeError, reason, 1);
    }
    let endless = |line: &str| format!("while :; do {line}; done");
    check(&on("verify", &endless("echo")), Status::Timeout, "no answer within 2 s", 1);
    let line = endless("printf '%1000s' ''");
    check(&on("verify", &line), Status::RuntimeError, "a line of more than 1048576 bytes", 1);
    // Its parent is the worker.
    let both = Status::Quarantined;
    check(&on("verify", "kill -9 $PPID; exec sleep 600"), both, "2 workers ended while they ran it", 1);
    let short = "echo '{\"compared\":12,\"mismatches\":0}'";
    check(&on("verify", short), Status::RuntimeError, "only 12 of", 1);
    // What answers at one size has answered.
    check_one_size("*'\"do\":\"time\",\"subject\":\"fake-scan\",\"n\":8192'*) exit 0 ;;");
    let wrong =
        "echo '{\"compared\":8192,\"mismatches\":3,\"first\":{\"index\":7,\"expected\":1,\"got\":2}}'";
    check(
        &on("verify", wrong),
        Status::WrongResult,
        "elements are wrong; the first is element 7: expected 1, got 2",
        5,
    );
    check("*load*) echo '{\"ok\":false}' ;;", Status::RuntimeError, "`ok` false", 1);
}

#[test]
fn names_that_no_row_can_have_are_refused() {
    fn check(instead_of: &str, greets: &str, reason: &str) {
        let place = Place::new("");
        baseline(&place, "fake", "");
        let path = place.folder().join("fake");
        let script = fs::read_to_string(&path).unwrap();
        assert!(script.contains(instead_of), "{script}");
        fs::write(&path, script.replacen(instead_of, greets, 1)).unwrap();
        let ended = bench(&place, &[CONFIG, "--sizes", "4096", "--baseline", "./fake"], 1);
        assert!(ended.stderr.contains("a --baseline cannot take part"), "{greets}: {}", ended.stderr);
        assert!(ended.stderr.contains(reason), "{greets}: {}", ended.stderr);
    }
    let scan = "\"name\":\"fake-scan\"";
    let named = |name: &str| format!("\"name\":\"{name}\"");
    check(scan, &named(""), "a subject has no name");
    check(scan, &named("fake-copy"), "two of its subjects are `fake-copy`");
    check(scan, &named("scanbox"), "scanbox's own rows");
    check(scan, &named("copy.b1.wg256"), "scanbox's own rows");
    check(scan, &named(CONFIG), "scanbox's own rows");
    check(scan, &named("a\\\\u000ab"), "names are one line");
    check(scan, &named("a\\\\u001b[31m"), "names are one line");
    check(scan, &named(&"x".repeat(201)), "names are one line of at most 200 characters");
    check("\"tool\":\"Fake\"", "\"tool\":\" \"", "its `tool` has no name");
    let all = "[{\"name\":\"fake-scan\",\"result\":\"scan\"},{\"name\":\"fake-copy\",\"result\":\"copy\"}]";
    check(all, "[]", "it has no `subjects`");
}

#[test]
fn a_baseline_that_hangs_ends_with_its_worker() {
    let place = Place::new("");
    baseline(&place, "fake", "*'\"do\":\"verify\"'*) echo $$ >pid.new; mv pid.new pid; exec sleep 600 ;;");
    let mut command =
        command(&place, &[CONFIG, "--sizes", "4096", "--baseline", "./fake", "--timeout", "300s"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = || fs::read_to_string(place.folder().join("pid")).ok()?.trim().parse::<u32>().ok();
    wait_until("a request", || pid().is_some());
    let hung = pid().unwrap();
    assert!(is_alive(hung));
    assert!(signal(child.id(), Signal::INT));
    assert_eq!(wait(child).code, Some(4));
    wait_until("the end of the baseline", || !is_alive(hung));
}

/// The part of the CUB program that needs no GPU, as its own test has it.
#[test]
fn the_protocol_of_the_cub_program_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/baselines/cub");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("protocol-test");
    let compiled = Command::new("c++")
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([&program, &root.join("protocol_test.cpp")])
        .output()
        .expect("a C++ compiler, which the build needs too");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let tested = Command::new(program).output().unwrap();
    assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stdout));
}
