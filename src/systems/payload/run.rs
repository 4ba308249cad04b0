//! One pass over a payload: every table of requirements is asked of its object, elements in turn.

use super::Judge;
use super::engine::Engine;
use super::judgement::Violation;
use super::path::{self, OwnedPath, Path, Step};
use crate::arena::Arena;
use crate::engine::Rules;
use crate::limits::{Exceeded, Limit};
use crate::sema::hir::{self, BindingId, Block, Correction, Each, Place, Program, RuleId};
use crate::source::SourceMap;
use crate::trace::{TraceNode, Tracer};
use crate::value::Value;
use crate::vm::Rooted;
use serde_json::Value as Json;
use smallvec::SmallVec;

/// A violation with what mends it.
#[derive(Debug)]
pub(super) struct Found {
    pub violation: Violation,
    pub steps: OwnedPath,
    pub mend: Option<Mend>,
    /// The trace of the rule's condition, when that was asked for.
    pub trace: Option<TraceNode>,
}

/// The correction of a violation.
#[derive(Clone, Debug)]
pub(super) enum Mend {
    Default(Json),
    Clamp(Json),
    Remove,
}

/// Every violation, in the order of the rules, and the limits that were exceeded, each once.
pub(super) fn run(judge: &Judge, payload: &Json, traced: bool) -> (Vec<Found>, Vec<Exceeded>) {
    let Judge { rules, input, .. } = judge;
    let kind = judge.payload();
    if !payload.is_object() {
        let found = Found {
            violation: Violation {
                rule: format!("{}.type", kind.name).into(),
                path: "$".to_owned(),
                message: "the payload must be an object".to_owned(),
                repair: "write it as an object".into(),
            },
            steps: Vec::new(),
            mend: None,
            trace: None,
        };
        return (vec![found], Vec::new());
    }
    Rules::with_workspace(|workspace| {
        let (program, count) = (rules.program(), kind.bindings as usize);
        let arena = Arena::new(&program.limits);
        let slots = Rooted::new(&program.slots, input, count, &mut workspace.rooted);
        let mut run = Run {
            program,
            payload,
            engine: Engine::new(rules, input, &arena, slots, &mut workspace.machine),
            sources: traced.then(|| rules.sources()),
            places: SmallVec::from_elem(None, count),
            found: Vec::new(),
        };
        run.bind(BindingId(0), Value::from_json(payload), Some(Path::new()));
        run.block(&kind.block);
        (run.found, run.engine.exceeded())
    })
}

struct Run<'a> {
    program: &'a Program,
    payload: &'a Json,
    engine: Engine<'a>,
    sources: Option<&'a SourceMap>,
    places: SmallVec<[Option<Path<'a>>; 2]>,
    found: Vec<Found>,
}

impl<'a> Run<'a> {
    fn bind(&mut self, binding: BindingId, value: Value<'a>, place: Option<Path<'a>>) {
        self.engine.bind(binding, value);
        if let Some(cell) = self.places.get_mut(binding.index()) {
            *cell = place;
        }
    }

    fn block(&mut self, block: &'a Block) {
        for (binding, value) in &block.lets {
            let value = self.engine.value(*value);
            self.bind(*binding, value, None);
        }
        if !self.program.tables[block.table.index()].order.is_empty() {
            for rule in self.engine.matched(block.table) {
                self.violated(rule);
            }
        }
        for each in &block.each {
            self.each(each);
        }
    }

