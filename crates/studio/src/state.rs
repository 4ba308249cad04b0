//! The rule sets, files and replays of a studio, each known by a number.

use crate::api::{self, Source, Version};
use crate::known::Known;
use crate::language::tag;
use crate::project::Project;
use crate::refusal::{Answer, Refused};
use crate::replay::{Messages, Replay};
use rulec::{Compiler, Language};
use rulec_base::message;
use rulec_ide::tokens::Class;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tempfile::TempDir;

/// The things a studio is opened with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The rule sets, at least one.
    pub rules: Vec<RulesFile>,
    /// A log of decisions.
    pub log: Option<PathBuf>,
    /// A file of messages, one a line.
    pub input: Option<PathBuf>,
    /// The port; 0 takes a free one.
    pub port: u16,
    /// True when values of `@private` fields are shown.
    pub show_private: bool,
    /// The language the page begins in, where one is asked for; else the browser's.
    pub language: Option<Language>,
}

/// A rule set by its main file.
#[derive(Clone, Debug, Default)]
pub struct RulesFile {
    /// The main file.
    pub path: PathBuf,
    /// The folder that its imports may not leave; its own when there is none.
    pub root: Option<PathBuf>,
}

pub(crate) struct Studio {
    pub token: String,
    pub show_private: bool,
    pub language: Option<Language>,
    projects: RwLock<Vec<Arc<Project>>>,
    sources: RwLock<Vec<Arc<Messages>>>,
    replays: RwLock<Vec<Arc<Replay>>>,
    /// The number of the last question that stands above all earlier ones.
    newest: AtomicU64,
    /// The folder of what is uploaded.
    pub uploads: TempDir,
}

/// The most replays that are kept; the oldest go first.
const MAX_REPLAYS: usize = 8;
/// The most rule sets that are uploaded.
const MAX_UPLOADED: usize = 32;

