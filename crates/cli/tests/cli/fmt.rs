//! Tests of `rulec fmt`.

use super::Folder;
use std::fs;

const UNTIDY: &str = "route a when x==1 -> h # why\n\n\n\ndefault->h";
const TIDY: &str = "route a when x == 1 -> h  # why\n\ndefault -> h\n";

fn text(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path(name)).expect("the file can be read")
}

#[test]
fn files_are_written_in_the_one_style() {
    let folder =
        Folder::with(UNTIDY).file("rules/b.rules", TIDY).file("rules/deep/c.rules", "default  -> h\n");
    let ran = folder.rulec(&["fmt", "a.rules", "rules"]).expect(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", "2 files formatted, 1 already formatted\n"));
    assert_eq!(text(&folder, "a.rules"), TIDY);
    assert_eq!(text(&folder, "rules/deep/c.rules"), "default -> h\n");
    let ran = folder.rulec(&["fmt", "--check", "a.rules", "rules"]).expect(0);
    assert_eq!(ran.err, "0 files would be formatted, 3 already formatted\n");
    let left: Vec<_> = fs::read_dir(folder.path(".")).expect("the folder").collect();
    assert_eq!(left.len(), 2, "nothing is left beside the files: {left:?}");
}

#[test]
fn without_files_everything_below_is_formatted() {
    let folder = Folder::with(UNTIDY).file("deep/b.rules", UNTIDY);
    let ran = folder.rulec(&["fmt"]).expect(0);
    assert_eq!(ran.err, "2 files formatted, 0 already formatted\n");
}

#[test]
fn a_check_names_the_files_and_writes_none() {
    let folder = Folder::with(UNTIDY).file("b.rules", TIDY);
    let ran = folder.rulec(&["fmt", "--check", "."]).expect(1);
    assert_eq!(ran.out, "a.rules\n");
    assert_eq!(ran.err, "1 file would be formatted, 1 already formatted\n");
    assert_eq!(text(&folder, "a.rules"), UNTIDY);
}

#[test]
fn a_diff_shows_what_would_change_and_writes_nothing() {
    let folder = Folder::with(UNTIDY);
    let ran = folder.rulec(&["fmt", "--diff", "a.rules"]).expect(0);
    insta::assert_snapshot!(ran.out, @r"
    --- a.rules
    +++ a.rules
    @@ -1,5 +1,3 @@
    -route a when x==1 -> h # why
    +route a when x == 1 -> h  # why
     
    -
    -
    -default->h
    \ No newline at end of file
    +default -> h
    ");
    assert_eq!(text(&folder, "a.rules"), UNTIDY);
    folder.rulec(&["fmt", "--diff", "--check", "a.rules"]).expect(1);
}

#[test]
fn standard_input_goes_to_standard_output() {
    let ran = Folder::new().fed(&["fmt", "-"], UNTIDY).expect(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), (TIDY, ""));
    let ran = Folder::new().fed(&["fmt", "--check", "-"], UNTIDY).expect(1);
    assert_eq!(ran.out, "<stdin>\n");
}

#[test]
fn statements_with_errors_stay_and_are_named() {
    let folder = Folder::with("let  a=1\nrout  b when x ->  h\n");
    let ran = folder.rulec(&["fmt", "a.rules"]).expect(0);
    insta::assert_snapshot!(ran.err, @r"
    note: 1 statement of `a.rules` with errors left unchanged, at line 2; see `rulec check a.rules`
    1 file formatted, 0 already formatted
    ");
    assert_eq!(text(&folder, "a.rules"), "let a = 1\nrout  b when x ->  h\n");
}

/// Regression test: after one unreadable file, the other files were not formatted.
#[test]
fn a_file_that_cannot_be_used_is_named_and_the_others_are_laid_out() {
    let folder = Folder::with(UNTIDY).file("latin.rules", b"let a = \"\xe9\"\n");
    let ran = folder.rulec(&["fmt", "none.rules", "latin.rules", "a.rules"]).expect(2);
    insta::assert_snapshot!(ran.err, @r"
    error: `none.rules` cannot be read: there is no such file
    error: `latin.rules` is not UTF-8: the byte at offset 9 (line 1) is invalid; save the file as UTF-8
    1 file formatted, 0 already formatted
    ");
    assert_eq!(text(&folder, "a.rules"), TIDY);
    folder.rulec(&["fmt"]).expect(2);
    let ran = folder.rulec(&["build", "a.rules"]).expect(0).expect(0);
    assert!(ran.err.is_empty() || !ran.err.contains("error"), "{}", ran.err);
    let ran = folder.rulec(&["fmt", "a.rulec"]).expect(2);
    assert!(ran.err.starts_with("error: `a.rulec` contains compiled rules"), "{}", ran.err);
}

/// The output is first written to a temporary file, so the old file survives a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_nothing() {
    let long: String = (0..2_000).map(|number| format!("let a{number}   = {number}\n")).collect();
    let folder = Folder::with(&long);
    let rulec = env!("CARGO_BIN_EXE_rulec");
    // The shell limits files to one block. With SIGXFSZ ignored, larger writes fail instead of
    // ending the program.
    let script = format!("trap '' XFSZ; ulimit -f 1; exec '{rulec}' fmt a.rules");
    let ran = assert_cmd::Command::new("sh").arg("-c").arg(script).current_dir(folder.path(".")).output();
    let ran = super::Ran::new(ran.expect("a shell")).expect(2);
    assert!(ran.err.starts_with("error: `a.rules` cannot be written: "), "{}", ran.err);
    assert_eq!(text(&folder, "a.rules"), long);
    assert_eq!(fs::read_dir(folder.path(".")).expect("the folder").count(), 1);
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new().file("real/a.rules", UNTIDY);
    symlink("real/a.rules", folder.path("link.rules")).expect("a link");
    let real = folder.path("real/a.rules");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("permissions");
    folder.rulec(&["fmt", "link.rules"]).expect(0);
    assert_eq!(text(&folder, "real/a.rules"), TIDY);
    assert!(fs::symlink_metadata(folder.path("link.rules")).expect("the link").is_symlink());
    assert_eq!(fs::metadata(&real).expect("the file").permissions().mode() & 0o777, 0o640);
}
