//! The style guide of CONTRIBUTING.md, as far as a program can hold texts against it: phrases that no native reader
//! would write, in documents, in help, in messages.

use std::process::Command;

use assert_cmd::cargo::CommandCargoExt;

use crate::tidy::{documents, files};

/// Phrases that are refused, and what to write. A star at an end stands for any letters.
const REFUSED: &[(&str, &str)] = &[
    ("in vain", "without success, or what did not happen"),
    ("has to be", "must be"),
    ("have to be", "must be"),
    ("had to be", "was, or needed to be"),
    ("whoever", "name the person or the program"),
    ("told", "reported, shown, named"),
    ("tells of", "reports"),
    ("sees to", "ensures"),
    ("what is there", "name it"),
    ("dear", "expensive"),
    ("so-manieth", "every n-th"),
    ("belong into", "belong in"),
    ("belongs into", "belongs in"),
    ("is none", "there is no ..., or is not"),
    ("are none", "there are no ..., or are not"),
    ("but for", "except"),
    ("to its end", "finishes"),
    ("to their end*", "finish"),
    ("at times", "sometimes"),
    ("a fourth", "a quarter"),
];

/// Words before ` is no ` that make it good English: `there is no device`.
const WITH_NO: &[&str] = &["there", "where", "that"];

/// Places where a refused phrase is the right one: part of the text, and the phrase.
const RIGHT: &[(&str, &str)] = &[("not have to be", "have to be")];

/// Every refused phrase in a text, with what stands around it.
fn found(text: &str) -> Vec<String> {
    let text = format!(" {} ", text.split_whitespace().collect::<Vec<_>>().join(" "));
    let lower = text.to_ascii_lowercase();
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let around = |at: usize| {
        let from = lower[..at].char_indices().rev().nth(40).map_or(0, |(index, _)| index);
        lower[from..].chars().take(90).collect::<String>()
    };
    let mut found = Vec::new();
    for (phrase, better) in REFUSED {
        let (word, open) = phrase.strip_suffix('*').map_or((*phrase, false), |word| (word, true));
        for (at, _) in lower.match_indices(word) {
            let before = lower[..at].chars().next_back();
            let behind = lower[at + word.len()..].chars().next();
            let is_word = !before.is_some_and(is_letter) && (open || !behind.is_some_and(is_letter));
            let context = around(at);
            if is_word && !RIGHT.iter().any(|(place, right)| right == phrase && context.contains(place)) {
                found.push(format!("`{phrase}` ({better}): ...{context}..."));
            }
        }
    }
    for verb in [" is no ", " are no ", " was no ", " were no "] {
        for (at, _) in lower.match_indices(verb) {
            let before = lower[..at].rsplit(|letter: char| !is_letter(letter)).next().unwrap_or_default();
            let behind = &lower[at + verb.len()..];
            let is_right =
                WITH_NO.contains(&before) || ["longer", "more"].iter().any(|word| behind.starts_with(word));
            if !is_right {
                found.push(format!("`X{verb}Y` (X is not a Y): ...{}...", around(at)));
            }
        }
    }
    // `Who writes nothing is found out`, but not `Who uses it?`.
    for (at, _) in text.match_indices("Who ") {
        let before = text[..at].trim_end();
        let begins = before.is_empty()
            || text[..at].ends_with([' ', '(', '*']) && before.ends_with(['.', ':', '|', '*']);
        let sentence = text[at..].split_inclusive(['.', '?', '!']).next().unwrap_or_default();
        if begins && !sentence.ends_with('?') {
            found.push(format!("`Who ... is` (name the person or the program): ...{}...", around(at)));
        }
    }
    found
}

/// Markdown without its blocks of code, and without code within a line.
fn words_of(markdown: &str) -> String {
    let mut in_code = false;
    let prose = markdown.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    });
    let prose = prose.collect::<Vec<_>>().join("\n");
    // Paragraphs apart: a sentence does not go on in the next one.
    prose
        .split("\n\n")
        .map(|part| part.split('`').step_by(2).collect::<Vec<_>>().join("`"))
        .collect::<Vec<_>>()
        .join(". ")
}

/// The words and the sentences of the prose of a document, without headings, tables and comments.
pub(crate) fn length(markdown: &str) -> (usize, usize) {
    let is_prose = |line: &&str| !line.starts_with(['#', '|', '!']) && !line.trim_start().starts_with("<!--");
    let prose = markdown.lines().filter(is_prose).collect::<Vec<_>>().join("\n");
    let text = words_of(&prose);
    let mut sentences = 0;
    let mut words = 0;
    let mut in_sentence = 0;
    for word in text.split_whitespace() {
        let letters = word.chars().any(char::is_alphabetic);
        in_sentence += usize::from(letters);
        if word.trim_end_matches(['*', ')', ']', '"']).ends_with(['.', '?', '!', ':', ';']) && in_sentence > 0
        {
            words += in_sentence;
            sentences += 1;
            in_sentence = 0;
        }
    }
    (words + in_sentence, sentences + usize::from(in_sentence > 0))
}

