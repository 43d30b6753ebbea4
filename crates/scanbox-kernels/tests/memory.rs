//! Memory that shaders and plans have to agree about: the layout of the scratch memory, and the bytes of shared memory.

use std::collections::BTreeMap;

use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_kernels::plan::{
    ARGUMENT_WORDS, BANK_WORDS, FIRST_TURN, GROUP_TILES, LINE_BYTES, N_WORD, NEXT_WORD, READERS_WORD,
    RECORD_WORDS, ROW, TICKET_BYTES, TURN_WORD,
};
use scanbox_model::config::{Config, MOST_ROWS};
use scanbox_model::device::DeviceProfile;
use scanbox_model::parameters::Parameter;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_testing::device::with_subgroups;
use scanbox_testing::operator_files;

const LAYOUT: &str = include_str!("../../../kernels/glsl/stages/state/layout.glsl");

const ARGUMENTS: &str = include_str!("../../../kernels/glsl/arguments.glsl");
const FEW: &str = include_str!("../../../kernels/glsl/stages/block/few_elements.glsl");
const TURN: &str = include_str!("../../../kernels/glsl/stages/state/turn.glsl");

/// The numbers of a source, by name: `const uint NAME = 32u;`.
fn numbers(source: &'static str) -> BTreeMap<&'static str, u64> {
    let number = |line: &'static str| {
        let (name, value) = line.strip_prefix("const uint ")?.split_once(" = ")?;
        Some((name, value.split('u').next()?.parse().ok()?))
    };
    source.lines().filter_map(number).collect()
}

#[test]
fn scratch_memory_has_the_layout_of_the_plan() {
    let plan = [
        ("TICKET_BYTES", TICKET_BYTES),
        ("GROUP_TILES", GROUP_TILES),
        ("BANK_WORDS", BANK_WORDS),
        ("ROW", ROW),
    ];
    assert_eq!(numbers(LAYOUT), plan.into());
}

#[test]
fn few_elements_have_the_rows_of_the_plan() {
    assert_eq!(numbers(FEW).get("MOST_ROWS"), Some(&u64::from(MOST_ROWS)));
}

#[test]
fn lines_of_arguments_have_the_layout_of_the_plan() {
    let plan = [
        ("ARGUMENT_WORDS", ARGUMENT_WORDS as u64),
        ("NEXT_WORD", NEXT_WORD as u64),
        ("RECORD_QUADS", RECORD_WORDS as u64 / 4),
        ("LINE_BYTES", LINE_BYTES),
    ];
    assert_eq!(numbers(ARGUMENTS), plan.into());
    let constants: Vec<String> = ARGUMENTS
        .lines()
        .filter_map(|line| line.strip_prefix("layout(constant_id = "))
        .map(str::to_owned)
        .collect();
    assert!(ARGUMENTS.contains(&format!("min(words[{N_WORD}], MAX_N)")));
    let names = ["LINE_LOW", "LINE_HIGH", "SCRATCH_LOW", "SCRATCH_HIGH", "MAX_N"];
    for (place, name) in names.iter().enumerate() {
        let declared = format!("{}) const uint {name} = 0u;", ARGUMENT_WORDS + place);
        assert!(constants.contains(&declared), "{declared}");
    }
    for word in (0..ARGUMENT_WORDS).filter(|word| !(NEXT_WORD..RECORD_WORDS).contains(word)) {
        let declared = format!("{word}) const uint BAKED_{word} = 0u;");
        assert!(constants.contains(&declared), "{declared}");
    }
    // One bit of an address is what the lines of a pair differ in.
    assert!(4 * ARGUMENT_WORDS as u64 <= LINE_BYTES && LINE_BYTES.is_power_of_two());
}

