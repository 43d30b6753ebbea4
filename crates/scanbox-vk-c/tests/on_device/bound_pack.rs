//! A pack of inclusive sums whose arguments stand in lines, or are constants, for devices of any subgroup size.

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::packing::{PackBuilder, PackOrigin, pack_device, scan_problem};
use scanbox_model::config::Config;
use scanbox_model::problem::Problem;
use scanbox_pack::{ArgumentKind, Breakpoint, CallUse, ChoiceTable, PackProblem, Promises};
use scanbox_testing::device::with_subgroups;

/// Its bytes.
pub fn bytes() -> Vec<u8> {
    let compiler = Compiler::new(None, None).unwrap();
    let problem = Problem::default();
    let mut builder = PackBuilder::new();
    let mut portable = Vec::new();
    for subgroup_size in [4, 8, 16, 32] {
        for (label, arguments) in [
            ("rts.b1.vec4.none.rake.block.wg64", ArgumentKind::Line),
            ("rts.b1.vec4.none.rake.baked.wg64", ArgumentKind::Baked),
        ] {
            let config: Config = label.parse().unwrap();
            let device = with_subgroups(subgroup_size, false);
            let recipe = catalog::recipe(&config, Variant::default(), &problem, &device).unwrap();
            let ranked = builder.add_all(&compiler, [(label.to_owned(), recipe)]).unwrap();
            portable.push(ChoiceTable {
                call_use: CallUse { arguments, ..CallUse::default() },
                needs: Promises::NONE,
                breakpoints: vec![Breakpoint { from: 1, ranked, worst_loss_ppm: None }],
            });
        }
    }
    let problem = PackProblem { scan: scan_problem(&problem), measured: Vec::new(), portable };
    let origin = PackOrigin {
        kernel_hash: compiler.kernel_hash(),
        measured_utc: String::new(),
        device: pack_device(&with_subgroups(32, false), Vec::new()),
    };
    builder.pack(origin, vec![problem], Vec::new()).unwrap().write()
}