    fn each(&mut self, each: &'a Each) {
        let list = self.engine.value(each.list);
        let place = each.place.as_ref().and_then(|place| self.locate(place)).map(|(path, _)| path);
        let entry = |step: Step<&'a str>| {
            let mut path = place.clone()?;
            path.push(step);
            Some(path)
        };
        let Some(length) = list.list_len().or(list.dict_len()) else { return };
        let Some(outer) = self.engine.enter(each.nest, length) else { return };
        if let Some(entries) = list.entries() {
            for (key, value) in entries {
                self.element(each, Value::Str(key), value, entry(Step::Key(key)));
            }
        } else if let Some(elements) = list.elements() {
            for (index, value) in elements.enumerate() {
                self.element(each, Value::Int(index as i64), value, entry(Step::Index(index)));
            }
        }
        self.engine.stand_in(outer);
        // What was computed inside, where less is allowed, counts no more.
        self.bind(each.element, Value::Missing, None);
    }

    fn element(&mut self, each: &'a Each, key: Value<'a>, value: Value<'a>, place: Option<Path<'a>>) {
        if let Some(binding) = each.key {
            self.bind(binding, key, None);
        }
        self.bind(each.element, value, place);
        self.block(&each.block);
    }

    #[cold]
    fn violated(&mut self, rule: RuleId) {
        // One is enough to reject it.
        if !self.found.is_empty() && !self.engine.allows(Limit::Violations, self.found.len() + 1) {
            return;
        }
        let requirements = &self.program.requirements;
        let Ok(at) = requirements.binary_search_by_key(&rule, |requirement| requirement.rule) else { return };
        let requirement = &requirements[at];
        let Some((path, exact)) = self.locate(&requirement.place) else { return };
        let mend = match &requirement.correction {
            Some(correction) if exact => self.mend(correction),
            _ => None,
        };
        let sources = self.sources;
        let trace = sources.map(|sources| Tracer::new(self.engine.explainer(), sources, false).rule(rule));
        let mut message = requirement.message.to_string();
        if requirement.shows_value
            && let Some(value) = path::at(self.payload, &path)
        {
            message = format!("{message}, and is {}", shown(value));
        }
        let repair = match &mend {
            _ if !requirement.repair.is_empty() => requirement.repair.clone(),
            Some(Mend::Default(value) | Mend::Clamp(value)) => {
                format!("write {}", short(value.to_string())).into()
            }
            _ => requirement.message.clone(),
        };
        self.found.push(Found {
            violation: Violation {
                rule: self.program.rules[rule.index()].name.clone(),
                path: path::render(&path),
                message,
                repair,
            },
            steps: path::owned(&path),
            mend,
            trace,
        });
    }

    fn mend(&mut self, correction: &'a Correction) -> Option<Mend> {
        let mut value = |id: &hir::ValueId| {
            let value = self.engine.value(*id);
            (!value.is_missing()).then(|| value.to_json())
        };
        match correction {
            Correction::Default(id) => value(id).map(Mend::Default),
            Correction::Clamp(id) => value(id).map(Mend::Clamp),
            Correction::Remove => Some(Mend::Remove),
        }
    }

    /// A place as steps from the payload's top, and whether it is exactly where the value stands.
    fn locate(&mut self, place: &'a Place) -> Option<(Path<'a>, bool)> {
        let mut path = self.places.get(place.root.index())?.clone()?;
        for step in &place.steps {
            path.push(self.step(step)?);
        }
        let Some(dotted) = &place.dotted else { return Some((path, true)) };
        let mut inner = Path::new();
        for step in &dotted.steps {
            inner.push(self.step(step)?);
        }
        let Some(Json::Object(keys)) = path::at(self.payload, &path) else { return Some((path, false)) };
        // The longest key that leads towards the place is made last, so it is the one that counts.
        for length in (0..=inner.len()).rev() {
            let mut key = dotted.prefix.to_string();
            for step in &inner[..length] {
                key.push('.');
                match step {
                    Step::Key(name) => key.push_str(name),
                    Step::Index(index) => key.push_str(&index.to_string()),
                }
            }
            if let Some((key, _)) = keys.get_key_value(&key) {
                path.push(Step::Key(key));
                path.extend_from_slice(&inner[length..]);
                return Some((path, true));
            }
        }
        Some((path, false))
    }

    fn step(&mut self, step: &'a hir::Step) -> Option<Step<&'a str>> {
        match step {
            hir::Step::Key(key) => Some(Step::Key(key)),
            hir::Step::At(id) => match self.engine.value(*id) {
                Value::Str(key) => Some(Step::Key(key)),
                Value::Int(index) => usize::try_from(index).ok().map(Step::Index),
                _ => None,
            },
        }
    }
}

/// Characters of a value that a message shows.
const SHOWN: usize = 60;

fn shown(value: &Json) -> String {
    let text = match value {
        Json::Object(_) => return "an object".to_owned(),
        Json::Array(_) => return "a list".to_owned(),
        Json::String(text) if text.len() > 4 * SHOWN => {
            Json::from(text.chars().take(SHOWN).collect::<String>()).to_string()
        }
        other => other.to_string(),
    };
    short(text)
}

/// A text for a message, cut if it is long.
fn short(text: String) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
