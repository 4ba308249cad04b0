//! Generates the straight-line baseline: for each workload of a fixed set, a Rust function that
//! tests the routes in order, the cheapest terms of a route first.

#[path = "src/workload/mod.rs"]
mod workload;

use std::fmt::Write;
use workload::{Comparison, Shape, Term, Variant, Words, Workload};

/// Sizes of the generated rule sets: the default sizes of the command line, up to 100 routes.
const SIZES: [usize; 3] = [1, 10, 100];
const NO_KEY: usize = 5;
const SEED: u64 = 7;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/workload");
    println!("cargo::rerun-if-changed=../support/random.rs");
    if std::env::var_os("CARGO_FEATURE_HYPERSCAN").is_some() {
        println!("cargo::rustc-link-lib=hs");
    }
    let mut code = Code::default();
    for variant in Variant::ALL {
        for &density in variant.densities() {
            for routes in SIZES {
                for seed in SEED..SEED + Shape::draws(routes) {
                    code.rule_set(&Workload::new(Shape { routes, variant, density, no_key: NO_KEY, seed }));
                }
            }
        }
    }
    let out = format!("{}\npub static ALL: &[Generated] = &[\n{}];\n", code.functions, code.table);
    let folder = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(format!("{folder}/straight.rs"), out).expect("OUT_DIR can be written");
}

/// The source text of the generated functions, and of the table that lists the functions.
#[derive(Default)]
struct Code {
    functions: String,
    table: String,
    words: Vec<String>,
    patterns: Vec<String>,
}

impl Code {
    fn rule_set(&mut self, workload: &Workload) {
        let Shape { routes, variant, density, no_key, seed } = workload.shape;
        (self.words, self.patterns) = (Vec::new(), Vec::new());
        let name = format!("{}_{}_{routes}_{seed}", density.name(), variant.name());
        let mut body = String::new();
        for route in &workload.routes {
            let mut terms: Vec<&Term> = route.terms.iter().collect();
            terms.sort_by_key(|term| term.cost());
            let terms: Vec<String> = terms.into_iter().map(|term| self.term(term)).collect();
            let _ = writeln!(body, "    if {} {{ return Some({}); }}", terms.join(" && "), route.rank);
        }
        let _ = write!(
            self.functions,
            "#[allow(unused_variables, unused_parens)]\n\
             fn {name}(view: &View<'_>, finders: &[Finder<'static>], regexes: &[Regex]) -> Option<u32> {{\n\
             {body}    None\n}}\n"
        );
        let (words, patterns) = (&self.words, &self.patterns);
        let _ = writeln!(
            self.table,
            "Generated {{ shape: Shape {{ routes: {routes}, variant: Variant::{variant:?}, \
             density: Density::{density:?}, no_key: {no_key}, seed: {seed} }}, words: &{words:?}, patterns: &{patterns:?}, decide: {name} }},"
        );
    }

    fn find(&mut self, word: &str, fold: bool) -> String {
        self.words.push(word.to_owned());
        let text = if fold { "lower" } else { "text" };
        format!("finders[{}].find(view.{text}()).is_some()", self.words.len() - 1)
    }

    fn term(&mut self, term: &Term) -> String {
        match term {
            Term::Contains { words, joined, fold } => {
                let joint = if *joined == Words::Any { " || " } else { " && " };
                let parts: Vec<String> = words.iter().map(|word| self.find(word, *fold)).collect();
                format!("({})", parts.join(joint))
            }
            Term::Lacks(word) => format!("!{}", self.find(word, false)),
            Term::StartsWith { word, fold: false } => format!("view.text().starts_with({word:?}.as_bytes())"),
            Term::StartsWith { word, fold: true } => format!(
                "view.text().get(..{}).is_some_and(|start| start.eq_ignore_ascii_case({word:?}.as_bytes()))",
                word.len()
            ),
            Term::TextIs(wanted) => format!("view.message.text == {wanted:?}"),
            Term::Matches { pattern, .. } => {
                self.patterns.push(pattern.clone());
                format!("regexes[{}].is_match(&view.message.text)", self.patterns.len() - 1)
            }
            Term::Is(field, value) => format!("view.string({field}) == {value:?}"),
            Term::IsNot(field, value) => {
                format!("(!view.string({field}).is_empty() && view.string({field}) != {value:?})")
            }
            Term::OneOf(field, values) => {
                let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
                format!("matches!(view.string({field}), {})", values.join(" | "))
            }
            Term::Compare(field, comparison, value) => {
                let operator = if *comparison == Comparison::AtLeast { ">=" } else { "<" };
                format!("view.number({}) {operator} {value:?}", *field as usize)
            }
            Term::Tagged(tag) => format!("view.tagged({tag:?})"),
            Term::IsNew => "view.is_new()".to_owned(),
            Term::Either(left, right) => format!("({} || {})", self.term(left), self.term(right)),
        }
    }
}
