//! The choice of the grams by which a literal is found: as many as there are places between two probes, one behind the
//! other, that are rare in texts, let few more positions pass the first look, and that few literals share.

use super::frequency::Frequency;
use super::gram::{Level, load};
use super::probes::Probes;
use super::table::Table;
use std::ops::Range;

/// The bytes of a literal that are considered at its beginning, and as many at its end.
const REACH: usize = 32;
/// The weight of a position more that passes the first look against one that passes the filter. The
/// first is cheaper, but is paid for by every text, and the literals to come will use it again.
const LOOK: f32 = 30.0;
/// The choices of which the table is asked how crowded they are.
const FINALISTS: usize = 2;

/// The grams of a literal: the first is at `offset`.
#[derive(Clone, Copy)]
pub struct Choice {
    pub level: Level,
    pub offset: u16,
    /// The cost to a text, in comparable terms.
    cost: f32,
}

/// The grams for a literal; `None` when it is too short to have any.
pub fn choose(
    literal: &[u8],
    step: usize,
    probes: &Probes,
    frequency: &Frequency,
    table: &Table,
) -> Option<Choice> {
    let length = literal.len();
    let level = Level::of_length((length + 1).saturating_sub(step))?;
    let mut best = [None; FINALISTS];
    let mut consider = |part: Range<usize>| {
        // The cost of a gram at each place.
        let mut costs = [0.0; 2 * REACH];
        for (cost, at) in costs.iter_mut().zip(part.clone()) {
            let four = frequency.of_four(load(literal, at) as u32);
            let last = frequency.of_four(load(literal, at + level.bytes().saturating_sub(4)) as u32);
            *cost = four.min(last);
            if probes.is_new(load(literal, at) as u32) {
                *cost += LOOK * four;
            }
        }
        for offset in part.start..(part.end + 2).saturating_sub(level.bytes() + step).max(part.start) {
            let from = offset - part.start;
            let cost = costs.iter().skip(from).take(step).sum();
            let mut choice = Some(Choice { level, offset: offset as u16, cost });
            for better in &mut best {
                let cost = |choice: &Option<Choice>| choice.map_or(f32::INFINITY, |choice| choice.cost);
                if cost(&choice) < cost(better) {
                    std::mem::swap(better, &mut choice);
                }
            }
        }
    };
    consider(0..length.min(2 * REACH));
    if length > 2 * REACH {
        let last = length.min(u16::MAX.into());
        consider(last - REACH..last);
    }
    let crowded = |choice: Choice| {
        let mut cost = choice.cost;
        for gram in 0..step {
            let rest = &literal[usize::from(choice.offset) + gram..];
            let crowd = table.place(level, rest).map_or(0, |place| place.crowd);
            let share = frequency.of_four(load(rest, 0) as u32).min(frequency.of_four(load(rest, 4) as u32));
            cost += 3.0 * crowd as f32 * share;
            if crowd == Table::MOST_CROWDED {
                cost += 1.0;
            }
        }
        Choice { cost, ..choice }
    };
    let best = best.into_iter().flatten().map(crowded);
    best.min_by(|one, other| one.cost.total_cmp(&other.cost))
}
