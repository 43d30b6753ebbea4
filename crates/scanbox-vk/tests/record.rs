//! What is recorded, command by command.

use ash::vk;
use ash::vk::Handle as _;
use scanbox_vk::record::{Dispatch, Told, barrier, record};
use scanbox_vk::{Access, Push};

use crate::driver;

const BARRIER: &str = "barrier COMPUTE_SHADER SHADER_STORAGE_READ | SHADER_STORAGE_WRITE > \
                       COMPUTE_SHADER SHADER_STORAGE_READ | SHADER_STORAGE_WRITE";

#[test]
fn a_barrier_orders_dispatches_and_nothing_else() {
    // SAFETY: this device takes any command buffer.
    unsafe { barrier(&driver::device(), vk::CommandBuffer::null(), Access::COMPUTE, Access::COMPUTE) };
    assert_eq!(driver::commands(), [BARRIER]);
}

fn dispatch(pipelines: [u64; 2], told: Told, groups: [u32; 2]) -> Dispatch {
    Dispatch { pipelines: pipelines.map(vk::Pipeline::from_raw), told, groups }
}

fn pushed(words: &[u32]) -> Told {
    let mut push = Push::new([3, 4]);
    words.iter().for_each(|word| _ = push.add_word(*word).unwrap());
    Told::Pushed(push)
}

/// What is recorded with `last` bound, and what is bound then.
fn recorded(dispatches: &[Dispatch], line: usize, last: u64) -> (Vec<String>, u64) {
    let mut last = vk::Pipeline::from_raw(last);
    let (commands, layout) = (vk::CommandBuffer::null(), vk::PipelineLayout::null());
    // SAFETY: this device takes any command buffer, layout and pipeline.
    unsafe { record(&driver::device(), commands, layout, dispatches, line, &mut last) };
    (driver::commands(), last.as_raw())
}

#[test]
fn a_call_is_its_dispatches_with_barriers_between_them() {
    let (commands, last) =
        recorded(&[dispatch([5; 2], pushed(&[8]), [3, 2]), dispatch([6; 2], pushed(&[9, 10]), [1, 1])], 0, 0);
    let expected = [
        "push 0 [3, 4, 8]",
        "bind 5",
        "dispatch 3 2 1",
        BARRIER,
        "push 0 [3, 4, 9, 10]",
        "bind 6",
        "dispatch 1 1 1",
    ];
    assert_eq!((&commands[..], last), (&expected.map(str::to_owned)[..], 6));
    assert_eq!(recorded(&[], 0, 7), (vec![], 7));
}

#[test]
fn what_is_bound_is_not_bound_again() {
    let twice = [dispatch([5; 2], pushed(&[]), [1, 1]), dispatch([5; 2], pushed(&[]), [2, 1])];
    let expected = ["push 0 [3, 4]", "dispatch 1 1 1", BARRIER, "push 0 [3, 4]", "dispatch 2 1 1"];
    assert_eq!(recorded(&twice, 0, 5), (expected.map(str::to_owned).into(), 5));
    let (commands, last) = recorded(&twice, 0, 6);
    assert_eq!((commands.len(), &commands[1][..], last), (6, "bind 5", 5));
}

#[test]
fn lines_and_constants_are_not_pushed() {
    let call = [dispatch([5, 6], Told::Line, [2, 1]), dispatch([7; 2], Told::Baked, [1, 1])];
    for (line, bound) in [(0, "bind 5"), (1, "bind 6")] {
        let expected = [bound, "dispatch 2 1 1", BARRIER, "bind 7", "dispatch 1 1 1"];
        assert_eq!(recorded(&call, line, 0), (expected.map(str::to_owned).into(), 7));
    }
}
