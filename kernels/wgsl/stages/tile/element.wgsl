// SPDX-License-Identifier: MIT OR Apache-2.0
// Stage: element. The type of elements, and vectors of LANES of them.
#if ELEMENT == ELEMENT_U32
alias Element = u32;
#elif ELEMENT == ELEMENT_I32
alias Element = i32;
#else
alias Element = f32;
#endif

fn word_of(element: Element) -> u32 { return bitcast<u32>(element); }
fn element_of(word: u32) -> Element { return bitcast<Element>(word); }

#if LANES == 1
alias Vector = Element;
fn last_of(v: Vector) -> Element { return v; }
// Elements behind the first `left`, of which there is one at least, become the identity.
fn masked(v: Vector, left: u32) -> Vector { return v; }
// The exclusive form of an inclusive scan that `before` is in.
fn moved_up(v: Vector, before: Element) -> Vector { return before; }
#elif LANES == 2
alias Vector = vec2<Element>;
fn last_of(v: Vector) -> Element { return v.y; }
fn masked(v: Vector, left: u32) -> Vector { return Vector(v.x, select(identity(), v.y, left > 1u)); }
fn moved_up(v: Vector, before: Element) -> Vector { return Vector(before, v.x); }
#else
alias Vector = vec4<Element>;
fn last_of(v: Vector) -> Element { return v.w; }
fn masked(v: Vector, left: u32) -> Vector {
    return select(Vector(identity()), v, vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(left));
}
fn moved_up(v: Vector, before: Element) -> Vector { return Vector(before, v.xyz); }
#endif
