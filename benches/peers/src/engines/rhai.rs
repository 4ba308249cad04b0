//! rhai, a scripting language: one compiled expression per route, evaluated in order.
//!
//! It has no regexes, so patterns are compiled once and called as a native function, as its users
//! would do. A missing value is `()`, which equals nothing. The lower-case text is a separate
//! variable, created before the timing (in rhai's favour).

use super::{Engine, Ready, Sample};
use crate::workload::{Comparison, Number, Term, Words, Workload};
use regex::Regex;
use rhai::{AST, Dynamic, ImmutableString, Scope};

const STRINGS: [&str; 5] = ["role", "channel", "country", "product", "error"];
const NUMBERS: [&str; 5] = ["message_count", "age_days", "total", "items", "score"];

struct Rhai {
    engine: rhai::Engine,
    routes: Vec<AST>,
}

pub fn build(workload: &Workload) -> Result<Box<dyn Engine + '_>, String> {
    let mut engine = rhai::Engine::new();
    let (mut sources, mut regexes) = (Vec::new(), Vec::new());
    for route in &workload.routes {
        let mut terms = Vec::new();
        for part in &route.terms {
            terms.push(term(part, &mut regexes)?);
        }
        sources.push(terms.join(" && "));
    }
    engine.register_fn("matches", move |text: ImmutableString, number: i64| {
        regexes.get(number as usize).is_some_and(|regex| regex.is_match(&text))
    });
    let compile = |source: &String| engine.compile_expression(source).map_err(|error| error.to_string());
    let routes = sources.iter().map(compile).collect::<Result<_, _>>()?;
    Ok(Box::new(Rhai { engine, routes }))
}

fn term(term: &Term, regexes: &mut Vec<Regex>) -> Result<String, String> {
    let text = |fold: bool| if fold { "lower" } else { "text" };
    Ok(match term {
        Term::Contains { words, joined, fold } => {
            let joint = if *joined == Words::Any { " || " } else { " && " };
            let parts: Vec<String> =
                words.iter().map(|word| format!("{}.contains({word:?})", text(*fold))).collect();
            format!("({})", parts.join(joint))
        }
        Term::Lacks(word) => format!("!text.contains({word:?})"),
        Term::StartsWith { word, fold } => format!("{}.starts_with({word:?})", text(*fold)),
        Term::TextIs(wanted) => format!("text == {wanted:?}"),
        Term::Matches { pattern, .. } => {
            regexes.push(Regex::new(pattern).map_err(|error| error.to_string())?);
            format!("matches(text, {})", regexes.len() - 1)
        }
        Term::Is(field, value) => format!("{} == {value:?}", STRINGS[*field]),
        Term::IsNot(field, value) => format!("({0} != () && {0} != {value:?})", STRINGS[*field]),
        Term::OneOf(field, values) => format!("({} in {values:?})", STRINGS[*field]),
        Term::Compare(field, comparison, value) => {
            let operator = if *comparison == Comparison::AtLeast { ">=" } else { "<" };
            let name = NUMBERS[*field as usize];
            if *field == Number::Score {
                format!("{name} {operator} {value:?}")
            } else {
                format!("{name} {operator} {value}")
            }
        }
        Term::Tagged(tag) => format!("({tag:?} in tags)"),
        Term::IsNew => "is_new == true".to_owned(),
        Term::Either(left, right) => {
            format!("({} || {})", self::term(left, regexes)?, self::term(right, regexes)?)
        }
    })
}

impl Engine for Rhai {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        Box::new(Scan { rules: self, scopes: samples.iter().map(scope).collect() })
    }
}

fn scope(sample: &Sample) -> Scope<'static> {
    let message = &sample.message;
    let mut scope = Scope::new();
    scope.push_constant("text", message.text.clone());
    scope.push_constant("lower", message.text.to_ascii_lowercase());
    for (name, value) in STRINGS.iter().zip(&message.strings) {
        let value = if value.is_empty() { Dynamic::UNIT } else { value.clone().into() };
        scope.push_constant_dynamic(*name, value);
    }
    for (name, field) in NUMBERS.iter().zip(Number::ALL) {
        let value = message.numbers[field as usize];
        let value = match field {
            _ if value.is_nan() => Dynamic::UNIT,
            Number::Score => value.into(),
            _ => (value as i64).into(),
        };
        scope.push_constant_dynamic(*name, value);
    }
    let tags: rhai::Array = message.tags.iter().map(|tag| tag.clone().into()).collect();
    scope.push_constant("tags", tags);
    scope.push_constant_dynamic("is_new", message.is_new.map_or(Dynamic::UNIT, Dynamic::from));
    scope
}

struct Scan<'e> {
    rules: &'e Rhai,
    scopes: Vec<Scope<'static>>,
}

impl Ready for Scan<'_> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        let scope = &mut self.scopes[at];
        let engine = &self.rules.engine;
        let holds = |route: &AST| engine.eval_ast_with_scope::<bool>(scope, route).unwrap_or(false);
        self.rules.routes.iter().position(holds).map(|rank| rank as u32)
    }
}
