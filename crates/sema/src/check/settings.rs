//! Settings: the table of all settings except limits, and how `settings` blocks are read.

use super::{AlreadyReported, Checker};
use crate::hir::{PromptTemplate, TemplatePart, template_parts};
use crate::resolve::duplicate_error;
use hashbrown::HashMap;
use rulec_base::diag::{Code, Diagnostic, Message, comma_list, nearest};
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use rulec_base::text::NormalizationForm;
use rulec_lang::limits::{self, Limit};
use rulec_lang::operators::Case;
use rulec_syntax::ast::{self, ExprKind, Ident, Literal, StatementKind};

/// A row of the table of settings. Limits of decisions are rows of `limits::TABLE` instead.
pub struct Setting {
    /// The name of the setting in a `settings` block, such as `case`.
    pub name: &'static str,
    /// The allowed values of the setting in words, for messages and documentation.
    pub allowed_values: Message,
    /// The value that applies without the setting, in words for the documentation.
    pub default: &'static str,
    /// Whether the setting affects only the file that contains it. If false, it affects all files
    /// of the rules.
    pub is_per_file: bool,
    /// The statements or operations that the setting affects, in words for warnings.
    pub applies_to: Message,
    /// A sentence for the documentation that describes the effect of the setting.
    pub doc: &'static str,
}

/// All settings except limits. Documentation pages are generated from this table.
pub static SETTINGS: [Setting; 15] = [
    Setting {
        name: "case",
        allowed_values: message!("`sensitive`, `insensitive` or `full`"),
        default: "`sensitive`",
        is_per_file: true,
        applies_to: message!(
            "text operators without `ignoring case` or `matching case`, keyword flows, entities and `capture`"
        ),
        doc: "Whether text operators distinguish upper and lower case. `full` ignores case by full folding, so that `ß` equals `SS`.",
    },
    Setting {
        name: "normalize",
        allowed_values: message!("`nfkc`, `visible`, `nfc`, `strict_nfkc` or `none`"),
        default: "`none`",
        is_per_file: true,
        applies_to: message!("text operators other than `matches`, and keyword flows other than `regex`"),
        doc: "The Unicode normalization form in which texts are compared. `nfkc` and `visible` (NFC) ignore invisible characters.",
    },
    Setting {
        name: "zone",
        allowed_values: message!("a time zone, such as `\"Asia/Shanghai\"`"),
        default: "the offset written in the time",
        is_per_file: true,
        applies_to: message!("clock functions without a time zone of their own"),
        doc: "The time zone of `hour`, `weekday`, `date` and similar functions that have no zone of their own.",
    },
    Setting {
        name: "version",
        allowed_values: message!("a text, such as `\"1.2\"`"),
        default: "no version",
        is_per_file: true,
        applies_to: message!("payloads"),
        doc: "The version of the file's payload kinds, written into their schemas.",
    },
    Setting {
        name: "intent_threshold",
        allowed_values: message!("a number from 0 to 1"),
        default: "`0.3`",
        is_per_file: false,
        applies_to: message!("intents and intent flows"),
        doc: "The minimum score of an intent.",
    },
    Setting {
        name: "intent_margin",
        allowed_values: message!("a number from 0 to 1"),
        default: "`0.05`",
        is_per_file: false,
        applies_to: message!("intents and intent flows"),
        doc: "The minimum distance between the scores of the best intent and the next.",
    },
    Setting {
        name: "stop_words",
        allowed_values: message!("the name of a list"),
        default: "the built-in words",
        is_per_file: false,
        applies_to: message!("the analysis of a text by `request`"),
        doc: "Additional words that are never keywords of a text.",
    },
    Setting {
        name: "regex_memory",
        allowed_values: message!("a size such as `512MiB`"),
        default: "`256MiB`",
        is_per_file: false,
        applies_to: message!("regular expressions"),
        doc: "The maximum memory of all regular expressions together.",
    },
    Setting {
        name: "white_space",
        allowed_values: message!("`ignored` or `kept`"),
        default: "`ignored`",
        is_per_file: true,
        applies_to: message!("keyword flows with `exact` or `contains`"),
        doc: "Whether white space around a message and around the pattern of a keyword flow counts.",
    },
    Setting {
        name: "regex",
        allowed_values: message!("`anywhere` or `anchored`"),
        default: "`anywhere`",
        is_per_file: true,
        applies_to: message!("`matches` in the conditions of a `choice`"),
        doc: "Where the expressions of choices should match. `anchored` warns of an expression that does not start with `^`.",
    },
    Setting {
        name: "flow_prompt",
        allowed_values: message!("a text in quotes"),
        default: "the wording on the page about flows",
        is_per_file: false,
        applies_to: message!("intent flows"),
        doc: "The section of a language model's prompt that lists the intent flows, with `{flows}` and `{tool}`.",
    },
    Setting {
        name: "choice_prompt",
        allowed_values: message!("a text in quotes"),
        default: "the wording on the page about choices",
        is_per_file: false,
        applies_to: message!("choices that ask a model"),
        doc: "The section of a language model's prompt that asks the question of a choice, with `{question}`, `{branches}` and `{tool}`.",
    },
    Setting {
        name: "choice_tool",
        allowed_values: message!("a text in quotes"),
        default: "`Answers the question: {question}`",
        is_per_file: false,
        applies_to: message!("choices that ask a model"),
        doc: "The description of the tool by which a language model answers a choice, with `{question}` and `{branches}`.",
    },
    Setting {
        name: "choice_branches",
        allowed_values: message!("a text in quotes"),
        default: "`One of:` and the branches",
        is_per_file: false,
        applies_to: message!("choices that ask a model"),
        doc: "The description of that tool's parameter for the branch, with `{branches}` and `{question}`.",
    },
    Setting {
        name: "choice_reason",
        allowed_values: message!("a text in quotes"),
        default: "`Why, in a sentence or two for the user.`",
        is_per_file: false,
        applies_to: message!("choices that ask a model and are marked `to_user`"),
        doc: "The description of that tool's parameter for the reason, with `{question}`.",
    },
];

