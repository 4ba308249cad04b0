//! Handlers of imported routes. In the original JSON, the metadata of each route lists the required
//! permissions. In the rules, each handler declares them once.

use super::document::{ImportedStatement, RulesDocument};
use super::located::{JsonNode, ReadResult};
use super::write::{quote_for_comment, quote_string};
use rulec_base::message;
use std::collections::HashMap;

/// Key in the JSON metadata of a route. Its value lists the permissions that the route's handler
/// requires.
const REQUIRES_KEY: &str = "requires_permission";

/// The handlers to which routes of a JSON document lead, in the order of their first use.
#[derive(Default)]
pub(super) struct UsedHandlers {
    handlers: Vec<Handler>,
    /// Maps the name of each handler to its index in `handlers`.
    index_by_name: HashMap<String, usize>,
}

struct Handler {
    /// Name of the handler in rule syntax.
    name: String,
    required_permissions: Vec<String>,
    /// Whether routes that lead to this handler require different permissions in the JSON document.
    has_differing_permissions: bool,
}

impl UsedHandlers {
    /// Records that a route leads to the handler `name`. Reads the required permissions from the
    /// metadata of the route; returns an error if the metadata or a permission is invalid.
    pub(super) fn record_handler(&mut self, name: &str, route: &JsonNode<'_>) -> ReadResult<()> {
        let metadata = route.as_object(&message!("a route"))?.get("metadata");
        let node = metadata
            .map(|node| node.as_object(&message!("metadata")))
            .transpose()?
            .and_then(|map| map.get(REQUIRES_KEY));
        let mut required: Vec<String> = Vec::new();
        if let Some(node) = node {
            let texts = if node.value.is_array() { node.as_texts()? } else { vec![node.as_text()?] };
            if texts.iter().any(|text| text.trim().is_empty()) {
                return node.refuse(message!("a permission needs a name"));
            }
            for text in texts {
                if !required.iter().any(|permission| permission == text) {
                    required.push(text.to_owned());
                }
            }
        }
        let position = *self.index_by_name.entry(name.to_owned()).or_insert(self.handlers.len());
        let Some(handler) = self.handlers.get_mut(position) else {
            self.handlers.push(Handler {
                name: name.to_owned(),
                required_permissions: required,
                has_differing_permissions: false,
            });
            return Ok(());
        };
        handler.has_differing_permissions |= handler.required_permissions.len() != required.len();
        for permission in required {
            if !handler.required_permissions.contains(&permission) {
                handler.required_permissions.push(permission);
                handler.has_differing_permissions = true;
            }
        }
        Ok(())
    }

    /// Adds a `handler` statement for each handler if any of them requires a permission. All must
    /// be declared, because the rules may declare either all handlers or none. `default` is the
    /// handler for messages that no route matches; it is declared too.
    pub(super) fn declare_handlers(&self, default: Option<&str>, document: &mut RulesDocument) {
        if self.handlers.iter().all(|handler| handler.required_permissions.is_empty()) {
            return;
        }
        for (
            index,
            Handler {
                name,
                required_permissions: permissions,
                has_differing_permissions: permissions_differ,
            },
        ) in self.handlers.iter().enumerate()
        {
            let mut comments = Vec::new();
            if index == 0 {
                comments.push(format!(
                    "What a handler requires was written as `{REQUIRES_KEY}` with the routes to it."
                ));
            }
            if *permissions_differ {
                let plain = quote_for_comment(name.trim_matches('`'));
                document.report.add_document_note(message!(
                    "the routes to the handler {plain} require different permissions; now each route \
                    requires all of them"
                ));
                comments.push(
                    "Its routes required different permissions; now each route requires all of them."
                        .to_owned(),
                );
            }
            let strings: Vec<String> =
                permissions.iter().map(|permission| quote_string(permission)).collect();
            let requires = match strings.is_empty() {
                true => String::new(),
                false => format!(" requires permission {}", strings.join(", ")),
            };
            let body = format!("handler {name}(){requires}");
            document.statements.push(ImportedStatement {
                comments,
                body,
                is_adjacent: index > 0,
                ..ImportedStatement::default()
            });
        }
        if let Some(name) = default.filter(|name| !self.index_by_name.contains_key(*name)) {
            let body = format!("handler {name}()");
            document.statements.push(ImportedStatement {
                body,
                is_adjacent: true,
                ..ImportedStatement::default()
            });
        }
    }
}
