//! `pack --check`: kernels that are wrong are found.

use std::fs;
use std::path::Path;

use scanbox_kernels::catalog::{self, Variant};
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::packing::{PackBuilder, PackOrigin, pack_device, scan_problem};
use scanbox_model::config::Config;
use scanbox_model::problem::{Mode, Problem};
use scanbox_pack::{ArgumentKind, Breakpoint, CallUse, ChoiceTable, Pack, PackProblem, Promises};
use scanbox_testing::device::with_subgroups;

use crate::machines::Machine;
use crate::sweeps::{Ended, Place, ended};

/// Workgroups whose tiles are not those of their neighbours: each looks at states that nobody has written yet.
const LABEL: &str = "pers.b1.vec4.gatherfall.sub.striped.robin.early.split.turn.wg64.u1";
/// The same with a line.
const IN_LINE: &str = "pers.b1.vec4.gatherfall.sub.striped.robin.early.split.block.wg64.u1";
/// A workgroup of each tile: what begins anywhere moves over from vectors of the device, as in no persistent kernel.
const SHIFTS: &str = "b1.vec4.gatherfall.sub.striped.wgid.early.split.turn.wg64";

const PLAIN: CallUse = CallUse {
    n_on_device: false,
    total: false,
    init_in_memory: false,
    scratch_overwritten: false,
    arguments: ArgumentKind::Pushed,
    any_element: false,
};
const TOTAL: CallUse = CallUse { total: true, ..PLAIN };
const ANYWHERE: CallUse = CallUse { any_element: true, ..PLAIN };
const TOLD: CallUse = CallUse { n_on_device: true, ..PLAIN };
const TOLD_IN_LINE: CallUse = CallUse { arguments: ArgumentKind::Line, ..TOLD };

/// A folder with the kernels, one text of which is another.
fn changed(folder: &Path, change: Option<(&str, &str, &str)>) -> Compiler {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let (path, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
            match path.is_dir() {
                true => copy(&path, &to.join(name)),
                false => assert!(fs::copy(&path, to.join(name)).is_ok()),
            }
        }
    }
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/glsl"), folder);
    if let Some((file, from, to)) = change {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{file}: {from}");
        fs::write(folder.join(file), text.replace(from, to)).unwrap();
    }
    Compiler::new(Some(folder), None).unwrap()
}

/// A pack of this kernel, as these sources have it, for sums in this use.
fn pack(place: &Place, name: &str, label: &str, call_use: CallUse, change: Option<(&str, &str, &str)>) {
    let sources = tempfile::tempdir().unwrap();
    let compiler = changed(sources.path(), change);
    let device = with_subgroups(8, false);
    let config: Config = label.parse().unwrap();
    let problem = Problem::default();
    assert_eq!(problem.mode(), Mode::Inclusive);
    let CallUse { total, any_element, n_on_device, .. } = call_use;
    let variant = Variant { total, any_element, max_n: n_on_device.then_some(0), ..Variant::default() };
    let recipe = catalog::recipe(&config, variant, &problem, &device).unwrap();
    let mut builder = PackBuilder::new();
    let ranked = builder.add_all(&compiler, [(label.to_owned(), recipe)]).unwrap();
    let breakpoints = vec![Breakpoint { from: 1, ranked, worst_loss_ppm: None }];
    let portable = vec![ChoiceTable { call_use, needs: Promises::NONE, breakpoints }];
    let problems =
        vec![PackProblem { scan: scan_problem(&problem), splittable: false, measured: Vec::new(), portable }];
    let origin = PackOrigin {
        kernel_hash: compiler.kernel_hash(),
        measured_utc: String::new(),
        device: pack_device(&device, Vec::new()),
    };
    let pack = builder.pack(origin, problems, Vec::new()).unwrap();
    fs::write(place.folder().join(name), pack.write()).unwrap();
}

/// A kernel that stores a total.
const SPACE: &str = r#"
name = "parts"
sizes = "2^10,2^12"
[[block]]
family = ["chained-scan"]
batch_size = [1]
vector_width = ["vec4"]
lookback = ["parallel"]
block_scan = ["raking"]
reset = ["turn"]
workgroup_size = [64]
"#;

