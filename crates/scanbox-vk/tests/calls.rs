//! Calls: what they record with what they name, and what is refused.

use ash::vk;
use scanbox_pack::{ArgumentKind, CallUse, Place, Recipe, RecipePasses, ScanMode, ScanProblem, ScratchPart};
use scanbox_vk::{CallLength, DeviceRange, HandOverError, NotSplit, Operand, Scan, ScanCall};

use crate::driver;
use crate::packs::{ANY_ELEMENT, IN_LINE, KEPT, ON_DEVICE, of_12_bytes, sum};
use crate::scanner::{INPUT, OUTPUT, SCRATCH, call, recorded, scan, scanner, test_data};

#[test]
fn the_number_of_elements_may_stand_in_memory() {
    let scan = scan(1000, ON_DEVICE);
    // The pack of these tests lies: the recipe has no such place. So its words say what is told.
    let on_device = |address| ScanCall { n: CallLength::Device { address }, ..call(0) };
    let commands = recorded(&scan, &on_device(64)).unwrap();
    assert_eq!(commands.last().unwrap(), "dispatch 2 1 1", "as many as the most elements need");
    assert_eq!(recorded(&scan, &call(10)), Err(HandOverError::Missing { what: Operand::Length }));
    let text = HandOverError::Missing { what: Operand::Length }.to_string();
    assert!(
        text.contains("pass `CallLength::Device`, or make the scan without `CallUse::n_on_device`"),
        "{text}"
    );
    assert_eq!(recorded(&scan, &on_device(0)), Err(HandOverError::NullAddress { what: Operand::Length }));
    let misaligned = HandOverError::Misaligned { what: Operand::Length, address: 66, needed: 4 };
    assert_eq!(recorded(&scan, &on_device(66)), Err(misaligned));
    let small = ScanCall { input: DeviceRange { address: INPUT, bytes: 3999 }, ..on_device(64) };
    let too_small = HandOverError::TooSmall { what: Operand::Input, bytes: 3999, needed: 4000 };
    assert_eq!(recorded(&scan, &small), Err(too_small));
    assert_eq!(
        recorded(&scan, &on_device(OUTPUT + 8)),
        Err(HandOverError::Overlap { one: Operand::Output, other: Operand::Length })
    );
}

#[test]
fn vectors_are_used_where_they_may_begin() {
    let scan = scan(10_000, ANY_ELEMENT);
    let chosen = scan.chosen(5000);
    let other = chosen.unaligned.unwrap();
    assert_eq!((chosen.label, chosen.alignment), ("pers", 16));
    assert_eq!((other.label, other.alignment), ("par at any element", 4));
    let at = |input, output| {
        let mut call = call(5000);
        (call.input.address, call.output.address) = (INPUT + input, OUTPUT + output);
        recorded(&scan, &call)
    };
    let words = |commands: Vec<String>| commands[0].split(", ").count();
    // That for vectors has a state less.
    assert_eq!(words(at(0, 0).unwrap()), words(at(16, 32).unwrap()));
    let scratch = |commands: Vec<String>| commands[0].split(", ").nth(6).unwrap().to_owned();
    assert_ne!(scratch(at(0, 0).unwrap()), scratch(at(4, 0).unwrap()));
    for (input, output) in [(4, 0), (0, 4), (12, 8)] {
        assert_eq!(scratch(at(input, output).unwrap()), scratch(at(4, 4).unwrap()));
    }
    let inside = |what, address| HandOverError::InsideElement { what, address, element_bytes: 4 };
    assert_eq!(at(2, 0), Err(inside(Operand::Input, INPUT + 2)));
    assert_eq!(at(0, 1), Err(inside(Operand::Output, OUTPUT + 1)));
    let text = at(2, 0).unwrap_err().to_string();
    assert!(text.ends_with("begin at a multiple of 4 bytes") && !text.contains("any_element"), "{text}");
    // Without that use there are vectors alone.
    let scan = crate::scanner::scan(10_000, KEPT);
    let mut call = call(5000);
    call.output.address += 4;
    let misaligned = HandOverError::Misaligned { what: Operand::Output, address: OUTPUT + 4, needed: 16 };
    assert_eq!(recorded(&scan, &call), Err(misaligned.clone()));
    assert!(misaligned.to_string().contains("CallUse::any_element"));
}

