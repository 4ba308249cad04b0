//! A secret that must not be printed. Its `{:?}` form shows nothing of the secret. Error messages
//! mask the secret in texts that a server sent back.

use std::fmt;

const MASK: &str = "***";

/// A secret text, such as an API key. The type has no `Display`, and its `Debug` output reveals
/// nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Secret(text.into())
    }

    /// Returns the plain secret, for the request header that contains it.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    pub(super) fn mask_in(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, MASK) }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
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
