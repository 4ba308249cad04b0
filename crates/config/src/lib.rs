//! `rulec.toml`: how severe findings are, for all files of a folder and below. It is found upward from a rules file; what the command
//! line says comes before it. Whatever it does not know it refuses, with the place, so that a misspelt setting is
//! not one that is silently ignored. The program and the language server read it here.

use rulec::{Code, Message};
use rulec_base::diag::{listed, nearest};
use rulec_base::message;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};

/// The name of the file.
pub const NAME: &str = "rulec.toml";
/// The largest that is read, in bytes.
const MOST: u64 = 1 << 20;

/// The weight given to a warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// It is left out.
    Allow,
    /// It is shown.
    Warn,
    /// It is shown, and the check fails.
    Deny,
}

const LEVELS: [(&str, Level); 3] = [("allow", Level::Allow), ("warn", Level::Warn), ("deny", Level::Deny)];

/// The settings for a file of rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Every warning fails the check, where none is given another weight.
    pub deny_warnings: bool,
    /// The weights that some warnings are given.
    pub levels: BTreeMap<Code, Level>,
    /// True when routes of equal priority are told that one message satisfies.
    pub strict_ties: bool,
    /// The steps that a decision may take at most.
    pub max_cost: Option<u64>,
}

/// Why a settings file cannot be used: the file, the place in it, and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.in_words())]
pub struct Refused {
    /// The file; as it was given where it was not read from a disk.
    pub path: PathBuf,
    /// The file as it is shown.
    name: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The fault, and a remedy where there is one.
    pub message: Message,
}

impl Refused {
    /// The place and the fault, which can be told in each language.
    pub fn in_words(&self) -> Message {
        message!("{}:{}:{}: {}", self.name, self.line, self.column, self.message)
    }
}

/// A warning that `--deny` or `--allow` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// `warnings`: every one.
    Warnings,
    /// One code.
    Code(Code),
}

impl Named {
    /// The warnings that a text names.
    ///
    /// # Errors
    /// For what names none.
    pub fn parse(text: &str) -> Result<Named, Message> {
        if text == "warnings" { Ok(Named::Warnings) } else { warning(text).map(Named::Code) }
    }
}

/// The warning of a code.
///
/// # Errors
/// For an error's code, and for what is no code.
pub fn warning(text: &str) -> Result<Code, Message> {
    let upper = text.to_ascii_uppercase();
    match Code::ALL.iter().find(|code| code.as_str() == upper) {
        Some(code) if upper.starts_with('E') => {
            Err(message!("`{}` is an error, which cannot be given another weight", code.as_str()))
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
    /// The weight of a warning.
    pub fn level(&self, code: Code) -> Level {
        let otherwise = if self.deny_warnings { Level::Deny } else { Level::Warn };
        self.levels.get(&code).copied().unwrap_or(otherwise)
    }

    /// Reads the settings of a file's text.
    ///
    /// # Errors
    /// When the text is no TOML, or says what is not known.
    pub fn read(text: &str, path: &Path, name: &str) -> Result<Settings, Refused> {
        let reader = Reader { text, path, name };
        let table = DeTable::parse(text).map_err(|error| {
            reader.refuse(
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
                    return Err(reader.refuse(value.span(), message!("`true` or `false` is wanted")));
                }
                ("max-cost", DeValue::Integer(number)) => {
                    let steps = u64::from_str_radix(number.as_str(), number.radix());
                    settings.max_cost = Some(steps.map_err(|_| {
                        reader.refuse(value.span(), message!("a whole number of steps is wanted, from 0 on"))
                    })?);
                }
                ("max-cost", _) => {
                    return Err(reader.refuse(value.span(), message!("a whole number of steps is wanted")));
                }
                ("severity", DeValue::Table(levels)) => reader.levels(levels, &mut settings.levels)?,
                ("severity", _) => {
                    return Err(reader.refuse(
                        value.span(),
                        message!("a table is wanted: `[severity]`, and below it `W0213 = \"deny\"`"),
                    ));
                }
                (other, _) => {
                    let known = ["deny-warnings", "max-cost", "severity", "strict-ties"];
                    let near = nearest(other, known).map_or_else(
                        || message!("there are {}", listed(known.map(|key| format!("`{key}`")))),
                        |near| message!("did you mean `{near}`?"),
                    );
                    return Err(reader.refuse(key.span(), message!("there is no setting `{other}`; {near}")));
                }
            }
        }
        Ok(settings)
    }
}

struct Reader<'t> {
    text: &'t str,
    path: &'t Path,
    name: &'t str,
}

impl Reader<'_> {
    fn levels(&self, levels: &DeTable<'_>, found: &mut BTreeMap<Code, Level>) -> Result<(), Refused> {
        for (key, value) in levels {
            let code = warning(key.get_ref()).map_err(|error| self.refuse(key.span(), error))?;
            let level = match value.get_ref() {
                DeValue::String(level) => LEVELS.iter().find(|(name, _)| *name == &**level),
                _ => None,
            };
            let Some((_, level)) = level else {
                return Err(
                    self.refuse(value.span(), message!("`\"allow\"`, `\"warn\"` or `\"deny\"` is wanted"))
                );
            };
            if found.insert(code, *level).is_some() {
                return Err(self.refuse(key.span(), message!("`{}` is given a weight twice", code.as_str())));
            }
        }
        Ok(())
    }

    fn refuse(&self, place: Range<usize>, message: Message) -> Refused {
        let before = self.text.get(..place.start).unwrap_or(self.text);
        let (line, column) =
            (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap_or("").chars().count() + 1);
        let (path, name) = (self.path.to_owned(), self.name.to_owned());
        Refused { path, name, line, column, message }
    }
}

