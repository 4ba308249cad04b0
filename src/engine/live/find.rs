//! Which of the routes that came later may hold for a message: an index that grows by single routes.
//! Those without keys are always among them.

use crate::index::scan::Scanner;
use crate::index::single::Wanted;
use crate::sema::hir::Slot;
use crate::text::TextMode;
use crate::value::Value;
use hashbrown::HashMap;
use serde_json::Value as Json;
use smallvec::SmallVec;

type Numbers = SmallVec<[u32; 2]>;
type Texts = HashMap<Box<str>, Numbers, foldhash::fast::FixedState>;

/// The index; routes are numbers.
#[derive(Debug, Default)]
pub(super) struct Finder {
    fields: Vec<Field>,
    by_slot: HashMap<Slot, usize, foldhash::fast::FixedState>,
    /// Those that are tried for every message.
    always: Vec<u32>,
}

/// A field of the message.
#[derive(Debug)]
struct Field {
    slot: Slot,
    scans: Vec<Scan>,
    texts: Vec<(TextMode, Texts)>,
    elements: Vec<(TextMode, Texts)>,
    numbers: HashMap<i128, Numbers, foldhash::fast::FixedState>,
}

/// Its text in one form.
#[derive(Debug)]
struct Scan {
    mode: TextMode,
    scanner: Scanner,
    literals: HashMap<Box<str>, u32, foldhash::fast::FixedState>,
    /// The routes of each literal.
    routes: Vec<Numbers>,
}

impl Finder {
    /// Adds a route by its keys.
    pub fn insert(&mut self, route: u32, keys: Option<&[(Slot, Wanted)]>) {
        let Some(keys) = keys else { return self.always.push(route) };
        for (slot, wanted) in keys {
            let at = match self.by_slot.get(slot) {
                Some(at) => *at,
                None => {
                    self.by_slot.insert(slot.clone(), self.fields.len());
                    self.fields.push(Field::new(slot.clone()));
                    self.fields.len() - 1
                }
            };
            if let Some(field) = self.fields.get_mut(at) {
                field.insert(route, wanted);
            }
        }
    }

    /// Appends the routes that may hold for a message, some more than once.
    pub fn find(&self, message: &Json, into: &mut Vec<u32>) {
        into.extend_from_slice(&self.always);
        for field in &self.fields {
            field.find(field.slot.load(message), into);
        }
    }
}

impl Field {
    fn new(slot: Slot) -> Field {
        Field {
            slot,
            scans: Vec::new(),
            texts: Vec::new(),
            elements: Vec::new(),
            numbers: HashMap::default(),
        }
    }

    fn insert(&mut self, route: u32, wanted: &Wanted) {
        match wanted {
            Wanted::Literal(modes, literal) => {
                for mode in modes {
                    let at = self.scans.iter().position(|scan| scan.mode == *mode).unwrap_or_else(|| {
                        self.scans.push(Scan::new(*mode));
                        self.scans.len() - 1
                    });
                    self.scans[at].insert(route, literal);
                }
            }
            Wanted::Text(mode, text) => add(texts_in(&mut self.texts, *mode), route, text),
            Wanted::Element(mode, text) => add(texts_in(&mut self.elements, *mode), route, text),
            Wanted::Number(number) => {
                push(self.numbers.entry(exactly(number.value())).or_default(), route);
            }
        }
    }

    fn find(&self, value: Value<'_>, into: &mut Vec<u32>) {
        match value {
            Value::Str(text) => {
                self.scans.iter().for_each(|scan| scan.find(text, into));
                for (mode, texts) in &self.texts {
                    into.extend(texts.get(&*mode.prepare(text)).into_iter().flatten());
                }
            }
            Value::Int(_) | Value::Float(_) if !self.numbers.is_empty() => {
                into.extend(self.numbers.get(&exactly(value)).into_iter().flatten());
            }
            // A time equals texts that write it in many ways.
            Value::DateTime(_) => {
                into.extend(self.texts.iter().flat_map(|(_, texts)| texts.values()).flatten());
            }
            list => {
                let elements = list.elements().filter(|_| !self.elements.is_empty());
                for element in elements.into_iter().flatten() {
                    for (mode, texts) in &self.elements {
                        match element {
                            Value::Str(text) => {
                                into.extend(texts.get(&*mode.prepare(text)).into_iter().flatten())
                            }
                            Value::DateTime(_) => into.extend(texts.values().flatten()),
                            _ => {}
                        }
                    }
                }
            }
        }
    }
}

