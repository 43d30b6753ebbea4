//! Operators that are none: what is told of them, and that those which are one are not refused.
//!
//! Needs `SCANBOX_TEST_DEVICE=1`.

use super::harness::{Bench, compiler};
use super::operators::{of_user, try_verdicts};
use scanbox_kernels::cases::Builds;
use scanbox_kernels::operator_file::OperatorFile;
use scanbox_model::config::Config;
use scanbox_model::problem::{Direction, Mode, Placement};
use scanbox_model::record::Status;
use scanbox_runner::backend::Backend;
use scanbox_testing::operator_files::operator;

const FACTS: &str = "commutative = no, exact = yes";

/// A file of one word with these bodies of identity and combine.
fn words(facts: &str, identity: &str, combine: &str) -> OperatorFile {
    let text = format!(
        "#pragma scanbox operator({facts})
        struct Element {{ uint value; }};
        Element identity() {{ return Element({identity}); }}
        Element combine(const Element a, const Element b) {{ return Element({combine}); }}"
    );
    operator("tried", &text)
}

/// The elements that a message names, by their names.
fn elements(reason: &str) -> Vec<u32> {
    let (_, rest) = reason.split_once("\n  for    ").unwrap();
    let (elements, _) = rest.split_once("\n  gave   combine(").unwrap();
    let value = |element: &str| {
        let (_, value) = element.split_once(" = {value = ").unwrap();
        value.trim_end_matches('}').parse().unwrap()
    };
    elements.lines().map(value).collect()
}

#[test]
fn what_is_no_operator_is_told_once_with_the_elements_that_show_it() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let config: Config = "b1.vec4.par.rake.wg32".parse().unwrap();
    let size = bench.device().profile().subgroup_size;
    let config = Config { workgroup_size: size * 2, ..config };
    // `holds` is the law for the elements that the message names.
    let mut check = |file: &OperatorFile, expected: &str, holds: &dyn Fn(&[u32]) -> bool| {
        for mode in [Mode::Inclusive, Mode::Exclusive] {
            let problem = of_user(file, mode, Placement::OutOfPlace);
            match try_verdicts(&mut bench, file, problem, config, vec![1000], Builds::Swept) {
                Ok(verdicts) => {
                    assert!(expected.is_empty(), "not told: {expected}");
                    assert!(verdicts.iter().all(|verdict| verdict.status == Status::Ok), "{verdicts:?}");
                }
                Err(failure) => {
                    assert_eq!(failure.status, Status::WrongResult, "{failure}");
                    assert!(!expected.is_empty() && failure.reason.contains(expected), "{failure}");
                    assert!(failure.reason.starts_with("operator tried: "), "{failure}");
                    // Each on lines of its own: the law, the elements, what both sides gave, and what to do.
                    for line in ["\n  law    combine(", "\n  for    ", "\n  gave   combine(", "\n  to do  "] {
                        assert_eq!(failure.reason.matches(line).count(), 1, "{line}: {failure}");
                    }
                    assert_eq!(failure.reason.matches("operator tried").count(), 1, "{failure}");
                    let elements = elements(&failure.reason);
                    assert!(!holds(&elements), "{elements:?} break nothing: {failure}");
                }
            }
        }
    };
    check(&words(FACTS, "0u", "a.value + b.value"), "", &|_| true);
    let minus = |a: u32, b: u32| a.wrapping_sub(b);
    check(&words(FACTS, "0u", "a.value - b.value"), "identity() is not the identity of combine", &|e| {
        minus(0, e[0]) == e[0] && minus(e[0], 0) == e[0]
    });
    check(&words(FACTS, "1u", "a.value + b.value"), "identity() is not the identity", &|_| false);
    // An identity it has; but 3 (3 a + b) + c is not 3 a + 3 b + c.
    let twisted = "a.value == 0u ? b.value : b.value == 0u ? a.value : a.value * 3u + b.value";
    let combine = |a: u32, b: u32| match (a, b) {
        (0, other) | (other, 0) => other,
        (a, b) => a.wrapping_mul(3).wrapping_add(b),
    };
    check(&words(FACTS, "0u", twisted), "combine is not associative", &|e| {
        combine(combine(e[0], e[1]), e[2]) == combine(e[0], combine(e[1], e[2]))
    });
    // Wrong for few elements alone.
    let rare =
        "a.value == 0u ? b.value : b.value == 0u ? a.value : a.value % 97u == 5u ? 1u : a.value + b.value";
    let combine = |a: u32, b: u32| match (a, b) {
        (0, other) | (other, 0) => other,
        (a, _) if a % 97 == 5 => 1,
        (a, b) => a.wrapping_add(b),
    };
    check(&words(FACTS, "0u", rare), "combine is not associative", &|e| {
        combine(combine(e[0], e[1]), e[2]) == combine(e[0], combine(e[1], e[2]))
    });
    // The last one that is not zero: its order matters.
    let last = "b.value != 0u ? b.value : a.value";
    check(&words(FACTS, "0u", last), "", &|_| true);
    let combine = |a: u32, b: u32| if b == 0 { a } else { b };
    check(
        &words("commutative = yes, exact = yes", "0u", last),
        "combine is not commutative, as the file says it is",
        &|e| combine(e[0], e[1]) == combine(e[1], e[0]),
    );
}

