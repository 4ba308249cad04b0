//! Reads and compares versions such as `1.2.3-beta.1`, for rules that depend on the version of a
//! client. The order is the order of semantic versioning. The variants `v1.2.3`, `1.2` and
//! `2026.01` are accepted too. A leading `v`, missing trailing numbers and leading zeros do not
//! affect the order. The suffix after `+` names a build and is ignored.

use semver::{BuildMetadata, Prerelease, Version};
use std::cmp::Ordering;

/// Maximum length of a version in bytes, which bounds the time of a comparison. A longer text is
/// not a version.
pub const MAX_VERSION_BYTES: usize = 256;

/// Parses a version and drops its build suffix (the text after `+`). White space around the version
/// is ignored. Returns `None` if the text is not a version.
pub fn parse_version(text: &str) -> Option<Version> {
    let text = text.trim();
    if text.len() > MAX_VERSION_BYTES {
        return None;
    }
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let (text, build) = text.split_once('+').unwrap_or((text, ""));
    let (numbers, pre) = text.split_once('-').map_or((text, None), |(numbers, pre)| (numbers, Some(pre)));
    BuildMetadata::new(build).ok()?;
    let pre = match pre {
        Some("") => return None,
        Some(pre) => Prerelease::new(pre).ok()?,
        None => Prerelease::EMPTY,
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten()
    };
    let mut numbers = numbers.split('.').map(number);
    let major = numbers.next()??;
    let (minor, patch) = (numbers.next().unwrap_or(Some(0))?, numbers.next().unwrap_or(Some(0))?);
    match numbers.next() {
        Some(_) => None,
        None => Some(Version { pre, ..Version::new(major, minor, patch) }),
    }
}

/// Compares two versions that have exactly three numbers, such as `1.2.0` or `1.2.0-beta.1`. The
/// `Display` form of a [`Version`] from [`parse_version`] is such a text. `None` if one of the
/// texts is not.
pub fn compare_versions(left: &str, right: &str) -> Option<Ordering> {
    Some(Version::parse(left).ok()?.cmp(&Version::parse(right).ok()?))
}

/// The smallest version in the order of versions: every other version is greater or equal to it.
pub const SMALLEST_VERSION: &str = "0.0.0-0";

/// Returns the smallest version that is greater than `text` in the order of versions. `None` if the
/// text is not a version, or if its numbers or its length are too large.
pub fn next_version(text: &str) -> Option<String> {
    let version = parse_version(text)?;
    let next = match version.pre.is_empty() {
        true => format!("{}.{}.{}-0", version.major, version.minor, version.patch.checked_add(1)?),
        false => format!("{version}.0"),
    };
    (next.len() <= MAX_VERSION_BYTES).then_some(next)
}

/// Returns up to two releases (versions without a suffix such as `-beta`) near a version: one above
/// and one below. The list is empty if the text is not a version.
pub fn neighbouring_releases(text: &str) -> Vec<String> {
    let Some(version) = parse_version(text) else { return Vec::new() };
    let above = version.patch.checked_add(1).map(|patch| Version::new(version.major, version.minor, patch));
    let below = match (version.major, version.minor, version.patch) {
        (0, 0, 0) => None,
        (major, 0, 0) => Some(Version::new(major - 1, 0, 0)),
        (major, minor, 0) => Some(Version::new(major, minor - 1, 0)),
        (major, minor, patch) => Some(Version::new(major, minor, patch - 1)),
    };
    above.into_iter().chain(below).map(|version| version.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_version_lies_between_a_version_and_the_next() {
        for (version, next, above) in [
            ("1.2.3", "1.2.4-0", "1.2.4-0.0"),
            ("1.2.4-0", "1.2.4-0.0", "1.2.4-0.0.0"),
            ("v2-rc", "2.0.0-rc.0", "2.0.0-rc.1"),
            (SMALLEST_VERSION, "0.0.0-0.0", "0.0.0-1"),
        ] {
            assert_eq!(next_version(version).as_deref(), Some(next));
            assert_eq!(compare_version_texts(version, next), Some(Ordering::Less));
            assert_eq!(compare_version_texts(next, above), Some(Ordering::Less));
        }
        assert_eq!(next_version("x"), None);
        assert_eq!(neighbouring_releases("1.10"), ["1.10.1", "1.9.0"]);
        assert_eq!(neighbouring_releases("2-rc"), ["2.0.1", "1.0.0"]);
        assert_eq!(neighbouring_releases("0"), ["0.0.1"]);
    }

    fn compare_version_texts(left: &str, right: &str) -> Option<Ordering> {
        let text = |written: &str| parse_version(written).map(|version| version.to_string());
        compare_versions(&text(left)?, &text(right)?)
    }

    /// Checks orders of versions on which the test suites of the feature-flag systems GrowthBook
    /// and Unleash agree.
    #[test]
    fn versions_are_ordered_as_other_systems_do() {
        for (less, greater) in [
            ("0.9.99", "1.0.0"),
            ("0.9.0", "0.10.0"),
            ("1.0.0-0.0", "1.0.0-0.0.0"),
            ("1.0.0-9999", "1.0.0--"),
            ("1.0.0-99", "1.0.0-100"),
            ("1.0.0-alpha", "1.0.0-alpha.1"),
            ("1.0.0-alpha.1", "1.0.0-alpha.beta"),
            ("1.0.0-beta.2", "1.0.0-beta.11"),
            ("1.0.0-rc.1", "1.0.0"),
            ("1.0.0-1.0", "1.0.0-1.-1"),
            ("0.0.0-foo", "v0.0.0"),
            ("1.2.3-4-foo", "1.2.3"),
            ("1.2.3-5-Foo", "1.2.3-5-foo"),
            ("2.7.2+asdf", "3.0.0"),
            ("1.2.3-r100", "1.2.3-r2"),
            ("9999.0.0", "10000.0.0"),
            ("2.0.0-alpha.1", "2.0.0-beta.1"),
            ("1.9.1-beta.1", "2.0.0-alpha.1"),
        ] {
            assert_eq!(compare_version_texts(less, greater), Some(Ordering::Less), "{less} < {greater}");
            assert_eq!(compare_version_texts(greater, less), Some(Ordering::Greater), "{greater} > {less}");
        }
        for (left, right) in [
            ("1.2.3", "v1.2.3"),
            ("1.2.3-beta+build", "v1.2.3-beta+otherbuild"),
            ("1.2", "1.2.0"),
            ("2", "2.0.0"),
            ("2026.01.05", "2026.1.5"),
            ("1.2-rc.1", "1.2.0-rc.1"),
            (" 2.0.0", "2.0.0\n"),
        ] {
            assert_eq!(compare_version_texts(left, right), Some(Ordering::Equal), "{left} == {right}");
        }
    }

    #[test]
    fn texts_that_are_not_versions_are_refused() {
        let long = format!("1.2.3-{}", "a".repeat(MAX_VERSION_BYTES));
        for text in [
            "",
            "v",
            "x",
            "a.b.c",
            "1.",
            ".1",
            "1..2",
            "1.2.3.4",
            "-1",
            "+1",
            "1.2.3-",
            "1.2.3-a..b",
            "1.2.3-01",
            "1. 2",
            "vv1",
            "1.2.x",
            "99999999999999999999",
            "1.2.3+ä",
            &long,
        ] {
            assert_eq!(parse_version(text), None, "{text}");
        }
    }
}
