//! Operators that users bring: what is known of one without its file.
//!
//! Rows and metadata have name, hash and facts of an operator, so that everything that reads them does without the
//! file.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::parameters::Parameter;
use crate::problem::{Element, Mode, Operator};

/// The most characters of an operator's name.
const MOST_CHARACTERS: usize = 32;

/// The name of an operator, as it stands in the `op` column: one of scanbox's own, or the stem of a user's file.
/// Lower-case letters, digits and dashes, 32 at most, the first a letter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct OperatorName {
    /// Filled up with zeros.
    characters: [u8; MOST_CHARACTERS],
}

impl OperatorName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let length = self.characters.iter().position(|character| *character == 0).unwrap_or(MOST_CHARACTERS);
        std::str::from_utf8(&self.characters[..length]).expect("names are ASCII")
    }

    /// The operator of scanbox's own that has this name.
    #[must_use]
    pub fn built_in(&self) -> Option<Operator> {
        Operator::from_word(self.as_str()).ok().filter(|operator| *operator != Operator::User)
    }
}

impl From<Operator> for OperatorName {
    fn from(operator: Operator) -> Self {
        operator.word().parse().expect("words of operators are names")
    }
}

impl FromStr for OperatorName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
        if !begins || text.len() > MOST_CHARACTERS || !text.bytes().all(legal) {
            return Err(format!(
                "`{}` is not a name of an operator: lower-case letters, digits and dashes, {MOST_CHARACTERS} at most, a letter \
                 first",
                text.chars().take(40).collect::<String>()
            ));
        }
        let mut characters = [0; MOST_CHARACTERS];
        characters[..text.len()].copy_from_slice(text.as_bytes());
        Ok(Self { characters })
    }
}

impl TryFrom<String> for OperatorName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<OperatorName> for String {
    fn from(name: OperatorName) -> Self {
        name.as_str().to_owned()
    }
}

impl fmt::Display for OperatorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for OperatorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// How far a field of an element may be off, as a share of its magnitude or of 1, whichever is more; none: not at all.
/// Not negative and finite.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Tolerance {
    /// The bits of a 32-bit float that is not negative, which are in the order of such.
    bits: u32,
}

impl Tolerance {
    /// Every bit counts.
    pub const EXACT: Self = Self { bits: 0 };

    /// A tolerance; `None` unless it is above 0 and below 1.
    #[must_use]
    pub fn new(share: f32) -> Option<Self> {
        (share > 0.0 && share < 1.0).then(|| Self { bits: share.to_bits() })
    }

    /// The share; 0 where every bit counts.
    #[must_use]
    pub fn share(self) -> f32 {
        f32::from_bits(self.bits)
    }
}

impl fmt::Debug for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.share(), f)
    }
}

/// What facts end with of files with transforms.
const INPUT: &str = "+input";
const OUTPUT: &str = "+output";
/// Behind these, where none of them looks at the index. Rows of older versions do not say it.
const UNINDEXED: &str = "+unindexed";

/// An operator from a user's file: all that is known of it without the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserOperator {
    /// The stem of the file.
    pub name: OperatorName,
    /// Hash of the file's text.
    pub hash: u64,
    /// The type of its elements, by size.
    pub element: Element,
    /// Whether the order of two elements makes no difference.
    pub commutative: bool,
    /// What counts as right.
    pub tolerance: Tolerance,
    /// What the file makes of elements as they are loaded and stored.
    pub transforms: Transforms,
}

/// Which transforms a file has: pure functions of an element and its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Transforms {
    /// Of elements of the input, before they are combined.
    pub input: bool,
    /// Of elements of the output, as they are stored.
    pub output: bool,
    /// Whether one of them may look at the index.
    pub indexed: bool,
}

impl Transforms {
    /// Whether there is one.
    #[must_use]
    pub fn any(self) -> bool {
        self.input || self.output
    }
}

