//! What a file of an operator makes of elements as they are loaded and stored, and that its functions are pure.

use scanbox_kernels::catalog;
use scanbox_kernels::glsl::Compiler;
use scanbox_kernels::operator_file::{OperatorFile, OperatorSource};
use scanbox_model::config::Parameter;
use scanbox_model::device::DeviceProfile;
use scanbox_model::problem::{Mode, Placement, Problem};
use scanbox_model::safe_devices::Guarantee;
use scanbox_testing::device::with_subgroups as device;
use scanbox_testing::operator_files::operator;

/// An operator with these functions beside a sum.
fn with_functions(functions: &str) -> OperatorFile {
    let text = format!(
        "#pragma scanbox operator(commutative = yes, exact = yes)\n\
         struct Element {{ uint sum; }};\n\
         Element identity() {{ return Element(0u); }}\n\
         Element combine(const Element earlier, const Element later) {{ return Element(earlier.sum + later.sum); }}\n\
         {functions}\n"
    );
    operator("summed", &text)
}

const MAPPED: &str = "const uint FACTORS[4] = uint[](3u, 5u, 7u, 9u);\n\
    uint factor(const uint index) { uint all[2]; all[index & 1u] = FACTORS[index & 3u]; return all[index & 1u]; }\n\
    Element transform_input(const Element value, const uint index) { return Element(value.sum * factor(index)); }\n\
    Element transform_output(in Element value, uint index) { return Element(value.sum ^ index); }";

#[test]
fn transforms_are_facts_of_a_file() {
    let facts = |functions: &str| with_functions(functions).operator().facts();
    assert_eq!(facts(""), "commutative+exact");
    assert_eq!(facts(MAPPED), "commutative+exact+input+output");
    let check = |functions: &str, line: usize, expected: &str| {
        let text = format!("{}\n{functions}", with_functions("").source().text);
        let error =
            OperatorFile::new(OperatorSource { path: "a.glsl".into(), text }).unwrap_err().to_string();
        assert!(error.starts_with(&format!("a.glsl:{line}: ")) && error.contains(expected), "{error}");
    };
    let input = "`Element transform_input(const Element value, const uint index)`";
    check("uint transform_input(const Element value, const uint index) { return 0u; }", 7, "returns `uint`");
    check("\nElement transform_input(const Element value) { return value; }", 8, input);
    check(
        "Element transform_output(const uint index, const Element value) { return value; }",
        7,
        "other parameters",
    );
    check(
        "Element transform_output(inout Element value, const uint index) { return value; }",
        7,
        "other parameters",
    );
}

/// Whether a transform looks at the index: what the words of the file do not rule out counts as a look.
#[test]
fn files_say_whether_a_transform_looks_at_the_index() {
    let input =
        |parameters: &str, body: &str| format!("Element transform_input({parameters}) {{\n{body}\n}}");
    let usual = "const Element value, const uint index";
    let of_body = |body: &str| input(usual, body);
    let as_it_is = "return value;";
    for (functions, looks) in [
        (String::new(), false),
        (of_body(as_it_is), false),
        (of_body("return Element(value.sum + index);"), true),
        (of_body("return Element(index_of(index));"), true),
        (of_body("uint other = 2u; { other += index; } return Element(other);"), true),
        // Another word, a field, a comment, a number.
        (of_body("const uint indexed = 2u; return Element(indexed);"), false),
        (of_body("const Pair pair = Pair(1u, 2u); return Element(pair.index + pair . index);"), false),
        (of_body("// index\nreturn value; /* index\nindex */"), false),
        (input("Element value, uint f", "return Element(uint(1.f));"), false),
        (input("Element value, uint f", "return Element(uint(1.0 * f));"), true),
        // Whatever it is called; a parameter without a name.
        (
            input("const Element value, const uint place", "const uint index = 1u; return Element(index);"),
            false,
        ),
        (input("const Element value, const uint place", "return Element(place);"), true),
        (input("const Element value, const uint", as_it_is), false),
        (input("const Element value, uint", "return Element(value.sum + index);"), false),
        // The words do not say whose index it is.
        (of_body("{ uint index = 3u; return Element(index); }"), true),
        (of_body("for (uint index = 0u; index < 3u; ++index) {} return value;"), true),
        // Macros, and lines that go on.
        (format!("#define PLACE index\n{}", of_body("return Element(PLACE);")), true),
        (format!("#define TWO 2u\n{}", of_body("return Element(TWO);")), true),
        (format!("#define TWO 2u\n{}", "uint two() { return TWO; }"), false),
        (format!("# /* so */ define PLACE index\n{}", of_body("return Element(PLACE);")), true),
        (format!("#\\\ndefine PLACE index\n{}", of_body("return Element(PLACE);")), true),
        (of_body("return Element(ind\\\nex);"), true),
        (format!("#ifdef GL_core_profile\n#endif\n{}", of_body(as_it_is)), true),
        (format!("#pragma optimize(on)\n{}", of_body(as_it_is)), false),
        // Several of them: no matter which one counts.
        (format!("Element transform_input({usual});\n{}", of_body(as_it_is)), true),
        (
            format!("{}\nElement transform_input({usual}) {{ return Element(index); }}", of_body(as_it_is)),
            true,
        ),
        // The index of others.
        (format!("uint other(const uint index) {{ return index; }}\n{}", of_body(as_it_is)), false),
        (format!("{}\nuint other(const uint index) {{ return index; }}", of_body(as_it_is)), false),
        ("Element draw(const uvec2 random, const uint index) { return Element(index); }".to_owned(), false),
        // One of two.
        (format!("{}\nElement transform_output({usual}) {{ return value; }}", of_body(as_it_is)), false),
        (
            format!("{}\nElement transform_output({usual}) {{ return Element(index); }}", of_body(as_it_is)),
            true,
        ),
        (format!("Element transform_output({usual}) {{ return Element(index); }}"), true),
        // A body that does not end.
        (format!("Element transform_input({usual}) {{ return value;"), true),
    ] {
        let user = with_functions(&functions).operator();
        assert_eq!(user.transforms.indexed, looks, "{functions}");
        assert_eq!(user.splits(Mode::Inclusive), !looks, "{functions}");
        let sums = user.splits(Mode::Reduce);
        assert_eq!(sums, !looks && !user.transforms.output, "{functions}");
        assert_eq!(user.facts().ends_with("+unindexed"), user.transforms.any() && !looks, "{functions}");
    }
}

