//! Problems as JSON: what crosses processes and stands in metadata.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Direction, Element, InitSource, Mode, Placement, Problem, Total};
use crate::parameters::Parameter;
use crate::user_operator::{OperatorName, UserOperator};

/// A problem as it crosses processes and stands in metadata.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    mode: Mode,
    element: Element,
    op: OperatorName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operator_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operator_facts: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    init: Option<String>,
    placement: Placement,
    #[serde(default = "first::<Direction>", skip_serializing_if = "is_first")]
    direction: Direction,
    #[serde(default = "first::<Total>", skip_serializing_if = "is_first")]
    total: Total,
    #[serde(default = "first::<InitSource>", skip_serializing_if = "is_first")]
    init_source: InitSource,
}

/// What problems had before there was anything else.
fn first<P: Parameter>() -> P {
    P::VALUES[0]
}

fn is_first<P: Parameter>(value: &P) -> bool {
    value.place() == 0
}

impl From<Problem> for Words {
    fn from(problem: Problem) -> Self {
        let Problem { mode, element, user, placement, direction, total, init_source, .. } = problem;
        Self {
            mode,
            element,
            op: problem.operator_name(),
            operator_hash: user.map(|user| user.hash_text()),
            operator_facts: user.map(|user| user.facts()),
            init: Some(problem.init_text()).filter(|init| !init.is_empty()),
            placement,
            direction,
            total,
            init_source,
        }
    }
}

impl TryFrom<Words> for Problem {
    type Error = String;

    fn try_from(words: Words) -> Result<Self, String> {
        let Words { mode, element, op, placement, direction, total, init_source, .. } = words;
        let init = words.init.as_deref();
        let problem = match op.built_in() {
            Some(operator) => Self::new(mode, element, operator, init, placement)?,
            None => {
                let (hash, facts) =
                    (words.operator_hash.unwrap_or_default(), words.operator_facts.unwrap_or_default());
                let user = UserOperator::read(op, element, &hash, &facts)?;
                Self::of_user(mode, user, placement)?.beginning_as(init)?
            }
        };
        problem.in_direction(direction).with_operands(total, init_source)
    }
}
