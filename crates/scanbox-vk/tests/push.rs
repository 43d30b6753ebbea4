//! Push constants, and workgroups over dimensions.

use scanbox_vk::push::{PUSH_BYTES, Push, spread};

#[test]
fn push_constants_are_a_shape_addresses_and_words() {
    let mut push = Push::new([3, 12]);
    assert_eq!(push.add_address(0x1_0000_0002), Some(8));
    assert_eq!(push.add_word(7), Some(16));
    assert_eq!(push.add_address(9), Some(20), "words need not be pairs");
    let words = |push: &Push| -> Vec<u32> {
        push.bytes().chunks(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
    };
    let halves = |address: u64| [address as u32, (address >> 32) as u32];
    // Little-endian, as devices are; so is every host that Vulkan runs on here.
    assert_eq!(words(&push), [&[3, 12], &halves(0x1_0000_0002)[..], &[7], &halves(9)].concat());
    push.set_address(8, 0x5_0000_0006);
    push.set_word(16, 8);
    assert_eq!(words(&push), [&[3, 12], &halves(0x5_0000_0006)[..], &[8], &halves(9)].concat());
}

#[test]
fn push_constants_have_an_end() {
    let mut push = Push::new([1, 1]);
    let places: Vec<usize> = std::iter::from_fn(|| push.add_address(0)).collect();
    assert_eq!((places.first(), places.last(), places.len()), (Some(&8), Some(&120), 15));
    assert_eq!((push.add_word(0), push.bytes().len()), (None, PUSH_BYTES));
    let mut push = Push::new([1, 1]);
    for _ in 0..29 {
        push.add_word(0).unwrap();
    }
    assert_eq!((push.add_address(0), push.bytes().len()), (None, 124), "a part of an address is none");
    assert_eq!(push.add_word(0), Some(124));
}

#[test]
#[should_panic(expected = "out of range")]
fn what_is_not_there_is_not_set() {
    Push::new([1, 1]).set_word(8, 0);
}

#[test]
fn workgroups_are_spread_over_dimensions() {
    const LONG: [u32; 3] = [(1 << 31) - 1, 65_535, 65_535];
    const SHORT: [u32; 3] = [65_535; 3];
    let check = |workgroups: u64, max, expected| {
        assert_eq!(spread(workgroups, max), expected, "{workgroups} over {max:?}");
    };
    check(1, SHORT, Some([1, 1]));
    check(65_535, SHORT, Some([65_535, 1]));
    check(65_536, SHORT, Some([32_768, 2]));
    check(65_537, SHORT, Some([32_769, 2]));
    check(1 << 23, SHORT, Some([65_028, 129]));
    check(1 << 23, LONG, Some([1 << 23, 1]));
    // As many as there may be: shaders count on one row here (ONE_ROW).
    check(1 << 30, LONG, Some([1 << 30, 1]));
    check(20, [4, 5, 1], Some([4, 5]));
    check(21, [4, 5, 5], None);
    check(1 << 33, LONG, None);
}

#[test]
fn spreading_starts_enough_and_hardly_more() {
    for workgroups in (1..65_000).step_by(77) {
        let [row, rows] = spread(workgroups, [255, 255, 1]).unwrap();
        assert!(row <= 255 && rows <= 255);
        let started = u64::from(row) * u64::from(rows);
        assert!((workgroups..workgroups + u64::from(rows)).contains(&started));
    }
}
