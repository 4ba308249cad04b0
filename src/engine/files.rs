//! Rule files on disk, kept inside one root folder.

use crate::loader::{LoadError, Loader, MAX_FILE_BYTES};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Loads files below a root folder; links that lead out of it are refused.
#[derive(Clone, Debug)]
pub struct DiskLoader {
    root: PathBuf,
}

impl DiskLoader {
    /// A loader for the files below `root`.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn new(root: &Path) -> Result<Self, LoadError> {
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        Ok(DiskLoader { root: root.canonicalize().map_err(|error| refused(&error))? })
    }
}

impl Loader for DiskLoader {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        let path = self.root.join(path).canonicalize().map_err(|error| refused(&error))?;
        if !path.starts_with(&self.root) {
            return Err(LoadError::OutsideRoot);
        }
        read_limited(&path)
    }
}

/// Reads a file unless it is larger than a source file may be.
///
/// # Errors
/// See [`LoadError`].
pub fn read_limited(path: &Path) -> Result<Vec<u8>, LoadError> {
    let file = std::fs::File::open(path).map_err(|error| refused(&error))?;
    let size = file.metadata().map_err(|error| refused(&error))?.len();
    if size > MAX_FILE_BYTES {
        return Err(LoadError::TooLarge(size));
    }
    // A pipe tells no size beforehand, so the limit holds for what is read as well.
    let mut bytes = Vec::with_capacity(size as usize);
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| refused(&error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(LoadError::TooLarge(bytes.len() as u64));
    }
    Ok(bytes)
}

fn refused(error: &std::io::Error) -> LoadError {
    match error.kind() {
        std::io::ErrorKind::NotFound => LoadError::NotFound,
        _ => LoadError::Unreadable(error.to_string()),
    }
}
