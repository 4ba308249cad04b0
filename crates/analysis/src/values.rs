//! Finds a value of one term that satisfies given literals; exact for known
//! [`Shape`](super::shape::Shape)s. Likely candidates are tried first. If no candidate fits, each
//! kind of value, such as text or list, is searched.

use super::atoms::{Atoms, FALSE, Literal, TRUE, Term};
use super::shape::{Elements, OnText};
use super::string_theory::{AutomatonCache, Language, TextSolution, fixed, sample};
use hashbrown::HashMap;
use rulec_lang::arena::Arena;
use rulec_lang::builtins::Function;
use rulec_lang::ty::{Kind, KindSet};
use rulec_lang::value::Value;
use rulec_sema::hir::Program;
use serde_json::{Value as Json, json};
use smallvec::SmallVec;

#[derive(Clone, Debug)]
pub(super) enum Solved {
    Value(Json),
    /// It is proven that no value satisfies the literals.
    Never,
    Unknown,
}

/// The search for values, with its caches.
pub(super) struct Values {
    pub atoms: Atoms,
    texts: AutomatonCache,
    solved: HashMap<SolvedQuery, Solved>,
    /// For each atom on texts, the languages of the texts for which the atom is true.
    languages: HashMap<usize, Option<Vec<Language>>>,
    /// For each function on texts, the language of its possible results.
    fixed: HashMap<Function, Option<Language>>,
}

/// Key of a cached query: the index of a term, its literals, and whether the term must be present.
type SolvedQuery = (usize, Vec<Literal>, bool);

/// Conflicts of more literals than this are not minimised.
const MINIMISED: usize = 24;

impl Values {
    pub fn new(program: &Program) -> Values {
        Values {
            atoms: Atoms::new(program),
            texts: AutomatonCache::default(),
            solved: HashMap::new(),
            languages: HashMap::new(),
            fixed: HashMap::new(),
        }
    }

    /// Removes the literals that are not needed for the conflict.
    pub fn fewest(&mut self, term: usize, mut literals: Vec<Literal>, present: bool) -> Vec<Literal> {
        if literals.len() > MINIMISED {
            return literals;
        }
        let mut at = 0;
        while at < literals.len() && literals.len() > 1 {
            let left_out = literals.remove(at);
            if !matches!(self.value(term, &literals, present), Solved::Never) {
                literals.insert(at, left_out);
                at += 1;
            }
        }
        literals
    }

    /// Returns a value of a term that satisfies the literals; the value is not null if `present`.
    pub fn value(&mut self, term: usize, literals: &[Literal], present: bool) -> Solved {
        let key = (term, literals.to_vec(), present);
        if let Some(known) = self.solved.get(&key) {
            return known.clone();
        }
        let solved = self.solve(term, literals, present);
        self.solved.insert(key, solved.clone());
        solved
    }

    fn solve(&mut self, at: usize, literals: &[Literal], present: bool) -> Solved {
        let term = &self.atoms.terms[at];
        let fits =
            |atoms: &Atoms, value: &Json| literals.iter().all(|literal| atoms.holds_for(*literal, value));
        let of_term = |value: &Json, atoms: &Atoms| {
            (!present || !value.is_null()) && in_range(atoms, at, value) && fits(atoms, value)
        };
        // Null is the first candidate, because an optional field is best omitted.
        let found = self.candidates(term, literals).into_iter().find(|value| of_term(value, &self.atoms));
        let found =
            found.or_else(|| self.joined(literals).into_iter().find(|value| of_term(value, &self.atoms)));
        if let Some(value) = found {
            return Solved::Value(value);
        }
        let term = &self.atoms.terms[at];
        let kinds = term.kinds;
        if kinds.overlaps(KindSet::VERSION)
            || (kinds.has(Kind::DateTime) && kinds.has(Kind::String) && !term.is_slot)
        {
            return Solved::Unknown;
        }
        let mut solved = Solved::Never;
        for kind in kinds.iter() {
            // A text that can be read as a date-time counts as text.
            if kind == Kind::DateTime && kinds.has(Kind::String) {
                continue;
            }
            match self.of_kind(at, kind, literals) {
                Solved::Never => {}
                Solved::Unknown => solved = Solved::Unknown,
                Solved::Value(value) if fits(&self.atoms, &value) => return Solved::Value(value),
                Solved::Value(_) => solved = Solved::Unknown,
            }
        }
        solved
    }

    /// Searches for a value of one kind, after the usual candidates failed.
    fn of_kind(&mut self, term: usize, kind: Kind, literals: &[Literal]) -> Solved {
        // For numbers and date-times, the candidates are exhaustive if all shapes are known.
        let shapes = || literals.iter().map(|literal| self.atoms.atoms[literal.atom].shape.as_ref());
        let known = shapes().all(|shape| shape.is_some());
        let never = |exact: bool| if exact { Solved::Never } else { Solved::Unknown };
        match kind {
            Kind::Bool => Solved::Never,
            Kind::Int | Kind::Float => never(known && shapes().flatten().all(|shape| !shape.huge)),
            Kind::DateTime => never(known),
            Kind::Version => Solved::Unknown,
            Kind::List => self.list(literals),
            Kind::Dict => self.dict(literals),
            Kind::String => self.text(term, literals),
        }
    }

