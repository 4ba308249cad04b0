//! Compares the findings of the analysis about a small program with brute force over all inputs of
//! the program.

use super::small::{INPUT, Program, is_plain};
use rulec::{Code, Finding, Rules, Span};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Brute-force results: which routes match each input of a program. The first matching route is the
/// chosen route.
struct Table {
    names: Vec<String>,
    /// For each input, the matching routes in evaluation order.
    held: Vec<Vec<usize>>,
}

fn table(rules: &Rules, inputs: &[Json]) -> Table {
    let names: Vec<String> = rules.program().rules.iter().map(|rule| rule.name.to_string()).collect();
    let place = |name: &&str| names.iter().position(|other| other == name).expect("a route");
    let held = inputs.iter().map(|input| rules.main().matched(input).iter().map(place).collect()).collect();
    Table { names, held }
}

impl Table {
    fn never_holds(&self, route: usize) -> bool {
        self.held.iter().all(|held| !held.contains(&route))
    }
    fn always_holds(&self, route: usize) -> bool {
        self.held.iter().all(|held| held.contains(&route))
    }
    fn is_ever_chosen(&self, route: usize) -> bool {
        self.held.iter().any(|held| held.first() == Some(&route))
    }
}

/// Returns for each input whether the condition is true; `None` if the condition does not compile.
fn condition_results(condition: &str, inputs: &[Json]) -> Option<Vec<bool>> {
    let text = format!("{INPUT}route r when {condition} -> h");
    let rules = Rules::from_text(&text).ok()?;
    Some(inputs.iter().map(|input| !rules.main().matched(input).is_empty()).collect())
}

const NEVER: [Code; 4] = [Code::NeverMatches, Code::Contradiction, Code::EmptyRange, Code::OutOfRange];

/// Counts by kind of fact, such as `never` (no input matches a route). The first number counts the
/// facts that brute force finds. The second counts those that the analysis finds too.
pub type Shares = BTreeMap<&'static str, (usize, usize)>;

fn count(shares: &mut Shares, kind: &'static str, there: bool, seen: bool) {
    let (all, found) = shares.entry(kind).or_default();
    *all += usize::from(there);
    *found += usize::from(there && seen);
}

/// A program with the findings of the analysis and the results of brute force.
struct SeedCheck<'p> {
    seed: u64,
    text: String,
    program: &'p Program,
    rules: Rules,
    table: Table,
    findings: Vec<Finding>,
    /// For each route, the codes of the analysis findings and compiler warnings whose span is in
    /// the route.
    codes: Vec<Vec<Code>>,
}

