//! What a verification tries: sizes, inputs, and what the memory holds before.

use std::collections::BTreeSet;

use scanbox_kernels::cases::{CaseRequest, CaseSelection, Circumstance, Garbage, Pattern, boundary_sizes};
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::plan::{STATES_OFFSET, TICKET_BYTES};
use scanbox_model::api::Api;
use scanbox_model::config::Config;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_testing::device::with_subgroups as device;

fn config(label: &str) -> Config {
    label.parse().unwrap()
}

fn request(patterns: &[Pattern], sizes: Option<&[u64]>) -> CaseRequest {
    CaseRequest {
        problem: Problem::default(),
        patterns: patterns.to_vec(),
        sizes: sizes.map(<[u64]>::to_vec),
        thorough: false,
        seed: 7,
    }
}

fn select(configs: &[Config], device: &DeviceProfile, request: &CaseRequest) -> CaseSelection {
    CaseSelection::new(configs, device, request, |_| Ok(()))
}

#[test]
fn boundaries_are_those_of_the_config() {
    let config = config("b4.vec4.par.rake.wg256");
    let (tile, window) = (4096, 32 * 4096);
    let sizes = boundary_sizes(&config, &device(32, true), false);
    for n in
        [1, 2, tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile + 1, window, window + tile + 1, 1021, 65_537]
    {
        assert!(sizes.contains(&n), "{n}");
    }
    assert!(!sizes.contains(&0));
    assert!(sizes.len() < 30, "{}", sizes.len());
    assert_eq!(sizes.last(), Some(&(window + tile + 1)), "one tile more than a window, and one element");
    let thorough = boundary_sizes(&config, &device(32, true), true);
    assert!(thorough.is_superset(&sizes) && thorough.len() > 3 * sizes.len());
}

#[test]
fn windows_and_rounds_are_those_of_the_lookback() {
    let check = |label: &str, tiles: u64| {
        let (config, device) = (config(label), device(8, true));
        let tile = config.tile_elements();
        let sizes = boundary_sizes(&config, &device, false);
        assert_eq!(sizes.last(), Some(&((tiles + 1) * tile + 1)), "{label}");
    };
    check("b16.vec4.par.rake.wg256", 8);
    check("b16.vec4.par.rake.width3.wg256", 3 * 8);
    check("b16.vec4.two.rake.wg256", 32);
    // Other levels from 4 tiles of totals on.
    let levels = boundary_sizes(&config("rts.b1.scalar.none.rake.wg64"), &device(8, true), false);
    assert!((4 * 64 * 64 - 1..=4 * 64 * 64 + 1).all(|n| levels.contains(&n)));
    // Three rounds of two workgroups for each of 16 units.
    check("pers.b16.vec4.two.sub.early.wg256.u2", 3 * 2 * 16);
}

#[test]
fn every_config_has_more_tiles_than_a_window() {
    for subgroup_size in [4, 8, 16, 32, 64, 128] {
        for label in ["b1.scalar.par.rake.wg128", "b16.vec4.seq.blelloch.wg1024"] {
            let config = config(label);
            let largest = *boundary_sizes(&config, &device(subgroup_size, true), false).last().unwrap();
            assert!(
                config.tiles(largest) > u64::from(subgroup_size),
                "{label}, subgroups of {subgroup_size}"
            );
            assert!(largest <= (1 << 17) + 1 || config.tiles(largest) <= u64::from(subgroup_size) + 2);
        }
    }
}

#[test]
fn a_config_of_a_space_keeps_its_size() {
    let fixed = config("b4.vec4.par.rake.wg256.g1024");
    assert!(boundary_sizes(&fixed, &device(32, true), false).contains(&(1 << 22)));
    let selection = select(&[fixed], &device(32, true), &request(&[Pattern::Ones], None));
    assert_eq!(selection.items[0].config, config("b4.vec4.par.rake.wg256"));
    assert_eq!(selection.items[0].sizes.last(), Some(&(1 << 22)));
}

