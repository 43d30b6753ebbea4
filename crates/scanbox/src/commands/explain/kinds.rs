//! The words that are not labels, by kind.

use clap::Command;
use scanbox_analysis::metric::Metric;
use scanbox_analysis::normalize::Normalization;
use scanbox_kernels::cases::{Circumstance, Pattern};
use scanbox_kernels::catalog::rules;
use scanbox_model::call_form::CallForm;
use scanbox_model::config::Parameter;
use scanbox_model::nearest::nearest;
use scanbox_model::parameters::{Declaration, LabelPart, PARAMETERS, PROPERTIES, Value, Values};
use scanbox_model::record::{COLUMNS, Selection, Status};
use scanbox_model::safe_devices::Guarantee;
use scanbox_report::explained::{Explanation, ListOfWords, Meaning};

use super::glossary::{self, GLOSSARY, GlossaryEntry};
use super::options;
use crate::args::space::built_in_spaces;
use crate::exit::{EXITS, Exit};

/// A kind of words.
struct WordKind {
    /// The word for one of them.
    one: &'static str,
    /// The word for all of them, which is a subject too.
    all: &'static str,
    /// What they are.
    text: &'static str,
    /// What the list of them has.
    headings: [&'static str; 3],
    /// All of them, of this program: name, what stands between, meaning.
    words: fn(&Command) -> Vec<[String; 3]>,
}

/// Every kind, in the order in which a newcomer meets them.
const KINDS: &[WordKind] = &[
    WordKind {
        one: "parameter",
        all: "parameters",
        text: "Properties of a kernel and its launch. A label has a tag for each that is not at its default; space files, \
               filters and columns have its name.",
        headings: ["parameter", "tag", "meaning"],
        words: |_| PARAMETERS.iter().map(|parameter| of_parameter(parameter, tag_of(parameter))).collect(),
    },
    WordKind {
        one: "metric",
        all: "metrics",
        text: "How `scanbox analyze --metric` judges a kernel that has to serve every size. `I` is the ideal line, the \
               fastest config of each size; `L` is the line of the kernel, the fastest of its configs at each size; `w` is \
               the weight of a size.",
        headings: ["metric", "", "the best kernel has the"],
        words: |_| {
            let row = |metric: Metric| [metric.to_string(), String::new(), metric.formula()];
            Metric::THESIS.into_iter().map(row).collect()
        },
    },
    WordKind {
        one: "normalisation",
        all: "normalisations",
        text: "What `scanbox analyze --normalize` makes of a throughput x before a metric adds it up. `I(d,n)` is the best of \
               device d at size n.",
        headings: ["normalisation", "", "x becomes"],
        words: |_| Normalization::ALL.iter().map(|one| plain(one.word(), one.formula())).collect(),
    },
    WordKind {
        one: "column",
        all: "columns",
        text: "Columns of a CSV file of rows, in order. Within a version of the schema, columns are only appended.",
        headings: ["column", "", "meaning"],
        words: |_| COLUMNS.iter().map(|column| plain(column.name, &column.meaning())).collect(),
    },
    WordKind {
        one: "status",
        all: "statuses",
        text: "How the attempt to run a config at a size ended: the column `status`.",
        headings: ["status", "", "meaning"],
        words: |_| Status::ALL.iter().map(|status| plain(status.word(), status.meaning())).collect(),
    },
    WordKind {
        one: "exit",
        all: "exits",
        text: "How a command ends, and its exit code.",
        headings: ["end", "exit code", "meaning"],
        words: |_| {
            let row = |(exit, word, meaning): &(Exit, &str, &str)| {
                [(*word).to_owned(), (*exit as u8).to_string(), (*meaning).to_owned()]
            };
            EXITS.iter().map(row).collect()
        },
    },
    WordKind {
        one: "circumstance",
        all: "circumstances",
        text: "What was special about a call that `scanbox verify` found wrong: the field `circumstance` of its answer in \
               JSON. The calls of a case follow each other in this order.",
        headings: ["circumstance", "", "meaning"],
        words: |_| Circumstance::EVERY.iter().map(|one| plain(one.word(), one.meaning())).collect(),
    },
    WordKind {
        one: "input",
        all: "inputs",
        text: "What `scanbox verify --inputs` tries kernels on.",
        headings: ["input", "", "meaning"],
        words: |_| Pattern::ALL.iter().map(|one| plain(one.word(), one.meaning())).collect(),
    },
    WordKind {
        one: "selection",
        all: "selections",
        text: "Why a row is there that is not a point of a sweep, but of a benchmark or an anchor: the column `selection`.",
        headings: ["selection", "", "meaning"],
        words: |_| {
            Selection::ALL.iter().map(|selection| plain(selection.word(), selection.meaning())).collect()
        },
    },
    WordKind {
        one: "form of calls",
        all: "forms",
        text: "What calls of a benchmark are that differ from ordinary ones of the config: the column `call_form`.",
        headings: ["form", "", "meaning"],
        words: |_| CallForm::WORDS.iter().map(|(word, text)| plain(word, text)).collect(),
    },
    WordKind {
        one: "word of fleets",
        all: "fleets",
        text: "Words of sweeps that many machines share. docs/fleet.md says how that is done.",
        headings: ["word", "", "meaning"],
        words: |_| FLEET_WORDS.iter().map(|(word, text)| plain(word, text)).collect(),
    },
    WordKind {
        one: "rule",
        all: "rules",
        text: "Rules reject configs that cannot run, and inputs that show nothing, before anything runs. `scanbox space` \
               counts rejections by rule.",
        headings: ["rule", "meaning", "what to do"],
        words: |_| rules().into_iter().map(|rule| [rule.name, rule.meaning, rule.remedy]).collect(),
    },
    WordKind {
        one: "guarantee",
        all: "guarantees",
        text: "What a kernel may need of a device beyond what Vulkan promises. `scanbox devices --probe` asks a device; \
               docs/guarantees.md says how.",
        headings: ["guarantee", "", "meaning"],
        words: |_| Guarantee::WORDS.iter().map(|word| plain(word.word, word.meaning)).collect(),
    },
    WordKind {
        one: "space",
        all: "spaces",
        text: "Sets of points that need no file: `scanbox sweep --space NAME`. `scanbox space --space NAME` counts one on \
               a device.",
        headings: ["space", "", "what it holds"],
        words: |_| built_in_spaces().into_iter().map(|(name, text)| plain(&name, &text)).collect(),
    },
    WordKind {
        one: "command",
        all: "commands",
        text: "What scanbox can be asked to do. `scanbox COMMAND --help` lists the options of one.",
        headings: ["command", "", "what it does"],
        words: |program| {
            let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
            let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
            shown.map(|command| plain(command.get_name(), &about(command))).collect()
        },
    },
    WordKind {
        one: "option",
        all: "options",
        text: "Options of commands that take words. `scanbox explain` knows each of the words.",
        headings: ["option", "words", "what it is for"],
        words: options::list,
    },
    WordKind {
        one: "word",
        all: "words",
        text: "Words and columns of what scanbox prints.",
        headings: ["word", "", "meaning"],
        words: |_| {
            let mut words: Vec<[String; 3]> =
                GLOSSARY.iter().map(|(words, text): &GlossaryEntry| plain(words[0], text)).collect();
            words.sort_by_key(|[word, ..]| word.to_lowercase());
            words
        },
    },
];

/// What fleets are told in.
const FLEET_WORDS: [(&str, &str); 6] = [
    (
        "shard",
        "A part of a space that is swept by itself: `sweep --shard 3/16` is the fourth of 16. It has whole sizes, or, with \
         --shard-by pipeline, whole pipelines (a kernel and a workgroup size).",
    ),
    (
        "attempt",
        "One start of a sweep with --scratch and --publish. It goes on with what earlier attempts have published, and \
         publishes files that no other attempt writes.",
    ),
    (
        "unit",
        "A device of a model: the GPU that one host has at one PCI address. Units of a model differ by some percent. On a \
         device, a processor that runs workgroups (multiprocessor, compute unit, core).",
    ),
    (
        "anchor",
        "A config that every shard measures at each of its sizes, where sizes are split: at its start, middle and end. \
         Anchors say how units differ, and whether one keeps its speed.",
    ),
    (
        "drift",
        "By how much longer anchors took at the end of a shard than at its start. Above 2 % its times do not count: the \
         sweep ends with exit code 4, and the same command measures them again.",
    ),
    (
        "merge",
        "`scanbox merge` makes one sweep of shards and attempts, and says which arguments measure what is missing.",
    ),
];

/// A list of all kinds: what `scanbox explain` says where it is asked for nothing.
pub fn all(program: &Command) -> Explanation {
    let words = KINDS.iter().map(|kind| {
        let examples: Vec<String> =
            (kind.words)(program).into_iter().take(2).map(|[name, ..]| name).collect();
        let (what, _) = kind.text.split_once(". ").unwrap_or((kind.text, ""));
        [kind.all.to_owned(), examples.join(", "), what.trim_end_matches('.').to_owned()]
    });
    let meaning = Meaning {
        kind: "words that can be explained".to_owned(),
        text: "`scanbox explain LABEL` takes a label apart; --device, --profile and --from say what it comes to, and what \
               it cost. The other words are of these kinds."
            .to_owned(),
        list: Some(ListOfWords { headings: ["kind", "such as", "what they are"], words: words.collect() }),
        ..Meaning::default()
    };
    Explanation::new("scanbox explain", vec![meaning])
}

/// Everything that a word means; nothing where it has no meaning.
pub fn meanings(subject: &str, program: &Command) -> Vec<Meaning> {
    // Defaults have an empty tag, and nobody asks for that.
    if subject.is_empty() {
        return Vec::new();
    }
    let mut meanings: Vec<Meaning> =
        KINDS.iter().filter_map(|kind| of_kind(kind, subject, program)).collect();
    // Words that have other names, too.
    if let Some((words, text)) = glossary::entry(subject).filter(|(words, _)| words[0] != subject) {
        let kind = if words[0].eq_ignore_ascii_case(subject) {
            "word".to_owned()
        } else {
            format!("word: {}", words[0])
        };
        meanings.push(Meaning { kind, text: (*text).to_owned(), ..Meaning::default() });
    }
    meanings.extend(of_values(subject));
    meanings.extend(options::meanings(subject, program));
    if let Some(metric) = subject.parse::<Metric>().ok().filter(|metric| !Metric::THESIS.contains(metric)) {
        meanings.push(of_metric(metric));
    }
    meanings
}

/// What a word means among those of a kind.
fn of_kind(kind: &WordKind, subject: &str, program: &Command) -> Option<Meaning> {
    let words = (kind.words)(program);
    if subject == kind.all {
        return Some(Meaning {
            kind: format!("all {}", kind.all),
            text: kind.text.to_owned(),
            list: Some(ListOfWords { headings: kind.headings, words }),
            ..Meaning::default()
        });
    }
    let [_, between, text] = words.into_iter().find(|[name, ..]| name == subject)?;
    Some(match kind.one {
        "parameter" => declared(PARAMETERS.iter().find(|parameter| parameter.name == subject)?),
        "metric" => of_metric(subject.parse().ok()?),
        // The parameter of this name says it.
        "column" if PARAMETERS.iter().any(|parameter| parameter.name == subject) => return None,
        "rule" => Meaning {
            kind: kind.one.to_owned(),
            text: between,
            facts: Some(text)
                .filter(|text| !text.is_empty())
                .map(|text| fact("what to do", text))
                .into_iter()
                .collect(),
            ..Meaning::default()
        },
        "command" => Meaning {
            kind: kind.one.to_owned(),
            text,
            facts: vec![fact("its options", format!("scanbox {subject} --help"))],
            ..Meaning::default()
        },
        "normalisation" => Meaning {
            kind: kind.one.to_owned(),
            text: format!("Before a metric adds it up, a throughput x becomes: {text}."),
            facts: vec![fact("see", "scanbox explain normalisations".to_owned())],
            ..Meaning::default()
        },
        "exit" => Meaning {
            kind: kind.one.to_owned(),
            text: format!("How a command ends: {text}."),
            facts: vec![fact("exit code", between)],
            ..Meaning::default()
        },
        "option" => Meaning {
            kind: format!("option --{subject}"),
            text,
            facts: vec![fact("words", between)],
            ..Meaning::default()
        },
        one => Meaning { kind: one.to_owned(), text, ..Meaning::default() },
    })
}

/// What an exit code means: `3`, `exit 3`, `exit code 3`.
pub fn of_exit_code(subject: &str) -> Option<Meaning> {
    let digits = subject.trim_start_matches(|letter: char| letter.is_ascii_alphabetic() || letter == ' ');
    let before = subject.strip_suffix(digits)?.trim();
    let code: u8 =
        digits.parse().ok().filter(|_| ["", "exit", "exit code", "exit status"].contains(&before))?;
    let (_, word, meaning) = EXITS.iter().find(|(exit, ..)| *exit as u8 == code)?;
    let text = format!("{word}: {meaning}.");
    Some(Meaning { kind: "exit code".to_owned(), text, ..Meaning::default() })
}

/// A parameter, with all that it may be.
fn declared(parameter: &Declaration) -> Meaning {
    let mut facts = vec![fact(
        "default",
        match parameter.default {
            None => "none: labels and space files always say it".to_owned(),
            Some(Value::Open) => "open: it follows from the size".to_owned(),
            Some(value) => value.to_string(),
        },
    )];
    if !parameter.unit.is_empty() {
        facts.push(fact("unit", parameter.unit.to_owned()));
    }
    let list = match parameter.values {
        Values::Words(words) => Some(ListOfWords {
            headings: ["value", "tag", "meaning"],
            words: words
                .iter()
                .map(|word| [word.word.to_owned(), word.tag.to_owned(), word.meaning.trim().to_owned()])
                .collect(),
        }),
        Values::Numbers(least, most) => {
            facts.push(fact("values", format!("{least} to {most}")));
            None
        }
    };
    if let Some(needs) = parameter.needs {
        let values =
            if needs.words.is_empty() { "values but the default".to_owned() } else { needs.words.join(", ") };
        facts.push(fact("needs", format!("{values}: {} {}", needs.parameter, needs.one_of.join(", "))));
    }
    Meaning { kind: "parameter".to_owned(), text: parameter.meaning.trim().to_owned(), facts, list }
}

fn of_metric(metric: Metric) -> Meaning {
    Meaning {
        kind: "metric".to_owned(),
        text: format!(
            "The best kernel has the {}. `I` is the ideal line, the fastest config of each size; `L` is the line of the \
             kernel, the fastest of its configs at each size; `w` is the weight of a size.",
            metric.formula()
        ),
        facts: vec![
            fact("use", format!("scanbox analyze results/*.csv --metric {metric}")),
            fact("see", "scanbox explain metrics".to_owned()),
        ],
        ..Meaning::default()
    }
}

/// The values and tags of this name: one word may be a value of several parameters.
fn of_values(subject: &str) -> Vec<Meaning> {
    let mut meanings = Vec::new();
    let named = PARAMETERS.iter().map(|parameter| (parameter.name, parameter.values));
    let properties = PROPERTIES.iter().map(|property| (property.name, property.values));
    for (name, values) in named.chain(properties) {
        let Values::Words(words) = values else { continue };
        for word in words.iter().filter(|word| word.word == subject || word.tag == subject) {
            let tag = Some(word.tag).filter(|tag| !tag.is_empty());
            meanings.push(Meaning {
                kind: format!("value {} of {name}", word.word),
                text: word.meaning.trim().to_owned(),
                facts: vec![
                    fact(
                        "in labels",
                        tag.map_or("nothing: it is the default".to_owned(), |tag| format!(".{tag}")),
                    ),
                    fact("in filters", format!("--filter {name}={}", word.word)),
                ],
                ..Meaning::default()
            });
        }
    }
    let numbers = LabelPart::of_tag(subject).filter(|part| matches!(part.value, Value::Number(_)));
    meanings.extend(numbers.map(|part| Meaning {
        kind: format!("{} {}, as a part of a label", part.parameter.name, part.value),
        text: part.parameter.meaning.trim().to_owned(),
        ..Meaning::default()
    }));
    meanings
}

/// The words that are spelled most like one that has no meaning.
pub fn near(subject: &str, program: &Command) -> Vec<String> {
    const AT_MOST: usize = 3;
    let mut words: Vec<String> =
        KINDS.iter().flat_map(|kind| (kind.words)(program)).map(|[name, ..]| name).collect();
    words.extend(KINDS.iter().map(|kind| kind.all.to_owned()));
    words.extend(options::words(program));
    words.extend(PARAMETERS.iter().flat_map(|parameter| match parameter.values {
        Values::Words(words) => words.iter().map(|word| word.word.to_owned()).collect(),
        Values::Numbers(..) => Vec::new(),
    }));
    nearest(subject, words, AT_MOST)
}

/// A name, and what it says.
pub fn fact(name: &str, text: String) -> (String, String) {
    (name.to_owned(), text)
}

fn plain(name: &str, text: &str) -> [String; 3] {
    [name.to_owned(), String::new(), text.trim().to_owned()]
}

fn of_parameter(parameter: &Declaration, tag: String) -> [String; 3] {
    [parameter.name.to_owned(), tag, parameter.meaning.trim().to_owned()]
}

/// What labels have of a parameter: the letters in front of its numbers, or some of its words.
fn tag_of(parameter: &Declaration) -> String {
    match parameter.values {
        Values::Numbers(..) => format!("{}N", parameter.tag),
        Values::Words(words) => {
            let tags: Vec<&str> = words.iter().map(|word| word.tag).filter(|tag| !tag.is_empty()).collect();
            tags.join(", ")
        }
    }
}
