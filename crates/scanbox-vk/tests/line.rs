//! Lines of arguments.

use scanbox_pack::layout::ARGUMENT_WORDS;
use scanbox_vk::line::{LineWords, halves, line_addresses};

#[test]
fn lines_stand_in_pairs() {
    assert_eq!(line_addresses(1 << 40, 0), [1 << 40, (1 << 40) + 128]);
    assert_eq!(line_addresses(256, 3), [1024, 1152]);
}

#[test]
fn a_line_has_data_length_and_shape_then_the_rest() {
    let high = |low: u64| (7 << 32) + low;
    let others = [high(3), high(4)];
    let mut line = LineWords::new([high(1), high(2)], others, [5, 10], 1000, [11, 12]).unwrap();
    let mut expected = vec![1, 7, 2, 7, 1000, 10, 0, 0, 3, 7, 4, 7, 5, 11, 12];
    expected.resize(ARGUMENT_WORDS, 0);
    assert_eq!(line.words()[..], expected);
    assert!(!line.follows());

    line.set_data(0, high(20));
    line.set_data(1, 21);
    line.set_next(high(30));
    expected[..8].copy_from_slice(&[20, 7, 21, 0, 1000, 10, 30, 7]);
    assert_eq!(line.words()[..], expected);
    assert_eq!((line.record(), line.follows()), (&expected[..8], true));
    // An address has two words, any of which may be zero.
    for (address, follows) in [(1 << 32, true), (1, true), (0, false)] {
        line.set_next(address);
        assert_eq!(line.follows(), follows, "{address}");
    }
    assert_eq!(halves(u64::MAX - 1), [u32::MAX - 1, u32::MAX]);
}

#[test]
fn a_line_has_an_end() {
    // Behind the record, the workgroups in a row have one word.
    let line = |addresses, words| LineWords::new([1, 2], vec![3; addresses], [1, 1], 1, vec![4; words]);
    for (addresses, words) in [(7, 1), (0, 15), (3, 9)] {
        assert_eq!(line(addresses, words).unwrap().words()[ARGUMENT_WORDS - 1], 4);
        assert_eq!(line(addresses, words + 1), None);
    }
    assert_eq!(line(8, 0), None);
}

#[test]
#[should_panic(expected = "a source and a target")]
fn other_addresses_are_not_data() {
    LineWords::new([1, 2], [], [1, 1], 1, []).unwrap().set_data(2, 0);
}
