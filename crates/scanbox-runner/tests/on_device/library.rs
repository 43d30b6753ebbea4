//! Calls that the library records out of a pack, timed and verified as plans are: what runs is what the pack has.

use std::sync::Arc;

use super::harness::{Bench, RANDOM, compiler, device};
use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::packing::{PackBuilder, PackOrigin, pack_device, scan_problem};
use scanbox_kernels::plan::Plan;
use scanbox_model::call_form::CallForm;
use scanbox_model::config::{Arguments, Config};
use scanbox_model::problem::{Element, InitSource, Mode, Operator, Placement, Problem, Total};
use scanbox_model::record::{Cache, Status};
use scanbox_pack::{ArgumentKind, Breakpoint, CallUse, ChoiceTable, Pack, PackProblem, Promises};
use scanbox_runner::backend::Backend;
use scanbox_runner::twin::{self, Length};
use scanbox_testing::operator_files::example;

const PUSH: &str = "b1.vec4.fallback.sub.early.turn.wg64";
const BLOCK: &str = "b1.vec4.fallback.sub.early.block.wg64";
const BAKED: &str = "b1.vec4.fallback.sub.early.baked.wg64";
const LEVELS: &str = "rts.b1.vec4.none.rake.wg64";

/// A pack of these kernels for their uses, measured on this device; `built`: what their code computes.
fn pack(bench: &mut Bench, labels: &[(&str, bool)], problem: &Problem, built: &Problem) -> Pack {
    let device = Arc::clone(bench.device().profile());
    let mut builder = PackBuilder::new();
    let mut measured = Vec::new();
    for &(label, n_on_device) in labels {
        let config: Config = label.parse().unwrap();
        let variant = if n_on_device { Variant::up_to(0) } else { Variant::default() };
        let recipe = catalog::recipe(&config, variant, built, &device).unwrap();
        let arguments = match config.kernel.arguments {
            Arguments::Push => ArgumentKind::Pushed,
            Arguments::Block => ArgumentKind::Line,
            Arguments::Baked => ArgumentKind::Baked,
        };
        let ranked = builder.add_all(&bench.compiler, [(label.to_owned(), recipe)]).unwrap();
        measured.push(ChoiceTable {
            call_use: CallUse {
                arguments,
                n_on_device,
                total: problem.has_total(),
                init_in_memory: problem.reads_init(),
                ..CallUse::default()
            },
            needs: catalog::needs(&config, &device),
            breakpoints: vec![Breakpoint { from: 1, ranked, worst_loss_ppm: None }],
        });
    }
    let problems =
        vec![PackProblem { scan: scan_problem(problem), splittable: false, measured, portable: Vec::new() }];
    let origin = PackOrigin {
        kernel_hash: String::new(),
        measured_utc: String::new(),
        device: pack_device(&device, Vec::new()),
    };
    builder.pack(origin, problems, Vec::new()).unwrap()
}

fn plan(bench: &mut Bench, label: &str, form: CallForm, problem: &Problem, n: u64) -> Plan {
    let config: Config = label.parse().unwrap();
    let variant = Variant::of_form(form, n);
    let plan = catalog::plan_variant(&config, variant, problem, n, bench.device().profile()).unwrap();
    bench.prepare(&plan);
    plan
}

#[test]
fn the_library_is_timed_and_right() {
    let Some(mut bench) = device() else { return };
    let exclusive =
        Problem::new(Mode::Exclusive, Element::U32, Operator::Add, None, Placement::OutOfPlace).unwrap();
    let begins =
        Problem::new(Mode::Exclusive, Element::U32, Operator::Add, Some("7"), Placement::OutOfPlace).unwrap();
    let in_memory = begins.with_operands(Total::Stored, InitSource::Memory).unwrap();
    for problem in [Problem::default(), exclusive, in_memory] {
        let labels = [(PUSH, false), (PUSH, true), (BLOCK, false), (BAKED, false)];
        let pack = pack(&mut bench, &labels, &problem, &problem);
        bench.device().load(&problem, &RANDOM, 70_001).unwrap();
        bench.device().lend(Arc::new(pack), Promises::ALL).unwrap();
        for (label, form, cold) in [
            (PUSH, CallForm::Library, true),
            (PUSH, CallForm::LibraryLength, false),
            (BLOCK, CallForm::Library, false),
            (BLOCK, CallForm::LibraryUpdated, false),
            (BAKED, CallForm::Library, false),
        ] {
            if form != CallForm::Library && problem == exclusive {
                continue;
            }
            for n in [1, 70_001] {
                let plan = plan(&mut bench, label, form, &problem, n);
                let device = bench.device();
                let what = format!("{label} {form} {problem} at {n}");
                for cache in [Cache::Hot, Cache::Cold] {
                    // All cold buffers together are large whatever the size is.
                    if cache == Cache::Cold && (!cold || n == 1 || problem != Problem::default()) {
                        continue;
                    }
                    let found = device.verify(&plan).unwrap_or_else(|failure| panic!("{what}: {failure}"));
                    assert_eq!(found.mismatches, 0, "{what}");
                    let times = device.time(&plan, cache, 3, 2).unwrap();
                    assert_eq!(times.len(), 2, "{what}");
                    let length = Length { calls: 9, per_submission: 1000 };
                    let twin = twin::run(device, &plan, cache, length).unwrap();
                    assert_eq!(twin.reason, None, "{what}, {cache:?}");
                }
            }
        }
    }
}

