//! Writing files so that nobody ever finds half of one.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file under another name first, so that whoever reads it meanwhile finds the old one or the new one, and a
/// full disk loses nothing. Its permissions stay, and a link stays one. What is no regular file, such as
/// `/dev/stdout`, is written to as it is.
///
/// # Errors
/// When it cannot be written; what was there before is there still.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if path.exists() && !path.is_file() {
        return std::fs::write(path, bytes);
    }
    // A file that may not be written to is not replaced either.
    let permissions = match File::options().write(true).open(&path) {
        Ok(old) => Some(old.metadata()?.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let beside = path.with_file_name(name);
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        std::fs::rename(&beside, &path)
    };
    let written = write();
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}
