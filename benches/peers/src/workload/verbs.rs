//! Requests: each route tests for a verb, which many routes and texts share, and for a noun that is
//! specific to the route. An index must use the noun as the key. With the verb as the key, the
//! index evaluates hundreds of routes that do not match.
//!
//! The routes have these tests of the text:
//!
//! - 44 in a hundred: one literal;
//! - 30: one of two to four literals;
//! - 13: a tag instead of the text;
//! - 3: the whole text;
//! - 10: a regex.
//!
//! Each route also has one or two context tests. A literal is a noun, or a verb with a noun. A
//! Chinese literal is a verb, a noun and a number.

use super::random::Random;
use super::route::{Term, Words};
use super::vocabulary::{Density, Language, Vocabulary, distinct};

pub(super) const VERBS: &[&str] = &[
    "archive", "assign", "audit", "backup", "block", "book", "cancel", "clone", "compare", "convert",
    "deploy", "draft", "drain", "encrypt", "escalate", "export", "fetch", "flag", "freeze", "import",
    "inspect", "label", "launch", "list", "lock", "merge", "migrate", "monitor", "mute", "patch", "pause",
    "pin", "print", "publish", "purge", "refresh", "release", "rename", "renew", "repair", "resize",
    "restart", "restore", "rotate", "share", "split", "submit", "tag", "unlock", "upgrade",
];
const NOUNS: &[&str] =
    &["report", "server", "order", "file", "account", "ticket", "key", "job", "page", "group"];
const FILLERS: &[&str] = &[
    "please", "the", "for", "me", "our", "and", "then", "again", "today", "all", "of", "it", "in", "two",
    "with", "at", "noon", "could", "you", "before", "lunch", "new", "old", "next", "team",
];
pub(super) const CHINESE_VERBS: &[&str] = &[
    "部署", "重启", "导出", "归档", "合并", "迁移", "监控", "冻结", "续订", "打印", "发布", "恢复", "审核",
    "锁定", "升级", "备份",
];
pub(super) const CHINESE_NOUNS: &[&str] = &[
    "报表", "服务", "订单", "账号", "工单", "密钥", "任务", "页面", "分组", "集群", "镜像", "证书", "网关",
    "队列", "仓库", "主机", "模板", "日志",
];
const CHINESE_FILLERS: &[&str] =
    &["请", "帮我", "把", "一下", "今天", "所有的", "然后", "再", "这个", "中午前", "给", "我们"];

/// Generates a vocabulary with as many nouns as routes. Tags and products are as in the other
/// workloads.
pub fn vocabulary(routes: usize, random: &mut Random) -> Vocabulary {
    let common = Language::common();
    let mut vocabulary = Vocabulary::new(routes, Density::Rare, random);
    vocabulary.words = distinct(60 + routes, random, &[], |random, at| {
        let syllables = 3 + usize::from(at > 20_000 && random.chance(50));
        common.english(random, syllables)
    });
    vocabulary.chinese = distinct(30 + routes / 2, random, &[], |random, at| {
        let (verb, noun) = (random.pick(CHINESE_VERBS), random.pick(CHINESE_NOUNS));
        format!("{verb}{noun}{}", 100 + random.below(900 + at))
    });
    vocabulary
}

/// Returns a route's condition on the text; `None` for routes that test for a tag.
pub fn request(vocabulary: &Vocabulary, random: &mut Random) -> Option<Term> {
    Some(match random.below(100) {
        0..44 => literal(vocabulary, random),
        44..74 => {
            let first = literal(vocabulary, random);
            (0..1 + random.below(3)).fold(first, |either, _| {
                Term::Either(Box::new(either), Box::new(literal(vocabulary, random)))
            })
        }
        74..77 => Term::TextIs(literal_of(vocabulary, random)),
        77..87 => regex(vocabulary, random),
        _ => return None,
    })
}

fn thing<'v>(vocabulary: &'v Vocabulary, random: &mut Random) -> &'v str {
    &vocabulary.words[random.below(vocabulary.words.len())]
}

fn literal_of(vocabulary: &Vocabulary, random: &mut Random) -> String {
    if random.chance(30) {
        return vocabulary.chinese[random.below(vocabulary.chinese.len())].clone();
    }
    let thing = thing(vocabulary, random);
    if random.chance(50) { thing.to_owned() } else { format!("{} {thing}", random.pick(VERBS)) }
}

fn literal(vocabulary: &Vocabulary, random: &mut Random) -> Term {
    let words = vec![literal_of(vocabulary, random)];
    let fold = words[0].is_ascii() && random.chance(30);
    Term::Contains { words, joined: Words::Any, fold }
}

fn regex(vocabulary: &Vocabulary, random: &mut Random) -> Term {
    let (thing, number) = (thing(vocabulary, random).to_owned(), 100 + random.below(900));
    let (verb, other) = (random.pick(VERBS), random.pick(VERBS));
    let chinese = random.pick(CHINESE_VERBS);
    let (pattern, literal, example) = match random.below(100) {
        0..30 => (format!("^{verb} [a-z]+ {thing}"), thing.clone(), format!("{verb} the {thing}")),
        30..55 => (format!("({verb}|{other}) +{thing}s?"), thing.clone(), format!("{other}  {thing}")),
        55..75 => (format!("{thing}[- ]?[0-9]{{3,5}}"), thing.clone(), format!("{thing}-{number}")),
        75..85 => {
            (format!("[A-Z]{{2,4}}-{number}[0-9]{{3}}"), format!("-{number}"), format!("QK-{number}317"))
        }
        _ => (format!("{chinese}[0-9]+号?{thing}"), thing.clone(), format!("{chinese}{number}号{thing}")),
    };
    Term::Matches { pattern, literals: vec![literal], examples: vec![example], fold: false }
}

/// Generates a text of 20 to 160 bytes from common words, with a verb or two and nouns.
pub fn text(random: &mut Random, chinese: bool) -> String {
    let length = 20 + random.below(140);
    let mut text = String::with_capacity(256);
    while text.len() < length {
        if !chinese && !text.is_empty() {
            text.push(' ');
        }
        match (random.below(100), chinese) {
            (0..12, false) => text.push_str(random.pick(VERBS)),
            (12..30, false) => text.push_str(random.pick(NOUNS)),
            (30..33, _) => text.push_str(&format!("{}", random.below(100_000))),
            (_, false) => text.push_str(random.pick(FILLERS)),
            (0..12, true) => text.push_str(random.pick(CHINESE_VERBS)),
            (12..30, true) => text.push_str(random.pick(CHINESE_NOUNS)),
            (_, true) => text.push_str(random.pick(CHINESE_FILLERS)),
        }
    }
    text
}
