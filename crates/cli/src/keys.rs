//! Signature keys for `--sign` and `--verify`, given as a file or as `env:NAME` for an environment
//! variable. A key itself is rejected on the command line, because other users of the machine can
//! see command lines.

use super::CliError;
use rulec::{KeyError, SigningKey, VerifyingKey};
use rulec_base::message;
use std::fs::File;
use std::io::Read;

/// Maximum number of bytes of a key file. A key has less than 1 KiB.
const MAX_KEY_BYTES: u64 = 64 << 10;

/// The location of a key: a file path or `env:NAME`.
#[derive(Clone, Debug)]
pub struct KeyLocation(String);

impl From<String> for KeyLocation {
    fn from(location: String) -> KeyLocation {
        KeyLocation(location)
    }
}

impl KeyLocation {
    /// Reads the private key from the file or the environment variable.
    pub fn read_signing_key(&self) -> Result<SigningKey, CliError> {
        self.read_key(SigningKey::from_pem)
    }

    /// Reads the public key from the file or the environment variable.
    pub fn read_verifying_key(&self) -> Result<VerifyingKey, CliError> {
        self.read_key(VerifyingKey::from_pem)
    }

    fn read_key<K>(&self, parse: impl FnOnce(&str) -> Result<K, KeyError>) -> Result<K, CliError> {
        let KeyLocation(place) = self;
        if place.contains("-----BEGIN") {
            return Err(CliError::usage_error(message!(
                "do not write a key on the command line, where other users can see it: give its file, or \
                `env:NAME`"
            )));
        }
        let text = match place.strip_prefix("env:") {
            Some(name) => std::env::var(name).map_err(|_| {
                CliError::usage_error(message!(
                    "the environment variable `{name}`, which should contain the key, is not set"
                ))
            })?,
            None => read_key_file(place)?,
        };
        parse(&text).map_err(|error| {
            CliError::usage_error(message!("the key `{place}` cannot be used: {}", error.to_message()))
        })
    }
}

/// Reads the text of a key from a file or a pipe, as in `--sign <(vault read KEY)`. The length is
/// limited, because a device may have no end.
fn read_key_file(place: &str) -> Result<String, CliError> {
    let mut text = String::new();
    File::open(place)
        .and_then(|file| file.take(MAX_KEY_BYTES + 1).read_to_string(&mut text))
        .map_err(|error| CliError::usage_error(message!("the key `{place}` cannot be read: {error}")))?;
    if text.len() as u64 > MAX_KEY_BYTES {
        return Err(CliError::usage_error(message!(
            "the key `{place}` is longer than {MAX_KEY_BYTES} bytes; name a file that contains only a key"
        )));
    }
    Ok(text)
}
