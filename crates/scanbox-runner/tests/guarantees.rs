//! Probes of guarantees on the replay device, whose script says what they find.

use scanbox_model::guarantee_probe::{GuaranteesProbe, ProbeVerdict};
use scanbox_model::parameters::Parameter;
use scanbox_model::safe_devices::Guarantee;
use scanbox_runner::guarantees::find;
use scanbox_runner::replay::{Replay, Script};

fn found(script: &str) -> GuaranteesProbe {
    let mut replay = Replay::new(toml::from_str::<Script>(script).unwrap());
    let mut probe = GuaranteesProbe::default();
    for &guarantee in Guarantee::VALUES {
        let found = find(&mut replay, guarantee).unwrap_or_else(|failure| panic!("{failure}"));
        probe.findings.push(found.finding);
        probe.residents.extend(found.residents);
    }
    probe
}

#[test]
fn each_guarantee_is_refuted_by_what_refutes_it() {
    use Guarantee::{CoResidency, Progress, SubgroupProgress, WorkgroupOrder};
    let of = [
        (Progress, "progress", "ticket 7 waited 500 ms in vain for ticket 6, which had started"),
        (WorkgroupOrder, "order", "a workgroup began before 32768 with lower numbers"),
        (SubgroupProgress, "subgroups", "subgroup 1 waited 500 ms in vain for subgroup 0"),
        (
            CoResidency,
            "together",
            "as many as were there at the same time before, waited 500 ms for each other in vain",
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

/// A driver that tells registers: they are hit in steps of eight.
#[test]
fn shapes_have_the_registers_that_are_looked_for() {
    let script = "hardware = true\nmax_workgroup_size = 64\n[probe]\ninvocations = 6400\n";
    let mut replay = Replay::new(toml::from_str::<Script>(script).unwrap());
    let found = find(&mut replay, Guarantee::CoResidency).unwrap();
    let registers: Vec<u32> = found.residents.iter().filter_map(|shape| shape.registers).collect();
    assert_eq!(registers, (24..=136).step_by(8).collect::<Vec<_>>());
    assert!(found.residents.iter().all(|shape| (shape.workgroup_size, shape.workgroups) == (64, 100)));
}

#[test]
fn a_device_that_has_nothing_to_say_is_a_failure() {
    let mut replay = Replay::new(Script::default());
    assert!(find(&mut replay, Guarantee::Progress).unwrap_err().reason.contains("nothing to be asked"));
}