/// Structures of three words begin at any word, and stand without a gap.
#[test]
fn elements_of_12_bytes_begin_at_words() {
    let mut data = test_data();
    of_12_bytes(&mut data);
    let problem = data.problems[0].scan.clone();
    let scan = scanner(data).scan(&problem, 10_000, ANY_ELEMENT).unwrap();
    let at = |input, output| {
        let mut call = call(5000);
        (call.input.address, call.output.address) = (INPUT + input, OUTPUT + output);
        call.input.bytes = 60_000;
        recorded(&scan, &call).map(drop)
    };
    for (input, output) in [(0, 0), (4, 0), (12, 24), (20, 8)] {
        assert_eq!(at(input, output), Ok(()));
    }
    for (input, output, what, address) in
        [(2, 0, Operand::Input, INPUT + 2), (12, 6, Operand::Output, OUTPUT + 6)]
    {
        let error = at(input, output).unwrap_err();
        assert!(error.to_string().ends_with("begin at a multiple of 4 bytes"), "{error}");
        assert_eq!(error, HandOverError::InsideElement { what, address, element_bytes: 12 });
    }
    let mut short = call(5000);
    short.input.bytes = 59_999;
    let too_small = HandOverError::TooSmall { what: Operand::Input, bytes: 59_999, needed: 60_000 };
    assert_eq!(recorded(&scan, &short), Err(too_small));
}

#[test]
fn what_is_wrong_with_a_call_is_said_and_nothing_recorded() {
    let scan = scan(10_000, KEPT);
    let good = call(5000);
    let check = |call: ScanCall, expected: HandOverError, says: &str| {
        let error = recorded(&scan, &call).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(error, expected);
    };
    let (input, output, scratch) = (Operand::Input, Operand::Output, Operand::Scratch);
    let range = |address, bytes| DeviceRange { address, bytes };
    check(call(10_001), HandOverError::TooLarge { n: 10_001, max: 10_000 }, "was made for 10000 at most");
    check(
        ScanCall { input: range(INPUT, 19_999), ..good },
        HandOverError::TooSmall { what: input, bytes: 19_999, needed: 20_000 },
        "input has 19999 bytes",
    );
    check(
        ScanCall { output: range(OUTPUT, 19_999), ..good },
        HandOverError::TooSmall { what: output, bytes: 19_999, needed: 20_000 },
        "output has 19999 bytes",
    );
    // Addresses end before it does.
    check(
        ScanCall { output: range(0u64.wrapping_sub(4096), u64::MAX), ..good },
        HandOverError::TooSmall { what: output, bytes: 4096, needed: 20_000 },
        "output has 4096 bytes",
    );
    let needed = scan.scratch().bytes;
    check(
        ScanCall { scratch: range(SCRATCH, needed - 1), ..good },
        HandOverError::TooSmall { what: scratch, bytes: needed - 1, needed },
        "give it what `Scan::scratch` says",
    );
    check(
        ScanCall { scratch: range(SCRATCH + 128, needed), ..good },
        HandOverError::Misaligned { what: scratch, address: SCRATCH + 128, needed: 256 },
        "scratch memory begins at 0x",
    );
    for what in [input, output, scratch] {
        let null = |other| if other == what { range(0, 1 << 36) } else { range(1 << 40, 1 << 36) };
        let call = ScanCall { input: null(input), output: null(output), scratch: null(scratch), ..good };
        check(call, HandOverError::NullAddress { what }, &format!("the address of {what} is 0"));
    }
    let overlap = |one, other| HandOverError::Overlap { one, other };
    check(
        ScanCall { output: good.input, ..good },
        overlap(output, input),
        "a scan in place is another problem",
    );
    check(
        ScanCall { output: range(INPUT + 19_984, 1 << 36), ..good },
        overlap(output, input),
        "output and input overlap",
    );
    check(
        ScanCall { scratch: range(OUTPUT + 19_968, 1 << 36), ..good },
        overlap(scratch, output),
        "scratch memory and output overlap: keep them apart, since one of them is written",
    );
    check(
        ScanCall { input: range(SCRATCH + needed - 16, 1 << 36), ..good },
        overlap(scratch, input),
        "scratch memory and input overlap",
    );
    // Next to each other they may stand.
    let next = ScanCall { output: range(INPUT + 20_000, 1 << 36), ..good };
    assert_eq!(recorded(&scan, &next).unwrap().len(), 3);
    let unexpected = |what| HandOverError::Unexpected { what };
    check(ScanCall { init: Some(64), ..good }, unexpected(Operand::Init), "made for calls without it");
    check(ScanCall { total: Some(64), ..good }, unexpected(Operand::Total), "the call has total");
    let n = CallLength::Device { address: 64 };
    check(
        ScanCall { n, ..good },
        unexpected(Operand::Length),
        "pass `CallLength::Host`, or make the scan with",
    );
    // SAFETY: this device takes everything.
    let prepared = unsafe { scan.cmd_prepare(vk::CommandBuffer::null(), range(SCRATCH, 8)) };
    assert_eq!(prepared, Err(HandOverError::TooSmall { what: scratch, bytes: 8, needed }));
    assert_eq!(driver::commands(), [""; 0]);
}

