//! Hints for words that have no meaning: the legal words that look most like one, or mean the same elsewhere.

/// How much two words must look alike, from 0 to 1.
const ALIKE: f64 = 0.8;

/// What other libraries and languages call something, and the words for it here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("sum", "add"),
    ("plus", "add"),
    ("+", "add"),
    ("product", "mul"),
    ("multiply", "mul"),
    ("prod", "mul"),
    ("*", "mul"),
    ("minimum", "min"),
    ("maximum", "max"),
    ("uint", "u32"),
    ("int", "i32"),
    ("float", "f32"),
    ("double", "f64"),
    ("total", "reduce"),
    ("reduction", "reduce"),
];

/// The words that are spelled most like one that has no meaning, the nearest one first.
#[must_use]
pub fn nearest<W: AsRef<str>>(word: &str, legal: impl IntoIterator<Item = W>, at_most: usize) -> Vec<String> {
    let asked = word.to_lowercase();
    let other = OTHER_NAMES.iter().find(|(name, _)| *name == asked).map(|(_, here)| *here);
    let likeness = |legal: &str| match other == Some(legal) {
        true => 1.0,
        false => strsim::jaro_winkler(&asked, &legal.to_lowercase()),
    };
    let mut rated: Vec<(f64, String)> = legal
        .into_iter()
        .map(|legal| (likeness(legal.as_ref()), legal.as_ref().to_owned()))
        .filter(|(likeness, _)| *likeness > ALIKE)
        .collect();
    rated.sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
    rated.dedup();
    rated.into_iter().take(at_most).map(|(_, word)| word).collect()
}

/// A question for the end of a message about a word that has no meaning; empty where no legal word is near.
#[must_use]
pub fn hint<W: AsRef<str>>(word: &str, legal: impl IntoIterator<Item = W>) -> String {
    let near = nearest(word, legal, 1);
    near.first().map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_legal_word_is_named() {
        let check = |word: &str, legal: &[&str], expected: &str| {
            let question =
                if expected.is_empty() { String::new() } else { format!("; did you mean `{expected}`?") };
            assert_eq!(hint(word, legal), question, "{word}");
        };
        let operators = ["add", "min", "max", "mul"];
        check("sum", &operators, "add");
        check("ADD", &operators, "add");
        check("mim", &operators, "min");
        check("xyzzy", &operators, "");
        check("", &operators, "");
        // A word of elsewhere that is legal here is no other name.
        check("sumn", &["sum", "squared"], "sum");
        check("quik", &["thesis", "quick", "full"], "quick");
        check("double", &["u32", "f32", "f64"], "f64");
        assert_eq!(nearest("full", ["full", "full64", "fool"], 2), ["full", "full64"]);
    }
}
