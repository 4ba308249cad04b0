//! Recognizes URLs, e-mail addresses, dates, times, amounts of money, phone numbers and numbers.
//! The crate `linkify` finds URLs and addresses. Each other entity has a recognizer: regular
//! expressions that find it, and a function that checks a match and normalizes its fields.

mod normalize;

use super::entity::{EntityFinder, EntityMatch};
use linkify::{LinkFinder, LinkKind};
use rulec_base::text::{automaton_state_count, is_word_char, parse_cached};
use serde_json::Map;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The names of the recognized entities. If two matches overlap, only the match whose entity comes
/// first in this list is returned.
pub const RECOGNIZED_ENTITIES: [&str; 7] = ["url", "email", "date", "time", "money", "phone", "number"];

/// A recognizer of one kind of entity, such as dates, that finds it by regular expressions.
struct Recognizer {
    name: &'static str,
    patterns: &'static [&'static str],
    /// Normalizes the fields of a match. The first argument is the whole text. Returns false if the
    /// match is not an entity of this kind, for example the date February 30.
    normalize: fn(&str, &mut EntityMatch) -> bool,
}

const RECOGNIZERS: [Recognizer; 5] = [
    Recognizer { name: "date", patterns: &DATE_PATTERNS, normalize: normalize::normalize_date },
    Recognizer { name: "time", patterns: &TIME_PATTERNS, normalize: normalize::normalize_time },
    Recognizer { name: "money", patterns: &MONEY_PATTERNS, normalize: normalize::normalize_money },
    Recognizer { name: "phone", patterns: &PHONE_PATTERNS, normalize: normalize::normalize_phone },
    Recognizer { name: "number", patterns: &NUMBER_PATTERNS, normalize: normalize::normalize_number },
];

/// Regular expression for a number with a decimal point, or with points between thousands and a
/// decimal comma.
macro_rules! number {
    () => {
        r"(?<amount>[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]{1,2}|[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?)"
    };
}

/// Regular expression for an amount of money. In addition to the notations of `number!`, it accepts
/// a decimal comma, or points between thousands only.
macro_rules! amount {
    () => {
        concat!(
            r"(?<amount>[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]{1,2}|[0-9]{1,3}(?:\.[0-9]{3}){2,}|",
            r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+,[0-9]{1,2}|[0-9]+(?:\.[0-9]+)?)"
        )
    };
}

/// Regular expression for Chinese units of large numbers.
macro_rules! chinese_scale {
    () => {
        "万亿|[十百千]?[万亿]"
    };
}

macro_rules! month_name {
    () => {
        concat!(
            r"(?<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|",
            r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
        )
    };
}

macro_rules! day {
    () => {
        r"(?<day>3[01]|[12][0-9]|0?[1-9])"
    };
}

/// Regular expressions for dates as people and programs write them. A regular expression without
/// groups finds a date that cannot be computed: `tomorrow` depends on the current day, and
/// `1/2/2026` on the order of day and month.
const DATE_PATTERNS: [&str; 9] = [
    concat!(r"(?<year>[12][0-9]{3})-(?<month>1[0-2]|0?[1-9])-", day!()),
    concat!(r"(?<year>[12][0-9]{3})/(?<month>1[0-2]|0?[1-9])/", day!()),
    concat!(r"(?<year>[12][0-9]{3})\.(?<month>1[0-2]|0?[1-9])\.", day!()),
    concat!(r"(?:(?<year>[12][0-9]{3}) ?年 ?)?(?<month>1[0-2]|0?[1-9]) ?月 ?", day!(), " ?[日号]"),
    concat!(day!(), r"(?:st|nd|rd|th)?(?: of)? ", month_name!(), r"\b(?:\.?,? (?<year>[12][0-9]{3}))?"),
    concat!(month_name!(), r"\.? ", day!(), r"(?:(?:st|nd|rd|th)\b)?(?:,? (?<year>[12][0-9]{3}))?"),
    r"(?<year>[12][0-9]{3}) ?年 ?(?<month>1[0-2]|0?[1-9]) ?月份?",
    r"(?:3[01]|[12][0-9]|0?[1-9])[./](?:3[01]|[12][0-9]|0?[1-9])[./][12][0-9]{3}",
    concat!(
        r"(?-u:\b)(?:today|tomorrow|yesterday|(?:(?:next|last|this) )?(?:mon|tues|wednes|thurs|fri|satur|sun)day)(?-u:\b)|",
        "大?[前后]天|[今明昨]天|[上下这本]?个?(?:周|星期|礼拜)[一二三四五六日天]"
    ),
];

