//! Settings that apply to one file. A definition that another file imports keeps the settings of
//! its own file. If the importing file has other settings, under which the definition would mean
//! something else, the checker warns.

mod limit_uses;

use super::Checker;
use super::settings::Setting;
use crate::hir::{Question, TableId, Trigger};
use hashbrown::{HashMap, HashSet};
use limit_uses::may_exceed_limit;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use rulec_base::text::NormalizationForm;
use rulec_lang::limits::Limit;
use rulec_lang::operators::Case;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The settings of a file that change how its conditions are evaluated.
#[derive(Clone, Default)]
pub(super) struct FileSettings {
    /// Whether conditions and flows of the file ignore case. `None` if the file does not set it:
    /// then conditions respect case, and flows ignore it.
    pub case: Option<Case>,
    /// Whether full case folding applies where case is ignored (`case: full`).
    pub uses_full_case_folding: bool,
    pub form: NormalizationForm,
    /// The time zone for clock functions that are called without one; `None` if the file sets none.
    pub zone: Option<Arc<str>>,
    /// Whether white space around a message and around a flow's pattern is significant
    /// (`white_space: kept`).
    pub keeps_white_space: bool,
    /// Whether the checker warns about regular expressions in choices that may match in the middle
    /// of a text (`regex: anchored`).
    pub warns_unanchored_regexes: bool,
}

impl FileSettings {
    /// True if the conditions of the file ignore case by default.
    pub fn ignores_case(&self) -> bool {
        self.case == Some(Case::Ignore)
    }
}

/// A set of settings (of [`SETTING_NAMES`]), one bit for each setting.
type SettingSet = u8;
pub(super) const CASE_SETTING: SettingSet = 1;
pub(super) const NORMALIZATION_SETTING: SettingSet = 2;
pub(super) const ZONE_SETTING: SettingSet = 4;
pub(super) const WHITE_SPACE_SETTING: SettingSet = 8;
pub(super) const REGEX_SETTING: SettingSet = 16;
/// The bit and the name of each setting that a [`SettingSet`] can contain.
const SETTING_NAMES: [(SettingSet, &str); 5] = [
    (CASE_SETTING, "case"),
    (NORMALIZATION_SETTING, "normalize"),
    (ZONE_SETTING, "zone"),
    (WHITE_SPACE_SETTING, "white_space"),
    (REGEX_SETTING, "regex"),
];

/// A setting that a file contains, stored to warn later if the setting has no effect.
struct WrittenSetting {
    name: &'static str,
    /// Whether the setting affects only the file that contains it.
    is_per_file: bool,
    /// The statements that the setting affects, in words.
    applies_to: Message,
    span: Span,
}

/// Which file settings each definition depends on, to warn about definitions that mean something
/// else in another file.
#[derive(Default)]
pub(super) struct SettingUses<'a> {
    /// The settings that are known so far to affect the definition which is being checked.
    current_settings: Cell<SettingSet>,
    /// The settings that statements of each file depend on.
    settings_by_file: RefCell<HashMap<FileId, SettingSet>>,
    /// The settings that the files contain.
    written_settings: Vec<WrittenSetting>,
    settings_by_definition: HashMap<&'a str, SettingSet>,
    /// The settings that the statements of each table depend on.
    settings_by_table: HashMap<TableId, SettingSet>,
    /// Identifies the warnings about different settings that were already reported: the file that
    /// uses a definition or table, and the span of the name in its declaration.
    reported_uses: HashSet<(FileId, Span)>,
    /// The files that already got the warning about a clock function without a time zone.
    pub files_without_zone: HashSet<FileId>,
}

impl SettingUses<'_> {
    /// Records that the current definition depends on these settings of its file.
    pub fn record_used_settings(&self, file: FileId, settings: SettingSet) {
        self.current_settings.set(self.current_settings.get() | settings);
        if settings != 0 {
            *self.settings_by_file.borrow_mut().entry(file).or_insert(0) |= settings;
        }
    }

    /// Records that a file contains a setting, to warn later if no statement depends on it.
    pub fn record_written_setting(&mut self, setting: &'static Setting, span: Span) {
        let Setting { name, is_per_file: of_file, ref applies_to, .. } = *setting;
        self.written_settings.push(WrittenSetting {
            name,
            is_per_file: of_file,
            applies_to: applies_to.clone(),
            span,
        });
    }

    /// Records that the main file sets a limit, to warn later if no statement can exceed it.
    pub fn record_written_limit(&mut self, limit: Limit, span: Span) {
        let applies_to = match limit {
            Limit::QuantifierElements => message!("conditions on the elements of a list, and payloads"),
            Limit::SimilarityCharacters => message!("calls of `similarity`"),
            Limit::RegexBytes | Limit::RegexWork => message!("regular expressions"),
            Limit::ValueBytes => message!("values that the rules build, and payloads"),
            Limit::SearchWork => message!("searches for values of the message, and payloads"),
            Limit::RequestBytes | Limit::RequestWork => message!("the analysis of a text by `request`"),
            Limit::Violations => message!("payloads"),
        };
        self.written_settings.push(WrittenSetting {
            name: limit.info().name,
            is_per_file: false,
            applies_to,
            span,
        });
    }
}

