//! Bearer tokens, by which the service decides what a request may do. The token file contains the
//! hash of each token, never the token itself. So a copy of the file gives no access.

use crate::problem::Problem;
use crate::rules::StartError;
use rulec::Message;
use rulec_base::message;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::Path;
use subtle::ConstantTimeEq;

/// A kind of request that a token permits. No scope includes another one: `admin` does not permit
/// to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A token with this scope permits to decide messages, to check payloads, to run workflows and
    /// to analyse texts.
    Decide,
    /// A token with this scope permits to see how the rules decide: explanations, the rules, the
    /// metrics and the tests.
    Explain,
    /// A token with this scope permits to change the active rules.
    Admin,
}

impl Scope {
    const ALL: [Scope; 3] = [Scope::Decide, Scope::Explain, Scope::Admin];

    fn name(self) -> &'static str {
        match self {
            Scope::Decide => "decide",
            Scope::Explain => "explain",
            Scope::Admin => "admin",
        }
    }
}

/// The permissions of one request: the scopes of its bearer token, and the name of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestPermissions {
    pub token_name: String,
    scopes: Vec<Scope>,
}

impl RequestPermissions {
    /// Returns the permissions of a request to a service without tokens: everything except changing
    /// the rules.
    pub fn without_tokens() -> RequestPermissions {
        RequestPermissions { token_name: String::new(), scopes: vec![Scope::Decide, Scope::Explain] }
    }

    /// Checks that the request's token has the scope `scope`.
    ///
    /// # Errors
    /// If the token of the request does not have this scope.
    pub fn require_scope(&self, scope: Scope) -> Result<(), Problem> {
        if self.scopes.contains(&scope) {
            return Ok(());
        }
        let scope = scope.name();
        Err(Problem::forbidden(match self.token_name.is_empty() {
            true => format!("this needs a token with the scope `{scope}`; start the service with `--tokens`"),
            false => format!("the token `{}` has not the scope `{scope}`", self.token_name),
        }))
    }

    /// Checks that the request's token has at least one of the scopes `scopes`.
    ///
    /// # Errors
    /// If the token has none of them. The error names only the first of `scopes`.
    pub fn require_any_scope(&self, scopes: &[Scope]) -> Result<(), Problem> {
        match scopes.iter().any(|scope| self.scopes.contains(scope)) {
            true => Ok(()),
            false => scopes.first().map_or(Ok(()), |scope| self.require_scope(*scope)),
        }
    }
}

/// The tokens that a service accepts: pairs of the hash of a token, in lower-case hexadecimal, and
/// its permissions.
#[derive(Clone, Debug, Default)]
pub struct Tokens(Vec<(Vec<u8>, RequestPermissions)>);

impl Tokens {
    /// Reads a file of tokens. Each line has a name, the scopes and the SHA-256 hash of the token
    /// in hexadecimal: `ci decide,explain 9f86d081884c…`. Lines that begin with `#` are comments.
    ///
    /// # Errors
    /// If the file cannot be read, or a line does not have this form.
    pub fn read(path: &Path) -> Result<Tokens, StartError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| StartError::File(path.to_owned(), Message::verbatim(error.to_string())))?;
        let lines =
            text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'));
        let tokens: Result<Vec<_>, StartError> = lines
            .map(|(line, number)| {
                parse_line(line).ok_or_else(|| {
                    let why = message!(
                        "line {number} is not a name, scopes and a SHA-256 hash, as in `ci decide,explain 9f86d0…`"
                    );
                    StartError::File(path.to_owned(), why)
                })
            })
            .collect();
        tokens.map(Tokens)
    }

    /// Returns the permissions of a token; `None` if the token is unknown. Compares in constant
    /// time, so that the duration does not reveal how much of a token is right.
    pub(crate) fn grant(&self, token: &[u8]) -> Option<&RequestPermissions> {
        self.grant_of_hash(&hash_of(token))
    }

    /// Returns the permissions of the token whose hash is `hash`. Compares in constant time, as
    /// [`Tokens::grant`] does.
    pub(crate) fn grant_of_hash(&self, hash: &str) -> Option<&RequestPermissions> {
        let mut found = None;
        for (known, grant) in &self.0 {
            if bool::from(known.as_slice().ct_eq(hash.as_bytes())) {
                found = Some(grant);
            }
        }
        found
    }
}

fn parse_line(line: &str) -> Option<(Vec<u8>, RequestPermissions)> {
    let mut words = line.split_whitespace();
    let (Some(name), Some(scopes), Some(hash), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return None;
    };
    let find = |name: &str| Scope::ALL.into_iter().find(|scope| scope.name() == name);
    let scopes: Option<Vec<Scope>> = scopes.split(',').map(find).collect();
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    let grant = RequestPermissions { token_name: name.to_owned(), scopes: scopes? };
    is_hash.then(|| (hash.to_ascii_lowercase().into_bytes(), grant))
}

/// Returns the SHA-256 hash of a token in lower-case hexadecimal.
pub(crate) fn hash_of(token: &[u8]) -> String {
    Sha256::digest(token).iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_hash() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokens");
        let line = format!("# tokens\nci decide,explain {}\n", hash_of(b"secret").to_uppercase());
        std::fs::write(&path, line).expect("it can be written");
        let tokens = Tokens::read(&path).expect("they are tokens");
        assert!(tokens.grant(b"other").is_none() && tokens.grant(b"").is_none());
        let grant = tokens.grant(b"secret").expect("a known token");
        assert!(grant.require_scope(Scope::Decide).is_ok() && grant.require_scope(Scope::Explain).is_ok());
        let detail = grant.require_scope(Scope::Admin).expect_err("it has not this scope");
        assert!(detail.detail().contains("`ci` has not the scope `admin`"), "{}", detail.detail());
        for wrong in ["ci decide", "ci all 00", "ci decide zz", "ci decide 00 more"] {
            std::fs::write(&path, wrong).expect("it can be written");
            assert!(Tokens::read(&path).is_err(), "{wrong}");
        }
    }
}
