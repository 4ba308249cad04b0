//! Generates expressions for values that operators and functions compute.

use super::{Generator, Kind, WORDS, quoted};

impl Generator<'_> {
    pub(super) fn computed(&mut self, kind: Kind, depth: usize) -> String {
        match kind {
            Kind::Int => self.whole_number(depth),
            Kind::Float => match self.random.below(7) {
                0 => format!("({} / {})", self.value(Kind::Int, depth), self.value(Kind::Int, depth)),
                1 => format!("(-{})", self.value(Kind::Float, depth)),
                2 => {
                    let name = self.random.pick(&["min", "max"]);
                    format!("{name}({}, {})", self.value(Kind::Float, depth), self.value(Kind::Int, depth))
                }
                3 => format!(
                    "similarity({}, {})",
                    self.value(Kind::Text, depth),
                    quoted(self.random.pick(WORDS))
                ),
                5 => {
                    let hash = self.random.pick(&["growthbook_1", "growthbook_2"]);
                    format!("bucket({}, \"s\", \"{hash}\")", self.value(Kind::Text, depth))
                }
                4 if self.hosts => {
                    format!("score({}, {})", self.value(Kind::Text, depth), self.value(Kind::Int, depth))
                }
                _ => {
                    let op = self.random.pick(&["+", "-", "*"]);
                    format!("({} {op} {})", self.value(Kind::Float, depth), self.value(Kind::Int, depth))
                }
            },
            Kind::Decimal => self.decimal(depth),
            Kind::Text => self.made_text(depth),
            Kind::Time => {
                if self.random.chance(20) {
                    let name = self.random.pick(&["from_epoch_seconds", "from_epoch_millis"]);
                    return format!("{name}({} * 100_000.5)", self.value(Kind::Int, depth));
                }
                let (unit, op) =
                    (self.random.pick(&["s", "m", "min", "h", "d", "w"]), self.random.pick(&["+", "-"]));
                format!("({} {op} {}{unit})", self.value(Kind::Time, depth), self.random.below(5))
            }
            Kind::Bool if self.hosts => format!("is_long({})", self.value(Kind::Text, depth)),
            Kind::Bool => "(ctx.b ?? false)".to_owned(),
            Kind::Item | Kind::Cond | Kind::Event => self.constant(kind),
        }
    }

    /// Generates an expression for an integer.
    fn whole_number(&mut self, depth: usize) -> String {
        match self.random.below(15) {
            0 => format!("len({})", self.value(Kind::Text, depth)),
            1 => format!("len({})", self.list().0),
            2 => format!(
                "{}({})",
                self.random.pick(&["floor", "ceil", "round"]),
                self.value(Kind::Float, depth)
            ),
            3 => format!("(ctx.n ?? {})", self.value(Kind::Int, depth)),
            4 => format!("abs({})", self.value(Kind::Int, depth)),
            5 => {
                let name = self.random.pick(&["hour", "minute", "weekday", "day", "month", "year"]);
                format!("{name}({}{})", self.value(Kind::Time, depth), self.zone())
            }
            6 => {
                let hash = self.random.pick(&["", ", \"s\"", ", hash: \"unleash\"", ", seed: ctx.s"]);
                format!("bucket({}{hash})", self.value(Kind::Text, depth))
            }
            7 => format!("ctx.nums[{}]", self.random.below(3)),
            8 => {
                format!("index_of({}, {})", self.value(Kind::Text, depth), self.value(Kind::Text, depth))
            }
            9 => format!("{}(ctx.nums)", self.random.pick(&["first", "last"])),
            10 => "sum(ctx.nums)".to_owned(),
            11 => format!("(number({}) as int)", self.value(Kind::Text, depth)),
            12 => format!("len({})", self.made_list(depth)),
            13 => format!("json_size({})", self.any_field()),
            _ => {
                let op = self.random.pick(&["+", "-", "*", "%"]);
                format!("({} {op} {})", self.value(Kind::Int, depth), self.value(Kind::Int, depth))
            }
        }
    }

    /// Generates an expression for a string.
    fn made_text(&mut self, depth: usize) -> String {
        match self.random.below(15) {
            0 => format!("lower({})", self.value(Kind::Text, depth)),
            1 => format!("upper({})", self.value(Kind::Text, depth)),
            2 => format!("trim({})", self.value(Kind::Text, depth)),
            3 => format!("(ctx.s ?? {})", quoted(self.random.pick(WORDS))),
            4 => format!("split({}, \" \")[{}]", self.value(Kind::Text, depth), self.random.below(2)),
            5 => format!("join([{}, ctx.s], \"-\")", self.value(Kind::Text, depth)),
            6 => {
                let [text, old, new] = [(); 3].map(|()| self.value(Kind::Text, depth));
                format!("replace({text}, {old}, {new})")
            }
            7 => {
                let length = self.random.pick(&["", ", 2", ", length: 0", ", ctx.n"]);
                let from = self.random.pick(&["0", "1", "-2", "ctx.n"]);
                format!("substring({}, {from}{length})", self.value(Kind::Text, depth))
            }
            // A date is compared with dates only, but any text may be in lower case.
            8 => {
                let function = self.random.pick(&["date", "time"]);
                format!("lower({})", self.clock_text(function, depth))
            }
            13 => {
                let (pattern, group) = *self.random.pick(&[
                    &("(.)(.)?", ", 2"),
                    &("(?<first>\\w+)", ", \"first\""),
                    &("(?i)[a-f]+", ""),
                    &("(u)|(.)", ", group: 2"),
                    &("b(x*)", ""),
                ]);
                format!("capture({}, r\"{pattern}\"{group})", self.value(Kind::Text, depth))
            }
            9 => format!(
                "strip_prefix({}, {})",
                self.value(Kind::Text, depth),
                quoted(self.random.pick(WORDS))
            ),
            10 => format!("(nonblank({}) ?? \"a\")", self.value(Kind::Text, depth)),
            11 => {
                let text = self.value(Kind::Text, depth);
                format!("url_host(join([\"http://\", {text}], \"\"))")
            }
            12 => format!("({}[0] as string)", self.made_texts(depth)),
            _ => format!("ctx.tags[{}]", self.random.below(2)),
        }
    }

    /// Generates a call of the function `date` or `time`, whose argument is a point in time or a
    /// text.
    pub(super) fn clock_text(&mut self, function: &str, depth: usize) -> String {
        let value = match self.random.chance(70) {
            true => self.value(Kind::Time, depth),
            false => self.clock_field().to_owned(),
        };
        format!("{function}({value}{})", self.zone())
    }

    /// Generates a text that may be a date or a time of day.
    pub(super) fn clock_field(&mut self) -> &'static str {
        self.random.pick(&["ctx.s", "text", "ctx.tags[0]", "(ctx.s ?? \"9:30\")", "trim(text)"])
    }

    /// Generates the optional second argument of a clock function, a time zone; empty if left out.
    fn zone(&mut self) -> &'static str {
        self.random.pick(&["", "", ", \"Asia/Kolkata\"", ", zone: \"America/New_York\"", ", ctx.s"])
    }

    /// Generates a list that a function returns.
    fn made_list(&mut self, depth: usize) -> String {
        match self.random.below(3) {
            0 => "values(ctx.scores)".to_owned(),
            1 => "pluck(items, \"price\")".to_owned(),
            _ => self.made_texts(depth),
        }
    }

    /// Generates a list of strings that a function returns.
    fn made_texts(&mut self, depth: usize) -> String {
        match self.random.below(4) {
            0 => format!("without(ctx.tags, [{}])", self.value(Kind::Text, depth)),
            1 => "keys(ctx.scores)".to_owned(),
            2 => "pluck(items, \"name\")".to_owned(),
            _ => {
                let text = self.value(Kind::Text, depth);
                format!("placeholders(join([\"${{a}} ${{\", {text}, \"}}\"], \"\"))")
            }
        }
    }
}
