//! Measures a real rule set that is enlarged by copies: the CLINC150 rules of `examples/`, which
//! were written from messages of real people. The copies come before the original. Their words are
//! replaced by words of other real messages, so that the copies have the same shape but rarely
//! match.
//!
//! The rules use word lists, definitions and negations that the translators for the peers do not
//! support. The baseline is built from the normal form, see [`Conditions`].

use crate::engines::conditions::Conditions;
use crate::engines::rulec::{self, WAYS};
use crate::engines::{Engine, Ready, Sample};
use crate::measure;
use crate::report::{Section, thousands};
use crate::workload::Message;
use crate::workload::random::Random;
use serde_json::Value as Json;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

const RULES: &str = include_str!("../../../examples/clinc150.rules");
/// The messages to use if the whole data set is not available.
const SAMPLE: &str = include_str!("../../../examples/clinc150_sample.jsonl");
const BASELINE: &str = "closures";
/// Maximum number of distinct messages.
const MESSAGES: usize = 512;

/// The beginnings of the statements that a copy repeats. Other statements occur only once.
const REPEATED: [&str; 4] = ["list ", "let ", "def ", "route "];

/// Returns the table of times, with a row for each number of copies. `data` is the folder of the
/// whole data set.
///
/// # Errors
/// If a file of the data set cannot be read, or an answer differs from the reference evaluator.
pub fn section(copies: &[usize], data: Option<&Path>, rounds: usize) -> Result<Section, String> {
    let training = texts(data, "train.jsonl")?;
    let words = words(&training);
    let texts = texts(data, "val.jsonl")?;
    // The texts are sorted by intent, so samples are taken at equal steps.
    let step = texts.len().div_ceil(MESSAGES).max(1);
    let samples: Vec<Sample> = texts.into_iter().step_by(step).map(sample).collect();
    let mut section = Section::new("A real rule set, scaled: CLINC150");
    let names: Vec<&str> = [BASELINE].into_iter().chain(WAYS.map(|way| way.name)).collect();
    section.line(format!("| routes | {} | {BASELINE} / rulec |", names.join(" | ")));
    section.line(format!("|---|{}---|", "---|".repeat(names.len())));
    let mut hits = 0;
    for &copies in copies {
        let source = scaled(copies, &words);
        let routes = source.lines().filter(|line| line.starts_with("route ")).count();
        eprintln!("CLINC150, {routes} routes");
        let rules = rulec::compile_text(&source)?;
        let mut reference = rulec::reference(&rules);
        let expected: Vec<Option<u32>> = samples.iter().map(&mut reference).collect();
        hits = expected.iter().flatten().count();
        let mut engines: Vec<Box<dyn Engine>> = vec![Box::new(Conditions::new(&rules)?)];
        for way in WAYS {
            // Compiles again for each engine, because clones share JIT code.
            engines.push(Box::new(way.decider(&rulec::compile_text(&source)?)?));
        }
        let mut readies: Vec<Box<dyn Ready + '_>> =
            engines.iter().map(|engine| engine.ready(&samples)).collect();
        for (ready, name) in readies.iter_mut().zip(&names) {
            let checked = measure::check(&mut **ready, &samples, &expected)
                .map_err(|error| format!("`{name}`, CLINC150: {error}"))?;
            if checked < samples.len() {
                eprintln!("  {name}: {checked} of {} messages checked", samples.len());
            }
            ready.warm(samples.len());
        }
        let times = measure::interleaved(&mut readies, samples.len(), rounds);
        let ratio = times.first().zip(times.last()).map_or(f64::NAN, |(first, last)| first / last);
        let cells: Vec<String> = times.into_iter().map(thousands).collect();
        section.line(format!("| {} | {} | {ratio:.1} |", thousands(routes as f64), cells.join(" | ")));
    }
    let of = if data.is_some() { "of the validation set" } else { "of the committed sample" };
    section.line(format!(
        "\n{} messages {of}, of which the largest rule set routes {hits}; copies of the rules with other words \
         stand before the original.",
        samples.len()
    ));
    Ok(section)
}

/// Returns the texts of a file of the data set, or of the sample without a data folder.
fn texts(data: Option<&Path>, file: &str) -> Result<Vec<String>, String> {
    let lines = match data.map(|folder| folder.join(file)) {
        Some(path) => std::fs::read_to_string(&path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?,
        None => SAMPLE.to_owned(),
    };
    let text = |line: &str| {
        let message: Json = serde_json::from_str(line).ok()?;
        Some(message.get("text")?.as_str()?.to_owned())
    };
    Ok(lines.lines().filter_map(text).collect())
}

/// Returns the distinct words of the texts with at least four letters.
fn words(texts: &[String]) -> Vec<&str> {
    let words = texts.iter().flat_map(|text| text.split(|c: char| !c.is_ascii_alphabetic()));
    let words: BTreeSet<&str> = words.filter(|word| word.len() >= 4).collect();
    words.into_iter().collect()
}

fn sample(text: String) -> Sample {
    let json = serde_json::json!({ "text": text });
    Sample { message: Message::of_text(text), json }
}

/// Returns the rules with `copies` copies before the original. In the quotes of the copies, words
/// from `words` replace the original words.
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

/// Splits the rules file into statements. A statement starts at a line that starts with a letter.
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

/// Writes a copy of a statement to `out`. Declared names get the number of the copy. In quotes,
/// `exchange` replaces each word with at least four bytes by another word.
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
                // An escape inside quotes such as `\b` is not a word.
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