    /// Searches for a text that satisfies the literals, by means of automata.
    fn text(&mut self, term: usize, literals: &[Literal]) -> Solved {
        let mut languages: Vec<(Language, bool)> = Vec::new();
        let mut exact = true;
        let ordered = literals.iter().any(|literal| {
            matches!(
                self.atoms.atoms[literal.atom].shape.as_ref().map(|shape| &shape.on_text),
                Some(OnText::Order)
            )
        });
        let mut only_equality = true;
        for literal in literals {
            let shape = self.atoms.atoms[literal.atom].shape.as_ref();
            let Some(shape) = shape else {
                exact = false;
                continue;
            };
            let (may_hold, may_fail) = (literal.allowed & TRUE != 0, literal.allowed & FALSE != 0);
            match &shape.on_text {
                OnText::Constant => {
                    if !self.atoms.holds_for(*literal, &json!("")) {
                        return Solved::Never;
                    }
                }
                OnText::Order => {}
                OnText::Opaque => exact = false,
                OnText::Texts(_) if may_hold && may_fail => {}
                OnText::Texts(_) if !may_hold && !may_fail => return Solved::Never,
                OnText::Texts(texts) => {
                    only_equality &= shape.finite;
                    let made = self.languages.entry(literal.atom).or_insert_with(|| texts.languages());
                    match (may_hold, made.as_deref()) {
                        (true, Some(parts)) => {
                            languages.extend(parts.iter().map(|part| (part.clone(), true)));
                        }
                        (false, Some([part])) => languages.push((part.clone(), false)),
                        _ => exact = false,
                    }
                }
            }
        }
        if ordered {
            // Text order is only decided through the candidates: each constant text and its
            // successor.
            let constants =
                literals.iter().filter_map(|literal| self.atoms.atoms[literal.atom].shape.as_ref());
            let plain = |text: &Json| text.as_str().is_none_or(|text| !text.contains('\0'));
            exact &= only_equality && constants.flat_map(|shape| &shape.constants).all(plain);
            if exact && self.atoms.terms[term].range.fixed_by.is_none() {
                return Solved::Never;
            }
            exact = false;
        }
        if let Some(function) = self.atoms.terms[term].range.fixed_by {
            let known = self.fixed.entry(function).or_insert_with(|| fixed(function));
            languages.extend(known.clone().map(|fixed| (fixed, true)));
        }
        match self.texts.find(&languages) {
            TextSolution::Nothing => Solved::Never,
            TextSolution::Text(text) if exact => Solved::Value(text.into()),
            TextSolution::Text(text)
                if literals.iter().all(|literal| self.atoms.holds_for(*literal, &json!(text))) =>
            {
                Solved::Value(text.into())
            }
            _ => Solved::Unknown,
        }
    }

    /// Returns a dict with the keys that the literals require.
    fn dict(&self, literals: &[Literal]) -> Solved {
        let shape = |literal: &Literal| self.atoms.atoms[literal.atom].shape.as_ref();
        let exact = literals.iter().all(|literal| shape(literal).is_some_and(|shape| !shape.nested));
        let wanted = literals.iter().filter(|literal| literal.allowed & (TRUE | FALSE) == TRUE);
        let keys = wanted.filter_map(|literal| shape(literal)?.key.as_ref());
        let dict = Json::Object(keys.map(|key| (key.to_string(), json!(true))).collect());
        match literals.iter().all(|literal| self.atoms.holds_for(*literal, &dict)) {
            true => Solved::Value(dict),
            false if exact => Solved::Never,
            false => Solved::Unknown,
        }
    }

    /// Returns a list that contains the elements that the literals require, and none that they
    /// forbid.
    fn list(&self, literals: &[Literal]) -> Solved {
        let wants = |all: bool| {
            literals.iter().filter_map(move |literal| {
                let elements = self.atoms.atoms[literal.atom].shape.as_ref()?.elements.as_ref()?;
                let wanted = match literal.allowed & (TRUE | FALSE) {
                    TRUE => true,
                    FALSE => false,
                    _ => return None,
                };
                (wanted == all).then_some(elements)
            })
        };
        let mut exact = true;
        for literal in literals {
            match self.atoms.atoms[literal.atom].shape.as_ref() {
                Some(shape) if shape.nested => exact = false,
                Some(shape) if shape.elements.is_some() => {
                    if literal.allowed & (TRUE | FALSE) == 0 {
                        return Solved::Never;
                    }
                }
                Some(_) if !self.atoms.holds_for(*literal, &json!([])) => return Solved::Never,
                Some(_) => {}
                None => exact = false,
            }
        }
        // The forbidden elements. A false `all` over several elements forbids none of them
        // individually.
        let without: Vec<(&Json, &Elements)> = wants(false)
            .filter(|elements| !elements.all || elements.values.len() == 1)
            .flat_map(|elements| elements.values.iter().map(move |value| (value, elements)))
            .collect();
        let refused = |value: &Json| without.iter().any(|(other, elements)| same(value, other, elements));
        let mut made: Vec<Json> = Vec::new();
        for elements in wants(true) {
            let modes_agree = without.iter().all(|(_, other)| other.mode.text == elements.mode.text);
            let mut open = elements.values.iter().filter(|value| !refused(value)).cloned();
            let impossible = if elements.all || elements.values.len() == 1 {
                elements.values.iter().any(refused)
            } else {
                let first = open.next();
                let none = first.is_none();
                made.extend(first);
                none
            };
            if impossible {
                return if exact && modes_agree { Solved::Never } else { Solved::Unknown };
            }
            if elements.all || elements.values.len() == 1 {
                made.extend(elements.values.iter().cloned());
            }
        }
        let list = Json::Array(made);
        if literals.iter().all(|literal| self.atoms.holds_for(*literal, &list)) {
            return Solved::Value(list);
        }
        Solved::Unknown
    }

