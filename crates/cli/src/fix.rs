//! `check --fix`: applies the machine-applicable fixes and compiles the rules again. A fix is not
//! applied if any rule set would then have more errors, so that correct rules stay correct.

use super::compiled::CompileResult;
use super::files::CompiledFile;
use super::language::singular_or_plural;
use super::term::Out;
use super::{CliError, files, patch};
use rulec::{Applicability, Diagnostic, Message};
use rulec_base::diag::{Code, pad_replacement};
use rulec_base::message;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;

/// Maximum number of rounds of fixing and compiling. Several rounds are needed, because further
/// errors may appear after a fix.
const MAX_FIX_ROUNDS: usize = 10;
/// Maximum number of fixes that are tried one by one in a round. Single fixes are tried only if all
/// fixes together would add errors.
const MAX_SINGLE_FIXES: usize = 200;

/// A replacement of a byte range in a file.
type Edit = (Range<usize>, String);
/// Replacements in several files, by the canonical path of the file.
type FileEdits = BTreeMap<PathBuf, Vec<Edit>>;

/// The fixes of `check --fix` that were applied in memory: new texts of files, which are not yet on
/// disk.
pub struct AppliedFixes {
    /// The new texts of files, by the canonical path of the file.
    fixed_texts: HashMap<PathBuf, String>,
    /// The path and the old text of each changed file, by the file name that error messages show.
    original_files: BTreeMap<String, (PathBuf, String)>,
    /// Number of fixes that were applied.
    applied_count: usize,
}

impl AppliedFixes {
    /// Finds fixes for `compiled_files`, and applies the fixes in memory. Afterwards
    /// `compiled_files` holds the results of compiling the fixed texts.
    pub fn find_and_apply(compiled_files: &mut [CompiledFile]) -> Result<AppliedFixes, CliError> {
        if compiled_files.iter().any(|file| file.compiled.target.is_stdin()) {
            return Err(CliError::usage_error(message!(
                "`--fix` rewrites files, and standard input is not a file; give a file"
            )));
        }
        let named_paths: HashSet<PathBuf> =
            compiled_files.iter().filter_map(|file| file.compiled.target.path.canonicalize().ok()).collect();
        let mut fixes =
            AppliedFixes { fixed_texts: HashMap::new(), original_files: BTreeMap::new(), applied_count: 0 };
        let originals = original_texts(compiled_files);
        for _ in 0..MAX_FIX_ROUNDS {
            let repairs = collect_fixes(compiled_files, &named_paths);
            if repairs.is_empty() || !fixes.apply_fixes(&repairs, compiled_files, &originals) {
                break;
            }
        }
        for (path, (name, text)) in originals {
            if fixes.fixed_texts.get(&path).is_some_and(|new| *new != text) {
                fixes.original_files.insert(name, (path, text));
            }
        }
        Ok(fixes)
    }

    /// Applies all fixes in `repairs` together if this adds no errors. Otherwise applies the first
    /// single fix that adds no errors. Returns true if any fix was applied. `originals` has the
    /// displayed name and the original text of each file, by canonical path.
    fn apply_fixes(
        &mut self,
        repairs: &[FileEdits],
        compiled_files: &mut [CompiledFile],
        originals: &HashMap<PathBuf, (String, String)>,
    ) -> bool {
        let mut combined = FileEdits::new();
        let combined_count = repairs.iter().filter(|repair| try_add_edits(&mut combined, repair)).count();
        if self.try_to_apply_edits(&combined, compiled_files, originals) {
            self.applied_count += combined_count;
            return true;
        }
        for repair in repairs.iter().take(MAX_SINGLE_FIXES) {
            if self.try_to_apply_edits(repair, compiled_files, originals) {
                // The remaining fixes refer to the text before this change, so the next round
                // computes them again.
                self.applied_count += 1;
                return true;
            }
        }
        false
    }

    /// Applies edits and compiles the new texts. If a rule set would have more errors than before,
    /// discards the edits and returns false. `originals` has the displayed name and the original
    /// text of each file, by canonical path.
    fn try_to_apply_edits(
        &mut self,
        edits: &FileEdits,
        compiled_files: &mut [CompiledFile],
        originals: &HashMap<PathBuf, (String, String)>,
    ) -> bool {
        let mut texts = self.fixed_texts.clone();
        for (path, edits) in edits {
            let Some((_, original)) = originals.get(path) else { return false };
            let text = texts.entry(path.clone()).or_insert_with(|| original.clone());
            for (range, replacement) in edits.iter().rev() {
                text.replace_range(range.clone(), replacement);
            }
        }
        let recompiled: Vec<CompileResult> =
            compiled_files.iter().map(|file| file.compiled.target.compile_edited(&texts)).collect();
        let adds_errors =
            |(new, old): (&CompileResult, &CompiledFile)| error_count(new) > error_count(&old.compiled);
        if recompiled.iter().zip(&*compiled_files).any(adds_errors) {
            return false;
        }
        for (file, new) in compiled_files.iter_mut().zip(recompiled) {
            file.compiled = new;
        }
        self.fixed_texts = texts;
        true
    }

