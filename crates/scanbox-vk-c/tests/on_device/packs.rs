//! Packs of inclusive scans for devices of any subgroup size: sums whose arguments stand in lines, or are constants,
//! and structures by a user's operator.

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::packing::{PackBuilder, PackOrigin, pack_device, scan_problem};
use scanbox_model::config::Config;
use scanbox_model::problem::{Mode, Placement, Problem};
use scanbox_pack::{ArgumentKind, Breakpoint, CallUse, ChoiceTable, PackProblem, Promises};
use scanbox_testing::device::with_subgroups;
use scanbox_testing::operator_files::example;

/// The bytes of that of sums.
pub fn bytes() -> Vec<u8> {
    let of = |arguments| CallUse { arguments, ..CallUse::default() };
    let kernels = [
        ("rts.b1.vec4.none.rake.block.wg64", of(ArgumentKind::Line)),
        ("rts.b1.vec4.none.rake.baked.wg64", of(ArgumentKind::Baked)),
    ];
    pack(&Compiler::new(None, None).unwrap(), &Problem::default(), &kernels)
}

/// The bytes of that of structures of 12 bytes, in arrays that begin at any of them.
pub fn of_structures() -> Vec<u8> {
    let file = example("text-position");
    let problem = Problem::of_user(Mode::Inclusive, file.operator(), Placement::OutOfPlace).unwrap();
    let compiler = Compiler::new(None, None).unwrap().with_operator(file);
    let call_use = CallUse { any_element: true, ..CallUse::default() };
    pack(&compiler, &problem, &[("rts.b1.vec4.none.rake.wg64", call_use)])
}

fn pack(compiler: &Compiler, problem: &Problem, kernels: &[(&str, CallUse)]) -> Vec<u8> {
    let mut builder = PackBuilder::new();
    let mut portable = Vec::new();
    for subgroup_size in [4, 8, 16, 32] {
        for &(label, call_use) in kernels {
            let config: Config = label.parse().unwrap();
            let device = with_subgroups(subgroup_size, false);
            let variant = Variant { any_element: call_use.any_element, ..Variant::default() };
            let recipe = catalog::recipe(&config, variant, problem, &device).unwrap();
            let ranked = builder.add_all(compiler, [(label.to_owned(), recipe)]).unwrap();
            portable.push(ChoiceTable {
                call_use,
                needs: Promises::NONE,
                breakpoints: vec![Breakpoint { from: 1, ranked, worst_loss_ppm: None }],
            });
        }
    }
    let problem =
        PackProblem { scan: scan_problem(problem), splittable: false, measured: Vec::new(), portable };
    let origin = PackOrigin {
        kernel_hash: compiler.kernel_hash(),
        measured_utc: String::new(),
        device: pack_device(&with_subgroups(32, false), Vec::new()),
    };
    builder.pack(origin, vec![problem], Vec::new()).unwrap().write()
}
