//! The `cel` crate, an interpreter of Google's Common Expression Language: one program per route,
//! executed in order.
//!
//! A missing field is an undeclared variable; its error ends the evaluation without a match.
//! `matches` is the function of the `cel` crate, which compiles its pattern at every call. The
//! lower-case text is a separate variable, created before the timing (in the crate's favour).

use super::{Engine, Ready, Sample};
use crate::workload::{Comparison, Message, Number, Route, Term, Words, Workload};
use cel::{Context, Program, Value};

const STRINGS: [&str; 5] = ["role", "channel", "country", "product", "error"];
const NUMBERS: [&str; 5] = ["message_count", "age_days", "total", "items", "score"];

/// A program for each route.
pub struct Cel {
    programs: Vec<Program>,
}

pub fn build(workload: &Workload) -> Result<Box<dyn Engine + '_>, String> {
    Ok(Box::new(Cel::new(&workload.routes)?))
}

impl Cel {
    /// Compiles the routes, which are in evaluation order.
    ///
    /// # Errors
    /// If a route cannot be compiled.
    pub fn new(routes: &[Route]) -> Result<Cel, String> {
        let program = |route: &Route| {
            let terms: Vec<String> = route.terms.iter().map(term).collect();
            Program::compile(&terms.join(" && ")).map_err(|error| error.to_string())
        };
        Ok(Cel { programs: routes.iter().map(program).collect::<Result<_, _>>()? })
    }

    /// Returns the rank of the first route that matches a message which no earlier call has
    /// prepared.
    pub fn decide(&self, message: &Message) -> Option<u32> {
        first(&self.programs, &context(message))
    }
}

fn first(programs: &[Program], context: &Context<'_, '_>) -> Option<u32> {
    let holds = |program: &Program| matches!(program.execute(context), Ok(Value::Bool(true)));
    programs.iter().position(holds).map(|rank| rank as u32)
}

fn term(term: &Term) -> String {
    let text = |fold: bool| if fold { "lower" } else { "text" };
    match term {
        Term::Contains { words, joined, fold } => {
            let joint = if *joined == Words::Any { " || " } else { " && " };
            let parts: Vec<String> =
                words.iter().map(|word| format!("{}.contains({word:?})", text(*fold))).collect();
            format!("({})", parts.join(joint))
        }
        Term::Lacks(word) => format!("!text.contains({word:?})"),
        Term::StartsWith { word, fold } => format!("{}.startsWith({word:?})", text(*fold)),
        Term::TextIs(wanted) => format!("text == {wanted:?}"),
        Term::Matches { pattern, .. } => format!("text.matches(r\"{pattern}\")"),
        Term::Is(field, value) => format!("{} == {value:?}", STRINGS[*field]),
        Term::IsNot(field, value) => format!("{} != {value:?}", STRINGS[*field]),
        Term::OneOf(field, values) => format!("{} in {values:?}", STRINGS[*field]),
        Term::Compare(field, comparison, value) => {
            let operator = if *comparison == Comparison::AtLeast { ">=" } else { "<" };
            let name = NUMBERS[*field as usize];
            if *field == Number::Score {
                format!("{name} {operator} {value:?}")
            } else {
                format!("{name} {operator} {value}")
            }
        }
        Term::Tagged(tag) => format!("{tag:?} in tags"),
        Term::IsNew => "is_new".to_owned(),
        Term::Either(left, right) => format!("({} || {})", self::term(left), self::term(right)),
    }
}

impl Engine for Cel {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        let contexts = samples.iter().map(|sample| context(&sample.message)).collect();
        Box::new(Scan { programs: &self.programs, contexts })
    }
}

fn context(message: &Message) -> Context<'static, 'static> {
    let mut context = Context::default();
    let string = |text: &str| Value::String(text.to_owned().into());
    context.add_variable_from_value("text", string(&message.text));
    context.add_variable_from_value("lower", string(&message.text.to_ascii_lowercase()));
    for (name, value) in STRINGS.iter().zip(&message.strings) {
        if !value.is_empty() {
            context.add_variable_from_value(*name, string(value));
        }
    }
    for (name, field) in NUMBERS.iter().zip(Number::ALL) {
        let value = message.numbers[field as usize];
        match field {
            _ if value.is_nan() => {}
            Number::Score => context.add_variable_from_value(*name, Value::Float(value)),
            _ => context.add_variable_from_value(*name, Value::Int(value as i64)),
        }
    }
    if !message.tags.is_empty() {
        let tags: Vec<Value> = message.tags.iter().map(|tag| string(tag)).collect();
        context.add_variable_from_value("tags", Value::List(tags.into()));
    }
    if let Some(is_new) = message.is_new {
        context.add_variable_from_value("is_new", Value::Bool(is_new));
    }
    context
}

struct Scan<'e> {
    programs: &'e [Program],
    contexts: Vec<Context<'static, 'static>>,
}

impl Ready for Scan<'_> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        first(self.programs, &self.contexts[at])
    }
}
