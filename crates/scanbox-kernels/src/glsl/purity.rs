//! Whether the functions of a user's operator are pure: functions of their arguments, which touch no memory and ask
//! nothing of where they run. Kernels call them wherever an element comes or goes, as often as they like.
//!
//! The compiler's own output is looked at, not the text: what a function does, whatever macros call it.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::spirv::{self, code_of, instructions};
use super::{CompileError, Compiler, failed, tools};
use crate::plan::Shader;

/// The functions of an operator. Those that a file does not have are those that are made for it.
const FUNCTIONS: [&str; 6] =
    ["identity", "combine", "combine_in_array", "draw", "transform_input", "transform_output"];

impl Compiler {
    /// Sees that the functions of the operator are pure, as far as a shader calls them.
    ///
    /// # Errors
    /// When the shader does not compile; which function is not pure, what it does, and in which line of the file.
    pub fn check_purity(&self, shader: &Shader) -> Result<(), CompileError> {
        let words = self.with_text(shader, tools::unoptimized)?;
        impure(&words).map_or(Ok(()), |wrong| Err(failed(shader, &wrong)))
    }
}

/// One instruction: what it is, and its words behind that.
type Instruction<'a> = (u16, &'a [u32]);

fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> =
        words.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What the first function of an operator does that is not pure; `None` where all are.
fn impure(words: &[u32]) -> Option<String> {
    let all: Vec<Instruction<'_>> = instructions(words).iter().map(|one| (code_of(one), &one[1..])).collect();
    let texts = |number: u16| -> HashMap<u32, String> {
        let those = all.iter().filter(|(code, words)| *code == number && words.len() > 1);
        those.map(|(_, words)| (words[0], text(&words[1..]))).collect()
    };
    let (names, files) = (texts(spirv::NAME), texts(spirv::STRING));
    let mut bodies: HashMap<u32, Vec<Instruction<'_>>> = HashMap::new();
    let mut outside: HashSet<u32> = HashSet::new();
    let mut own = None;
    for (code, operands) in &all {
        match (*code, own) {
            (spirv::FUNCTION, _) => own = operands.get(1).copied(),
            (spirv::FUNCTION_END, _) => own = None,
            (spirv::VARIABLE, None) => outside.extend(operands.get(1)),
            (_, Some(function)) => bodies.entry(function).or_default().push((*code, operands)),
            _ => {}
        }
    }
    let plain =
        |function: &u32| names.get(function).and_then(|name| name.split('(').next()).unwrap_or_default();
    let mut to_see: BTreeSet<u32> =
        bodies.keys().copied().filter(|function| FUNCTIONS.contains(&plain(function))).collect();
    let mut seen = BTreeSet::new();
    while let Some(function) = to_see.pop_first() {
        if !seen.insert(function) {
            continue;
        }
        let (mut local, mut place) = (HashSet::new(), String::new());
        for (code, operands) in bodies.get(&function).into_iter().flatten() {
            let told = |what: String| Some(format!("{place}`{}` {what}, and must be pure", plain(&function)));
            let named = |id: &u32| {
                names
                    .get(id)
                    .filter(|name| !name.is_empty())
                    .map_or("memory".to_owned(), |name| format!("`{name}`"))
            };
            match *code {
                spirv::LINE => {
                    let file = operands.first().and_then(|file| files.get(file));
                    place = file.map_or_else(String::new, |file| {
                        format!("{file}:{}: ", operands.get(1).copied().unwrap_or(0))
                    });
                }
                spirv::PARAMETER => local.extend(operands.get(1)),
                spirv::VARIABLE if operands.get(2) == Some(&spirv::IN_FUNCTION) => {
                    local.extend(operands.get(1));
                }
                spirv::CALL => {
                    to_see.extend(operands.get(2));
                    if let Some(id) = operands.iter().skip(3).find(|id| outside.contains(id)) {
                        return told(format!("touches {}", named(id)));
                    }
                }
                code if spirv::ACCESS_CHAINS.contains(&code) => match operands {
                    [_, chain, base, ..] if local.contains(base) => {
                        local.insert(*chain);
                    }
                    operands => return told(format!("touches {}", named(operands.get(2).unwrap_or(&0)))),
                },
                spirv::LOAD | spirv::STORE | spirv::COPY_MEMORY => {
                    let pointer = operands.get(if *code == spirv::LOAD { 2 } else { 0 }).unwrap_or(&0);
                    if !local.contains(pointer) {
                        return told(format!("touches {}", named(pointer)));
                    }
                }
                code if spirv::POINTERS_OF_NUMBERS.contains(&code) => {
                    return told("touches memory by its address".to_owned());
                }
                code if spirv::BEYOND_ARGUMENTS.iter().any(|those| those.contains(&code)) => {
                    return told("asks other invocations, or waits for them".to_owned());
                }
                _ => {}
            }
        }
    }
    None
}