#[test]
fn the_packed_state_gets_what_it_can_carry() {
    let config = config("b4.vec4.par.rake.packed.wg256");
    let sizes = [46_341, 46_342, 1 << 20];
    let selection = select(
        &[config],
        &device(32, true),
        &request(&Pattern::of_problem(&Problem::default()), Some(&sizes)),
    );
    let inputs: Vec<String> =
        selection.items.iter().map(|item| format!("{} {:?}", item.input, item.sizes)).collect();
    let expected = [
        "bounded [46341, 46342, 1048576]",
        "ones [46341, 46342, 1048576]",
        "ramp [46341]",
        "bounded-spike [46341, 46342, 1048576]",
    ];
    assert_eq!(inputs, expected);
    // The ramp at two sizes, and the maximum at three.
    assert_eq!(selection.left_out["packed-total"].cases, 5);
    for item in &selection.items {
        for &n in &item.sizes {
            let total: u64 = (0..n).map(|index| item.input.element(&Problem::default(), index).bits).sum();
            assert!(total < 1 << 30, "{} at {n}: {total}", item.input);
        }
    }
}

#[test]
fn what_the_rules_reject_is_counted() {
    let configs = [config("b1.vec4.par.rake.word64.wg64"), config("b1.vec4.par.rake.wg64")];
    let request = request(&[Pattern::Ones, Pattern::Random], Some(&[1000, 1 << 33]));
    let selection = select(&configs, &device(32, false), &request);
    assert_eq!(selection.left_out["word64-needs-int64-atomics"].cases, 4);
    assert_eq!(selection.left_out["index-32-bit"].cases, 2);
    assert_eq!(selection.cases(), 2);
    assert_eq!(selection.configs().into_iter().collect::<Vec<_>>(), [configs[1]]);
}

#[test]
fn a_repeated_case_has_the_same_elements() {
    let config = config("b1.vec4.par.rake.packed.wg64");
    let all = select(&[config], &device(8, true), &request(&[Pattern::Random], None));
    let one = select(&[config], &device(8, true), &request(&[Pattern::Random], Some(&[1021])));
    assert_eq!(all.items[0].input, one.items[0].input);
    assert_eq!(all.items.len(), 1);
}

#[test]
fn garbage_is_what_the_reset_has_to_bear() {
    let device = device(32, true);
    let plan = |label| catalog::plan(&config(label), &Problem::default(), 1000, &device).unwrap();
    let garbage = |label| Circumstance::Garbage.garbage(&plan(label));
    assert_eq!(
        garbage("b1.vec4.par.rake.wg64"),
        Some(Garbage::InTileStates { word: 6, from: STATES_OFFSET })
    );
    assert_eq!(garbage("b1.vec4.par.rake.fill.wg64"), Some(Garbage::Unnoticed(6)));
    assert_eq!(garbage("b1.vec4.par.rake.packed.wg64"), Some(Garbage::Unnoticed(0x8000_0001)));
    assert_eq!(
        garbage("b1.vec4.par.rake.split.wg64"),
        Some(Garbage::InTileStates { word: 0x0006_0006, from: STATES_OFFSET })
    );
    assert_eq!(garbage("b1.vec4.par.rake.split.fill.wg64"), Some(Garbage::Unnoticed(0x0006_0006)));
    assert_eq!(garbage("b1.vec4.two.sub.wg64"), Some(Garbage::InTileStates { word: 6, from: STATES_OFFSET }));
    assert_eq!(
        garbage("b1.vec4.two.sub.block.wg64"),
        Some(Garbage::InTileStates { word: 6, from: STATES_OFFSET })
    );
    assert_eq!(
        garbage("b1.vec4.par.rake.turn.wg64"),
        Some(Garbage::InTileStates { word: 6, from: TICKET_BYTES })
    );
    assert_eq!(garbage("b1.vec4.par.rake.clean.wg64"), None);
    assert_eq!(garbage("b1.vec4.par.rake.packed.clean.wg64"), None);
    for levels in ["rts.b1.vec4.none.rake.wg64", "stp.b1.vec4.none.rake.wg64"] {
        assert_eq!(garbage(levels), Some(Garbage::Unnoticed(6)));
    }
    for stateless in ["one.b1.vec4.none.rake.wg64", "redo.b1.vec4.none.rake.wg64"] {
        assert_eq!(garbage(stateless), None);
        assert_eq!(Circumstance::NewMemory.garbage(&plan(stateless)), None);
    }
    let plan = plan("b1.vec4.par.rake.wg64");
    assert_eq!(Circumstance::NewMemory.garbage(&plan), Some(Garbage::InNewMemory(10)));
    assert_eq!(Circumstance::Again.garbage(&plan), None);
    assert_eq!(Circumstance::InARow.garbage(&plan), None);
    for (label, bits) in [("turn.wg64", 30), ("split.turn.wg64", 14), ("split.block.wg64", 14)] {
        let plan =
            catalog::plan(&config(&format!("b1.vec4.par.rake.{label}")), &Problem::default(), 1000, &device);
        let garbage = Circumstance::InARow.garbage(&plan.unwrap()).unwrap();
        assert_eq!(
            (garbage.turn(), garbage.word(), garbage.from()),
            (Some((1 << bits) - 2), 0, 0),
            "{label}"
        );
    }
    assert_eq!(Circumstance::Surplus.plan(&plan, &device).passes[0].workgroups, 4 + 13);
    assert_eq!(Circumstance::Garbage.plan(&plan, &device), plan);
    // Where all workgroups have to run at the same time there are no more than fit.
    let device = DeviceProfile { guarantees: vec![Guarantee::CoResidency], ..device };
    for (order, more) in [("", 13), ("robin.", 0)] {
        let label = format!("pers.b1.vec4.two.sub.{order}early.wg64.u1");
        let plan = catalog::plan(&config(&label), &Problem::default(), 1000, &device).unwrap();
        assert_eq!(Circumstance::Surplus.plan(&plan, &device).passes[0].workgroups, 4 + more, "{label}");
    }
}

