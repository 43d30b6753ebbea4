//! Files of users' operators: what one says of itself, and the GLSL that follows from its fields.
//!
//! A file has a line `#pragma scanbox operator(commutative = no, exact = yes)`, a `struct Element` of 4, 8, 12 or 16
//! bytes, and the functions `identity`, `combine` and, unless random words will do, `draw`; it may have
//! `transform_input` and `transform_output` (kernels/README.md, "Your own operator"). Everything else is the GLSL
//! compiler's to say.

use std::path::Path;

use scanbox_model::problem::{Component, StructureValue};
use scanbox_model::user_operator::{OperatorName, Tolerance, UserOperator};
use serde::{Deserialize, Serialize};

mod fields;
mod memory;
mod strays;
mod transforms;

use fields::Field;

/// The file's own text, as what follows from its fields includes it.
pub(crate) const TEXT_NAME: &str = "operator_text.glsl";

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 64 << 10;

/// Why there is no operator.
#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    /// The file cannot be read.
    #[error("{place}")]
    Unreadable {
        /// The file.
        place: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The text is none of an operator.
    #[error("{place}: {reason}")]
    Wrong {
        /// The file, and the line where there is one.
        place: String,
        /// What is wrong.
        reason: String,
    },
}

/// A user's file as it crosses processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorSource {
    /// Where it was read from, for messages.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// An operator with its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorFile {
    source: OperatorSource,
    operator: UserOperator,
    fields: Vec<Field>,
    glue: String,
}

/// A word or a sign of a text without comments, and the line it stands on, from 1.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

impl OperatorFile {
    /// Reads an operator from its file.
    ///
    /// # Errors
    /// When the file cannot be read, or is none of an operator.
    pub fn read(path: &Path) -> Result<Self, OperatorError> {
        let place = path.display().to_string();
        let unreadable = |source| OperatorError::Unreadable { place: place.clone(), source };
        let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
        if bytes > MOST_BYTES {
            let reason = format!("{bytes} bytes, where an operator has {MOST_BYTES} at most");
            return Err(OperatorError::Wrong { place, reason });
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        Self::new(OperatorSource { path: place.clone(), text })
    }

    /// An operator from the text of its file. Its name is the stem of the path.
    ///
    /// # Errors
    /// What is wrong with the file, by line where it is about one.
    pub fn new(source: OperatorSource) -> Result<Self, OperatorError> {
        let failed = |line: Option<usize>, reason: String| {
            let line = line.map_or_else(String::new, |line| format!(":{line}"));
            OperatorError::Wrong { place: format!("{}{line}", source.path), reason }
        };
        let stem = Path::new(&source.path).file_stem().unwrap_or_default().to_string_lossy();
        let name: OperatorName = stem.parse().map_err(|reason| {
            failed(None, format!("the name of the file is that of the operator, and {reason}"))
        })?;
        let plain = without_comments(&source.text);
        let tokens = tokens(&plain);
        let facts = Facts::read(&plain).map_err(|(line, reason)| failed(line, reason))?;
        let fields = fields::fields(&tokens).map_err(|(line, reason)| failed(line, reason))?;
        let element = fields::element_of(&fields).map_err(|reason| failed(None, reason))?;
        let floats = fields.iter().any(|field| field.component == Component::Float);
        if facts.tolerance != Tolerance::EXACT && !floats {
            let reason = "a tolerance is for fields that are floats, and there is none: write `exact = yes`";
            return Err(failed(None, reason.to_owned()));
        }
        for function in ["identity", "combine"] {
            if !defines(&tokens, function) {
                let reason = format!(
                    "there is no function `Element {function}(...)`; an operator has identity and combine"
                );
                return Err(failed(None, reason));
            }
        }
        strays::check(&tokens).map_err(|(line, reason)| failed(line, reason))?;
        memory::check(&plain).map_err(|(line, reason)| failed(line, reason))?;
        let transforms =
            transforms::transforms(&plain, &tokens).map_err(|(line, reason)| failed(line, reason))?;
        let draws = defines(&tokens, "draw");
        if !draws && floats {
            let reason = "there is no function `Element draw(const uvec2 random, const uint index)`, which makes elements for \
                          tests and times: random words will not do for floats";
            return Err(failed(None, reason.to_owned()));
        }
        let hash = blake3::hash(source.text.as_bytes());
        let hash = u64::from_be_bytes(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"));
        let operator = UserOperator::new(name, hash, element, (facts.commutative, facts.tolerance))
            .map_err(|reason| failed(None, reason))?
            .with_transforms(transforms);
        let glue = fields::glue(&fields, draws, hash_word(&operator));
        Ok(Self { source, operator, fields, glue })
    }

    /// An element from a text with a number for each component of its fields, in their order: `1,-3,0.5`. A number may
    /// say what it is, as in GLSL.
    ///
    /// # Errors
    /// What is wrong with which of them.
    pub fn value(&self, text: &str) -> Result<StructureValue, String> {
        let parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let components =
            self.fields.iter().flat_map(|field| (0..field.components).map(move |at| (field, at)));
        let components: Vec<(&Field, usize)> = components.collect();
        if parts.len() != components.len() {
            let fields: Vec<String> =
                self.fields.iter().map(|field| format!("{} {}", field.type_name, field.name)).collect();
            return Err(format!(
                "{} numbers, where an element of {} has {}: {}",
                parts.len(),
                self.operator.name,
                components.len(),
                fields.join(", ")
            ));
        }
        let words = components.iter().zip(parts).map(|(&(field, at), part)| {
            let word = field.component.read(part);
            let word = word.map_err(|reason| format!("field {}: {reason}", field.part(at)))?;
            Ok((field.component, word))
        });
        StructureValue::new(words.collect::<Result<Vec<_>, String>>()?)
    }

    /// An element from its words, as text: `{scale = 3, offset = 0.5}`.
    #[must_use]
    pub fn shown(&self, words: [u32; 4]) -> String {
        fields::shown(&self.fields, words)
    }

    /// What is known of it without the file.
    #[must_use]
    pub fn operator(&self) -> UserOperator {
        self.operator
    }

    /// The file.
    #[must_use]
    pub fn source(&self) -> &OperatorSource {
        &self.source
    }

    /// The GLSL around its text (`stages/tile/operator_file.glsl`).
    #[cfg_attr(not(feature = "compile"), expect(dead_code, reason = "nothing is compiled"))]
    pub(crate) fn glue(&self) -> &str {
        &self.glue
    }
}

/// The part of the hash that shaders are compiled with: they include the file of this hash or none.
pub(crate) fn hash_word(operator: &UserOperator) -> u32 {
    // The preprocessor computes with signed words.
    operator.hash as u32 >> 1
}

/// The text with blanks in place of comments; lines stay where they are.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        plain.push_str(&rest[..at]);
        let comment = &rest[at..];
        let length = if comment.starts_with("//") {
            comment.find('\n').unwrap_or(comment.len())
        } else {
            comment[2..].find("*/").map_or(comment.len(), |end| end + 4)
        };
        plain.push(' ');
        plain.extend(comment[..length].chars().filter(|character| *character == '\n'));
        rest = &comment[length..];
    }
    plain.push_str(rest);
    plain
}