/// Returns the setting that a name of another program means: `zone` for `time_zone`. `lower` is the
/// name in lower case. `None` for other names.
fn setting_for_foreign_name(lower: &str) -> Option<&'static str> {
    Some(match lower.replace(['_', '-'], "").as_str() {
        "tz" | "utc" | "utcoffset" => "zone",
        name if name.contains("timezone") || name.ends_with("zone") && name != "zone" => "zone",
        "unicode" | "normalization" | "normalisation" | "nfkc" | "nfc" => "normalize",
        "whitespace" | "trim" | "strip" | "blanks" => "white_space",
        "stopwords" | "ignoredwords" => "stop_words",
        "threshold" | "minscore" | "confidence" => "intent_threshold",
        "margin" => "intent_margin",
        "regexlimit" | "regexsize" => "regex_memory",
        _ => return None,
    })
}

impl<'a> Checker<'a> {
    pub(super) fn read_settings(&mut self) {
        // The settings of each file so far, with the settings of its earlier blocks.
        let mut written: HashMap<(FileId, &str), Span> = HashMap::new();
        for statement in self.statements() {
            let StatementKind::Settings { entries } = &statement.kind else { continue };
            for (name, value) in entries {
                let first = *written.entry((statement.span.file, &name.node)).or_insert(name.span);
                if first != name.span {
                    let duplicate = duplicate_error(message!("setting"), &name.node, first, name.span);
                    self.diagnostics.push(duplicate.help(message!("remove one of the two")));
                    continue;
                }
                if self.read_limit_setting(name, value) {
                    continue;
                }
                match SETTINGS.iter().find(|setting| *setting.name == *name.node) {
                    // After an edit, the statement's span has the current file id. The spans of its
                    // words may still have an old file id.
                    Some(setting) => self.read_setting(setting, statement.span.file, name, value),
                    None => self.report_unknown_setting(name),
                }
            }
        }
    }

    fn report_unknown_setting(&mut self, name: &Ident) {
        let setting_names = SETTINGS.iter().map(|setting| setting.name);
        let setting_names: Vec<&str> =
            setting_names.chain(limits::TABLE.iter().map(|row| row.name)).collect();
        let help = message!("the settings are {}", setting_names.join(", "));
        let message = message!("there is no setting `{}`", name.node);
        let diagnostic = Diagnostic::new(Code::UnknownSetting, name.span, message);
        let lower = name.node.to_lowercase();
        if lower.contains("timeout") || lower.contains("time_limit") {
            let help = message!(
                "no setting limits a time: `--model-timeout SECONDS` of the command line limits a call of a \
                language model, and `within 30s` a node of a workflow"
            );
            return self.diagnostics.push(diagnostic.help(help));
        }
        if lower.contains("case") && lower != "case" {
            let help = message!("write `case: insensitive`");
            return self.diagnostics.push(diagnostic.help(help));
        }
        if matches!(lower.as_str(), "default" | "fallback" | "otherwise") {
            let help =
                message!("for messages that no route matches, write `default -> HANDLER` as a statement");
            return self.diagnostics.push(diagnostic.help(help));
        }
        let foreign = setting_for_foreign_name(&lower);
        if foreign == Some("zone") {
            // No warning about a missing zone follows.
            self.setting_uses.files_without_zone.insert(name.span.file);
        }
        let similar = foreign.or_else(|| nearest(&name.node, setting_names.iter().copied()));
        self.diagnostics.push(diagnostic.suggest_or_help(name.span, similar, help));
    }

