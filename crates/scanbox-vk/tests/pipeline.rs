//! Pipelines: what they are made of, and what is constant in them.

use ash::vk;
use ash::vk::Handle as _;
use scanbox_pack::layout::ARGUMENT_WORDS;
use scanbox_vk::pipeline::{CONSTANTS, PipelineSource, constants, create, create_layout};

use crate::driver;

#[test]
fn arguments_come_before_addresses_and_the_largest_n() {
    let arguments: [u32; ARGUMENT_WORDS] = std::array::from_fn(|at| 100 + at as u32);
    let rest = [1, 2, 3, 4, 5];
    let (line, scratch) = ((2 << 32) + 1, (4 << 32) + 3);
    let made = constants(Some(&arguments), line, scratch, 5);
    assert_eq!(made[..], [&arguments[..], &rest].concat());
    assert_eq!(constants(None, line, scratch, 5)[..], [&[0; ARGUMENT_WORDS][..], &rest].concat());
    assert_eq!(CONSTANTS, made.len());
}

#[test]
fn all_kernels_share_a_layout() {
    // SAFETY: this device makes any layout.
    let layout = unsafe { create_layout(&driver::device()) };
    assert_eq!((layout.is_ok(), driver::commands()), (true, vec!["layout COMPUTE 0 128".to_owned()]));
}

fn made(pinned: Option<u32>, constants: &[u32], cache: u64) -> (Result<u64, vk::Result>, Vec<String>) {
    let spirv = [0x0723_0203, 2, 3];
    let flags = vk::PipelineCreateFlags::DISABLE_OPTIMIZATION;
    let source = PipelineSource { spirv: &spirv, pinned, constants, flags };
    let (layout, cache) = (vk::PipelineLayout::null(), vk::PipelineCache::from_raw(cache));
    // SAFETY: this device makes any pipeline.
    let made = unsafe { create(&driver::device(), layout, cache, &source) };
    (made.map(vk::Pipeline::as_raw), driver::commands())
}

#[test]
fn pipelines_are_made_of_modules_that_go_again() {
    let (pipeline, commands) = made(None, &[], 0);
    let flags = "DISABLE_OPTIMIZATION REQUIRE_FULL_SUBGROUPS";
    assert_eq!(pipeline, Ok(7));
    assert_eq!(commands, ["module of 3", &format!("pipeline main {flags} pinned None []"), "no module"]);
    let (_, commands) = made(Some(16), &[5, 6], 0);
    assert_eq!(commands[1], format!("pipeline main {flags} pinned Some(16) [5, 6]"));
    // So it says of caches like this one.
    let (pipeline, commands) = made(None, &[], driver::BAD_CACHE);
    assert_eq!(pipeline, Err(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY));
    assert_eq!(commands.last().unwrap(), "no module");
}
