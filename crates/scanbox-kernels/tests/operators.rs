//! Operators of users: what a file may say, what is made of it, and which kernels can run it.

mod transforms;

use std::collections::HashSet;
use std::io::ErrorKind;

use proptest::prelude::*;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::input::{Input, InputKind};
use scanbox_kernels::operator_file::{OperatorError, OperatorFile, OperatorSource};
use scanbox_kernels::plan::Binding;
use scanbox_kernels::{catalog, legal};
use scanbox_model::config::Parameter;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Element, Mode, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_testing::device::with_subgroups as device;
use scanbox_testing::operator_files::{example, operator};

/// A file with this pragma, these fields and these functions.
fn text(facts: &str, fields: &str, functions: &[&str]) -> String {
    let functions: Vec<String> =
        functions.iter().map(|name| format!("Element {name}() {{ return Element(0u); }}")).collect();
    format!("#pragma scanbox operator({facts})\nstruct Element {{\n{fields}\n}};\n{}", functions.join("\n"))
}

const ALL: &[&str] = &["identity", "combine", "draw"];
const FACTS: &str = "commutative = no, exact = yes";

#[test]
fn files_say_what_an_operator_is() {
    let check = |name: &str, element, facts: &str| {
        let operator = example(name).operator();
        assert_eq!(
            (operator.name.as_str(), operator.element, operator.facts().as_str()),
            (name, element, facts)
        );
    };
    check("affine", Element::Struct8, "ordered+exact");
    check("affine-f32", Element::Struct8, "ordered+tolerance=0.00001");
    check("matrix2x2", Element::Struct16, "ordered+exact");
    check("segmented-sum", Element::Struct8, "ordered+exact");
    check("argmax", Element::Struct8, "commutative+exact");
    check("text-position", Element::Struct12, "ordered+exact");
    // The manual shows one of them as it is.
    let manual = include_str!("../../../kernels/README.md");
    assert!(manual.contains(&example("affine").source().text));
    // Whatever stands in the file is in its hash.
    let [a, b] = ["// a", "// b"].map(|end| operator("a", &(text(FACTS, "uint a;", ALL) + end)).operator());
    assert_ne!(a.hash, b.hash);
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let check = |path: &str, text: String, expected: &str| {
        let error =
            OperatorFile::new(OperatorSource { path: path.to_owned(), text }).unwrap_err().to_string();
        assert!(error.starts_with(path), "{error}");
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
    };
    let good = || text(FACTS, "uint a;", ALL);
    for path in ["Upper.glsl", "under_score.glsl", "2x2.glsl", "", "a/b c.glsl"] {
        check(path, good(), "the name of the file is that of the operator");
    }
    check("a-name-that-is-longer-than-32-characters.glsl", good(), "32 at most");
    check("max.glsl", good(), "`max` is an operator of scanbox's own");
    check("user.glsl", good(), "give the file another name");
    let facts = |facts: &str| text(facts, "uint a;", ALL);
    check(
        "x.glsl",
        good().replace("#pragma", "// #pragma"),
        "there is no line that says what the operator is",
    );
    check(
        "x.glsl",
        good() + "\n#pragma scanbox operator(exact = yes)",
        "x.glsl:8: a second `#pragma scanbox`; the first is in line 1",
    );
    check("x.glsl", good().replace("operator(", "monoid("), "x.glsl:1: `#pragma scanbox monoid(");
    check(
        "x.glsl",
        good().replace("yes)", "yes"),
        "is not an operator; for example `#pragma scanbox operator(",
    );
    check("x.glsl", facts("commutative, exact = yes"), "x.glsl:1: `commutative` is not a fact with a value");
    check("x.glsl", facts("commutative = maybe, exact = yes"), "`commutative = maybe`: it is yes or no");
    check("x.glsl", facts("commutative = no, exact = yes, bytes = 8"), "`bytes` is not a fact");
    check("x.glsl", facts("exact = yes, exact = yes"), "`exact` is there twice");
    check("x.glsl", facts("exact = yes"), "whether the order of two elements matters");
    check("x.glsl", facts("commutative = no"), "what counts as right");
    check("x.glsl", facts("commutative = no, exact = no"), "what counts as right");
    check("x.glsl", facts("commutative = no, exact = yes, tolerance = 0.1"), "it is one of them");
    for tolerance in ["0", "-0.1", "1", "nan", "inf", "much"] {
        check(
            "x.glsl",
            facts(&format!("commutative = no, tolerance = {tolerance}")),
            "it is a number above 0 and below 1",
        );
    }
    check("x.glsl", facts("commutative = no, tolerance = 1e-5"), "a tolerance is for fields that are floats");
    let fields = |fields: &str| text(FACTS, fields, ALL);
    check("x.glsl", good().replace("struct Element", "struct Pair"), "there is no `struct Element { ... };`");
    check("x.glsl", good().replace("struct Element", "// struct Element"), "there is no `struct Element");
    check("x.glsl", fields(""), "`struct Element` has no fields");
    check(
        "x.glsl",
        fields("uint a;\ndouble b;"),
        "x.glsl:4: `double` is not a type of a field: there are uint, uvec2",
    );
    check("x.glsl", fields("uint a[2];"), "x.glsl:3: `uint a[`: a field is a type and a name");
    check(
        "x.glsl",
        fields("uvec4 a; uint b;"),
        "has 20 bytes, and elements have 4, 8, 12 or 16: pack small fields into one word",
    );
    check(
        "x.glsl",
        "#pragma scanbox operator(commutative = no, exact = yes)\nstruct Element { uint a".into(),
        "has no end",
    );
    for (more, line, word) in [
        ("layout(buffer_reference) buffer Far { uint v; };", 8, "layout"),
        ("// layout\n\nlayout(push_constant) uniform Own { uint v; };", 10, "layout"),
        ("#define OUTSIDE uniform\n", 8, "uniform"),
        ("lay\\\nout(set = 0) buf\\\nfer Far { uint v; };", 8, "layout"),
        ("uint a;\nbuf\\\nfer\\", 9, "buffer"),
    ] {
        check("x.glsl", good() + "\n" + more, &format!("x.glsl:{line}: `{word}`: an operator declares no"));
    }
    check(
        "x.glsl",
        text(FACTS, "uint a;", &["identity", "draw"]),
        "there is no function `Element combine(...)`",
    );
    check(
        "x.glsl",
        text(FACTS, "uint a;", &["combine", "draw"]),
        "there is no function `Element identity(...)`",
    );
    check("x.glsl", text(FACTS, "float a;", &["identity", "combine"]), "there is no function `Element draw(");
    // What is not called and nearly has the name of something that may be there would be left out without a word.
    let own = |function: &str| format!("{}\n{function}\n", text(FACTS, "uint a;", &["identity", "combine"]));
    for (typed, meant) in [
        ("drwa(const uvec2 random, const uint index)", "draw"),
        ("transform_inptu(const Element value, const uint index)", "transform_input"),
        ("transform_out(const Element value, const uint index)", "transform_output"),
    ] {
        let function = format!("Element {typed} {{ return identity(); }}");
        let name = typed.split('(').next().unwrap();
        let told = format!("nothing calls the function `{name}`; did you mean `{meant}`?");
        check("x.glsl", own(&function), &told);
    }
    let helper = "Element drawn() { return identity(); }\nElement draw(const uvec2 r, const uint i) { return drawn(); }";
    OperatorFile::new(OperatorSource { path: "x.glsl".into(), text: own(helper) }).unwrap();
    let missing = OperatorFile::read("nowhere/affine.glsl".as_ref()).unwrap_err();
    let OperatorError::Unreadable { place, source } = missing else { panic!("{missing}") };
    assert_eq!((place.as_str(), source.kind()), ("nowhere/affine.glsl", ErrorKind::NotFound));
}

