//! State of a studio: its rule sets, message files and replays, each with a numeric id.

use crate::api::{self, Source, Version};
use crate::error::{Answer, RequestError};
use crate::language::language_tag;
use crate::project::{LiveRuleSet, RuleSetProject};
use crate::replay::{MessageFile, Replay};
use crate::snapshot::ProjectSnapshot;
use rulec::{Compiler, Language, Message};
use rulec_base::message;
use rulec_ide::tokens::TokenClass;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use tempfile::TempDir;

/// The options of `rulec studio`, with which a studio is opened.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Main files of the rule sets; at least one.
    pub rules: Vec<RulesFile>,
    /// Path of a decision log to open, if any.
    pub log: Option<PathBuf>,
    /// Path of a file of messages to open, if any; it contains one JSON object per line.
    pub message_file: Option<PathBuf>,
    /// Port to listen on; 0 selects a free port.
    pub port: u16,
    /// Whether the page shows the values of `@private` fields.
    pub show_private: bool,
    /// Initial language of the page; `None` uses the browser's language.
    pub language: Option<Language>,
}

/// The main file of a rule set, and the folder that its imports must be in.
#[derive(Clone, Debug, Default)]
pub struct RulesFile {
    /// Path of the rule set's main file.
    pub path: PathBuf,
    /// Folder that the imported files must be in; `None` means the folder of the main file.
    pub import_root: Option<PathBuf>,
}

pub(crate) struct Studio {
    pub access_token: String,
    /// Whether a running service serves this studio, which then shows the service's current rules.
    pub is_live: bool,
    pub show_private: bool,
    pub language: Option<Language>,
    projects: RwLock<Vec<Arc<RuleSetProject>>>,
    message_files: RwLock<Vec<Arc<MessageFile>>>,
    replays: RwLock<Vec<Arc<Replay>>>,
    /// Sequence number of the newest slow request. A slow request stops when a newer one arrives,
    /// because the page shows only the newest result.
    newest_request_number: AtomicU64,
    /// Folder of the uploaded files.
    pub upload_folder: TempDir,
}

/// Returns the error for an upload to the studio of a service, which accepts no files.
pub(crate) fn uploads_not_accepted() -> RequestError {
    RequestError::invalid(message!("the studio of a service takes no files; open them with `rulec studio`"))
}

/// Maximum number of replays that are kept; the oldest replay is removed first.
const MAX_REPLAYS: usize = 8;
/// Maximum number of rule sets that can be uploaded.
const MAX_UPLOADED_RULE_SETS: usize = 32;

