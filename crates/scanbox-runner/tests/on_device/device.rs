//! Kernels and backend on a real device: the first one that the loader lists (`VK_DRIVER_FILES` chooses the driver).
//!
//! Needs `SCANBOX_TEST_DEVICE=1`; without it every test says that it is skipped. `SCANBOX_VALIDATION=1` turns on the
//! validation layer, and then every test also asserts that it has nothing to say.

use super::harness::{Bench, ONES, RANDOM, compiler, device, device_with, options, turn};
use super::progress::hangs;
use scanbox_kernels::cases::Garbage;
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::ledger::Ledger;
use scanbox_kernels::plan::{GUARD_WORDS, STATES_OFFSET, ScratchContent};
use scanbox_model::config::Config;
use scanbox_model::device::DeviceKind;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::record::{Cache, Status};
use scanbox_runner::backend::{Backend, cold_slots};
use scanbox_runner::measure::duration_ns;
use scanbox_runner::select::SelectError;
use scanbox_runner::vulkan::{self, Options, Tamper, VulkanError};

#[test]
fn copies_are_right_at_every_tail() {
    let Some(mut bench) = device() else { return };
    for shape in catalog::CEILING_SHAPES {
        for n in [1, 2, 3, 4, 5, 1023, 1024, 1025, 4095, 65_537, 1_000_003] {
            let plan = catalog::copy(&Problem::default(), n, *shape, bench.device().profile());
            bench.prepare(&plan);
            bench.check_plan(&plan, &RANDOM);
        }
    }
}

#[test]
fn reads_are_right_at_every_tail_and_a_wrong_sum_is_found() {
    let Some(mut bench) = device() else { return };
    let problem =
        Problem::new(Mode::Reduce, Element::U32, Operator::Add, None, Placement::OutOfPlace).unwrap();
    for shape in catalog::CEILING_SHAPES {
        for n in [1, 2, 5, 127, 128, 129, 1025, 65_537, 1_000_003] {
            let plan = catalog::ceiling(&problem, n, *shape, bench.device().profile());
            bench.prepare(&plan);
            bench.check_plan(&plan, &RANDOM);
            let sums = plan.outputs();
            let skipped = bench.device().verify_tampered(&plan, Tamper::SkipCall).unwrap();
            assert_eq!((skipped.compared, skipped.mismatches), (sums + GUARD_WORDS, sums), "{}", plan.label);
            for index in [0, sums - 1, sums, sums + GUARD_WORDS - 1] {
                let tamper = Tamper::Overwrite { index, word: 0x1234_5678 };
                let comparison = bench.device().verify_tampered(&plan, tamper).unwrap();
                assert_eq!(comparison.mismatches, 1, "{} n={n} index {index}", plan.label);
            }
        }
    }
}

#[test]
fn a_scan_is_right() {
    let Some(mut bench) = device() else { return };
    for n in [1, 255, 4096, 100_001] {
        bench.check("b4.vec4.par.rake.wg64", n, &RANDOM);
        bench.check("b2.vec2.seq.blelloch.packed.fill.wg32", n, &ONES);
    }
}

#[test]
fn plans_of_different_formats_can_alternate() {
    let Some(mut bench) = device() else { return };
    // Sizes change too: scratch memory grows, and words of larger calls stay behind.
    for n in [1000, 300_000, 5000, 299_999] {
        bench.check("b1.vec4.par.rake.wg64", n, &ONES);
        bench.check("b1.vec4.par.rake.packed.wg64", n, &ONES);
        bench.check("b1.vec4.par.rake.fill.wg64", n, &ONES);
    }
}