impl<'p> SeedCheck<'p> {
    fn new(seed: u64, program: &'p Program) -> SeedCheck<'p> {
        let text = program.text();
        let rules = Rules::from_text(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let (table, findings) = (table(&rules, &program.inputs), rules.analyse());
        let mut held = SeedCheck { seed, text, program, rules, table, findings, codes: Vec::new() };
        held.codes = vec![Vec::new(); held.table.names.len()];
        let warned = held.rules.warnings().iter();
        let all = warned.chain(held.findings.iter().map(|finding| &finding.diagnostic));
        for diagnostic in all.cloned().collect::<Vec<_>>() {
            if let Some(route) = diagnostic.span().and_then(|span| held.route_at(span)) {
                held.codes[route].push(diagnostic.code);
            }
        }
        held
    }

    fn route_at(&self, span: Span) -> Option<usize> {
        let within = |rule: Span| rule.start <= span.start && span.end <= rule.end;
        self.rules.program().rules.iter().position(|rule| within(rule.span))
    }

    fn fail(&self, finding: &Finding, why: &str) -> ! {
        let Finding { diagnostic, witness, .. } = finding;
        panic!(
            "seed {}: {why}\n{}\n{} {}\n{witness:?}",
            self.seed, self.text, diagnostic.code, diagnostic.message
        )
    }

    /// Returns the routes that match the witness input of a finding.
    fn shown_texts(&self, finding: &Finding) -> Vec<&str> {
        let Some(witness) = &finding.witness else { self.fail(finding, "there is no witness") };
        self.rules.main().matched(witness)
    }

    /// Panics if an input contradicts the finding.
    fn check(&self, finding: &Finding) {
        let Some(span) = finding.diagnostic.span() else { self.fail(finding, "no place") };
        let Some(route) = self.route_at(span) else { self.fail(finding, "not in a route") };
        match finding.diagnostic.code {
            Code::AlwaysMatches if !self.table.always_holds(route) => {
                self.fail(finding, "it does not always hold")
            }
            Code::RouteHidden if self.table.is_ever_chosen(route) => self.fail(finding, "it is chosen"),
            Code::NoDefault | Code::NoDefaultUnpromised if !self.shown_texts(finding).is_empty() => {
                self.fail(finding, "a route takes the input")
            }
            Code::NoDefault => self.check_promise(finding, true),
            Code::NoDefaultUnpromised => self.check_promise(finding, false),
            Code::NegationFallsThrough
                if self.shown_texts(finding).contains(&self.table.names[route].as_str()) =>
            {
                self.fail(finding, "the route takes the input")
            }
            Code::EqualPriority if self.shown_texts(finding).len() < 2 => {
                self.fail(finding, "they do not both hold")
            }
            Code::PartDecidesNothing => self.check_part(finding, route, span),
            code if NEVER.contains(&code) => self.check_never(finding),
            _ => {}
        }
    }

    /// Checks that the witness satisfies the declared `input` (keeps its promise) if `keeps` is
    /// true, and violates it otherwise. If the finding also says that routes match every message
    /// that keeps the promise, checks that they do.
    fn check_promise(&self, finding: &Finding, keeps: bool) {
        let input = self.rules.program().input.as_ref().expect("there is an input");
        let witness = finding.witness.as_ref().expect("there is a witness");
        if rulec_lang::schema::find_input_violations(input, witness).is_empty() != keeps {
            self.fail(finding, "the promise is not kept or broken as the finding says");
        }
        let help = finding.diagnostic.help.as_ref().map(ToString::to_string).unwrap_or_default();
        if help.starts_with("every message that keeps the promise") && self.has_promised_gap() {
            self.fail(finding, "an input that keeps the promise is not taken");
        }
    }

    /// True if no route matches some message that satisfies the declared `input`.
    fn has_promised_gap(&self) -> bool {
        let inputs = self.program.inputs.iter().zip(&self.table.held);
        let promised = |input: &Json| !self.program.required || self.program.keeps_promise(input);
        inputs.into_iter().any(|(input, held)| held.is_empty() && promised(input))
    }

    /// Checks that no input satisfies all parts of a condition that a finding refers to. Such a
    /// finding says that one part is never true, or that several parts exclude each other.
    fn check_never(&self, finding: &Finding) {
        // A part after `unless` is negated, so it is not checked.
        if finding.diagnostic.message.contains("`unless ") {
            return;
        }
        let labels = finding.diagnostic.labels.iter();
        let parts: Vec<String> =
            labels.map(|label| format!("({})", &self.text[label.span.range()])).collect();
        let holds = condition_results(&parts.join(" and "), &self.program.inputs);
        if holds.is_some_and(|holds| holds.contains(&true)) {
            self.fail(finding, "it holds for some input");
        }
    }

    /// Checks that a part of a route's condition decides nothing: either `true` or `false` can
    /// replace the part without a change in the results of the condition.
    fn check_part(&self, finding: &Finding, route: usize, span: Span) {
        let own = self.rules.program().rules[route].condition.span;
        let text = |from: u32, to: u32| &self.text[from as usize..to as usize];
        let (before, behind) = (text(own.start, span.start), text(span.end, own.end));
        let inputs = &self.program.inputs;
        let same = |constant: &str| {
            condition_results(&format!("{before}{constant}{behind}"), inputs)
                == condition_results(text(own.start, own.end), inputs)
        };
        // If a route has several such parts, they may be redundant only together.
        let is_one = |code: &&Code| **code == Code::PartDecidesNothing || NEVER.contains(code);
        let alone = self.codes[route].iter().filter(is_one).count() == 1;
        if alone && !same("true") && !same("false") {
            self.fail(finding, "the part decides something");
        }
    }

    /// Adds to `shares` the number of facts that brute force finds, and how many of these facts the
    /// analysis finds.
    fn count(&self, shares: &mut Shares) {
        let text = &self.text;
        // The analysis handles functions of fields, arithmetic and quantifiers only in part.
        let plain = is_plain(text);
        let kind = |all: &'static str, functions: &'static str| if plain { all } else { functions };
        for (route, codes) in self.codes.iter().enumerate() {
            let (never, always) = (self.table.never_holds(route), self.table.always_holds(route));
            let seen = codes.iter().any(|code| NEVER.contains(code));
            count(shares, kind("never", "never, with functions"), never, seen);
            let seen = codes.contains(&Code::AlwaysMatches);
            count(shares, kind("always", "always, with functions"), always, seen);
            let behind_all =
                (0..self.table.names.len()).any(|other| other != route && self.table.always_holds(other));
            let hidden = !never && !self.table.is_ever_chosen(route) && !behind_all;
            let seen = codes.contains(&Code::RouteHidden);
            count(shares, kind("hidden", "hidden, with functions"), hidden, seen);
        }
        let open = self.has_promised_gap() && !text.contains("default ->");
        let seen = self.findings.iter().any(|finding| finding.diagnostic.code == Code::NoDefault);
        count(shares, kind("no default", "no default, with functions"), open, seen);
    }
}

/// Compares the findings about a program with brute force over all inputs, and adds the numbers of
/// facts to `shares`.
pub fn check_seed(seed: u64, program: &Program, shares: &mut Shares) {
    let held = SeedCheck::new(seed, program);
    // The programs declare fields that they do not read.
    let of_routes = |finding: &&Finding| finding.diagnostic.code != Code::UnreadField;
    held.findings.iter().filter(of_routes).for_each(|finding| held.check(finding));
    held.count(shares);
}
