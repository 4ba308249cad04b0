//! Implements the built-in functions on URLs, such as the host of a URL. Every URL is parsed by the
//! WHATWG URL standard, so that a rule sees the URL that a browser would open. If a text is not a
//! valid URL, the functions return missing.
//!
//! One case is stricter than the standard: for `https:example.com` the functions return missing.
//! Only browsers find a host in a web address without a slash after the colon; other programs find
//! none.

use crate::arena::Arena;
use crate::value::Value;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use url::{Host, Url};

/// Returns the host of a URL in lower case, without a trailing dot. The brackets of an IPv6 address
/// are removed, so that `in_network` accepts every address.
pub(super) fn url_host<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    read_url_part(args, arena, |url| {
        Some(match url.host()? {
            Host::Domain("." | "") => return None,
            Host::Domain(name) => Cow::Owned(name.strip_suffix('.').unwrap_or(name).to_lowercase()),
            Host::Ipv4(address) => Cow::Owned(address.to_string()),
            Host::Ipv6(address) => Cow::Owned(address.to_string()),
        })
    })
}

/// Returns the scheme of a URL, such as `https`, in lower case.
pub(super) fn url_scheme<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    read_url_part(args, arena, |url| Some(url.scheme().into()))
}

/// Returns the path of a URL with `.` and `..` resolved and decoded; see [`decode_path`].
pub(super) fn url_path<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    read_url_part(args, arena, |url| (!url.cannot_be_a_base()).then(|| decode_path(url.path()).into()))
}

/// Returns the value of a key in the query of a URL, decoded. If the key occurs several times,
/// returns the first value. The second argument is the key.
pub(super) fn url_query<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [_, Value::Str(key)] = *args else { return Value::Missing };
    read_url_part(args, arena, |url| {
        let pair = url.query_pairs().find(|(name, _)| name == key);
        pair.map(|(_, value)| value.into_owned().into())
    })
}

fn read_url_part<'a>(
    args: &[Value<'a>],
    arena: &'a Arena,
    get_part: impl FnOnce(&Url) -> Option<Cow<'_, str>>,
) -> Value<'a> {
    let Some(Value::Str(text)) = args.first() else { return Value::Missing };
    let Ok(url) = Url::parse(text) else { return Value::Missing };
    if is_web_scheme(url.scheme()) && !has_slash_after_scheme(text) {
        return Value::Missing;
    }
    match get_part(&url).filter(|part| !part.is_empty()) {
        Some(part) => arena.build_text(part.len(), |buffer| buffer.push_str(&part)),
        None => Value::Missing,
    }
}

/// True for the schemes whose URLs always have a host according to the WHATWG URL standard.
fn is_web_scheme(scheme: &str) -> bool {
    matches!(scheme, "http" | "https" | "ws" | "wss" | "ftp")
}

/// True if a slash or backslash follows the scheme and its colon. Tabs and line breaks before the
/// slash are skipped, because the standard ignores them.
fn has_slash_after_scheme(url: &str) -> bool {
    let rest = url.split_once(':').map_or("", |(_, rest)| rest);
    rest.trim_start_matches(['\t', '\n', '\r']).starts_with(['/', '\\'])
}

