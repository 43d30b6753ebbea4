//! WGSL from stages: constants in front, `#include`, `#if` over integers, loops written out. WGSL has the rest.
//!
//! | line | means |
//! | --- | --- |
//! | `#include "FILE"` | the text of that file, named from the folder of the kernels |
//! | `#if A == B && C \|\| D > 4`, `#elif`, `#else`, `#endif` | one of these parts; names are defines and words |
//! | `#define NAME 1`, `#define NAME A / B` | one more define of this shader; what is divided leaves no rest |
//! | `#for k in 1..A`, `#endfor` | what is between, once for each number from 1 to A - 1; k is a constant in it |
//!
//! A loop is written out because naga and Tint keep indices within arrays, and naga counts the rounds of each loop.
//! A compiler behind them then neither unrolls it nor keeps in registers what it goes through. A part that is written
//! out has no `break` and no `continue`.
//!
//! Each name that the text has left becomes a constant of WGSL.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use scanbox_model::parameters::{KERNEL_PARAMETERS, Parameter, Values};
use scanbox_model::problem::{Element, Mode, Operator};

use crate::plan::Shader;

mod embedded;

/// What defines are where a shader leaves them out: parts of variants, and ways round what a driver goes wrong on
/// (`configs/known_issues.toml`).
const LEFT_OUT: [(&str, u32); 4] =
    [("BLOCKING", 0), ("COUNTED", 0), ("LATE", 0), ("NVIDIA_REDUCTIONS_BESIDE_SHUFFLES", 1)];

/// The kernels as text, by their paths.
#[derive(Debug, Clone)]
pub struct WgslSources {
    texts: BTreeMap<String, Cow<'static, str>>,
}

impl Default for WgslSources {
    fn default() -> Self {
        Self::embedded()
    }
}

impl WgslSources {
    /// Those of this program.
    #[must_use]
    pub fn embedded() -> Self {
        let texts = embedded::SOURCES.iter().map(|&(path, text)| (path.to_owned(), Cow::Borrowed(text)));
        Self { texts: texts.collect() }
    }

    /// Others.
    #[must_use]
    pub fn new(texts: BTreeMap<String, Cow<'static, str>>) -> Self {
        Self { texts }
    }

    /// The paths of all.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().map(String::as_str)
    }

    /// The text of one, as it stands in its file.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(|text| &**text)
    }

    /// Hash of all of them: the `kernel_hash` of records of kernels in WGSL.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for text in self.texts.iter().flat_map(|(path, text)| [path.as_str(), text]) {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// The WGSL of a shader, as Tint takes it.
    ///
    /// # Errors
    /// What is wrong with a source, with its file and line.
    pub fn generate(&self, shader: &Shader) -> Result<String, String> {
        self.expanded(shader).map(Expansion::text)
    }

    /// The sources of a shader: its root, then what it includes, each once.
    ///
    /// # Errors
    /// As [`Self::generate`].
    pub fn files(&self, shader: &Shader) -> Result<Vec<String>, String> {
        self.expanded(shader).map(|expansion| expansion.files)
    }

    fn expanded(&self, shader: &Shader) -> Result<Expansion<'_>, String> {
        let mut defines: BTreeMap<String, u32> = words();
        defines.extend(LEFT_OUT.map(|(name, value)| (name.to_owned(), value)));
        defines.extend(shader.defines.iter().map(|&(name, value)| (name.to_owned(), value)));
        let mut expansion =
            Expansion { sources: self, defines, out: String::new(), depth: 0, files: Vec::new() };
        expansion.expand(shader.root)?;
        Ok(expansion)
    }
}

/// The text for naga, which knows subgroups without being told, and rejects the line that tells it.
#[must_use]
pub fn for_naga(wgsl: &str) -> String {
    wgsl.split_inclusive('\n').filter(|line| line.trim_end() != "enable subgroups;").collect()
}