/// The texts in quotes of a file of Rust, without comments, attributes and the tests at its end.
fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut texts = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let here = &rest[at..];
        if here.starts_with("//") {
            rest = here.split_once('\n').map_or("", |(_, rest)| rest);
        } else if here.starts_with('\'') {
            // A character, or a lifetime.
            let letters: Vec<(usize, char)> = here.char_indices().take(4).collect();
            let end = match letters[..] {
                [_, (_, '\\'), _, ..] => here[2..]
                    .char_indices()
                    .skip(1)
                    .find(|(_, letter)| *letter == '\'')
                    .map(|(end, _)| end + 3),
                [_, _, (end, '\''), ..] => Some(end + 1),
                _ => None,
            };
            rest = &here[end.unwrap_or(1)..];
        } else if let Some(behind) = here.strip_prefix('"') {
            let hashes = rest[..at].chars().rev().take_while(|letter| *letter == '#').count();
            let is_raw = rest[..at - hashes].ends_with('r');
            let end = match is_raw {
                true => behind.find(&format!("\"{}", "#".repeat(hashes))).map(|end| end + 1),
                false => {
                    let mut escaped = false;
                    here.char_indices()
                        .skip(1)
                        .find(|(_, letter)| {
                            let ends = *letter == '"' && !escaped;
                            escaped = *letter == '\\' && !escaped;
                            ends
                        })
                        .map(|(end, _)| end)
                }
            };
            let Some(end) = end else { break };
            let is_reason = rest[..at].trim_end().ends_with("reason =");
            if !is_reason {
                texts.push(here[1..end].replace("\\\n", " ").replace("\\n", "\n"));
            }
            rest = &here[end + 1..];
        } else {
            rest = &here[1..];
        }
    }
    texts
}

/// A text of `format!` without the names of what stands in it.
fn without_placeholders(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        kept.push_str(before);
        kept.push_str("{}");
        rest = behind.split_once('}').map_or("", |(_, rest)| rest);
    }
    kept + rest
}

#[test]
fn documents_are_in_plain_english() {
    let mut refused = Vec::new();
    // Notes of a day stay as they were written.
    let lasting = |name: &str| !name.starts_with("results/runs/");
    for (name, text) in documents().into_iter().filter(|(name, _)| lasting(name)) {
        refused.extend(found(&words_of(&text)).into_iter().map(|why| format!("{name}: {why}")));
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn messages_are_in_plain_english() {
    let (mut count, mut refused) = (0, Vec::new());
    for (name, text) in files(&["crates"], &["rs"]) {
        if !name.contains("/src/") || name.ends_with("/tests.rs") {
            continue;
        }
        for text in literals(&text) {
            count += 1;
            let text = without_placeholders(&text);
            refused.extend(found(&text).into_iter().map(|why| format!("{name}: {why}")));
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
    assert!(count > 5000, "only {count} texts were found");
}

fn help(words: &[&str]) -> String {
    let output = Command::cargo_bin("scanbox").unwrap().args(words).arg("--help").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_is_in_plain_english() {
    let first = help(&[]);
    let (_, list) = first.split_once("Commands:\n").unwrap();
    let commands = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let commands: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.len() > 15, "{commands:?}");
    let mut refused = found(&first);
    for command in commands {
        refused.extend(found(&help(&[command])).into_iter().map(|why| format!("{command}: {why}")));
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn phrases_are_found() {
    fn check(text: &str, count: usize) {
        assert_eq!(found(text).len(), count, "{text}: {:?}", found(text));
    }
    for (phrase, _) in REFUSED {
        check(&format!("This {} that.", phrase.trim_end_matches('*')), 1);
    }
    check("`10` is no time", 1);
    check("There is no device, and it is no longer there; of which there are no more", 0);
    check("It has to\n  be so", 1);
    check("It does not have to be so", 0);
    check("Who writes nothing is found out.", 1);
    check("It ends. Who asks again gets an answer.", 1);
    check("Who uses it? The WHO knows, and those who ask.", 0);
    check("The endearing untold story is nonetheless true.", 0);
    assert_eq!(
        literals(
            "let a = \"b\\\"c\"; // \"d\"\nlet e = '\"'; f::<'a>(r#\"g\"h\"#, \"i \\\n  j\", '\\''); #[allow(k, reason = \"l\")]\n"
        ),
        ["b\\\"c", "g\"h", "i    j"]
    );
    assert_eq!(without_placeholders("a {told}: {b:?}"), "a {}: {}");
    assert_eq!(length("# No\n\nOne two. Three\nfour five?\n\n| a. b. |\n\n- Six\n"), (6, 3));
    assert_eq!(words_of("a `is no b` c\n```\nin vain\n```\n\nd"), "a ` c. d");
}
