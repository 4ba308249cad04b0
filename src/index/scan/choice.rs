//! The choice of the gram by which a literal is found: one that is rare in texts, that lets few more
//! positions pass the first look, and that few literals share.

use super::frequency::Frequency;
use super::gram::{EIGHT, Level, ONE, SIX, SIXTEEN, THREE, TWELVE, TWO, load};
use super::pairs::Pairs;
use super::table::Table;

/// The number of places of a literal that are considered at its beginning, and as many at its end.
const REACH: usize = 16;
/// The weight of a position more that passes the first look against one that passes the filter. The
/// first is cheaper, but is paid for by every text, and the literals to come will use it again.
const LOOK: f32 = 30.0;
/// The choices of which the table is asked how crowded they are.
const FINALISTS: usize = 4;

/// A gram of a literal.
#[derive(Clone, Copy)]
pub struct Choice {
    pub level: Level,
    pub offset: u16,
    /// The cost to a text, in comparable terms.
    cost: f32,
}

/// The gram for a literal of at least one byte.
pub fn choose(literal: &[u8], pairs: &Pairs, frequency: &Frequency, table: &Table) -> Choice {
    let levels = Level::of_length(literal.len());
    let mut best = [Choice { level: levels[0], offset: 0, cost: f32::INFINITY }; FINALISTS];
    if [THREE, TWO, ONE].contains(&levels[0]) {
        return best[0];
    }
    for &level in levels {
        let places = literal.len() - level.bytes() + 1;
        for place in 0..places.min(2 * REACH) {
            let offset = if place < REACH { place } else { place + places.saturating_sub(2 * REACH) };
            // Texts are read from character to character where all grams begin with one.
            if offset > usize::from(u16::MAX) || is_inner(literal[offset]) {
                continue;
            }
            let four = load(literal, offset) as u32;
            let cost = LOOK * pairs.added_share(level, four, |pair| frequency.of_pair(pair))
                + share(level, &literal[offset..], frequency);
            let mut choice = Choice { level, offset: offset as u16, cost };
            for better in &mut best {
                if choice.cost < better.cost {
                    std::mem::swap(better, &mut choice);
                }
            }
        }
    }
    for choice in &mut best {
        let rest = &literal[choice.offset.into()..];
        let crowd = table.place(choice.level, rest).map_or(0, |place| place.crowd);
        choice.cost += 3.0 * crowd as f32 * share(EIGHT, rest, frequency);
        if crowd == Table::MOST_CROWDED {
            choice.cost += 1.0;
        }
    }
    best.into_iter().min_by(|one, other| one.cost.total_cmp(&other.cost)).unwrap_or(best[0])
}

/// True when a byte is inside a UTF-8 character.
pub fn is_inner(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// The estimated share of positions that have the gram: that of its rarest four bytes, less for more.
fn share(level: Level, rest: &[u8], frequency: &Frequency) -> f32 {
    let at = |offset: usize| frequency.of_four(load(rest, offset) as u32);
    match level {
        SIXTEEN => 0.1 * at(0).min(at(4)).min(at(8)).min(at(12)),
        TWELVE => 0.3 * at(0).min(at(4)).min(at(8)),
        EIGHT => at(0).min(at(4)),
        SIX => at(0).min(at(2)),
        _ => at(0),
    }
}