/// A number for each word of a problem and of a parameter: those of GLSL (`glsl/config_source.rs`).
fn words() -> BTreeMap<String, u32> {
    let name = |define: &str, word: &str| format!("{define}_{}", word.replace('-', "_").to_uppercase());
    let of_problems = [("MODE", Mode::WORDS), ("ELEMENT", Element::WORDS), ("OPERATOR", Operator::WORDS)];
    let of_problems = of_problems.into_iter().flat_map(|(define, words)| {
        (0..).zip(words).map(move |(place, word)| (name(define, word.word), place))
    });
    let of_parameters = KERNEL_PARAMETERS.iter().filter_map(|parameter| match parameter.values {
        Values::Words(words) => Some((parameter.define?, words)),
        Values::Numbers(..) => None,
    });
    let of_parameters = of_parameters.filter(|(define, _)| define.numbers.is_empty());
    let of_parameters = of_parameters.flat_map(|(define, words)| {
        let number = move |(place, word): (usize, &_)| {
            define.number(words, place).map(|number| (word_of(word), number))
        };
        words
            .iter()
            .enumerate()
            .filter_map(number)
            .map(move |(word, number)| (name(define.name, word), number))
    });
    of_problems.chain(of_parameters).collect()
}

fn word_of(word: &scanbox_model::parameters::Word) -> &'static str {
    word.word
}

/// More files than this in one another include themselves.
const MOST_DEPTH: u32 = 16;

struct Expansion<'a> {
    sources: &'a WgslSources,
    defines: BTreeMap<String, u32>,
    out: String,
    depth: u32,
    /// What was expanded.
    files: Vec<String>,
}

