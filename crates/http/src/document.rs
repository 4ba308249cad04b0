//! A document that is fetched repeatedly because it may change, such as a rules file. The entity
//! tag (`ETag`) spares the download of an unchanged document.

/// A version of a fetched document, as [`HttpClient::fetch`](super::HttpClient::fetch) returns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The bytes of the document.
    pub bytes: Vec<u8>,
    /// The entity tag (header `ETag`) of this version, if the server sends tags.
    pub tag: Option<String>,
}
