//! Memory that shaders and plans have to agree about: the layout of the scratch memory, and the bytes of shared memory.

use std::collections::BTreeMap;

use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::plan::{
    ARGUMENT_WORDS, BANK_WORDS, FIRST_TURN, GROUP_TILES, LINE_BYTES, N_WORD, NEXT_WORD, READERS_WORD,
    RECORD_WORDS, ROW, TICKET_BYTES, TURN_WORD,
};
use scanbox_model::config::MOST_ROWS;
use scanbox_model::device::DeviceProfile;
use scanbox_model::parameters::Parameter;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_testing::device::with_subgroups;

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
            (23, [id, component, count]) => _ = bytes.insert(*id, bytes[component] * u64::from(*count)),
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
        let plan = catalog::plan(&config, &sum, 100_000, &device).unwrap();
        let module = compiler.compile(&plan.passes[0].shader).unwrap();
        let declared = workgroup_bytes(&module.code.spirv().unwrap());
        let planned = catalog::Resolved::new(&config, &sum, 1, &device).shared_bytes().unwrap();
        let fits = (declared..=declared + SLACK).contains(&planned);
        assert!(declared > 0 && fits, "{label}: {declared} bytes, and {planned} are planned");
    }
}