macro_rules! part_of_day {
    () => {
        "(?:(?<part>凌晨|早上|上午|中午|下午|傍晚|晚上) ?)?"
    };
}

const TIME_PATTERNS: [&str; 3] = [
    concat!(
        part_of_day!(),
        r"(?<hour>2[0-3]|[01]?[0-9])[:：](?<minute>[0-5][0-9])(?:[:：](?<second>[0-5][0-9]))?(?: ?(?<half>[ap])\.?m\b\.?)?"
    ),
    r"(?<hour>1[0-2]|0?[1-9]) ?(?<half>[ap])\.?m\b\.?",
    concat!(
        part_of_day!(),
        "(?<hour>2[0-3]|1[0-9]|0?[0-9]) ?[点时]",
        "(?: ?(?<minute>[0-5]?[0-9]) ?分?|(?<quarter>半|一刻|三刻)|整)?"
    ),
];

const MONEY_PATTERNS: [&str; 2] = [
    concat!(
        r"(?<currency>us\$|hk\$|[$€£¥￥₹₩]|(?-u:\b)(?:usd|eur|gbp|cny|rmb|jpy|hkd|chf|cad|aud|inr)) ?",
        amount!(),
        r"(?: ?(?<scale>",
        chinese_scale!(),
        r"|千|(?:k|m|bn|thousand|million|billion)(?-u:\b)))?"
    ),
    concat!(
        amount!(),
        r" ?(?<scale>",
        chinese_scale!(),
        r"|千|(?:k|m|bn|thousand|million|billion)(?-u:\b))? ?",
        r"(?<currency>[$€£¥￥₹₩]|(?:usd|eur|gbp|cny|rmb|jpy|hkd|chf|cad|aud|inr|dollars?|euros?|pounds?|yuan)(?-u:\b)|",
        "元|块钱|块|人民币|美元|美金|欧元|英镑|日元|港币|港元)"
    ),
];

const PHONE_PATTERNS: [&str; 5] = [
    r"\+[1-9][0-9]{0,2}[-. ]?(?:\([0-9]{1,4}\)[-. ]?)?[0-9]{1,4}(?:[-. ]?[0-9]{2,4}){1,4}",
    r"1[3-9][0-9][- ]?[0-9]{4}[- ]?[0-9]{4}",
    r"0[0-9]{2,3}-[0-9]{7,8}(?:-[0-9]{1,5})?",
    r"\(0?[0-9]{2,3}\)[- ]?[0-9]{3,4}[-. ]?[0-9]{4}",
    r"[2-9][0-9]{2}[-.][0-9]{3}[-.][0-9]{4}",
];

const NUMBER_PATTERNS: [&str; 1] = [concat!(
    number!(),
    r"(?:e[-+]?[0-9]{1,3}| ?(?<scale>",
    chinese_scale!(),
    r"))?(?: ?(?<percent>[%％]))?"
)];

/// Regular expression for URLs whose host is an IPv6 address in brackets. The crate `linkify` does
/// not find these URLs.
const IPV6_URL_PATTERNS: [&str; 1] = [
    r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._~%!$&'*+,;=:-]+@)?\[(?<host>[0-9a-f:.]+)\](?::[0-9]{1,5})?(?:[/?#][!#-;=?-~]*)?",
];

static IPV6_URL_FINDER: LazyLock<EntityFinder> = LazyLock::new(|| EntityFinder::built_in(&IPV6_URL_PATTERNS));

/// The finders of the recognizers, whose regular expressions are compiled at first use.
static RECOGNIZER_FINDERS: LazyLock<[EntityFinder; 5]> =
    LazyLock::new(|| RECOGNIZERS.each_ref().map(|recognizer| EntityFinder::built_in(recognizer.patterns)));

