//! What is recorded, command by command.

use ash::vk;
use scanbox_vk::Access;
use scanbox_vk::record::barrier;

use crate::driver;

#[test]
fn a_barrier_orders_dispatches_and_nothing_else() {
    // SAFETY: this device takes any command buffer.
    unsafe { barrier(&driver::device(), vk::CommandBuffer::null(), Access::COMPUTE, Access::COMPUTE) };
    let side = "COMPUTE_SHADER SHADER_STORAGE_READ | SHADER_STORAGE_WRITE";
    assert_eq!(driver::commands(), [format!("barrier {side} > {side}")]);
}
