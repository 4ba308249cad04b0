//! Generates random choices, flows, routers and workflows.

use super::{Generator, Kind, REGEXES, WORDS};
use std::fmt::Write;

/// Operands that a choice compares, each row with the type that the comparison expects. The `input`
/// block, if there is one, declares the last operand of a row with another type. In messages,
/// values of any operand often have another type.
const READS: &[(&str, &[&str])] = &[
    ("number", &["ctx.n", "ctx.f", "ctx.extra", "ctx.s"]),
    ("string", &["ctx.s", "text", "ctx.user.role", "ctx.extra", "ctx.n"]),
    ("bool", &["ctx.b", "ctx.user.vip", "ctx.extra", "ctx.n"]),
    ("list", &["ctx.tags", "ctx.mixed", "ctx.extra", "ctx.s"]),
    ("dict", &["ctx.user", "ctx.scores", "ctx.extra", "ctx.s"]),
];

/// The possible answers of a language model.
pub(super) const ANSWERS: &[&str] = &["yes", "no", "查订单"];

impl Generator<'_> {
    /// Generates some choices, flows, routers and workflows. Adds the names of their entries (the
    /// tables that can decide a message) to `entries`.
    pub(super) fn statements(&mut self, entries: &mut Vec<String>) {
        if self.random.chance(40) {
            self.choice();
            entries.push("c0".to_owned());
        }
        if self.random.chance(20) {
            self.asked();
            entries.push("c1".to_owned());
        }
        if self.random.chance(30) {
            self.flows();
            entries.push("flows".to_owned());
        }
        if self.random.chance(30) {
            self.router();
            entries.push("n0".to_owned());
        }
        if self.random.chance(20) {
            self.workflow();
            entries.push("n1".to_owned());
        }
    }

    fn choice(&mut self) {
        let shown = self.shown();
        let _ = writeln!(self.out, "choice c0{shown} {{");
        let branches = 1 + self.random.below(5);
        let default = self.random.below(branches + 2);
        for at in 0..branches {
            if at == default {
                let _ = writeln!(self.out, "  default branch b{at}");
                continue;
            }
            let logic = self.random.pick(&["", "all ", "any "]);
            let (names, conditions) = self.with_locals(2, |this| {
                let conditions: Vec<String> =
                    (0..1 + this.random.below(4)).map(|_| this.branch_condition()).collect();
                conditions.join("; ")
            });
            let _ = writeln!(self.out, "  branch b{at} {logic}{{ {conditions} }}{names}");
        }
        self.out.push_str("}\n");
    }

    /// Generates a choice that is made by a language model. The message contains the model's
    /// answer, so no model is called.
    fn asked(&mut self) {
        let shown = self.shown();
        let _ = writeln!(self.out, "choice c1 ask \"which one is it?\"{shown} {{");
        let branches = 1 + self.random.below(ANSWERS.len());
        let default = self.random.below(branches);
        for (at, id) in ANSWERS[..branches].iter().enumerate() {
            let default = if at == default { "default " } else { "" };
            let meaning = self.random.pick(&["", " \"what it means\""]);
            let _ = writeln!(self.out, "  {default}branch {id:?}{meaning}");
        }
        self.out.push_str("}\n");
    }

    fn shown(&mut self) -> &'static str {
        self.random.pick(&["", "", " to_user"])
    }

    fn branch_condition(&mut self) -> String {
        if self.random.chance(25) {
            return self.cond(2);
        }
        let (kind, read) = self.read();
        let (right, shown) = match self.random.below(3) {
            // The right operand often has another type; such a condition counts, but never holds.
            0 => self.read(),
            _ => (kind, self.literal_of(kind)),
        };
        let op = match kind {
            "number" => self.random.pick(&["==", "!=", "<", ">=", "<=", ">"]),
            "string" if right == "string" => self.random.pick(&[
                "==",
                "!=",
                "contains",
                "not contains",
                "starts_with",
                "ends_with",
                "matches",
            ]),
            "list" => self.random.pick(&["==", "!="]),
            "dict" if right == "string" => self.random.pick(&["has_key", "not has_key"]),
            _ => self.random.pick(&["==", "!="]),
        };
        let shown =
            if kind == "dict" && op.ends_with("has_key") && !shown.contains(' ') { "\"a\"" } else { &shown };
        format!("{read} {op} {shown}")
    }

    fn read(&mut self) -> (&'static str, String) {
        let (kind, paths) = READS[self.random.below(READS.len())];
        let path = paths[self.random.below(paths.len() - usize::from(self.declared))];
        (kind, format!("({path} as {kind})"))
    }

    fn literal_of(&mut self, kind: &str) -> String {
        match kind {
            "number" => self.value(Kind::Int, 0),
            "string" => self.word(),
            "bool" => self.random.pick(&["true", "false"]).to_owned(),
            "list" => self.random.pick(&["[1, 2]", "[\"a\"]", "[]"]).to_owned(),
            _ => self.random.pick(&["{ role: \"a\" }", "{ a: 1.0 }"]).to_owned(),
        }
    }

    fn word(&mut self) -> String {
        format!("{:?}", self.random.pick(WORDS))
    }

    fn flows(&mut self) {
        for at in 0..1 + self.random.below(4) {
            let way = self.random.pick(&["exact", "contains", "regex"]);
            let patterns: Vec<String> = (0..1 + self.random.below(3))
                .map(|_| match way {
                    // All regexes except the empty one.
                    "regex" => format!("r\"{}\"", self.random.pick(&REGEXES[..9])),
                    _ => self.word(),
                })
                .collect();
            let case = self.random.pick(&["", "", " matching case", " ignoring case"]);
            let patterns = patterns.join(", ");
            let _ = writeln!(self.out, "flow f{at} keyword {way} [{patterns}]{case} -> \"flow-{at}\"");
        }
        if self.random.chance(30) {
            self.out.push_str("settings { white_space: kept }\n");
        }
        if self.random.chance(30) {
            let (one, other) = (self.word(), self.word());
            let _ =
                writeln!(self.out, "flow i0 \"shows files\" intent [{one}] keywords [{other}] -> \"flow-i\"");
        }
        if self.random.chance(30) {
            let endpoint =
                "endpoint: { url: \"https://flows.example.com/run\", body: { flow: \"{flow_id}\" } }";
            let _ = writeln!(self.out, "flow tool start \"Starts a flow.\" {{ {endpoint} }}");
        }
    }

    fn router(&mut self) {
        self.out.push_str("router n0(output) {\n");
        for at in 0..self.random.below(4) {
            let (names, condition) = self.with_locals(2, |this| match this.random.below(3) {
                0 => "output.done".to_owned(),
                1 => "output.score >= 3".to_owned(),
                _ => this.cond(2),
            });
            let to = self.random.pick(&[
                "next",
                "next[0]",
                "next[1], next[2]",
                "other",
                "output.to",
                "next[0] loopback",
            ]);
            let _ = writeln!(
                self.out,
                "  when {condition}{names} -> {to}, \"node {at}\"",
                to = to.trim_end_matches(" loopback")
            );
        }
        if self.random.chance(70) {
            let to = self.random.pick(&["next", "next[0] loopback", "output.to"]);
            let _ = writeln!(self.out, "  otherwise -> {to}");
        }
        self.out.push_str("}\n");
    }

    /// Generates a chain of nodes. The router of the last node chooses between two nodes.
    fn workflow(&mut self) {
        let condition = self.cond(2);
        let _ = writeln!(
            self.out,
            "router n1(output) {{\n  when {condition} -> next[1]\n  otherwise -> next[0]\n}}\nworkflow w0 {{"
        );
        if self.random.chance(50) {
            self.out.push_str("  passthrough session, \"request id\"\n");
        }
        let last = self.random.below(4);
        for at in 0..=last {
            let config =
                self.random.pick(&["", " { a: 1, b: [true, \"x\"] }", " { threshold: 0.5 } within 30s"]);
            let merge = self.random.pick(&[
                "",
                "",
                " merge first",
                " merge latest",
                " merge append",
                " merge by node",
            ]);
            let next = if at < last { format!("m{}", at + 1) } else { "yes, no by n1".to_owned() };
            let _ = writeln!(self.out, "  node m{at} echo{config}{merge} -> {next}");
        }
        self.out.push_str("  node yes vote\n  node no \"another kind\"\n}\n");
    }
}
