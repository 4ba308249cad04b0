//! Why a payload is not accepted: each broken rule with the values its condition was asked of.

use super::judgement::Violation;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_base::text::on_one_line;
use rulec_eval::trace::{Operand, TraceNode};
use serde::Serialize;
use std::fmt;

/// A broken rule and how it came to be.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Why {
    /// The violation.
    #[serde(flatten)]
    pub violation: Violation,
    /// The condition that says when the rule is broken, step by step; in the form of
    /// [`crate::Explanation`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<TraceNode>,
    /// True when the rule only warns.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub warning: bool,
}

impl Why {
    /// The values that the condition was asked of, each once. What is read at two types, and is of
    /// one of them, is shown as what it is.
    pub fn operands(&self) -> Vec<&Operand> {
        let mut operands = Vec::new();
        if let Some(when) = &self.when {
            collect(when, &mut operands);
        }
        operands
    }
}

fn collect<'t>(node: &'t TraceNode, operands: &mut Vec<&'t Operand>) {
    for operand in &node.operands {
        match operands.iter_mut().find(|known| known.text == operand.text) {
            Some(known) if known.value.is_none() => *known = operand,
            Some(_) => {}
            None => operands.push(operand),
        }
    }
    node.children.iter().for_each(|child| collect(child, operands));
}

impl Why {
    /// The lines that tell it, the first with a mark, the others indented.
    pub fn lines(&self) -> Vec<Message> {
        let Violation { rule, path, message, repair } = &self.violation;
        let at = message!("{rule} at {path}");
        let mut lines = vec![match self.warning {
            true => message!("! {at} (warning)"),
            false => message!("\u{2717} {at}"),
        }];
        lines.push(message!("    {message}"));
        if repair != message {
            lines.push(message!("    to repair it: {repair}"));
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
        self.lines().iter().try_for_each(|line| writeln!(f, "{}", on_one_line(line)))
    }
}