impl UserOperator {
    /// An operator.
    ///
    /// # Errors
    /// When the name is that of one of scanbox's own, or the element no structure.
    pub fn new(
        name: OperatorName,
        hash: u64,
        element: Element,
        facts: (bool, Tolerance),
    ) -> Result<Self, String> {
        if Operator::from_word(name.as_str()).is_ok() {
            return Err(format!("`{name}` is an operator of scanbox's own: give the file another name"));
        }
        if !element.is_struct() {
            return Err(format!("operator {name} of type {element}, which is not a structure"));
        }
        let (commutative, tolerance) = facts;
        Ok(Self { name, hash, element, commutative, tolerance, transforms: Transforms::default() })
    }

    /// The same operator, of a file with these transforms.
    #[must_use]
    pub fn with_transforms(self, transforms: Transforms) -> Self {
        Self { transforms, ..self }
    }

    /// Whether a call in parts, each of which begins with the total of the one before and counts its own elements from
    /// 0, leaves what one call leaves. A transform that looks at the index would see that of its part. A reduction
    /// stores its total as the file transforms it, so that the next part would begin with something else; the total
    /// beside a scan is stored as it is.
    #[must_use]
    pub fn splits(&self, mode: Mode) -> bool {
        let Transforms { output, indexed, .. } = self.transforms;
        let is_transformed = output && mode == Mode::Reduce;
        !(indexed || is_transformed)
    }

    /// The text of the `operator_hash` column: 16 hexadecimal digits.
    #[must_use]
    pub fn hash_text(&self) -> String {
        format!("{:016x}", self.hash)
    }

    /// The text of the `operator_facts` column: `ordered+exact`, `commutative+tolerance=0.00001`; with transforms
    /// `ordered+exact+input+output`, and `+unindexed` behind that where none of them looks at the index.
    #[must_use]
    pub fn facts(&self) -> String {
        let order = if self.commutative { "commutative" } else { "ordered" };
        let exactness = match self.tolerance {
            Tolerance::EXACT => "exact".to_owned(),
            tolerance => format!("tolerance={}", tolerance.share()),
        };
        let [input, output] = [(self.transforms.input, INPUT), (self.transforms.output, OUTPUT)]
            .map(|(has, word)| if has { word } else { "" });
        let unindexed = if self.transforms.any() && !self.transforms.indexed { UNINDEXED } else { "" };
        format!("{order}+{exactness}{input}{output}{unindexed}")
    }

    /// The operator of a row or of metadata.
    ///
    /// # Errors
    /// Which column is wrong.
    pub fn read(name: OperatorName, element: Element, hash: &str, facts: &str) -> Result<Self, String> {
        let excerpt = |text: &str| text.chars().take(40).collect::<String>();
        let digits = hash.len() == 16 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let hash =
            u64::from_str_radix(hash, 16).ok().filter(|_| digits).ok_or_else(|| match hash.is_empty() {
                true => {
                    format!("`{name}` is not one of scanbox's own operators, and there is no operator_hash")
                }
                false => format!("operator_hash `{}` is not a hash", excerpt(hash)),
            })?;
        let no_facts = || format!("operator_facts `{}` are not facts of an operator", excerpt(facts));
        let (order, exactness) = facts.split_once('+').ok_or_else(no_facts)?;
        let (exactness, unindexed) =
            exactness.strip_suffix(UNINDEXED).map_or((exactness, false), |rest| (rest, true));
        let (exactness, output) =
            exactness.strip_suffix(OUTPUT).map_or((exactness, false), |rest| (rest, true));
        let (exactness, input) =
            exactness.strip_suffix(INPUT).map_or((exactness, false), |rest| (rest, true));
        let commutative = match order {
            "commutative" => true,
            "ordered" => false,
            _ => return Err(no_facts()),
        };
        let tolerance = match exactness.strip_prefix("tolerance=") {
            Some(share) => share.parse().ok().and_then(Tolerance::new).ok_or_else(no_facts)?,
            None if exactness == "exact" => Tolerance::EXACT,
            None => return Err(no_facts()),
        };
        let any = input || output;
        if unindexed && !any {
            return Err(no_facts());
        }
        let operator = Self::new(name, hash, element, (commutative, tolerance))?;
        Ok(operator.with_transforms(Transforms { input, output, indexed: any && !unindexed }))
    }
}
