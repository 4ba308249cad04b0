//! Names and finds the files of a decision log: the current file, and the full files before it. The
//! service writes these files, and `rulec log` verifies them. When the file `PATH` is full, it is
//! renamed to `PATH.NUMBER`. `NUMBER` is the number of the first line in the next file.

use crate::chain::HashChain;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Number of digits to which the line number in the name of a full log file is padded. With this
/// padding, the names of the files sort in the order of the line numbers.
const LINE_NUMBER_DIGITS: usize = 12;
/// Maximum number of bytes that are read to find the first line of a log file.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// Returns the path of a full file of the log at `path`. `next_line_number` is the number of the
/// first line in the next file.
pub fn full_file_path(path: &Path, next_line_number: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{next_line_number:0LINE_NUMBER_DIGITS$}"));
    PathBuf::from(name)
}

/// Splits the path `PATH.NUMBER` of a full log file into `PATH` and `NUMBER`. `None` if the path
/// does not have this form.
fn split_full_file_path(path: &Path) -> Option<(PathBuf, u64)> {
    let number = path.extension()?.to_str()?;
    let is_number = number.len() >= LINE_NUMBER_DIGITS && number.bytes().all(|byte| byte.is_ascii_digit());
    Some((path.with_extension(""), is_number.then(|| number.parse().ok())??))
}

/// Returns the full files of the log at `path`, oldest first.
///
/// # Errors
/// If the folder of the log cannot be read.
pub fn find_full_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder_of(path))? {
        let name = path.with_file_name(entry?.file_name());
        if let Some((log, number)) = split_full_file_path(&name)
            && log == path
        {
            files.push((number, name));
        }
    }
    files.sort();
    Ok(files.into_iter().map(|(_, name)| name).collect())
}

/// Returns the folder that contains a file; the current folder if the path names no folder.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the logs in a folder, each as the list of its files, oldest first. A log is recognized
/// by a file whose first line belongs to a hash chain. All files with names of this log are then
/// returned, even those with a wrong first line.
///
/// # Errors
/// If the folder or a file in it cannot be read.
pub fn find_logs(folder: &Path) -> io::Result<Vec<Vec<PathBuf>>> {
    let mut logs: BTreeMap<PathBuf, (bool, BTreeMap<u64, PathBuf>)> = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if !path.is_file() {
            continue;
        }
        let (log, number) = split_full_file_path(&path).unwrap_or_else(|| (path.clone(), u64::MAX));
        let (is_found, files) = logs.entry(log).or_default();
        *is_found |= read_first_line(&path)?.is_some_and(|line| HashChain::after(&line).is_some());
        files.insert(number, path);
    }
    let found = logs.into_values().filter(|(is_found, _)| *is_found);
    Ok(found.map(|(_, files)| files.into_values().collect()).collect())
}

/// Returns the first line of a file without its line feed; `None` if the file has no complete line.
fn read_first_line(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?.take(MAX_LINE_BYTES)).read_until(b'\n', &mut line)?;
    Ok(line.pop_if(|last| *last == b'\n').map(|_| line))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log file is still found after somebody changed its first line. Otherwise a forger could
    /// hide the file from the verification.
    #[test]
    fn a_file_with_a_wrong_first_line_belongs_to_its_log() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        let mut line = b"{}".to_vec();
        HashChain::default().append_line(&mut line);
        std::fs::write(full_file_path(&path, 2), &line).expect("it can be written");
        std::fs::write(full_file_path(&path, 3), "{}\n").expect("it can be written");
        std::fs::write(&path, "changed\n").expect("it can be written");
        std::fs::write(folder.path().join("notes"), "no log\n").expect("it can be written");
        let files = [full_file_path(&path, 2), full_file_path(&path, 3), path];
        assert_eq!(find_logs(folder.path()).expect("a folder"), [files.to_vec()]);
    }
}