/// Words and signs of a text, without lines for the preprocessor.
fn tokens(plain: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (at, text) in plain.lines().enumerate() {
        let mut rest = text.trim_start();
        if rest.starts_with('#') {
            continue;
        }
        while let Some(first) = rest.chars().next() {
            let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            let length = if word == 0 { first.len_utf8() } else { word };
            tokens.push(Token { text: &rest[..length], line: at + 1 });
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

/// Whether there is a function of this name that returns an element.
fn defines(tokens: &[Token<'_>], function: &str) -> bool {
    tokens.windows(3).any(|three| {
        let [result, name, sign] = three else { return false };
        (result.text, name.text, sign.text) == ("Element", function, "(")
    })
}

/// What the pragma says.
struct Facts {
    commutative: bool,
    tolerance: Tolerance,
}

/// What is wrong, and the line it is about.
type WrongLine = (Option<usize>, String);

const EXAMPLE: &str = "for example `#pragma scanbox operator(commutative = no, exact = yes)`";

impl Facts {
    fn read(plain: &str) -> Result<Self, WrongLine> {
        let mut pragmas = plain.lines().enumerate().filter_map(|(at, line)| {
            let line = line.trim().strip_prefix('#')?.trim_start().strip_prefix("pragma")?.trim();
            Some((at + 1, line.strip_prefix("scanbox")?.trim()))
        });
        let Some((line, text)) = pragmas.next() else {
            return Err((None, format!("there is no line that says what the operator is, {EXAMPLE}")));
        };
        if let Some((other, _)) = pragmas.next() {
            return Err((Some(other), format!("a second `#pragma scanbox`; the first is in line {line}")));
        }
        let wrong = |reason: String| (Some(line), reason);
        let list = text
            .strip_prefix("operator")
            .and_then(|rest| rest.trim().strip_prefix('(')?.strip_suffix(')'))
            .ok_or_else(|| wrong(format!("`#pragma scanbox {text}` is not an operator; {EXAMPLE}")))?;
        let (mut commutative, mut exact, mut tolerance) = (None, None, None);
        for fact in list.split(',') {
            let (key, value) = fact
                .split_once('=')
                .map(|(key, value)| (key.trim(), value.trim()))
                .ok_or_else(|| wrong(format!("`{}` is not a fact with a value; {EXAMPLE}", fact.trim())))?;
            let yes_or_no = || match value {
                "yes" => Ok(true),
                "no" => Ok(false),
                _ => Err(wrong(format!("`{key} = {value}`: it is yes or no"))),
            };
            let twice = match key {
                "commutative" => commutative.replace(yes_or_no()?).is_some(),
                "exact" => exact.replace(yes_or_no()?).is_some(),
                "tolerance" => {
                    let share = value.parse().ok().and_then(Tolerance::new).ok_or_else(|| {
                        wrong(format!("`tolerance = {value}`: it is a number above 0 and below 1"))
                    })?;
                    tolerance.replace(share).is_some()
                }
                _ => {
                    let reason = format!("`{key}` is not a fact: there are commutative, exact and tolerance");
                    return Err(wrong(reason));
                }
            };
            if twice {
                return Err(wrong(format!("`{key}` is there twice")));
            }
        }
        let Some(commutative) = commutative else {
            return Err(wrong(
                "it does not say whether the order of two elements matters: `commutative = no` or `yes`"
                    .to_owned(),
            ));
        };
        let tolerance = match (exact, tolerance) {
            (Some(true), None) => Tolerance::EXACT,
            (None | Some(false), Some(tolerance)) => tolerance,
            (Some(true), Some(_)) => {
                return Err(wrong("`exact = yes` and a tolerance: it is one of them".to_owned()));
            }
            (_, None) => {
                return Err(wrong(
                    "it does not say what counts as right: `exact = yes`, or `tolerance = 1e-5` for floats"
                        .to_owned(),
                ));
            }
        };
        Ok(Self { commutative, tolerance })
    }
}
