//! wirefilter-engine 0.6.1, the current release on crates.io: filters over bytes, 32-bit integers
//! and booleans. It has no lists or floats, so it runs only the variants `subset` and `fields`.
//!
//! It panics on a field without a value and cannot ignore case. A missing value is therefore an
//! empty string or -1. A translated test excludes these values where they could match. The
//! lower-case text is a second field, created before the timing (in wirefilter's favour). Filters
//! and contexts share one lifetime, so both are leaked; the benchmark needs them until it ends.

use super::{Engine, Ready, Sample, require_variant};
use crate::workload::{Comparison, Message, Number, Route, Term, Variant, Words, Workload};
use wirefilter::{ExecutionContext, Filter, Scheme, Type};

const STRINGS: [&str; 5] = ["role", "channel", "country", "product", "error"];
const NUMBERS: [&str; 4] = ["message_count", "age_days", "total", "items"];

struct Wirefilter {
    scheme: &'static Scheme,
    filters: Vec<Filter<'static>>,
}

pub fn build(workload: &Workload) -> Result<Box<dyn Engine + '_>, String> {
    require_variant(&[Variant::Subset, Variant::Context], workload, "lists and floating numbers")?;
    let fields = STRINGS.iter().chain(&["text", "lower"]).map(|name| ((*name).to_owned(), Type::Bytes));
    let fields = fields.chain(NUMBERS.iter().map(|name| ((*name).to_owned(), Type::Int)));
    let fields = fields.chain([("is_new".to_owned(), Type::Bool)]);
    let scheme: &'static Scheme =
        Box::leak(Box::new(Scheme::try_from_iter(fields).map_err(|error| error.to_string())?));
    let filter = |route: &Route| {
        let terms: Vec<String> = route.terms.iter().map(term).collect::<Result<_, _>>()?;
        let source = terms.join(" && ");
        scheme.parse(&source).map(|ast| ast.compile()).map_err(|error| error.to_string())
    };
    let filters = workload.routes.iter().map(filter).collect::<Result<_, String>>()?;
    Ok(Box::new(Wirefilter { scheme, filters }))
}

fn term(term: &Term) -> Result<String, String> {
    let text = |fold: bool| if fold { "lower" } else { "text" };
    Ok(match term {
        Term::Contains { words, joined, fold } => {
            let joint = if *joined == Words::Any { " || " } else { " && " };
            let parts: Vec<String> =
                words.iter().map(|word| format!("{} contains {word:?}", text(*fold))).collect();
            format!("({})", parts.join(joint))
        }
        Term::Lacks(word) => format!("not (text contains {word:?})"),
        Term::StartsWith { word, fold } => format!("{} matches \"^{word}\"", text(*fold)),
        Term::TextIs(wanted) => format!("text == {wanted:?}"),
        Term::Matches { pattern, .. } => format!("text matches \"(?u){pattern}\""),
        Term::Is(field, value) => format!("{} == {value:?}", STRINGS[*field]),
        Term::IsNot(field, value) => format!("({0} != \"\" && {0} != {value:?})", STRINGS[*field]),
        Term::OneOf(field, values) => {
            let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            format!("{} in {{{}}}", STRINGS[*field], values.join(" "))
        }
        Term::Compare(field, comparison, value) => {
            let name = NUMBERS.get(*field as usize).ok_or_else(|| super::unsupported("floating numbers"))?;
            match comparison {
                Comparison::AtLeast => format!("{name} >= {value}"),
                Comparison::Below => format!("({name} < {value} && {name} >= 0)"),
            }
        }
        Term::Tagged(_) => return Err(super::unsupported("lists")),
        Term::IsNew => "is_new".to_owned(),
        Term::Either(left, right) => format!("({} || {})", self::term(left)?, self::term(right)?),
    })
}

impl Engine for Wirefilter {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        let contexts = samples.iter().map(|sample| context(self.scheme, &sample.message)).collect();
        Box::new(Scan { filters: &self.filters, contexts })
    }
}

fn context(scheme: &'static Scheme, message: &Message) -> ExecutionContext<'static> {
    let mut context = ExecutionContext::new(scheme);
    let texts = [("text", message.text.clone()), ("lower", message.text.to_ascii_lowercase())];
    let strings = STRINGS.into_iter().zip(message.strings.iter().cloned());
    let mut set = Ok(());
    for (name, value) in texts.into_iter().chain(strings) {
        let value: &'static str = Box::leak(value.into_boxed_str());
        set = set.and(context.set_field_value(name, value));
    }
    for (name, field) in NUMBERS.iter().zip(Number::ALL) {
        let value = message.numbers[field as usize];
        let value = if value.is_nan() { -1 } else { value as i32 };
        set = set.and(context.set_field_value(name, value));
    }
    set = set.and(context.set_field_value("is_new", message.is_new == Some(true)));
    set.unwrap_or_else(|error| panic!("{error}"));
    context
}

struct Scan<'e> {
    filters: &'e [Filter<'static>],
    contexts: Vec<ExecutionContext<'static>>,
}

impl Ready for Scan<'_> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        let context = &self.contexts[at];
        let holds = |filter: &Filter<'static>| filter.execute(context).unwrap_or(false);
        self.filters.iter().position(holds).map(|rank| rank as u32)
    }
}
