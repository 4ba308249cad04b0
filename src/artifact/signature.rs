//! Signatures of artifacts (Ed25519). With signatures, a service loads only rules that a trusted
//! key signed.
//!
//! The signature covers the header and the hash of the content. Keys are PEM files in the formats
//! PKCS #8 and SPKI, which other tools also write (`openssl genpkey -algorithm ed25519`).

use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey};
use ed25519_dalek::{Signature, Signer};
use rulec_base::diag::Message;
use rulec_base::message;
use std::fmt;
use thiserror::Error;

/// The private key that signs artifacts (files of compiled rules). `Debug` output shows only the
/// public key, and the memory is wiped on drop.
#[derive(Clone)]
pub struct SigningKey(ed25519_dalek::SigningKey);

/// The public key of a [`SigningKey`], which verifies that an artifact (a file of compiled rules)
/// was signed with the private key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct VerifyingKey(ed25519_dalek::VerifyingKey);

/// The reason why a text is not a key of the expected kind (private or public).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum KeyError {
    /// The text holds a public key, but a private key is needed.
    Public,
    /// The text holds a private key, but a public key is needed. A service that checks signatures
    /// must not have the private key.
    Private,
    /// The private key is encrypted with a password.
    Encrypted,
    /// The text is not a PEM key, or is a key of another algorithm.
    Unknown,
}

impl KeyError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            KeyError::Public => message!("it is a public key, but signing needs the private key"),
            KeyError::Private => message!("it is a private key, but verifying needs the public key"),
            KeyError::Encrypted => message!("the key is protected by a password, which rulec cannot ask for"),
            KeyError::Unknown => {
                message!("it contains no Ed25519 key in PEM format, which begins with `-----BEGIN`")
            }
        }
    }
}

impl SigningKey {
    /// Reads a private key from PEM text (PKCS #8).
    ///
    /// # Errors
    /// If the text holds no unencrypted private Ed25519 key.
    pub fn from_pem(text: &str) -> Result<SigningKey, KeyError> {
        ed25519_dalek::SigningKey::from_pkcs8_pem(text).map(SigningKey).map_err(|_| match () {
            () if text.contains("ENCRYPTED") => KeyError::Encrypted,
            () if text.contains("BEGIN PUBLIC KEY") => KeyError::Public,
            () => KeyError::Unknown,
        })
    }

    /// Returns the public key of this private key.
    pub fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey(self.0.verifying_key())
    }

    /// Signs a record, such as a checkpoint of a log. The signature cannot be used for an artifact.
    pub fn sign_record(&self, record: &[u8]) -> [u8; 64] {
        self.0.sign(&record_bytes_to_sign(record)).to_bytes()
    }

    pub(crate) fn sign(&self, message: &[u8]) -> super::Signed {
        let signature = self.0.sign(message);
        super::Signed { key: self.0.verifying_key().to_bytes(), signature: signature.to_bytes() }
    }
}

/// Returns the bytes to sign for a record. These bytes have another prefix than the bytes to sign
/// for an artifact. So a signature of a record is never valid for an artifact, and vice versa.
fn record_bytes_to_sign(record: &[u8]) -> Vec<u8> {
    [b"rulec record\0", record].concat()
}

impl VerifyingKey {
    /// Reads a public key from PEM text (SPKI).
    ///
    /// # Errors
    /// If the text holds no public Ed25519 key.
    pub fn from_pem(text: &str) -> Result<VerifyingKey, KeyError> {
        ed25519_dalek::VerifyingKey::from_public_key_pem(text).map(VerifyingKey).map_err(|_| {
            let is_private = text.contains("PRIVATE KEY");
            if is_private { KeyError::Private } else { KeyError::Unknown }
        })
    }

    /// True if `signature` is the signature of a record by the private key of this public key; see
    /// [`SigningKey::sign_record`].
    pub fn verifies_record(&self, record: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(&record_bytes_to_sign(record), &Signature::from_bytes(signature)).is_ok()
    }

    pub(super) fn has_bytes(&self, bytes: &[u8; 32]) -> bool {
        self.0.as_bytes() == bytes
    }

    /// True if `signed` is a valid signature of the bytes `message`, made with the private key of
    /// this public key.
    pub(super) fn verifies(&self, message: &[u8], signed: &super::Signed) -> bool {
        // Strict verification rejects any second valid signature for the same message and key.
        self.has_bytes(&signed.key)
            && self.0.verify_strict(message, &Signature::from_bytes(&signed.signature)).is_ok()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.verifying_key()).finish()
    }
}

/// Displays the public key as 64 hexadecimal digits.
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