/// Maximum work that all recognizers together do for each byte of text: the number of states of
/// their regular expressions.
pub static RECOGNIZER_WORK_PER_BYTE: LazyLock<u64> = LazyLock::new(|| {
    let patterns = RECOGNIZERS.iter().flat_map(|recognizer| recognizer.patterns).chain(&IPV6_URL_PATTERNS);
    patterns.map(|pattern| parse_cached(pattern, true).map_or(0, |hir| automaton_state_count(&hir))).sum()
});

/// Returns the recognized entities with their names, in the order of the text. `is_wanted` returns
/// false for a name that the rules declare as an entity of their own.
pub fn recognize_all(text: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<(&'static str, EntityMatch)> {
    // The matches do not overlap, so only the last one that begins before a new match ends can
    // overlap the new match.
    let mut by_start: BTreeMap<usize, (&'static str, EntityMatch)> = BTreeMap::new();
    let mut add = |name, one: EntityMatch| {
        let previous = by_start.range(..one.range.end).next_back();
        if previous.is_none_or(|(_, (_, previous))| previous.range.end <= one.range.start) {
            by_start.insert(one.range.start, (name, one));
        }
    };
    let links = find_links(text);
    if is_wanted("url") {
        // The links do not overlap, so only the last one before a URL can contain its start.
        let is_inside = |url: &EntityMatch| {
            let before = links.partition_point(|(_, link)| link.range.start < url.range.start);
            links[..before].last().is_some_and(|(_, link)| url.range.start < link.range.end)
        };
        find_ipv6_urls(text).filter(|url| !is_inside(url)).for_each(|url| add("url", url));
    }
    links.into_iter().filter(|(name, _)| is_wanted(name)).for_each(|(name, link)| add(name, link));
    for (Recognizer { name, normalize, .. }, finder) in RECOGNIZERS.iter().zip(&*RECOGNIZER_FINDERS) {
        if is_wanted(name) {
            let matches = finder.find_all(text).into_iter();
            matches
                .filter_map(|mut one| normalize(text, &mut one).then_some(one))
                .for_each(|one| add(name, one));
        }
    }
    by_start.into_values().collect()
}

/// Returns the URLs of a text whose host is an IPv6 address. Punctuation at the end of a URL is not
/// a part of it, and neither is a closing parenthesis that the URL does not open.
fn find_ipv6_urls(text: &str) -> impl Iterator<Item = EntityMatch> {
    IPV6_URL_FINDER.find_all(text).into_iter().filter_map(|mut one| {
        let host = one.fields.remove("host")?;
        host.as_str()?.parse::<std::net::Ipv6Addr>().ok()?;
        one.range.end = one.range.start + without_end_punctuation(&text[one.range.clone()]).len();
        Some(one)
    })
}

fn without_end_punctuation(url: &str) -> &str {
    let mut unopened = url.matches(')').count().saturating_sub(url.matches('(').count());
    let mut url = url;
    loop {
        url = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'']);
        match url.strip_suffix(')').filter(|_| unopened > 0) {
            Some(rest) => (url, unopened) = (rest, unopened - 1),
            None => return url,
        }
    }
}

/// Returns the URLs and e-mail addresses of a text. A URL has a scheme, or begins with `www.`. A
/// URL or e-mail address ends before Chinese and similar characters, which follow it without a
/// space.
fn find_links(text: &str) -> Vec<(&'static str, EntityMatch)> {
    let is_part = |c: char| c.is_ascii() || is_word_char(c);
    let mut finder = LinkFinder::new();
    finder.url_must_have_scheme(false);
    let (mut offset, mut links) = (0, Vec::new());
    for run in text.split_inclusive(|c: char| !is_part(c)) {
        let found = finder.links(run.trim_end_matches(|c: char| !is_part(c)));
        links.extend(found.filter_map(|link| {
            let name = match link.kind() {
                LinkKind::Email => "email",
                LinkKind::Url if is_certain_url(link.as_str()) => "url",
                _ => return None,
            };
            let range = offset + link.start()..offset + link.end();
            Some((name, EntityMatch { range, fields: Map::new() }))
        }));
        offset += run.len();
    }
    links.truncate(super::entity::MAX_ENTITY_MATCHES);
    links
}

/// True for a link with a scheme or with `www.` at its start. Any other link, such as `report.pdf`,
/// may be the name of a file.
fn is_certain_url(link: &str) -> bool {
    link.contains("://") || link.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("www."))
}

#[cfg(test)]
mod tests;
