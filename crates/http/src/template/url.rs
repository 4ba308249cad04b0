//! URLs with placeholders. A value replaces a placeholder in the path or in the query. It cannot
//! change any other part of the URL, such as the host.

use super::error::{FillError, FillReason, TemplateError};
use super::text::{Placeholder, TemplatePiece, TemplateText, Values, percent_encode};
use super::{URL_FIELD, fill_error, find_placeholder_text};
use crate::hosts;
use rulec_base::message;

/// The template of a URL. Scheme, host and port are literal; the rest may have placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UrlTemplate {
    pub(super) text: TemplateText,
}

impl UrlTemplate {
    pub(super) fn parse(text: &str) -> Result<UrlTemplate, TemplateError> {
        // The URL parser drops line breaks and tabs. If they were allowed, the parsed URL would
        // differ from the checked text.
        if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(TemplateError::Url {
                why: message!("it holds white space; write `%20` for a space"),
            });
        }
        let url = UrlTemplate { text: TemplateText::parse(text) };
        url.check_host_is_literal()?;
        hosts::parse_url(&url.sample_url())
            .map_err(|failure| TemplateError::Url { why: failure.to_message() })?;
        Ok(url)
    }

    /// Returns the URL with `x` in place of each placeholder, to check its host when the template
    /// is loaded.
    pub(super) fn sample_url(&self) -> String {
        self.text
            .pieces
            .iter()
            .map(|piece| match piece {
                TemplatePiece::Literal(literal) => literal,
                TemplatePiece::Placeholder(_) => "x",
            })
            .collect()
    }

    /// Returns an error if the URL has a placeholder in its scheme, host or port.
    fn check_host_is_literal(&self) -> Result<(), TemplateError> {
        let Some(placeholder) = self.text.placeholders().next() else { return Ok(()) };
        let is_host_literal = match self.text.pieces.first() {
            Some(TemplatePiece::Literal(start)) => {
                start.split_once("://").is_some_and(|(_, after_scheme)| {
                    // The URL parser would skip an empty host and use the next segment as the host.
                    after_scheme
                        .find(['/', '?'])
                        .is_some_and(|end| end > 0 && !after_scheme.starts_with('\\'))
                })
            }
            _ => false,
        };
        if is_host_literal {
            Ok(())
        } else {
            Err(TemplateError::PlaceholderInHost { placeholder: placeholder.clone() })
        }
    }

    pub(super) fn fill_url(&self, values: Values<'_>) -> Result<String, FillError> {
        let mut url = String::new();
        let mut path = UrlPathGuard::default();
        for piece in &self.text.pieces {
            match piece {
                TemplatePiece::Literal(literal) => {
                    path.add_literal(literal)?;
                    url.push_str(literal);
                }
                TemplatePiece::Placeholder(placeholder) => {
                    let value = percent_encode(&find_placeholder_text(placeholder, values, URL_FIELD)?);
                    path.add_value(&value, placeholder);
                    url.push_str(&value);
                }
            }
        }
        path.check_segment()?;
        Ok(url)
    }
}

/// Checks the path segments while the placeholders of a URL are filled. A segment with a
/// placeholder must not become empty, `.` or `..`, because the URL would then name another path.
/// Percent-encoded dots count as dots.
#[derive(Default)]
struct UrlPathGuard<'a> {
    /// The text of the current path segment, with filled placeholders.
    segment: String,
    /// The last placeholder in the current path segment; `None` if it has no placeholder.
    placeholder_in_segment: Option<&'a Placeholder>,
    /// Whether the path has ended, so that the query or fragment follows.
    is_past_path: bool,
}

impl<'a> UrlPathGuard<'a> {
    fn add_literal(&mut self, text: &str) -> Result<(), FillError> {
        for c in text.chars() {
            if matches!(c, '/' | '\\' | '?' | '#') {
                self.check_segment()?;
                self.is_past_path |= matches!(c, '?' | '#');
            } else {
                self.segment.push(c);
            }
        }
        Ok(())
    }

    fn add_value(&mut self, text: &str, placeholder: &'a Placeholder) {
        self.segment.push_str(text);
        self.placeholder_in_segment = Some(placeholder);
    }

    fn check_segment(&mut self) -> Result<(), FillError> {
        let segment = std::mem::take(&mut self.segment).to_ascii_lowercase().replace("%2e", ".");
        match self.placeholder_in_segment.take() {
            Some(placeholder) if !self.is_past_path && matches!(&segment[..], "" | "." | "..") => {
                Err(fill_error(placeholder, URL_FIELD, FillReason::PathSegment))
            }
            _ => Ok(()),
        }
    }
}
