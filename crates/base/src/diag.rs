//! Diagnostics as plain data: what is wrong, where, and what to do about it. Nothing here prints;
//! the command line renders them, an editor or a service reads them.

pub mod codes;
mod message;
mod render;

pub use codes::{Code, Language, Severity};
pub use message::{Argument, Hole, Message, holes, listed, one_of};
pub use render::{Renderer, visible};

use crate::codec::impl_codec;
use crate::message;
use crate::source::SourceMap;
use crate::span::Span;

/// One finding about the author's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The stable code, which also fixes the severity.
    pub code: Code,
    /// One sentence in lower case, the author's own words in backticks.
    pub message: Message,
    /// The places that matter; the first is the primary one. Empty only for findings about a whole
    /// set of files (a file that cannot be read).
    pub labels: Vec<Label>,
    /// The remedy.
    pub help: Option<Message>,
    /// Edits that would repair it.
    pub fixes: Vec<Fix>,
}

/// A place in the text and what is to be seen there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The underlined text.
    pub span: Span,
    /// A few words shown beside it; may be empty.
    pub text: Message,
}

/// An edit that would repair a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The text to replace.
    pub span: Span,
    /// The text to put there.
    pub replacement: String,
    /// Tells whether a tool may apply it unasked.
    pub applicability: Applicability,
}

/// The certainty of a [`Fix`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applicability {
    /// Keeps the author's meaning; a tool may apply it.
    MachineApplicable,
    /// A likely guess ("did you mean").
    MaybeIncorrect,
}

impl Diagnostic {
    /// A finding with its primary place.
    pub fn new(code: Code, span: Span, message: impl Into<Message>) -> Self {
        Diagnostic {
            code,
            message: message.into(),
            labels: vec![Label { span, text: Message::default() }],
            help: None,
            fixes: Vec::new(),
        }
    }

    /// A finding about no place in a text, such as a file that cannot be read.
    pub fn without_place(code: Code, message: impl Into<Message>) -> Self {
        Diagnostic { code, message: message.into(), labels: Vec::new(), help: None, fixes: Vec::new() }
    }

    /// Sets the words beside the primary place.
    #[must_use]
    pub fn here(mut self, text: impl Into<Message>) -> Self {
        if let Some(first) = self.labels.first_mut() {
            first.text = text.into();
        }
        self
    }

    /// Adds a further place.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<Message>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds the place of a declaration, where there is one.
    #[must_use]
    pub fn declared(self, place: Option<Span>) -> Self {
        match place {
            Some(place) => self.label(place, message!("declared here")),
            None => self,
        }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<Message>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Offers a likely replacement for a place and says so in the help.
    #[must_use]
    pub fn did_you_mean(mut self, span: Span, candidate: Option<&str>) -> Self {
        if let Some(candidate) = candidate {
            self.help = Some(message!("did you mean `{candidate}`?"));
            self = self.likely_fix(span, candidate);
        }
        self
    }

    /// Offers the candidate that is near, as [`nearest`] finds it; gives the help when there is none.
    #[must_use]
    pub fn near_or(self, span: Span, near: Option<&str>, help: impl Into<Message>) -> Self {
        match near {
            None => self.help(help),
            near => self.did_you_mean(span, near),
        }
    }

    /// Offers an edit that keeps the author's meaning.
    #[must_use]
    pub fn fix(self, span: Span, replacement: impl Into<String>) -> Self {
        self.with_fix(span, replacement.into(), Applicability::MachineApplicable)
    }

    /// Offers an edit that is a likely guess.
    #[must_use]
    pub fn likely_fix(self, span: Span, replacement: impl Into<String>) -> Self {
        self.with_fix(span, replacement.into(), Applicability::MaybeIncorrect)
    }

    fn with_fix(mut self, span: Span, replacement: String, applicability: Applicability) -> Self {
        self.fixes.push(Fix { span, replacement, applicability });
        self
    }

    /// The same finding with its texts in that language, as whoever shows it wants them.
    #[must_use]
    pub fn told_in(&self, language: Language) -> Diagnostic {
        let told = |message: &Message| message.in_language(language);
        let label = |label: &Label| Label { span: label.span, text: told(&label.text) };
        Diagnostic {
            message: told(&self.message),
            labels: self.labels.iter().map(label).collect(),
            help: self.help.as_ref().map(told),
            ..self.clone()
        }
    }

    /// The severity, fixed by the code.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// True when it is an error.
    pub fn is_error(&self) -> bool {
        self.severity() == Severity::Error
    }

    /// The primary place.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.span)
    }

    /// Renders it as text, with the author's lines underlined. [`Renderer`] has colours and other names of files.
    pub fn render(&self, sources: &SourceMap) -> String {
        let name = |file| sources.get(file).map_or_else(String::new, |file| file.name.clone());
        Renderer { sources, color: false, language: Language::English, name: &name }.render(self)
    }
}

/// The candidate nearest to `name` in spelling, when one is near enough to be a likely slip.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    // Every name of one letter is near every other, so none is suggested for it.
    let allowed = match length {
        0 | 1 => return None,
        2 => 1,
        _ => (length / 3).max(1) + usize::from(length > 4),
    };
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .map(|candidate| (strsim::osa_distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= allowed && *distance < candidate.chars().count().max(2))
        .min_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.cmp(b.1)))
        .map(|(_, candidate)| candidate)
}

impl_codec!(struct Diagnostic { code, message, labels, help, fixes });
impl_codec!(struct Label { span, text });
impl_codec!(struct Fix { span, replacement, applicability });
impl_codec!(enum Applicability { 0 MachineApplicable, 1 MaybeIncorrect });

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn nearest_takes_slips_and_leaves_strangers() {
        let names = ["message_count", "user", "last_error"];
        let check = |name: &str, expected: Option<&str>| assert_eq!(nearest(name, names), expected, "{name}");
        check("mesage_count", Some("message_count"));
        check("usr", Some("user"));
        check("lasterror", Some("last_error"));
        check("zebra", None);
        check("u", None);
    }
}
