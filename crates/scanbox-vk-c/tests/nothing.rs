//! What needs no device.

use crate::program::{Linked, Program};

#[test]
fn a_program_that_passes_nothing_hears_what_is_missing() {
    for linked in [Linked::Dynamically, Linked::Statically] {
        assert_eq!(Program::of_tests("nothing.c", linked).check(&[]), "0 failures\n");
    }
}