#[test]
fn kinds_of_plans_can_follow_each_other() {
    let Some(mut bench) = device() else { return };
    const TWO_LEVEL: &str = "b1.vec4.two.sub.wg64";
    // The two levels come back with fewer and with more groups of tiles than the call before has left, and with
    // others in between that leave the sums of groups alone, clear them, or put something else there.
    for (label, n) in [
        ("b1.vec4.par.rake.wg64", 40_000),
        (TWO_LEVEL, 100_001),
        ("b1.vec4.two.sub.clean.wg64", 50_000),
        ("b1.vec4.two.sub.fill.wg64", 70_000),
        ("pers.b1.vec4.two.sub.early.wg64.u1", 99_999),
        (TWO_LEVEL, 9_000),
        (TWO_LEVEL, 300_000),
        ("b1.vec4.par.rake.wg64", 40_000),
        ("pers.b1.vec4.two.sub.early.wg64.u1", 20_000),
        (TWO_LEVEL, 250_001),
        ("b1.vec4.par.rake.packed.clean.wg64", 300_000),
        ("b1.vec4.two.sub.clean.wg64", 300_000),
        ("b1.vec4.two.sub.split.wg64", 250_001),
        ("b1.vec4.two.sub.split.clean.wg64", 90_000),
        ("b1.vec4.two.sub.packed.wg64", 100_001),
        ("pers.b1.vec4.two.sub.early.split.wg64.u1", 120_001),
        (TWO_LEVEL, 110_000),
        ("b1.vec4.par.rake.packed.clean.wg64", 20_000),
        ("rts.b1.vec4.none.rake.wg64", 300_000),
        ("b1.vec4.par.rake.packed.clean.wg64", 20_000),
        ("stp.b1.vec4.none.rake.wg64", 300_000),
        (TWO_LEVEL, 60_000),
        ("b1.vec4.par.rake.wg64", 299_999),
    ] {
        bench.check(label, n, &RANDOM);
    }
}

#[test]
fn garbage_in_scratch_memory_does_no_harm() {
    let Some(mut bench) = device() else { return };
    for label in ["b1.vec4.par.rake.wg64", "b1.vec4.par.rake.packed.wg64"] {
        bench.check(label, 50_000, &ONES);
        for word in [u32::MAX, 0x8000_0001, 2, 1] {
            bench.device().scribble_scratch(Garbage::InNewMemory(word)).unwrap();
            bench.check(label, 50_000, &ONES);
            bench.device().scribble_scratch(Garbage::InNewMemory(word)).unwrap();
            bench.check(label, 7_000, &ONES);
        }
    }
    // A plan with a fill needs nobody to clear anything for it, nor does one that writes before it reads.
    for label in ["b1.vec4.par.rake.packed.wg64", "rts.b1.vec4.none.rake.wg64", "stp.b1.vec4.none.rake.wg64"]
    {
        bench.device().scribble_scratch(Garbage::Unnoticed(0xDEAD_BEEF)).unwrap();
        bench.check(label, 50_000, &ONES);
    }
}

