//! Variants: which config has them, and what their builds are.

use std::collections::BTreeSet;

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::plan::{Binding, PushWord, STATES_OFFSET, Shader, TICKET_BYTES};
use scanbox_model::config::{Config, Parameter};
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_testing::device::with_subgroups;

/// A device that guarantees everything.
fn willing() -> DeviceProfile {
    DeviceProfile { guarantees: Guarantee::VALUES.to_vec(), ..with_subgroups(32, true) }
}

#[test]
fn variants_are_other_builds_of_the_same_config() {
    let device = willing();
    let problem = Problem::default();
    let blocked = |k| Variant::blocked(Some(k));
    let counted = Variant::default().counted();
    let check = |label: &str, variant, rule: &str| {
        let config = label.parse().unwrap();
        let verdict = catalog::plan_variant(&config, variant, &problem, 1000, &device);
        let found = verdict.as_ref().map_or_else(|rejection| &*rejection.rule, |_| "");
        assert_eq!(found, rule, "{label}{variant}");
    };
    for label in ["b4.vec4.fallback.sub.wg64", "b4.vec4.seq.rake.wg64", "b4.vec4.par.rake.width3.wg64"] {
        check(label, blocked(1), "");
        check(label, blocked(9).counted(), "");
    }
    check("b4.vec4.gather.sub.wg64", blocked(3), "");
    check("b4.vec4.two.sub.wg64", blocked(3), "");
    check("b4.vec4.gather.sub.wg64", counted, "counts-need-walk");
    check("b4.vec4.par.rake.wg64", blocked(0), "blocking-rate");
    check("b4.vec4.par.rake.wg64", blocked(32), "blocking-rate");
    check("pers.b4.vec4.two.sub.early.wg64.u1", blocked(1), "blocking-needs-chained-scan");
    check("one.b4.vec4.none.sub.wg64", blocked(1), "blocking-needs-chained-scan");
    check("b4.vec4.par.rake.spins0.wg64", blocked(1), "spins-need-fallback");
    check("b4.vec4.gatherfall.sub.wg64", blocked(1), "");
    check("b4.vec4.gatherfall.sub.fill.block.wg64", blocked(1), "");
    check("b4.vec4.gatherfall.sub.turn.wg64", blocked(1), "blocking-without-owner");
    check("b4.vec4.gatherfall.sub.block.wg64", blocked(1), "blocking-without-owner");
    let (up_to, total) = (Variant::up_to(4000), Variant::default().with_total());
    check("b4.vec4.par.rake.block.wg64", up_to.at_any_element().with_total(), "");
    check("pers.b4.vec4.two.sub.early.block.wg64.u1", up_to, "");
    check("b4.vec4.par.rake.wg64", total.at_any_element(), "");
    check("b4.vec4.par.rake.wg64", up_to, "n-from-memory-needs-turn");
    check("b4.vec4.par.rake.epoch.wg64", up_to, "n-from-memory-needs-turn");
    for label in ["b4.vec4.par.rake.turn.wg64", "b4.vec4.par.rake.clean.wg64", "redo.b4.vec4.none.sub.wg64"] {
        check(label, up_to.at_any_element().with_total(), "");
    }
    check("rts.b4.vec4.none.rake.wg64", up_to, "n-from-memory-needs-one-pass");
    check("b4.vec4.par.rake.baked.wg64", up_to, "n-from-memory-needs-block");
    check("rts.b4.vec4.none.rake.block.wg64", up_to, "n-from-memory-needs-one-pass");
    check("stp.b4.vec4.none.rake.wg64", total, "total-needs-one-pass");
    check("stp.b4.vec4.none.rake.wg64", Variant::default().at_any_element(), "");
    let reduce =
        Problem::new(Mode::Reduce, Element::U32, Operator::Add, None, Placement::OutOfPlace).unwrap();
    let config: Config = "one.b4.vec4.none.rake.wg64".parse().unwrap();
    let rejection = catalog::plan_variant(&config, total, &reduce, 1000, &device).unwrap_err();
    assert_eq!(rejection.rule, "total-needs-scan");

    let config: Config = "b4.vec4.fallback.sub.early.wg64".parse().unwrap();
    let plan = |variant| catalog::plan_variant(&config, variant, &problem, 1000, &device).unwrap();
    assert_eq!(plan(Variant::default()), catalog::plan(&config, &problem, 1000, &device).unwrap());
    let all = [Variant::default(), blocked(1), counted, blocked(1).counted()].map(plan);
    assert_eq!(all.each_ref().map(|plan| plan.counted_tiles()), [None, None, Some(1), Some(1)]);
    assert_eq!(all[3].label, format!("{config} blocked 1 in 2 counted"));
    let shaders: BTreeSet<Shader> = all.iter().map(|plan| plan.passes[0].shader.clone()).collect();
    assert_eq!(shaders.len(), 4);
    let words =
        |shader: &Shader| Compiler::new(None, None).unwrap().compile(shader).unwrap().code.spirv().unwrap();
    let distinct: BTreeSet<_> = shaders.iter().map(words).collect();
    assert_eq!(distinct.len(), 4, "each is another program");
    // What builds without the defines have is what they have where there is nothing to block and nothing to count.
    let none = Shader {
        defines: [&all[0].passes[0].shader.defines[..], &[("BLOCKING", 0), ("COUNTED", 0)]].concat(),
        ..all[0].passes[0].shader.clone()
    };
    assert_eq!(words(&none), words(&all[0].passes[0].shader));
}

