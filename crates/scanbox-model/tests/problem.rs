//! Problems: what goes together, and that every text of theirs reads back.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use scanbox_model::config::Parameter;
use scanbox_model::problem::{Element, Mode, Operator, Placement, Problem, Value};
use scanbox_model::record::Record;

fn any_of<P: Parameter + std::fmt::Debug>() -> impl Strategy<Value = P> {
    prop::sample::select(P::VALUES)
}

fn any_problem() -> impl Strategy<Value = Problem> {
    let init = prop::option::of("[-]?[0-9]{1,12}([.][0-9]{1,3})?");
    (any_of::<Mode>(), any_of::<Element>(), any_of::<Operator>(), init, any_of::<Placement>())
        .prop_filter_map("what goes together", |(mode, element, operator, init, placement)| {
            Problem::new(mode, element, operator, init.as_deref(), placement).ok()
        })
}

proptest! {
    #[test]
    fn rows_and_json_read_back(problem in any_problem(), n in 1u64..1 << 40) {
        let mut record = Record::default();
        problem.describe(n, &mut record);
        prop_assert_eq!(Problem::of_row(&record), Ok(problem));
        prop_assert_eq!(record.bytes_moved, (n + problem.outputs(n)) * problem.element_bytes());
        let text = serde_json::to_string(&problem).unwrap();
        prop_assert_eq!(serde_json::from_str::<Problem>(&text).unwrap(), problem, "{}", text);
    }

    #[test]
    fn values_read_back(element in any_of::<Element>(), bits in any::<u64>()) {
        let bits = if element.bytes() == 4 { bits & 0xffff_ffff } else { bits };
        let value = Value { element, bits };
        let finite = value.float().is_none_or(f64::is_finite);
        prop_assert_eq!(Value::parse(element, &value.to_string()).ok(), finite.then_some(value));
    }

    #[test]
    fn two_problems_differ_or_are_the_same(a in any_problem(), b in any_problem()) {
        prop_assert_eq!(a.difference(&b).is_none(), a == b);
        prop_assert_eq!(a.to_string() == b.to_string(), a == b);
    }
}

#[test]
fn names_are_short_where_nothing_is_special() {
    let check = |problem: Problem, name: &str, flags: &str| {
        assert_eq!(problem.to_string(), name);
        assert_eq!(problem.flags().join(" "), flags);
    };
    let new = |mode, element, operator, init, placement| {
        Problem::new(mode, element, operator, init, placement).unwrap()
    };
    let out = Placement::OutOfPlace;
    check(Problem::default(), "u32-add-inclusive", "");
    check(
        new(Mode::Exclusive, Element::F32, Operator::Max, None, out),
        "f32-max-exclusive",
        "--op max --type f32 --mode exclusive",
    );
    check(
        new(Mode::Exclusive, Element::I32, Operator::Add, Some("-5"), Placement::InPlace),
        "i32-add-exclusive-init=-5-in-place",
        "--type i32 --mode exclusive --init=-5 --in-place",
    );
    // The identity written out is the default.
    assert_eq!(
        new(Mode::Exclusive, Element::F32, Operator::Min, Some("inf"), out),
        new(Mode::Exclusive, Element::F32, Operator::Min, None, out)
    );
}

#[test]
fn identities_change_nothing() {
    let check = |element, operator: Operator, expected: &str| {
        assert_eq!(operator.identity(element).to_string(), expected, "{operator} {element}");
    };
    check(Element::U32, Operator::Min, "4294967295");
    check(Element::I32, Operator::Max, "-2147483648");
    check(Element::F64, Operator::Max, "-inf");
    check(Element::I64, Operator::And, "-1");
    check(Element::F32, Operator::Mul, "1");
    check(Element::U64, Operator::Xor, "0");
}