    fn read_setting(
        &mut self,
        setting: &'static Setting,
        file: FileId,
        name: &'a Ident,
        value: &'a ast::Expr,
    ) {
        if !setting.is_per_file {
            if let Some(first) = self.analysis_state.setting_spans.get(setting.name) {
                let diagnostic = duplicate_error(message!("setting"), setting.name, *first, name.span);
                self.diagnostics.push(
                    diagnostic
                        .help(message!("this setting applies to all files; write it in only one of them")),
                );
                return;
            }
            self.analysis_state.setting_spans.insert(setting.name, name.span);
        }
        self.setting_uses.record_written_setting(setting, name.span);
        if let Some(template) = PromptTemplate::ALL.iter().find(|template| template.name == setting.name) {
            return self.read_prompt_template(template, setting, value);
        }
        let mut settings = self.settings_of(file);
        let number = match value.kind {
            ExprKind::Literal(Literal::Int(value)) => Some(value as f64),
            ExprKind::Literal(Literal::Float(value)) => Some(value),
            _ => None,
        };
        let fraction = number.filter(|number| (0.0..=1.0).contains(number));
        match (setting.name, read_setting_word(value), fraction, &value.kind) {
            ("case", "insensitive", ..) => settings.case = Some(Case::Ignore),
            ("case", "full", ..) => {
                (settings.case, settings.uses_full_case_folding) = (Some(Case::Ignore), true)
            }
            ("case", "sensitive", ..) => settings.case = Some(Case::Match),
            ("normalize", "nfkc", ..) => settings.form = NormalizationForm::Nfkc,
            ("normalize", "visible", ..) => settings.form = NormalizationForm::Visible,
            ("normalize", "strict_nfkc", ..) => settings.form = NormalizationForm::StrictNfkc,
            ("normalize", "nfc", ..) => settings.form = NormalizationForm::Nfc,
            ("normalize", "none", ..) => settings.form = NormalizationForm::None,
            ("white_space", word @ ("kept" | "ignored"), ..) => settings.keeps_white_space = word == "kept",
            ("regex", word @ ("anchored" | "anywhere"), ..) => {
                settings.warns_unanchored_regexes = word == "anchored"
            }
            ("zone", zone, ..) => {
                match self.check_zone(zone, value.span) {
                    Ok(()) => settings.zone = Some(zone.into()),
                    // The file sets a zone, although an invalid one, so no warning about a missing
                    // zone follows.
                    Err(AlreadyReported) => drop(self.setting_uses.files_without_zone.insert(file)),
                }
            }
            ("version", version, ..) if !version.is_empty() => {
                self.payload_versions.insert(file, version.into());
            }
            ("intent_threshold", _, Some(fraction), _) => self.program.analysis.min_intent_score = fraction,
            ("intent_margin", _, Some(fraction), _) => self.program.analysis.min_score_margin = fraction,
            ("stop_words", _, _, ExprKind::Name(_)) => self.analysis_state.stop_words = Some(value),
            ("regex_memory", _, _, ExprKind::Literal(Literal::Int(bytes))) if *bytes > 0 => {
                self.analysis_state.regex_memory_limit = usize::try_from(*bytes).unwrap_or(usize::MAX);
            }
            _ => self.report_wrong_setting(value.span, setting.name, &setting.allowed_values),
        }
        self.settings.insert(file, settings);
    }

