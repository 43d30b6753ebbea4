//! Problems: what goes together, and that every text of theirs reads back.

use proptest::prelude::*;
use scanbox_model::config::Parameter;
use scanbox_model::problem::{
    Component, Direction, Element, ElementValue, InitSource, Mode, Operator, Placement, Problem,
    StructureValue, Total,
};
use scanbox_model::record::Record;
use scanbox_model::user_operator::{OperatorName, Tolerance, Transforms, UserOperator};

fn any_of<P: Parameter + std::fmt::Debug>() -> impl Strategy<Value = P> {
    prop::sample::select(P::VALUES)
}

fn any_user() -> impl Strategy<Value = UserOperator> {
    let structs =
        prop::sample::select(&[Element::Struct4, Element::Struct8, Element::Struct12, Element::Struct16]);
    let share = prop_oneof![Just(0.0), 1e-9f32..0.99];
    let transforms = (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(input, output, indexed)| {
        Transforms { input, output, indexed: indexed && (input || output) }
    });
    ("[a-z][a-z0-9-]{0,31}", any::<u64>(), structs, any::<bool>(), share, transforms).prop_filter_map(
        "names of scanbox's own operators",
        |(name, hash, element, commutative, share, transforms)| {
            let facts = (commutative, Tolerance::new(share).unwrap_or_default());
            let user = UserOperator::new(name.parse().unwrap(), hash, element, facts).ok()?;
            Some(user.with_transforms(transforms))
        },
    )
}

fn any_problem() -> impl Strategy<Value = Problem> {
    let of_user = (any_of::<Mode>(), any_user(), any_of::<Placement>(), any_structure()).prop_filter_map(
        "what goes together",
        |(mode, user, placement, init)| {
            let plain = Problem::of_user(mode, user, placement).ok()?;
            Some(plain.beginning_with(init).unwrap_or(plain))
        },
    );
    let any = prop_oneof![4 => any_own_problem(), 1 => of_user];
    let operands = (any_of::<Direction>(), any_of::<Total>(), any_of::<InitSource>());
    (any, operands).prop_map(|(problem, (direction, total, source))| {
        let problem = problem.in_direction(direction);
        problem.with_operands(total, source).unwrap_or(problem)
    })
}

fn any_structure() -> impl Strategy<Value = StructureValue> {
    let types = prop::sample::select(&[Component::Uint, Component::Int, Component::Float]);
    // Finite floats: exponents are not all ones.
    let component = (types, any::<u32>()).prop_map(|(of, word)| (of, word & 0xbf7f_ffff | 0x0080_0000));
    prop::collection::vec(component, 1..=4).prop_map(|components| StructureValue::new(components).unwrap())
}

