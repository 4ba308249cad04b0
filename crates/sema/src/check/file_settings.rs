//! Settings that apply to one file. A definition that another file imports keeps the settings of
//! its own file. A warning is reported where these settings give the definition another meaning
//! than the settings of the importing file.

use super::Checker;
use hashbrown::{HashMap, HashSet};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use rulec_base::text::NormalizationForm;
use rulec_lang::operators::Case;
use std::cell::Cell;
use std::sync::Arc;

/// The settings of a file that change how its conditions are read.
#[derive(Clone)]
pub(super) struct FileSettings {
    pub case: Case,
    /// Whether full case folding applies where case is ignored (`case: full`).
    pub full_case: bool,
    pub form: NormalizationForm,
    /// The time zone for clock functions that are called without one; `None` if the file sets none.
    pub zone: Option<Arc<str>>,
}

impl Default for FileSettings {
    fn default() -> FileSettings {
        FileSettings { case: Case::Match, full_case: false, form: NormalizationForm::None, zone: None }
    }
}

/// A set of settings (of [`SETTING_NAMES`]), one bit for each setting.
type SettingSet = u8;
pub(super) const CASE: SettingSet = 1;
pub(super) const FORM: SettingSet = 2;
pub(super) const ZONE: SettingSet = 4;
/// The names of the settings, as authors write them.
const SETTING_NAMES: [(SettingSet, &str); 3] = [(CASE, "case"), (FORM, "normalize"), (ZONE, "zone")];

/// Which file settings each definition depends on, to warn about definitions that mean something
/// else in another file.
#[derive(Default)]
pub(super) struct SettingUses<'a> {
    /// The settings that the definition which is being checked depends on, as far as they are
    /// known.
    current: Cell<SettingSet>,
    by_definition: HashMap<&'a str, SettingSet>,
    /// The definitions that a warning was already given for, each with the file that uses it.
    reported: HashSet<(FileId, &'a str)>,
    /// The files that already got the warning about a clock function without a time zone.
    pub files_without_zone: HashSet<FileId>,
}

impl SettingUses<'_> {
    /// Records that the current definition depends on these settings.
    pub fn record(&self, settings: SettingSet) {
        self.current.set(self.current.get() | settings);
    }
}

impl<'a> Checker<'a> {
    pub(super) fn settings_of(&self, file: FileId) -> FileSettings {
        self.settings.get(&file).cloned().unwrap_or_default()
    }

    /// Calls `check`, which checks the definition `name`. Stores the settings that the definition
    /// turned out to depend on.
    pub(super) fn recording_settings<T>(&mut self, name: &'a str, check: impl FnOnce(&mut Self) -> T) -> T {
        self.setting_uses.current.set(0);
        let checked = check(self);
        self.setting_uses.by_definition.insert(name, self.setting_uses.current.get());
        checked
    }

    /// Warns if a definition depends on settings that differ between its file and the file that
    /// uses it. Each file gets one warning for a definition.
    pub(super) fn warn_other_settings(&mut self, name: &'a str, declared: Span, span: Span) {
        let used = self.setting_uses.by_definition.get(name).copied().unwrap_or(0);
        self.setting_uses.record(used);
        if used == 0 || declared.file == span.file {
            return;
        }
        let (theirs, ours) = (self.settings_of(declared.file), self.settings_of(span.file));
        let differing = [
            (CASE, (theirs.case, theirs.full_case) != (ours.case, ours.full_case)),
            (FORM, theirs.form != ours.form),
            (ZONE, theirs.zone != ours.zone),
        ];
        let differing = differing.into_iter().filter(|(_, differs)| *differs);
        let differing = differing.fold(0, |set, (setting, _)| set | setting) & used;
        if differing == 0 || !self.setting_uses.reported.insert((span.file, name)) {
            return;
        }
        let names = SETTING_NAMES.iter().filter(|(setting, _)| differing & setting != 0);
        let names: Vec<&str> = names.map(|(_, name)| *name).collect();
        let names = names.join("`, `");
        let message = message!("`{name}` keeps the setting `{names}` of its own file, which differs here");
        self.diagnostics.push(
            Diagnostic::new(Code::SettingsDiffer, span, message)
                .label(declared, message!("declared in a file with another setting"))
                .help(message!(
                    "write the same `settings` in both files, or write in the definition what it needs, such as \
                    `ignoring case` or a time zone"
                )),
        );
    }
}
