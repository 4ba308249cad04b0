//! Reads `rulec.toml`, the settings file for checking rules: it sets which warnings fail the check,
//! and the maximum cost of a decision. The settings apply to all rules files in the folder of
//! `rulec.toml` and below. The nearest `rulec.toml` in or above the folder of a rules file applies;
//! command-line options override its settings. An unknown setting is an error with its position, so
//! that a misspelt name is not silently ignored. The `rulec` program and the language server both
//! use this crate.

use rulec::{Code, Message};
use rulec_base::diag::{comma_list, nearest};
use rulec_base::message;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The file name of the settings file, which is searched in the folder of a rules file and in the
/// folders above.
pub const SETTINGS_FILE_NAME: &str = "rulec.toml";
/// Maximum size of `rulec.toml` in bytes. A larger file is reported as an error.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// Sets whether a warning about rules is shown, and whether it makes the check fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningLevel {
    /// Level of a warning that is not shown.
    Allow,
    /// Level of a warning that is shown, but does not fail the check.
    Warn,
    /// Level of a warning that is shown and fails the check.
    Deny,
}

const WARNING_LEVEL_NAMES: [(&str, WarningLevel); 3] =
    [("allow", WarningLevel::Allow), ("warn", WarningLevel::Warn), ("deny", WarningLevel::Deny)];

/// The settings of `rulec.toml` that apply to a rules file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Whether all warnings fail the check. A level in `levels` overrides this for one warning.
    pub deny_warnings: bool,
    /// Levels that are set for single warnings, by warning code.
    pub levels: BTreeMap<Code, WarningLevel>,
    /// Whether to report every pair of routes that have equal priority and can both match one
    /// message.
    pub strict_ties: bool,
    /// Maximum cost of a decision in the worst case, in steps (comparisons, and bytes or elements
    /// that are read). `None` for no limit.
    pub max_cost: Option<u64>,
}

/// Error in a settings file, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct SettingsError {
    /// Path of the settings file. If the text was not read from disk, this is the path that the
    /// caller passed.
    pub path: PathBuf,
    /// Path of the settings file as error messages show it: relative to the current folder if
    /// possible.
    displayed_path: String,
    /// Line of the error in the settings file, from 1.
    pub line: usize,
    /// Column of the error in characters, from 1.
    pub column: usize,
    /// Description of the error, with a correction if one is known.
    pub message: Message,
}

impl SettingsError {
    /// Returns the position and the description of the error as one localized message.
    pub fn to_message(&self) -> Message {
        message!("{}:{}:{}: {}", self.displayed_path, self.line, self.column, self.message)
    }
}

/// Value of the command-line option `--deny` or `--allow`: the warnings to which the option
/// applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningSelector {
    /// The word `warnings`, which selects all warnings.
    Warnings,
    /// The code of one warning, such as `W0213`.
    Code(Code),
}

impl WarningSelector {
    /// Parses the value of a `--deny` or `--allow` option.
    ///
    /// # Errors
    ///
    /// If the text is neither `warnings` nor the code of a warning.
    pub fn parse(text: &str) -> Result<WarningSelector, Message> {
        if text == "warnings" {
            Ok(WarningSelector::Warnings)
        } else {
            parse_warning(text).map(WarningSelector::Code)
        }
    }
}

/// Parses the code of a warning, such as `W0213`. The letter may be lower case.
///
/// # Errors
///
/// If the code is unknown, or belongs to an error instead of a warning.
pub fn parse_warning(text: &str) -> Result<Code, Message> {
    let upper = text.to_ascii_uppercase();
    match Code::ALL.iter().find(|code| code.as_str() == upper) {
        Some(code) if upper.starts_with('E') => {
            Err(message!("`{}` is an error, and the severity of an error cannot be changed", code.as_str()))
        }
        Some(code) => Ok(*code),
        None => {
            let warnings = Code::ALL.iter().map(|code| code.as_str()).filter(|code| code.starts_with('W'));
            Err(match nearest(&upper, warnings) {
                Some(near) => message!("there is no warning `{text}`; did you mean `{near}`?"),
                None => message!("there is no warning `{text}`"),
            })
        }
    }
}

impl Settings {
    /// Returns the level of a warning: its own level in `levels` if there is one. Otherwise `Deny`
    /// if `deny_warnings` is set, else `Warn`.
    pub fn level(&self, code: Code) -> WarningLevel {
        let default_level = if self.deny_warnings { WarningLevel::Deny } else { WarningLevel::Warn };
        self.levels.get(&code).copied().unwrap_or(default_level)
    }

