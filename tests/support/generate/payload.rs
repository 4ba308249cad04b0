//! Generates random payload rules and random payloads. The rules have fields with every constraint,
//! and conditions on fields, list elements and dict entries. They use groups as types and as
//! includes, closed objects, and corrections.

use super::super::random::Random;
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

/// The type of a generated payload field.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Int,
    Number,
    Bool,
    Texts,
    Ints,
    Dict,
    Any,
    Leaf,
    Leaves,
}

const KINDS: &[Kind] = &[
    Kind::Text,
    Kind::Text,
    Kind::Int,
    Kind::Number,
    Kind::Bool,
    Kind::Texts,
    Kind::Ints,
    Kind::Dict,
    Kind::Dict,
    Kind::Any,
    Kind::Leaf,
    Kind::Leaves,
];
const TEXTS: &[&str] = &["a", "b", "ab", "", " \t", "longer text", "A", "文件"];
const KEYS: &[&str] = &["k", "url", "x-y", "n"];

/// A field of a generated object.
#[derive(Clone)]
struct Field {
    name: String,
    kind: Kind,
}

/// Generated rules with the payload kind `p`.
pub struct Payloads {
    pub source: String,
    fields: Vec<Field>,
    leaf: Vec<Field>,
}

struct Writer<'r> {
    random: &'r mut Random,
    out: String,
    rules: usize,
}

impl Payloads {
    /// Generates random rules.
    pub fn rules(random: &mut Random) -> Payloads {
        let mut writer = Writer { random, out: String::new(), rules: 0 };
        writer.out.push_str("input { options?: { limit?: int, words?: list<string> } }\n");
        let leaf = writer.fields("l", &KINDS[..9], 3);
        writer.object("group leaf {", &leaf);
        writer.out.push_str("}\ngroup shared(token: string, thing: dict) {\n");
        let own = [("token", Kind::Text), ("thing", Kind::Dict)];
        let own = own.map(|(name, kind)| Field { name: name.to_owned(), kind });
        writer.rule(&own, None);
        writer.out.push_str("}\n");
        let fields = writer.fields("f", KINDS, 6);
        writer.object("payload p {", &fields);
        (0..writer.random.below(3)).for_each(|_| writer.rule(&fields, None));
        for field in &fields {
            writer.each(field, &fields, &leaf);
        }
        let of = |kind: Kind| fields.iter().find(|field| field.kind == kind);
        if let (Some(word), Some(thing)) = (of(Kind::Text), of(Kind::Dict)) {
            let renamed = if writer.random.chance(30) { " as \"renamed\"" } else { "" };
            let _ = writeln!(
                writer.out,
                "  include shared(token: {}, thing: {}){renamed}",
                word.name, thing.name
            );
        }
        if writer.random.chance(25) {
            let most = writer.random.below(120) + 20;
            let _ =
                writeln!(writer.out, "  require \"size\": json_size(payload) <= {most} else \"too large\"");
        }
        writer.out.push_str("}\n");
        let source = writer.out;
        Payloads { source, fields, leaf }
    }

    /// Generates a random payload; most of its fields satisfy the rules.
    pub fn payload(&self, random: &mut Random) -> Json {
        if random.chance(2) {
            return junk(random);
        }
        self.object(&self.fields, random)
    }

    fn object(&self, fields: &[Field], random: &mut Random) -> Json {
        let mut object = Map::new();
        // Half of the objects have all their fields with the right types.
        let wrong = if random.chance(50) { 0 } else { random.below(16) };
        for field in fields {
            if random.chance(wrong) {
                continue;
            }
            let value = if random.chance(wrong) { junk(random) } else { self.value(field.kind, random) };
            object.insert(field.name.clone(), value);
        }
        if random.chance(10) {
            let key = if random.chance(50) { "extra" } else { "not-declared" };
            object.insert(key.to_owned(), junk(random));
        }
        Json::Object(object)
    }

    fn value(&self, kind: Kind, random: &mut Random) -> Json {
        match kind {
            Kind::Text => text(random),
            Kind::Int => int(random),
            Kind::Number => number(random),
            Kind::Bool => json!(random.chance(50)),
            Kind::Texts => (0..random.below(4)).map(|_| text(random)).collect(),
            Kind::Ints => (0..random.below(4)).map(|_| int(random)).collect(),
            Kind::Dict => dict(random),
            Kind::Any => junk(random),
            Kind::Leaf => self.object(&self.leaf, random),
            Kind::Leaves => {
                let leaf = |_| if random.chance(5) { junk(random) } else { self.object(&self.leaf, random) };
                (0..3).map(leaf).collect()
            }
        }
    }
}

fn text(random: &mut Random) -> Json {
    json!(random.pick(TEXTS))
}

fn int(random: &mut Random) -> Json {
    json!(random.below(14) as i64 - 2)
}

fn number(random: &mut Random) -> Json {
    if random.chance(50) { int(random) } else { json!(random.below(40) as f64 / 4.0 - 1.0) }
}

