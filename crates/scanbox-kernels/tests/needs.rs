//! What kernels need of a device beyond what Vulkan promises, of every family, lookback and tile order.

use scanbox_kernels::{catalog, legal};
use scanbox_model::config::{Config, Family, Lookback, Parameter, Publish, Rendezvous, TileOrder};
use scanbox_model::device::DeviceProfile;
use scanbox_model::guarantee_probe::{GuaranteeFacts, GuaranteeFinding, GuaranteesProbe, ProbeVerdict};
use scanbox_model::problem::Problem;
use scanbox_model::safe_devices::Guarantee;
use scanbox_model::space::Space;
use scanbox_pack::Promises;
use scanbox_testing::device::with_subgroups;

/// Label, what it needs. All that two subgroups of 32 or more make of the combination.
const TABLE: &[(&str, &[Guarantee])] = {
    use Guarantee::{CoResidency, Progress, SubgroupProgress, WorkgroupOrder};
    &[
        ("b1.vec4.seq.sub.early.wg64", &[Progress]),
        ("b1.vec4.seq.sub.wgid.early.wg64", &[Progress, WorkgroupOrder]),
        ("b1.vec4.par.sub.early.wg64", &[Progress]),
        ("b1.vec4.par.sub.wgid.early.wg64", &[Progress, WorkgroupOrder]),
        ("b1.vec4.gather.sub.early.wg64", &[Progress]),
        ("b1.vec4.gather.sub.wgid.early.wg64", &[Progress, WorkgroupOrder]),
        ("b1.vec4.two.sub.early.wg64", &[Progress]),
        ("b1.vec4.two.sub.wgid.early.wg64", &[Progress, WorkgroupOrder]),
        ("b1.vec4.chain.sub.early.wg64", &[Progress]),
        ("b1.vec4.chain.sub.wgid.early.wg64", &[Progress, WorkgroupOrder]),
        ("b1.vec4.fallback.sub.early.wg64", &[]),
        ("b1.vec4.fallback.sub.wgid.early.wg64", &[]),
        ("b1.vec4.gatherfall.sub.early.wg64", &[]),
        ("b1.vec4.gatherfall.sub.wgid.early.wg64", &[]),
        ("pers.b1.vec4.gather.sub.early.wg64.u1", &[Progress]),
        ("pers.b1.vec4.gather.sub.early.flags.wg64.u1", &[Progress, SubgroupProgress]),
        ("pers.b1.vec4.gather.sub.wgid.early.wg64.u1", &[Progress, CoResidency]),
        ("pers.b1.vec4.gather.sub.wgid.early.flags.wg64.u1", &[Progress, SubgroupProgress, CoResidency]),
        ("pers.b1.vec4.gather.sub.robin.early.wg64.u1", &[Progress, CoResidency]),
        ("pers.b1.vec4.gather.sub.robin.early.flags.wg64.u1", &[Progress, SubgroupProgress, CoResidency]),
        ("pers.b1.vec4.two.sub.early.wg64.u1", &[Progress]),
        ("pers.b1.vec4.two.sub.early.flags.wg64.u1", &[Progress, SubgroupProgress]),
        ("pers.b1.vec4.two.sub.wgid.early.wg64.u1", &[Progress, CoResidency]),
        ("pers.b1.vec4.two.sub.wgid.early.flags.wg64.u1", &[Progress, SubgroupProgress, CoResidency]),
        ("pers.b1.vec4.two.sub.robin.early.wg64.u1", &[Progress, CoResidency]),
        ("pers.b1.vec4.two.sub.robin.early.flags.wg64.u1", &[Progress, SubgroupProgress, CoResidency]),
        ("pers.b1.vec4.gatherfall.sub.early.wg64.u1", &[]),
        ("pers.b1.vec4.gatherfall.sub.robin.early.wg64.u1", &[]),
        ("one.b1.vec4.none.sub.wg64", &[]),
        ("redo.b1.vec4.none.sub.wg64", &[]),
        ("rts.b1.vec4.none.sub.wg64", &[]),
        ("stp.b1.vec4.none.sub.wg64", &[]),
    ]
};

fn device(subgroup_size: u32, guarantees: &[Guarantee]) -> DeviceProfile {
    DeviceProfile { guarantees: guarantees.to_vec(), ..with_subgroups(subgroup_size, true) }
}

/// Whether the rules of a session refuse a config for what it needs.
fn refused_for(config: &Config, device: &DeviceProfile) -> Option<String> {
    let rule = legal(config, &Problem::default(), 1 << 12, device).err().map(|rejection| rejection.rule);
    rule.filter(|rule| rule.starts_with("needs-")).map(Into::into)
}