    /// Returns candidate values for a term. For predicates that compare numbers, date-times, or the
    /// order of texts, one candidate is a solution if there is any.
    pub fn candidates(&self, term: &Term, literals: &[Literal]) -> Vec<Json> {
        let mut found = vec![Json::Null];
        for literal in literals {
            if let Some(shape) = &self.atoms.atoms[literal.atom].shape {
                shape.candidates(&mut found);
            }
        }
        found.extend([term.range.low, term.range.high].into_iter().flatten().map(Json::from));
        let fresh = (0..).map(|at| if at == 0 { "other".to_owned() } else { format!("other{at}") });
        if term.kinds.has(Kind::String) {
            let fresh = fresh.map(Json::from).take(literals.len() + 1).find(|text| !found.contains(text));
            found.extend(fresh);
        }
        found.extend(self.plain(term.kinds));
        found
    }

    /// Returns a few values of each kind.
    pub fn plain(&self, kinds: KindSet) -> Vec<Json> {
        let of = |kind: KindSet, values: Vec<Json>| if kinds.overlaps(kind) { values } else { Vec::new() };
        let mut found = vec![Json::Null];
        found.extend(of(KindSet::BOOL, vec![json!(true), json!(false)]));
        found.extend(of(KindSet::NUMBER, vec![json!(0), json!(1), json!(0.5), json!(-1)]));
        found.extend(of(KindSet::STRING, vec![json!("other"), json!("")]));
        found.extend(of(KindSet::DATETIME, vec![json!("2026-01-05T09:00:00Z")]));
        found.extend(of(KindSet::LIST, vec![json!([])]));
        found.extend(of(KindSet::DICT, vec![json!({})]));
        found
    }

    /// Builds candidate texts. Each text joins one sample for every predicate that must be true.
    fn joined(&mut self, literals: &[Literal]) -> Vec<Json> {
        let mut parts: SmallVec<[&Language; 4]> = SmallVec::new();
        for literal in literals.iter().filter(|literal| literal.allowed == TRUE) {
            self.made(literal.atom);
        }
        for literal in literals.iter().filter(|literal| literal.allowed == TRUE) {
            parts.extend(self.languages.get(&literal.atom).into_iter().flatten().flatten());
        }
        if parts.is_empty() || parts.len() > 12 {
            return Vec::new();
        }
        let mut found = Vec::new();
        for alternative in 0..4 {
            let samples: Vec<String> = parts.iter().map(|part| sample(&part.0, alternative)).collect();
            let turned: Vec<String> = samples.iter().rev().cloned().collect();
            found.extend(
                [samples.join(" "), turned.join(" "), samples.concat(), turned.concat()].map(Json::from),
            );
        }
        found
    }

    /// Returns the languages of the texts for which an atom is true; `None` if they are not known.
    fn made(&mut self, atom: usize) -> Option<&[Language]> {
        let OnText::Texts(texts) = &self.atoms.atoms[atom].shape.as_ref()?.on_text else { return None };
        self.languages.entry(atom).or_insert_with(|| texts.languages()).as_deref()
    }
}

/// True if a predicate cannot distinguish two list elements.
fn same(value: &Json, other: &Json, elements: &Elements) -> bool {
    match (value, other) {
        (Json::String(a), Json::String(b)) => elements.mode.text.prepare(a) == elements.mode.text.prepare(b),
        _ => rulec_lang::value::identical(Value::from_json(value), Value::from_json(other)),
    }
}

fn in_range(atoms: &Atoms, at: usize, value: &Json) -> bool {
    let range = atoms.terms[at].range;
    if let (Some(function), Json::String(text)) = (range.fixed_by, value) {
        let arena = Arena::default();
        return matches!(function.call(&[Value::Str(text)], &arena), Value::Str(same) if same == text);
    }
    let Some(number) = value.as_f64() else { return true };
    range.low.is_none_or(|low| number >= low as f64) && range.high.is_none_or(|high| number <= high as f64)
}
