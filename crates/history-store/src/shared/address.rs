//! The address of a history at a Redis server: the address of the server, and the name of the
//! history.

use percent_encoding::percent_decode_str;
use redis::{ConnectionInfo, IntoConnectionInfo};
use rulec::history::StoreError;

/// The address of a history at a server: `redis://[USER][:PASSWORD@]HOST[:PORT][/DATABASE][#NAME]`.
#[derive(Clone)]
pub struct SharedAddress {
    pub(super) connection_info: ConnectionInfo,
    history_name: Option<String>,
}

// Does not show the password.
impl std::fmt::Debug for SharedAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedAddress({:?} at {})", self.history_name, self.server_address())
    }
}

impl SharedAddress {
    /// Parses an address.
    ///
    /// # Errors
    /// If the text is no address, or asks for TLS. The error does not contain the password.
    pub fn parse(text: &str) -> Result<SharedAddress, StoreError> {
        let (url, name) = match text.split_once('#') {
            Some((url, name)) => (url, Some(name).filter(|name| !name.is_empty())),
            None => (text, None),
        };
        let scheme = url.split("://").next().unwrap_or_default();
        // Another text than a scheme may contain the password.
        let is_scheme = scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+');
        let start = if is_scheme { format!(", which begins with `{scheme}:`,") } else { String::new() };
        let refused = |reason: &str| {
            let form = "write redis://HOST:PORT/DATABASE#NAME or redis+unix:///PATH#NAME";
            Err(StoreError(format!("the address of the history{start} {reason}; {form}")))
        };
        if name.is_some_and(|name| name.contains('@')) {
            return refused(
                "has an `@` after `#`: in a password, write `#` as `%23`, and in a name `@` as `%40`",
            );
        }
        if matches!(scheme, "rediss" | "valkeys") {
            return refused("asks for TLS, which is not supported (a tunnel such as stunnel adds it)");
        }
        // The error of the parser can contain a part of the password, so it is not shown.
        match url.into_connection_info() {
            Ok(info) => Ok(SharedAddress {
                connection_info: info,
                history_name: name.map(|name| percent_decode_str(name).decode_utf8_lossy().into_owned()),
            }),
            Err(_) => refused("is no address of a Redis server"),
        }
    }

    /// Sets the password, unless the address already has a password.
    #[must_use]
    pub fn with_password(self, password: &str) -> SharedAddress {
        let settings = self.connection_info.redis_settings().clone();
        if settings.password().is_some() {
            return self;
        }
        SharedAddress {
            connection_info: self.connection_info.set_redis_settings(settings.set_password(password)),
            ..self
        }
    }

    /// Sets the name of the history, unless the address already has a name.
    #[must_use]
    pub fn with_name(self, name: &str) -> SharedAddress {
        let named = Some(name.to_owned()).filter(|name| !name.is_empty());
        SharedAddress { history_name: self.history_name.or(named), ..self }
    }

    /// Returns the name of the history. `None` if the address has none.
    pub fn name(&self) -> Option<&str> {
        self.history_name.as_deref()
    }

    /// Returns the address of the server without user and password.
    pub(super) fn server_address(&self) -> String {
        let database = self.connection_info.redis_settings().db();
        match self.connection_info.addr() {
            redis::ConnectionAddr::Unix(path) => format!("redis+unix://{}?db={database}", path.display()),
            address => format!("redis://{address}/{database}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_name_and_shows_no_password() {
        let address = SharedAddress::parse("redis://ann:secret@localhost:7000/2#shop").expect("an address");
        assert_eq!(
            (address.name(), address.server_address().as_str()),
            (Some("shop"), "redis://localhost:7000/2")
        );
        assert!(!format!("{address:?}").contains("secret"));
        assert_eq!(address.with_name("other").name(), Some("shop"));
        let address = SharedAddress::parse("redis://localhost").expect("an address");
        assert_eq!((address.name(), address.server_address().as_str()), (None, "redis://localhost:6379/0"));
        let with_password = address.with_password("word").with_name("shop");
        assert_eq!(with_password.connection_info.redis_settings().password(), Some("word"));
        assert_eq!(with_password.name(), Some("shop"));
    }

    #[test]
    fn a_wrong_address_is_refused_without_its_password() {
        for (wrong, reason) in [
            ("rediss://:secret@localhost", "TLS"),
            ("http://:secret@localhost", "no address of a Redis server"),
            ("redis://:secret@localhost/first", "no address of a Redis server"),
            ("redis://localhost/first", "no address of a Redis server"),
            ("redis://:secret@localhost:99999", "no address of a Redis server"),
        ] {
            let StoreError(error) = SharedAddress::parse(wrong).expect_err("it is wrong");
            assert!(error.contains(reason) && error.contains("redis://HOST"), "{wrong}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }
}
