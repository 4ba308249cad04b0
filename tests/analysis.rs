//! The findings of `Rules::analyse` about random small programs, held against brute force: every input over a domain that tells
//! apart all that the programs can ask. A finding that some input contradicts is a false alarm, a witness that shows
//! something else is a wrong one; how much of what brute force finds the analysis sees is printed, by kind.
//!
//! `ANALYSIS_PROGRAMS=1000000` tries more programs than usual.

#[path = "support/random.rs"]
mod random;
#[path = "support/small.rs"]
mod small;
#[path = "support/trials.rs"]
mod trials;

use random::Random;
use rulec::{Code, Finding, Rules, Span};
use serde_json::Value as Json;
use small::{INPUT, Program, is_plain, program};
use std::collections::BTreeMap;
use trials::{each, seeds};

const PROGRAMS: u64 = 10_000;

/// The truth of a program's routes for its inputs, and which is chosen.
struct Table {
    names: Vec<String>,
    /// For each input the routes that hold, in the order they are tried.
    held: Vec<Vec<usize>>,
}

fn table(rules: &Rules, inputs: &[Json]) -> Table {
    let names: Vec<String> = rules.program().rules.iter().map(|rule| rule.name.to_string()).collect();
    let place = |name: &&str| names.iter().position(|other| other == name).expect("a route");
    let held = inputs.iter().map(|input| rules.main().matched(input).iter().map(place).collect()).collect();
    Table { names, held }
}

impl Table {
    fn never(&self, route: usize) -> bool {
        self.held.iter().all(|held| !held.contains(&route))
    }
    fn always(&self, route: usize) -> bool {
        self.held.iter().all(|held| held.contains(&route))
    }
    fn chosen(&self, route: usize) -> bool {
        self.held.iter().any(|held| held.first() == Some(&route))
    }
}

/// The inputs for which a condition holds; `None` where it does not compile.
fn truths(condition: &str, inputs: &[Json]) -> Option<Vec<bool>> {
    let text = format!("{INPUT}route r when {condition} -> h");
    let rules = Rules::from_text(&text).ok()?;
    Some(inputs.iter().map(|input| !rules.main().matched(input).is_empty()).collect())
}

const NEVER: [Code; 4] = [Code::NeverMatches, Code::Contradiction, Code::EmptyRange, Code::OutOfRange];

/// The number of facts that brute force finds, and of those that the analysis sees, by kind.
type Shares = BTreeMap<&'static str, (usize, usize)>;

fn count(shares: &mut Shares, kind: &'static str, there: bool, seen: bool) {
    let (all, found) = shares.entry(kind).or_default();
    *all += usize::from(there);
    *found += usize::from(there && seen);
}

/// A program with its findings, and what brute force knows of it.
struct Held<'p> {
    seed: u64,
    text: String,
    program: &'p Program,
    rules: Rules,
    table: Table,
    findings: Vec<Finding>,
    /// The codes found in each route, those of compiling too.
    codes: Vec<Vec<Code>>,
}