    /// Parses the text of a settings file. `path` and `name` are the file's path and displayed name
    /// in errors.
    ///
    /// # Errors
    ///
    /// If the text is not valid TOML or contains an unknown setting.
    pub fn parse_settings(text: &str, path: &Path, name: &str) -> Result<Settings, SettingsError> {
        let reader = SettingsParser { text, path, displayed_path: name };
        let table = DeTable::parse(text).map_err(|error| {
            reader.error_at(
                error.span().unwrap_or_default(),
                Message::verbatim(error.message().trim().replace('\n', " ")),
            )
        })?;
        let mut settings = Settings::default();
        for (key, value) in table.get_ref() {
            match (&**key.get_ref(), value.get_ref()) {
                ("deny-warnings", DeValue::Boolean(on)) => settings.deny_warnings = *on,
                ("strict-ties", DeValue::Boolean(on)) => settings.strict_ties = *on,
                ("deny-warnings" | "strict-ties", _) => {
                    return Err(reader.error_at(value.span(), message!("expected `true` or `false`")));
                }
                ("max-cost", DeValue::Integer(number)) => {
                    let steps = u64::from_str_radix(number.as_str(), number.radix());
                    settings.max_cost = Some(steps.map_err(|_| {
                        reader.error_at(value.span(), message!("expected a whole number of steps, 0 or more"))
                    })?);
                }
                ("max-cost", _) => {
                    return Err(reader.error_at(value.span(), message!("expected a whole number of steps")));
                }
                ("severity", DeValue::Table(levels)) => reader.read_levels(levels, &mut settings.levels)?,
                ("severity", _) => {
                    return Err(reader.error_at(
                        value.span(),
                        message!(
                            "expected a table: `[severity]`, and below it lines such as `W0213 = \"deny\"`"
                        ),
                    ));
                }
                (other, _) => {
                    let setting_names = ["deny-warnings", "max-cost", "severity", "strict-ties"];
                    let near = nearest(other, setting_names).map_or_else(
                        || message!("there are {}", comma_list(setting_names.map(|key| format!("`{key}`")))),
                        |near| message!("did you mean `{near}`?"),
                    );
                    return Err(
                        reader.error_at(key.span(), message!("there is no setting `{other}`; {near}"))
                    );
                }
            }
        }
        Ok(settings)
    }
}

struct SettingsParser<'t> {
    text: &'t str,
    path: &'t Path,
    displayed_path: &'t str,
}

impl SettingsParser<'_> {
    fn read_levels(
        &self,
        levels_table: &DeTable<'_>,
        parsed_levels: &mut BTreeMap<Code, WarningLevel>,
    ) -> Result<(), SettingsError> {
        for (key, value) in levels_table {
            let code = parse_warning(key.get_ref()).map_err(|error| self.error_at(key.span(), error))?;
            let level = match value.get_ref() {
                DeValue::String(level) => WARNING_LEVEL_NAMES.iter().find(|(name, _)| *name == &**level),
                _ => None,
            };
            let Some((_, level)) = level else {
                return Err(
                    self.error_at(value.span(), message!("expected `\"allow\"`, `\"warn\"` or `\"deny\"`"))
                );
            };
            if parsed_levels.insert(code, *level).is_some() {
                return Err(
                    self.error_at(key.span(), message!("the severity of `{}` is set twice", code.as_str()))
                );
            }
        }
        Ok(())
    }

    fn error_at(&self, range: Range<usize>, message: Message) -> SettingsError {
        let preceding = self.text.get(..range.start).unwrap_or(self.text);
        let (line, column) = (
            preceding.matches('\n').count() + 1,
            preceding.rsplit('\n').next().unwrap_or("").chars().count() + 1,
        );
        let (path, name) = (self.path.to_owned(), self.displayed_path.to_owned());
        SettingsError { path, displayed_path: name, line, column, message }
    }
}

/// The settings that apply to each folder, so that a `rulec.toml` is read only once for the rules
/// files of one folder.
#[derive(Default)]
pub struct SettingsCache {
    settings_by_folder: HashMap<PathBuf, Settings>,
}

impl SettingsCache {
    /// Returns the settings for a rules file, or for standard input if `rules` is `-`. The settings
    /// come from the nearest `rulec.toml`. Without such a file, the defaults apply.
    ///
    /// # Errors
    ///
    /// If the settings file cannot be read or contains an unknown setting.
    pub fn for_file(&mut self, rules: &Path) -> Result<Settings, SettingsError> {
        let rules_folder =
            if rules == Path::new("-") { Path::new(".") } else { rules.parent().unwrap_or(Path::new("")) };
        let rules_folder = if rules_folder.as_os_str().is_empty() { Path::new(".") } else { rules_folder };
        let Ok(folder) = rules_folder.canonicalize() else { return Ok(Settings::default()) };
        if let Some(cached) = self.settings_by_folder.get(&folder) {
            return Ok(cached.clone());
        }
        let mut settings = Settings::default();
        if let Some(path) =
            folder.ancestors().map(|folder| folder.join(SETTINGS_FILE_NAME)).find(|path| path.is_file())
        {
            settings = read_settings_file(&path)?;
        }
        self.settings_by_folder.insert(folder, settings.clone());
        Ok(settings)
    }
}

