// SPDX-License-Identifier: MIT OR Apache-2.0
// Source and target, as vectors. In place they are one binding: NEXT_BINDING is behind them.
#if IN_PLACE
@group(0) @binding(1) var<storage, read_write> target_: array<Vector>;
fn source_at(at: u32) -> Vector { return target_[at]; }
#else
@group(0) @binding(1) var<storage, read> source: array<Vector>;
fn source_at(at: u32) -> Vector { return source[at]; }
#if MODE == MODE_REDUCE
@group(0) @binding(2) var<storage, read_write> total_: array<Element>;
fn store_total(total: Element) { total_[0] = total; }
#else
@group(0) @binding(2) var<storage, read_write> target_: array<Vector>;
#endif
#endif
