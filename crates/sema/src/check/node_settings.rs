//! Warns about the settings of workflow nodes of the built-in kinds: unknown names, values of the
//! wrong type, and shares (numbers from 0 to 1) above 1. The program that runs the workflow may
//! replace these kinds, so nothing here is an error.

use super::Checker;
use crate::hir::PARALLEL_KIND;
use rulec_base::diag::{Code, Diagnostic, nearest};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_syntax::ast;
use serde_json::Value as Json;

/// The type of value that a setting of a workflow node accepts.
#[derive(Clone, Copy, PartialEq)]
enum SettingValueType {
    /// A number from 0 to 1.
    Share,
    /// A whole number of at least 1.
    Count,
    /// A number of at least 0.
    Number,
    /// A list of texts.
    Names,
}

/// A setting of a workflow node: its name, the type of its value, and whether the node needs it.
type NodeSetting = (&'static str, SettingValueType, bool);

/// The built-in kinds of workflow nodes, each with its settings. The value 0 is allowed for
/// `exit_on_score`; it means that no score ends the loop.
const SETTINGS_BY_NODE_KIND: &[(&str, &[NodeSetting])] = &[
    ("vote", &[("threshold", SettingValueType::Share, true), ("voters", SettingValueType::Names, false)]),
    (
        "loop",
        &[("max_rounds", SettingValueType::Count, true), ("exit_on_score", SettingValueType::Number, false)],
    ),
];

/// The kinds of workflow nodes that every program has, unless it replaces them.
pub const BUILT_IN_NODE_KINDS: [&str; 3] = ["vote", "loop", PARALLEL_KIND];

/// Returns the names of the settings that a node of a kind has. Empty for a kind that is not built
/// in.
pub fn node_setting_names(kind: &str) -> impl Iterator<Item = &'static str> {
    let settings = SETTINGS_BY_NODE_KIND.iter().find(|(known, _)| *known == kind);
    settings.into_iter().flat_map(|(_, settings)| settings.iter().map(|(name, ..)| *name))
}

impl SettingValueType {
    fn accepts(self, value: &Json) -> bool {
        match self {
            SettingValueType::Share => value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)),
            SettingValueType::Count => value.as_i64().is_some_and(|count| count >= 1),
            SettingValueType::Number => value.as_f64().is_some_and(|number| number >= 0.0),
            SettingValueType::Names => {
                value.as_array().is_some_and(|names| names.iter().all(Json::is_string))
            }
        }
    }
}

impl Checker<'_> {
    /// Warns about wrong settings of a workflow node of a built-in kind. `config` has the settings
    /// as JSON.
    pub(super) fn warn_node_settings(&mut self, node: &ast::Node, config: &serde_json::Map<String, Json>) {
        let Some((kind, settings)) = SETTINGS_BY_NODE_KIND.iter().find(|(kind, _)| *kind == node.kind.node)
        else {
            return;
        };
        for (name, written) in &node.config {
            let Some(value) = config.get(&name.node) else { continue };
            let known = settings.iter().find(|(known, ..)| *known == name.node);
            let Some((known, wanted, _)) = known else {
                let names = || settings.iter().map(|(name, ..)| *name);
                let message = message!("a node of the kind `{kind}` has no setting `{}`", name.node);
                let diagnostic = Diagnostic::new(Code::WorkflowDoubt, name.span, message);
                let help = message!("its settings are {}", super::join_names(names()));
                self.diagnostics.push(diagnostic.suggest_or_help(
                    name.span,
                    nearest(&name.node, names()),
                    help,
                ));
                continue;
            };
            if wanted.accepts(value) {
                self.warn_refused_voters(*wanted, written.span, value);
                continue;
            }
            let span = written.span;
            let (message, help) = match wanted {
                SettingValueType::Share => {
                    let help = match percent_to_share(value) {
                        Some(share) => message!("write `{known}: {share}`"),
                        None => message!("write a share, as in `{known}: 0.6`"),
                    };
                    (message!("`{known}` is a number from 0 to 1"), help)
                }
                SettingValueType::Count => (
                    message!("`{known}` is a whole number of at least 1"),
                    message!("write it without quotes, as in `{known}: 3`"),
                ),
                SettingValueType::Number => (
                    message!("`{known}` is a number of at least 0"),
                    message!("write it without quotes, as in `{known}: 0.8`"),
                ),
                SettingValueType::Names => (
                    message!("`{known}` is a list of texts"),
                    message!("write for example `{known}: [\"legal\", \"finance\"]`"),
                ),
            };
            self.diagnostics.push(Diagnostic::new(Code::WorkflowDoubt, span, message).help(help));
        }
        let missing = settings.iter().find(|(name, _, needed)| *needed && !config.contains_key(*name));
        let has_unknown =
            node.config.iter().any(|(name, _)| settings.iter().all(|(known, ..)| *known != name.node));
        if let Some((name, wanted, _)) = missing.filter(|_| !has_unknown) {
            let example = match wanted {
                SettingValueType::Share => "0.6",
                _ => "3",
            };
            let message = message!("a node of the kind `{kind}` needs the setting `{name}`");
            let help = message!("write `{kind} {{ {name}: {example} }}`");
            self.emit(Code::WorkflowDoubt, node.kind.span, message, help);
        } else if *kind == "vote" && !has_unknown && !config.contains_key("voters") {
            let message =
                message!("this vote counts every text of its input, also of nodes that do not vote");
            let help =
                message!("name the fields or nodes that vote, as in `voters: [\"legal\", \"finance\"]`");
            self.emit(Code::WorkflowDoubt, node.kind.span, message, help);
        }
    }

    /// Warns if a list of voters is empty or contains a name twice. With such a list, the workflow
    /// fails when it runs. `wanted` is the type of the setting; there is a warning only if it is a
    /// list of names.
    fn warn_refused_voters(&mut self, wanted: SettingValueType, span: Span, value: &Json) {
        let Some(names) = value.as_array().filter(|_| wanted == SettingValueType::Names) else { return };
        let twice = names.iter().enumerate().find(|(position, name)| names[..*position].contains(name));
        if let Some((_, name)) = twice {
            let message = message!("{name} is named twice; the run refuses this");
            self.emit(Code::WorkflowDoubt, span, message, message!("remove one of them"));
        } else if names.is_empty() {
            let message = message!("the list of voters is empty; the run refuses this");
            let help =
                message!("name the fields or nodes that vote, as in `voters: [\"legal\", \"finance\"]`");
            self.emit(Code::WorkflowDoubt, span, message, help);
        }
    }
}

/// Converts a percentage to a share: `60` and `"60%"` to 0.6. A share is returned unchanged. `None`
/// for other values.
fn percent_to_share(value: &Json) -> Option<f64> {
    let percent = match value {
        Json::String(text) => text.trim().trim_end_matches('%').trim().parse().ok()?,
        value => value.as_f64()?,
    };
    match percent {
        share if (0.0..=1.0).contains(&share) => Some(share),
        percent if (1.0..=100.0).contains(&percent) => Some(percent / 100.0),
        _ => None,
    }
}
