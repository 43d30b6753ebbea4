// SPDX-License-Identifier: MIT OR Apache-2.0
// Does nothing: what a call costs without its work.
@compute @workgroup_size(WORKGROUP_SIZE)
fn main() {}