/// A plan whose calls say how many elements they have is that of the most of them, but for what it says itself.
#[test]
fn plans_for_any_n_are_laid_out_for_the_largest() {
    let device = willing();
    let problem = Problem::default();
    let config: Config = "b4.vec4.two.sub.block.wg64".parse().unwrap();
    let plan = |n| catalog::plan_variant(&config, Variant::up_to(100_000), &problem, n, &device).unwrap();
    let largest = catalog::plan(&config, &problem, 100_000, &device).unwrap();
    for (told, n) in [(0, 0), (1, 1), (100_000, 100_000), (100_001, 100_000), (1 << 40, 100_000)] {
        let plan = plan(told);
        assert_eq!((plan.n, plan.max_n()), (n, Some(100_000)));
        assert_eq!(plan.scratch, largest.scratch);
        assert_eq!(plan.passes[0].workgroups, largest.passes[0].workgroups);
        assert_eq!(plan.passes[0].words[0], PushWord::Value(u32::try_from(told).unwrap_or(u32::MAX)));
        assert_eq!(plan.label, format!("{config} up to 100000"));
    }
    assert_eq!(largest.max_n(), None);
}

/// Where arguments are pushed the plan of calls that find n in memory says where that is, and the most there may be.
#[test]
fn pushed_arguments_say_where_n_stands() {
    let device = willing();
    let problem =
        Problem::new(Mode::Exclusive, Element::U32, Operator::Add, Some("7"), Placement::OutOfPlace).unwrap();
    let initial = [PushWord::Value(7), PushWord::Value(0)];
    for (label, words) in [
        ("b4.vec4.two.sub.turn.wg64", &[][..]),
        (
            "b4.vec4.two.sub.clean.wg64",
            &[PushWord::Epoch, PushWord::TicketBase, PushWord::Bank, PushWord::StaleGroups],
        ),
        ("one.b4.vec4.none.sub.wg64", &[]),
    ] {
        let config: Config = label.parse().unwrap();
        let variant = Variant::up_to(100_000).with_total();
        let plan = catalog::plan_variant(&config, variant, &problem, 1 << 40, &device).unwrap();
        let [.., total, elements] = &plan.passes[0].bindings[..] else { panic!("{label}") };
        assert_eq!((total, elements), (&Binding::Total, &Binding::Elements(u32::MAX)), "{label}");
        assert_eq!((plan.n, plan.max_n()), (100_000, Some(100_000)), "{label}");
        assert_eq!(plan.passes[0].words, [&[PushWord::Value(100_000)], words, &initial].concat(), "{label}");
    }
}