impl Expansion<'_> {
    fn expand(&mut self, path: &str) -> Result<(), String> {
        let sources = self.sources;
        let text = sources.text(path).ok_or_else(|| format!("there is no kernel source {path}"))?;
        if !self.files.iter().any(|file| file == path) {
            self.files.push(path.to_owned());
        }
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(format!("{path} includes itself"));
        }
        let lines: Vec<(usize, &str)> = (1..).zip(text.lines()).collect();
        self.lines(path, &lines)?;
        self.depth -= 1;
        Ok(())
    }

    /// Lines of a file, with their numbers.
    fn lines(&mut self, path: &str, mut lines: &[(usize, &str)]) -> Result<(), String> {
        // Of each open #if: whether its part is in, and whether any was.
        let mut open: Vec<(bool, bool)> = Vec::new();
        while let [(number, line), rest @ ..] = lines {
            let at = |what: String| format!("{path}:{number}: {what}");
            lines = rest;
            if is_in(&open) && word_and_rest(line).0 == "#for" {
                let (name, turns) = self.turns(line).map_err(at)?;
                let end = end_of_loop(rest).ok_or_else(|| at("#for without #endfor".to_owned()))?;
                for turn in turns {
                    self.out.push_str(&format!("{{ const {name} = {turn}u;\n"));
                    self.lines(path, &rest[..end])?;
                    self.out.push_str("}\n");
                }
                lines = &rest[end + 1..];
            } else {
                self.line(line, &mut open).map_err(|wrong| match wrong {
                    Wrong::Here(what) => at(what),
                    Wrong::Included(what) => what,
                })?;
            }
        }
        if open.is_empty() { Ok(()) } else { Err(format!("{path}: #if without #endif")) }
    }

    /// Of a line `#for NAME in FROM..TO`.
    fn turns<'line>(&self, line: &'line str) -> Result<(&'line str, Range<u32>), String> {
        let cannot = || format!("cannot read {}", line.trim());
        let (name, range) = word_and_rest(line).1.split_once(" in ").ok_or_else(cannot)?;
        let (from, to) = range.split_once("..").ok_or_else(cannot)?;
        let value = |word: &str| self.value(word.trim()).map_err(Wrong::what);
        Ok((name.trim(), value(from)?..value(to)?))
    }

    fn line(&mut self, line: &str, open: &mut Vec<(bool, bool)>) -> Result<(), Wrong> {
        let (word, rest) = word_and_rest(line);
        let mut enclosing = |of: &str| open.pop().ok_or_else(|| Wrong::Here(format!("{of} without #if")));
        match word {
            "#if" => {
                let holds = is_in(open) && self.holds(rest)?;
                open.push((holds, holds));
            }
            "#elif" => {
                let (_, any) = enclosing(word)?;
                let holds = !any && is_in(open) && self.holds(rest)?;
                open.push((holds, any || holds));
            }
            "#else" => {
                let (_, any) = enclosing(word)?;
                open.push((!any, true));
            }
            "#endif" => {
                enclosing(word)?;
            }
            _ if !is_in(open) => {}
            "#include" => self.expand(rest.trim().trim_matches('"')).map_err(Wrong::Included)?,
            "#define" => {
                let value = match rest.split_whitespace().collect::<Vec<_>>()[..] {
                    [name, value] => Some((name, self.value(value)?)),
                    [name, value, "/", by] => {
                        let (value, by) = (self.value(value)?, self.value(by)?);
                        (by != 0 && value % by == 0).then(|| (name, value / by))
                    }
                    _ => None,
                };
                let (name, value) =
                    value.ok_or_else(|| Wrong::Here(format!("cannot read {}", line.trim())))?;
                self.defines.insert(name.to_owned(), value);
            }
            "#endfor" => return Err(Wrong::Here("#endfor without #for".to_owned())),
            _ if word.starts_with('#') => return Err(Wrong::Here(format!("there is no {word}"))),
            _ => {
                self.out.push_str(line);
                self.out.push('\n');
            }
        }
        Ok(())
    }

    /// Terms joined by `&&`, and these by `||`.
    fn holds(&self, condition: &str) -> Result<bool, Wrong> {
        // All of them, so that a name which nobody knows is found wherever it stands.
        condition.split("||").try_fold(false, |any, terms| {
            let all = terms.split("&&").try_fold(true, |all, term| Ok::<_, Wrong>(all & self.term(term)?))?;
            Ok(any | all)
        })
    }

    /// `NAME`, `!NAME`, `NAME == 4`, and the other comparisons.
    fn term(&self, term: &str) -> Result<bool, Wrong> {
        let words: Vec<&str> = term.split_whitespace().collect();
        Ok(match words[..] {
            [name] => match name.strip_prefix('!') {
                Some(name) => self.value(name)? == 0,
                None => self.value(name)? != 0,
            },
            [left, comparison, right] => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                match comparison {
                    "==" => left == right,
                    "!=" => left != right,
                    ">" => left > right,
                    "<" => left < right,
                    ">=" => left >= right,
                    "<=" => left <= right,
                    _ => return Err(Wrong::Here(format!("cannot read{term}"))),
                }
            }
            _ => return Err(Wrong::Here(format!("cannot read {}", term.trim()))),
        })
    }

    fn value(&self, word: &str) -> Result<u32, Wrong> {
        let known = || self.defines.get(word).copied();
        word.parse().ok().or_else(known).ok_or_else(|| Wrong::Here(format!("there is no define {word}")))
    }

    /// Directives have to stand before declarations, and constants before nothing.
    fn text(self) -> String {
        let is_directive = |line: &&str| ["enable ", "diagnostic("].iter().any(|word| line.starts_with(word));
        let (directives, rest): (Vec<&str>, Vec<&str>) = self.out.lines().partition(is_directive);
        let code = rest.iter().map(|line| line.split("//").next().unwrap_or_default());
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let names: BTreeSet<&str> = code.flat_map(|line| line.split(|letter| !is_letter(letter))).collect();
        let constants = self.defines.iter().filter(|(name, _)| names.contains(name.as_str()));
        let constants = constants.map(|(name, value)| format!("const {name} = {value}u;"));
        let lines = directives.into_iter().map(str::to_owned).chain(constants);
        let mut text: String =
            lines.chain(rest.into_iter().map(str::to_owned)).map(|line| line + "\n").collect();
        text.shrink_to_fit();
        text
    }
}

/// Whether what comes now is in.
fn is_in(open: &[(bool, bool)]) -> bool {
    open.iter().all(|(is_in, _)| *is_in)
}

fn word_and_rest(line: &str) -> (&str, &str) {
    let line = line.trim();
    line.split_once(' ').unwrap_or((line, ""))
}

/// Which of the lines behind a `#for` is its `#endfor`.
fn end_of_loop(lines: &[(usize, &str)]) -> Option<usize> {
    let mut depth = 1;
    lines.iter().position(|(_, line)| {
        match word_and_rest(line).0 {
            "#for" => depth += 1,
            "#endfor" => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// Where something is wrong.
enum Wrong {
    /// In this line.
    Here(String),
    /// In a file that it includes, which says so.
    Included(String),
}

impl Wrong {
    fn what(self) -> String {
        match self {
            Self::Here(what) | Self::Included(what) => what,
        }
    }
}
