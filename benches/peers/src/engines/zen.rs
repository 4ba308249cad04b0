//! zen-expression, the expression language of the GoRules engine: one compiled expression per
//! route, run in order on one VM.
//!
//! A missing value is null. A comparison with null is an error, and the evaluation ends without a
//! match. The translation therefore adds a guard where another operand may still match. `matches`
//! is the function of the zen crate, which compiles its pattern at every call. The lower-case text
//! is a separate field, created before the timing (in zen's favour).

use super::{Engine, Ready, Sample};
use crate::workload::{Comparison, Message, Route, Term, Words, Workload};
use serde_json::{Map, Value as Json};
use zen_expression::expression::Standard;
use zen_expression::scope::Scope;
use zen_expression::variable::Variable;
use zen_expression::vm::VM;
use zen_expression::{Expression, compile_expression};

const STRINGS: [&str; 5] = ["role", "channel", "country", "product", "error"];
const NUMBERS: [&str; 5] = ["message_count", "age_days", "total", "items", "score"];

/// An expression for each route.
pub struct Zen {
    expressions: Vec<Expression<Standard>>,
}

pub fn build(workload: &Workload) -> Result<Box<dyn Engine + '_>, String> {
    Ok(Box::new(Zen::new(&workload.routes)?))
}

impl Zen {
    /// Compiles the routes, which are in evaluation order.
    ///
    /// # Errors
    /// If a route cannot be compiled.
    pub fn new(routes: &[Route]) -> Result<Zen, String> {
        let expression = |route: &Route| {
            let terms: Vec<String> = route.terms.iter().map(|term| self::term(term, false)).collect();
            compile_expression(&terms.join(" and ")).map_err(|error| error.to_string())
        };
        Ok(Zen { expressions: routes.iter().map(expression).collect::<Result<_, _>>()? })
    }

    /// Returns the rank of the first route that matches a message which no earlier call has
    /// prepared.
    pub fn decide(&self, message: &Message) -> Option<u32> {
        first(&self.expressions, &scope(message), &mut VM::new())
    }
}

fn scope(message: &Message) -> Scope {
    Scope::new(Variable::from(fields(message)))
}

fn first(expressions: &[Expression<Standard>], scope: &Scope, vm: &mut VM) -> Option<u32> {
    let mut holds = |expression: &Expression<Standard>| {
        matches!(expression.evaluate_with_scope(scope, vm), Ok(Variable::Bool(true)))
    };
    expressions.iter().position(|expression| holds(expression)).map(|rank| rank as u32)
}

/// Translates a term. If `guarded` is set, an error in the term must not end the whole expression.
fn term(term: &Term, guarded: bool) -> String {
    let text = |fold: bool| if fold { "lower" } else { "text" };
    match term {
        Term::Contains { words, joined, fold } => {
            let joint = if *joined == Words::Any { " or " } else { " and " };
            let parts: Vec<String> =
                words.iter().map(|word| format!("contains({}, {word:?})", text(*fold))).collect();
            format!("({})", parts.join(joint))
        }
        Term::Lacks(word) => format!("not contains(text, {word:?})"),
        Term::StartsWith { word, fold } => format!("startsWith({}, {word:?})", text(*fold)),
        Term::TextIs(wanted) => format!("text == {wanted:?}"),
        Term::Matches { pattern, .. } => format!("matches(text, \"{pattern}\")"),
        Term::Is(field, value) => format!("{} == {value:?}", STRINGS[*field]),
        Term::IsNot(field, value) => format!("({0} != null and {0} != {value:?})", STRINGS[*field]),
        Term::OneOf(field, values) => format!("{} in {values:?}", STRINGS[*field]),
        Term::Compare(field, comparison, value) => {
            let operator = if *comparison == Comparison::AtLeast { ">=" } else { "<" };
            let name = NUMBERS[*field as usize];
            let guard = if guarded { format!("{name} != null and ") } else { String::new() };
            format!("({guard}{name} {operator} {value})")
        }
        Term::Tagged(tag) => format!("contains(tags, {tag:?})"),
        Term::IsNew => "is_new == true".to_owned(),
        Term::Either(left, right) => format!("({} or {})", self::term(left, true), self::term(right, true)),
    }
}

impl Engine for Zen {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        let scopes = samples.iter().map(|sample| scope(&sample.message)).collect();
        Box::new(Scan { expressions: &self.expressions, scopes, vm: VM::new() })
    }
}

/// Returns the message as one flat object.
fn fields(message: &Message) -> Json {
    let mut fields = Map::new();
    fields.insert("text".into(), message.text.as_str().into());
    fields.insert("lower".into(), message.text.to_ascii_lowercase().into());
    for (name, value) in STRINGS.iter().zip(&message.strings) {
        let value = if value.is_empty() { Json::Null } else { value.as_str().into() };
        fields.insert((*name).to_owned(), value);
    }
    for (name, value) in NUMBERS.iter().zip(message.numbers) {
        let value = if value.is_nan() {
            Json::Null
        } else if value.fract() == 0.0 {
            (value as i64).into()
        } else {
            value.into()
        };
        fields.insert((*name).to_owned(), value);
    }
    fields.insert("tags".into(), message.tags.clone().into());
    fields.insert("is_new".into(), message.is_new.into());
    Json::Object(fields)
}

struct Scan<'e> {
    expressions: &'e [Expression<Standard>],
    scopes: Vec<Scope>,
    vm: VM,
}

impl Ready for Scan<'_> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        first(self.expressions, &self.scopes[at], &mut self.vm)
    }
}