/// Operators of two fields, each with what is told of it at 1,000 elements: nothing where it is one.
const TRIED: [(&str, &str, &str, &str, &str, &str); 16] = [
    // What it is, facts, identity, combine, draw, what is told.
    (
        "a sum that stops at both ends",
        "commutative = yes, exact = yes",
        "0u, 0u",
        "uint(clamp(int(a.x) + int(b.x), -10000000, 10000000)), 0u",
        "random.x % 100u - 50u, 0u",
        "combine is not associative\n",
    ),
    (
        "one that stops where no million of elements comes",
        "commutative = yes, exact = yes",
        "0u, 0u",
        "uint(clamp(int(a.x) + int(b.x), -1000000000, 1000000000)), 0u",
        "random.x % 100u - 50u, 0u",
        "",
    ),
    (
        "a maximum whose later tie wins",
        "commutative = yes, exact = yes",
        "0u, 0u",
        "max(a.x, b.x), b.x >= a.x ? b.y : a.y",
        "random.x | 1u, index",
        "combine is not commutative, as",
    ),
    (
        "the same of words drawn apart",
        "commutative = yes, exact = yes",
        "0u, 0u",
        "max(a.x, b.x), b.x >= a.x ? b.y : a.y",
        "random.x | 1u, random.y",
        "combine is not commutative, as",
    ),
    (
        "the same of bits of one word",
        "commutative = yes, exact = yes",
        "0u, 0u",
        "max(a.x, b.x), b.x >= a.x ? b.y : a.y",
        "(random.x >> 8u) + 1u, random.x & 255u",
        "combine is not commutative",
    ),
    (
        "the same, said to be ordered",
        "commutative = no, exact = yes",
        "0u, 0u",
        "max(a.x, b.x), b.x >= a.x ? b.y : a.y",
        "random.x | 1u, index",
        "",
    ),
    (
        "a count, whose elements are all the same",
        "commutative = yes, exact = yes",
        "0u, 0u",
        "a.x + b.x, a.y + b.y",
        "1u, 0u",
        "",
    ),
    (
        "a maximum of one and the same",
        "commutative = yes, exact = yes",
        "0u, 0u",
        "max(a.x, b.x), 0u",
        "7u, 0u",
        "draw() makes x = {x = 7, y = 0} every time",
    ),
    (
        "a maximum of what a transform forgets",
        "commutative = yes, exact = yes",
        "0u, 0u",
        "max(a.x, b.x), 0u",
        "random.x, index); }
        Element transform_input(const Element value, const uint index) { return Element(7u, 0u",
        "transform_input() of what draw() makes is x = {x = 7, y = 0} every time",
    ),
    (
        "nothing but identities",
        "commutative = yes, exact = yes",
        "0u, 0u",
        "a.x + b.x, 0u",
        "0u, 0u",
        "draw() makes x = {x = 0, y = 0} every time",
    ),
    (
        "a logarithm of a sum whose identity is a logarithm of nothing",
        "commutative = yes, tolerance = 1e-3",
        "uintBitsToFloat(0xff800000u), 0.0",
        "max(a.x, b.x) + log(exp(a.x - max(a.x, b.x)) + exp(b.x - max(a.x, b.x))), 0.0",
        "float(random.x % 8u), 0.0",
        "identity() is not the identity of combine",
    ),
    (
        "no numbers",
        "commutative = yes, tolerance = 1e-3",
        "0.0, 0.0",
        "a.x + b.x, 0.0",
        "uintBitsToFloat(0x7fc00000u | random.x & 255u), 0.0",
        "draw() makes an element that is not a number",
    ),
    (
        "numbers that come to none",
        "commutative = yes, tolerance = 1e-3",
        "0.0, 0.0",
        "a.x + b.x, 0.0",
        "uintBitsToFloat(0x7f800000u | random.x & 0x80000000u), 0.0",
        "combine of elements that draw() makes is not a",
    ),
    (
        "a sum of floats that stops at both ends",
        "commutative = yes, tolerance = 1e-6",
        "0.0, 0.0",
        "clamp(a.x + b.x, -100000.0, 100000.0), 0.0",
        "float(random.x % 1024u) / 512.0 - 0.9, 0.0",
        "combine is not associative\n",
    ),
    (
        "a sum of floats",
        "commutative = yes, tolerance = 1e-3",
        "0.0, 0.0",
        "a.x + b.x, 0.0",
        "float(random.x % 1024u) / 512.0, 0.0",
        "",
    ),
    // Times that never go back, by which what was before decays.
    (
        "an average by time",
        "commutative = no, tolerance = 1e-3",
        "0.0, -1.0",
        "a.y < 0.0 ? b.x : b.y < 0.0 ? a.x : a.x * exp2(a.y - b.y) + b.x, max(a.y, b.y)",
        "float(random.x % 8u), float(index)",
        "",
    ),
];

#[test]
fn laws_are_tried_where_an_input_hardly_shows_them() {
    let Some(mut bench) = Bench::new(compiler) else { return };
    let config: Config = "b1.vec4.par.rake.wg32".parse().unwrap();
    let config = Config { workgroup_size: bench.device().profile().subgroup_size * 2, ..config };
    for (what, facts, identity, combine, draw, told) in TRIED {
        let field = if facts.contains("exact") { "uint" } else { "float" };
        let text = format!(
            "#pragma scanbox operator({facts})
            struct Element {{ {field} x; {field} y; }};
            Element identity() {{ return Element({identity}); }}
            Element combine(const Element a, const Element b) {{ return Element({combine}); }}
            Element draw(const uvec2 random, const uint index) {{ return Element({draw}); }}"
        );
        let file = operator("tried", &text);
        // From the last element on, operands are swapped: the laws are those of the file.
        let directions = [Direction::Forward, Direction::Reverse];
        for direction in directions.into_iter().take(if field == "uint" { 2 } else { 1 }) {
            let problem = of_user(&file, Mode::Inclusive, Placement::OutOfPlace).in_direction(direction);
            let found = match try_verdicts(&mut bench, &file, problem, config, vec![1000], Builds::Swept) {
                Ok(verdicts) => {
                    assert!(
                        verdicts.iter().all(|verdict| verdict.status == Status::Ok),
                        "{what}: {verdicts:?}"
                    );
                    String::new()
                }
                Err(failure) => {
                    assert_eq!(failure.status, Status::WrongResult, "{what}: {failure}");
                    failure.reason
                }
            };
            assert_eq!(told.is_empty(), found.is_empty(), "{what}: {found}");
            assert!(found.contains(told), "{what}: {found}");
        }
    }
}
