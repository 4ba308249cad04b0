//! A secret, such as an API key, that must not appear in logs and messages. Its `Debug` output does
//! not show the secret. Error messages mask the secret in texts that a server sent back.

use std::fmt;

const SECRET_MASK: &str = "***";

/// A secret text, such as an API key. The type has no `Display`, and its `Debug` output reveals
/// nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret from its plain text.
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// Returns the plain secret, for the request header that contains it.
    pub(super) fn plain_text(&self) -> &str {
        &self.0
    }

    pub(super) fn mask_in(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, SECRET_MASK) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// Masks secrets in a text that arrives in parts. If a part ends with what may be the start of a
/// secret, holds this end back until the next part.
pub(super) struct StreamMask {
    /// The secrets to mask in the text, the longest first.
    secrets: Vec<Secret>,
    held_back: String,
}

impl StreamMask {
    /// Creates a mask of secrets. The caller must have sorted them by length, the longest first.
    pub(super) fn new(mut secrets: Vec<Secret>) -> StreamMask {
        secrets.retain(|secret| !secret.0.is_empty());
        StreamMask { secrets, held_back: String::new() }
    }

    /// Adds the next part of the text. Returns the part of the masked text that no later part can
    /// change, and holds back the rest.
    pub(super) fn mask_part(&mut self, part: &str) -> String {
        let text = std::mem::take(&mut self.held_back) + part;
        let (mut masked, mut rest) = (String::new(), text.as_str());
        while let Some(c) = rest.chars().next() {
            let may_begin = |secret: &Secret| secret.0.len() > rest.len() && secret.0.starts_with(rest);
            if self.secrets.iter().any(may_begin) {
                break;
            }
            match self.secrets.iter().find_map(|secret| rest.strip_prefix(&*secret.0)) {
                Some(after) => {
                    masked.push_str(SECRET_MASK);
                    rest = after;
                }
                None => {
                    masked.push(c);
                    rest = &rest[c.len_utf8()..];
                }
            }
        }
        self.held_back = rest.to_owned();
        masked
    }

    /// Returns the end of the masked text, which was held back. Call this after the last part.
    pub(super) fn take_held_back(&mut self) -> String {
        let rest = std::mem::take(&mut self.held_back);
        self.secrets.iter().fold(rest, |text, secret| secret.mask_in(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed() {
        let secret = Secret::new("k-1");
        assert_eq!(format!("{secret:?}"), "Secret(***)");
        assert_eq!(secret.mask_in("bad key k-1, k-1"), "bad key ***, ***");
        assert_eq!(Secret::new("").mask_in("ab"), "ab");
    }
}
