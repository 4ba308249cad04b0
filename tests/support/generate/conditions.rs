//! Generates random conditions.

use super::{GLOBS, Generator, Kind, LISTS, REGEXES, TIERS, WORDS, quoted};

impl Generator<'_> {
    /// Generates a condition of at most the given depth.
    pub(super) fn cond(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.test();
        }
        match self.random.below(23) {
            0..=3 => self.joined(depth, " and "),
            4..=7 => self.joined(depth, " or "),
            8 | 9 => format!("not ({})", self.cond(depth - 1)),
            10 => {
                let block = self.random.pick(&["all", "any", "none"]);
                let parts: Vec<String> =
                    (0..1 + self.random.below(3)).map(|_| self.cond(depth - 1)).collect();
                format!("{block} {{ {} }}", parts.join("; "))
            }
            11 | 12 => self.quantifier(depth),
            13 => self.use_of(Kind::Cond).unwrap_or_else(|| self.test()),
            14 if !self.defs.is_empty() => {
                let (name, kinds) = self.defs[self.random.below(self.defs.len())].clone();
                let args: Vec<String> = kinds.iter().map(|kind| self.value(*kind, 1)).collect();
                format!("{name}({})", args.join(", "))
            }
            15 | 16 => self.joined(depth, " unless "),
            17 => {
                let (cond, then, other) = (self.cond(depth - 1), self.cond(depth - 1), self.cond(depth - 1));
                format!("(if {cond} then {then} else {other})")
            }
            _ => self.test(),
        }
    }

    fn joined(&mut self, depth: usize, with: &str) -> String {
        let parts: Vec<String> =
            (0..2 + self.random.below(2)).map(|_| format!("({})", self.cond(depth - 1))).collect();
        parts.join(with)
    }

    pub(super) fn quantifier(&mut self, depth: usize) -> String {
        let (list, kind) = match self.history && self.random.chance(40) {
            true => (self.history_list(), Kind::Event),
            false => self.list(),
        };
        let name = format!("e{}", self.vars);
        self.vars += 1;
        self.scope.push((name.clone(), kind));
        let body = self.cond(depth - 1);
        self.scope.pop();
        let condition = match self.random.below(5) {
            0 | 1 => format!("(any {name} in {list}: {body})"),
            2 | 3 => format!("(all {name} in {list}: {body})"),
            _ => format!("((count {name} in {list}: {body}) {} {})", self.comparison(), self.random.below(3)),
        };
        // Engines evaluate a condition used as a value on another code path.
        if self.random.chance(20) { format!("[{condition}][0]") } else { condition }
    }

    /// Generates a predicate of a field with an enumeration. The predicate holds for some values of
    /// the enumeration.
    fn enumeration_test(&mut self) -> String {
        let (tier, first) = (quoted(self.random.pick(TIERS)), quoted(self.random.pick(&TIERS[..2])));
        match self.random.below(11) {
            0 => format!("ctx.tier == {tier}{}", self.case()),
            1 => format!("ctx.tier != {tier}"),
            2 => format!("ctx.tier{} [{tier}, {first}]", self.maybe_not(" in")),
            3 => {
                let equality = self.random.pick(&["==", "!="]);
                format!("ctx.tier {equality} {}", self.random.pick(&["ctx.s", "text"]))
            }
            4 => format!(
                "ctx.tier{} {}",
                self.maybe_not(" starts_with"),
                quoted(self.random.pick(&["s", "文"]))
            ),
            5 => format!("(ctx.tier ?? \"none\") contains {tier}"),
            6 => format!("ctx.tier is {}", self.random.pick(&["missing", "present"])),
            7 => format!("ctx.tiers{} {first}", self.maybe_not(" contains")),
            8 => format!("(any t in ctx.tiers: t != {first})"),
            9 => format!("ctx.by[\"a\"] {} {first}", self.random.pick(&["==", "!="])),
            _ => format!("lower(ctx.tier) {} {}", self.comparison(), quoted(self.random.pick(WORDS))),
        }
    }

    pub(super) fn comparison(&mut self) -> &'static str {
        self.random.pick(&["==", "!=", "<", "<=", ">", ">="])
    }

    /// Generates one predicate.
    pub(super) fn test(&mut self) -> String {
        match self.random.below(29) {
            28 => self.enumeration_test(),
            22 => format!(
                "{} {} {}",
                self.value(Kind::Text, 1),
                self.comparison(),
                quoted(self.random.pick(WORDS))
            ),
            23 => self.list_in_list(),
            0..=6 => self.text_test(),
            7..=10 => {
                let kind = if self.random.chance(60) { Kind::Int } else { Kind::Float };
                let other = if self.random.chance(70) { kind } else { Kind::Float };
                format!("{} {} {}", self.value(kind, 2), self.comparison(), self.value(other, 1))
            }
            11 => {
                let dots = self.random.pick(&["..", "..="]);
                let (low, high) = (self.int(), self.int());
                format!("{}{} {low}{dots}{high}", self.value(Kind::Int, 1), self.maybe_not(" in"))
            }
            12 => {
                format!("{} {} {}", self.value(Kind::Time, 1), self.comparison(), self.value(Kind::Time, 1))
            }
            13 => self.value(Kind::Bool, 1),
            14 | 15 => {
                let field = self.any_field();
                format!("{field} is {}", self.random.pick(&["missing", "present"]))
            }
            16 => {
                let kind = if self.random.chance(50) { Kind::Text } else { Kind::Int };
                let (value, list) = (self.value(kind, 1), self.constant_or_named_list(kind));
                let case = if kind == Kind::Text { self.case() } else { "" };
                format!("{value}{} {list}{case}", self.maybe_not(" in"))
            }
            17 => {
                let (list, kind) = LISTS[self.random.below(2)];
                let value = self.value(kind, 1);
                let case = if kind == Kind::Text { self.case() } else { "" };
                format!("{list}{} {value}{case}", self.maybe_not(" contains"))
            }
            18 => {
                let (list, kind) = LISTS[self.random.below(2)];
                let quantity = self.random.pick(&["any", "all", "none"]);
                let other = self.constant_or_named_list(kind);
                format!("{list}{} {quantity} {other}", self.maybe_not(" contains"))
            }
            19 => {
                let key = self.random.pick(&["a", "b", "role", "zz"]);
                let dict = self.random.pick(&["ctx.scores", "ctx.user", "ctx"]);
                format!("{dict}{} \"{key}\"", self.maybe_not(" has_key"))
            }
            20 => {
                let (left, right) = (self.value(Kind::Text, 1), self.value(Kind::Text, 1));
                let op = self.random.pick(&["==", "!="]);
                format!("{left} {op} {right}{}", self.case())
            }
            21 => {
                let (version, other) = (self.version(), self.version());
                let other = if self.random.chance(70) { "\"1.2.3\"".to_owned() } else { other };
                format!("{version} {} {other}", self.comparison())
            }
            24 => self.network(),
            25 => self.clock_test(),
            26 | 27 => self.decimal_test(),
            _ => {
                let key = self.random.pick(&["a", "b", "zz"]);
                format!("ctx.scores[\"{key}\"] {} {}", self.comparison(), self.value(Kind::Float, 0))
            }
        }
    }

    /// Generates a comparison of dates or of times of day.
    fn clock_test(&mut self) -> String {
        let (function, texts): (_, &[&str]) = match self.random.chance(40) {
            true => ("date", &["2026-01-04", "2026-01-05", "2026-11-22", "1970-01-01"]),
            false => ("time", &["00:00", "1:30", "9:30:15", "22:00", "24:00"]),
        };
        let left = self.clock_text(function, 1);
        let other = |this: &mut Self| match this.random.below(4) {
            0 => this.value(Kind::Time, 0),
            1 => this.clock_field().to_owned(),
            _ => quoted(this.random.pick(texts)),
        };
        match self.random.below(4) {
            0 | 1 => {
                let dots = self.random.pick(&["..", "..="]);
                let (start, end) = (other(self), other(self));
                format!("{left}{} {start}{dots}{end}", self.maybe_not(" in"))
            }
            2 => {
                let right = other(self);
                format!("{left} {} {right}", self.comparison())
            }
            _ => {
                let (first, second) = (quoted(self.random.pick(texts)), quoted(self.random.pick(texts)));
                format!("{left}{} [{first}, {second}]", self.maybe_not(" in"))
            }
        }
    }

    /// Generates a test of whether a list is in a list of lists.
    fn list_in_list(&mut self) -> String {
        let (value, kind) = match self.random.below(4) {
            0 => ("ctx.tags".to_owned(), Kind::Text),
            1 => ("ctx.nums".to_owned(), Kind::Int),
            2 => (format!("[{}]", self.value(Kind::Text, 1)), Kind::Text),
            _ => (format!("[{}, {}]", self.value(Kind::Int, 1), self.int()), Kind::Int),
        };
        let lists: Vec<String> = (0..1 + self.random.below(3)).map(|_| self.constant_list(kind)).collect();
        format!("{value}{} [{}]", self.maybe_not(" in"), lists.join(", "))
    }

    /// Generates a test of whether an address is in networks.
    fn network(&mut self) -> String {
        let address = if self.random.chance(30) {
            self.value(Kind::Text, 1)
        } else {
            quoted(self.random.pick(&["10.1.2.3", "::ffff:10.0.0.1", "2001:db8::1", "10.1.2"]))
        };
        let networks = self.random.pick(&[
            "\"10.0.0.0/8\"",
            "any [\"10.1.0.0/16\", \"2001:db8::/32\"]",
            "all [\"10.0.0.0/8\", \"10.1.2.3\"]",
            "none ctx.tags",
            "ctx.s",
        ]);
        format!("{address}{} {networks}", self.maybe_not(" in_network"))
    }

    fn version(&mut self) -> String {
        match self.random.below(3) {
            0 => "version(ctx.s)".to_owned(),
            1 => format!(
                "version(join([\"1\", {}], \".\"))",
                quoted(self.random.pick(&["2", "2.3-rc", "x", "10"]))
            ),
            _ => "version(\"v1.2.3-rc.1\")".to_owned(),
        }
    }

    pub(super) fn text_test(&mut self) -> String {
        let left = self.value(Kind::Text, 1);
        match self.random.below(8) {
            0..=4 => {
                let op = self.random.pick(&[" contains", " contains", " starts_with", " ends_with"]);
                let op = self.maybe_not(op);
                let word = self.random.chance(30);
                let modifier = if word { " word" } else { "" };
                let right = if self.random.chance(50) {
                    let quantity = self.random.pick(&["any", "all", "none"]);
                    let count = 1 + self.random.below(12);
                    let list = self.keywords(count);
                    format!("{quantity} {list}")
                } else if !word && self.random.chance(25) {
                    self.value(Kind::Text, 1)
                } else {
                    quoted(self.random.pick(WORDS))
                };
                format!("{left}{op}{modifier} {right}{}", self.case())
            }
            5 => {
                let right = if self.random.chance(40) {
                    let quantity = self.random.pick(&["any", "any", "all", "none"]);
                    let count = 1 + self.random.below(8);
                    let patterns: Vec<String> = (0..count).map(|_| self.glob()).collect();
                    format!("{quantity} [{}]", patterns.join(", "))
                } else {
                    quoted(self.random.pick(GLOBS))
                };
                format!("{left}{} {right}{}", self.maybe_not(" like"), self.case())
            }
            _ => {
                let pick = |this: &mut Self| format!("r\"{}\"", this.random.pick(REGEXES));
                let right = if self.random.chance(30) {
                    let quantity = self.random.pick(&["any", "all", "none"]);
                    format!("{quantity} [{}, {}]", pick(self), pick(self))
                } else {
                    pick(self)
                };
                format!("{left}{} {right}{}", self.maybe_not(" matches"), self.case())
            }
        }
    }

    /// Generates a wildcard pattern, or a string without wildcards.
    fn glob(&mut self) -> String {
        let pool = if self.random.chance(60) { GLOBS } else { WORDS };
        quoted(self.random.pick(pool))
    }

    pub(super) fn maybe_not(&mut self, op: &str) -> String {
        if self.random.chance(20) { format!(" not{op}") } else { op.to_owned() }
    }

    fn case(&mut self) -> &'static str {
        self.random.pick(&["", "", "", " ignoring case", " matching case"])
    }
}