/// An initial value in memory is an address in the place of its words, in the passes that bring it.
#[test]
fn an_initial_value_in_memory_is_an_address() {
    let device = willing();
    let of = |label: &str, problem: &Problem, variant| {
        let config: Config = label.parse().unwrap();
        catalog::plan_variant(&config, variant, problem, 100_000, &device)
    };
    let problem =
        Problem::new(Mode::Exclusive, Element::U64, Operator::Add, Some("7"), Placement::OutOfPlace).unwrap();
    let variant = Variant::default().with_init_in_memory();
    let words = |label: &str, variant| -> Vec<usize> {
        of(label, &problem, variant).unwrap().passes.iter().map(|pass| pass.words.len()).collect()
    };
    let initial = |label: &str| -> Vec<bool> {
        let plan = of(label, &problem, variant).unwrap();
        plan.passes.iter().map(|pass| pass.bindings.last() == Some(&Binding::Initial([7, 0, 0, 0]))).collect()
    };
    for (label, own, passes) in [
        ("b4.vec2.two.sub.turn.wg64", &[4][..], &[true][..]),
        ("rts.b4.vec2.none.rake.wg64", &[1, 1, 3], &[false, false, true]),
        ("stp.b4.vec2.none.rake.block.wg64", &[3, 1, 3], &[false, false, true]),
    ] {
        assert_eq!(words(label, Variant::default()), own, "{label}");
        assert_eq!(initial(label), passes, "{label}");
        let less: Vec<usize> =
            own.iter().zip(passes).map(|(words, is)| words - 2 * usize::from(*is)).collect();
        assert_eq!(words(label, variant), less, "{label}");
    }
    // Others begin with a value as well, in as many words as theirs take; an identity that a file alone knows is none.
    let words_of = |problem: &Problem, variant| of("b4.vec2.two.sub.turn.wg64", problem, variant);
    let more = |problem: &Problem| {
        let plain = words_of(&problem.without_init(), Variant::default()).unwrap().passes[0].words.len();
        let begins = words_of(problem, Variant::default()).unwrap().passes[0].words.len();
        let read = words_of(problem, variant).unwrap();
        assert_eq!(read.passes[0].words.len(), plain, "{problem}");
        assert_eq!(read.passes[0].bindings.last(), Some(&Binding::Initial(problem.init_words().unwrap())));
        begins - plain
    };
    let own =
        Problem::new(Mode::Inclusive, Element::U32, Operator::Add, Some("7"), Placement::OutOfPlace).unwrap();
    assert_eq!(more(&own), 2);
    let file = scanbox_testing::operator_files::example("matrix2x2");
    let user = Problem::of_user(Mode::Exclusive, file.operator(), Placement::OutOfPlace).unwrap();
    assert_eq!(more(&user.beginning_with(file.value("1,2,3,4").unwrap()).unwrap()), 4);
    let rejection = words_of(&user, variant).unwrap_err();
    assert_eq!(rejection.rule, "init-needs-value");
}

/// Calls of different size that share scratch memory find everything where the largest one has it, and start what they
/// need themselves.
#[test]
fn calls_that_share_scratch_memory_are_laid_out_for_the_largest() {
    let device = willing();
    let problem = Problem::default();
    for label in ["b4.vec4.two.sub.split.turn.wg64", "pers.b4.vec4.gather.sub.early.turn.wg64.u1"] {
        let config: Config = label.parse().unwrap();
        let of = |n| catalog::plan_up_to(&config, 100_000, &problem, n, &device).unwrap();
        let alone = |n| catalog::plan(&config, &problem, n, &device).unwrap();
        assert_eq!(of(100_000), alone(100_000));
        for (told, n) in [(0, 0), (1, 1), (5000, 5000), (1 << 40, 100_000)] {
            let (plan, own) = (of(told), alone(n.max(1)));
            assert_eq!((plan.n, plan.scratch), (n, alone(100_000).scratch), "{label}");
            assert_eq!(plan.passes[0].workgroups, own.passes[0].workgroups);
            assert_eq!(plan.passes[0].shader, own.passes[0].shader);
            assert_eq!(plan.passes[0].bindings, alone(100_000).passes[0].bindings);
            assert_eq!(plan.passes[0].words, [n as u32, 100_000].map(PushWord::Value));
        }
    }
    let config = "b4.vec4.two.sub.wg64".parse().unwrap();
    let rejection = catalog::plan_up_to(&config, 1000, &problem, 10, &device).unwrap_err();
    assert_eq!(rejection.rule, "sharing-needs-turn");
}