impl<'p> Held<'p> {
    fn new(seed: u64, program: &'p Program) -> Held<'p> {
        let text = program.text();
        let rules = Rules::from_text(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let (table, findings) = (table(&rules, &program.inputs), rules.analyse());
        let mut held = Held { seed, text, program, rules, table, findings, codes: Vec::new() };
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

    /// The routes that hold for the input that shows a finding.
    fn shown(&self, finding: &Finding) -> Vec<&str> {
        let Some(witness) = &finding.witness else { self.fail(finding, "there is no witness") };
        self.rules.main().matched(witness)
    }

    /// Fails when an input contradicts a finding.
    fn check(&self, finding: &Finding) {
        let Some(span) = finding.diagnostic.span() else { self.fail(finding, "no place") };
        let Some(route) = self.route_at(span) else { self.fail(finding, "not in a route") };
        match finding.diagnostic.code {
            Code::AlwaysMatches if !self.table.always(route) => self.fail(finding, "it does not always hold"),
            Code::RouteHidden if self.table.chosen(route) => self.fail(finding, "it is chosen"),
            Code::NoDefault if !self.shown(finding).is_empty() => {
                self.fail(finding, "a route takes the input")
            }
            Code::NegationFallsThrough if self.shown(finding).contains(&self.table.names[route].as_str()) => {
                self.fail(finding, "the route takes the input")
            }
            Code::EqualPriority if self.shown(finding).len() < 2 => {
                self.fail(finding, "they do not both hold")
            }
            Code::PartDecidesNothing => self.check_part(finding, route, span),
            code if NEVER.contains(&code) => self.check_never(finding),
            _ => {}
        }
    }

    /// The parts that exclude each other, or the one: no input has them together.
    fn check_never(&self, finding: &Finding) {
        // A part that stands behind `unless` is its opposite.
        if finding.diagnostic.message.contains("`unless ") {
            return;
        }
        let labels = finding.diagnostic.labels.iter();
        let parts: Vec<String> =
            labels.map(|label| format!("({})", &self.text[label.span.range()])).collect();
        let holds = truths(&parts.join(" and "), &self.program.inputs);
        if holds.is_some_and(|holds| holds.contains(&true)) {
            self.fail(finding, "it holds for some input");
        }
    }

    /// The condition is the same with a constant in the place of the part.
    fn check_part(&self, finding: &Finding, route: usize, span: Span) {
        let own = self.rules.program().rules[route].condition.span;
        let text = |from: u32, to: u32| &self.text[from as usize..to as usize];
        let (before, behind) = (text(own.start, span.start), text(span.end, own.end));
        let inputs = &self.program.inputs;
        let same = |constant: &str| {
            truths(&format!("{before}{constant}{behind}"), inputs) == truths(text(own.start, own.end), inputs)
        };
        // Beside others that decide nothing it may do so only together with them.
        let is_one = |code: &&Code| **code == Code::PartDecidesNothing || NEVER.contains(code);
        let alone = self.codes[route].iter().filter(is_one).count() == 1;
        if alone && !same("true") && !same("false") {
            self.fail(finding, "the part decides something");
        }
    }

    /// Counts what brute force finds, and what of it is seen.
    fn count(&self, shares: &mut Shares) {
        let text = &self.text;
        // Of functions of fields, arithmetic and quantifiers some is understood.
        let plain = is_plain(text);
        let kind = |all: &'static str, functions: &'static str| if plain { all } else { functions };
        for (route, codes) in self.codes.iter().enumerate() {
            let (never, always) = (self.table.never(route), self.table.always(route));
            let seen = codes.iter().any(|code| NEVER.contains(code));
            count(shares, kind("never", "never, with functions"), never, seen);
            let seen = codes.contains(&Code::AlwaysMatches);
            count(shares, kind("always", "always, with functions"), always, seen);
            let behind_all =
                (0..self.table.names.len()).any(|other| other != route && self.table.always(other));
            let hidden = !never && !self.table.chosen(route) && !behind_all;
            let seen = codes.contains(&Code::RouteHidden);
            count(shares, kind("hidden", "hidden, with functions"), hidden, seen);
        }
        let open = self.table.held.iter().any(Vec::is_empty) && !text.contains("default ->");
        let seen = self.findings.iter().any(|finding| finding.diagnostic.code == Code::NoDefault);
        count(shares, kind("no default", "no default, with functions"), open, seen);
    }
}

/// Holds the findings about a program against all inputs.
fn hold(seed: u64, program: &Program, shares: &mut Shares) {
    let held = Held::new(seed, program);
    // The programs declare fields that they do not read.
    let of_routes = |finding: &&Finding| finding.diagnostic.code != Code::UnreadField;
    held.findings.iter().filter(of_routes).for_each(|finding| held.check(finding));
    held.count(shares);
}

#[test]
fn findings_are_those_of_brute_force() {
    let shares = each(
        seeds(PROGRAMS),
        |seed, shares: &mut Shares| hold(seed, &program(&mut Random::new(seed)), shares),
        |shares, other| {
            for (kind, (all, seen)) in other {
                let sum = shares.entry(kind).or_default();
                *sum = (sum.0 + all, sum.1 + seen);
            }
        },
    );
    for (kind, (all, seen)) in &shares {
        println!("{kind}: {seen} of {all} seen ({:.1}%)", 100.0 * *seen as f64 / (*all).max(1) as f64);
        let least = if kind.ends_with("functions") { 60 } else { 98 };
        assert!(*seen * 100 >= *all * least, "of `{kind}` too few are seen: {seen} of {all}");
    }
}

/// The code and the underlined text of each finding, and the input that shows it.
fn found(text: &str) -> Vec<String> {
    let rules = Rules::from_text(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let shown = |finding: &Finding| {
        let span = finding.diagnostic.span().expect("a place");
        let witness = finding.witness.as_ref().map_or_else(String::new, |witness| format!(" by {witness}"));
        format!("{} `{}`{witness}", finding.diagnostic.code, &text[span.range()])
    };
    rules.analyse().iter().map(shown).collect()
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(found(text), expected, "{text}");
}

/// The mistakes of a new author that once passed as "all well".
#[test]
fn mistakes_of_new_authors_are_found() {
    let one = |condition: &str, expected: &[&str]| {
        check(&format!("route one when {condition} -> h\ndefault -> d"), expected);
    };
    one("n > 5 and n < 3", &["W0210 `n > 5`"]);
    one(r#"role == "a" and role == "b""#, &[r#"W0210 `role == "a"`"#]);
    one("n in 5..1", &["W0211 `n in 5..1`"]);
    one("hour(at as datetime) == 24", &["W0212 `hour(at as datetime) == 24`"]);
    one(r#"lower(text) == "ABC""#, &[r#"W0212 `lower(text) == "ABC"`"#]);
    one("n > 3 and n > 5", &["W0209 `n > 3`"]);
    one("n > 3 or n > 5", &["W0209 `n > 5`"]);
    one(r#"text contains "refund" and text contains "fun""#, &[r#"W0209 `text contains "fun"`"#]);
    one(r#"text contains "a" and not (text contains any ["a", "b"])"#, &[r#"W0210 `text contains "a"`"#]);
    one(r#"text matches "^a+$" and text contains "b""#, &[r#"W0210 `text matches "^a+$"`"#]);
    one(r#"tags contains "x" and tags contains none ["x", "y"]"#, &[r#"W0210 `tags contains "x"`"#]);
    one("ctx.user is missing and ctx.user.role == \"a\"", &["W0210 `ctx.user is missing`"]);
    one("n is present and n > 3", &[]);
}

#[test]
fn routes_hidden_by_one_or_several_are_found() {
    let rest = "\ndefault -> d";
    check(&format!("route wide when n > 1 -> a\nroute some when n > 2 -> b{rest}"), &["W0213 `n > 2`"]);
    check(
        &format!(
            "route low when n < 5 -> a\nroute high when n >= 5 -> b\nroute three when n == 3 or n == 7 -> c{rest}"
        ),
        &["W0213 `n == 3 or n == 7`"],
    );
    // What is missing is taken by neither.
    check(
        &format!(
            "route low when n < 5 -> a\nroute high when n >= 5 -> b\nroute rest when n is missing -> c{rest}"
        ),
        &[],
    );
    // A jump may choose nothing.
    check(
        &format!(
            "route jump when n > 1 -> goto t\nroute some when n > 2 -> b{rest}\ntable t {{ route x when text == \"x\" -> c }}"
        ),
        &[],
    );
    check(
        &format!(
            "route jump when n > 1 -> goto t\nroute some when n > 2 -> b{rest}\ntable t {{ default -> c }}"
        ),
        &["W0213 `n > 2`"],
    );
    check(
        "choice c { default branch rest  branch some { s.n > 2 }  branch more { s.n > 1 } }",
        &["W0213 `branch some { s.n > 2 }`"],
    );
}

#[test]
fn inputs_that_fall_through_are_shown() {
    check("route one when n > 3 -> h", &["W0216 `route one when n > 3 -> h` by {}"]);
    check(
        "input { staff?: bool }\nroute guests when not staff -> h\ndefault -> d",
        &["W0215 `not staff` by {}"],
    );
    let guarded =
        "input { staff?: bool }\nroute guests when staff is missing or not staff -> h\ndefault -> d";
    check(guarded, &[]);
    check(
        "input { text: string, staff?: bool }\nroute guests when text == \"a\" unless staff -> h\ndefault -> d",
        &[],
    );
}

#[test]
fn equal_priorities_and_unused_declarations_are_found() {
    check(
        "route a priority 10 when n > 5 -> a\nroute b priority 10 when n > 3 -> b\ndefault -> d",
        &[r#"W0214 `n > 5` by {"n":6}"#],
    );
    check("route a when n > 5 -> a\nroute b when n > 3 -> b\ndefault -> d", &[]);
    check("handler a()\nhandler b()\nroute one when n > 5 -> a\ndefault -> a", &["W0103 `b`"]);
    check("route one when n > 5 -> a\ndefault -> a\ntable t { default -> a }", &["W0103 `t`"]);
    check(
        "route one when n > 5 -> a\ndefault -> a\ntest \"x\" { given n = 6 expect one }\ntest \"x\" { given n = 1 expect default }",
        &["W0104 `\"x\"`"],
    );
}

#[test]
fn comments_allow_findings_and_must_be_of_use() {
    check("# rulec: allow W0210 a joke\nroute one when n > 5 and n < 3 -> h\ndefault -> d", &[]);
    check(
        "# rulec: allow W0210 a joke\nroute one when n > 5 -> h\ndefault -> d",
        &["W0003 `# rulec: allow W0210 a joke`"],
    );
}

#[test]
fn fields_and_imports_that_nothing_uses_are_found() {
    let rest = "route one when n > 5 -> a\ndefault -> a";
    check(&format!("input {{ n: int, m: int }}\n{rest}"), &["W0105 `m: int`"]);
    // The outermost of each is told, `o.q` and `r`, in one finding; what is read in part is read.
    check(
        &format!(
            "input {{ n: int, o: {{ p: int, q: int }}, r: {{ s?: int }} }}\n{rest}\nroute two when o.p == 1 -> b"
        ),
        &["W0105 `q: int`"],
    );
    check(
        &format!(
            "input {{ n: int, phone: string @private, whole: any }}\n{rest}\nroute two when whole.x == 1 -> b"
        ),
        &[],
    );
    check(&format!("# rulec: allow W0105 a joke\ninput {{ n: int, m: int }}\n{rest}"), &[]);
    let files = |main: &str, other: &str| {
        let loader = rulec::MemoryLoader::new().with("main.rules", main).with("b.rules", other);
        let rules = rulec::Compiler::new().compile_with(&loader, "main.rules").expect("it compiles");
        rules.analyse().iter().map(|finding| finding.diagnostic.code.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(files(&format!("import \"b.rules\"\n{rest}"), "let big = n < 2"), ["W0106"]);
    assert!(
        files(&format!("import \"b.rules\"\n{rest}\nroute two when big -> b"), "let big = n < 2").is_empty()
    );
    assert!(files(&format!("import \"b.rules\"\n{rest}"), "handler a()\nlet big = n > 9").is_empty());
}

#[test]
fn branches_that_win_without_a_condition_are_found() {
    let choice = |input: &str, conditions: &str| {
        format!("input {{ {input} }}\nchoice c {{ default branch rest  branch some {{ {conditions} }} }}")
    };
    check(&choice("s?: string, n: int", "s == \"paid\"; n > 0"), &[r#"W0217 `s == "paid"` by {"n":1}"#]);
    check(&choice("s: string, n: int", "s == \"paid\"; n > 0"), &[]);
    check(&choice("s?: string, n: int", "s is present; s == \"paid\"; n > 0"), &[]);
}

/// Routes that any one input satisfies both of are told where ties are strict, and only there.
#[test]
fn strict_ties_are_found_where_they_are_asked_for() {
    let text = "route a when n > 5 -> a\nroute b when m > 3 -> b\ndefault -> d";
    check(text, &[]);
    let options = rulec::AnalysisOptions::default().strict_ties(true);
    let rules = Rules::from_text(text).expect("it compiles");
    let found = rules.analyse_with(options);
    assert_eq!(found[0].diagnostic.code, Code::EqualPriority);
    assert_eq!(rules.main().matched(found[0].witness.as_ref().expect("a message")), ["a", "b"]);
    let apart = Rules::from_text("route a when n > 5 -> a\nroute b when n < 3 -> b\ndefault -> d")
        .expect("it compiles");
    assert!(apart.analyse_with(options).is_empty());
}