/// Vulkan has no buffers of 0 bytes.
#[test]
fn scans_without_scratch_memory_take_address_0() {
    let scan = scan(100, KEPT);
    assert_eq!(scan.scratch().bytes, 0);
    let scratch = DeviceRange::default();
    assert_eq!(recorded(&scan, &ScanCall { scratch, ..call(100) }).unwrap().len(), 3);
    // SAFETY: this device takes everything.
    assert_eq!(unsafe { scan.cmd_prepare(vk::CommandBuffer::null(), scratch) }, Ok(()));
    assert_eq!(driver::commands(), [""; 0]);
}

/// The pack of tests with `change` in the recipe of calls that count themselves, and that alone.
fn with_turning(scan: ScanProblem, call_use: CallUse, change: impl FnOnce(&mut Recipe<u16>)) -> Scan {
    let mut data = test_data();
    change(&mut data.recipes[1].recipe);
    let mut table = data.problems[0].measured[1].clone();
    table.breakpoints.truncate(1);
    table.breakpoints[0].ranked = vec![1];
    table.call_use = call_use;
    data.problems[0].measured = vec![table];
    data.problems[0].portable.clear();
    data.problems[0].scan = scan.clone();
    let scan = scanner(data).scan(&scan, 1000, call_use).unwrap();
    driver::commands();
    scan
}

fn add_place(recipe: &mut Recipe<u16>, place: Place<ScratchPart>) {
    let RecipePasses::One(pass) = &mut recipe.passes else { panic!("it has one pass") };
    pass.places.push(place);
}

#[test]
fn totals_and_initial_values_have_addresses() {
    let exclusive = ScanProblem { mode: ScanMode::Exclusive, init: vec![0], ..sum() };
    let call_use = CallUse { total: true, init_in_memory: true, ..KEPT };
    let scan = with_turning(exclusive, call_use, |recipe| {
        add_place(recipe, Place::Total);
        add_place(recipe, Place::Initial);
    });
    let with = |n, init, total| recorded(&scan, &ScanCall { init, total, ..call(n) });
    let commands = with(7, Some(64), Some(128)).unwrap();
    assert!(commands[0].ends_with("128, 0, 64, 0, 7, 1000]"), "{commands:?}");
    // The total of nothing is stored by one workgroup.
    let commands = with(0, Some(64), Some(128)).unwrap();
    assert!(commands[0].ends_with("64, 0, 0, 1000]") && commands[2] == "dispatch 1 1 1", "{commands:?}");
    assert_eq!(with(7, None, Some(128)), Err(HandOverError::Missing { what: Operand::Init }));
    assert_eq!(with(7, Some(64), None), Err(HandOverError::Missing { what: Operand::Total }));
    assert_eq!(with(7, Some(64), Some(0)), Err(HandOverError::NullAddress { what: Operand::Total }));
    let misaligned = HandOverError::Misaligned { what: Operand::Total, address: 130, needed: 4 };
    assert_eq!(with(7, Some(64), Some(130)), Err(misaligned));
    let overlap = |one, other| Err(HandOverError::Overlap { one, other });
    assert_eq!(with(7, Some(64), Some(64)), overlap(Operand::Total, Operand::Init));
    assert_eq!(with(7, Some(64), Some(INPUT + 24)), overlap(Operand::Total, Operand::Input));
    assert_eq!(with(7, Some(OUTPUT), Some(64)), overlap(Operand::Output, Operand::Init));
    // Behind the last element there is room for both.
    assert!(with(7, Some(OUTPUT + 28), Some(INPUT + 28)).is_ok());
}