/// The settings files that were read, by their folders.
#[derive(Default)]
pub struct Found {
    known: HashMap<PathBuf, Settings>,
}

impl Found {
    /// The settings for a file of rules, or for standard input: those of the nearest folder that has some.
    ///
    /// # Errors
    /// When the settings file cannot be read, or says what is not known.
    pub fn of(&mut self, rules: &Path) -> Result<Settings, Refused> {
        let given =
            if rules == Path::new("-") { Path::new(".") } else { rules.parent().unwrap_or(Path::new("")) };
        let given = if given.as_os_str().is_empty() { Path::new(".") } else { given };
        let Ok(folder) = given.canonicalize() else { return Ok(Settings::default()) };
        if let Some(known) = self.known.get(&folder) {
            return Ok(known.clone());
        }
        let mut settings = Settings::default();
        if let Some(path) = folder.ancestors().map(|folder| folder.join(NAME)).find(|path| path.is_file()) {
            settings = read(&path)?;
        }
        self.known.insert(folder, settings.clone());
        Ok(settings)
    }
}

fn read(path: &Path) -> Result<Settings, Refused> {
    let name = std::env::current_dir().ok().and_then(|here| here.canonicalize().ok());
    let name = name.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path).display().to_string();
    let reader = Reader { text: "", path, name: &name };
    let refused = |error: &std::io::Error| reader.refuse(0..0, message!("it cannot be read: {error}"));
    let size = path.metadata().map_err(|error| refused(&error))?.len();
    if size > MOST {
        return Err(reader.refuse(0..0, message!("it cannot be read: it is over 1 MiB")));
    }
    let bytes = std::fs::read(path).map_err(|error| refused(&error))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| reader.refuse(0..0, message!("it cannot be read: it is not UTF-8")))?;
    Settings::read(text.strip_prefix('\u{feff}').unwrap_or(&text), path, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, Refused> {
        Settings::read(text, Path::new("/work/rulec.toml"), "rulec.toml")
    }

    #[test]
    fn settings_are_read_and_mistakes_have_a_place() {
        let text = "strict-ties = true\nmax-cost = 1_000\n[severity]\nW0213 = \"deny\"\nw0103 = \"allow\"\n";
        let settings = read(text).expect("they are right");
        assert_eq!((settings.strict_ties, settings.max_cost), (true, Some(1_000)));
        assert_eq!(settings.level(Code::RouteHidden), Level::Deny);
        assert_eq!(settings.level(Code::UnusedDeclaration), Level::Allow);
        assert_eq!(settings.level(Code::NoDefault), Level::Warn);
        let refused = |text: &str, expected: &str| {
            let error = read(text).expect_err(text);
            assert_eq!(error.to_string(), expected, "{text}");
        };
        refused(
            "\nstrict_ties = true",
            "rulec.toml:2:1: there is no setting `strict_ties`; did you mean `strict-ties`?",
        );
        refused("strict-ties = 1", "rulec.toml:1:15: `true` or `false` is wanted");
        refused("max-cost = -1", "rulec.toml:1:12: a whole number of steps is wanted, from 0 on");
        refused("[severity]\nnonsense = \"deny\"", "rulec.toml:2:1: there is no warning `nonsense`");
        refused(
            "[severity]\nE0101 = \"allow\"",
            "rulec.toml:2:1: `E0101` is an error, which cannot be given another weight",
        );
        refused(
            "[severity]\nW0213 = \"error\"",
            "rulec.toml:2:9: `\"allow\"`, `\"warn\"` or `\"deny\"` is wanted",
        );
        refused(
            "[severity]\nW0213 = \"deny\"\nw0213 = \"deny\"",
            "rulec.toml:3:1: `W0213` is given a weight twice",
        );
        assert!(read("a = = 1").is_err());
    }

    /// The schema that editors complete by names what the reader knows.
    #[test]
    fn the_schema_says_what_is_read() {
        let schema: serde_json::Value =
            serde_json::from_str(include_str!("../../../docs/rulec.schema.json")).expect("JSON");
        let keys: Vec<&String> = schema["properties"].as_object().expect("properties").keys().collect();
        assert_eq!(keys, ["deny-warnings", "max-cost", "severity", "strict-ties"]);
        let severity = &schema["properties"]["severity"];
        let codes: Vec<&String> = severity["properties"].as_object().expect("codes").keys().collect();
        let warnings: Vec<&str> =
            Code::ALL.iter().map(|code| code.as_str()).filter(|code| code.starts_with('W')).collect();
        assert_eq!(codes, warnings, "docs/rulec.schema.json lists all warnings");
        let levels: Vec<&str> = LEVELS.iter().map(|(name, _)| *name).collect();
        for code in warnings {
            assert_eq!(severity["properties"][code]["enum"], serde_json::json!(levels), "{code}");
        }
        assert_eq!(
            (&schema["additionalProperties"], &severity["additionalProperties"]),
            (&false.into(), &false.into())
        );
    }
}