    /// Prints the applied fixes as a patch, which `patch` or a reviewer can read.
    pub fn print_patch(&self, out: &mut Out) -> Result<(), CliError> {
        self.original_files
            .iter()
            .try_for_each(|(name, (path, old))| patch::write_patch(name, old, &self.fixed_texts[path], out))
    }

    /// Writes the fixed texts to the changed files.
    pub fn write_files(&self) -> Result<(), CliError> {
        self.original_files
            .values()
            .try_for_each(|(path, _)| files::replace_file(path, self.fixed_texts[path].as_bytes()))
    }

    pub fn summary(&self, is_dry: bool) -> Message {
        let (made, files) = (self.applied_count, self.original_files.len());
        let made = singular_or_plural(made, message!("1 repair"), message!("{made} repairs"));
        let files = singular_or_plural(files, message!("1 file"), message!("{files} files"));
        if is_dry { message!("{made} would be made in {files}") } else { message!("{made} made in {files}") }
    }
}

fn error_count(compiled: &CompileResult) -> usize {
    compiled.diagnostics().iter().filter(|diagnostic| diagnostic.is_error()).count()
}

/// Returns the displayed name and the text of each source file, by the canonical path of the file.
fn original_texts(compiled_files: &[CompiledFile]) -> HashMap<PathBuf, (String, String)> {
    let mut originals = HashMap::new();
    for CompiledFile { compiled, .. } in compiled_files {
        for (id, file) in compiled.sources().iter() {
            let name = compiled.file_name(id);
            if let Ok(path) = PathBuf::from(&name).canonicalize() {
                originals.insert(path, (name, file.text.clone()));
            }
        }
    }
    originals
}

/// Returns the machine-applicable fixes of each diagnostic as one element. A diagnostic is left out
/// if one of its fixes is in a file outside `named_paths`, except in a list file of a named file.
/// Equal elements are returned once, because a shared file has the same diagnostics in each file
/// that imports it.
fn collect_fixes(compiled_files: &[CompiledFile], named_paths: &HashSet<PathBuf>) -> Vec<FileEdits> {
    let mut repairs: Vec<FileEdits> = Vec::new();
    for CompiledFile { compiled, .. } in compiled_files {
        let mut paths = HashMap::new();
        for (id, file) in compiled.sources().iter() {
            // Compiled rules are skipped, because they may not include their source text.
            if let (Ok(path), false) =
                (PathBuf::from(compiled.file_name(id)).canonicalize(), file.text.is_empty())
            {
                paths.insert(id, path);
            }
        }
        let edits = |diagnostic: &Diagnostic| {
            let mut edits = FileEdits::new();
            for fix in
                diagnostic.fixes.iter().filter(|fix| fix.applicability == Applicability::MachineApplicable)
            {
                let path = paths.get(&fix.span.file)?;
                // Only a list file is repaired because another file names it.
                let names_list = || {
                    let source = diagnostic.span().and_then(|span| paths.get(&span.file));
                    diagnostic.code == Code::InvisibleCharacter
                        && source.is_some_and(|source| source != path && named_paths.contains(source))
                };
                if !named_paths.contains(path) && !names_list() {
                    return None;
                }
                let text = compiled.sources().file(fix.span.file).text.as_str();
                let edit = (fix.span.range(), pad_replacement(text, fix.span.range(), &fix.replacement));
                edits.entry(path.clone()).or_default().push(edit);
            }
            edits.values_mut().for_each(|edits| edits.sort_by_key(|(range, _)| range.start));
            Some(edits).filter(|edits| !edits.is_empty())
        };
        for edits in compiled.diagnostics().iter().filter_map(edits) {
            // The diagnostics of a shared file occur once per importing file, but its fix must be
            // applied only once.
            if !repairs.contains(&edits) {
                repairs.push(edits);
            }
        }
    }
    repairs
}

/// Adds the edits of the fix `repair` to `combined`, unless one of them overlaps or touches an edit
/// in `combined`. Returns true if the edits were added.
fn try_add_edits(combined: &mut FileEdits, repair: &FileEdits) -> bool {
    let touches = |a: &Range<usize>, b: &Range<usize>| a.start <= b.end && b.start <= a.end;
    let is_separate = repair.iter().all(|(path, edits)| {
        let existing_edits = combined.get(path).map_or(&[][..], Vec::as_slice);
        edits.iter().all(|(range, _)| existing_edits.iter().all(|(b, _)| !touches(range, b)))
    });
    if is_separate {
        for (path, edits) in repair {
            let existing_edits = combined.entry(path.clone()).or_default();
            existing_edits.extend(edits.iter().cloned());
            existing_edits.sort_by_key(|(range, _)| range.start);
        }
    }
    is_separate
}
