//! Chooses the gram of a literal: the short sequence of its bytes by which a scan finds the
//! literal. The gram should be rare in texts and shared by few literals. It should also let few
//! additional positions of texts pass the first stage of the scan.

use super::frequency::ByteFrequency;
use super::gram::{GramLevel, load_eight_bytes};
use super::probes::ProbeTable;
use super::table::GramTable;
use std::ops::Range;

/// Number of bytes at the end of a literal from which the gram (byte sequence) is chosen. At the
/// start of the literal, it is chosen from twice this number of bytes.
/// Compared with other values in benches/notes/constants.md.
const EDGE_BYTES: usize = 32;
/// Cost of a text position that passes the first stage (the probe table) only because of a new
/// gram. The unit is the cost of a position in the second stage (the filter). The cost is high
/// because a new entry in the probe table slows down the scan of every text.
/// Compared with other values in benches/notes/constants.md.
const NEW_PROBE_COST: f32 = 30.0;
/// Number of grams whose cost is estimated in full. A first estimate covers all grams of a literal,
/// but leaves out the cost of sharing the gram with other literals. This number of grams, the
/// cheapest ones, get a second estimate that includes this cost.
/// Compared with other values in benches/notes/constants.md.
const COMPARED_GRAM_COUNT: usize = 2;

/// The gram (byte sequence) by which a literal is found.
#[derive(Clone, Copy)]
pub struct GramChoice {
    pub level: GramLevel,
    /// Number of the gram's class where a probe lies at the start of the gram.
    pub first_class: usize,
    /// Offset of the gram in the literal.
    pub offset: u16,
    /// Estimated cost that the gram (byte sequence) adds to the scan of a text. The cost has no
    /// unit, because only costs of different choices are compared.
    cost: f32,
}

/// Returns the best gram (byte sequence) for finding a literal; `None` if the literal is too short.
/// The costs are estimated from `frequency`, and from `probes` and `table`, which have the grams of
/// the literals that were added before.
pub fn choose_gram(
    literal: &[u8],
    probes: &ProbeTable,
    frequency: &ByteFrequency,
    table: &GramTable,
) -> Option<GramChoice> {
    let (length, probing) = (literal.len(), probes.probing());
    let first_class = probing.first_class_for(length)?;
    let level = probing.classes()[first_class % 8].level();
    // All probes should lie in the literal, if it is long enough.
    let needed_bytes = length.min(level.gram_bytes().max(probing.step - 1 + probing.bytes));
    let mut best_choices = [None; COMPARED_GRAM_COUNT];
    let mut consider = |part: Range<usize>| {
        // The cost of a probe at each offset in `part`.
        let mut costs = [0.0; 2 * EDGE_BYTES];
        for (cost, at) in costs.iter_mut().zip(part.clone()) {
            let eight = load_eight_bytes(literal, at);
            let share = frequency.four_bytes_share(eight as u32);
            *cost = if probes.is_new_probe(eight) { (1.0 + NEW_PROBE_COST) * share } else { share };
        }
        let gram_starts = part.start..(part.end + 1).saturating_sub(needed_bytes);
        for offset in gram_starts {
            let cost = costs.iter().skip(offset - part.start).take(probing.step).sum();
            let mut choice = Some(GramChoice { level, first_class, offset: offset as u16, cost });
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
        let literal_rest = &literal[usize::from(choice.offset)..];
        let counted_literals =
            table.entry_for(level, literal_rest).map_or(0, |place| place.capped_literal_count);
        let rarest_share = frequency
            .four_bytes_share(load_eight_bytes(literal_rest, 0) as u32)
            .min(frequency.four_bytes_share(load_eight_bytes(literal_rest, 4) as u32));
        let mut cost = choice.cost + 3.0 * counted_literals as f32 * rarest_share;
        if counted_literals == GramTable::MAX_COUNTED_LITERALS {
            cost += 1.0;
        }
        GramChoice { cost, ..choice }
    };
    let best_choices = best_choices.into_iter().flatten().map(add_sharing_cost);
    best_choices.min_by(|one, other| one.cost.total_cmp(&other.cost))
}