fn problems(file: &OperatorFile) -> Vec<Problem> {
    let modes = [Mode::Inclusive, Mode::Exclusive, Mode::Reduce];
    modes
        .into_iter()
        .map(|mode| Problem::of_user(mode, file.operator(), Placement::OutOfPlace).unwrap())
        .collect()
}

#[test]
fn any_fields_become_words_and_back() {
    let device = device(32, true);
    let layouts = [
        "uint a;",
        "int a;",
        "float a;",
        "uint a, b;",
        "int a; float b;",
        "vec2 ab;",
        "ivec2 ab;",
        "vec3 abc; uint d;",
        "uint a; ivec3 bcd;",
        "uvec2 ab; float c, d;",
        "ivec4 abcd;",
        "vec4 abcd;",
    ];
    for fields in layouts {
        let floats = fields.contains("float") || fields.starts_with("vec");
        let facts = if floats { "commutative = yes, tolerance = 0.001" } else { FACTS };
        // Without a draw where any words will do.
        let draw = if floats {
            "Element draw(const uvec2 random, const uint index) { return identity(); }"
        } else {
            ""
        };
        let text = format!(
            "#pragma scanbox operator({facts})
            struct Element {{ {fields} }};
            Element zero;
            Element identity() {{ return zero; }}
            Element combine(const Element earlier, const Element later) {{ return later; }}
            {draw}"
        );
        let file = operator("layout", &text);
        let compiler = Compiler::new(None, None).unwrap().with_operator(file.clone());
        for problem in problems(&file) {
            for outcome in compiler.compile_all(&catalog::operator_shaders(&problem, &device)) {
                outcome.unwrap_or_else(|error| panic!("{fields}: {error}"));
            }
        }
    }
}

