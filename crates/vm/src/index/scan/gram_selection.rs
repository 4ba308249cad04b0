//! Chooses the grams of a literal: the short sequences of its bytes by which a scan finds the
//! literal. A literal gets as many consecutive grams as there are bytes between two probed
//! positions of a text. The grams should be rare in texts and shared by few literals. They should
//! also let few additional positions of texts pass the first stage of the scan.

use super::frequency::ByteFrequency;
use super::gram::{GramLevel, load_eight_bytes};
use super::probes::ProbeTable;
use super::table::GramTable;
use std::ops::Range;

/// Number of bytes at the end of a literal from which grams (byte sequences) are chosen. At the
/// start of the literal, they are chosen from twice this number of bytes.
const EDGE_BYTES: usize = 32;
/// Cost of a text position that passes the first stage (the probe table) only because of a new
/// gram. The unit is the cost of a position in the second stage (the filter). The cost is high
/// because a new entry in the probe table slows down the scan of every text.
/// Compared with other values in benches/notes/constants.md.
const NEW_PROBE_COST: f32 = 30.0;
/// Number of choices of grams whose cost is estimated in full. A first estimate covers all choices,
/// but leaves out the cost of sharing grams with other literals. This number of choices, the
/// cheapest ones, get a second estimate that includes this cost.
const COMPARED_CHOICE_COUNT: usize = 2;

/// The grams (byte sequences) by which a literal is found. The first begins at `first_gram_offset`.
/// Each of the others begins one byte after the previous gram.
#[derive(Clone, Copy)]
pub struct GramChoice {
    pub level: GramLevel,
    pub first_gram_offset: u16,
    /// Estimated cost that the grams (byte sequences) add to the scan of a text. The cost has no
    /// unit, because only costs of different choices are compared.
    cost: f32,
}

/// Returns the best grams (byte sequences) for finding a literal; `None` if the literal is too
/// short. `step` is the distance between probed positions, and also the number of grams. The costs
/// are estimated from `frequency`, and from `probes` and `table`, which have the grams of the
/// literals that were added before.
pub fn choose_grams(
    literal: &[u8],
    step: usize,
    probes: &ProbeTable,
    frequency: &ByteFrequency,
    table: &GramTable,
) -> Option<GramChoice> {
    let length = literal.len();
    let level = GramLevel::from_length((length + 1).saturating_sub(step))?;
    let mut best_choices = [None; COMPARED_CHOICE_COUNT];
    let mut consider = |part: Range<usize>| {
        // The cost of a gram at each offset in `part`.
        let mut costs = [0.0; 2 * EDGE_BYTES];
        for (cost, at) in costs.iter_mut().zip(part.clone()) {
            let four = frequency.four_bytes_share(load_eight_bytes(literal, at) as u32);
            let last_four =
                frequency
                    .four_bytes_share(
                        load_eight_bytes(literal, at + level.gram_bytes().saturating_sub(4)) as u32
                    );
            *cost = four.min(last_four);
            if probes.is_new_prefix(load_eight_bytes(literal, at) as u32) {
                *cost += NEW_PROBE_COST * four;
            }
        }
        for offset in part.start..(part.end + 2).saturating_sub(level.gram_bytes() + step).max(part.start) {
            let first_gram = offset - part.start;
            let cost = costs.iter().skip(first_gram).take(step).sum();
            let mut choice = Some(GramChoice { level, first_gram_offset: offset as u16, cost });
            for better in &mut best_choices {
                let cost = |choice: &Option<GramChoice>| choice.map_or(f32::INFINITY, |choice| choice.cost);
                if cost(&choice) < cost(better) {
                    std::mem::swap(better, &mut choice);
                }
            }
        }
    };
    consider(0..length.min(2 * EDGE_BYTES));
    if length > 2 * EDGE_BYTES {
        let last = length.min(u16::MAX.into());
        consider(last - EDGE_BYTES..last);
    }
    let add_sharing_cost = |choice: GramChoice| {
        let mut cost = choice.cost;
        for gram in 0..step {
            let literal_rest = &literal[usize::from(choice.first_gram_offset) + gram..];
            let counted_literals =
                table.entry_for(level, literal_rest).map_or(0, |place| place.capped_literal_count);
            let rarest_share = frequency
                .four_bytes_share(load_eight_bytes(literal_rest, 0) as u32)
                .min(frequency.four_bytes_share(load_eight_bytes(literal_rest, 4) as u32));
            cost += 3.0 * counted_literals as f32 * rarest_share;
            if counted_literals == GramTable::MAX_COUNTED_LITERALS {
                cost += 1.0;
            }
        }
        GramChoice { cost, ..choice }
    };
    let best_choices = best_choices.into_iter().flatten().map(add_sharing_cost);
    best_choices.min_by(|one, other| one.cost.total_cmp(&other.cost))
}
