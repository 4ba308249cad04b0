//! Undeclared fields whose type one statement narrows for other statements. The author gets a
//! warning. The program keeps the position of the narrowing use, to explain it for messages with
//! another type.

use super::Checker;
use super::fields::NarrowedUse;
use crate::hir;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_lang::ty::{KindSet, Ty};

impl Checker<'_> {
    /// Warns about uses that other statements narrow, and stores the inferred types as input
    /// contract.
    pub(super) fn warn_narrowed_uses(&mut self) {
        for NarrowedUse { path, kinds, used, by } in self.fields.narrowed_uses() {
            let name = path.join(".");
            let lost = used.kinds.iter().filter(|kind| !kinds.has(*kind)).map(KindSet::single);
            let lost = lost.fold(KindSet::EMPTY, KindSet::union);
            let [this, lost] = [kinds, lost].map(|kinds| Ty::from_kinds(kinds).with_article());
            let message = message!(
                "`{name}` is read as {this} because of another statement, so {lost} never matches here"
            );
            let help = message!(
                "declare `{name}` in an `input` block, or read it here as one type, as in `{name} as list`"
            );
            // If a single route is added, the source of the other rules is not available. Then only
            // the contract is stored, without a warning.
            let Some((by, file)) = by.and_then(|by| Some((by, self.loaded.sources.get(by.place.file)?)))
            else {
                let hint = format!("another rule uses it as {this}").into();
                self.program.inferred.push(hir::InferredField { path: path.clone(), kinds, hint });
                continue;
            };
            self.diagnostics.push(
                Diagnostic::new(Code::NarrowedUse, used.place, message)
                    .here(message!("used here as {}", used.reason))
                    .label(by.place, message!("used here as {}", by.reason))
                    .help(help),
            );
            let line = file.position(by.place.start).line;
            let hint = message!("{}:{line} uses it as {}", file.name, by.reason).as_str().into();
            self.program.inferred.push(hir::InferredField { path: path.clone(), kinds, hint });
        }
    }
}