#[test]
fn turns_have_the_layout_of_the_plan() {
    let plan =
        [("FIRST_EPOCH", u64::from(FIRST_TURN)), ("TURN_WORD", TURN_WORD), ("READERS_WORD", READERS_WORD)];
    let numbers = numbers(TURN);
    for (name, number) in plan {
        assert_eq!(numbers[name], number, "{name}");
    }
    // On a cache line that nobody else writes; the count apart from the ticket.
    const { assert!(4 * TURN_WORD >= 128 && 4 * TURN_WORD < TICKET_BYTES) };
    const { assert!(READERS_WORD >= 8 && READERS_WORD < TURN_WORD) };
}

/// Bytes of all variables of a module that stand in shared memory, without what lies between them.
fn workgroup_bytes(module: &[u32]) -> u64 {
    const WORKGROUP: u32 = 4;
    let mut bytes: BTreeMap<u32, u64> = BTreeMap::new();
    let mut constants: BTreeMap<u32, u64> = BTreeMap::new();
    let mut total = 0;
    let mut rest = &module[5..];
    while let [first, ..] = rest {
        let (instruction, behind) = rest.split_at((first >> 16) as usize);
        rest = behind;
        match (first & 0xffff, &instruction[1..]) {
            // Integers and floats, vectors, arrays, structures.
            (21 | 22, [id, width, ..]) => _ = bytes.insert(*id, u64::from(width / 8)),
            // Those of truth values are in no memory.
            (23, [id, component, count]) => {
                let component = bytes.get(component).copied().unwrap_or(0);
                bytes.insert(*id, component * u64::from(*count));
            }
            (28, [id, element, count]) => {
                // An array of something that is in no memory has no bytes here.
                let element = bytes.get(element).copied().unwrap_or(0);
                bytes.insert(*id, element * constants[count]);
            }
            (30, [id, members @ ..]) => {
                let members = members.iter().filter_map(|member| bytes.get(member)).sum();
                bytes.insert(*id, members);
            }
            // A pointer to shared memory counts as what it points to.
            (32, [id, WORKGROUP, pointee]) => _ = bytes.insert(*id, bytes[pointee]),
            (43, [_, id, value, ..]) => _ = constants.insert(*id, (*value).into()),
            (59, [pointer, _, WORKGROUP, ..]) => total += bytes[pointer],
            _ => {}
        }
    }
    total
}

/// Of single elements, flags and alignment.
const SLACK: u64 = 448;

/// What the passes of a plan declare at most, and what is planned.
fn shared(config: &Config, problem: &Problem, device: &DeviceProfile, compiler: &Compiler) -> (u64, u64) {
    let plan = catalog::plan(config, problem, 100_000, device).unwrap();
    let declared = plan.passes.iter().map(|pass| {
        let module = compiler.compile(&pass.shader).unwrap();
        workgroup_bytes(&module.code.spirv().unwrap())
    });
    (declared.max().unwrap(), catalog::Resolved::new(config, problem, 1, device).shared_bytes().unwrap())
}