fn read_settings_file(path: &Path) -> Result<Settings, SettingsError> {
    let name = std::env::current_dir().ok().and_then(|current_folder| current_folder.canonicalize().ok());
    let name = name
        .and_then(|current_folder| path.strip_prefix(current_folder).ok())
        .unwrap_or(path)
        .display()
        .to_string();
    let reader = SettingsParser { text: "", path, displayed_path: &name };
    let read_error = |error: &std::io::Error| reader.error_at(0..0, message!("it cannot be read: {error}"));
    let size = path.metadata().map_err(|error| read_error(&error))?.len();
    if size > MAX_SETTINGS_BYTES {
        return Err(reader.error_at(0..0, message!("it cannot be read: it is over 1 MiB")));
    }
    let bytes = std::fs::read(path).map_err(|error| read_error(&error))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| reader.error_at(0..0, message!("it cannot be read: it is not UTF-8")))?;
    Settings::parse_settings(text.strip_prefix('\u{feff}').unwrap_or(&text), path, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_text(text: &str) -> Result<Settings, SettingsError> {
        Settings::parse_settings(text, Path::new("/work/rulec.toml"), "rulec.toml")
    }

    #[test]
    fn settings_are_read_and_errors_have_a_position() {
        let text = "strict-ties = true\nmax-cost = 1_000\n[severity]\nW0213 = \"deny\"\nw0103 = \"allow\"\n";
        let settings = parse_text(text).expect("they are right");
        assert_eq!((settings.strict_ties, settings.max_cost), (true, Some(1_000)));
        assert_eq!(settings.level(Code::RouteHidden), WarningLevel::Deny);
        assert_eq!(settings.level(Code::UnusedDeclaration), WarningLevel::Allow);
        assert_eq!(settings.level(Code::NoDefault), WarningLevel::Warn);
        let refused = |text: &str, expected: &str| {
            let error = parse_text(text).expect_err(text);
            assert_eq!(error.to_string(), expected, "{text}");
        };
        refused(
            "\nstrict_ties = true",
            "rulec.toml:2:1: there is no setting `strict_ties`; did you mean `strict-ties`?",
        );
        refused("strict-ties = 1", "rulec.toml:1:15: expected `true` or `false`");
        refused("max-cost = -1", "rulec.toml:1:12: expected a whole number of steps, 0 or more");
        refused("[severity]\nnonsense = \"deny\"", "rulec.toml:2:1: there is no warning `nonsense`");
        refused(
            "[severity]\nE0101 = \"allow\"",
            "rulec.toml:2:1: `E0101` is an error, and the severity of an error cannot be changed",
        );
        refused(
            "[severity]\nW0213 = \"error\"",
            "rulec.toml:2:9: expected `\"allow\"`, `\"warn\"` or `\"deny\"`",
        );
        refused(
            "[severity]\nW0213 = \"deny\"\nw0213 = \"deny\"",
            "rulec.toml:3:1: the severity of `W0213` is set twice",
        );
        assert!(parse_text("a = = 1").is_err());
    }

    /// Checks that the JSON schema for editors lists exactly the settings that the parser accepts.
    #[test]
    fn the_editor_schema_lists_all_settings() {
        let schema: serde_json::Value =
            serde_json::from_str(include_str!("../../../docs/rulec.schema.json")).expect("JSON");
        let keys: Vec<&String> = schema["properties"].as_object().expect("properties").keys().collect();
        assert_eq!(keys, ["deny-warnings", "max-cost", "severity", "strict-ties"]);
        let severity = &schema["properties"]["severity"];
        let codes: Vec<&String> = severity["properties"].as_object().expect("codes").keys().collect();
        let warnings: Vec<&str> =
            Code::ALL.iter().map(|code| code.as_str()).filter(|code| code.starts_with('W')).collect();
        assert_eq!(codes, warnings, "docs/rulec.schema.json lists all warnings");
        let levels: Vec<&str> = WARNING_LEVEL_NAMES.iter().map(|(name, _)| *name).collect();
        for code in warnings {
            assert_eq!(severity["properties"][code]["enum"], serde_json::json!(levels), "{code}");
        }
        assert_eq!(
            (&schema["additionalProperties"], &severity["additionalProperties"]),
            (&false.into(), &false.into())
        );
    }
}
