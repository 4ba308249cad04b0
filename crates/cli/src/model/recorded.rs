//! Files of recorded answers of a language model. Each line is a JSON object with the answer, and
//! with the key (a hash) of the request. The requests are not stored, because they contain
//! messages.

use super::{ModelAnswer, NoAnswer};
use crate::{CliError, files};
use rulec::prompt::ModelRequest;
use rulec_base::{json, message};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(feature = "http")]
use crate::stream::LogFile;

/// Number of bytes of a request's key, large enough that two requests never have the same key by
/// chance.
const REQUEST_KEY_BYTES: usize = 16;

/// One line of a file of recorded answers of a language model.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedAnswer {
    key: String,
    /// The name of the choice that asked, or `flows`. The program does not read this field; it
    /// helps people who read the file.
    question: String,
    /// The id that the model selected; null if the model called no tool. A line without this field
    /// is an error: without `deserialize_with`, serde would read a missing field as null.
    #[serde(deserialize_with = "Option::deserialize")]
    answer: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// A file of recorded answers of a language model, with its content in memory.
pub struct AnswerFile {
    contents: Mutex<AnswerFileContents>,
}

#[derive(Default)]
struct AnswerFileContents {
    /// The answers by the key of the request. If several lines have the same key, the first one
    /// counts.
    answers: HashMap<String, ModelAnswer>,
    /// The file to which new answers are appended; `None` if answers are only read.
    #[cfg(feature = "http")]
    appended_file: Option<LogFile>,
}

impl AnswerFile {
    /// Reads a file of recorded answers of a language model.
    pub fn read(path: &Path) -> Result<AnswerFile, CliError> {
        let mut contents = AnswerFileContents::default();
        let (bytes, name) = files::read_json_bytes(path)?;
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let not_an_answer = |error: &str| {
                let number = index + 1;
                CliError::usage_error(message!(
                    "`{name}`, line {number} is not a recorded answer: {error}; correct or remove the line"
                ))
            };
            // These errors have line numbers within the JSON text, which is one line of the file.
            // So only the message is used.
            let object = json::parse_object_bytes(line).map_err(|error| not_an_answer(error.message()))?;
            let recorded: RecordedAnswer =
                serde_json::from_value(object.into()).map_err(|error| not_an_answer(&error.to_string()))?;
            let RecordedAnswer { key, answer: id, reason, text, .. } = recorded;
            contents.answers.entry(key).or_insert(ModelAnswer { selected_id: id, reason, reply_text: text });
        }
        Ok(AnswerFile { contents: Mutex::new(contents) })
    }

    /// Reads a file of recorded answers, and opens it for appending new ones. Creates the file if
    /// it does not exist.
    #[cfg(feature = "http")]
    pub fn open_for_append(path: &Path) -> Result<AnswerFile, CliError> {
        let appended_file = LogFile::open(path)?;
        let file = AnswerFile::read(path)?;
        file.lock().appended_file = Some(appended_file);
        Ok(file)
    }

    /// Returns the recorded answer of a language model to a request, if there is one.
    pub fn find(&self, request: &ModelRequest) -> Option<ModelAnswer> {
        self.lock().answers.get(&request_key(request)).cloned()
    }

    /// Records an answer, and returns the answer to use. If another thread recorded an answer to an
    /// equal request first, that answer is used, so that a replay gives the same decisions.
    #[cfg(feature = "http")]
    pub fn add(&self, request: &ModelRequest, answer: ModelAnswer) -> Result<ModelAnswer, NoAnswer> {
        let mut contents = self.lock();
        let key = request_key(request);
        if let Some(first) = contents.answers.get(&key) {
            return Ok(first.clone());
        }
        let ModelAnswer { selected_id: id, reason, reply_text: text } = answer.clone();
        let question = request.name.clone();
        let recorded = RecordedAnswer { key: key.clone(), question, answer: id, reason, text };
        let mut line = Vec::new();
        crate::stream::write_json(&mut line, &recorded);
        if let Some(file) = &mut contents.appended_file {
            // Flushes at once, so that a crash does not lose an answer that the model has charged
            // for.
            file.write(&line).and_then(|()| file.flush()).map_err(|error| NoAnswer::Unavailable {
                message: message!("the answer of the model to `{}` cannot be recorded", request.name),
                help: error.message.unwrap_or_default(),
            })?;
        }
        contents.answers.insert(key, answer.clone());
        Ok(answer)
    }

    fn lock(&self) -> MutexGuard<'_, AnswerFileContents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the key of a request: a hash of everything that the model receives.
fn request_key(request: &ModelRequest) -> String {
    let hash = Sha256::digest(request.to_json().to_string());
    hash[..REQUEST_KEY_BYTES].iter().fold(String::new(), |mut key, byte| {
        // Writing to a string cannot fail.
        let _ = write!(key, "{byte:02x}");
        key
    })
}

/// Returns the failure for a request to a language model whose answer is not recorded.
pub fn missing_answer(request: &ModelRequest) -> NoAnswer {
    let (name, key) = (&request.name, request_key(request));
    NoAnswer::Unavailable {
        message: message!("no answer is recorded to the question `{name}` about this message (key {key})"),
        help: message!(
            "record it with `--model URL --model-name NAME --record FILE`; another text, question or wording \
            has another key"
        ),
    }
}