impl Scan {
    fn new(mode: TextMode) -> Scan {
        Scan { mode, scanner: Scanner::new(), literals: HashMap::default(), routes: Vec::new() }
    }

    fn insert(&mut self, route: u32, literal: &str) {
        let number = match self.literals.get(literal) {
            Some(number) => *number,
            None => {
                let number = self.scanner.insert(literal.as_bytes());
                self.literals.insert(literal.into(), number);
                number
            }
        };
        if self.routes.len() <= number as usize {
            self.routes.resize_with(number as usize + 1, Numbers::new);
        }
        if let Some(routes) = self.routes.get_mut(number as usize) {
            push(routes, route);
        }
    }

    fn find(&self, text: &str, into: &mut Vec<u32>) {
        self.scanner.scan(self.mode.prepare(text).as_bytes(), |literal, _| {
            into.extend(self.routes.get(literal as usize).into_iter().flatten());
        });
    }
}

/// The texts of a mode.
fn texts_in(all: &mut Vec<(TextMode, Texts)>, mode: TextMode) -> &mut Texts {
    let at = all.iter().position(|(other, _)| *other == mode).unwrap_or_else(|| {
        all.push((mode, Texts::default()));
        all.len() - 1
    });
    &mut all[at].1
}

fn add(texts: &mut Texts, route: u32, text: &str) {
    push(texts.entry(text.into()).or_default(), route);
}

fn push(routes: &mut Numbers, route: u32) {
    if routes.last() != Some(&route) {
        routes.push(route);
    }
}

/// A number such that equal ones, integers or floats, give the same.
fn exactly(value: Value<'_>) -> i128 {
    match value {
        Value::Int(int) => i128::from(int),
        // Integers of other numbers lie beyond those of 64 bits.
        Value::Float(float) if float.fract() == 0.0 && float.abs() < 1e30 => float as i128,
        Value::Float(float) => i128::from(float.to_bits()) | 1 << 120,
        _ => i128::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::attribute::Number;
    use crate::ty::KindSet;
    use serde_json::json;

    fn slot(name: &str) -> Slot {
        Slot { root: None, path: vec![name.into()], kinds: KindSet::ALL, private: false }
    }

    #[test]
    fn routes_are_found_by_their_keys() {
        let fold = TextMode { fold: true, ..TextMode::PLAIN };
        let mut finder = Finder::default();
        finder.insert(0, None);
        finder.insert(1, Some(&[(slot("t"), Wanted::Literal(vec![TextMode::PLAIN], "ab".into()))]));
        finder.insert(2, Some(&[(slot("t"), Wanted::Literal(vec![fold], "ab".into()))]));
        finder.insert(3, Some(&[(slot("t"), Wanted::Text(fold, "ab".into()))]));
        finder.insert(4, Some(&[(slot("n"), Wanted::Number(Number::Int(3)))]));
        finder.insert(5, Some(&[(slot("n"), Wanted::Number(Number::Float(0.5)))]));
        finder.insert(6, Some(&[(slot("l"), Wanted::Element(fold, "x".into()))]));
        let check = |message: Json, expected: &[u32]| {
            let mut found = Vec::new();
            finder.find(&message, &mut found);
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, expected, "{message}");
        };
        check(json!({}), &[0]);
        check(json!({"t": "cab"}), &[0, 1, 2]);
        check(json!({"t": "AB"}), &[0, 2, 3]);
        check(json!({"t": 3, "n": 3.0, "l": "x"}), &[0, 4]);
        check(json!({"n": 0.5, "l": [1, "X"]}), &[0, 5, 6]);
    }

    #[test]
    fn equal_numbers_have_one_key() {
        let pairs = [(Value::Int(3), Value::Float(3.0)), (Value::Int(0), Value::Float(-0.0))];
        assert!(pairs.iter().all(|(a, b)| exactly(*a) == exactly(*b)));
        let big = Value::Float(9_223_372_036_854_775_808.0);
        assert_ne!(exactly(Value::Int(i64::MAX)), exactly(big));
        assert_ne!(exactly(Value::Float(0.1)), exactly(Value::Float(0.2)));
    }
}