fn clone_all<T>(list: &RwLock<Vec<Arc<T>>>) -> Vec<Arc<T>> {
    list.read().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Studio {
    /// Opens the rule sets and message files that the options name.
    ///
    /// # Errors
    ///
    /// Returns a message if a file cannot be read, if no temporary folder can be made, or if there
    /// are no random numbers.
    pub fn new(options: &Options) -> Result<Studio, Message> {
        let mut random = [0_u8; 16];
        getrandom::fill(&mut random)
            .map_err(|error| message!("there are no random numbers: {}", error.to_string()))?;
        let uploads = TempDir::with_prefix(".rulec-studio-")
            .map_err(|error| message!("no folder for uploads can be made: {error}"))?;
        let studio = Studio {
            access_token: random.iter().map(|byte| format!("{byte:02x}")).collect(),
            is_live: false,
            show_private: options.show_private,
            language: options.language,
            projects: RwLock::default(),
            message_files: RwLock::default(),
            replays: RwLock::default(),
            newest_request_number: AtomicU64::default(),
            upload_folder: uploads,
        };
        for file in &options.rules {
            studio.open_rules(file)?;
        }
        let message_files = [(&options.log, "log"), (&options.message_file, "input")];
        for (path, origin) in
            message_files.into_iter().filter_map(|(path, origin)| Some((path.as_ref()?, origin)))
        {
            let metadata = std::fs::metadata(path)
                .map_err(|error| message!("`{}` cannot be read: {error}", path.display()))?;
            if !metadata.is_file() {
                return Err(message!("`{}` is no file; name a file of JSON lines", path.display()));
            }
            studio.add_message_file(path.display().to_string(), path.clone(), metadata.len(), origin);
        }
        Ok(studio)
    }

    /// Opens a studio that shows the current rules of a running service.
    ///
    /// # Errors
    ///
    /// Returns a message if there are no random numbers, or no folder for temporary files.
    pub fn of_service(rules: Vec<Arc<dyn LiveRuleSet>>) -> Result<Studio, Message> {
        let studio = Studio { is_live: true, ..Studio::new(&Options::default())? };
        for rules in rules {
            studio.add_project(|id| RuleSetProject::from_live(id, rules));
        }
        Ok(studio)
    }

    fn open_rules(&self, file: &RulesFile) -> Result<(), Message> {
        let compiler = match &file.import_root {
            Some(root) => Compiler::new().root(root),
            None => Compiler::new(),
        };
        let first_message = |error: rulec::CompileError| {
            error.diagnostics().first().map(|diagnostic| diagnostic.message.clone()).unwrap_or_default()
        };
        let (loader, main) = compiler.on_disk(&file.path).map_err(first_message)?;
        let name = file.path.display().to_string();
        self.add_project(|id| RuleSetProject::from_disk(id, name, loader, main));
        Ok(())
    }

    fn add_project(&self, make: impl FnOnce(usize) -> RuleSetProject) -> Arc<RuleSetProject> {
        let mut projects = self.projects.write().unwrap_or_else(PoisonError::into_inner);
        let project = Arc::new(make(projects.len()));
        projects.push(project.clone());
        project
    }

    /// Adds a rule set whose text was uploaded, and returns it.
    pub fn upload_rules(&self, name: String, text: String) -> Answer<Arc<RuleSetProject>> {
        if self.is_live {
            return Err(uploads_not_accepted());
        }
        let uploaded_count = self.projects().iter().filter(|project| project.file_path("").is_none()).count();
        if uploaded_count >= MAX_UPLOADED_RULE_SETS {
            return Err(RequestError::invalid(message!(
                "{MAX_UPLOADED_RULE_SETS} rule sets were already uploaded; restart the studio"
            )));
        }
        Ok(self.add_project(|id| RuleSetProject::from_text(id, name, text)))
    }

    pub fn add_message_file(
        &self,
        name: String,
        path: PathBuf,
        bytes: u64,
        origin: &str,
    ) -> Arc<MessageFile> {
        let mut sources = self.message_files.write().unwrap_or_else(PoisonError::into_inner);
        let description = Source { id: sources.len(), name, bytes, from: origin.to_owned() };
        let source = Arc::new(MessageFile { description, path, is_log: origin == "log" });
        sources.push(source.clone());
        source
    }

    pub fn projects(&self) -> Vec<Arc<RuleSetProject>> {
        clone_all(&self.projects)
    }

    pub fn message_files(&self) -> Vec<Arc<MessageFile>> {
        clone_all(&self.message_files)
    }

    pub fn project(&self, id: usize) -> Answer<Arc<RuleSetProject>> {
        let projects = self.projects.read().unwrap_or_else(PoisonError::into_inner);
        projects.get(id).cloned().ok_or_else(|| RequestError::missing(message!("there is no rule set {id}")))
    }

    pub fn snapshot(&self, version: Version) -> Answer<Arc<ProjectSnapshot>> {
        Ok(self.project(version.rules)?.snapshot(version.draft))
    }

    pub fn message_file(&self, id: usize) -> Answer<Arc<MessageFile>> {
        let sources = self.message_files.read().unwrap_or_else(PoisonError::into_inner);
        sources.get(id).cloned().ok_or_else(|| RequestError::missing(message!("there is no file {id}")))
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
        let not_found = || {
            RequestError::missing(message!(
                "there is no replay {id}, or it is no longer stored; start it again"
            ))
        };
        replays.iter().find(|replay| replay.id == id).cloned().ok_or_else(not_found)
    }

    /// Registers a slow request as the newest one. Returns a function that the request calls during
    /// its work. If this function returns false, a newer request was registered, and the work
    /// should stop.
    pub fn register_newest_request(&self) -> impl Fn() -> bool + '_ {
        let number = self.newest_request_number.fetch_add(1, Ordering::Relaxed) + 1;
        move || self.newest_request_number.load(Ordering::Relaxed) == number
    }

    pub fn session(&self) -> api::Session {
        api::Session {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            live: self.is_live,
            show_private: self.show_private,
            language: self.language.map(language_tag),
            rules: self.projects().iter().map(|project| project.describe()).collect(),
            sources: self.message_files().iter().map(|source| source.description.clone()).collect(),
            token_classes: TOKEN_CLASSES.iter().map(|(_, name)| (*name).to_owned()).collect(),
        }
    }
}

/// Classes of tokens with their names. Responses refer to a class by its index in this list.
pub(crate) const TOKEN_CLASSES: [(TokenClass, &str); 13] = [
    (TokenClass::Comment, "comment"),
    (TokenClass::Documentation, "documentation"),
    (TokenClass::String, "string"),
    (TokenClass::Number, "number"),
    (TokenClass::Keyword, "keyword"),
    (TokenClass::Operator, "operator"),
    (TokenClass::Function, "function"),
    (TokenClass::Variable, "variable"),
    (TokenClass::Parameter, "parameter"),
    (TokenClass::Property, "property"),
    (TokenClass::Type, "type"),
    (TokenClass::Statement, "statement"),
    (TokenClass::Handler, "handler"),
];

/// Returns the name of a file without its folder.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
