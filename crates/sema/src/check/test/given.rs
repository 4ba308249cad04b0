//! Compares the values of a test with the types that the rules read. Without `input`, a value of
//! another type is no error in a message: the field counts as missing there. In a test, such a
//! value is probably a mistake, of the test or of the rules.

use super::super::Checker;
use super::value::is_readable_as_kinds;
use crate::hir::{Slot, TableId, TableKind};
use rulec_base::diag::Code;
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::ty::{Kind, KindSet, Ty};
use rulec_lang::value::Value;
use rulec_syntax::ast::{self, Expectation};
use serde_json::{Map, Value as Json};

impl Checker<'_> {
    /// Warns about the first value of a test's message that no rule reads, because it has another
    /// type than the rules expect of its field.
    pub(super) fn warn_given_not_read(
        &mut self,
        entry: TableId,
        test: &ast::Test,
        expect: &Expectation,
        message: &Map<String, Json>,
    ) {
        // A choice skips conditions on values of other types, and tests may show that.
        let is_choice = self.program.tables[entry.index()].kind == TableKind::Choice;
        if !self.fields.infers_types() || is_choice {
            return;
        }
        let slots = || self.fields.slots().iter().filter(|slot| slot.root.is_none());
        let is_read = |path: &[_], value: Value<'_>| {
            slots().any(|slot| slot.path == path && is_readable_as_kinds(value, slot.kinds))
        };
        let found = slots().find_map(|slot| {
            let (first, rest) = slot.path.split_first()?;
            let value = Value::from_json(message.get(&**first)?);
            let value = rest.iter().fold(value, |value, key| value.field(key));
            let kind = value.kind().filter(|_| !is_read(&slot.path, value))?;
            Some((slot.path.join("."), kind, slot.kinds, span_of_given_value(test, expect, slot)?))
        });
        let Some((name, kind, kinds, span)) = found else { return };
        if self.diagnostics.iter().any(|found| found.code == Code::GivenNotRead && found.span() == Some(span))
        {
            return;
        }
        let found = Ty::from_kinds(KindSet::single(kind)).with_article();
        let wanted = Ty::from_kinds(kinds).with_article();
        let message = message!("`{name}` is {found} here, but the rules read {wanted}");
        let help = match kind {
            Kind::Bool => message!(
                "a bool is a condition itself: write `{name}` or `not {name}` in the rules; or give a value of \
                the type that the rules read"
            ),
            _ => message!(
                "the field counts as missing in this test; give a value of the type that the rules read, or \
                correct the rules"
            ),
        };
        self.emit(Code::GivenNotRead, span, message, help);
    }
}

/// Returns the span of the value that a test gives to a field, or to a record that contains the
/// field. `None` if the test gives no such value.
fn span_of_given_value(test: &ast::Test, expect: &Expectation, slot: &Slot) -> Option<Span> {
    let gives_slot = |path: &[ast::Ident]| {
        path.len() <= slot.path.len() && path.iter().zip(&slot.path).all(|(part, name)| *part.node == **name)
    };
    let column = test.case_field_paths.iter().position(|path| gives_slot(path));
    let given = test.given_values.iter().find(|(path, _)| gives_slot(path));
    given.map(|(_, value)| value.span).or_else(|| Some(expect.case_values.get(column?)?.span))
}
