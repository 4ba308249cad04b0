//! Writing files so that nobody ever finds half of one.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// A file that is written beside the one it replaces, and takes its place when it is whole ([`Replacement::finish`]). Whoever
/// reads meanwhile finds the old one; a full disk or a program that is killed loses nothing. The permissions stay, and a link
/// stays one. What is no regular file, such as `/dev/stdout`, is written to as it is.
pub struct Replacement {
    path: PathBuf,
    beside: Beside,
    /// True when none may have come to stand there meanwhile.
    is_new: bool,
}

enum Beside {
    Another(NamedTempFile),
    Itself(File),
}

impl Replacement {
    /// Begins a file that is to stand at a path.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub fn of(path: &Path) -> io::Result<Replacement> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if path.exists() && !path.is_file() {
            let beside = Beside::Itself(File::options().write(true).open(&path)?);
            return Ok(Replacement { path, beside, is_new: false });
        }
        // A file that may not be written to is not replaced either.
        let permissions = match File::options().write(true).open(&path) {
            Ok(old) => Some(old.metadata()?.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        // No name that a file of rules, messages or answers would have, should it be left behind.
        let mut builder = Builder::new();
        builder.prefix(".rulec-").suffix(".tmp");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let beside = builder.tempfile_in(folder(&path))?;
        if let Some(permissions) = permissions {
            beside.as_file().set_permissions(permissions)?;
        }
        Ok(Replacement { path, beside: Beside::Another(beside), is_new: false })
    }

    /// Begins a file that is to stand where there is none.
    ///
    /// # Errors
    /// When there is one, or nothing can be written there.
    pub fn of_none(path: &Path) -> io::Result<Replacement> {
        if path.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(Replacement { is_new: true, ..Replacement::of(path)? })
    }

    /// The file that is being written.
    pub fn file(&mut self) -> &mut File {
        match &mut self.beside {
            Beside::Another(file) => file.as_file_mut(),
            Beside::Itself(file) => file,
        }
    }

    /// Puts what was written in its place.
    ///
    /// # Errors
    /// When the disk does not take it; what was there before is there still.
    pub fn finish(self) -> io::Result<()> {
        let Beside::Another(file) = self.beside else { return Ok(()) };
        file.as_file().sync_all()?;
        let placed = if self.is_new { file.persist_noclobber(&self.path) } else { file.persist(&self.path) };
        placed.map_err(|error| error.error)?;
        // The new name outlives a loss of power too, where folders can be asked for that.
        if let Ok(folder) = File::open(folder(&self.path)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// Writes a file whole or not at all.
///
/// # Errors
/// When it cannot be written; what was there before is there still.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(Replacement::of(path)?, bytes)
}

/// The same where there must be no file yet.
///
/// # Errors
/// When there is one, or it cannot be written.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(Replacement::of_none(path)?, bytes)
}

fn write(mut new: Replacement, bytes: &[u8]) -> io::Result<()> {
    new.file().write_all(bytes)?;
    new.finish()
}
