//! Values of an option that are words: each stands for something that knows nothing of command lines.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A word, what `--help` says of it (empty: nothing), and what it stands for.
pub type Word<T> = (&'static str, &'static str, T);

/// Accepts these words.
pub fn words<T>(table: &'static [Word<T>]) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let possible = table.iter().map(|&(word, help, _)| match help {
        "" => PossibleValue::new(word),
        help => PossibleValue::new(word).help(help),
    });
    PossibleValuesParser::new(possible).map(|given| {
        let found = table.iter().find(|(word, ..)| *word == given);
        found.expect("the parser accepts these words alone").2
    })
}