#[test]
fn the_compiler_names_the_users_file_and_line() {
    let device = device(32, true);
    let check = |text: &str, expected: &str| {
        let source = OperatorSource { path: "some/where/wrong.glsl".into(), text: text.to_owned() };
        let file = OperatorFile::new(source).unwrap();
        let compiler = Compiler::new(None, None).unwrap().with_operator(file.clone());
        let shader = &catalog::operator_shaders(&problems(&file)[0], &device)[0];
        let error = compiler.compile(shader).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let good = text(FACTS, "uint a;", &["identity"])
        + "\nElement combine(const Element a, const Element b) {\n    return b;\n}";
    check(
        &good.replace("return b", "return c"),
        "some/where/wrong.glsl:7: error: 'c' : undeclared identifier",
    );
    check(&(good.clone() + "\n#include \"other.glsl\""), "there is no kernel source some/where/other.glsl");
    // Not even one of the kernels'.
    check(&(good.clone() + "\n#include \"params.glsl\""), "there is no kernel source some/where/params.glsl");
}

/// Shuffles in blocks that some invocations of a subgroup enter without the others: values of those that are missing
/// there are undefined (Vulkan 1.3, 9.26, "shuffle"; an NVIDIA H200 gives zeros, software devices the values).
fn shuffles_of_some(spirv: &[u32]) -> usize {
    const SUBGROUP_LOCAL_INVOCATION_ID: u32 = 41;
    let mut instructions = Vec::new();
    let mut at = 5;
    while at < spirv.len() {
        let words = (spirv[at] >> 16) as usize;
        instructions.push((spirv[at] & 0xffff, &spirv[at + 1..at + words]));
        at += words;
    }
    // What depends on the place of an invocation in its subgroup, by arithmetic; the blocks that such conditions
    // choose between.
    let mut places = HashSet::new();
    let (mut merge, mut chosen) = (0, HashSet::<u32>::new());
    for (opcode, operands) in &instructions {
        match (opcode, *operands) {
            // OpDecorate BuiltIn, OpLoad, conversions to comparisons
            (71, [variable, 11, SUBGROUP_LOCAL_INVOCATION_ID]) => drop(places.insert(*variable)),
            (61 | 109..=200, [_, result, from @ ..]) if from.iter().any(|id| places.contains(id)) => {
                places.insert(*result);
            }
            (247, [label, ..]) => merge = *label,
            (250, [condition, targets @ ..]) if places.contains(condition) => {
                chosen.extend(targets.iter().take(2).filter(|&&label| label != merge));
            }
            _ => {}
        }
    }
    let mut block = 0;
    let mut found = 0;
    for (opcode, operands) in &instructions {
        match opcode {
            248 => block = operands[0],
            345..=348 if chosen.contains(&block) => found += 1,
            _ => {}
        }
    }
    found
}

#[test]
fn shuffles_are_made_by_whole_subgroups() {
    let device = DeviceProfile { guarantees: Guarantee::VALUES.to_vec(), ..device(32, true) };
    let file = example("affine");
    let compiler = Compiler::new(None, None).unwrap().with_operator(file.clone());
    let labels =
        ["b4.vec4.par.rake.wg128", "b4.vec4.seq.sub.striped.wg128", "b2.vec2.par.sub.shuffle.striped.wg64"];
    for (label, problem) in
        labels.iter().flat_map(|label| problems(&file).into_iter().map(move |problem| (label, problem)))
    {
        // A reduction by subgroups would publish early.
        let reduces_by_subgroups = label.contains(".sub.") && problem.mode() == Mode::Reduce;
        let plan = catalog::plan(&label.parse().unwrap(), &problem, 100_000, &device);
        assert_eq!(plan.is_err(), reduces_by_subgroups, "{label} {problem}");
        for pass in plan.into_iter().flat_map(|plan| plan.passes) {
            let module = compiler.compile(&pass.shader).unwrap();
            assert_eq!(shuffles_of_some(&module.code.spirv().unwrap()), 0, "{label} {problem}");
        }
    }
}

#[test]
fn a_shader_includes_the_file_that_it_is_for() {
    let device = device(32, true);
    let (affine, matrix) = (example("affine"), example("segmented-sum"));
    let shader = catalog::operator_shaders(&problems(&affine)[0], &device).remove(0);
    let other = Compiler::new(None, None).unwrap().with_operator(matrix);
    assert!(other.compile(&shader).unwrap_err().to_string().contains("another version"));
    let none = Compiler::new(None, None).unwrap();
    assert!(none.compile(&shader).unwrap_err().to_string().contains("operator_file.glsl"));
    // Two texts never share what is cached.
    let folder = std::env::temp_dir().join(format!("scanbox-operators-{}", std::process::id()));
    let cached = || Compiler::new(None, Some(folder.clone())).unwrap();
    let before = cached().with_operator(affine.clone()).compile(&shader).unwrap();
    let again = cached().with_operator(affine.clone()).compile(&shader).unwrap();
    assert_eq!((before.code.spirv().unwrap() == again.code.spirv().unwrap(), again.compile_ms), (true, 0));
    assert!(cached().compile(&shader).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
    // scanbox's own sources are what they are, with or without an operator.
    assert_eq!(none.kernel_hash(), none_with(&affine).kernel_hash());
}

fn none_with(file: &OperatorFile) -> Compiler {
    Compiler::new(None, None).unwrap().with_operator(file.clone())
}

#[test]
fn rules_say_which_kernels_can_run_an_operator() {
    let mut willing = device(32, true);
    willing.guarantees = Guarantee::VALUES.to_vec();
    let check = |label: &str, file: &OperatorFile, expected: &str| {
        let config = label.parse().unwrap();
        for problem in problems(file) {
            // A reduction has rules of its own.
            if problem.mode() == Mode::Reduce && label.contains("sub") {
                continue;
            }
            let rule = legal(&config, &problem, 1000, &willing).err().map(|no| no.rule.into_owned());
            assert_eq!(rule.unwrap_or_default(), expected, "{label} {problem}");
        }
    };
    let (affine, argmax, matrix) = (example("affine"), example("argmax"), example("matrix2x2"));
    for label in [
        "b4.vec4.seq.rake.wg64",
        "b4.vec4.par.blelloch.wg64",
        "b4.vec4.par.sub.wg64",
        "b4.vec4.par.sub.striped.early.wg64",
        "b4.vec4.par.sub.shuffle.striped.wg64",
        "b2.vec2.par.rake.direct.width3.stride4.split.fill.wg64",
        "one.b1.scalar.none.rake.wg64",
        "b4.vec4.gather.rake.wg64",
        "b4.vec4.gather.sub.striped.early.wg64",
        "b4.vec4.two.rake.wg64",
    ] {
        for file in [&affine, &argmax, &matrix] {
            check(label, file, "");
        }
    }
    let scan = |label: &str, file: &OperatorFile, expected: &str| {
        let problem = problems(file)[0];
        let rule = legal(&label.parse().unwrap(), &problem, 1000, &willing).err();
        assert_eq!(rule.map(|no| no.rule.into_owned()).unwrap_or_default(), expected, "{label} {problem}");
    };
    for file in [&affine, &argmax, &matrix] {
        scan("redo.b1.vec4.none.rake.wg64", file, "");
        scan("pers.b2.vec4.gather.sub.early.wg64.u2", file, "");
        scan("pers.b2.vec4.two.sub.shuffle.striped.early.wg64.u2", file, "");
    }
    scan("b4.vec4.gatherfall.rake.wg64", &affine, "");
    scan("b4.vec4.gatherfall.rake.wg64", &argmax, "");
    scan("b4.vec4.par.rake.packed.wg64", &argmax, "packed-needs-u32-sum");
    scan("b4.vec4.par.rake.word64.wg64", &affine, "");
    scan("b4.vec4.par.sub.shuffle.wg64", &affine, "shuffle-is-operation");
    scan("b1.vec4.par.sub.shuffle.striped.wg64", &affine, "shuffle-is-operation");
    let four = operator("four", &text(FACTS, "uint a;", ALL));
    scan("b4.vec4.par.rake.word64.wg64", &four, "");
    // The memory of a tile is that of its elements: 1,024 x 4 x 16 x 16 bytes do not go through 32 KiB at once, nor
    // in 16 rounds.
    scan("b16.vec4.par.rake.wg1024", &matrix, "shared-memory");
}

#[test]
fn the_answer_is_made_in_chunks_that_any_size_has_work_for() {
    let device = device(32, true);
    let file = example("affine");
    let input = Input { kind: InputKind::Random, seed: 1 << 40 | 7 };
    for n in [1, 63, 64, 65, 1 << 20, (1 << 20) + 1, (1 << 30) + 12345] {
        let plan = catalog::operator_load(&problems(&file)[0], &file.operator(), &input, n, &device);
        let [scanbox_kernels::plan::PushWord::Value(count), scanbox_kernels::plan::PushWord::Value(chunk)] =
            plan.passes[1].words[..]
        else {
            panic!("{:?}", plan.passes[1].words)
        };
        let chunks = n.div_ceil(chunk.into());
        assert_eq!(u64::from(count), n);
        assert!(chunks <= 1 << 14 && chunk <= 65_537, "{n}: {chunks} chunks of {chunk}");
        assert!(plan.passes[1].workgroups * 256 >= chunks);
        assert_eq!(plan.passes[2].workgroups, 1);
        assert_eq!(plan.passes[4].bindings, [Binding::Input, Binding::Reference, Binding::Report]);
        assert!(plan.passes[4].workgroups * 256 >= n);
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>(), at in 0usize..2000, length in 0usize..40) {
        // Any text, and any text in place of a part of a good file.
        let source = |text: String| OperatorSource { path: "any.glsl".into(), text };
        let _ = OperatorFile::new(source(text.clone()));
        let good = &example("matrix2x2").source().text.clone();
        let end = (at + length).min(good.len());
        let begin = at.min(end);
        // The examples are ASCII.
        let changed = format!("{}{text}{}", &good[..begin], &good[end..]);
        let _ = OperatorFile::new(source(changed));
    }

    #[test]
    fn a_comment_changes_nothing_but_the_hash(comment in "[ -~]{0,30}", line in 0usize..40) {
        prop_assume!(!comment.contains("*/"));
        let file = example("segmented-sum");
        let mut lines: Vec<String> = file.source().text.lines().map(str::to_owned).collect();
        let line = line.min(lines.len());
        lines.insert(line, format!("/* struct Element {comment} */ // #pragma scanbox {comment}"));
        let source = OperatorSource { path: "segmented-sum.glsl".into(), text: lines.join("\n") };
        let (before, after) = (file.operator(), OperatorFile::new(source).unwrap().operator());
        prop_assert_ne!(before.hash, after.hash);
        prop_assert_eq!((before.element, before.facts()), (after.element, after.facts()));
    }
}