#[test]
fn functions_of_a_file_are_pure() {
    let device = device(32, true);
    let outcome = |functions: &str| -> Result<(), String> {
        let file = with_functions(functions);
        let problem = Problem::of_user(Mode::Inclusive, file.operator(), Placement::OutOfPlace).unwrap();
        let compiler = Compiler::new(None, None).unwrap().with_operator(file);
        let shaders = catalog::operator_shaders(&problem, &device);
        shaders.iter().try_for_each(|shader| compiler.check_purity(shader)).map_err(|error| error.to_string())
    };
    assert_eq!(outcome(""), Ok(()));
    assert_eq!(outcome(MAPPED), Ok(()));
    let taken =
        |body: &str| format!("Element transform_input(const Element value, const uint index) {{\n{body}\n}}");
    for (functions, line, expected) in [
        (
            format!("uint counter = 0u;\n{}", taken("counter += 1u; return Element(counter);")),
            7,
            "touches `counter`",
        ),
        (format!("shared uint seen;\n{}", taken("return Element(seen);")), 7, "touches `seen`"),
        (taken("return Element(value.sum + gl_WorkGroupID.x);"), 6, "touches `gl_WorkGroupID`"),
        (taken("return Element(subgroupAdd(value.sum));"), 6, "asks other invocations"),
        (
            format!(
                "#define JOIN(a, b) a##b\n\
                 JOIN(lay, out)(JOIN(buf, fer_reference)) JOIN(buf, fer) Anywhere {{ uint word; }};\n{}",
                taken("Anywhere there = Anywhere(uvec2(index, 0u));\nreturn Element(there.word);")
            ),
            9,
            "memory",
        ),
        // Whatever calls it, and by which name.
        (
            format!(
                "uint counter = 0u;\n#define LAST counter\nuint next() {{\nreturn ++LAST;\n}}\n{}",
                taken("return Element(next());")
            ),
            8,
            "`next` touches `counter`",
        ),
    ] {
        let error = outcome(&functions).unwrap_err();
        assert!(
            error.contains(&format!("summed.glsl:{line}: ")) && error.contains(expected),
            "{functions}\n{error}"
        );
    }
}

#[test]
fn transforms_are_done_once() {
    let device = DeviceProfile { guarantees: Guarantee::VALUES.to_vec(), ..device(32, true) };
    let user = with_functions(MAPPED).operator();
    let flags = |label: &str, mode, n| -> Vec<String> {
        let problem = Problem::of_user(mode, user, Placement::OutOfPlace).unwrap();
        let plan = catalog::plan(&label.parse().unwrap(), &problem, n, &device).unwrap();
        let has = |pass: &scanbox_kernels::plan::Pass, name: &str| {
            pass.shader.defines.contains(&(name_of(name), 1))
        };
        let word = |pass| match (has(pass, "TRANSFORM_INPUT"), has(pass, "TRANSFORM_OUTPUT")) {
            (true, true) => "both",
            (true, false) => "input",
            (false, true) => "output",
            (false, false) => "none",
        };
        plan.passes.iter().map(|pass| word(pass).to_owned()).collect()
    };
    assert_eq!(flags("b4.vec4.par.rake.wg64", Mode::Inclusive, 100_000), ["both"]);
    for (label, expected) in [
        ("rts.b1.vec4.none.rake.wg64", ["input", "none", "none", "none", "both"]),
        ("stp.b1.vec4.none.rake.wg64", ["input", "none", "none", "none", "output"]),
    ] {
        assert_eq!(flags(label, Mode::Exclusive, 1 << 20), expected, "{label}");
    }
    assert_eq!(flags("rts.b1.vec4.none.rake.wg64", Mode::Reduce, 1 << 20), ["input", "none", "output"]);
    assert_eq!(flags("rts.b1.vec4.none.rake.wg64", Mode::Inclusive, 100), ["both"]);
}

fn name_of(name: &str) -> &'static str {
    if name == "TRANSFORM_INPUT" { "TRANSFORM_INPUT" } else { "TRANSFORM_OUTPUT" }
}