/// Parts of scans of more elements than a kernel takes are a use that packs of files have too, unless a transform is in
/// the way; what begins them is compared.
#[test]
fn packs_of_files_have_kernels_for_parts() {
    let Some(Machine::With(driver)) = Machine::lavapipe() else { return };
    let place = Place::in_memory("");
    fs::write(place.folder().join("parts.toml"), SPACE).unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/operators");
    let affine = fs::read_to_string(examples.join("affine.glsl")).unwrap();
    let run = |line: &[&str]| {
        let mut command = place.scanbox(line);
        command
            .env("VK_DRIVER_FILES", &driver)
            .env("LP_NATIVE_VECTOR_WIDTH", "256")
            .env("LP_NUM_THREADS", "1")
            .env("SCANBOX_LOCKS", place.folder());
        let ended = ended(command.output().unwrap());
        assert_eq!(ended.code, Some(0), "{line:?}: {}{}", ended.stdout, ended.stderr);
        ended
    };
    let transform = |name: &str, offset: &str| {
        format!(
            "Element transform_{name}(const Element value, const uint index) {{\n\
             return Element(value.scale, value.offset + {offset});\n}}\n"
        )
    };
    for (name, more, mode, splits) in [
        ("plain", String::new(), "exclusive", true),
        ("plain", String::new(), "reduce", true),
        ("both", transform("input", "3u") + &transform("output", "5u"), "inclusive", true),
        ("both", transform("input", "3u") + &transform("output", "5u"), "reduce", false),
        ("indexed", transform("input", "index"), "inclusive", false),
    ] {
        let file = format!("{name}.glsl");
        fs::write(place.folder().join(&file), format!("{affine}\n{more}")).unwrap();
        let [rows, pack] = ["csv", "scanpack"].map(|ending| format!("{name}-{mode}.{ending}"));
        let operator = ["--operator", &file];
        let sweep = ["sweep", "--device", "0", "--space", "./parts.toml", "--mode", mode, "--out", &rows];
        run(&[&sweep[..], &operator].concat());
        let few = ["--uses", "pushed,total,init-in-memory", "--portable", "8"];
        run(&[&["pack", &rows, "-o", &pack][..], &few, &operator].concat());
        let made = Pack::read(&fs::read(place.folder().join(&pack)).unwrap()).unwrap();
        let problem = &made.data().problems[0];
        let part = CallUse { total: mode != "reduce", init_in_memory: true, ..PLAIN };
        let has_part = problem.measured.iter().any(|table| table.call_use == part);
        assert_eq!((problem.splittable, has_part), (splits, splits), "{name} {mode}");
        let checked = run(&[&["pack", "--check", &pack, "--device", "0"][..], &operator].concat()).stdout;
        assert!(
            checked.contains("kernels right") && !checked.contains("not tried"),
            "{name} {mode}: {checked}"
        );
    }
}

#[test]
fn wrong_kernels_are_found() {
    let Some(Machine::With(driver)) = Machine::lavapipe() else { return };
    let place = Place::in_memory("");
    let check = |name: &str, code: i32| -> Ended {
        let mut command = place.scanbox(&["pack", "--check", name, "--format", "json"]);
        let command = command
            .env("VK_DRIVER_FILES", &driver)
            .env("LP_NATIVE_VECTOR_WIDTH", "256")
            .env("LP_NUM_THREADS", "1")
            .env("SCANBOX_LOCKS", place.folder());
        let ended = ended(command.output().unwrap());
        assert_eq!(ended.code, Some(code), "{name}: {}{}", ended.stdout, ended.stderr);
        ended
    };
    // With a total one of the calls has no elements. Arrays that begin anywhere begin at each of 16; where the device
    // knows how many elements there are, it says too many once.
    for (label, call_use, calls) in [
        (LABEL, TOTAL, 8),
        (LABEL, ANYWHERE, 16),
        (SHIFTS, ANYWHERE, 16),
        (LABEL, TOLD, 8),
        (IN_LINE, TOLD_IN_LINE, 8),
    ] {
        pack(&place, "right.scanpack", label, call_use, None);
        let right = check("right.scanpack", 0).stdout;
        let tried: serde_json::Value = serde_json::from_str(&right).unwrap();
        assert_eq!(tried["verdicts"][0]["calls"].as_u64(), Some(calls), "{label} {call_use}: {right}");
    }
    for (name, label, call_use, file, from, to, what) in [
        // Who takes states of the call before for those of this one.
        (
            "stale",
            LABEL,
            TOTAL,
            "stages/state/turn.glsl",
            "const uint next = private_epoch == LAST_EPOCH ? FIRST_EPOCH : private_epoch + 1u;",
            "const uint next = private_epoch;",
            "wrong words of a call",
        ),
        // Who writes behind its memory: one state too many.
        (
            "behind",
            LABEL,
            TOTAL,
            "stages/lookback/onward.glsl",
            "publish(tile, AGGREGATE, total);",
            "publish(tile, AGGREGATE, total);\n    publish((MOST_TILES + 31u) / 32u * 32u + 3u, AGGREGATE, total);",
            "writes behind its scratch memory",
        ),
        // Who leaves nothing where there is nothing.
        (
            "nothing",
            LABEL,
            TOTAL,
            "stages/tile/load_store.glsl",
            "if (ELEMENTS == 0u && tile == 0u",
            "if (ELEMENTS == 1u && tile == 1u",
            "a call of 0",
        ),
        // Whose vectors come from elsewhere where the input begins two elements behind a place for vectors.
        (
            "shifted",
            SHIFTS,
            ANYWHERE,
            "stages/tile/shifted_vectors.glsl",
            "const uint shift = MISPLACED(params.source_address);",
            "const uint shift = MISPLACED(params.source_address) == 2u ? 1u : MISPLACED(params.source_address);",
            "wrong words of a call",
        ),
        // Who takes the word of the device for how many elements there are.
        (
            "beyond",
            LABEL,
            TOLD,
            "arguments.glsl",
            "private_n = min(count.value, MAX_N);",
            "private_n = min(count.value, MAX_N + 1u);",
            "wrong words of a call",
        ),
        (
            "beyond in a line",
            IN_LINE,
            TOLD_IN_LINE,
            "arguments.glsl",
            "params.n = min(words[4], MAX_N);",
            "params.n = min(words[4], MAX_N + 1u);",
            "wrong words of a call",
        ),
    ] {
        let name = format!("{name}.scanpack");
        pack(&place, &name, label, call_use, Some((file, from, to)));
        let wrong = check(&name, 5);
        assert!(wrong.stdout.contains(what), "{name}: {wrong:?}");
    }
}
