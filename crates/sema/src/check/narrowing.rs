//! Warns about uses of undeclared fields whose type another statement narrows. The program keeps
//! the position of the narrowing use, so that a decision can explain why a message of another type
//! violates the input contract.

use super::Checker;
use super::fields::NarrowedUse;
use crate::hir;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_lang::ty::{KindSet, Ty};

impl Checker<'_> {
    /// Warns about each use of a field that accepts several kinds of value although another
    /// statement accepts fewer. Also stores the accepted kinds in the input contract (the types
    /// that the program requires of message fields).
    pub(super) fn warn_narrowed_uses(&mut self) {
        // The `input` statement has a syntax error, so declared types are unknown and every warning
        // could be wrong.
        if self.symbols.is_input_broken() {
            return;
        }
        for NarrowedUse { path, kinds, narrowed_use, narrowing_use } in self.fields.narrowed_uses() {
            let name = path.join(".");
            let lost = narrowed_use.kinds.iter().filter(|kind| !kinds.has(*kind)).map(KindSet::single);
            let lost = lost.fold(KindSet::EMPTY, KindSet::union);
            let [this, lost] = [kinds, lost].map(|kinds| Ty::from_kinds(kinds).with_article());
            let message = message!(
                "`{name}` is read as {this} because of another statement, so {lost} never matches here"
            );
            let help = message!(
                "declare `{name}` in an `input` block, or read it here as one type, as in `{name} as list`"
            );
            // If a single route is added, the source text of the other rules is unavailable. In
            // this case, the type is stored without a warning.
            let Some((narrowing_use, file)) = narrowing_use.and_then(|narrowing_use| {
                Some((narrowing_use, self.loaded.sources.get(narrowing_use.use_span.file)?))
            }) else {
                let hint = format!("another rule uses it as {this}").into();
                self.program.inferred.push(hir::InferredField {
                    path: path.clone(),
                    kinds,
                    statement_description: hint,
                });
                continue;
            };
            self.diagnostics.push(
                Diagnostic::new(Code::NarrowedUse, narrowed_use.use_span, message)
                    .here(message!("used here as {}", narrowed_use.reason))
                    .label(narrowing_use.use_span, message!("used here as {}", narrowing_use.reason))
                    .help(help),
            );
            let line = file.position(narrowing_use.use_span.start).line;
            let hint = message!("{}:{line} uses it as {}", file.name, narrowing_use.reason).as_str().into();
            self.program.inferred.push(hir::InferredField {
                path: path.clone(),
                kinds,
                statement_description: hint,
            });
        }
    }
}