fn any_own_problem() -> impl Strategy<Value = Problem> {
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
        prop_assume!(!element.is_struct());
        let bits = if element.bytes() == 4 { bits & 0xffff_ffff } else { bits };
        let value = ElementValue { element, bits };
        let finite = value.float().is_none_or(f64::is_finite);
        prop_assert_eq!(ElementValue::parse(element, &value.to_string()).ok(), finite.then_some(value));
    }

    #[test]
    fn two_problems_differ_or_are_the_same(a in any_problem(), b in any_problem()) {
        prop_assert_eq!(a.difference(&b).is_none(), a == b);
        // A name is short: of a user's file it has no hash.
        if a.user().is_none() || b.user().is_none() {
            prop_assert_eq!(a.to_string() == b.to_string(), a == b);
        }
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
    check(
        new(Mode::Inclusive, Element::U32, Operator::Add, Some("7"), out).reversed(),
        "u32-add-inclusive-init=7-reverse",
        "--init=7 --reverse",
    );
    assert_eq!(Problem::default().reversed().title(), "reverse inclusive u32 add");
    let with = |problem: Problem, total, source| problem.with_operands(total, source).unwrap();
    let both = with(
        new(Mode::Exclusive, Element::U32, Operator::Add, Some("7"), out),
        Total::Stored,
        InitSource::Memory,
    );
    check(
        both,
        "u32-add-exclusive-init=7-total-init-in-memory",
        "--mode exclusive --init=7 --total --init-in-memory",
    );
    assert_eq!(both.title(), "exclusive u32 add from 7 in memory with total");
    let plain = new(Mode::Exclusive, Element::U32, Operator::Add, None, out);
    let from_memory = with(plain, Total::Absent, InitSource::Memory);
    check(from_memory, "u32-add-exclusive-init-in-memory", "--mode exclusive --init-in-memory");
    assert_eq!(from_memory.title(), "exclusive u32 add from memory");
    assert_eq!(from_memory.difference(&plain).unwrap().flag, "--init-in-memory");
    assert_eq!(with(plain, Total::Stored, InitSource::Arguments).difference(&plain).unwrap().column, "total");
    // What passes over totals of tiles, or begins with nothing, has neither.
    assert_eq!(both.of_totals(), new(Mode::Inclusive, Element::U32, Operator::Add, None, Placement::InPlace));
    assert_eq!(both.without_init(), with(plain, Total::Stored, InitSource::Arguments));
    assert!(both.of_output().reads_init() && both.outputs(5) == 5 && both.bytes_moved(5) == 40);
    let reduction = new(Mode::Reduce, Element::U32, Operator::Add, None, out);
    let refused = |problem: Problem, total, source| problem.with_operands(total, source).unwrap_err();
    assert!(refused(reduction, Total::Stored, InitSource::Arguments).contains("its output is the total"));
    assert!(refused(reduction, Total::Absent, InitSource::Memory).contains("--init says which value"));
    // The identity written out is the default, whatever the mode is.
    assert_eq!(new(Mode::Inclusive, Element::U32, Operator::Add, Some("0"), out), Problem::default());
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

#[test]
fn a_users_operator_is_known_by_its_file() {
    let user = |name: &str, hash, commutative, share| {
        let facts = (commutative, Tolerance::new(share).unwrap_or_default());
        UserOperator::new(name.parse().unwrap(), hash, Element::Struct8, facts).unwrap()
    };
    let problem = |user| Problem::of_user(Mode::Exclusive, user, Placement::InPlace).unwrap();
    let affine = problem(user("affine", 0xabc, false, 0.0));
    assert_eq!(affine.to_string(), "struct8-affine-exclusive-in-place");
    assert_eq!(affine.title(), "exclusive struct8 affine in place");
    assert_eq!(affine.flags().join(" "), "--operator affine.glsl --mode exclusive --in-place");
    let check = |other: UserOperator, column: &str, own: &str, others: &str| {
        let difference = affine.difference(&problem(other)).unwrap();
        assert_eq!((difference.column, difference.flag), (column, "--operator"));
        assert_eq!((difference.own.as_str(), difference.others.as_str()), (own, others));
    };
    check(user("affine", 0xabd, false, 0.0), "operator_hash", "0000000000000abc", "0000000000000abd");
    check(user("maps", 0xabc, false, 0.0), "op", "affine", "maps");
    check(user("affine", 0xabc, true, 0.25), "operator_facts", "ordered+exact", "commutative+tolerance=0.25");
    let begins = affine.beginning_with("1u,-2".parse().unwrap()).unwrap();
    assert_eq!(begins.to_string(), "struct8-affine-exclusive-init=1u,-2-in-place");
    assert_eq!(begins.flags().join(" "), "--operator affine.glsl --mode exclusive --init=1u,-2 --in-place");
    assert_eq!(affine.difference(&begins).unwrap().column, "init");
    assert_eq!(affine.difference(&affine.reversed()).unwrap().flag, "--reverse");
    assert!(
        affine.beginning_with("1u".parse().unwrap()).unwrap_err().contains("has 4 bytes, and an element 8")
    );
    assert!(Problem::default().beginning_with("1u".parse().unwrap()).is_err());
    let sum = affine.difference(&Problem::default()).unwrap();
    assert_eq!((sum.column, sum.flag), ("mode", "--mode"));
    assert!(Problem::of_user(Mode::Reduce, user("x", 1, true, 0.0), Placement::InPlace).is_err());
}

#[test]
fn rows_of_operators_that_make_no_sense_are_refused() {
    let row = |op: &str, element, hash: &str, facts: &str| Record {
        op: Some(op.parse().unwrap()),
        element: Some(element),
        operator_hash: hash.to_owned(),
        operator_facts: facts.to_owned(),
        ..Record::default()
    };
    let good = row("affine", Element::Struct8, "0123456789abcdef", "ordered+exact");
    assert_eq!(Problem::of_row(&good).unwrap().user().unwrap().hash, 0x0123_4567_89ab_cdef);
    let check = |row: Record, expected: &str| {
        let reason = Problem::of_row(&row).unwrap_err();
        assert!(reason.contains(expected), "{reason}");
    };
    check(
        row("affine", Element::Struct8, "", ""),
        "not one of scanbox's own operators, and there is no operator_hash",
    );
    for hash in ["0123", "0123456789ABCDEF", "+123456789abcdef", "0123456789abcdef0"] {
        check(row("affine", Element::Struct8, hash, "ordered+exact"), "is not a hash");
    }
    for facts in ["", "ordered", "exact+ordered", "ordered+tolerance=2", "ordered+tolerance=x", "maybe+exact"]
    {
        check(row("affine", Element::Struct8, "0123456789abcdef", facts), "not facts of an operator");
    }
    check(row("affine", Element::U32, "0123456789abcdef", "ordered+exact"), "which is not a structure");
    check(row("add", Element::Struct8, "", ""), "--operator FILE");
    check(row("user", Element::Struct8, "0123456789abcdef", "ordered+exact"), "an operator of scanbox's own");
    for name in ["", "A", "1a", "-a", "a_b", "a b", "a234567890123456789012345678901234"] {
        assert!(name.parse::<OperatorName>().unwrap_err().contains("not a name of an operator"), "{name}");
    }
    let new = |operator, element| {
        Problem::new(Mode::Inclusive, element, operator, None, Placement::OutOfPlace).unwrap_err()
    };
    assert!(new(Operator::User, Element::Struct8).contains("--operator FILE"));
    assert!(new(Operator::Add, Element::Struct16).contains("--operator FILE"));
}
