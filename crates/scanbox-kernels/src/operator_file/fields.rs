//! Fields of a structure: how they are read, the GLSL that follows from them, and an element as text.

use std::fmt::Write as _;

use scanbox_model::problem::{Component, Element};

use super::{TEXT_NAME, Token, WrongLine};

/// Types of fields: name, type of a component, components.
const TYPES: [(&str, Component, usize); 12] = [
    ("uint", Component::Uint, 1),
    ("uvec2", Component::Uint, 2),
    ("uvec3", Component::Uint, 3),
    ("uvec4", Component::Uint, 4),
    ("int", Component::Int, 1),
    ("ivec2", Component::Int, 2),
    ("ivec3", Component::Int, 3),
    ("ivec4", Component::Int, 4),
    ("float", Component::Float, 1),
    ("vec2", Component::Float, 2),
    ("vec3", Component::Float, 3),
    ("vec4", Component::Float, 4),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    /// Its name.
    pub name: String,
    /// Its type in GLSL.
    pub type_name: &'static str,
    /// The type of its components.
    pub component: Component,
    /// How many it has.
    pub components: usize,
}

impl Field {
    /// The name of a component.
    pub(super) fn part(&self, at: usize) -> String {
        match self.components {
            1 => self.name.clone(),
            _ => format!("{}.{}", self.name, &"xyzw"[at..=at]),
        }
    }
}

/// An element as text: `{scale = 3, offset = 0.5}`.
pub(super) fn shown(fields: &[Field], words: [u32; 4]) -> String {
    let parts = fields.iter().flat_map(|field| (0..field.components).map(move |at| (field, at)));
    let shown = parts.zip(words).map(|((field, at), word)| match field.component {
        Component::Uint => format!("{} = {word}", field.part(at)),
        Component::Int => format!("{} = {}", field.part(at), word as i32),
        Component::Float => format!("{} = {:?}", field.part(at), f32::from_bits(word)),
    });
    format!("{{{}}}", shown.collect::<Vec<_>>().join(", "))
}

/// The fields of `struct Element`.
pub(super) fn fields(tokens: &[Token<'_>]) -> Result<Vec<Field>, WrongLine> {
    let start = tokens
        .windows(3)
        .position(|three| three.iter().map(|token| token.text).eq(["struct", "Element", "{"]))
        .ok_or_else(|| (None, "there is no `struct Element { ... };`".to_owned()))?;
    let line = tokens[start].line;
    let mut rest = tokens[start + 3..].iter();
    let mut fields: Vec<Field> = Vec::new();
    loop {
        let unfinished = || (Some(line), "`struct Element` has no end".to_owned());
        let token = rest.next().ok_or_else(unfinished)?;
        if token.text == "}" {
            return Ok(fields);
        }
        let &(type_name, component, components) =
            TYPES.iter().find(|(name, ..)| *name == token.text).ok_or_else(|| {
                let names: Vec<_> = TYPES.iter().map(|(name, ..)| *name).collect();
                let reason =
                    format!("`{}` is not a type of a field: there are {}", token.text, names.join(", "));
                (Some(token.line), reason)
            })?;
        loop {
            let name = rest.next().ok_or_else(unfinished)?;
            let sign = rest.next().ok_or_else(unfinished)?;
            if !name.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                || !matches!(sign.text, "," | ";")
            {
                let reason = format!(
                    "`{} {}{}`: a field is a type and a name, without brackets",
                    type_name, name.text, sign.text
                );
                return Err((Some(name.line), reason));
            }
            fields.push(Field { name: name.text.to_owned(), type_name, component, components });
            if sign.text == ";" {
                break;
            }
        }
    }
}

/// The type by its size.
pub(super) fn element_of(fields: &[Field]) -> Result<Element, String> {
    let words: usize = fields.iter().map(|field| field.components).sum();
    match words {
        1 => Ok(Element::Struct4),
        2 => Ok(Element::Struct8),
        3 => Ok(Element::Struct12),
        4 => Ok(Element::Struct16),
        0 => Err("`struct Element` has no fields".to_owned()),
        _ => Err(format!(
            "`struct Element` has {} bytes, and elements have 4, 8, 12 or 16: pack small fields into one word",
            4 * words
        )),
    }
}

/// What follows from the fields, around the text of the file.
pub(super) fn glue(fields: &[Field], draws: bool, hash_word: u32) -> String {
    let mut words = Vec::new();
    let mut arguments = Vec::new();
    let mut errors = Vec::new();
    let mut numbers = vec!["true".to_owned()];
    for field in fields {
        let Field { type_name, component, components, .. } = field;
        let mut parts = Vec::new();
        for at in 0..*components {
            let part = field.part(at);
            let word = format!("words.{}", &"xyzw"[words.len()..=words.len()]);
            let (to_word, of_word, error) = match component {
                Component::Uint => ("", "", "word_error"),
                Component::Int => ("uint", "int", "int_error"),
                Component::Float => ("floatBitsToUint", "uintBitsToFloat", "float_error"),
            };
            words.push(format!("{to_word}(value.{part})"));
            parts.push(format!("{of_word}({word})"));
            errors.push(format!("{error}(expected.{part}, got.{part})"));
            if *component == Component::Float {
                numbers.push(format!("is_float_number(value.{part})"));
            }
        }
        arguments.push(format!("{type_name}({})", parts.join(", ")));
    }
    if words.len() == 1 {
        words.push("0u".to_owned());
    }
    let error = errors.into_iter().reduce(|all, one| format!("max({all}, {one})")).unwrap_or_default();
    let mut text = format!(
        "// Made from the fields of the file.\n\
         #if OPERATOR_HASH != {hash_word}\n\
         #error \"the shader is for another version of the operator's file\"\n\
         #endif\n\
         #include \"{TEXT_NAME}\"\n"
    );
    let functions = format!(
        "
ElementWords element_words(const Element value) {{
    return ElementWords({words});
}}

Element element_of_words(const ElementWords words) {{
    return Element({arguments});
}}

#define NO_SHARE uintBitsToFloat(0x7f800000u)

float float_error(const float expected, const float got) {{
    if (floatBitsToUint(expected) == floatBitsToUint(got)) {{
        return 0.0;
    }}
    const float error = abs(got - expected) / max(abs(expected), 1.0);
    // A NaN is not right: by its bits, as `max` may leave it out.
    return floatBitsToUint(error) < 0x7f800000u ? error : NO_SHARE;
}}

float word_error(const uint expected, const uint got) {{
    return expected == got ? 0.0 : NO_SHARE;
}}

float int_error(const int expected, const int got) {{
    return expected == got ? 0.0 : NO_SHARE;
}}

float element_error(const Element expected, const Element got) {{
    return {error};
}}

// By its bits: a compiler may take it that there are no others.
bool is_float_number(const float value) {{
    return (floatBitsToUint(value) & 0x7fffffffu) <= 0x7f800000u;
}}

bool is_number(const Element value) {{
    return {numbers};
}}
",
        numbers = numbers.join(" && "),
        words = words.join(", "),
        arguments = arguments.join(", "),
    );
    text.push_str(&functions);
    if !draws {
        let constructed = match fields.iter().map(|field| field.components).sum::<usize>() {
            4 => "uvec4(random, random.y * 0x9e3779b9u + index, random.x ^ (index * 0x85ebca6bu))",
            3 => "uvec3(random, random.y * 0x9e3779b9u + index)",
            _ => "random",
        };
        let _ = write!(
            text,
            "
// The file draws no elements: any words will do.
Element draw(const uvec2 random, const uint index) {{
    return element_of_words({constructed});
}}
"
        );
    }
    text
}