#[test]
fn epochs_and_tickets_wrap() {
    let Some(mut bench) = device() else { return };
    for label in [
        "b1.vec4.par.rake.wg64",
        "b1.vec4.two.sub.wg64",
        "pers.b1.vec4.two.sub.early.wg64.u1",
        "b1.vec4.par.rake.split.wg64",
        "b1.vec4.fallback.rake.spins0.wg64",
        "b1.vec4.fallback.rake.spins0.split.wg64",
        "b1.vec4.par.rake.block.wg64",
        "b1.vec4.two.sub.block.wg64",
        "pers.b1.vec4.two.sub.early.baked.wg64.u1",
        "b1.vec4.par.rake.split.block.wg64",
        "b1.vec4.two.sub.split.baked.wg64",
        "b1.vec4.fallback.rake.spins0.block.wg64",
        "b1.vec4.fallback.rake.spins0.split.block.wg64",
        "b1.vec4.two.sub.turn.wg64",
        "b1.vec4.two.sub.split.turn.wg64",
        "b1.vec4.fallback.rake.spins0.split.turn.wg64",
    ] {
        let config: Config = label.parse().unwrap();
        let profile = bench.device().profile();
        let Ok(plan) = catalog::plan(&config, &Problem::default(), 50_000, profile) else { continue };
        if hangs(&config, profile) {
            continue;
        }
        bench.check(label, 50_000, &RANDOM);
        bench.device().ledger_mut().forget();
        bench.check(label, 50_000, &RANDOM);
        // The last two epochs before they begin again; the ticket in memory is what the account says.
        let close_to_the_end = |bench: &mut Bench| {
            if let ScratchContent::SelfTurning { epoch_bits } = plan.scratch.content {
                // An even one, because the bank of the call before is not clear.
                return bench.device().set_turn((1 << epoch_bits) - 4).unwrap();
            }
            let ledger = bench.device().ledger_mut();
            let before = ledger.clone();
            let ticket = ledger.turn(&plan.scratch, 0).ticket_base;
            *ledger = before;
            let ScratchContent::Tagged { epoch_bits } = plan.scratch.content else {
                panic!("{label}: no epochs")
            };
            ledger.advance_to((1 << epoch_bits) - 3, ticket);
        };
        close_to_the_end(&mut bench);
        let calls = 6;
        let intervals = bench.device().time(&plan, Cache::Hot, calls, 3).unwrap();
        assert_eq!(intervals.len(), 3);
        bench.check(label, 50_000, &RANDOM);
        // Call by call, with more groups of tiles before the end than after it.
        close_to_the_end(&mut bench);
        bench.check(label, 90_000, &RANDOM);
        bench.check(label, 50_000, &RANDOM);
    }
}

/// What finds its arguments without the host is recorded once and submitted often, through the end of the turns.
#[test]
fn a_recording_stays_valid() {
    let Some(mut bench) = device() else { return };
    for (label, n) in [
        ("b1.vec4.par.rake.block.wg64", 5000),
        ("b1.vec4.two.sub.striped.early.turn.wg64", 20_000),
        ("b1.vec4.fallback.sub.striped.early.split.turn.wg64", 3000),
        ("pers.b1.vec4.gather.sub.striped.early.turn.wg64.u1", 5000),
        ("b1.vec4.two.sub.striped.early.block.wg64", 20_000),
        ("b1.vec4.two.sub.striped.early.split.baked.wg64", 20_000),
        ("b1.vec4.chain.sub.early.baked.wg64", 3000),
        ("b1.vec4.fallback.sub.striped.early.split.block.wg64", 3000),
        ("pers.b1.vec4.gather.sub.striped.early.block.wg64.u1", 5000),
        ("b1.vec4.par.rake.clean.block.wg64", 3000),
        ("b1.vec4.par.rake.fill.baked.wg64", 3000),
        ("redo.b1.vec4.none.sub.striped.block.wg64", 3000),
        ("rts.b1.vec4.none.rake.block.wg64", 20_000),
        ("stp.b1.vec4.none.rake.baked.wg64", 20_000),
        ("one.b1.vec4.none.rake.block.wg64", 3000),
    ] {
        let config: Config = label.parse().unwrap();
        let profile = bench.device().profile();
        let Ok(plan) = catalog::plan(&config, &Problem::default(), n, profile) else { continue };
        if hangs(&config, profile) {
            continue;
        }
        bench.prepare(&plan);
        bench.check_plan(&plan, &RANDOM);
        if let ScratchContent::SelfTurning { epoch_bits } = plan.scratch.content {
            bench.device().set_turn((1 << epoch_bits) - 100).unwrap();
        }
        for calls in [1, 2, 3] {
            assert_eq!(bench.device().submit_often(&plan, calls, 60).unwrap(), 0, "{label}, {calls} calls");
        }
    }
}

