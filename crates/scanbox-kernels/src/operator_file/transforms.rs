//! Transforms of elements as they are loaded and stored: which a file has, and whether one looks at the index.
//!
//! Nothing here compiles the file. So the index counts as looked at wherever the words of a function do not rule it
//! out.

use scanbox_model::user_operator::Transforms;

use super::{Token, WrongLine};

/// The transforms of a file. `plain`: its text without comments.
pub(super) fn transforms(plain: &str, tokens: &[Token<'_>]) -> Result<Transforms, WrongLine> {
    let input = transform(tokens, "transform_input")?;
    let output = transform(tokens, "transform_output")?;
    let either = input.or(output).is_some();
    let looks = input == Some(true) || output == Some(true);
    Ok(Transforms {
        input: input.is_some(),
        output: output.is_some(),
        indexed: either && (looks || may_hide_words(plain)),
    })
}

/// Whether the preprocessor may put words where none stand: a macro may name the index, and a line that goes on in the
/// next one may begin a macro.
fn may_hide_words(plain: &str) -> bool {
    let harmless = |line: &str| {
        let Some(directive) = line.trim_start().strip_prefix('#') else { return true };
        directive.trim_start().starts_with("pragma")
    };
    plain.contains('\\') || !plain.lines().all(harmless)
}

/// Whether the transform of this name may look at the index; `None` where there is none. It has to be a function from
/// an element and its index to an element.
fn transform(tokens: &[Token<'_>], function: &str) -> Result<Option<bool>, WrongLine> {
    let Some(place) = tokens.iter().position(|token| token.text == function) else { return Ok(None) };
    let line = Some(tokens[place].line);
    let wrong = |what: &str| {
        (
            line,
            format!("`{function}` {what}: it is `Element {function}(const Element value, const uint index)`"),
        )
    };
    let result = place.checked_sub(1).map_or("", |before| tokens[before].text);
    if result != "Element" {
        return Err(wrong(&format!("returns `{result}`, and elements stay elements")));
    }
    let rest: Vec<&str> = tokens[place + 1..].iter().map(|token| token.text).collect();
    let end = rest.iter().position(|text| *text == ")").unwrap_or(rest.len());
    let (parameters, behind) = rest.split_at(end);
    let parameters: Vec<&str> =
        parameters.iter().copied().filter(|text| !matches!(*text, "const" | "in")).collect();
    let index = match &*parameters {
        ["(", "Element", _, ",", "uint", index] => Some(*index),
        // Nobody can name it.
        ["(", "Element", _, ",", "uint"] => None,
        _ => return Err(wrong("has other parameters")),
    };
    // Where it is declared before, or twice for two cases of the preprocessor, another body may be the one that counts.
    let is_once = tokens.iter().filter(|token| token.text == function).count() == 1;
    let looks = index.is_some_and(|index| names(behind, index));
    Ok(Some(!is_once || looks))
}

/// Whether the body of a function, behind the parenthesis of its parameters, has this word, other than as a field. A
/// variable of the same name counts: what it is initialised with may be the parameter.
fn names(behind: &[&str], word: &str) -> bool {
    if behind.get(1) != Some(&"{") {
        return true;
    }
    let mut depth = 0;
    for pair in behind.windows(2) {
        let [before, text] = pair else { continue };
        match *text {
            "{" => depth += 1,
            "}" => depth -= 1,
            text if text == word && *before != "." => return true,
            _ => {}
        }
        if depth == 0 {
            return false;
        }
    }
    true
}
