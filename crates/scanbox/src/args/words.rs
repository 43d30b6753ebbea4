//! Values of options: words that stand for something, and shares.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use scanbox_model::record::Clock;
use scanbox_report::words::clock_word;

/// A word, what `--help` says of it (empty: nothing), and what it stands for.
pub type HelpWord<T> = (&'static str, &'static str, T);

/// The clock of this word.
pub fn clock(word: String) -> Clock {
    if word == clock_word(Clock::Span) { Clock::Span } else { Clock::Steady }
}

/// A share from a number of percent.
pub fn threshold(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end();
    let percent: f64 = number.parse().map_err(|_| format!("`{text}` is not a percentage"))?;
    if percent > 0.0 && percent < 100.0 {
        Ok(percent / 100.0)
    } else {
        Err("a threshold is above 0 and below 100 percent".to_owned())
    }
}

/// Accepts these words.
pub fn words<T>(table: &'static [HelpWord<T>]) -> impl TypedValueParser<Value = T>
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
