//! The reasons of a choice, branch by branch, as sentences for users.

use super::{Question, UnknownChoice, choice};
use crate::engine::Rules;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_eval::trace::{Mark, NodeKind, Note, RouteTrace, TraceNode};
use serde_json::Value as Json;

/// Explains the result of a choice for a message: one sentence per branch, in evaluation order. A
/// choice that a model makes gives a single sentence. Fields marked `@private` are never shown.
///
/// # Errors
/// If the rules hold no choice with this name.
pub fn reasons(
    rules: &Rules,
    name: &str,
    message: &Json,
) -> Result<impl Iterator<Item = Message> + use<>, UnknownChoice> {
    let entry = choice(rules, name)?;
    let sentences: Vec<Message> = match Question::new(rules, name) {
        Ok(question) => vec![match question.answer(message) {
            Ok(answer) => message!("`{answer}` is the answer to: {}", question.text()),
            Err(none) => {
                message!("`{}` is chosen, because {}.", question.default_branch(), none.to_message())
            }
        }],
        Err(_) => {
            let trace = entry.explain(message, false).trace;
            let alone = trace.routes.len() == 1;
            let nothing = (!trace.chose).then(|| message!("No branch matches."));
            trace.routes.iter().map(|branch| branch_sentence(branch, alone)).chain(nothing).collect()
        }
    };
    Ok(sentences.into_iter())
}

fn branch_sentence(branch: &RouteTrace, alone: bool) -> Message {
    let name = &branch.route;
    let parts = match branch.when.kind {
        NodeKind::AllUsable | NodeKind::AnyUsable => branch.when.children.as_slice(),
        _ => std::slice::from_ref(&branch.when),
    };
    if branch.chosen && branch.when.kind == NodeKind::Constant {
        return match alone {
            true => message!("`{name}` is chosen."),
            false => message!("`{name}` is chosen, because nothing else matches."),
        };
    }
    if branch.chosen {
        let held = parts.iter().filter(|part| part.note.is_none() && part.result == Mark::True);
        return message!("`{name}` is chosen: {}.", conditions_clause(held, true));
    }
    let failed: Vec<&TraceNode> =
        parts.iter().filter(|part| part.note.is_none() && part.result == Mark::False).collect();
    let unknown = |part: &&TraceNode| part.note == Some(Note::LeftOut) || part.result == Mark::Unknown;
    if failed.is_empty() {
        let mut why: Vec<&Message> = Vec::new();
        for because in parts.iter().filter(unknown).flat_map(|part| &part.because) {
            if !why.contains(&because) {
                why.push(because);
            }
        }
        return match why.into_iter().cloned().reduce(|all, one| message!("{all}; {one}")) {
            None => message!("`{name}` is not chosen."),
            Some(why) => message!("`{name}` is not chosen: {why}."),
        };
    }
    message!("`{name}` is not chosen: {}.", conditions_clause(failed.into_iter(), false))
}

/// Formats a clause for a sentence: the texts of the conditions, and "hold" or "do not hold" as
/// `hold` requires.
fn conditions_clause<'t>(parts: impl Iterator<Item = &'t TraceNode>, hold: bool) -> Message {
    let texts: Vec<Message> =
        parts.map(|part| Message::verbatim(format!("`{}`", part.text.replace('`', "'")))).collect();
    let one = texts.len() == 1;
    let texts = texts.into_iter().reduce(|one, other| message!("{one} and {other}")).unwrap_or_default();
    match (hold, one) {
        (true, true) => message!("{texts} holds"),
        (true, false) => message!("{texts} hold"),
        (false, true) => message!("{texts} does not hold"),
        (false, false) => message!("{texts} do not hold"),
    }
}
