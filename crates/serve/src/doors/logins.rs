//! The studio (the web page for rule authors) as a part of the decision service, and the logins of
//! the browsers that use it.

use crate::problem::Problem;
use crate::rules::{RuleSet, StartError};
use crate::service::Service;
use axum::Router;
use rulec::DiskLoader;
use rulec_studio::{LiveRuleSet, router_of_service};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The path of the studio's page, without the last slash. The paths below it also belong to the
/// studio.
pub(super) const STUDIO_PATH: &str = "/studio";
/// The name of the cookie whose value is the id of a login.
pub(super) const LOGIN_COOKIE: &str = "rulec-login";
/// Maximum number of logins at the same time. A further login ends the oldest one.
const MAX_LOGINS: usize = 256;
/// Time after which a login ends: 12 hours.
const LOGIN_LIFETIME: Duration = Duration::from_secs(12 * 60 * 60);

/// The current logins of browsers in the studio, oldest first.
#[derive(Default)]
pub(crate) struct StudioLogins(Mutex<VecDeque<StudioLogin>>);

struct StudioLogin {
    /// The random id of the login, which is the value of its cookie.
    id: String,
    /// The hash of the token with which the browser logged in. Each request looks up the hash
    /// again, because the token may be removed from the token file.
    token_hash: String,
    expires_at: Instant,
}

impl StudioLogins {
    /// Adds a login. `token` is the hash of the token with which the user has logged in. Returns
    /// the id of the login, which is the value of its cookie.
    pub fn add(&self, token: String) -> Result<String, Problem> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| Problem::broken(format!("there are no random numbers: {error}")))?;
        let id: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut logins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        logins.push_back(StudioLogin {
            id: id.clone(),
            token_hash: token,
            expires_at: Instant::now() + LOGIN_LIFETIME,
        });
        if logins.len() > MAX_LOGINS {
            logins.pop_front();
        }
        Ok(id)
    }

    /// Returns the hash of the token that belongs to the login `id`. `None` if there is no such
    /// login, or if it has ended.
    pub fn token_hash(&self, id: &str) -> Option<String> {
        let mut logins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        logins.retain(|login| login.expires_at > Instant::now());
        // The ids are random and long, so the duration of a comparison reveals none.
        logins.iter().find(|login| login.id == id).map(|login| login.token_hash.clone())
    }

    pub fn remove(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|login| login.id != id);
    }
}

/// A rule set of the service, with the methods by which the studio reads its active rules.
struct RulesInForce(Arc<RuleSet>);

impl LiveRuleSet for RulesInForce {
    fn name(&self) -> String {
        self.0.name().to_owned()
    }

    fn main_file_name(&self) -> String {
        self.0.files().main_file.clone()
    }

    fn generation(&self) -> u64 {
        self.0.generation()
    }

    fn named_texts(&self) -> Vec<(String, String)> {
        self.0.version_and_texts().map(|(_, texts)| texts).unwrap_or_default()
    }

    fn other_file_loader(&self) -> Option<DiskLoader> {
        self.0.files().disk.clone()
    }
}

/// The studio (the web page for rule authors) of a service, and the logins of the browsers that use
/// it.
pub(crate) struct StudioDoor {
    /// The HTTP routes of the studio. They are replaced when rule sets are added or removed.
    studio_router: Mutex<Router>,
    pub logins: StudioLogins,
    /// Whether the service has TLS. If so, the cookie is marked `Secure`, so that browsers send it
    /// only over TLS.
    has_tls: bool,
}

impl StudioDoor {
    /// Creates the studio of a service, without logins.
    ///
    /// # Errors
    /// If the system has no random numbers or no folder for temporary files.
    pub fn open(service: &Service, has_tls: bool) -> Result<StudioDoor, StartError> {
        let studio = Mutex::new(build_studio_router(service)?);
        Ok(StudioDoor { studio_router: studio, logins: StudioLogins::default(), has_tls })
    }

    pub fn studio_router(&self) -> Router {
        self.studio_router.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the studio by one with the current rule sets of the service.
    ///
    /// # Errors
    /// As [`StudioDoor::open`].
    pub fn update_rule_sets(&self, service: &Service) -> Result<(), StartError> {
        let studio = build_studio_router(service)?;
        *self.studio_router.lock().unwrap_or_else(PoisonError::into_inner) = studio;
        Ok(())
    }

    /// Returns the `Set-Cookie` value for the login `id`. If `id` is empty, the value deletes the
    /// cookie.
    pub fn cookie_header_value(&self, id: &str) -> String {
        let seconds = if id.is_empty() { 0 } else { LOGIN_LIFETIME.as_secs() };
        let secure = if self.has_tls { "; Secure" } else { "" };
        format!(
            "{LOGIN_COOKIE}={id}; Path={STUDIO_PATH}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
        )
    }
}

fn build_studio_router(service: &Service) -> Result<Router, StartError> {
    let sets = service.sets();
    let rules = sets.iter().map(|set| Arc::new(RulesInForce(set.clone())) as Arc<dyn LiveRuleSet>);
    let studio = router_of_service(rules.collect(), service.limits().max_body_bytes);
    studio.map_err(|error| StartError::Options(error.to_message()))
}
