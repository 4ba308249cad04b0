//! A real rule set, scaled: the rules for CLINC150 of `examples/`, which people's messages were read to
//! write. Copies stand before the original, their words exchanged for others of real messages, so
//! that they are of the same shape and rarely hold.
//!
//! The rules use word lists, definitions and negations that the peers' translators do not speak, so
//! rulec's engines are compared with each other here.

use crate::engines::rulec::{self, TIERS};
use crate::engines::{Engine, Ready, Sample};
use crate::measure;
use crate::report::{Section, thousands};
use crate::workload::Message;
use crate::workload::random::Random;
use serde_json::Value as Json;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

const RULES: &str = include_str!("../../../examples/clinc150.rules");
const SAMPLE: &str = include_str!("../../../examples/clinc150_sample.jsonl");
/// Where the whole data set may lie; without it the committed sample serves.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/clinc150");

/// The statements that a copy repeats.
const REPEATED: [&str; 4] = ["list ", "let ", "def ", "route "];

/// The table: a row for each number of copies.
pub fn section(copies: &[usize], rounds: usize) -> Result<Section, String> {
    let training = texts("train.jsonl");
    let words = words(&training);
    let samples: Vec<Sample> = texts("val.jsonl").into_iter().take(512).map(sample).collect();
    let mut section = Section::new("A real rule set, scaled: CLINC150");
    section.line(format!(
        "{} messages; copies of the rules with other words stand before the original.\n",
        samples.len()
    ));
    let names: Vec<&str> = TIERS.iter().map(|(name, _)| *name).collect();
    section.line(format!("| routes | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len())));
    for &copies in copies {
        eprintln!("CLINC150, {copies} copies");
        let source = scaled(copies, &words);
        let rules = rulec::compile_text(&source)?;
        let routes = source.lines().filter(|line| line.starts_with("route ")).count();
        let engines: Vec<_> = TIERS.iter().map(|&(_, tier)| rules.with_tier(tier)).collect();
        let step = (routes / 1000).clamp(1, samples.len() / 16);
        for (engine, (name, _)) in engines.iter().zip(&TIERS) {
            rulec::agree(engine, samples.iter().step_by(step))
                .map_err(|error| format!("`{name}`: {error}"))?;
        }
        let mut readies: Vec<Box<dyn Ready + '_>> =
            engines.iter().map(|engine| engine.ready(&samples)).collect();
        let times = measure::interleaved(&mut readies, samples.len(), rounds);
        let cells: Vec<String> = times.into_iter().map(thousands).collect();
        section.line(format!("| {} | {} |", thousands(routes as f64), cells.join(" | ")));
    }
    Ok(section)
}

/// The texts of a file of the data set, or of the sample.
fn texts(file: &str) -> Vec<String> {
    let lines = std::fs::read_to_string(Path::new(DATA).join(file)).unwrap_or_else(|_| SAMPLE.to_owned());
    let text = |line: &str| {
        let message: Json = serde_json::from_str(line).ok()?;
        Some(message.get("text")?.as_str()?.to_owned())
    };
    lines.lines().filter_map(text).collect()
}

/// The words of messages.
fn words(texts: &[String]) -> Vec<&str> {
    let words = texts.iter().flat_map(|text| text.split(|c: char| !c.is_ascii_alphabetic()));
    let words: BTreeSet<&str> = words.filter(|word| word.len() >= 4).collect();
    words.into_iter().collect()
}

fn sample(text: String) -> Sample {
    let json = serde_json::json!({ "text": text });
    Sample { message: Message::of_text(text), json }
}

/// The rules with so many copies before the original.
fn scaled(copies: usize, words: &[&str]) -> String {
    let (mut head, mut repeated) = (String::new(), Vec::new());
    for statement in statements(RULES) {
        if REPEATED.iter().any(|keyword| statement.starts_with(keyword)) {
            repeated.push(statement);
        } else if !statement.starts_with("test ") {
            head.push_str(statement);
        }
    }
    let name = |statement: &&'static str| {
        let rest = statement.split_once(' ').map_or("", |(_, rest)| rest.trim_start());
        rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("")
    };
    let names: BTreeSet<&str> = repeated.iter().map(name).collect();
    let mut out = head;
    for copy in 0..copies {
        let mut random = Random::new(copy as u64);
        let mut exchanged = HashMap::new();
        for statement in &repeated {
            copied(statement, copy, &names, &mut out, |word| {
                *exchanged.entry(word.to_owned()).or_insert_with(|| words[random.below(words.len())])
            });
        }
    }
    repeated.iter().for_each(|statement| out.push_str(statement));
    out
}

/// Cuts a file where a line begins with a letter.
fn statements(text: &'static str) -> Vec<&'static str> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.starts_with(|c: char| c.is_ascii_lowercase()) {
            starts.push(at);
        }
        at += line.len();
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &text[start..end]).collect()
}

/// Writes a copy of a statement: declared names get the copy's number, and the longer words inside
/// quotes are exchanged.
fn copied<'w>(
    statement: &str,
    copy: usize,
    names: &BTreeSet<&str>,
    out: &mut String,
    mut exchange: impl FnMut(&str) -> &'w str,
) {
    for line in statement.lines() {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let mut quoted = false;
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            if word == 0 {
                // An escape inside quotes is no word: `\b`.
                let length = if quoted && first == '\\' { 2.min(rest.len()) } else { first.len_utf8() };
                if first == '#' && !quoted {
                    break;
                }
                quoted ^= first == '"';
                out.push_str(&rest[..length]);
                rest = &rest[length..];
                continue;
            }
            let (word, after) = rest.split_at(word);
            if quoted && word.len() >= 4 {
                out.push_str(exchange(word));
            } else {
                out.push_str(word);
                if !quoted && names.contains(word) {
                    out.push_str(&format!("_{copy}"));
                }
            }
            rest = after;
        }
        out.push('\n');
    }
}
