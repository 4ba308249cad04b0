//! Checks the order in which the index tries the routes of a table.

use super::*;
use crate::bytecode::chunk::RuleCode;
use crate::index::ranges::ValueRanges;
use crate::index::{PackedItems, PackedLists};

/// A stub engine whose message matches one route. It records the routes that are tried.
struct RecordingEngine {
    holds: u32,
    texts: PreparedTexts,
    missing: Value<'static>,
    /// Ranks of the routes whose conditions were evaluated because the index found them.
    found: Vec<u32>,
    /// Number of routes that were tried in order, without the index.
    in_order: Option<u32>,
}

impl<'a> IndexEngine<'a> for RecordingEngine {
    fn operand_value(&mut self, _: Operand) -> Value<'a> {
        Value::Missing
    }

    fn slot_ref(&mut self, _: SlotId) -> &Value<'a> {
        &self.missing
    }

    fn read_present_slots(&mut self, _: &FieldLookup, _: &mut Vec<u32>) {}

    fn prepared_texts(&mut self) -> &mut PreparedTexts {
        &mut self.texts
    }

    fn verify_route(&mut self, _: TableId, rank: u32) -> bool {
        self.found.push(rank);
        rank == self.holds
    }

    fn verify_route_code(&mut self, table: TableId, rank: u32, _: RuleCode) -> bool {
        self.verify_route(table, rank)
    }

    fn first_match_in_order(&mut self, _: TableId, ranks: Range<u32>) -> Option<u32> {
        self.in_order = Some(ranks.end);
        ranks.contains(&self.holds).then_some(self.holds)
    }
}

/// Builds the index of a table whose routes have no keys. The first `first` of its `routes` routes
/// are tried before any lookup.
fn build_index(first: u32, routes: u32) -> Index {
    let residual: Vec<(u32, ValueRanges)> = (0..routes).map(|rank| (rank, ValueRanges::new())).collect();
    let table =
        TableIndex { residual: Bitmap::new(&residual), first_route_count: first, ..TableIndex::default() };
    Index {
        subjects: Vec::new(),
        attributes: Vec::new(),
        tables: vec![table],
        key_count: 0,
        fields: None,
        literal_keys: PackedLists::default(),
        literal_count: 0,
        literal_verdicts: Vec::new(),
        deciding_literal_ids: PackedItems::default(),
        cached_text_count: 0,
    }
}

/// Regression: with a hundred copies of a realistic rule set, most messages matched one of the
/// first sixty routes. Decisions with the index took four times as long as decisions without it.
#[test]
fn a_tables_first_routes_are_tried_in_order_while_they_hold() {
    let index = build_index(40, 100);
    let mut work = LookupBuffers::default();
    let mut decide = |holds: u32, epoch: u32| {
        let mut tried = RecordingEngine {
            holds,
            texts: PreparedTexts::default(),
            missing: Value::Missing,
            found: Vec::new(),
            in_order: None,
        };
        let hit =
            work.begin_decision(&index, 4 * epoch).first_matching_rank(&mut tried, TableId(0), 0..u32::MAX);
        assert_eq!(hit, (holds < 100).then_some(holds));
        (tried.in_order, tried.found.len())
    };
    let early: Vec<_> = (1..=20).map(|epoch| decide(30, epoch)).collect();
    assert_eq!(early[..8], [(None, 31); 8], "looked up until it is known");
    assert_eq!(early[8..], [(Some(40), 0); 12], "then in order, and nothing is looked up");
    let late: Vec<_> = (21..=30).map(|epoch| decide(70, epoch)).collect();
    assert_eq!(late[0], (Some(40), 31), "what was tried is not tried again");
    assert_eq!(late[5..], [(None, 71); 5], "looked up again where others hold");
}
