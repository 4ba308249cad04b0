//! Rules that are fetched from an HTTP address at regular intervals. If a new version cannot be
//! fetched or loaded, the last good version stays in force.

use super::RuleSet;
use super::loading::{RulesLoadingContext, SourceFeed, StartError};
use axum::http::Uri;
use rulec::{LoadError, Loader, Message};
use rulec_base::message;
use rulec_http::{AllowedHosts, Document, HttpClient, HttpError, Limits, Request, Secret, with_jitter};
use rulec_import::DocumentOptions;
use rulec_runtime::route::{LoadedRules, SourceLoader, WatchError};
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;

/// The longest pause between two requests after failures, unless the configured interval is longer.
const MAX_FETCH_PAUSE: Duration = Duration::from_secs(600);

/// Rules at an address: an artifact (a file of compiled rules), the text of rules without imports,
/// or a JSON document of another system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteSource {
    /// The address of the rules. It must use TLS, with two exceptions: an address on this machine,
    /// and signed rules that need no token.
    pub url: String,
    /// The bearer token that the server of the rules requires; `None` if it requires none.
    pub token: Option<Secret>,
    /// The time between two requests for a new version. After each failed request, this time
    /// doubles, up to ten minutes.
    pub request_interval: Duration,
    /// Maximum time of a request, until the last byte of its response.
    pub request_time_limit: Duration,
    /// Maximum size of the rules in bytes.
    pub max_bytes: usize,
}

impl RemoteSource {
    /// Creates a source that requests its address every 30 seconds. A request may take 20 seconds,
    /// and the rules may have at most 64 MiB.
    pub fn new(url: impl Into<String>) -> RemoteSource {
        let (interval, time) = (Duration::from_secs(30), Duration::from_secs(20));
        RemoteSource {
            url: url.into(),
            token: None,
            request_interval: interval,
            request_time_limit: time,
            max_bytes: 64 << 20,
        }
    }
}

/// Returns an error if an attacker on the network could replace the rules or read the token. The
/// address must use TLS, with two exceptions: an address on this machine, and signed rules
/// (`requires_signature`) that need no token.
fn check_address(remote: &RemoteSource, requires_signature: bool) -> Result<(), Message> {
    let uri = remote.url.parse::<Uri>().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    let is_local = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    let is_secure = uri.as_ref().is_some_and(|uri| uri.scheme_str() == Some("https"));
    match is_secure || is_local || (requires_signature && remote.token.is_none()) {
        true => Ok(()),
        false => Err(message!(
            "others on the way can read and change it: use `https`, or `--trust` without a token"
        )),
    }
}

/// The HTTP request for the rules at one address, and the loader of the response.
struct RulesFetcher {
    client: HttpClient,
    request: Request,
    loader: SourceLoader,
    url: String,
    /// The file name of the rules in diagnostics.
    main_file_name: String,
}

impl RulesFetcher {
    fn new(
        remote: &RemoteSource,
        document: DocumentOptions,
        loaders: &RulesLoadingContext<'_>,
    ) -> Result<RulesFetcher, Message> {
        check_address(remote, loaders.requires_signature())?;
        let hosts = AllowedHosts::of_url(&remote.url).map_err(|error| error.to_message())?;
        let (attempt, overall) = (remote.request_time_limit, remote.request_time_limit);
        let limits = Limits { attempt, overall, body: remote.max_bytes, ..Limits::default() };
        let client = HttpClient::new(hosts, limits).map_err(|error| error.to_message())?;
        let mut request = Request::get(&*remote.url);
        if let Some(token) = &remote.token {
            request = request.bearer(token).map_err(|error| error.to_message())?;
        }
        let path = remote.url.split(['?', '#']).next().unwrap_or_default();
        let main = path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("rules").to_owned();
        let loader = loaders.source_loader(loaders.compiler(), document);
        Ok(RulesFetcher { client, request, loader, url: remote.url.clone(), main_file_name: main })
    }

    async fn fetch(&self, tag: Option<&str>) -> Result<Option<Document>, HttpError> {
        self.client.fetch(&self.request, tag).await
    }

    /// Loads the rules from the fetched bytes with `loader`. Blocks the thread.
    ///
    /// # Errors
    /// As for [`SourceLoader::load`].
    fn load(&self, loader: &SourceLoader, bytes: Vec<u8>) -> Result<LoadedRules, WatchError> {
        loader.load(Path::new(&self.url), &self.main_file_name, Ok(bytes), &NoFurtherFiles)
    }

    /// Loads a new version of the rules, while requests are decided by an earlier version.
    ///
    /// # Errors
    /// As for [`SourceLoader::load`], or if loading panics.
    async fn load_new_version(self: &Arc<Self>, bytes: Vec<u8>) -> Result<LoadedRules, WatchError> {
        let fetcher = self.clone();
        self.loader.load_during_decisions(move |loader| fetcher.load(loader, bytes)).await?
    }
}

/// The loader of the files that fetched rules import. There are none, so an import fails.
struct NoFurtherFiles;

impl Loader for NoFurtherFiles {
    fn load(&self, _: &str) -> Result<Vec<u8>, LoadError> {
        Err(LoadError::NotFound)
    }
}