    /// Reads a setting that replaces the template of a prompt, and checks its placeholders.
    fn read_prompt_template(&mut self, template: &PromptTemplate, setting: &Setting, value: &'a ast::Expr) {
        let text = match &value.kind {
            ExprKind::Literal(Literal::String(text)) if !text.trim().is_empty() => text,
            _ => return self.report_wrong_setting(value.span, setting.name, &setting.allowed_values),
        };
        let listed = template.placeholders.iter().map(|name| format!("`{{{name}}}`"));
        let known =
            message!("the placeholders are {}; for a brace, write `{{{{` or `}}}}`", comma_list(listed));
        let mut has_first = false;
        for part in template_parts(text) {
            match part {
                TemplatePart::Text(_) => {}
                TemplatePart::Placeholder(name) if template.placeholders.contains(&name) => {
                    has_first |= name == template.placeholders[0];
                }
                TemplatePart::Placeholder(name) => {
                    let message = message!("`{}` has no placeholder `{{{name}}}`", setting.name);
                    let diagnostic = Diagnostic::new(Code::PromptTemplate, value.span, message);
                    let similar = nearest(name, template.placeholders.iter().copied());
                    self.diagnostics.push(match similar {
                        Some(similar) => {
                            let source = self.loaded.sources.slice(value.span);
                            let fixed = source.replace(&format!("{{{name}}}"), &format!("{{{similar}}}"));
                            let diagnostic = diagnostic.help(message!("did you mean `{{{similar}}}`?"));
                            if fixed == source {
                                diagnostic
                            } else {
                                diagnostic.likely_fix(value.span, fixed)
                            }
                        }
                        None => diagnostic.help(known.clone()),
                    });
                    return;
                }
                TemplatePart::Unclosed => {
                    let message = message!("a brace of this template is not closed");
                    return self.emit(Code::PromptTemplate, value.span, message, known);
                }
            }
        }
        if template.requires_first_placeholder && !has_first {
            let first = template.placeholders[0];
            let message = message!("this template does not contain `{{{first}}}`");
            let help = message!("without it, a language model does not see what to choose from; {known}");
            return self.emit(Code::PromptTemplate, value.span, message, help);
        }
        template.set(&mut self.program.prompts, text);
    }

    /// Reads a limit of decisions; returns false if the setting is not a limit. Only the main file
    /// may set limits, so that an import cannot weaken them.
    fn read_limit_setting(&mut self, name: &Ident, value: &ast::Expr) -> bool {
        let Some(limit) = Limit::from_name(&name.node) else { return false };
        if Some(name.span.file) != self.main_file() {
            let message = message!("the limit `{}` applies to the whole rule set", name.node);
            let help = message!("set it in the main file, which imports this file");
            self.emit(Code::UnknownSetting, name.span, message, help);
            return true;
        }
        let amount = match value.kind {
            ExprKind::Literal(Literal::Int(amount)) => u64::try_from(amount).ok(),
            ExprKind::Literal(Literal::Float(amount)) if amount.fract() == 0.0 && amount >= 0.0 => {
                Some(amount as u64)
            }
            _ => None,
        };
        match amount {
            Some(amount) => {
                self.program.limits = self.program.limits.with_limit(limit, amount);
                self.setting_uses.record_written_limit(limit, name.span);
            }
            None => {
                let values = message!(
                    "a whole number of {}, such as `{}`",
                    limit.info().unit,
                    limit.info().default_text
                );
                self.report_wrong_setting(value.span, &name.node, &values);
            }
        }
        true
    }

    fn report_wrong_setting(&mut self, span: Span, name: &str, values: &Message) {
        let message = message!("the setting `{name}` does not allow this value");
        // Other languages write flags, such as `i` for the case of letters.
        let written = self.loaded.sources.slice(span).trim_matches('"').to_lowercase();
        let ignores_case = matches!(
            written.as_str(),
            "i" | "(?i)"
                | "ignore"
                | "ignorecase"
                | "ignore_case"
                | "case_insensitive"
                | "insensitive"
                | "gi"
        );
        if name == "regex" && ignores_case {
            let help = message!(
                "`regex` must be {values}; to ignore the case of letters write `(?i)` at the start of the \
                expression, as in r\"(?i)order\"",
                values = values.clone()
            );
            return self.emit(Code::UnknownSetting, span, message, help);
        }
        self.emit(Code::UnknownSetting, span, message, message!("`{name}` must be {values}"));
    }
}

/// Returns the value of a setting if it is a single word, with or without quotes. Returns an empty
/// text for other values.
fn read_setting_word(value: &ast::Expr) -> &str {
    match &value.kind {
        ExprKind::Name(word) | ExprKind::Literal(Literal::String(word)) => word,
        ExprKind::Literal(Literal::Null) => "none",
        _ => "",
    }
}
