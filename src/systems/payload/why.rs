//! Why a payload is not accepted: each broken rule with the values its condition was asked of.

use super::judgement::Violation;
use crate::text::on_one_line;
use crate::trace::{Operand, TraceNode};
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

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { rule, path, message, repair } = &self.violation;
        let (mark, kind) = if self.warning { ("!", " (warning)") } else { ("\u{2717}", "") };
        writeln!(f, "{mark} {}{kind}", on_one_line(&format!("{rule} at {path}")))?;
        writeln!(f, "    {}", on_one_line(message))?;
        if **repair != **message {
            writeln!(f, "    to repair it: {}", on_one_line(repair))?;
        }
        for operand in self.operands() {
            let text = match &operand.value {
                Some(value) => format!("{} = {value}", operand.text),
                None => format!("{} is missing", operand.text),
            };
            writeln!(f, "    {}", on_one_line(&text))?;
        }
        Ok(())
    }
}