/// The version of the rules that was fetched last, whether it is in force or not.
struct LastFetchedRules {
    entity_tag: Option<String>,
    content_hash: [u8; 32],
    /// Why the version that was fetched last is not in force; `None` if it is.
    refusal_reason: Option<String>,
}

/// Fetches and loads the rules of an address as the rule set `set_name`. Then starts a task that
/// regularly asks the address for new versions.
pub(super) async fn open_remote_rules(
    set_name: &str,
    remote: &RemoteSource,
    document: DocumentOptions,
    loaders: &RulesLoadingContext<'_>,
) -> Result<Arc<RuleSet>, StartError> {
    let to_error = |why: Message| StartError::Address(remote.url.clone(), why);
    let fetcher = Arc::new(RulesFetcher::new(remote, document, loaders).map_err(to_error)?);
    let document = fetcher.fetch(None).await.map_err(|error| to_error(error.to_message()))?;
    let Document { bytes, tag } = document.ok_or_else(|| to_error(message!("it has no rules")))?;
    let seen = LastFetchedRules {
        entity_tag: tag,
        content_hash: Sha256::digest(&bytes).into(),
        refusal_reason: None,
    };
    let first = fetcher.clone();
    let rules = tokio::task::spawn_blocking(move || first.load(&first.loader, bytes)).await;
    let rules = rules.unwrap_or_else(|panic| Err(panic.into()));
    let rules = rules.map_err(|error| StartError::from_watch_error(Path::new(&remote.url), error))?;
    let set = Arc::new(loaders.create_rule_set(set_name, rules, fetcher.main_file_name.clone(), None)?);
    let check_signal = Arc::new(Notify::new());
    let poll =
        poll_address(Arc::downgrade(&set), fetcher, seen, remote.request_interval, check_signal.clone());
    let task = tokio::spawn(poll).abort_handle();
    let _ = set.feed.set(SourceFeed::new(move || check_signal.notify_one(), task));
    Ok(set)
}

/// Returns the pause before the next request. It is `interval`, doubled for each of the last
/// `failures` requests, which failed, and shortened at random by at most a quarter. The maximum is
/// [`MAX_FETCH_PAUSE`], or `interval` if it is longer.
fn pause_before_next_fetch(interval: Duration, failures: u32) -> Duration {
    let doubled = interval.saturating_mul(2_u32.saturating_pow(failures));
    with_jitter(doubled.min(MAX_FETCH_PAUSE.max(interval)))
}

/// Regularly asks for a new version of the rules, and loads it into the rule set. Ends when the
/// rule set is dropped. A notification of `check_signal` causes a request at once.
async fn poll_address(
    set: Weak<RuleSet>,
    fetcher: Arc<RulesFetcher>,
    mut seen: LastFetchedRules,
    interval: Duration,
    check_signal: Arc<Notify>,
) {
    let mut failures = 0;
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause_before_next_fetch(interval, failures)) => {}
            () = check_signal.notified() => {}
        }
        let fetched = fetcher.fetch(seen.entity_tag.as_deref()).await;
        let Some(set) = set.upgrade() else { return };
        let document = match fetched {
            Err(error) => {
                failures += 1;
                set.note_failed_fetch(error.to_string());
                continue;
            }
            Ok(document) => document,
        };
        failures = 0;
        let hash = document.as_ref().map(|document| <[u8; 32]>::from(Sha256::digest(&document.bytes)));
        match document.zip(hash) {
            Some((document, hash)) if hash != seen.content_hash => {
                set.note_fetch(true);
                let loaded = fetcher.load_new_version(document.bytes).await;
                let refusal = loaded.as_ref().err().map(ToString::to_string);
                seen = LastFetchedRules {
                    entity_tag: document.tag,
                    content_hash: hash,
                    refusal_reason: refusal.clone(),
                };
                set.apply_source_change(loaded.ok(), refusal).await;
            }
            unchanged => {
                if let Some((document, _)) = unchanged {
                    seen.entity_tag = document.tag;
                }
                set.note_fetch(false);
                set.note_source_reached(seen.refusal_reason.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_must_be_safe() {
        let check = |url: &str, token: bool, requires_signature: bool| {
            let token = token.then(|| Secret::new("secret"));
            check_address(&RemoteSource { token, ..RemoteSource::new(url) }, requires_signature).is_ok()
        };
        for url in
            ["https://rules.example/a", "http://127.0.0.1:80/a", "http://[::1]/a", "http://localhost/a"]
        {
            assert!(check(url, true, false), "{url}");
        }
        let open = "http://rules.example/a";
        assert!(!check(open, false, false) && !check(open, true, true) && check(open, false, true));
        assert!(!check("http://127.0.0.1.example/a", false, false) && !check("", false, false));
    }

    #[test]
    fn pauses_grow_after_failures() {
        let second = Duration::from_secs(1);
        for (interval, failures, longest) in
            [(second, 0, 1), (second, 1, 2), (second, 3, 8), (second, 40, 600), (second * 3600, 5, 3600)]
        {
            let longest = second * longest;
            let pause = pause_before_next_fetch(interval, failures);
            assert!(pause <= longest && pause >= longest.mul_f64(0.74), "{failures}: {pause:?}");
        }
    }
}
