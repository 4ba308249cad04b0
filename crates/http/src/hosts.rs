//! The list of hosts that a program may call. Every URL is checked against this list before a
//! request is sent, so that a URL in a rules file cannot reach any other host.

use super::error::{CallLabel, HttpError, HttpFailure};
use rulec_base::diag::Message;
use rulec_base::message;
use std::time::Duration;
use thiserror::Error;
use url::{Host, Url};

/// The hosts that may be called. An entry is a host (all its ports) or `host:port` (only that
/// port). There are no wildcards. An empty list allows no host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    entries: Vec<HostEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct HostEntry {
    host: Host<String>,
    port: Option<u16>,
}

/// The error for an entry of the list of allowed hosts that is neither a host nor `host:port`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.to_message())]
pub struct HostError {
    entry: String,
}

impl HostError {
    /// Returns the invalid entry of the list of allowed hosts, as it was written.
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// Returns the entry, why it is invalid, and how to correct it, as a localized message.
    pub fn to_message(&self) -> Message {
        message!(
            "`{}` in the list of allowed hosts is no host; write a bare host or `host:port`, without scheme, path and wildcard",
            self.entry
        )
    }
}

impl AllowedHosts {
    /// Parses the entries of the list. Differences in case, and in the notation of IP addresses and
    /// international names, do not matter.
    ///
    /// # Errors
    /// For the first entry that is neither a host nor `host:port`.
    pub fn new<S: AsRef<str>>(entries: impl IntoIterator<Item = S>) -> Result<Self, HostError> {
        let to_entry = |entry: S| {
            let text = entry.as_ref();
            HostEntry::parse_entry(text).ok_or_else(|| HostError { entry: text.to_owned() })
        };
        Ok(AllowedHosts { entries: entries.into_iter().map(to_entry).collect::<Result<_, _>>()? })
    }

    /// Creates a list that allows only the host of a URL. If the URL names a port, only that port
    /// is allowed.
    ///
    /// # Errors
    /// If the text is no URL of http or https.
    pub fn of_url(url: &str) -> Result<Self, HttpError> {
        let parsed = parse_url(url)
            .map_err(|failure| HttpError::new(CallLabel::new("POST", url), 0, Duration::ZERO, failure))?;
        Ok(AllowedHosts { entries: HostEntry::parse_entry(&host_and_port(&parsed)).into_iter().collect() })
    }

    /// Parses a URL and checks that its host is allowed.
    ///
    /// # Errors
    /// [`HttpFailure::BadUrl`] and [`HttpFailure::HostNotAllowed`].
    pub(super) fn parse_allowed_url(&self, url: &str) -> Result<Url, HttpFailure> {
        let url = parse_url(url)?;
        let port = url.port_or_known_default();
        let is_allowed = url.host().is_some_and(|host| {
            let host = host.to_owned();
            self.entries
                .iter()
                .any(|entry| entry.host == host && (entry.port.is_none() || entry.port == port))
        });
        if is_allowed { Ok(url) } else { Err(HttpFailure::HostNotAllowed { host: host_and_port(&url) }) }
    }
}

impl HostEntry {
    fn parse_entry(text: &str) -> Option<HostEntry> {
        // The colons of an IPv6 address are inside brackets.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                let is_numeric = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
                (host, Some(port.parse().ok().filter(|_| is_numeric)?))
            }
            _ => (text, None),
        };
        let has_wildcard = host.contains('*');
        Some(HostEntry { host: Host::parse(host).ok().filter(|_| !has_wildcard)?, port })
    }
}

/// Parses a URL. The URL must be absolute, have the scheme http or https, and contain no user name
/// and no password.
pub(super) fn parse_url(text: &str) -> Result<Url, HttpFailure> {
    let bad_url = |why| Err(HttpFailure::BadUrl { why });
    match Url::parse(text) {
        Err(error) => bad_url(Message::verbatim(error.to_string())),
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            bad_url(message!("only http and https are called"))
        }
        Ok(url) if !url.username().is_empty() || url.password().is_some() => {
            bad_url(message!("it holds a user name or password; send them as a header"))
        }
        Ok(url) => Ok(url),
    }
}

/// Returns the host of a URL as an entry of the list of allowed hosts: `host`, or `host:port` if
/// the URL names a port.
fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or(host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_hosts_are_allowed() {
        let hosts =
            ["API.example.com", "localhost:8080", "[::1]:80", "10.0.0.1", "bücher.example", "x.example:443"];
        let hosts = AllowedHosts::new(hosts).unwrap();
        for (url, allowed) in [
            ("https://api.example.com/x", true),
            ("http://api.EXAMPLE.com:81", true),
            ("http://api.example.com./", false),
            ("http://sub.api.example.com/", false),
            ("http://api.example.com.evil.example/", false),
            ("http://evil.example/api.example.com", false),
            ("http://evil.example?api.example.com", false),
            ("http://evil.example\\@api.example.com", false),
            ("http://localhost:8080/", true),
            ("http://localhost/", false),
            ("http://localhost:8081/", false),
            ("http://[::1]/", true),
            ("http://[0:0::1]:80/", true),
            ("https://[::1]/", false),
            ("http://10.0.0.1/", true),
            ("http://0x0a.1/", true),
            ("http://10.0.0.2/", false),
            ("http://xn--bcher-kva.example/", true),
            ("https://x.example/", true),
            ("http://x.example/", false),
        ] {
            let is_refused = matches!(hosts.parse_allowed_url(url), Err(HttpFailure::HostNotAllowed { .. }));
            assert_eq!(hosts.parse_allowed_url(url).is_ok(), allowed, "{url}");
            assert_eq!(is_refused, !allowed, "{url}");
        }
        assert!(AllowedHosts::default().parse_allowed_url("http://localhost/").is_err());
    }

    #[test]
    fn refuses_bad_addresses() {
        let hosts = AllowedHosts::new(["h"]).unwrap();
        for url in [
            "",
            "/x",
            "h/x",
            "h:80",
            "ftp://h/",
            "file:///h",
            "http://",
            "http://h:99999/",
            "http://u@h/",
            "http://u:p@h/",
            "http://:p@h/",
        ] {
            assert!(matches!(hosts.parse_allowed_url(url), Err(HttpFailure::BadUrl { .. })), "{url}");
        }
    }

    #[test]
    fn refuses_bad_entries() {
        for entry in [
            "", " ", "http://h", "h/x", "*.h", "*", "h:", "h:x", "h:+1", "h:70000", ":80", "::1", "u@h",
            "h h", "h?", "h#",
        ] {
            let error = AllowedHosts::new(["ok", entry]).unwrap_err();
            assert_eq!(error.entry(), entry);
            assert!(error.to_string().contains(&format!("`{entry}`")), "{error}");
        }
    }
}
