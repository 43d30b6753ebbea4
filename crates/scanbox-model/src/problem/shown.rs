//! What is said of a problem: its title, its flags, its name in files, and what two problems differ in.

use std::fmt;

use super::{Direction, Element, InitSource, Mode, Operator, Placement, Problem, Total};
use crate::parameters::Parameter;

/// What two problems differ in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemDifference {
    /// The column.
    pub column: &'static str,
    /// The flag.
    pub flag: &'static str,
    /// What the one has.
    pub own: String,
    /// What the other one has.
    pub others: String,
}

impl Problem {
    /// The initial value, where it is not the one that it has by default.
    fn given_init(&self) -> Option<String> {
        let own = self.init.filter(|init| *init != self.operator.identity(self.element));
        own.map(|init| init.to_string()).or(self.user_init.map(|init| init.to_string()))
    }

    /// The first part in which another problem differs, by its column and flag, with what both have there.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<ProblemDifference> {
        let init = Self::init_text;
        let hash = |problem: &Self| problem.user.map_or_else(String::new, |user| user.hash_text());
        let facts = |problem: &Self| problem.user.map_or_else(String::new, |user| user.facts());
        let operator_flag = if self.user.or(other.user).is_some() { "--operator" } else { "--op" };
        let name = |problem: &Self| problem.operator_name().to_string();
        let parts = [
            (Mode::NAME, "--mode", self.mode.to_string(), other.mode.to_string()),
            (Element::NAME, "--type", self.element.to_string(), other.element.to_string()),
            (Operator::NAME, operator_flag, name(self), name(other)),
            ("operator_hash", "--operator", hash(self), hash(other)),
            ("operator_facts", "--operator", facts(self), facts(other)),
            ("init", "--init", init(self), init(other)),
            (Placement::NAME, "--in-place", self.placement.to_string(), other.placement.to_string()),
            (Direction::NAME, "--reverse", self.direction.to_string(), other.direction.to_string()),
            (Total::NAME, "--total", self.total.to_string(), other.total.to_string()),
            (
                InitSource::NAME,
                "--init-in-memory",
                self.init_source.to_string(),
                other.init_source.to_string(),
            ),
        ];
        parts
            .into_iter()
            .find(|(.., own, others)| own != others)
            .map(|(column, flag, own, others)| ProblemDifference { column, flag, own, others })
    }

    /// For headings: `inclusive u32 add`, `exclusive f32 max from 1 in place`, `reverse inclusive u32 add`,
    /// `exclusive u32 add from 7 in memory with total`.
    #[must_use]
    pub fn title(&self) -> String {
        let reverse = if self.is_reversed() { "reverse " } else { "" };
        let init = match (self.given_init(), self.reads_init()) {
            (Some(init), false) => format!(" from {init}"),
            (Some(init), true) => format!(" from {init} in memory"),
            (None, true) => " from memory".to_owned(),
            (None, false) => String::new(),
        };
        let placement = if self.placement == Placement::InPlace { " in place" } else { "" };
        let total = if self.has_total() { " with total" } else { "" };
        format!("{reverse}{} {} {}{init}{placement}{total}", self.mode, self.element, self.operator_name())
    }

    /// The flags that ask for it; the file of a user's operator by its name alone.
    #[must_use]
    pub fn flags(&self) -> Vec<String> {
        let default = Self::default();
        let mut flags = Vec::new();
        let mut flag = |name: &str, value: String| flags.extend([name.to_owned(), value]);
        if let Some(user) = self.user {
            flag("--operator", format!("{}.glsl", user.name));
        } else if self.operator != default.operator {
            flag("--op", self.operator.to_string());
        }
        if self.element != default.element && self.user.is_none() {
            flag("--type", self.element.to_string());
        }
        if self.mode != default.mode {
            flag("--mode", self.mode.to_string());
        }
        if let Some(init) = self.given_init() {
            // One word, because the value may begin with a minus.
            flags.push(format!("--init={init}"));
        }
        if self.placement == Placement::InPlace {
            flags.push("--in-place".to_owned());
        }
        if self.is_reversed() {
            flags.push("--reverse".to_owned());
        }
        if self.has_total() {
            flags.push("--total".to_owned());
        }
        if self.reads_init() {
            flags.push("--init-in-memory".to_owned());
        }
        flags
    }
}

impl fmt::Display for Problem {
    /// For messages and file names: `u32-add-inclusive`, `f32-max-exclusive-init=1-in-place`,
    /// `u32-add-inclusive-reverse`, `u32-add-exclusive-total-init-in-memory`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.element, self.operator_name(), self.mode)?;
        if let Some(init) = self.given_init() {
            write!(f, "-init={init}")?;
        }
        if self.placement == Placement::InPlace {
            write!(f, "-in-place")?;
        }
        if self.is_reversed() {
            write!(f, "-reverse")?;
        }
        if self.has_total() {
            write!(f, "-total")?;
        }
        if self.reads_init() { write!(f, "-init-in-memory") } else { Ok(()) }
    }
}
