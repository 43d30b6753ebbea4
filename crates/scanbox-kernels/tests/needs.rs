//! What kernels need of a device beyond what Vulkan promises, of every family, lookback and tile order.

use scanbox_kernels::{catalog, legal};
use scanbox_model::config::{Config, Family, Lookback, Parameter, Publish, Rendezvous, TileOrder};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::Problem;
use scanbox_model::safe_devices::Guarantee;
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
