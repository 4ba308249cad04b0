//! Finds a name of the files that is written after a prefix, as in `words.refund_words`. Other
//! languages name a module or a block before a name; here, an import adds names without a prefix.

use super::Checker;
use super::path::ConstantPath;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use rulec_lang::ty::RecordType;
use rulec_syntax::ast::StatementKind;
use rulec_syntax::write::quote_name;

/// Words by which other languages name the place of a definition: `local.limit`, `const.MAX`.
const PREFIX_WORDS: [&str; 18] = [
    "local",
    "locals",
    "let",
    "lets",
    "list",
    "lists",
    "var",
    "vars",
    "def",
    "defs",
    "const",
    "consts",
    "constants",
    "definitions",
    "module",
    "import",
    "imports",
    "rules",
];

/// The help text for a name with a prefix, the span of the prefix and the name, and the name that
/// replaces them.
type PrefixRemedy = (Message, Span, String);

impl<'a> Checker<'a> {
    /// Adds a help text to a diagnostic about a path whose first name is unknown, if the second
    /// name is a definition: `refund_words` for `words.refund_words`. Otherwise returns `Err` with
    /// the unchanged diagnostic. `record` has the fields of the message.
    pub(super) fn with_prefix_removed(
        &self,
        diagnostic: Diagnostic,
        path: &ConstantPath<'a>,
        record: &RecordType,
    ) -> Result<Diagnostic, Diagnostic> {
        let Some(second) = path.names.get(1) else { return Err(diagnostic) };
        let is_field = record.get(second).is_some()
            || record
                .fields
                .iter()
                .any(|field| field.ty.fields().is_some_and(|inner| inner.get(second).is_some()));
        let is_module = self.is_prefix_word(path.names[0], path.segment_spans[0].0.file);
        if is_field && !is_module {
            return Err(diagnostic);
        }
        match self.prefix_remedy(path, is_module) {
            Some((help, span, written)) => Ok(diagnostic.help(help).likely_fix(span, written)),
            None => Err(diagnostic),
        }
    }

    /// Warns about `words.refund_words` that is read as a field of the message, if `words` is the
    /// name of an imported file and `refund_words` a definition. Returns whether it warns.
    pub(super) fn warn_module_prefix(&mut self, path: &ConstantPath<'a>) -> bool {
        let span = path.segment_spans[0].0;
        // Few fields have the name of a definition. So the imports, for which all statements of the
        // file are read, are compared last.
        let Some((help, replaced, written)) = self.prefix_remedy(path, false) else { return false };
        if !self.is_prefix_word(path.names[0], span.file) {
            return false;
        }
        let message = message!("`{}` is read as a field of the message", path.names.join("."));
        let whole = span.to(path.segment_spans[path.names.len() - 1].0);
        let diagnostic = Diagnostic::new(Code::LooksLikeName, whole, message).help(help);
        self.diagnostics.push(diagnostic.likely_fix(replaced, written));
        true
    }

    /// True for the name of an imported file without its ending, or its last word, and for a word
    /// such as `local`. `file` is the file that contains the name.
    fn is_prefix_word(&self, name: &str, file: FileId) -> bool {
        let lower = name.to_lowercase();
        PREFIX_WORDS.contains(&lower.as_str())
            || self.import_stems(file).any(|stem| {
                let stem = stem.to_lowercase().replace('-', "_");
                stem == lower || stem.strip_suffix(&lower).is_some_and(|rest| rest.ends_with('_'))
            })
    }

    /// Returns the names of the files that a file imports, without their folders and endings.
    fn import_stems(&self, file: FileId) -> impl Iterator<Item = &'a str> {
        let unit = self.loaded.files.iter().find(move |unit| unit.file == file);
        unit.into_iter().flat_map(|unit| &unit.statements).filter_map(|statement| match &statement.kind {
            StatementKind::Import { path } => {
                let name = path.node.rsplit('/').next()?;
                Some(name.split_once('.').map_or(name, |(stem, _)| stem))
            }
            _ => None,
        })
    }

    /// Returns the remedy for a path whose second name is a definition that the file can use. With
    /// `allows_misspelling`, the second name may also be spelled almost like one. `None` for other
    /// paths.
    fn prefix_remedy(&self, path: &ConstantPath<'a>, allows_misspelling: bool) -> Option<PrefixRemedy> {
        let (second, is_plain) = (*path.names.get(1)?, path.segment_spans.get(1)?.1);
        let (first_span, second_span) = (path.segment_spans[0].0, path.segment_spans[1].0);
        let file = first_span.file;
        let (name, declared) = match self.symbols.definition(file, second) {
            Some(symbol) => (second, symbol.name.span),
            None if allows_misspelling => {
                let visible = self.symbols.definitions.iter();
                let visible = visible.filter(|symbol| self.symbols.is_visible(file, symbol.name.span));
                let near = self.nearest(second, visible.map(|symbol| symbol.name.node.as_str()))?;
                (near, self.symbols.definition(file, near)?.name.span)
            }
            None => return None,
        };
        let written = quote_name(name);
        let help = match declared.file == file {
            true => message!("a definition has no prefix: write `{written}`"),
            false => message!("an import adds names without a prefix: write `{written}`"),
        };
        is_plain.then_some((help, first_span.to(second_span), written))
    }
}
