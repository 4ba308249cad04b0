//! Fetches a document that changes now and then, such as rules.

use super::client::HttpClient;
use super::error::HttpError;
use super::request::Request;

/// A version of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The content.
    pub bytes: Vec<u8>,
    /// The entity tag of this version, if the server sends tags.
    pub tag: Option<String>,
}

impl HttpClient {
    /// Fetches a document by one attempt, without retries. `tag` is the entity tag of the version
    /// that the caller has. Returns `None` if the document still has this tag.
    ///
    /// # Errors
    /// As [`HttpClient::send`]. A redirect is a [status](super::HttpFailure::Status) too, because
    /// redirects are not followed.
    pub async fn fetch(&self, request: &Request, tag: Option<&str>) -> Result<Option<Document>, HttpError> {
        let fetched = self.fetch_once(request, tag).await?;
        Ok(fetched.map(|(bytes, tag)| Document { bytes, tag }))
    }
}
