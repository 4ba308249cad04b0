//! Generates expressions for decimals, and conditions on decimals.

use super::{DECIMALS, Generator, Kind};

impl Generator<'_> {
    /// Generates an expression for a decimal or for another number. The other number is converted
    /// to a decimal where an operator or function combines it with a decimal.
    pub(super) fn decimal_or_number(&mut self, depth: usize) -> String {
        match self.random.below(10) {
            0..=5 => self.decimal(depth),
            6 | 7 => self.random.pick(DECIMALS).to_owned(),
            8 => self.int(),
            _ if self.declared => "ctx.count".to_owned(),
            _ => "2".to_owned(),
        }
    }

    /// Generates an expression whose type is surely `decimal`.
    pub(super) fn decimal(&mut self, depth: usize) -> String {
        if depth == 0 || self.random.chance(40) {
            return self.decimal_field();
        }
        let depth = depth - 1;
        match self.random.below(9) {
            0 => format!("(-{})", self.decimal(depth)),
            1 => {
                let name = self.random.pick(&["min", "max"]);
                let (a, b) = (self.decimal(depth), self.decimal_or_number(depth));
                if self.random.chance(50) { format!("{name}({a}, {b})") } else { format!("{name}({b}, {a})") }
            }
            2 => format!("abs({})", self.decimal(depth)),
            3 => format!("round({}, {})", self.decimal(depth), self.random.below(4)),
            4 => format!("({} ?? {})", self.decimal(depth), self.random.pick(DECIMALS)),
            5 => {
                let cond = self.cond(0);
                format!("(if {cond} then {} else {})", self.decimal(depth), self.random.pick(DECIMALS))
            }
            6 => format!("decimal({})", self.random.pick(&["ctx.s", "ctx.f", "ctx.d as decimal", "ctx.n"])),
            _ => {
                let op = self.random.pick(&["+", "-", "*", "/", "%"]);
                let (a, b) = (self.decimal(depth), self.decimal_or_number(depth));
                if self.random.chance(70) { format!("({a} {op} {b})") } else { format!("({b} {op} {a})") }
            }
        }
    }

    fn decimal_field(&mut self) -> String {
        let variables: Vec<&String> =
            self.scope.iter().filter(|(_, kind)| *kind == Kind::Decimal).map(|(name, _)| name).collect();
        if let Some(name) = variables.last()
            && self.random.chance(40)
        {
            return (*name).clone();
        }
        let fields: &[&str] = match self.declared {
            true => &[
                "ctx.d",
                "ctx.d",
                "ctx.total",
                "ctx.money[0]",
                "last(ctx.money)",
                "sum(ctx.money)",
                "ctx.fees[\"a\"]",
                "sum(values(ctx.fees))",
            ],
            false => &[
                "(ctx.d as decimal)",
                "(ctx.total as decimal)",
                "(ctx.money[0] as decimal)",
                "sum(decimals(ctx.money))",
                "(ctx.fees[\"a\"] as decimal)",
            ],
        };
        self.random.pick(fields).to_owned()
    }

    /// Generates a predicate on decimals.
    pub(super) fn decimal_test(&mut self) -> String {
        let decimal = self.decimal(2);
        match self.random.below(8) {
            0 => {
                let dots = self.random.pick(&["..", "..="]);
                let (low, high) = (self.random.pick(DECIMALS), self.random.pick(DECIMALS));
                format!("{decimal}{} {low}{dots}{high}", self.maybe_not(" in"))
            }
            1 => {
                let count = if self.random.chance(20) { 20 } else { 1 + self.random.below(4) };
                let items: Vec<String> = (0..count)
                    .map(|_| {
                        if self.random.chance(30) {
                            self.int()
                        } else {
                            self.random.pick(DECIMALS).to_owned()
                        }
                    })
                    .collect();
                format!("{decimal}{} [{}]", self.maybe_not(" in"), items.join(", "))
            }
            2 => format!("{decimal}{} ctx.money", self.maybe_not(" in")),
            3 if self.declared => {
                format!("ctx.money{} {}", self.maybe_not(" contains"), self.decimal_or_number(1))
            }
            4 if self.declared => {
                let name = format!("m{}", self.vars);
                self.vars += 1;
                self.scope.push((name.clone(), Kind::Decimal));
                let body = self.decimal_test();
                self.scope.pop();
                let quantifier = self.random.pick(&["any", "all"]);
                format!("({quantifier} {name} in ctx.money: {body})")
            }
            5 => format!(
                "{}({decimal}) {} {}",
                self.random.pick(&["floor", "ceil", "round"]),
                self.comparison(),
                self.int()
            ),
            _ => format!("{decimal} {} {}", self.comparison(), self.decimal_or_number(1)),
        }
    }
}
