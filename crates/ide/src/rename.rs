//! Renaming: the edits that change every occurrence of a name, and the reasons why some names
//! cannot be changed.

use super::{Analysis, DeclarationKind, Edit, Occurrence};
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_base::span::FileId;
use rulec_syntax::parse::is_reserved;

/// The reason why a name cannot be changed, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct RenameError(pub Message);

impl RenameError {
    /// Returns the reason as a localized message.
    pub fn to_message(&self) -> Message {
        self.0.clone()
    }
}

impl Analysis {
    /// Returns the occurrence of the name at a position, if the name can be changed.
    ///
    /// # Errors
    /// If there is no name at the position, or if the name cannot be changed. The error is the
    /// reason.
    pub fn renameable_at(&self, file: FileId, offset: u32) -> Result<Occurrence, RenameError> {
        let Some(occurrence) = self.index.occurrence_at(file, offset) else {
            return Err(RenameError(message!("there is no name here that the rules declare")));
        };
        let symbol = &self.index.symbols[occurrence.symbol];
        let name = &symbol.name;
        match symbol.kind {
            DeclarationKind::Field | DeclarationKind::TypeField => Err(RenameError(message!(
                "`{name}` is a field of the message, so rename it by hand, both in the rules and in the \
                program that sends messages"
            ))),
            DeclarationKind::PayloadField => Err(RenameError(message!(
                "`{name}` is a field of the payload, so rename it by hand, both in the rules and in the \
                program that makes payloads"
            ))),
            DeclarationKind::Test => {
                Err(RenameError(message!("the name of a test is a sentence; edit it in the file")))
            }
            _ if symbol.declaration.is_none() && symbol.kind != DeclarationKind::Handler => {
                Err(RenameError(message!("`{name}` is not declared, so it cannot be renamed")))
            }
            _ => Ok(occurrence),
        }
    }

    /// Returns the edits that rename the symbol at a position to `new_name`, in source order.
    ///
    /// # Errors
    /// If the name cannot be changed to `new_name`. The error is the reason.
    pub fn rename(&self, file: FileId, offset: u32, new_name: &str) -> Result<Vec<Edit>, RenameError> {
        let target = self.renameable_at(file, offset)?;
        let quoted_name = check_and_quote_name(new_name)?;
        let symbol = &self.index.symbols[target.symbol];
        let collision = self.index.symbols.iter().enumerate().find(|(id, other)| {
            *id != target.symbol
                && other.name == without_backquotes(&quoted_name)
                && other.declaration.is_some()
                && may_collide(symbol.kind, other.kind)
        });
        if let Some((_, other)) = collision
            && other.name != symbol.name
        {
            return Err(RenameError(message!(
                "`{}` is already the name of a {}",
                other.name,
                other.kind.to_word()
            )));
        }
        let edit = |occurrence: Occurrence| Edit { span: occurrence.span, replacement: quoted_name.clone() };
        Ok(self.index.occurrences_of(target.symbol).map(edit).collect())
    }
}

/// True if two symbols of these kinds must not have the same name, because a use of the name would
/// be ambiguous.
fn may_collide(a: DeclarationKind, b: DeclarationKind) -> bool {
    let is_value = |kind| {
        matches!(
            kind,
            DeclarationKind::Let
                | DeclarationKind::Def
                | DeclarationKind::List
                | DeclarationKind::Extern
                | DeclarationKind::Local
                | DeclarationKind::Parameter
                | DeclarationKind::Field
                | DeclarationKind::PayloadField
        )
    };
    let is_table = |kind| {
        matches!(
            kind,
            DeclarationKind::Table
                | DeclarationKind::Choice
                | DeclarationKind::Router
                | DeclarationKind::Workflow
                | DeclarationKind::Payload
        )
    };
    let is_type = |kind| matches!(kind, DeclarationKind::Type | DeclarationKind::Group);
    a == b || (is_value(a) && is_value(b)) || (is_table(a) && is_table(b)) || (is_type(a) && is_type(b))
}

/// Returns a new name as it is written in rules, in backquotes if necessary. Fails if the name is
/// not valid even in backquotes.
pub(super) fn check_and_quote_name(new: &str) -> Result<String, RenameError> {
    let name = new.trim();
    let bare = without_backquotes(name);
    if bare.is_empty()
        || bare.contains(['`', '\n', '\r'])
        || bare.chars().any(rulec_base::text::printable::is_display_control)
    {
        return Err(RenameError(message!("`{}` is not a valid name", bare.replace('`', "'"))));
    }
    let mut chars = bare.chars();
    let is_word = chars.next().is_some_and(|c| c == '_' || unicode_ident::is_xid_start(c))
        && chars.all(unicode_ident::is_xid_continue);
    Ok(if is_word && !is_reserved(bare) { bare.to_owned() } else { format!("`{bare}`") })
}

/// Returns a name without the backquotes around it.
fn without_backquotes(name: &str) -> &str {
    name.strip_prefix('`').and_then(|name| name.strip_suffix('`')).unwrap_or(name)
}
