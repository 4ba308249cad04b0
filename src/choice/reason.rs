//! Explains the result of a choice, branch by branch, in sentences for users.

use super::{Question, UnknownChoice, find_choice};
use crate::engine::Rules;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_eval::trace::{Mark, NodeKind, Note, RouteTrace, TraceNode};
use serde_json::Value as Json;

/// Explains the result of a choice for a message: one sentence per branch, in evaluation order. For
/// a choice that a model makes, there is a single sentence. Fields marked `@private` are never
/// shown.
///
/// # Errors
/// If the rules contain no choice with this name.
pub fn reasons(
    rules: &Rules,
    name: &str,
    message: &Json,
) -> Result<impl Iterator<Item = Message> + use<>, UnknownChoice> {
    let entry = find_choice(rules, name)?;
    let sentences: Vec<Message> = match Question::new(rules, name) {
        Ok(question) => vec![match question.answer(message) {
            Ok(answer) => message!("`{answer}` is the answer to: {}", question.text()),
            Err(none) => {
                message!("`{}` is chosen, because {}.", question.default_branch(), none.to_message())
            }
        }],
        Err(_) => {
            let trace = entry.explain(message, false).trace;
            let is_only_branch = trace.routes.len() == 1;
            let no_match = (!trace.chose).then(|| message!("No branch matches."));
            trace
                .routes
                .iter()
                .map(|branch| branch_sentence(branch, is_only_branch))
                .chain(no_match)
                .collect()
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
        let true_parts = parts.iter().filter(|part| part.note.is_none() && part.result == Mark::True);
        return message!("`{name}` is chosen: {}.", conditions_clause(true_parts, true));
    }
    let false_parts: Vec<&TraceNode> =
        parts.iter().filter(|part| part.note.is_none() && part.result == Mark::False).collect();
    let is_unknown = |part: &&TraceNode| part.note == Some(Note::LeftOut) || part.result == Mark::Unknown;
    if false_parts.is_empty() {
        let mut distinct_reasons: Vec<&Message> = Vec::new();
        for because in parts.iter().filter(is_unknown).flat_map(|part| &part.because) {
            if !distinct_reasons.contains(&because) {
                distinct_reasons.push(because);
            }
        }
        return match distinct_reasons.into_iter().cloned().reduce(|all, one| message!("{all}; {one}")) {
            None => message!("`{name}` is not chosen."),
            Some(why) => message!("`{name}` is not chosen: {why}."),
        };
    }
    message!("`{name}` is not chosen: {}.", conditions_clause(false_parts.into_iter(), false))
}

/// Formats the texts of the conditions `parts` as a clause, such as "`a` and `b` hold". If `hold`
/// is false, the clause ends with "do not hold".
fn conditions_clause<'t>(parts: impl Iterator<Item = &'t TraceNode>, hold: bool) -> Message {
    let texts: Vec<Message> =
        parts.map(|part| Message::verbatim(format!("`{}`", part.text.replace('`', "'")))).collect();
    let is_single = texts.len() == 1;
    let texts = texts.into_iter().reduce(|one, other| message!("{one} and {other}")).unwrap_or_default();
    match (hold, is_single) {
        (true, true) => message!("{texts} holds"),
        (true, false) => message!("{texts} hold"),
        (false, true) => message!("{texts} does not hold"),
        (false, false) => message!("{texts} do not hold"),
    }
}