/// Programs have neither plans nor a ledger.
#[test]
fn calls_are_recorded_from_recipes() {
    let Some(mut bench) = device() else { return };
    let mut tried = 0;
    for label in [
        "b1.vec4.par.rake.turn.wg64",
        "b1.vec4.two.sub.striped.early.turn.wg64",
        "b1.vec4.two.sub.fill.wg64",
        "b1.vec4.fallback.sub.clean.wg64",
        "pers.b1.vec4.gather.sub.striped.early.turn.wg64.u1",
        "redo.b1.vec4.none.sub.striped.wg64",
        "rts.b1.vec4.none.rake.wg32",
        "stp.b1.vec4.none.rake.wg32",
        "one.b1.vec4.none.rake.wg64",
    ] {
        let config: Config = label.parse().unwrap();
        let profile = bench.device().profile();
        let problem = Problem::default();
        let Ok(recipe) = catalog::recipe(&config, Variant::default(), &problem, profile) else { continue };
        if hangs(&config, profile) {
            continue;
        }
        tried += 1;
        for n in [1, 255, 257, 20_001] {
            let plan = catalog::plan(&config, &problem, n, bench.device().profile()).unwrap();
            bench.prepare(&plan);
            bench.check_plan(&plan, &RANDOM);
            for _ in 0..3 {
                let comparison = bench.device().verify_steps(&plan, &recipe).unwrap();
                assert_eq!((comparison.mismatches, comparison.compared > n), (0, true), "{label} {n}");
            }
        }
    }
    assert!(tried >= 4, "some of these need nothing of a device");
}

/// A call whose memory is filled before it leaves what stands behind that memory alone: nobody may have cleared it.
#[test]
fn calls_write_no_scratch_memory_but_their_own() {
    const STRANGE: u32 = 0xABCD_1234;
    let Some(mut bench) = device() else { return };
    for label in ["b1.vec4.two.rake.fill.block.wg64", "b1.vec4.two.rake.fill.baked.wg64"] {
        let plan = {
            let profile = bench.device().profile();
            catalog::plan(&label.parse().unwrap(), &Problem::default(), 20_000, profile)
        };
        let Ok(plan) = plan else { continue };
        bench.prepare(&plan);
        bench.check_plan(&plan, &RANDOM);
        bench.device().scribble_scratch(Garbage::Unnoticed(STRANGE)).unwrap();
        bench.check_plan(&plan, &RANDOM);
        let words = bench.device().scratch_words(plan.scratch.bytes, (STATES_OFFSET / 4) as usize).unwrap();
        assert!(words.iter().all(|word| *word == STRANGE), "{label}");
    }
}

#[test]
fn samples_are_intervals_in_order() {
    let Some(mut bench) = device() else { return };
    let plan = bench.copy(4096);
    bench.device().load(&Problem::default(), &RANDOM, 4096).unwrap();
    let busy_ns = bench.device().busy_ns();
    for (calls, samples) in [(1, 1), (1, 50), (10, 7), (300, 100)] {
        let intervals = bench.device().time(&plan, Cache::Hot, calls, samples).unwrap();
        assert_eq!(intervals.len(), samples as usize);
        let profile = bench.device().profile().clone();
        assert!(intervals.iter().all(|interval| duration_ns(*interval, &profile).is_some()), "{intervals:?}");
        assert!(intervals.windows(2).all(|pair| pair[0].end <= pair[1].begin), "{intervals:?}");
    }
    assert!(bench.device().busy_ns() > busy_ns);
    assert_eq!(bench.device().time(&plan, Cache::Hot, 1, 0).unwrap(), []);
    bench.check_plan(&plan, &RANDOM);
}

#[test]
fn times_of_scans_leave_right_results_possible() {
    let Some(mut bench) = device() else { return };
    for label in ["b1.vec4.par.rake.wg64", "b1.vec4.seq.rake.packed.wg64"] {
        let config: Config = label.parse().unwrap();
        bench.check(label, 20_000, &ONES);
        let Ok(plan) = catalog::plan(&config, &Problem::default(), 20_000, bench.device().profile()) else {
            continue;
        };
        assert_eq!(bench.device().time(&plan, Cache::Hot, 20, 3).unwrap().len(), 3);
        bench.check(label, 20_000, &ONES);
    }
}

