//! Reads a JSON document as it is stored: as bytes, whose system may not be named. The command
//! line, the service and watched files use this module, so all recognize the same documents.

use super::{ImportError, Imported, Options, System};
use rulec_base::json;

/// How to read a JSON document of another system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DocumentOptions {
    /// The system whose JSON the document is; `None` to recognize the system by the shape of the
    /// document.
    pub system: Option<System>,
    /// Options of the import.
    pub options: Options,
}

impl DocumentOptions {
    /// True if a source with this file name is read as a document: `system` is set, or the name
    /// ends in `.json`.
    pub fn applies_to(&self, file_name: &str) -> bool {
        self.system.is_some() || is_json_name(file_name)
    }

    /// Imports a document from its bytes: UTF-8 text, which may begin with a byte order mark.
    ///
    /// ```
    /// use rulec_import::DocumentOptions;
    ///
    /// let json = br#"[{"flow_id": "greeting", "type": "keyword", "trigger_patterns": ["hi"]}]"#;
    /// let imported = DocumentOptions::default().import(json)?;
    /// assert!(imported.text.contains("flow greeting"));
    /// # Ok::<(), rulec_import::ImportError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`System::import`]. Also if the bytes are not UTF-8, no single system fits the
    /// document, or [`Options::literal`] is set for a document without flows.
    pub fn import(&self, bytes: &[u8]) -> Result<Imported, ImportError> {
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // The JSON parser reports the position of the invalid bytes and a remedy.
            Err(_) => match json::parse_bytes(bytes) {
                Err(error) => return Err(error.into()),
                Ok(_) => return Err(ImportError::Unrecognized),
            },
        };
        let recognized = self.system.map_or_else(|| System::recognize_text(text), |system| Ok(Some(system)));
        let system = recognized?.ok_or(ImportError::Unrecognized)?;
        match self.options.is_literal && system != System::Flows {
            true => Err(ImportError::LiteralWithoutFlows),
            false => system.import(text, self.options),
        }
    }
}

/// The bytes with which some editors begin a UTF-8 file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// True if a file name ends in `.json`, in any case.
pub fn is_json_name(file_name: &str) -> bool {
    file_name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("json"))
}
