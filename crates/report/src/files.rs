//! Writes files atomically, so that a reader never sees a half-written file.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// The new content of a file while it is being written. The content is in a temporary file in the
/// same folder. [`FileReplacement::finish`] moves the temporary file to the path. Until then
/// readers see the old file, so a full disk or a killed program loses nothing. The new file has the
/// permissions of the old file, and a symbolic link stays a link. A path that is not a regular
/// file, such as `/dev/stdout`, is written directly, and so is a link to a missing file.
pub struct FileReplacement {
    path: PathBuf,
    target: WriteTarget,
    /// Whether the path must not exist: `finish` then fails if a file exists at the path.
    must_be_new: bool,
}

enum WriteTarget {
    TemporaryFile(NamedTempFile),
    ExistingFile(File),
}

impl FileReplacement {
    /// Starts writing a file. When the writing is finished, the file replaces any existing file at
    /// `path`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn start_replace(path: &Path) -> io::Result<FileReplacement> {
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        let path = match path.canonicalize() {
            Ok(path) => path,
            Err(_) if is_link(path) => {
                // A link such as `/dev/stdout` may lead to an open file that was removed. A rename
                // would replace the link itself.
                let file = File::options().write(true).create(true).truncate(true).open(path)?;
                let (path, target) = (path.to_path_buf(), WriteTarget::ExistingFile(file));
                return Ok(FileReplacement { path, target, must_be_new: false });
            }
            Err(_) => path.to_path_buf(),
        };
        if path.exists() && !path.is_file() {
            let target = WriteTarget::ExistingFile(File::options().write(true).open(&path)?);
            return Ok(FileReplacement { path, target, must_be_new: false });
        }
        // An old file without write permission is not replaced.
        let permissions = match File::options().write(true).open(&path) {
            Ok(old_file) => Some(old_file.metadata()?.permissions()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        // The temporary file may be left over after a crash. Its name must not look like a file
        // with rules, messages or results.
        let mut builder = Builder::new();
        builder.prefix(".rulec-").suffix(".tmp");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let target = builder.tempfile_in(parent_folder(&path))?;
        if let Some(permissions) = permissions {
            target.as_file().set_permissions(permissions)?;
        }
        Ok(FileReplacement { path, target: WriteTarget::TemporaryFile(target), must_be_new: false })
    }

    /// Starts writing a new file at a path where no file exists yet.
    ///
    /// # Errors
    ///
    /// If a file exists at the path, or the file cannot be written.
    pub fn start_create(path: &Path) -> io::Result<FileReplacement> {
        if path.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(FileReplacement { must_be_new: true, ..FileReplacement::start_replace(path)? })
    }

    /// Returns the open file, to which the caller writes the new content.
    pub fn file(&mut self) -> &mut File {
        match &mut self.target {
            WriteTarget::TemporaryFile(file) => file.as_file_mut(),
            WriteTarget::ExistingFile(file) => file,
        }
    }

    /// Completes the writing: moves the temporary file to the path of the old file.
    ///
    /// # Errors
    ///
    /// If the disk cannot store the file. The old file is then unchanged.
    pub fn finish(self) -> io::Result<()> {
        let WriteTarget::TemporaryFile(file) = self.target else { return Ok(()) };
        file.as_file().sync_all()?;
        let persisted =
            if self.must_be_new { file.persist_noclobber(&self.path) } else { file.persist(&self.path) };
        persisted.map_err(|error| error.error)?;
        // The folder is synced too, where supported, so that the new name survives a power failure.
        if let Ok(folder) = File::open(parent_folder(&self.path)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

fn parent_folder(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// Replaces or creates a file, completely or not at all.
///
/// # Errors
///
/// If the file cannot be written. The old file is then unchanged.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_and_finish(FileReplacement::start_replace(path)?, bytes)
}

/// Creates a file, completely or not at all. No file may exist at `path`.
///
/// # Errors
///
/// If a file exists at `path`, or the file cannot be written.
pub fn create_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_and_finish(FileReplacement::start_create(path)?, bytes)
}

fn write_and_finish(mut replacement: FileReplacement, bytes: &[u8]) -> io::Result<()> {
    replacement.file().write_all(bytes)?;
    replacement.finish()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::{Read, Seek};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    /// Former bug: if standard output was a file that had been deleted, `--save /dev/stdout`
    /// replaced the symbolic link `/dev/stdout` by a regular file.
    #[test]
    fn a_link_whose_file_is_missing_stays_a_link() {
        let folder = tempfile::tempdir().expect("a folder can be created");
        let mut removed = tempfile::tempfile_in(&folder).expect("a file can be created");
        let link = folder.path().join("link");
        symlink(format!("/proc/self/fd/{}", removed.as_raw_fd()), &link).expect("it is linked");
        for content in ["a long first text", "second"] {
            replace_file(&link, content.as_bytes()).expect("it is written");
            assert!(link.is_symlink());
            let mut written = String::new();
            removed.rewind().and_then(|()| removed.read_to_string(&mut written)).expect("it is read");
            assert_eq!(written, content);
        }
        let (dangling, target) = (folder.path().join("dangling"), folder.path().join("target"));
        symlink(&target, &dangling).expect("it is linked");
        replace_file(&dangling, b"new").expect("it is written");
        assert!(dangling.is_symlink());
        assert_eq!(std::fs::read(&target).expect("the link leads to it"), b"new");
        assert_eq!(std::fs::read_dir(&folder).expect("it is a folder").count(), 3);
    }
}
