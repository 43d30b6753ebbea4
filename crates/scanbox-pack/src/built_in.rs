//! Scans by the operators of scanbox's own, made from words: whoever asks a pack for one need not know its identity.

use crate::contents::{ScanMode, ScanProblem};

impl ScanProblem {
    /// The scan of elements of a type (`u32`, `i32`, `f32`, `u64`, `i64`, `f64`) by an operator (`add`, `min`, `max`,
    /// `mul`, `and`, `or`, `xor`), out of place; an exclusive one begins with the identity. `None` where there is no
    /// such type or operator, or they do not go together. A user's operator stands in its pack alone: see
    /// [`PackData::problems`](crate::PackData::problems).
    ///
    /// ```
    /// use scanbox_pack::{ScanMode, ScanProblem};
    ///
    /// let prefix_sum = ScanProblem::built_in(ScanMode::Exclusive, "u32", "add").unwrap();
    /// assert_eq!(prefix_sum.init, [0]);
    /// ```
    #[must_use]
    pub fn built_in(mode: ScanMode, element: &str, operator: &str) -> Option<Self> {
        let identity = identity(element, operator)?;
        let element_bytes: u32 = if element.ends_with("64") { 8 } else { 4 };
        let words = [identity as u32, (identity >> 32) as u32];
        let init = match mode {
            ScanMode::Exclusive => &words[..element_bytes as usize / 4],
            ScanMode::Inclusive | ScanMode::Reduce => &[],
        };
        Some(Self {
            mode,
            element: element.to_owned(),
            element_bytes,
            operator: operator.to_owned(),
            operator_hash: String::new(),
            init: init.to_vec(),
            in_place: false,
            reverse: false,
        })
    }

    /// The same scan, with the output where the input stood.
    #[must_use]
    pub fn in_place(self) -> Self {
        Self { in_place: true, ..self }
    }

    /// The same scan from the last element on, with an initial value behind that.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { reverse: true, ..self }
    }

    /// The same scan or reduction, which begins with an element of these bits, the lowest word first.
    #[must_use]
    pub fn begin_with(self, init: &[u32]) -> Self {
        Self { init: init.to_vec(), ..self }
    }
}

/// The bits of what changes nothing.
fn identity(element: &str, operator: &str) -> Option<u64> {
    let ones = match element {
        "u32" | "i32" | "f32" => u64::from(u32::MAX),
        "u64" | "i64" | "f64" => u64::MAX,
        _ => return None,
    };
    let highest_bit = ones ^ (ones >> 1);
    let is_float = element.starts_with('f');
    Some(match (operator, element) {
        ("add", _) => 0,
        ("or" | "xor", _) if !is_float => 0,
        ("and", _) if !is_float => ones,
        ("mul", "f32") => u64::from(1_f32.to_bits()),
        ("mul", "f64") => 1_f64.to_bits(),
        ("mul", _) => 1,
        ("min", "f32") => u64::from(f32::INFINITY.to_bits()),
        ("min", "f64") => f64::INFINITY.to_bits(),
        ("min", "i32" | "i64") => ones >> 1,
        ("min", _) => ones,
        ("max", "f32") => u64::from(f32::NEG_INFINITY.to_bits()),
        ("max", "f64") => f64::NEG_INFINITY.to_bits(),
        ("max", "i32" | "i64") => highest_bit,
        ("max", _) => 0,
        _ => return None,
    })
}
