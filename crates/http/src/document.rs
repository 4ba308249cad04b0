//! A document that changes now and then, such as rules.

/// A version of a document, as [`HttpClient::fetch`](super::HttpClient::fetch) returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The content.
    pub bytes: Vec<u8>,
    /// The entity tag of this version, if the server sends tags.
    pub tag: Option<String>,
}