#[test]
fn cold_calls_work_on_other_buffers() {
    let Some(mut bench) = device() else { return };
    // A scan whose calls all write to slots, and a copy in between that needs other slots.
    for (label, n) in [("b1.vec4.par.rake.wg64", 3_000_000), ("b1.vec4.seq.rake.fill.wg64", 20_001)] {
        let config: Config = label.parse().unwrap();
        bench.check(label, n, &RANDOM);
        let plan = catalog::plan(&config, &Problem::default(), n, bench.device().profile()).unwrap();
        // More calls than there are slots for the first, fewer than that for the second.
        assert!(cold_slots(4 * 3_000_000) < 30 && cold_slots(4 * 20_001) > 30);
        assert_eq!(bench.device().time(&plan, Cache::Cold, 10, 3).unwrap().len(), 3);
        let copy = bench.copy(n / 2);
        assert_eq!(bench.device().time(&copy, Cache::Cold, 3, 2).unwrap().len(), 2);
        assert_eq!(bench.device().time(&plan, Cache::Cold, 1, 2).unwrap().len(), 2);
        bench.check(label, n, &RANDOM);
        // The slots do not survive their input.
        bench.check(label, n, &ONES);
        assert_eq!(bench.device().time(&plan, Cache::Cold, 2, 1).unwrap().len(), 1);
    }
    let plan = bench.copy(4096);
    assert_eq!(bench.device().time(&plan, Cache::Cold, 1, 0).unwrap(), []);
}

#[test]
fn inputs_grow_shrink_and_change() {
    let Some(mut bench) = device() else { return };
    // The middle ones are longer than one chunk of the upload, the third continues where the second ended.
    for (n, input) in [
        (100, RANDOM),
        (5_000_000, RANDOM),
        (9_000_001, RANDOM),
        (100, RANDOM),
        (100, ONES),
        (4_200_000, ONES),
        (9_000_001, RANDOM),
    ] {
        let plan = bench.copy(n);
        bench.check_plan(&plan, &input);
        assert!(bench.device().loaded_elements() >= n);
        bench.check("b4.vec4.par.rake.wg64", n, &input);
    }
}

#[test]
fn plans_without_input_or_pipeline_fail_and_do_no_harm() {
    let Some(mut bench) = device() else { return };
    let plan = bench.copy(1000);
    let failure = bench.device().verify(&plan).unwrap_err();
    assert_eq!(failure.status, Status::RuntimeError);
    assert!(failure.reason.contains("0 are loaded"), "{failure}");

    bench.device().load(&Problem::default(), &RANDOM, 1000).unwrap();
    let mut unknown = plan.clone();
    unknown.passes[0].shader.defines.push(("NOBODY_COMPILED_THIS", 1));
    let failure = bench.device().verify(&unknown).unwrap_err();
    assert!(failure.reason.contains("NOBODY_COMPILED_THIS=1"), "{failure}");
    bench.check_plan(&plan, &RANDOM);
}

#[test]
fn too_much_memory_is_a_failure_and_no_end() {
    let Some(mut bench) = device() else { return };
    let failure = bench.device().load(&Problem::default(), &RANDOM, 1 << 46).unwrap_err();
    assert_eq!(failure.status, Status::OutOfMemory);
    assert!(failure.reason.contains("input buffer of 281474976710656 bytes"), "{failure}");
    assert!(!failure.is_fatal());
    let failure = bench.device().load(&Problem::default(), &RANDOM, u64::MAX).unwrap_err();
    assert_eq!(failure.status, Status::OutOfMemory);
    let plan = bench.copy(1000);
    bench.check_plan(&plan, &RANDOM);
}