/// A rule leaves out what needs more than a device has: it counts what vectors go through where they are stored by
/// whole sectors, and nothing where they are not.
#[test]
fn shared_memory_of_whole_sectors_is_what_the_stages_declare() {
    let device = DeviceProfile { guarantees: Guarantee::VALUES.to_vec(), ..with_subgroups(32, true) };
    let zeros = "Element transform_output(const Element value, const uint index) { return identity(); }";
    let doubles = |mode, placement| Problem::new(mode, Element::F64, Operator::Add, None, placement).unwrap();
    let text = operator_files::example("text-position");
    let stored_as_zeros = operator_files::operator("zeros", &format!("{}\n{zeros}", text.source().text));
    let matrix = operator_files::example("matrix2x2");
    let (scan, reduction) = (Mode::Inclusive, Mode::Reduce);
    let (apart, in_place) = (Placement::OutOfPlace, Placement::InPlace);
    let of = |file: &OperatorFile, mode, placement| {
        (Some(file.clone()), Problem::of_user(mode, file.operator(), placement).unwrap())
    };
    // A problem, and of vectors of how many lanes the bytes go through shared memory.
    let problems = [
        ((None, doubles(scan, apart)), &[4][..], 8),
        ((None, doubles(Mode::Exclusive, apart)), &[4], 8),
        ((None, doubles(scan, in_place)), &[], 8),
        ((None, doubles(scan, apart).reversed()), &[], 8),
        ((None, doubles(reduction, apart)), &[], 8),
        (of(&text, scan, apart), &[1, 2, 4], 12),
        (of(&text, scan, in_place), &[], 12),
        (of(&text, reduction, apart), &[], 12),
        (of(&stored_as_zeros, scan, apart), &[], 12),
        (of(&matrix, scan, apart), &[], 16),
    ];
    for ((file, problem), staged, bytes) in problems {
        let compiler = Compiler::new(None, None).unwrap();
        let compiler = match file {
            Some(file) => compiler.with_operator(file),
            None => compiler,
        };
        for (width, lanes) in [("scalar", 1), ("vec2", 2), ("vec4", 4)] {
            for (kernel, end) in [
                ("b2", "gather.sub.striped.early.wg256"),
                ("redo.b2", "none.sub.striped.wg256"),
                ("rts.b2", "none.sub.striped.wg256"),
                ("stp.b2", "none.sub.striped.wg256"),
                ("one.b2", "none.sub.striped.wg256"),
                ("pers.b2", "gather.sub.striped.early.wg256.u1"),
            ] {
                let label = format!("{kernel}.{width}.{end}");
                let config: Config = label.parse().unwrap();
                if catalog::legal(&config, &problem, 100_000, &device).is_err() {
                    continue;
                }
                let (declared, planned) = shared(&config, &problem, &device, &compiler);
                assert!(
                    (declared..=declared + SLACK).contains(&planned),
                    "{label}, {problem}: {declared} bytes, and {planned} are planned"
                );
                // Tiles that another pass goes over again are transformed by that one.
                let is_for_later =
                    kernel.starts_with("stp") && problem.user().is_some_and(|user| user.transforms.output);
                let is_staged = is_for_later || staged.contains(&lanes);
                let pieces = bytes * lanes * 256;
                assert_eq!(declared >= pieces, is_staged, "{label}, {problem}: {declared} bytes");
            }
        }
    }
}

#[test]
fn shared_memory_is_what_the_stages_declare() {
    let device = DeviceProfile { guarantees: Guarantee::VALUES.to_vec(), ..with_subgroups(4, true) };
    let compiler = Compiler::new(None, None).unwrap();
    let sum =
        Problem::new(Mode::Inclusive, Element::F64, Operator::Add, None, Placement::OutOfPlace).unwrap();
    for label in [
        "b4.vec4.par.rake.direct.wg256",
        "b4.vec4.par.blelloch.direct.wg256",
        "b4.vec4.par.ks.direct.wg256",
        "b4.vec4.par.sk.direct.wg256",
        "b4.vec4.par.bk.direct.wg256",
        "b4.vec4.par.rs.direct.wg256",
        "b4.vec4.par.sub.wg128",
        "b6.vec2.seq.sub.early.backoff.clean.wg128",
        "b2.vec2.gather.sub.striped.early.wg512",
        "b2.vec2.two.sub.striped.early.wg512",
        "b2.vec2.fallback.sub.striped.early.wg512",
        "b2.vec2.gatherfall.sub.striped.early.wg512",
        "redo.b2.vec2.none.sub.striped.wg512",
        "pers.b2.vec2.gather.sub.striped.early.wg512.u1",
        "pers.b2.vec2.two.sub.striped.early.wg512.u1",
        "pers.b2.vec2.gather.sub.striped.early.flags.wg512.u1",
        "b2.vec2.gather.sub.striped.early.block.wg512",
        "b2.vec2.fallback.sub.striped.early.turn.wg512",
        "pers.b2.vec2.two.sub.striped.early.baked.wg512.u1",
    ] {
        let config = label.parse().unwrap();
        let (declared, planned) = shared(&config, &sum, &device, &compiler);
        let fits = (declared..=declared + SLACK).contains(&planned);
        assert!(declared > 0 && fits, "{label}: {declared} bytes, and {planned} are planned");
    }
}