/// Structures of three words, which stand 12 bytes apart: pushed and in a line; with a total, and with an initial value
/// in memory.
#[test]
fn the_library_scans_elements_of_12_bytes() {
    let file = example("text-position");
    let Some(mut bench) = Bench::new(|| compiler().with_operator(file.clone())) else { return };
    let plain = Problem::of_user(Mode::Exclusive, file.operator(), Placement::OutOfPlace).unwrap();
    let begins = plain.beginning_with(file.value("1,2,3").unwrap()).unwrap();
    let in_memory = begins.with_operands(Total::Stored, InitSource::Memory).unwrap();
    let in_place = Problem::of_user(Mode::Inclusive, file.operator(), Placement::InPlace).unwrap();
    let labels = ["b1.vec2.par.sub.early.turn.wg64", "b1.vec4.par.sub.early.block.wg64"];
    for problem in [begins, in_memory, in_place.reversed()] {
        let pack = pack(&mut bench, &labels.map(|label| (label, false)), &problem, &problem);
        let shaders = catalog::operator_shaders(&problem, bench.device().profile());
        bench.create(&shaders);
        bench.device().load(&problem, &RANDOM, 20_011).unwrap();
        bench.device().lend(Arc::new(pack), Promises::ALL).unwrap();
        for label in labels {
            for n in [1, 1000, 20_011] {
                let plan = plan(&mut bench, label, CallForm::Library, &problem, n);
                let what = format!("{label} {problem} at {n}");
                let found =
                    bench.device().verify(&plan).unwrap_or_else(|failure| panic!("{what}: {failure}"));
                assert_eq!((found.mismatches, found.total), (0, None), "{what}");
                let length = Length { calls: 9, per_submission: 1000 };
                let twin = twin::run(bench.device(), &plan, Cache::Hot, length).unwrap();
                assert_eq!(twin.reason, None, "{what}");
            }
        }
    }
}

/// The plan of a config has its own code too: what is verified must not be that.
#[test]
fn what_is_timed_is_the_code_of_the_pack() {
    let Some(mut bench) = device() else { return };
    let (inclusive, n) = (Problem::default(), 5003);
    let exclusive =
        Problem::new(Mode::Exclusive, Element::U32, Operator::Add, None, Placement::OutOfPlace).unwrap();
    let labels = [(PUSH, false), (BLOCK, false), (BAKED, false)];
    let pack = pack(&mut bench, &labels, &inclusive, &exclusive);
    bench.device().load(&inclusive, &RANDOM, n).unwrap();
    bench.device().lend(Arc::new(pack), Promises::ALL).unwrap();
    for label in [PUSH, BLOCK, BAKED] {
        let plan = plan(&mut bench, label, CallForm::Library, &inclusive, n);
        assert!(bench.device().verify(&plan).unwrap().mismatches > n / 2, "{label}");
        let length = Length { calls: 5, per_submission: 1000 };
        let twin = twin::run(bench.device(), &plan, Cache::Hot, length).unwrap();
        assert!(twin.reason.is_some(), "{label}");
    }
}

#[test]
fn another_choice_of_the_library_is_no_time_of_this_config() {
    let Some(mut bench) = device() else { return };
    let (problem, n) = (Problem::default(), 5003);
    bench.device().load(&problem, &RANDOM, n).unwrap();
    let told = |bench: &mut Bench, label| {
        let plan = plan(bench, label, CallForm::Library, &problem, n);
        let failure = bench.device().verify(&plan).unwrap_err();
        assert_eq!(failure.status, Status::Unsupported);
        failure.reason
    };
    assert!(told(&mut bench, PUSH).contains("no pack to take it from"));
    let pack = pack(&mut bench, &[(LEVELS, false)], &problem, &problem);
    bench.device().lend(Arc::new(pack), Promises::NONE).unwrap();
    let reason = told(&mut bench, PUSH);
    assert!(reason.contains(&format!("for {n} elements the library runs {LEVELS}")), "{reason}");
    assert!(told(&mut bench, BLOCK).contains("no kernel"));
}
