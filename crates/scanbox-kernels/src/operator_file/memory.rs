//! Declarations of memory and of what is bound to a pipeline. A function that uses them is refused by what it compiles
//! to (`glsl/purity.rs`), but shaderc's compiler dies of some uses: of a reference that is a constant, for one.

use super::WrongLine;

/// What such declarations have in them.
const WORDS: [&str; 3] = ["layout", "buffer", "uniform"];

/// Refuses a text that has one of [`WORDS`], in a macro too.
pub(super) fn check(plain: &str) -> Result<(), WrongLine> {
    // A line that ends with a backslash goes on in the next one, in the middle of a word too.
    let mut line = String::new();
    let mut begin = 1;
    let mut lines = plain.lines().enumerate().peekable();
    while let Some((at, text)) = lines.next() {
        match text.strip_suffix('\\') {
            Some(part) if lines.peek().is_some() => {
                line.push_str(part);
                continue;
            }
            _ => line.push_str(text),
        }
        let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        if let Some(word) = words.find(|word| WORDS.contains(word)) {
            let reason = format!(
                "`{word}`: an operator declares no memory and nothing that is bound; it knows what its functions are \
                 given"
            );
            return Err((Some(begin), reason));
        }
        line.clear();
        begin = at + 2;
    }
    Ok(())
}
