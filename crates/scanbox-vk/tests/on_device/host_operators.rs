//! Operators of the project's files on the host, written by hand after their GLSL: what they come to, one element after
//! the other, has nothing in common with a kernel.

use std::fmt::Debug;

/// An operator and its elements, whose words stand in memory as those of the host do.
pub trait HostOperator: Copy + PartialEq + Debug + Send + Sync {
    /// The operator and the type of its elements, as packs name them.
    const NAMES: [&str; 2];
    /// What changes nothing.
    const IDENTITY: Self;
    /// Transforms of its file that a test may add: they do not look at the index. None of scanbox's own.
    const TRANSFORMS: [&str; 2] = ["", ""];

    /// The earlier element comes first.
    fn combine(self, later: Self) -> Self;
    /// An element whose loss shows in all behind it, of random words.
    fn drawn(random: [u32; 2]) -> Self;
    /// Not 0 where two elements differ. Without branches, so that many are compared at a time.
    fn differs(self, other: Self) -> u32;
    /// What the first of [`HostOperator::TRANSFORMS`] makes of it.
    fn as_taken(self) -> Self {
        self
    }
    /// What the second one does.
    fn as_given(self) -> Self {
        self
    }
}

/// Sums of u32.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(transparent)]
pub struct Sum(u32);

impl HostOperator for Sum {
    const NAMES: [&str; 2] = ["add", "u32"];
    const IDENTITY: Self = Self(0);

    fn combine(self, later: Self) -> Self {
        Self(self.0.wrapping_add(later.0))
    }

    fn drawn([word, _]: [u32; 2]) -> Self {
        Self(word)
    }

    fn differs(self, other: Self) -> u32 {
        self.0 ^ other.0
    }
}

/// affine.glsl
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Affine {
    scale: u32,
    offset: u32,
}

impl HostOperator for Affine {
    const NAMES: [&str; 2] = ["affine", "struct8"];
    const IDENTITY: Self = Self { scale: 1, offset: 0 };
    const TRANSFORMS: [&str; 2] = [
        "Element transform_input(const Element value, const uint index) {\n\
         return Element(value.scale | 1u, value.offset * 5u);\n}\n",
        "Element transform_output(const Element value, const uint) {\n\
         return Element(value.offset, value.scale + 7u);\n}\n",
    ];

    fn combine(self, later: Self) -> Self {
        let offset = later.scale.wrapping_mul(self.offset).wrapping_add(later.offset);
        Self { scale: later.scale.wrapping_mul(self.scale), offset }
    }

    fn drawn([scale, offset]: [u32; 2]) -> Self {
        Self { scale: scale | 1, offset }
    }

    fn differs(self, other: Self) -> u32 {
        (self.scale ^ other.scale) | (self.offset ^ other.offset)
    }

    fn as_taken(self) -> Self {
        Self { scale: self.scale | 1, offset: self.offset.wrapping_mul(5) }
    }

    fn as_given(self) -> Self {
        Self { scale: self.offset, offset: self.scale.wrapping_add(7) }
    }
}

/// text-position.glsl
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct TextPosition {
    lines: u32,
    column: u32,
    bytes: u32,
}

impl HostOperator for TextPosition {
    const NAMES: [&str; 2] = ["text-position", "struct12"];
    const IDENTITY: Self = Self { lines: 0, column: 0, bytes: 0 };
    const TRANSFORMS: [&str; 2] = [
        "Element transform_input(const Element value, const uint index) {\n\
         return Element(value.lines & 1u, value.column, value.bytes + 1u);\n}\n",
        "Element transform_output(const Element value, const uint) {\n\
         return Element(value.bytes, value.lines, value.column ^ 3u);\n}\n",
    ];

    fn combine(self, later: Self) -> Self {
        let before = if later.lines == 0 { self.column } else { 0 };
        Self {
            lines: self.lines.wrapping_add(later.lines),
            column: before.wrapping_add(later.column),
            bytes: self.bytes.wrapping_add(later.bytes),
        }
    }

    // Lines of some hundred elements: a total comes from far back.
    fn drawn([one, other]: [u32; 2]) -> Self {
        Self { lines: u32::from(one.is_multiple_of(400)), column: other >> 8, bytes: other }
    }

    fn differs(self, other: Self) -> u32 {
        (self.lines ^ other.lines) | (self.column ^ other.column) | (self.bytes ^ other.bytes)
    }

    fn as_taken(self) -> Self {
        Self { lines: self.lines & 1, bytes: self.bytes.wrapping_add(1), ..self }
    }

    fn as_given(self) -> Self {
        Self { lines: self.bytes, column: self.lines, bytes: self.column ^ 3 }
    }
}

/// matrix2x2.glsl
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Matrix {
    upper: [u32; 2],
    lower: [u32; 2],
}

impl HostOperator for Matrix {
    const NAMES: [&str; 2] = ["matrix2x2", "struct16"];
    const IDENTITY: Self = Self { upper: [1, 0], lower: [0, 1] };
    const TRANSFORMS: [&str; 2] = [
        "Element transform_input(const Element value, const uint index) {\n\
         return Element(value.lower, value.upper);\n}\n",
        "Element transform_output(const Element value, const uint) {\n\
         return Element(value.upper.yx, value.lower + 1u);\n}\n",
    ];

    fn combine(self, later: Self) -> Self {
        let row = |[x, y]: [u32; 2]| {
            [0, 1].map(|column: usize| {
                x.wrapping_mul(self.upper[column]).wrapping_add(y.wrapping_mul(self.lower[column]))
            })
        };
        Self { upper: row(later.upper), lower: row(later.lower) }
    }

    // Determinant 1.
    fn drawn([x, y]: [u32; 2]) -> Self {
        Self { upper: [x.wrapping_mul(y).wrapping_add(1), x], lower: [y, 1] }
    }

    fn differs(self, other: Self) -> u32 {
        let [[a, b], [c, d]] = [self.upper, self.lower];
        let [[e, f], [g, h]] = [other.upper, other.lower];
        (a ^ e) | (b ^ f) | (c ^ g) | (d ^ h)
    }

    fn as_taken(self) -> Self {
        Self { upper: self.lower, lower: self.upper }
    }

    fn as_given(self) -> Self {
        let [x, y] = self.upper;
        Self { upper: [y, x], lower: self.lower.map(|word| word.wrapping_add(1)) }
    }
}

/// So many elements, of a seed.
pub fn drawn<T: HostOperator>(seed: u64, count: u64) -> Vec<T> {
    let word = |place: u64| {
        let mut z = (seed << 40 | place).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    (0..count).map(word).map(|word| T::drawn([word as u32, (word >> 32) as u32])).collect()
}

/// Elements as they stand in memory.
pub fn elements<T: HostOperator>(words: &[u32]) -> &[T] {
    // SAFETY: elements are words, any of which are one.
    let (before, elements, behind) = unsafe { words.align_to::<T>() };
    assert!(before.is_empty() && behind.is_empty());
    elements
}

/// The words of elements in memory.
pub fn words<T: HostOperator>(elements: &[T]) -> &[u32] {
    // SAFETY: they are words without gaps.
    let (before, words, behind) = unsafe { elements.align_to::<u32>() };
    assert!(before.is_empty() && behind.is_empty());
    words
}
