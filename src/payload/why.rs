//! Explanations of a payload's violations: each violated rule, with the values that its condition
//! read. They show an author of rules why a payload is rejected.

use super::judgement::Violation;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_base::text::to_one_line;
use rulec_eval::trace::{Operand, TraceNode};
use serde::Serialize;
use std::fmt;

/// An explanation of one violated rule: the violation, and the condition with its values.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Why {
    /// The violation that is explained.
    #[serde(flatten)]
    pub violation: Violation,
    /// The trace of the rule's condition, in the format of [`crate::Explanation`]. It shows why the
    /// condition is true: a rule is violated if its condition is true. `None` if the payload is not
    /// an object, and for an unchecked rule or an exceeded limit that counts as a violation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<TraceNode>,
    /// Whether the violated rule only warns, so that the payload is not rejected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub warning: bool,
}

impl Why {
    /// Returns the values that the condition read, with one value for each field. If the condition
    /// reads a field as several types, returns the first of the values that is not missing.
    pub fn operands(&self) -> Vec<&Operand> {
        let mut operands = Vec::new();
        if let Some(when) = &self.when {
            collect_operands(when, &mut operands);
        }
        operands
    }
}

fn collect_operands<'t>(node: &'t TraceNode, operands: &mut Vec<&'t Operand>) {
    for operand in &node.operands {
        match operands.iter_mut().find(|known| known.text == operand.text) {
            Some(known) if known.value.is_none() => *known = operand,
            Some(_) => {}
            None => operands.push(operand),
        }
    }
    node.children.iter().for_each(|child| collect_operands(child, operands));
}

impl Why {
    /// Formats the explanation as lines. The first line starts with `✗`, or with `!` for a warning;
    /// the other lines are indented.
    pub fn lines(&self) -> Vec<Message> {
        let Violation { rule, path, message, repair } = &self.violation;
        let at = message!("{rule} at {path}");
        let mut lines = vec![match self.warning {
            true => message!("! {at} (warning)"),
            false => message!("\u{2717} {at}"),
        }];
        lines.push(message!("    {message}"));
        if repair != message {
            lines.push(message!("    repair: {repair}"));
        }
        lines.extend(self.operands().into_iter().map(|operand| match &operand.value {
            Some(value) => message!("    {} = {value}", operand.text),
            None => message!("    {} is missing", operand.text),
        }));
        lines
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().iter().try_for_each(|line| writeln!(f, "{}", to_one_line(line)))
    }
}