#[test]
fn reductions_write_one_element_and_that_of_nothing_too() {
    let reduce = ScanProblem { mode: ScanMode::Reduce, ..sum() };
    let scan = with_turning(reduce, KEPT, |_| {});
    let to =
        |n, bytes| recorded(&scan, &ScanCall { output: DeviceRange { address: OUTPUT, bytes }, ..call(n) });
    assert_eq!(to(600, 4).unwrap()[2], "dispatch 2 1 1");
    assert_eq!(to(0, 4).unwrap()[2], "dispatch 1 1 1");
    assert_eq!(to(0, 3), Err(HandOverError::TooSmall { what: Operand::Output, bytes: 3, needed: 4 }));
    // Where the chosen kernel cannot, a portable one does that, and that alone.
    let reduce = ScanProblem { mode: ScanMode::Reduce, ..sum() };
    let mut data = test_data();
    data.recipes[1].recipe.min_n = 1;
    data.recipes[4].recipe.min_n = 0;
    let RecipePasses::ByLevels(levels) = &mut data.recipes[4].recipe.passes else { panic!("it has levels") };
    levels.down = None;
    let problem = &mut data.problems[0];
    problem.scan = reduce.clone();
    problem.measured.truncate(1);
    problem.measured[0].breakpoints.truncate(1);
    problem.measured[0].breakpoints[0].ranked = vec![1];
    problem.portable.truncate(1);
    let scan = scanner(data).scan(&reduce, 1000, KEPT).unwrap();
    assert_eq!(recorded(&scan, &call(1)).unwrap()[1], "bind 28");
    let none = recorded(&scan, &call(0)).unwrap();
    assert_eq!(none, ["push 0 [1, 1, 0, 256, 0, 512, 0]", "bind 26", "dispatch 1 1 1"]);
    // Where no kernel can do that, it is said.
    let reduce = ScanProblem { mode: ScanMode::Reduce, ..sum() };
    let scan = with_turning(reduce, KEPT, |recipe| recipe.min_n = 1);
    let refused = recorded(&scan, &call(0)).unwrap_err().to_string();
    assert!(refused.contains("none of its kernels stores what a call without elements leaves"), "{refused}");
}

#[test]
fn a_scan_in_place_has_one_array() {
    let scan = with_turning(ScanProblem { in_place: true, ..sum() }, KEPT, |recipe| {
        let RecipePasses::One(pass) = &mut recipe.passes else { panic!("it has one pass") };
        pass.places[0] = Place::Target;
    });
    let good = ScanCall { output: call(7).input, ..call(7) };
    assert!(recorded(&scan, &good).unwrap()[0].starts_with("push 0 [1, 1, 0, 256, 0, 256,"));
    let apart = recorded(&scan, &call(7)).unwrap_err();
    assert_eq!(apart, HandOverError::NotInPlace { input: INPUT, output: OUTPUT });
    assert!(apart.to_string().contains("pass the same memory twice"));
}

#[test]
fn scans_of_lines_are_bound_and_not_recorded() {
    let scan = scan(1000, IN_LINE);
    let refused = recorded(&scan, &call(1000)).unwrap_err();
    assert_eq!(refused, HandOverError::OtherArguments { arguments: ArgumentKind::Line });
    assert!(refused.to_string().contains("bind it (`Scan::bind`)"));
}

