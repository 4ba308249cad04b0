//! The key of the hashes that replace private texts. It is in a file of its own, so that a copy of
//! the database alone does not have it.

use rulec::history::{HashKey, StoreError};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

const FILE: &str = "hash.key";

/// Reads the key from its file. If the database is new, creates the file.
pub(crate) fn read_or_create(folder: &Path, is_new: bool) -> Result<HashKey, StoreError> {
    let path = folder.join(FILE);
    let error = |error: std::io::Error| StoreError(format!("{}: {error}", path.display()));
    match fs::read_to_string(&path) {
        Ok(text) => parse(text.trim()).ok_or_else(|| {
            StoreError(format!("{}: not a key of 32 hexadecimal digits; restore the file", path.display()))
        }),
        Err(found) if found.kind() == ErrorKind::NotFound && is_new => {
            let key = HashKey::random();
            create(&path, key).map_err(error)?;
            Ok(key)
        }
        Err(found) if found.kind() == ErrorKind::NotFound => Err(StoreError(format!(
            "{} is missing, and without it private texts are not found again; restore the file",
            path.display()
        ))),
        Err(found) => Err(error(found)),
    }
}

fn create(path: &Path, key: HashKey) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    let digits: String = key.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    writeln!(file, "{digits}")?;
    file.sync_all()
}

fn parse(text: &str) -> Option<HashKey> {
    let mut bytes = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(HashKey::from_bytes(bytes))
}
