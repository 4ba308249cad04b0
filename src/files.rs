//! Loader for rule files on disk. It is limited to one root folder, so that an import in a rules
//! file cannot read other files.

use rulec_syntax::loader::{LoadError, Loader, MAX_FILE_BYTES};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Loads files below a root folder. Symbolic links that lead out of the folder are refused.
#[derive(Clone, Debug)]
pub struct DiskLoader {
    root_folder: PathBuf,
}

impl DiskLoader {
    /// Creates a loader for the files below `root`.
    ///
    /// # Errors
    /// If `root` does not exist or is not a folder.
    pub fn new(root: &Path) -> Result<Self, LoadError> {
        let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
        let root = root.canonicalize().map_err(|error| io_load_error(&error))?;
        match root.is_dir() {
            true => Ok(DiskLoader { root_folder: root }),
            false => Err(LoadError::Unreadable("it is no folder".to_owned())),
        }
    }
}

impl DiskLoader {
    /// Returns the root folder as an absolute path.
    pub fn root(&self) -> &Path {
        &self.root_folder
    }
}

impl Loader for DiskLoader {
    fn load(&self, path: &str) -> Result<Vec<u8>, LoadError> {
        let path = self.root_folder.join(path).canonicalize().map_err(|error| io_load_error(&error))?;
        if !path.starts_with(&self.root_folder) {
            return Err(LoadError::OutsideRoot);
        }
        read_limited(&path)
    }
}

/// Reads a file. A file of more than [`MAX_FILE_BYTES`] bytes is an error.
pub fn read_limited(path: &Path) -> Result<Vec<u8>, LoadError> {
    let (file, size) = open_regular(path)?;
    if size > MAX_FILE_BYTES {
        return Err(LoadError::TooLarge(size));
    }
    // Limit the read too, because the file may grow during the read, and some special files report
    // size 0.
    let mut bytes = Vec::with_capacity(size as usize);
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| io_load_error(&error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(LoadError::TooLarge(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Opens a regular file and returns its size in bytes. Any other kind of file, such as a folder, is
/// an error. Opening a pipe or a device could block, so the file is opened without blocking. The
/// type is then checked on the open file, because the path could be replaced between a check and
/// the opening.
pub fn open_regular(path: &Path) -> Result<(File, u64), LoadError> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.read(true).open(path).map_err(|error| io_load_error(&error))?;
    let metadata = file.metadata().map_err(|error| io_load_error(&error))?;
    match metadata.is_file() {
        true => Ok((file, metadata.len())),
        false if metadata.is_dir() => Err(LoadError::Folder),
        false => Err(LoadError::NotRegular),
    }
}

fn io_load_error(error: &std::io::Error) -> LoadError {
    match error.kind() {
        ErrorKind::NotFound => LoadError::NotFound,
        ErrorKind::PermissionDenied => LoadError::Unreadable("you have no permission to read it".to_owned()),
        // Some systems refuse to open a folder at all, with this error.
        ErrorKind::IsADirectory => LoadError::Folder,
        ErrorKind::NotADirectory => {
            LoadError::Unreadable("a part of the path before the last is no folder".to_owned())
        }
        _ => LoadError::Unreadable(error.to_string()),
    }
}
