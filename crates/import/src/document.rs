//! A file of rules in the making, compiled before anybody sees it.

use super::located::Object;
use super::write::{comment, shown, value};
use super::{ImportError, Imported};
use rulec::{Code, CompileError, Compiler, Diagnostic, Message, Rules};
use rulec_base::message;
use std::collections::{BTreeMap, BTreeSet, HashMap};

#[derive(Default)]
pub(super) struct Statement {
    /// Comments before it, a paragraph each.
    pub(super) comments: Vec<String>,
    pub(super) docs: String,
    /// The statement, without a line break at its end.
    pub(super) body: String,
    /// True when it follows the one before without an empty line.
    pub(super) close: bool,
}

#[derive(Default)]
pub(super) struct Document {
    /// The file's first lines, which say what it is.
    pub(super) header: String,
    pub(super) statements: Vec<Statement>,
    pub(super) notes: Vec<Message>,
    /// From the names in the file to the original's, where they differ.
    pub(super) names: HashMap<String, String>,
}

impl Document {
    /// Notes that a name had to change.
    pub(super) fn renamed(&mut self, written: &str, original: &str) {
        if written != original {
            self.names.insert(written.to_owned(), original.to_owned());
        }
    }

    /// Notes the members of `of` that nobody looked at; the comments that keep them.
    pub(super) fn kept(&mut self, object: &Object<'_>, of: &Message) -> Vec<String> {
        let mut comments = Vec::new();
        for (key, node) in object.rest() {
            self.notes.push(message!("`{key}` of {of} means nothing here; it is kept as a comment"));
            comments.push(format!("{key}: {}", value(node.value)));
        }
        comments
    }

    /// Keeps what else the document holds as comments at the top of the file.
    pub(super) fn keep_in_header(&mut self, object: &Object<'_>) {
        for comment in self.kept(object, &message!("the document")) {
            self.header.push_str(&format!("\n{comment}"));
        }
    }

    /// A file must say something: what messages look like, where there is nothing else to say.
    pub(super) fn never_empty(&mut self, comment: &str) {
        if self.statements.is_empty() {
            let (comments, body) = (vec![comment.to_owned()], "input { text: string }".to_owned());
            self.statements.push(Statement { comments, body, ..Statement::default() });
        }
    }

    /// The text, with the codes that each statement allows, and the line each statement ends at.
    fn render(&self, allows: &BTreeMap<usize, BTreeSet<Code>>) -> (String, Vec<usize>) {
        let mut text = comment("#", &self.header, 0);
        let mut ends = Vec::new();
        for (at, statement) in self.statements.iter().enumerate() {
            if !statement.close {
                text.push('\n');
            }
            for paragraph in &statement.comments {
                text.push_str(&comment("#", paragraph, 0));
            }
            if !statement.docs.is_empty() {
                text.push_str(&comment("##", &statement.docs, 0));
            }
            for code in allows.get(&at).into_iter().flatten() {
                text.push_str(&format!("# rulec: allow {code} {}\n", reason(*code)));
            }
            text.push_str(&statement.body);
            text.push('\n');
            ends.push(text.matches('\n').count());
        }
        (text, ends)
    }

    /// Compiles the file; warnings are allowed where they come from, with the reason.
    pub(super) fn finish(self) -> Result<Imported, ImportError> {
        let compiled = |text: &str| {
            Compiler::new().compile_text(text).map_err(|error| ImportError::Internal(described(&error, text)))
        };
        let (mut text, ends) = self.render(&BTreeMap::new());
        let mut rules = compiled(&text)?;
        let found = self.found(&rules);
        if !found.is_empty() {
            let allows = allows(&rules, &found, &ends);
            text = self.render(&allows).0;
            rules = compiled(&text)?;
            // What an analysis finds beyond that is no reason to refuse the file.
            if let Some(left) = rules.warnings().first() {
                let message = message!("{}: {}", left.code, left.message);
                return Err(ImportError::Internal(message));
            }
        }
        Ok(Imported { text, notes: self.notes, rules, names: self.names })
    }

    /// The warnings of compiling and analysing the file; a very large one is not analysed.
    fn found(&self, rules: &Rules) -> Vec<Diagnostic> {
        let analysed = if self.statements.len() <= ANALYSED { rules.analyse() } else { Vec::new() };
        let analysed = analysed.into_iter().map(|finding| finding.diagnostic);
        rules.warnings().iter().cloned().chain(analysed).collect()
    }
}

/// The statements of a file that is analysed, at most.
const ANALYSED: usize = 1_000;

/// The codes of warnings, by the statements that they are about.
fn allows(rules: &Rules, found: &[Diagnostic], ends: &[usize]) -> BTreeMap<usize, BTreeSet<Code>> {
    let mut allows: BTreeMap<usize, BTreeSet<Code>> = BTreeMap::new();
    for warning in found {
        let Some(span) = warning.span() else { continue };
        let line = rules.sources().position(span).line;
        let at = ends.partition_point(|end| *end < line);
        allows.entry(at).or_default().insert(warning.code);
    }
    allows
}

/// Why an imported file has a warning of this kind.
fn reason(code: Code) -> &'static str {
    match code {
        Code::NeverMatches => "so it was in the original",
        Code::AlwaysMatches => "so it was in the original: it hides what comes after",
        Code::EmptyList => "the original's list is empty",
        Code::DefaultHides => "the original's default stands here",
        Code::OtherFamily => "as in the original, such a condition counts and never holds",
        Code::BranchNeverChosen => "the original leaves out a branch without a condition it can use",
        Code::PatternHidden => "so it was in the original: an earlier pattern answers first",
        Code::CatchesExample => "so it was in the original: keyword flows are tried first",
        Code::MixedScript => "the original's name",
        Code::RouteHidden => "so it was in the original: others take all its inputs",
        Code::EqualPriority => "so it was in the original: the order decides",
        Code::NoDefault => "the original has no default",
        _ => "as in the original",
    }
}

fn described(error: &CompileError, text: &str) -> Message {
    let line = error.diagnostics().iter().find(|diagnostic| diagnostic.is_error()).and_then(|diagnostic| {
        let line = error.sources().position(diagnostic.span()?).line;
        text.lines().nth(line.checked_sub(1)?)
    });
    match line {
        Some(line) => message!("{}, in {}", error.to_string(), shown(line.trim())),
        None => Message::verbatim(error.to_string()),
    }
}
