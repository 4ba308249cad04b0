//! The reason of a choice, branch by branch, in words that a user may read.

use super::{Question, UnknownChoice, choice};
use crate::engine::Rules;
use crate::trace::{Mark, NodeKind, Note, RouteTrace, TraceNode};
use serde_json::Value as Json;

/// The reason of what a choice comes to for a message, a sentence for each branch in the order they are tried, so that
/// a program can show them one by one. Fields marked `@private` are never shown.
///
/// # Errors
/// When the rules hold no choice of that name.
pub fn reasons(
    rules: &Rules,
    name: &str,
    message: &Json,
) -> Result<impl Iterator<Item = String> + use<>, UnknownChoice> {
    let entry = choice(rules, name)?;
    let sentences: Vec<String> = match Question::new(rules, name) {
        Ok(question) => vec![match question.answer(message) {
            Ok(answer) => format!("`{answer}` is the answer to: {}", question.text()),
            Err(none) => format!("`{}` is taken, since {none}.", question.default_branch()),
        }],
        Err(_) => {
            let trace = entry.explain(message, false).trace;
            let alone = trace.routes.len() == 1;
            let nothing = (!trace.chose).then(|| "No branch fits.".to_owned());
            trace.routes.iter().map(|branch| sentence(branch, alone)).chain(nothing).collect()
        }
    };
    Ok(sentences.into_iter())
}

fn sentence(branch: &RouteTrace, alone: bool) -> String {
    let name = &branch.route;
    let parts = match branch.when.kind {
        NodeKind::AllUsable | NodeKind::AnyUsable => branch.when.children.as_slice(),
        _ => std::slice::from_ref(&branch.when),
    };
    if branch.chosen && branch.when.kind == NodeKind::Constant {
        return match alone {
            true => format!("`{name}` is taken."),
            false => format!("`{name}` is taken, since nothing else fits."),
        };
    }
    if branch.chosen {
        let held = parts.iter().filter(|part| part.note.is_none() && part.result == Mark::True);
        return format!("`{name}` is taken: {}.", listed(held, "holds", "hold"));
    }
    let failed: Vec<&TraceNode> =
        parts.iter().filter(|part| part.note.is_none() && part.result == Mark::False).collect();
    let unknown = |part: &&TraceNode| part.note == Some(Note::LeftOut) || part.result == Mark::Unknown;
    if failed.is_empty() {
        let mut why: Vec<&str> = Vec::new();
        for because in parts.iter().filter(unknown).flat_map(|part| &part.because) {
            if !why.contains(&because.as_str()) {
                why.push(because);
            }
        }
        return match why.is_empty() {
            true => format!("`{name}` is not taken."),
            false => format!("`{name}` is not taken: {}.", why.join("; ")),
        };
    }
    format!("`{name}` is not taken: {}.", listed(failed.into_iter(), "does not hold", "do not hold"))
}

fn listed<'t>(parts: impl Iterator<Item = &'t TraceNode>, one: &str, more: &str) -> String {
    let texts: Vec<String> = parts.map(|part| format!("`{}`", part.text.replace('`', "'"))).collect();
    let verb = if texts.len() == 1 { one } else { more };
    format!("{} {verb}", texts.join(" and "))
}
