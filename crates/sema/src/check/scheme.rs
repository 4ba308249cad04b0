//! Warns about an address that is called but begins with no scheme, as in
//! `endpoint: { url: "flows.example.com/run" }`.

use super::Checker;
use super::doubtful::is_domain;
use rulec_base::diag::{Code, Diagnostic, nearest};
use rulec_base::message;
use rulec_syntax::ast;
use rulec_syntax::write::quote_string;

/// The schemes of addresses that an HTTP client calls.
const CALLED_SCHEMES: [&str; 2] = ["https", "http"];

/// Endings of file names, which look like the end of a host name.
const FILE_ENDINGS: [&str; 8] = ["json", "yaml", "yml", "toml", "txt", "csv", "py", "sh"];

impl Checker<'_> {
    /// Warns about each address without a scheme in the settings of a flow tool or of a workflow
    /// node. An address is the value of a key such as `url`.
    pub(super) fn warn_addresses_without_scheme(&mut self, key: &str, value: &ast::Expr) {
        match &value.kind {
            ast::ExprKind::Record(entries) => {
                entries.iter().for_each(|(key, value)| self.warn_addresses_without_scheme(&key.node, value));
            }
            ast::ExprKind::Literal(ast::Literal::String(text)) if is_address_key(key) => {
                let Some(meant) = add_scheme(text) else { return };
                let (scheme, _) = meant.split_once("://").unwrap_or_default();
                let message = match text.to_lowercase().contains("ttp") || text.contains("://") {
                    true => message!("this address does not begin with `{scheme}://`"),
                    false => message!("this address has no scheme, so no program can call it"),
                };
                let meant = quote_string(&meant);
                let diagnostic = Diagnostic::new(Code::NoScheme, value.span, message);
                let diagnostic = diagnostic.help(message!("write {meant}")).likely_fix(value.span, meant);
                self.diagnostics.push(diagnostic);
            }
            _ => {}
        }
    }
}

/// True for the name of a setting that contains an address which a program calls.
fn is_address_key(key: &str) -> bool {
    let key = key.to_lowercase();
    matches!(key.as_str(), "url" | "uri" | "webhook") || key.ends_with("_url") || key.ends_with("_uri")
}

/// Returns an address with the scheme that its author left out or misspelt. `None` for an address
/// with a scheme, a relative address, or a text that may be something else.
fn add_scheme(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("//") {
        return starts_with_host(rest).then(|| format!("https://{rest}"));
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        let lower = scheme.to_lowercase();
        let is_known = CALLED_SCHEMES.contains(&lower.as_str());
        let near = nearest(&lower, CALLED_SCHEMES).filter(|_| !is_known)?;
        // `ftp` is another scheme, and `htp` a typing error.
        let is_misspelt = lower.starts_with('h') || lower.ends_with("ttp") || lower.ends_with("ttps");
        return (is_misspelt && !lower.contains('+')).then(|| format!("{near}://{rest}"));
    }
    for scheme in CALLED_SCHEMES {
        let rest = text.strip_prefix(scheme).filter(|rest| rest.starts_with([':', '/', ';', '：']));
        if let Some(rest) = rest.map(|rest| rest.trim_start_matches([':', '/', ';', '：'])) {
            return starts_with_host(rest).then(|| format!("{scheme}://{rest}"));
        }
    }
    let is_file =
        FILE_ENDINGS.iter().any(|ending| text.rsplit_once('.').is_some_and(|(_, last)| last == *ending));
    if !starts_with_host(text) || is_file && !text.contains('/') {
        return None;
    }
    let is_own_machine = text.starts_with("localhost") || text.starts_with(|c: char| c.is_ascii_digit());
    Some(format!("{}://{text}", if is_own_machine { "http" } else { "https" }))
}

/// True if an address without its scheme begins with a host: a domain, an IPv4 address, or a name
/// with the number of a port.
fn starts_with_host(text: &str) -> bool {
    let authority = &text[..text.find(['/', '?', '#']).unwrap_or(text.len())];
    let (host, port) = authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    let is_ip = host.split('.').count() == 4 && host.split('.').all(is_number);
    match port {
        Some(port) => is_number(port) && is_name(host),
        None => host == "localhost" || is_ip || is_domain(host),
    }
}

#[cfg(test)]
mod tests {
    use super::add_scheme;

    #[test]
    fn schemes_are_added_to_hosts_only() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(add_scheme(text).as_deref(), expected, "{text}");
        };
        check("flows.example.com/run", Some("https://flows.example.com/run"));
        check("//flows.example.com/run", Some("https://flows.example.com/run"));
        check("localhost:8080/run", Some("http://localhost:8080/run"));
        check("flows:8080", Some("https://flows:8080"));
        check("10.0.0.1/run", Some("http://10.0.0.1/run"));
        check("https:/flows.example.com", Some("https://flows.example.com"));
        check("https//flows.example.com", Some("https://flows.example.com"));
        check("https：//flows.example.com", Some("https://flows.example.com"));
        check("htps://flows.example.com", Some("https://flows.example.com"));
        check("www.example.com?a=1", Some("https://www.example.com?a=1"));
        for right in [
            "https://flows.example.com/run",
            "http://localhost",
            "{base}/run",
            "${HOST}/run",
            "/run",
            "./run",
            "ftp://example.com",
            "unix:/run/flows.sock",
            "mailto:a@example.com",
            "run",
            "flows.json",
            "",
            "grpc://flows:50051",
            "HTTPS://example.com",
            "data:text/plain,a",
        ] {
            check(right, None);
        }
    }
}
