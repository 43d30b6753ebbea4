// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: operator. identity(), combine(earlier, later) of elements, combine_all of vectors.
#if ELEMENT == ELEMENT_F32 && OPERATOR != OPERATOR_ADD
// WGSL has no infinity among its constants, and refuses constant expressions that make one.
var<private> infinity_word: u32 = 0x7f800000u;
#endif

#if OPERATOR == OPERATOR_ADD
fn identity() -> Element { return Element(0); }
fn combine(earlier: Element, later: Element) -> Element { return earlier + later; }
fn combine_all(earlier: Vector, later: Vector) -> Vector { return earlier + later; }
#elif OPERATOR == OPERATOR_MIN
#if ELEMENT == ELEMENT_U32
fn identity() -> Element { return 0xffffffffu; }
#elif ELEMENT == ELEMENT_I32
fn identity() -> Element { return 0x7fffffffi; }
#else
fn identity() -> Element { return bitcast<f32>(infinity_word); }
#endif
fn combine(earlier: Element, later: Element) -> Element { return min(earlier, later); }
fn combine_all(earlier: Vector, later: Vector) -> Vector { return min(earlier, later); }
#else
#if ELEMENT == ELEMENT_U32
fn identity() -> Element { return 0u; }
#elif ELEMENT == ELEMENT_I32
fn identity() -> Element { return bitcast<i32>(0x80000000u); }
#else
fn identity() -> Element { return bitcast<f32>(infinity_word | 0x80000000u); }
#endif
fn combine(earlier: Element, later: Element) -> Element { return max(earlier, later); }
fn combine_all(earlier: Vector, later: Vector) -> Vector { return max(earlier, later); }
#endif