#[test]
fn inputs_that_show_nothing_are_left_out() {
    let problem = |element, operator| {
        Problem::new(Mode::Exclusive, element, operator, None, Placement::OutOfPlace).unwrap()
    };
    for (problem, words) in [
        (problem(Element::F32, Operator::Max), "random ramp spikes"),
        (problem(Element::U32, Operator::And), "random ramp spikes"),
        (problem(Element::I32, Operator::Mul), "random ramp maximum spike"),
        (problem(Element::F32, Operator::Mul), "random ramp spike"),
        (problem(Element::U32, Operator::Xor), "random ones ramp maximum spike"),
    ] {
        let request = CaseRequest { problem, ..request(&Pattern::ALL, Some(&[1000])) };
        let selection = select(&[config("b1.vec4.par.rake.wg64")], &device(32, true), &request);
        let inputs: Vec<String> = selection.items.iter().map(|item| item.input.to_string()).collect();
        assert_eq!(inputs.join(" "), words, "{problem}");
        let count = Pattern::ALL.len() - 1 - selection.items.len();
        let left_out = selection.left_out.get("input-shows-nothing").map_or(0, |left_out| left_out.cases);
        assert_eq!(left_out, count as u64, "{problem}");
        assert_eq!(Pattern::of_problem(&problem).len(), selection.items.len(), "{problem}");
    }
}

/// Where an initial value, or the bound itself, decides what is right, there is no case.
#[test]
fn what_would_always_be_right_is_no_case() {
    let rule = |element, operator, init, pattern, n| {
        let problem =
            Problem::new(Mode::Exclusive, element, operator, Some(init), Placement::OutOfPlace).unwrap();
        let request = CaseRequest { problem, ..request(&[pattern], Some(&[n])) };
        let selection = select(&[config("b1.scalar.par.rake.wg32")], &device(32, true), &request);
        assert_eq!(selection.cases(), 0, "{problem}");
        selection.left_out.into_keys().next().unwrap()
    };
    let random = Pattern::Random;
    assert_eq!(rule(Element::U32, Operator::And, "0", random, 1000), "initial-value-decides");
    assert_eq!(rule(Element::F32, Operator::Add, "0.1", random, 1000), "input-not-exact");
    assert_eq!(rule(Element::F32, Operator::Add, "1e9", Pattern::Real, 1000), "bound-hides-what-is-wrong");
    assert_eq!(rule(Element::F32, Operator::Add, "0", Pattern::Real, 1 << 27), "bound-hides-what-is-wrong");
}

#[test]
fn words_of_inputs_parse() {
    for pattern in Pattern::ALL {
        assert_eq!(pattern.word().parse(), Ok(pattern));
        for packed in [false, true] {
            let input = pattern.input(&Problem::default(), packed, 1000, 1);
            assert_eq!(Pattern::of(&input), pattern);
        }
    }
    assert!("zeros".parse::<Pattern>().unwrap_err().contains("random, real, ones"));
}

