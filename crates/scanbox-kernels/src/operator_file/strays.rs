//! Functions that may be there and are spelled in another way: without them the operator is another one.

use scanbox_model::nearest::nearest;

use super::{Token, WrongLine};

/// What a file may have.
const OPTIONAL: [&str; 3] = ["draw", "transform_input", "transform_output"];

/// Refuses a function that returns an element, that nothing calls, and that is spelled nearly as one of [`OPTIONAL`].
pub(super) fn check(tokens: &[Token<'_>]) -> Result<(), WrongLine> {
    for three in tokens.windows(3) {
        let [result, name, sign] = three else { continue };
        let is_function = (result.text, sign.text) == ("Element", "(");
        if !is_function || OPTIONAL.contains(&name.text) {
            continue;
        }
        let is_called = tokens.iter().filter(|token| token.text == name.text).count() > 1;
        let absent = OPTIONAL.into_iter().filter(|there| tokens.iter().all(|token| token.text != *there));
        if let (false, Some(meant)) = (is_called, nearest(name.text, absent, 1).pop()) {
            return Err((
                Some(name.line),
                format!("nothing calls the function `{}`; did you mean `{meant}`?", name.text),
            ));
        }
    }
    Ok(())
}