impl<'a> Checker<'a> {
    pub(super) fn settings_of(&self, file: FileId) -> FileSettings {
        self.settings.get(&file).cloned().unwrap_or_default()
    }

    /// Calls `check`, which checks the definition `name`, and stores the settings that the
    /// definition depends on.
    pub(super) fn with_recorded_settings<T>(
        &mut self,
        name: &'a str,
        check: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.setting_uses.current_settings.set(0);
        let checked = check(self);
        self.setting_uses.settings_by_definition.insert(name, self.setting_uses.current_settings.get());
        checked
    }

    /// Calls `check`, which checks the statements of a table. Then stores the settings that these
    /// statements depend on.
    pub(super) fn with_recorded_table_settings(&mut self, table: TableId, check: impl FnOnce(&mut Self)) {
        self.setting_uses.current_settings.set(0);
        check(self);
        self.setting_uses.settings_by_table.insert(table, self.setting_uses.current_settings.get());
    }

    /// Warns if the definition `name` depends on settings that differ between its own file and the
    /// file that uses it. `declared` is the span of the definition, and `span` is the use. Each
    /// file gets one warning for a definition.
    pub(super) fn warn_other_settings(&mut self, name: &'a str, declared: Span, span: Span) {
        let used = self.setting_uses.settings_by_definition.get(name).copied().unwrap_or(0);
        self.setting_uses.current_settings.set(self.setting_uses.current_settings.get() | used);
        self.warn_differing_settings(name, used, declared, span);
    }

    /// Warns about each `goto` to a table of another file if the table depends on settings that
    /// differ between the two files.
    pub(super) fn warn_jumps_to_other_settings(&mut self) {
        for (_, to, span) in self.goto_edges.clone() {
            let used = self.setting_uses.settings_by_table.get(&TableId(to as u32)).copied().unwrap_or(0);
            let (name, declared) = (self.program.tables[to].name.clone(), self.program.tables[to].span);
            if let Some(declared) = declared {
                self.warn_differing_settings(&name, used, declared, span);
            }
        }
    }

    fn warn_differing_settings(&mut self, name: &str, used: SettingSet, declared: Span, span: Span) {
        if used == 0 || declared.file == span.file {
            return;
        }
        let (theirs, ours) = (self.settings_of(declared.file), self.settings_of(span.file));
        let differing = [
            (
                CASE_SETTING,
                (theirs.ignores_case(), theirs.uses_full_case_folding)
                    != (ours.ignores_case(), ours.uses_full_case_folding),
            ),
            (NORMALIZATION_SETTING, theirs.form != ours.form),
            (ZONE_SETTING, theirs.zone != ours.zone),
        ];
        let differing = differing.into_iter().filter(|(_, differs)| *differs);
        let differing = differing.fold(0, |set, (setting, _)| set | setting) & used;
        if differing == 0 || !self.setting_uses.reported_uses.insert((span.file, declared)) {
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

    /// Warns about each setting that no statement depends on. `main_decides` is false if the main
    /// file makes no decisions. Then settings of the whole program get no warning, because they may
    /// affect the files that import the main file.
    pub(super) fn warn_settings_without_effect(&mut self, main_decides: bool) {
        for WrittenSetting { name, is_per_file: of_file, applies_to, span } in
            std::mem::take(&mut self.setting_uses.written_settings)
        {
            if self.has_effect(span.file, name) || !(of_file || main_decides) {
                continue;
            }
            let message = match of_file {
                true => message!("the setting `{}` has no effect on any statement of this file", name),
                false => message!("the setting `{}` has no effect on any statement", name),
            };
            let help = message!("remove it: it applies only to {}", applies_to);
            self.emit(Code::SettingWithoutEffect, span, message, help);
        }
    }

    /// True if a statement depends on the setting named `setting` of the file `file`.
    fn has_effect(&self, file: FileId, setting: &str) -> bool {
        let program = &self.program;
        if let Some((bit, _)) = SETTING_NAMES.iter().find(|(_, name)| *name == setting) {
            return self
                .setting_uses
                .settings_by_file
                .borrow()
                .get(&file)
                .is_some_and(|used| used & bit != 0);
        }
        if let Some(limit) = Limit::from_name(setting) {
            return may_exceed_limit(program, limit);
        }
        let has_intent_flows =
            || program.flows.iter().any(|flow| matches!(flow.trigger, Trigger::Intent { .. }));
        let shows_reason = |question: &Question| {
            program
                .table_named(&question.name)
                .is_some_and(|table| program.tables[table.index()].is_shown_to_user)
        };
        match setting {
            "version" => program.payloads.iter().any(|payload| payload.span.file == file),
            "intent_threshold" | "intent_margin" => {
                has_intent_flows() || !program.analysis.intents.is_empty()
            }
            "stop_words" => program.externs.iter().any(|function| function.feature.is_some()),
            "regex_memory" => !program.regex_facts.is_empty(),
            "flow_prompt" => has_intent_flows(),
            "choice_prompt" | "choice_tool" | "choice_branches" => !program.questions.is_empty(),
            "choice_reason" => program.questions.iter().any(shows_reason),
            _ => true,
        }
    }
}