#[test]
fn calls_of_any_size_are_tried_of_configs_that_have_them() {
    let sum = |mode| Problem::new(mode, Element::U32, Operator::Add, None, Placement::OutOfPlace).unwrap();
    let vulkan = device(32, true);
    let varied = |label, mode| Circumstance::varied(&config(label), &sum(mode), 5000, &vulkan);
    let all = Variant::up_to(5000).at_any_element();
    assert_eq!(
        varied("b1.vec4.par.rake.block.wg64", Mode::Exclusive),
        Some(all.with_total().with_init_in_memory())
    );
    // A reduction is its total.
    assert_eq!(varied("b1.vec4.par.rake.block.wg64", Mode::Reduce), Some(all));
    // Pushed arguments say where it stands, where nobody has to count calls by it.
    for with in ["b1.vec4.two.sub.turn.wg64", "b1.vec4.par.rake.clean.wg64", "one.b1.vec4.none.rake.wg64"] {
        assert_eq!(varied(with, Mode::Exclusive), Some(all.with_total().with_init_in_memory()), "{with}");
    }
    for without in
        ["b1.vec4.par.rake.wg64", "b1.vec4.par.rake.baked.wg64", "rts.b1.vec4.none.rake.block.wg64"]
    {
        assert_eq!(varied(without, Mode::Inclusive), None, "{without}");
    }
    let webgpu = DeviceProfile { api: Api::WebGpu, ..vulkan.clone() };
    let none =
        Circumstance::varied(&config("one.b1.vec4.none.rake.wg64"), &Problem::default(), 5000, &webgpu);
    assert_eq!(none, None);
    let told = |n| Circumstance::VARIED.map(|circumstance| circumstance.told(n, 5000));
    assert_eq!(told(17), [Some(0), Some(17), None, None]);
    assert_eq!(told(5000), [Some(0), Some(5000), Some(u32::MAX.into()), None]);
    let plan_of = |config: &Config, n| catalog::plan(config, &Problem::default(), n, &vulkan).unwrap();
    let seventeen = plan_of(&config("b4.vec4.par.rake.wg64"), 17);
    for circumstance in Circumstance::ALL {
        assert_eq!((circumstance.told(17, 5000), circumstance.begin(&seventeen)), (None, [0, 0]));
    }
    // Where a vector may begin, and at no rounder address.
    for (label, least) in
        [("b1.scalar.par.rake.wg32", 1), ("b4.vec2.par.rake.wg64", 2), ("b4.vec4.par.rake.wg64", 4)]
    {
        for n in 1..100 {
            let begin = Circumstance::BetweenGuards.begin(&plan_of(&config(label), n));
            assert!(
                begin.iter().all(|begin| begin % least == 0 && begin / least % 2 == 1),
                "{label}: {begin:?}"
            );
        }
    }
    // Calls with fewer tiles each time, of which the smallest still takes a turn.
    let across =
        |label: &str, n| Circumstance::across_the_end(&config(label), &Problem::default(), n, 14, &vulkan);
    let tile = 1024;
    assert_eq!(
        across("b4.vec4.par.rake.block.wg64", 9 * tile - 1),
        Some([(9 * tile - 1, 0x3ffe), (6 * tile, 0x3fff), (3 * tile, 2), (9 * tile - 1, 3)])
    );
    assert_eq!(across("b4.vec4.par.rake.block.wg64", 8 * tile), None);
    // Few elements of a persistent kernel take none.
    let persistent = |n| across("pers.b2.vec2.gather.sub.wgid.early.block.wg512.u1", n);
    assert_eq!((persistent(24_576), persistent(30_720).is_some()), (None, true));
    // Some vector does not begin there, whatever the size is, and sizes of a config have nearly all such pairs.
    let pair = |config: &Config, n| Circumstance::AnyElement.begin(&plan_of(config, n));
    for n in 1..1000 {
        let [source, target] = pair(&config("b4.vec4.par.rake.wg64"), n);
        assert!(source <= 3 && target <= 3 && source + target > 0, "{n}");
    }
    for label in ["b4.vec4.par.rake.wg64", "b1.scalar.par.rake.wg32", "b3.vec2.two.sub.striped.early.wg256"] {
        let config = config(label);
        let sizes = boundary_sizes(&config, &vulkan, false);
        let full = sizes.iter().filter(|&&n| n >= config.tile_elements());
        let pairs: BTreeSet<[u64; 2]> = full.map(|&n| pair(&config, n)).collect();
        assert!(pairs.len() >= 8, "{label}: {pairs:?}");
    }
}