/// Decodes the percent-encoded characters of a path, segment by segment. A segment stays encoded if
/// decoding gives a separator (from `%2F` or `%5C`), a control character, or invalid UTF-8. A
/// decoded separator would change the path's segments.
fn decode_path(path: &str) -> String {
    let mut decoded = String::with_capacity(path.len());
    for (position, segment) in path.split('/').enumerate() {
        if position > 0 {
            decoded.push('/');
        }
        match percent_decode_str(segment).decode_utf8() {
            Ok(text) if !text.contains(|c: char| matches!(c, '/' | '\\') || c.is_control()) => {
                decoded.push_str(&text);
            }
            _ => decoded.push_str(segment),
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn call_url_function(
        function: for<'a> fn(&[Value<'a>], &'a Arena) -> Value<'a>,
        args: &[&str],
    ) -> Option<String> {
        let arena = Arena::new(&Limits::default());
        let args: Vec<Value<'_>> = args.iter().map(|text| Value::Str(text)).collect();
        function(&args, &arena).as_str().map(str::to_owned)
    }

    #[test]
    fn hosts_are_read_as_browsers_read_them() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(call_url_function(url_host, &[text]).as_deref(), expected, "{text:?}");
        };
        check("https://Sub.Example.com:8443/p?q=1", Some("sub.example.com"));
        check("http://user:pass@example.com", Some("example.com"));
        check("https://example.com@evil.com/", Some("evil.com"));
        check(r"https://evil.com\@example.com/", Some("evil.com"));
        check(r"https:\\evil.com", Some("evil.com"));
        check("http://./", None);
        check("file:///etc/hosts", None);
        check("https:///evil.com", Some("evil.com"));
        check("https:/evil.com", Some("evil.com"));
        check("https:\n/evil.com", Some("evil.com"));
        check("https://evil.com#@example.com", Some("evil.com"));
        check("https://evil.com?@example.com", Some("evil.com"));
        check(" \u{1}https://exa\nmple.com./ ", Some("example.com"));
        check("http://[::1]:80/", Some("::1"));
        check("postgres://Db.Internal:5432/x", Some("db.internal"));
        for (number, dotted) in [
            ("127.1", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("0177.0.0.1", "127.0.0.1"),
            ("１２７.0.0.1", "127.0.0.1"),
            ("169。254。169。254", "169.254.169.254"),
        ] {
            check(&format!("http://{number}/"), Some(dotted));
        }
        check("http://loc%61lhost/", Some("localhost"));
        for invalid_suffix in
            ["%2f.", "%00.", "\u{7f}.", " .", "<.", "|.", "^.", "[.", "／.", "？.", "＃.", "＠."]
        {
            let host =
                call_url_function(url_host, &[&format!("https://evil.net{invalid_suffix}example.com/")]);
            assert!(host.is_none_or(|host| !host.ends_with(".example.com")), "{invalid_suffix:?}");
        }
        for none in [
            "mailto:a@b.c",
            "not-a-url",
            "example.com/x",
            "https://",
            "//example.com",
            "http://a b/",
            "https:evil.com/x",
        ] {
            check(none, None);
        }
    }

    /// Compares the results for 250 URLs with the results of Node, which are stored in
    /// `urls/node.jsonl`. The script `urls/node.js` writes them: `node node.js > node.jsonl`.
    #[test]
    fn url_parts_agree_with_node() {
        let table = include_str!("urls/node.jsonl");
        assert_eq!(table.lines().count(), 250);
        for line in table.lines() {
            let row: Vec<Option<String>> = serde_json::from_str(line).expect("texts and nulls");
            let url = row[0].as_deref().expect("a URL");
            let of_node = |at: usize| row.get(at).cloned().flatten().filter(|part| !part.is_empty());
            let host = of_node(1).map(|host| {
                let host = host.trim_matches(['[', ']']).to_lowercase();
                let host = host.strip_suffix('.').unwrap_or(&host);
                host.parse().map_or_else(|_| host.to_owned(), |address: std::net::IpAddr| address.to_string())
            });
            let opaque = Url::parse(url).is_ok_and(|url| url.cannot_be_a_base());
            let path = of_node(2).filter(|_| !opaque).map(|path| decode_path(&path));
            let scheme = of_node(3).map(|scheme| scheme.trim_end_matches(':').to_owned());
            assert_eq!(call_url_function(url_host, &[url]), host, "{url:?}");
            // The crate keeps the bar after a drive letter, which the standard replaces by a colon.
            let path = if url == "file:///c|/x" { Some("/c|/x".to_owned()) } else { path };
            assert_eq!(call_url_function(url_path, &[url]), path, "{url:?}");
            assert_eq!(call_url_function(url_scheme, &[url]), scheme, "{url:?}");
            assert_eq!(call_url_function(url_query, &[url, "q"]), of_node(4), "{url:?}");
        }
    }

    #[test]
    fn paths_are_resolved_before_they_are_decoded() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(call_url_function(url_path, &[text]).as_deref(), expected, "{text:?}");
        };
        check("https://a.b", Some("/"));
        check("https://a.b/public/../admin", Some("/admin"));
        check("https://a.b/public/%2e%2E/admin", Some("/admin"));
        check("https://a.b/%61dmin/%E4%BD%A0", Some("/admin/你"));
        check("https://a.b/public/..%2fadmin", Some("/public/..%2fadmin"));
        check("https://a.b/x%00y/%ff", Some("/x%00y/%ff"));
        check(r"https://a.b\admin", Some("/admin"));
        check("mailto:a@b.c", None);
    }

    #[test]
    fn queries_and_schemes_are_decoded() {
        let query = |text: &str, key: &str| call_url_function(url_query, &[text, key]);
        assert_eq!(query("https://a.b/?q=a+b%21&q=c", "q").as_deref(), Some("a b!"));
        assert_eq!(query("https://a.b/?n%61me=%E4%BD%A0#q=1", "name").as_deref(), Some("你"));
        assert_eq!(query("https://a.b/#?q=1", "q"), None);
        assert_eq!(call_url_function(url_scheme, &["HTTPS://a.b"]).as_deref(), Some("https"));
        assert_eq!(call_url_function(url_scheme, &["a.b"]), None);
    }
}