#[test]
fn what_kernels_need_is_known_and_what_sessions_refuse_follows_from_it() {
    for (label, needed) in TABLE {
        let config: Config = label.parse().unwrap();
        let given = device(32, needed);
        assert_eq!(catalog::needs(&config, &given), catalog::promises(needed), "{label}");
        assert_eq!(legal(&config, &Problem::default(), 1 << 12, &given), Ok(()), "{label}");
        for missing in *needed {
            let others: Vec<Guarantee> = needed.iter().filter(|one| *one != missing).copied().collect();
            // In a session a hang costs a row: kernels are tried where nothing is known of progress.
            let expected = (*missing != Guarantee::Progress).then(|| format!("needs-{missing}"));
            assert_eq!(refused_for(&config, &device(32, &others)), expected, "{label} without {missing}");
        }
        // One subgroup waits for no other one of its workgroup.
        let alone = catalog::promises(needed).without(Promises::SUBGROUP_PROGRESS);
        assert_eq!(catalog::needs(&config, &device(64, &[])), alone, "{label}");
    }
}

/// What the user assumes goes before what a probe found, and that before the list.
#[test]
fn findings_open_and_close_what_the_list_leaves() {
    use ProbeVerdict::{Hung, NotRefuted, Refuted, Unknown};
    let known = |listed: bool, assumed: bool, lacks: bool, verdict: Option<ProbeVerdict>, guarantee| {
        let list = |has: bool| if has { vec![guarantee] } else { Vec::new() };
        let finding = verdict.map(|verdict| GuaranteeFinding {
            guarantee,
            verdict,
            calls: 40,
            detail: "round 3 of 40".to_owned(),
            date: "2026-11-23".to_owned(),
        });
        let probe =
            finding.map(|finding| GuaranteesProbe { findings: vec![finding], ..GuaranteesProbe::default() });
        let guarantee_facts = GuaranteeFacts { assumed: list(assumed), lacks: list(lacks), probe };
        DeviceProfile { guarantee_facts, ..device(32, &list(listed)) }
    };
    for (label, guarantee) in [
        ("b1.vec4.seq.sub.early.wg64", Guarantee::Progress),
        ("pers.b1.vec4.gather.sub.early.flags.wg64.u1", Guarantee::SubgroupProgress),
        ("b1.vec4.chain.sub.wgid.early.wg64", Guarantee::WorkgroupOrder),
        ("pers.b1.vec4.gather.sub.robin.early.wg64.u1", Guarantee::CoResidency),
    ] {
        let config: Config = label.parse().unwrap();
        let check = |listed, assumed, lacks, verdict, runs: bool, is_settled: bool| {
            let device = known(listed, assumed, lacks, verdict, guarantee);
            let refused = refused_for(&config, &device);
            let expected = (!runs).then(|| format!("needs-{guarantee}"));
            assert_eq!(refused, expected, "{label}: {listed} {assumed} {lacks} {verdict:?}");
            assert_eq!(
                device.is_settled(guarantee),
                is_settled,
                "{label}: {listed} {assumed} {lacks} {verdict:?}"
            );
        };
        let trusted = guarantee == Guarantee::Progress;
        check(false, false, false, None, trusted, false);
        check(false, false, false, Some(Unknown), trusted, true);
        check(false, false, false, Some(NotRefuted), true, true);
        check(false, false, false, Some(Refuted), false, true);
        check(true, false, false, None, true, true);
        check(true, false, false, Some(Unknown), true, true);
        check(true, false, false, Some(Refuted), false, true);
        // A hang is no finding about the guarantee, and still nothing is to wait there.
        check(false, false, false, Some(Hung), false, true);
        check(true, false, false, Some(Hung), false, true);
        check(false, false, true, None, false, true);
        check(false, false, true, Some(NotRefuted), false, true);
        for verdict in [None, Some(Unknown), Some(Refuted), Some(NotRefuted), Some(Hung)] {
            check(false, true, false, verdict, true, true);
            check(false, true, true, verdict, true, true);
        }
        // What was seen is told.
        for (verdict, said) in [(Refuted, "was seen not to give"), (Hung, "did not survive being asked for")]
        {
            let device = known(true, false, false, Some(verdict), guarantee);
            let told = legal(&config, &Problem::default(), 1 << 12, &device).unwrap_err().detail;
            assert!(told.contains(said) && told.contains("round 3 of 40"), "{told}");
        }
    }
}