fn all<T>(list: &RwLock<Vec<Arc<T>>>) -> Vec<Arc<T>> {
    list.read().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Studio {
    /// # Errors
    /// When a file cannot be found, in words.
    pub fn new(options: &Options) -> Result<Studio, String> {
        let mut random = [0_u8; 16];
        getrandom::fill(&mut random).map_err(|error| format!("there are no random numbers: {error}"))?;
        let uploads =
            TempDir::new().map_err(|error| format!("no folder for uploads can be made: {error}"))?;
        let studio = Studio {
            token: random.iter().map(|byte| format!("{byte:02x}")).collect(),
            show_private: options.show_private,
            language: options.language,
            projects: RwLock::default(),
            sources: RwLock::default(),
            replays: RwLock::default(),
            newest: AtomicU64::default(),
            uploads,
        };
        for file in &options.rules {
            studio.open(file)?;
        }
        let given = [(&options.log, "log"), (&options.input, "input")];
        for (path, from) in given.into_iter().filter_map(|(path, from)| Some((path.as_ref()?, from))) {
            let metadata = std::fs::metadata(path)
                .map_err(|error| format!("`{}` cannot be read: {error}", path.display()))?;
            if !metadata.is_file() {
                return Err(format!("`{}` is no file; name a file of JSON lines", path.display()));
            }
            studio.add_source(path.display().to_string(), path.clone(), metadata.len(), from);
        }
        Ok(studio)
    }

    fn open(&self, file: &RulesFile) -> Result<(), String> {
        let compiler = match &file.root {
            Some(root) => Compiler::new().root(root),
            None => Compiler::new(),
        };
        let first = |error: rulec::CompileError| {
            error.diagnostics().first().map_or_else(String::new, |found| found.message.to_string())
        };
        let (loader, main) = compiler.on_disk(&file.path).map_err(first)?;
        let shown = file.path.display().to_string();
        self.add_project(|id| Project::on_disk(id, shown, loader, main));
        Ok(())
    }

    fn add_project(&self, make: impl FnOnce(usize) -> Project) -> Arc<Project> {
        let mut projects = self.projects.write().unwrap_or_else(PoisonError::into_inner);
        let project = Arc::new(make(projects.len()));
        projects.push(project.clone());
        project
    }

    /// Opens a rule set made of a text.
    pub fn upload_rules(&self, name: String, text: String) -> Answer<Arc<Project>> {
        let uploaded = self.projects().iter().filter(|project| project.path("").is_none()).count();
        if uploaded >= MAX_UPLOADED {
            return Err(Refused::invalid(message!(
                "{MAX_UPLOADED} rule sets were uploaded already; open the studio anew"
            )));
        }
        Ok(self.add_project(|id| Project::of_text(id, name, text)))
    }

    pub fn add_source(&self, name: String, path: PathBuf, bytes: u64, from: &str) -> Arc<Messages> {
        let mut sources = self.sources.write().unwrap_or_else(PoisonError::into_inner);
        let about = Source { id: sources.len(), name, bytes, from: from.to_owned() };
        let source = Arc::new(Messages { about, path, is_log: from == "log" });
        sources.push(source.clone());
        source
    }

    pub fn projects(&self) -> Vec<Arc<Project>> {
        all(&self.projects)
    }

    pub fn sources(&self) -> Vec<Arc<Messages>> {
        all(&self.sources)
    }

    pub fn project(&self, id: usize) -> Answer<Arc<Project>> {
        let projects = self.projects.read().unwrap_or_else(PoisonError::into_inner);
        projects.get(id).cloned().ok_or_else(|| Refused::missing(message!("there is no rule set {id}")))
    }

    pub fn known(&self, version: Version) -> Answer<Arc<Known>> {
        Ok(self.project(version.rules)?.known(version.draft))
    }

    pub fn source(&self, id: usize) -> Answer<Arc<Messages>> {
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        sources.get(id).cloned().ok_or_else(|| Refused::missing(message!("there is no file {id}")))
    }

    pub fn add_replay(&self, make: impl FnOnce(usize) -> Replay) -> Arc<Replay> {
        let mut replays = self.replays.write().unwrap_or_else(PoisonError::into_inner);
        let id = replays.last().map_or(0, |last| last.id + 1);
        let replay = Arc::new(make(id));
        replays.push(replay.clone());
        if replays.len() > MAX_REPLAYS {
            replays.remove(0).cancel();
        }
        replay
    }

    pub fn replay(&self, id: usize) -> Answer<Arc<Replay>> {
        let replays = self.replays.read().unwrap_or_else(PoisonError::into_inner);
        let gone =
            || Refused::missing(message!("there is no replay {id}, or it is too long ago; start it again"));
        replays.iter().find(|replay| replay.id == id).cloned().ok_or_else(gone)
    }

    /// A question that takes long: it is the newest until another one comes.
    pub fn newest(&self) -> impl Fn() -> bool + '_ {
        let mine = self.newest.fetch_add(1, Ordering::Relaxed) + 1;
        move || self.newest.load(Ordering::Relaxed) == mine
    }

    pub fn session(&self) -> api::Session {
        api::Session {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            show_private: self.show_private,
            language: self.language.map(tag),
            rules: self.projects().iter().map(|project| project.describe()).collect(),
            sources: self.sources().iter().map(|source| source.about.clone()).collect(),
            token_classes: CLASSES.iter().map(|(_, name)| (*name).to_owned()).collect(),
        }
    }
}

/// The classes of tokens with their names, in the order by which answers number them.
pub(crate) const CLASSES: [(Class, &str); 13] = [
    (Class::Comment, "comment"),
    (Class::Documentation, "documentation"),
    (Class::String, "string"),
    (Class::Number, "number"),
    (Class::Keyword, "keyword"),
    (Class::Operator, "operator"),
    (Class::Function, "function"),
    (Class::Variable, "variable"),
    (Class::Parameter, "parameter"),
    (Class::Property, "property"),
    (Class::Type, "type"),
    (Class::Statement, "statement"),
    (Class::Handler, "handler"),
];

/// A file's name without its folder.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