/// More elements than a kernel takes: each part begins where the one before it ends, in 64 bits, and with its total.
#[test]
fn more_elements_than_a_kernel_takes_are_scanned_in_parts() {
    let part = 1u64 << 30;
    let n = 9 * part + 5;
    let [input, output, total, init] = [INPUT, OUTPUT, 5 << 40, 6 << 40];
    for reverse in [false, true] {
        let mut data = test_data();
        let with = |recipe: Recipe<u16>, places: &[Place<ScratchPart>]| {
            let mut recipe = recipe;
            places.iter().for_each(|place| add_place(&mut recipe, *place));
            recipe
        };
        let plain = data.recipes[1].clone();
        let mut table = data.problems[0].measured[1].clone();
        table.breakpoints.truncate(1);
        let mut measured = Vec::new();
        for (total, init_in_memory) in [(false, false), (true, false), (true, true)] {
            let places = [(total, Place::Total), (init_in_memory, Place::Initial)];
            let places: Vec<_> = places.iter().filter(|(has, _)| *has).map(|(_, place)| *place).collect();
            let mut recipe = plain.clone();
            recipe.recipe = with(recipe.recipe, &places);
            recipe.label = format!("total {total}, init {init_in_memory}");
            table.call_use = CallUse { total, init_in_memory, ..KEPT };
            table.breakpoints[0].ranked = vec![data.recipes.len() as u16];
            data.recipes.push(recipe);
            measured.push(table.clone());
        }
        data.problems[0].measured = measured;
        data.problems[0].portable.clear();
        let scan = ScanProblem { reverse, ..sum() };
        data.problems[0].scan = scan.clone();
        for (call_use, parts) in [
            (KEPT, 10),
            (CallUse { total: true, ..KEPT }, 10),
            (CallUse { total: true, init_in_memory: true, ..KEPT }, 10),
        ] {
            let scan = scanner(data.clone()).scan(&scan, n, call_use).unwrap();
            driver::commands();
            assert_eq!(scan.max_n(), n);
            assert_eq!(scan.chosen(n).label, "total true, init true");
            let range = |address| DeviceRange { address, bytes: 4 * n };
            let call = ScanCall {
                input: range(input),
                output: range(output),
                scratch: DeviceRange { address: SCRATCH, bytes: scan.scratch().bytes },
                n: CallLength::Host(n),
                init: call_use.init_in_memory.then_some(init),
                total: call_use.total.then_some(total),
            };
            let pushes: Vec<Vec<u64>> = recorded(&scan, &call)
                .unwrap()
                .iter()
                .filter_map(|command| command.strip_prefix("push 0 [")?.strip_suffix(']'))
                .map(|words| words.split(", ").map(|word| word.parse().unwrap()).collect())
                .collect();
            assert_eq!(pushes.len(), parts);
            let address = |words: &[u64], place: usize| words[2 + 2 * place] | words[3 + 2 * place] << 32;
            let mut last_total = None;
            for (turn, words) in pushes.iter().enumerate() {
                let from_start = if reverse { parts - 1 - turn } else { turn } as u64;
                let begin = 4 * from_start * part;
                assert_eq!([address(words, 0), address(words, 1)], [input + begin, output + begin]);
                let elements = words[words.len() - 2];
                assert_eq!(elements, if from_start == 9 { 5 } else { part });
                // Behind input, output and three parts of scratch memory.
                let own_total = address(words, 5);
                let begins_with = (words.len() == 2 + 14 + 2).then(|| address(words, 6));
                let first = call_use.init_in_memory.then_some(init);
                assert_eq!(begins_with, if turn == 0 { first } else { last_total });
                let is_last = turn == parts - 1;
                assert_eq!(own_total == total, is_last && call_use.total);
                assert_ne!(Some(own_total), last_total);
                last_total = Some(own_total);
            }
            // What no part may be is refused as a whole.
            let beyond = ScanCall { n: CallLength::Host(n + 1), ..call };
            assert_eq!(recorded(&scan, &beyond), Err(HandOverError::TooLarge { n: n + 1, max: n }));
            let mut inside = call;
            inside.input.address += 4;
            assert!(matches!(recorded(&scan, &inside), Err(HandOverError::Misaligned { .. })));
        }
        // One part is a call as all others.
        let scan = scanner(data.clone()).scan(&scan, n, KEPT).unwrap();
        assert_eq!(scan.chosen(part).label, "total false, init false");
        driver::commands();
        let commands = recorded(&scan, &call(part)).unwrap();
        assert_eq!(commands.iter().filter(|command| command.starts_with("dispatch")).count(), 1);
        // A transform of a user's file may look at the index, unless the pack says that none does.
        let mut of_user = data.clone();
        of_user.problems[0].scan.operator_hash = "77".to_owned();
        let problem = of_user.problems[0].scan.clone();
        let why = NotSplit::Operator { is_reduction: false };
        let too_large = HandOverError::TooLargeForKernels { max_n: n, most: part, why };
        let error = scanner(of_user.clone()).scan(&problem, n, KEPT).unwrap_err();
        assert_eq!(error, too_large);
        let text = error.to_string();
        assert!(text.contains("may look at the index") && text.contains("scanbox tune --operator"), "{text}");
        of_user.problems[0].splittable = true;
        assert_eq!(scanner(of_user).scan(&problem, n, KEPT).unwrap().max_n(), n);
    }
}