/// Who waits alike is of a kind; who waits for nobody for ever is of none.
#[test]
fn kinds_of_waiting_are_lookback_order_and_persistence() {
    let kind = |label: &str| catalog::waiting(&label.parse().unwrap(), &device(32, &[]));
    let same = |one: &str, other: &str| assert_eq!(kind(one), kind(other), "{one}, {other}");
    let differ = |one: &str, other: &str| assert_ne!(kind(one), kind(other), "{one}, {other}");
    same("b4.vec4.par.sub.wg64", "b1.vec2.par.rake.wg512");
    differ("b4.vec4.par.sub.wg64", "b4.vec4.seq.sub.wg64");
    differ("b4.vec4.par.sub.wg64", "b4.vec4.par.sub.wgid.wg64");
    differ("pers.b1.vec4.gather.sub.early.wg64.u1", "b1.vec4.gather.sub.early.wg64");
    differ("pers.b1.vec4.gather.sub.early.wg64.u1", "pers.b1.vec4.gather.sub.early.flags.wg64.u1");
    for none in ["b4.vec4.fallback.sub.wg64", "one.b1.vec4.none.sub.wg64", "rts.b1.vec4.none.sub.wg64"] {
        assert_eq!(kind(none), None, "{none}");
    }
    let told = kind("pers.b1.vec4.gather.sub.wgid.early.wg64.u1").unwrap().to_string();
    assert_eq!(told, "persistent workgroups, lookback gather, tiles by workgroup-id");
}

/// Where workgroups make no progress, the space for that has configs at every size, and nothing in it needs anything.
#[test]
fn a_device_without_progress_has_enough_left() {
    let safe = Space::from_toml(include_str!("../../../configs/safe.toml"), "safe").unwrap();
    let mut without = device(32, &[]);
    without.guarantee_facts.lacks = Guarantee::VALUES.to_vec();
    let rules = |config: &Config, n, device: &DeviceProfile| legal(config, &Problem::default(), n, device);
    let points = safe.enumerate(&without, rules).points;
    for n in safe.sizes.iter() {
        let count = points.iter().filter(|point| point.n == n).count();
        assert!(count >= 150, "{count} at {n}");
    }
    assert!(points.iter().all(|point| catalog::needs(&point.config, &without) == Promises::NONE));
    assert!(points.len() >= 4000, "{}", points.len());
    // Everything in the thesis space waits.
    let thesis = Space::from_toml(include_str!("../../../configs/thesis.toml"), "thesis").unwrap();
    assert_eq!(thesis.enumerate(&without, rules).points, []);
    assert_eq!(thesis.enumerate(&device(32, &[]), rules).points.len(), 3600);
}

/// Every combination that there is has a row in the table.
#[test]
fn no_combination_is_left_out() {
    let of_table = |config: &Config| {
        TABLE.iter().any(|(label, _)| {
            let row: Config = label.parse().unwrap();
            let what = |config: &Config| {
                let kernel = config.kernel;
                (kernel.family, kernel.lookback, kernel.tile_order, kernel.rendezvous)
            };
            what(&row) == what(config)
        })
    };
    let any: Config = "b1.vec4.seq.sub.early.wg64".parse().unwrap();
    let mut combinations = 0;
    for family in Family::VALUES {
        for lookback in Lookback::VALUES {
            for tile_order in TileOrder::VALUES {
                for rendezvous in Rendezvous::VALUES {
                    let mut config = any;
                    config.kernel.family = *family;
                    config.kernel.lookback = *lookback;
                    config.kernel.tile_order = *tile_order;
                    config.kernel.rendezvous = *rendezvous;
                    config.workgroups_per_unit = family.entry().persistent.then_some(1);
                    // Families without states have the default of what is published when.
                    let plain = *lookback == Lookback::None;
                    config.kernel.publish = if plain { Publish::AfterScan } else { any.kernel.publish };
                    if config.check_combination().is_ok() {
                        combinations += 1;
                        assert!(of_table(&config), "{config} is not in the table");
                    }
                }
            }
        }
    }
    assert_eq!(combinations, TABLE.len());
}

#[test]
fn guarantees_are_promises_by_the_same_words() {
    for guarantee in Guarantee::VALUES {
        let promise = catalog::promises(&[*guarantee]);
        assert_eq!(promise.to_string(), guarantee.to_string());
    }
    assert_eq!(catalog::promises(Guarantee::VALUES), Promises::ALL);
    assert_eq!(catalog::promises(&[]), Promises::NONE);
}