/// Banks are where they are needed alone: elsewhere the states stand behind the ticket and the turn.
#[test]
fn a_scan_that_turns_itself_has_little_scratch_memory() {
    let device = willing();
    let plan =
        |label: &str| catalog::plan(&label.parse().unwrap(), &Problem::default(), 1000, &device).unwrap();
    for label in ["b4.vec4.par.rake.turn.wg64", "b4.vec4.two.sub.split.turn.wg64"] {
        assert_eq!(plan(label).states_offset(), TICKET_BYTES, "{label}");
        assert!(plan(label).scratch.bytes <= 1024, "{label}");
    }
    for label in ["b4.vec4.two.sub.turn.wg64", "b4.vec4.par.rake.wg64", "b4.vec4.par.rake.block.wg64"] {
        assert_eq!(plan(label).states_offset(), STATES_OFFSET, "{label}");
    }
}

/// No access of arrays that begin at any element is wider than one.
#[test]
fn arrays_at_any_element_have_no_aligned_vectors() {
    let device = willing();
    let compiler = Compiler::new(None, None).unwrap();
    for element in [Element::U32, Element::F64] {
        let problem =
            Problem::new(Mode::Inclusive, element, Operator::Add, None, Placement::OutOfPlace).unwrap();
        // Nothing but its arrays is reached by address.
        for label in ["redo.b4.vec4.none.sub.striped.wg64", "redo.b4.vec2.none.rake.wg64"] {
            let config = label.parse().unwrap();
            let alignments = |variant| {
                let plan = catalog::plan_variant(&config, variant, &problem, 100_000, &device).unwrap();
                (
                    plan.alignment(),
                    alignments(&compiler.compile(&plan.passes[0].shader).unwrap().code.spirv().unwrap()),
                )
            };
            let (alignment, found) = alignments(Variant::default());
            assert_eq!(found.last().map(|most| u64::from(*most)), Some(alignment), "{label}");
            let (alignment, found) = alignments(Variant::default().at_any_element());
            assert_eq!(alignment, u64::from(element.bytes()));
            assert_eq!(found, BTreeSet::from([element.bytes()]), "{label}");
        }
    }
}

/// What accesses of memory are aligned to.
fn alignments(module: &[u32]) -> BTreeSet<u32> {
    const ALIGNED: u32 = 2;
    let mut found = BTreeSet::new();
    let mut rest = &module[5..];
    while let [first, ..] = rest {
        let (instruction, behind) = rest.split_at((first >> 16) as usize);
        rest = behind;
        // Loads have their operands behind type, result and pointer, stores behind pointer and value.
        let operands = match first & 0xffff {
            61 => &instruction[4..],
            62 => &instruction[3..],
            _ => continue,
        };
        if let [access, alignment, ..] = operands
            && access & ALIGNED != 0
        {
            found.insert(*alignment);
        }
    }
    found
}

#[test]
fn addresses_are_checked() {
    let device = willing();
    let plan = |label: &str, variant| {
        let config = label.parse().unwrap();
        catalog::plan_variant(&config, variant, &Problem::default(), 1000, &device).unwrap()
    };
    let vectors = plan("b4.vec4.par.rake.wg64", Variant::default());
    assert_eq!(vectors.check_address(0x1000), Ok(()));
    let rejection = vectors.check_address(0x1008).unwrap_err();
    assert_eq!(rejection.rule, "vector-alignment");
    assert!(rejection.detail.contains("multiples of 16 bytes") && rejection.detail.contains("0x1008"));
    assert_eq!(plan("b4.vec2.par.rake.wg64", Variant::default()).check_address(0x1008), Ok(()));
    let any = plan("b4.vec4.par.rake.wg64", Variant::default().at_any_element());
    assert_eq!(any.check_address(0x1004), Ok(()));
    assert!(any.check_address(0x1002).is_err());
}