fn dict(random: &mut Random) -> Json {
    let mut dict = Map::new();
    for key in KEYS {
        if random.chance(50) {
            dict.insert((*key).to_owned(), junk(random));
        }
    }
    Json::Object(dict)
}

/// Generates a value of any type.
fn junk(random: &mut Random) -> Json {
    match random.below(9) {
        0 => Json::Null,
        1 => json!(random.chance(50)),
        2 | 3 => number(random),
        4 | 5 => text(random),
        6 => (0..random.below(3)).map(|_| text(random)).collect(),
        7 => json!([1, null, "a", {}]),
        _ => json!({"k": text(random), "deep": {"n": int(random)}}),
    }
}

impl Writer<'_> {
    fn fields(&mut self, prefix: &str, kinds: &[Kind], most: usize) -> Vec<Field> {
        let count = 2 + self.random.below(most);
        let field = |at| Field { name: format!("{prefix}{at}"), kind: kinds[self.random.below(kinds.len())] };
        (0..count).map(field).collect()
    }

    /// Writes the head and the fields of an object. The caller writes the closing brace.
    fn object(&mut self, head: &str, fields: &[Field]) {
        let _ = writeln!(self.out, "{head}");
        for field in fields {
            self.field(field);
        }
        if self.random.chance(50) {
            let remove = if self.random.chance(60) { " remove" } else { "" };
            let _ = writeln!(self.out, "  closed{remove}");
        }
    }

    fn field(&mut self, field: &Field) {
        let optional = if self.random.chance(35) { "?" } else { "" };
        let (ty, limits, default): (_, &[&str], _) = match field.kind {
            Kind::Text => ("string", &[" not blank", " in [\"a\", \"b\", \"ab\"]"], "\"a\""),
            Kind::Int => ("int", &[" in 0..=9", " in 0..=9 clamp", " in 1..4 "], "1"),
            Kind::Number => ("number", &[" in 0..=5 clamp", " in 0.5..=2.5", " in [1, 2.5]"], "1.0"),
            Kind::Bool => ("bool", &[""], "true"),
            Kind::Texts => ("list<string>", &[""], "[]"),
            Kind::Ints => ("list<int>", &[""], "[1, 2]"),
            Kind::Dict => ("dict", &[""], "{}"),
            Kind::Any => ("any", &[""], "\"a\""),
            Kind::Leaf => ("leaf", &[""], ""),
            Kind::Leaves => ("list<leaf>", &[""], ""),
        };
        let null = if self.random.chance(20) && !default.is_empty() { " | null" } else { "" };
        let limits = if self.random.chance(60) { self.random.pick(limits) } else { "" };
        let _ = write!(self.out, "  {}{optional}: {ty}{null}{limits}", field.name);
        if self.random.chance(30) && !default.is_empty() {
            let _ = write!(self.out, " default {default}");
        }
        self.out.push('\n');
    }

    /// Writes a rule with conditions on some of the fields. The rule reports violations at the path
    /// `place` or, without `place`, at a field.
    fn rule(&mut self, fields: &[Field], place: Option<&str>) {
        let field = fields[self.random.below(fields.len())].clone();
        let at = match (place, field.kind) {
            (Some(place), _) => place.to_owned(),
            (None, Kind::Dict) if self.random.chance(50) => {
                format!("{}[\"{}\"]", field.name, self.random.pick(KEYS))
            }
            _ => field.name.clone(),
        };
        let at = if self.random.chance(10) { String::new() } else { format!(" at {at}") };
        let id = format!("rule.{}", self.rules);
        self.rules += 1;
        let condition = self.condition(&field);
        if self.random.chance(30) {
            let _ = write!(self.out, "  forbid \"{id}\"{at} when {condition} else \"so it must not be\"");
        } else {
            let other = fields[self.random.below(fields.len())].clone();
            let when = if self.random.chance(40) {
                format!(" when {}", self.condition(&other))
            } else {
                String::new()
            };
            let _ = write!(self.out, "  require \"{id}\"{at}{when}: {condition} else \"so it must be\"");
        }
        if !at.is_empty() && self.random.chance(25) {
            let computed = match field.kind {
                Kind::Int | Kind::Number => format!(" clamp min(max({}, 1), 4)", field.name),
                _ => format!(" default lower({})", field.name),
            };
            let mend = match field.kind {
                Kind::Int | Kind::Number => {
                    &[" clamp 3", " default 2", " remove", " clamp options.limit", &computed][..]
                }
                Kind::Text => &[" default \"ab\"", " remove", &computed],
                _ => &[" remove"],
            };
            self.out.push_str(self.random.pick(mend));
        }
        if self.random.chance(15) {
            self.out.push_str(" warning");
        }
        self.out.push('\n');
    }

    fn condition(&mut self, field: &Field) -> String {
        let one = self.test(field);
        match self.random.below(10) {
            0 => format!("not ({one})"),
            1 => format!("({one} and {})", self.test(field)),
            2 => format!("({one} or {})", self.test(field)),
            3 => format!("({one} unless {})", self.test(field)),
            4 => format!("(if {one} then {} else {})", self.test(field), self.test(field)),
            _ => one,
        }
    }

    fn test(&mut self, field: &Field) -> String {
        let name = &field.name;
        let number = self.random.below(6);
        let key = self.random.pick(&["k", "url", "n"]);
        let word = self.random.pick(&["a", "b", "ab"]);
        let forms: Vec<String> = match field.kind {
            Kind::Text => vec![
                format!("{name} == \"{word}\""),
                format!("{name} in [\"{word}\", \"A\"]"),
                format!("{name} in options.words"),
                format!("len({name}) > {number}"),
                format!("{name} starts_with \"{word}\""),
                format!("{name} matches r\"^[ab]+$\""),
                format!("nonblank({name}) is present"),
            ],
            Kind::Int | Kind::Number => vec![
                format!("{name} > {number}"),
                format!("{name} <= options.limit"),
                format!("{name} * 2 + 1 <= {number}"),
                format!("{name} in 1..={number}"),
            ],
            Kind::Bool => vec![name.clone(), format!("not {name}")],
            Kind::Texts => vec![
                format!("len({name}) <= {number}"),
                format!("{name} contains \"{word}\""),
                format!("(any one in {name}: one == \"{word}\")"),
                format!("(count one in {name}: len(one) > 1) < 2"),
            ],
            Kind::Ints => vec![
                format!("len({name}) == {number}"),
                format!("(all one in {name}: one > {number})"),
                format!("{name}[0] >= {number}"),
            ],
            Kind::Dict => vec![
                format!("{name} has_key \"{key}\""),
                format!("({name}.{key} as int) > {number}"),
                format!("({name}[\"x-y\"] as string) == \"{word}\""),
                format!("len({name}) < {number}"),
                format!("{name}.{key} is present"),
            ],
            Kind::Any => vec![
                format!("{name} is present"),
                format!("({name} as string) == \"{word}\""),
                format!("(({name} as number) ?? 0) < {number}"),
                format!("len({name} as list<any>) > 1"),
            ],
            Kind::Leaf => vec![format!("{name} is present")],
            Kind::Leaves => vec![format!("len({name}) > {number}")],
        };
        forms[self.random.below(forms.len())].clone()
    }

    /// Writes a `let` that computes a value from a field in `scope`, and two rules that read this
    /// value. The rules report violations at the path `place`.
    fn made(&mut self, scope: &[Field], place: &str) {
        let field = scope[self.random.below(scope.len())].clone();
        let (value, kind) = match field.kind {
            Kind::Text => (format!("lower({}) ?? \"none\"", field.name), Kind::Text),
            Kind::Int | Kind::Number => (format!("{} * 2 - 1", field.name), Kind::Number),
            Kind::Texts => (format!("{}[0]", field.name), Kind::Text),
            _ => return,
        };
        let name = format!("made{}", self.rules);
        let _ = writeln!(self.out, "  let {name} = {value}");
        let made = [Field { name, kind }];
        (0..2).for_each(|_| self.rule(&made, Some(place)));
    }

    /// Writes rules about each list element or dict entry of `field`. Some of these rules also read
    /// `fields`, which are the fields of the object that contains the list. If the elements are
    /// objects, their fields are `leaf`.
    fn each(&mut self, field: &Field, fields: &[Field], leaf: &[Field]) {
        if !self.random.chance(60) {
            return;
        }
        let (head, scope): (&str, Vec<Field>) = match field.kind {
            Kind::Texts => ("each one in", vec![Field { name: "one".to_owned(), kind: Kind::Text }]),
            Kind::Ints => ("each one in", vec![Field { name: "one".to_owned(), kind: Kind::Int }]),
            Kind::Dict => (
                "each key, one in",
                vec![
                    Field { name: "key".to_owned(), kind: Kind::Text },
                    Field { name: "one".to_owned(), kind: Kind::Any },
                ],
            ),
            Kind::Leaves => {
                let inner = |field: &Field| Field { name: format!("one.{}", field.name), kind: field.kind };
                ("each one in", leaf.iter().filter(|field| field.kind != Kind::Any).map(inner).collect())
            }
            _ => return,
        };
        let _ = writeln!(self.out, "  {head} {} {{", field.name);
        let place = if field.kind == Kind::Dict { format!("{}[key]", field.name) } else { "one".to_owned() };
        self.made(&scope, &place);
        self.rule(&scope, Some(&place));
        if self.random.chance(40) {
            // This rule about the element also reads fields of the object around the list.
            let mut both = scope;
            both.extend(fields.iter().filter(|field| field.kind != Kind::Leaf).cloned());
            self.rule(&both, Some(&place));
        }
        self.out.push_str("  }\n");
    }
}
