//! Signatures of artifacts (Ed25519): who may say which rules a service loads.
//!
//! The header and the hash of the content are signed. The keys are those of other tools (`openssl genpkey -algorithm
//! ed25519`): PKCS #8 and SPKI as PEM.

use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey};
use ed25519_dalek::{Signature, Signer};
use rulec_base::diag::Message;
use rulec_base::message;
use std::fmt;
use thiserror::Error;

/// The private key that artifacts are signed with. It is never shown, and wiped from memory with its owner.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

/// The public key that belongs to a [`SigningKey`]: with it everybody can tell what was signed by whom.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct VerifyingKey(ed25519_dalek::VerifyingKey);

/// A text that holds no key of the kind that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{}", self.in_words())]
#[non_exhaustive]
pub enum KeyError {
    /// A public key was given.
    Public,
    /// A private key was given, which others should not see.
    Private,
    /// It is locked with a password.
    Encrypted,
    /// It is no key, or one of another kind.
    Unknown,
}

impl KeyError {
    /// The reason, which each language has its own words for.
    pub fn in_words(&self) -> Message {
        match self {
            KeyError::Public => message!("it holds a public key, and signing wants the private one"),
            KeyError::Private => message!("it holds a private key, and verifying wants the public one alone"),
            KeyError::Encrypted => message!("its key is locked with a password, which rulec cannot ask for"),
            KeyError::Unknown => message!("it holds no Ed25519 key as PEM, which begins with `-----BEGIN`"),
        }
    }
}

impl SigningKey {
    /// Reads a private key as PEM (PKCS #8).
    ///
    /// # Errors
    /// When the text holds no private Ed25519 key.
    pub fn from_pem(text: &str) -> Result<SigningKey, KeyError> {
        ed25519_dalek::SigningKey::from_pkcs8_pem(text).map(SigningKey).map_err(|_| match () {
            () if text.contains("ENCRYPTED") => KeyError::Encrypted,
            () if text.contains("BEGIN PUBLIC KEY") => KeyError::Public,
            () => KeyError::Unknown,
        })
    }

    /// The public key that belongs to it.
    pub fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey(self.0.verifying_key())
    }

    pub(crate) fn sign(&self, message: &[u8]) -> super::Signed {
        let signature = self.0.sign(message);
        super::Signed { key: self.0.verifying_key().to_bytes(), signature: signature.to_bytes() }
    }
}

impl VerifyingKey {
    /// Reads a public key as PEM (SPKI).
    ///
    /// # Errors
    /// When the text holds no public Ed25519 key.
    pub fn from_pem(text: &str) -> Result<VerifyingKey, KeyError> {
        ed25519_dalek::VerifyingKey::from_public_key_pem(text).map(VerifyingKey).map_err(|_| {
            let is_private = text.contains("PRIVATE KEY");
            if is_private { KeyError::Private } else { KeyError::Unknown }
        })
    }

    pub(super) fn is(&self, bytes: &[u8; 32]) -> bool {
        self.0.as_bytes() == bytes
    }

    /// Returns true when the signature was made with the private key that belongs to this one.
    pub(super) fn verifies(&self, message: &[u8], signed: &super::Signed) -> bool {
        // Strict: there is no second signature that would do for the same message and key.
        self.is(&signed.key)
            && self.0.verify_strict(message, &Signature::from_bytes(&signed.signature)).is_ok()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.verifying_key()).finish()
    }
}

/// The key's 32 bytes in hexadecimal digits.
impl fmt::Display for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::hexadecimal(self.0.as_bytes()))
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({self})")
    }
}
