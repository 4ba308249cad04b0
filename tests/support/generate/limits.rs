//! Generates programs with limits so small that messages exceed them. Also generates single
//! conditions.

use super::super::random::Random;
use super::{ANALYSIS, Generated, Generator, Kind};
use rulec_lang::limits::TABLE;

impl Generator<'_> {
    /// Generates a random program with small limits in its settings.
    pub fn under_limits(random: &mut Random) -> Generated {
        let mut program = Generator::program(random);
        program.source.insert_str(0, &Generator::small_limits(random));
        program
    }

    /// Generates settings with small limits.
    pub fn small_limits(random: &mut Random) -> String {
        let small = [0, 1, 2, 4, 9, 16, 40, 200, 3_000];
        let settings: Vec<String> = TABLE
            .iter()
            .filter_map(|row| {
                let most = small[random.below(small.len())];
                random.chance(40).then(|| format!("{}: {most}", row.name))
            })
            .collect();
        format!("settings {{ {} }}\n", settings.join(", "))
    }

    /// Generates declarations and a condition without `and` and `or`, so that every engine
    /// evaluates the same values.
    pub fn alone(random: &mut Random) -> (String, String) {
        let mut this = Generator { analysis: true, ..Generator::new(random) };
        let condition = match this.random.below(8) {
            0 | 1 => this.quantifier(1),
            2 => {
                let (list, kind) = this.list();
                this.scope.push(("o".to_owned(), kind));
                let inner = this.quantifier(1);
                this.scope.clear();
                format!("any o in {list}: {inner}")
            }
            3 => this.similarity_of_fields(),
            4 => format!("{} > 0.1", this.analysed(Kind::Float).unwrap_or("ctx.f")),
            5 => format!("{} == \"a\"", this.analysed(Kind::Text).unwrap_or("ctx.s")),
            6 => this.text_test(),
            _ => this.test(),
        };
        (ANALYSIS.to_owned(), condition)
    }

    fn similarity_of_fields(&mut self) -> String {
        let other = self.value(Kind::Text, 0);
        format!("similarity(text, {other}) > 0.3")
    }
}
