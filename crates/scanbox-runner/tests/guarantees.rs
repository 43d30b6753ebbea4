//! Probes of guarantees on the replay device, whose script says what they find.

use scanbox_model::guarantee_probe::{GuaranteesProbe, ProbeVerdict};
use scanbox_model::parameters::Parameter;
use scanbox_model::safe_devices::Guarantee;
use scanbox_runner::guarantees::{AskEvent, find};
use scanbox_runner::replay::{Replay, Script};

fn found(script: &str) -> GuaranteesProbe {
    let mut replay = Replay::new(toml::from_str::<Script>(script).unwrap());
    // As few as most devices have in a row.
    replay.profile_mut().max_workgroup_count[0] = 65_535;
    let mut probe = GuaranteesProbe::default();
    for &guarantee in Guarantee::VALUES {
        let found = find(&mut replay, guarantee, &mut |_| {}).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(found.is_whole, "{found:?}");
        probe.take(found.finding, found.residents);
    }
    probe
}

#[test]
fn each_guarantee_is_refuted_by_what_refutes_it() {
    use Guarantee::{CoResidency, Progress, SubgroupProgress, WorkgroupOrder};
    let of = [
        (Progress, "progress", "ticket 7 waited 500 ms without success for ticket 6, which had started"),
        (WorkgroupOrder, "order", "a workgroup began before 32768 with lower numbers"),
        (WorkgroupOrder, "order_of_rows", "workgroup 32 waited 500 ms without success for workgroup 31"),
        (WorkgroupOrder, "order_of_waits", "workgroup 2 waited 500 ms without success for workgroup 1"),
        (SubgroupProgress, "subgroups", "subgroup 1 waited 500 ms without success for subgroup 0"),
        (
            CoResidency,
            "together",
            "as many as were there at the same time before, waited 500 ms for each other without success",
        ),
    ];
    for (refuted, key, told) in of {
        let probe = found(&format!("[probe]\ninvocations = 4096\n{key} = false\n"));
        assert!(probe.is_sound(), "{probe:?}");
        for finding in &probe.findings {
            let expected =
                if finding.guarantee == refuted { ProbeVerdict::Refuted } else { ProbeVerdict::NotRefuted };
            assert_eq!(finding.verdict, expected, "{key}: {finding:?}");
            assert_eq!(finding.detail.contains(told), finding.guarantee == refuted, "{key}: {finding:?}");
        }
        assert_eq!(probe.residents.is_empty(), refuted == CoResidency, "{key}");
    }
}

/// A driver that tells registers: builds hit those that are looked for.
#[test]
fn shapes_have_the_registers_that_are_looked_for() {
    let script = "hardware = true\nmax_workgroup_size = 64\n[probe]\ninvocations = 6400\n";
    let mut replay = Replay::new(toml::from_str::<Script>(script).unwrap());
    let found = find(&mut replay, Guarantee::CoResidency, &mut |_| {}).unwrap();
    let registers: Vec<u32> = found.residents.iter().filter_map(|shape| shape.registers).collect();
    let mut expected: Vec<u32> = (24..=136).step_by(8).collect();
    expected.extend([152, 168, 192, 224, 255]);
    assert_eq!(registers, expected);
    assert!(found.residents.iter().all(|shape| (shape.workgroup_size, shape.workgroups) == (64, 100)));
}

#[test]
fn a_device_that_has_nothing_to_say_is_a_failure() {
    let mut replay = Replay::new(Script::default());
    let failure = find(&mut replay, Guarantee::Progress, &mut |_| {}).unwrap_err();
    assert!(failure.reason.contains("nothing to be asked"));
}

/// A device without time stamps: what a wait takes is what its calls take, and no wait is endless.
#[test]
fn a_device_that_tells_no_times_is_asked_all_the_same() {
    let probe = found("[probe]\nclock = false\nprogress = false\n");
    let told = &probe.of(Guarantee::Progress).unwrap();
    assert_eq!(told.verdict, ProbeVerdict::Refuted, "{told:?}");
}

/// Who waits for an answer hears of each call, and of what takes longer.
#[test]
fn every_call_is_announced() {
    let mut replay = Replay::new(toml::from_str::<Script>("[probe]\n").unwrap());
    let (mut calls, mut shaders) = (0, 0);
    let found = find(&mut replay, Guarantee::Progress, &mut |event| match event {
        AskEvent::Calling => calls += 1,
        AskEvent::Compiling { shaders: more } => shaders += more,
    });
    // Beside the rounds: how long a wait takes, and how many workgroups of both sizes fit.
    assert!(calls > found.unwrap().finding.calls + 3, "{calls}");
    assert_eq!(shaders, 6);
}
