//! Reads or creates the secret key of the hashes that replace private texts in the history. The key
//! has its own file, so that a copy of the database alone does not contain it.

use rulec::history::{HashKey, StoreError};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

const HASH_KEY_FILE: &str = "hash.key";

/// Reads the secret hash key from its file in `folder`. If the database is new and has no key yet,
/// creates the file with a random key.
///
/// # Errors
/// If the file cannot be read or created, has another format, or is missing although the database
/// has messages.
pub(crate) fn read_or_create_hash_key(folder: &Path, is_new: bool) -> Result<HashKey, StoreError> {
    let path = folder.join(HASH_KEY_FILE);
    let error = |error: std::io::Error| StoreError(format!("{}: {error}", path.display()));
    match fs::read_to_string(&path) {
        Ok(text) => parse_hex_digits(text.trim()).ok_or_else(|| {
            StoreError(format!("{}: not a key of 32 hexadecimal digits; restore the file", path.display()))
        }),
        Err(found) if found.kind() == ErrorKind::NotFound && is_new => {
            let key = HashKey::random();
            create_key_file(&path, key).map_err(error)?;
            Ok(key)
        }
        Err(found) if found.kind() == ErrorKind::NotFound => Err(StoreError(format!(
            "{} is missing, and without it private texts are not found again; restore the file",
            path.display()
        ))),
        Err(found) => Err(error(found)),
    }
}

/// Writes the hash key to a temporary file and renames it, so that a crash never leaves an
/// incomplete key file.
fn create_key_file(path: &Path, key: HashKey) -> std::io::Result<()> {
    let unfinished = path.with_extension("new");
    // A crash may have left an incomplete temporary file.
    let _ = fs::remove_file(&unfinished);
    let mut file = open_private_file(&unfinished)?;
    writeln!(file, "{}", to_hex_digits(key))?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    // Waits until the renamed file is on disk. Only Unix can sync a folder.
    #[cfg(unix)]
    path.parent().map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())?;
    Ok(())
}

/// Opens a file for writing. If the file does not exist, creates it. On Unix, only the owner can
/// read the new file.
pub(crate) fn open_private_file(path: &Path) -> std::io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns a hash key as 32 hexadecimal digits.
pub(crate) fn to_hex_digits(key: HashKey) -> String {
    key.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses a hash key of 32 hexadecimal digits; `None` for any other text.
pub(crate) fn parse_hex_digits(text: &str) -> Option<HashKey> {
    let mut bytes = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(HashKey::from_bytes(bytes))
}