#[test]
fn impossible_workgroups_are_unsupported() {
    let Some(mut bench) = device() else { return };
    let max = bench.device().profile().max_workgroup_size;
    let mut plan = bench.copy(1000);
    let mut module = bench.compiler.compile(&plan.passes.remove(0).shader).unwrap();
    module.shader.workgroup_size = 2 * max;
    let outcome = bench.device().create_pipelines(&[module]).remove(0);
    assert_eq!(outcome.unwrap_err().status, Status::Unsupported);
}

#[test]
#[allow(clippy::print_stderr, reason = "what was not tested must be said")]
fn a_submission_that_takes_too_long_ends_the_session() {
    let Some(mut bench) = device_with(Options { timeout: std::time::Duration::ZERO, ..options() }) else {
        return;
    };
    let Err(failure) = bench.device().load(&Problem::default(), &RANDOM, 1 << 24) else {
        // Lavapipe does it all before the submission returns.
        eprintln!("not tested: this driver has nothing left to do when it is waited for");
        return;
    };
    assert_eq!(failure.status, Status::Timeout, "{failure}");
    assert!(failure.is_fatal());
    let plan = catalog::copy(&Problem::default(), 1000, catalog::CEILING_SHAPES[0], bench.device().profile());
    assert_eq!(bench.device().verify(&plan).unwrap_err(), failure);
    assert_eq!(bench.device().time(&plan, Cache::Hot, 1, 1).unwrap_err(), failure);
    // Dropping it neither waits nor crashes.
}

#[test]
fn pipelines_are_cached_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let cached = Options { pipeline_cache: Some(folder.path().join("pipelines")), ..options() };
    for damage in [false, false, true, false] {
        let Some(mut bench) = device_with(cached.clone()) else { return };
        let plan = bench.copy(1000);
        bench.check_plan(&plan, &RANDOM);
        let files: Vec<_> = std::fs::read_dir(folder.path().join("pipelines")).unwrap().collect();
        assert_eq!(files.len(), 1, "one file, and nothing left beside it");
        if damage {
            std::fs::write(files[0].as_ref().unwrap().path(), b"no cache at all").unwrap();
        }
    }
}

#[test]
fn the_list_shows_what_can_be_opened() {
    let Some(_turn) = turn() else { return };
    let compiler = compiler();
    let devices = vulkan::devices_with(&options()).unwrap();
    let first = &devices[0];
    assert!(first.is_usable(), "{:?}", first.problems);
    assert!(first.profile.subgroup_size.is_power_of_two());
    assert!(first.profile.memory_bytes > 0 && first.profile.max_workgroup_size >= 128);
    let kinds: Vec<_> = devices.iter().map(|device| device.profile.kind == DeviceKind::Software).collect();
    assert!(kinds.is_sorted(), "hardware first");

    for selector in ["0", &first.profile.uuid, &first.profile.uuid.to_uppercase(), &first.profile.name] {
        match vulkan::open(selector, &compiler, options()) {
            Ok(device) => assert_eq!(**device.profile(), first.profile),
            Err(error) => assert!(
                matches!(error, VulkanError::Select(SelectError::Ambiguous { .. })),
                "{selector}: {error}"
            ),
        }
    }
    assert!(matches!(
        vulkan::open(" ", &compiler, options()).err(),
        Some(VulkanError::Select(SelectError::NoSelector { .. }))
    ));
    for selector in ["99", "no such name", "00000000-0000-0000-0000-000000000001"] {
        let error = vulkan::open(selector, &compiler, options()).err().unwrap();
        assert!(matches!(error, VulkanError::Select(SelectError::NotFound { .. })) && !error.is_no_device());
        assert!(error.to_string().contains(&first.profile.uuid), "{error}");
    }
}

#[test]
fn the_account_of_a_new_session_is_empty() {
    let Some(mut bench) = device() else { return };
    assert_eq!(*bench.device().ledger_mut(), Ledger::default());
}
