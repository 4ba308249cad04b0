//! Deciding with the index: what the message holds is looked up once, the routes of the keys found
//! are tried below the best so far, then those that bits leave over.

use super::{End, Message, Vm};
use crate::bytecode::chunk::RuleCode;
use crate::bytecode::instr::Instr;
use crate::index::block::{Block, CHUNK, MAX_COLUMNS};
use crate::index::{Guard, Index, Posted, Posting, TableIndex};
use crate::sema::hir::{RuleId, TableId};
use crate::text::TextMode;
use crate::value::{Tri, Value};
use smallvec::SmallVec;

/// What was looked up in the message of a decision; every number is stamped with the decision's.
#[derive(Debug, Default)]
pub(super) struct Probe {
    /// For each literal of all subjects when it was last found.
    literals: Vec<u32>,
    /// For each key when the message last held it.
    keys: Vec<u32>,
    /// For each subject when it was last scanned, and how.
    subjects: Vec<u32>,
    /// For each lens when its class was last looked up, and the class.
    classes: Vec<(u32, u32)>,
    /// For each lens when its keys were last looked up.
    lenses: Vec<u32>,
    /// The keys that the message holds.
    hits: Vec<u32>,
    /// The decision that they belong to.
    epoch: u32,
    /// How often lately one of a table's first routes was chosen: beyond [`WARM`] they are tried
    /// before anything is looked up.
    heat: u8,
    /// Room for prepared texts.
    text: String,
    other: String,
}

/// Beside a subject's stamp: the text that was scanned is the message's own.
const OWN_TEXT: u32 = 1;
/// Beside a subject's stamp: it was scanned in one form only.
const ONE_FORM: u32 = 2;

/// So many of a table's routes count as its first.
const FIRST: u32 = 10;
/// See [`Probe::heat`].
const WARM: u8 = 8;
const HOTTEST: u8 = 12;

/// Leaves the bits that a chunk of a row has too.
#[inline(always)]
fn join<const N: usize>(bits: &mut [u64; N], row: &[[u64; N]], chunk: usize) {
    match row.get(chunk) {
        Some(row) => bits.iter_mut().zip(row).for_each(|(bits, row)| *bits &= row),
        None => *bits = [0; N],
    }
}

/// The routes of a short list.
#[inline]
fn posted(info: &TableIndex, start: u32, end: u32) -> &[Posted] {
    info.posted.get(start as usize..end as usize).unwrap_or_default()
}

/// A route that holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Its place in its table.
    pub rank: u32,
    /// Which it is.
    pub route: RuleId,
    /// The table that it jumps to.
    pub goto: Option<TableId>,
}

impl Probe {
    /// Makes room for an index.
    pub(super) fn grow(&mut self, index: &Index) {
        super::scratch::grow(&mut self.literals, index.literal_count as usize);
        super::scratch::grow(&mut self.keys, index.keys.len());
        super::scratch::grow(&mut self.subjects, index.subjects.len());
        super::scratch::grow(&mut self.classes, index.lenses.len());
        super::scratch::grow(&mut self.lenses, index.lenses.len());
    }

    /// Forgets all stamps.
    pub(super) fn forget(&mut self) {
        for stamps in [&mut self.literals, &mut self.keys, &mut self.subjects, &mut self.lenses] {
            stamps.fill(0);
        }
        self.classes.fill((0, 0));
        self.epoch = 0;
    }

    #[inline]
    fn hit(keys: &mut [u32], hits: &mut Vec<u32>, key: u32, epoch: u32) {
        if let Some(stamp) = keys.get_mut(key as usize)
            && *stamp != epoch
        {
            *stamp = epoch;
            hits.push(key);
        }
    }
}

impl<'a, M: Message<'a>> Vm<'a, M> {
    /// The first route of a table at or behind a rank that holds, or what the table does without one.
    pub(super) fn search(&mut self, index: &'a Index, table: TableId, from: usize) -> End<usize> {
        match self.find(index, table, from) {
            Some(Found { route, goto: None, .. }) => End::Choose(route),
            Some(Found { rank, route, goto: Some(table) }) => {
                End::Goto { route, table, behind: rank as usize + 1 }
            }
            None => self.without_route(table),
        }
    }

    /// The first route of a table at or behind a rank that holds.
    pub(super) fn find(&mut self, index: &'a Index, table: TableId, from: usize) -> Option<Found> {
        let info = index.tables.get(table.index())?;
        let mut from = u32::try_from(from).unwrap_or(u32::MAX);
        let mut found = None;
        if from == 0 && self.probe.heat >= WARM {
            found = self.first_in_order(table, FIRST);
            from = FIRST;
        }
        if found.is_none() {
            found = self.first(index, info, table, from);
        }
        self.probe.heat = match found {
            Some(Found { rank, .. }) if rank < FIRST => (self.probe.heat + 1).min(HOTTEST),
            _ => self.probe.heat.saturating_sub(2),
        };
        found
    }

    fn without_route(&self, table: TableId) -> End<usize> {
        let code = self.chunk.tables.get(table.index());
        let block = code.and_then(|code| self.chunk.blocks.get(code.block as usize));
        let last = block.and_then(|block| self.chunk.instrs.get((block.end as usize).wrapping_sub(1)));
        match last {
            Some(Instr::Default { table }) => End::Default(*table),
            Some(Instr::Continue { table }) => End::Continue(*table),
            _ => End::Nothing,
        }
    }

    fn try_route(&mut self, table: TableId, rank: u32) -> Option<Found> {
        if self.removed.is_some_and(|(removed, version)| removed.holds(table, rank, version)) {
            return None;
        }
        let (route, goto) = self.route(table, rank as usize)?;
        Some(Found { rank, route, goto })
    }

    /// The first route that holds of a table's first ones.
    fn first_in_order(&mut self, table: TableId, count: u32) -> Option<Found> {
        if self.removed.is_some() {
            return (0..count).find_map(|rank| self.try_route(table, rank));
        }
        // Their code lies one behind the other: it is run as a whole.
        let routes = &self.chunk.tables.get(table.index())?.routes;
        let routes = routes.get(..count as usize).unwrap_or(routes);
        let (first, last) = (routes.first()?, routes.last()?);
        let (route, goto) = match self.run::<true>(first.start as usize, last.end as usize) {
            End::Choose(route) => (route, None),
            End::Goto { route, table, .. } => (route, Some(table)),
            _ => return None,
        };
        let chosen = |code: &RuleCode| match self.chunk.instrs.get((code.end as usize).wrapping_sub(1)) {
            Some(Instr::Choose { route: other } | Instr::Goto { route: other, .. }) => *other == route,
            _ => false,
        };
        let rank = routes.iter().position(chosen)? as u32;
        Some(Found { rank, route, goto })
    }

    fn first(&mut self, index: &'a Index, info: &'a TableIndex, table: TableId, from: u32) -> Option<Found> {
        self.look(index, info);
        let mut best: Option<Found> = None;
        let hits = std::mem::take(&mut self.probe.hits);
        for key in &hits {
            let Some(key) = index.keys.get(*key as usize).filter(|key| key.table == table.0) else {
                continue;
            };
            let bound = best.map_or(u32::MAX, |best| best.rank);
            let found = match info.postings.get(key.posting as usize) {
                Some(Posting::List { start, end }) => {
                    self.first_of_list(index, table, posted(info, *start, *end), from, bound)
                }
                Some(Posting::Block(block)) => self.first_of_block(index, table, block, from, bound),
                None => None,
            };
            best = found.or(best);
        }
        self.probe.hits = hits;
        let bound = best.map_or(u32::MAX, |best| best.rank);
        self.first_of_block(index, table, &info.root, from, bound).or(best)
    }

    fn first_of_list(
        &mut self,
        index: &'a Index,
        table: TableId,
        posted: &[Posted],
        from: u32,
        bound: u32,
    ) -> Option<Found> {
        for posted in posted {
            if posted.rank >= bound {
                return None;
            }
            if posted.rank >= from
                && self.is_let_through(index, posted)
                && let Some(found) = self.try_route(table, posted.rank)
            {
                return Some(found);
            }
        }
        None
    }

    /// Whether no guard rules a route out.
    #[inline]
    fn is_let_through(&mut self, index: &'a Index, posted: &Posted) -> bool {
        posted.guards.iter().all(|guard| {
            guard.lens == Guard::NONE.lens || (guard.from..guard.to).contains(&self.class(index, guard.lens))
        })
    }

    fn first_of_block(
        &mut self,
        index: &'a Index,
        table: TableId,
        block: &'a Block,
        from: u32,
        bound: u32,
    ) -> Option<Found> {
        let mut found = None;
        self.each_of_block(index, block, from, bound, |vm, rank| {
            found = vm.try_route(table, rank);
            found.is_some()
        });
        found
    }

    /// Calls with the ranks in a range that the bits of a block leave over, in order, until told to
    /// stop.
    #[inline]
    fn each_of_block(
        &mut self,
        index: &'a Index,
        block: &'a Block,
        from: u32,
        bound: u32,
        stop: impl FnMut(&mut Self, u32) -> bool,
    ) {
        if block.ranks.first().is_none_or(|first| *first >= bound) {
            return;
        }
        match block.words() {
            1 => self.each_of_chunks::<1>(index, block, from, bound, stop),
            2 => self.each_of_chunks::<2>(index, block, from, bound, stop),
            4 => self.each_of_chunks::<4>(index, block, from, bound, stop),
            _ => self.each_of_chunks::<CHUNK>(index, block, from, bound, stop),
        }
    }

    /// The same for a block whose rows are a multiple of so many words.
    #[inline]
    fn each_of_chunks<const N: usize>(
        &mut self,
        index: &'a Index,
        block: &'a Block,
        from: u32,
        bound: u32,
        mut stop: impl FnMut(&mut Self, u32) -> bool,
    ) {
        let (ranks, words) = (&block.ranks[..], block.words());
        let first = if from == 0 { 0 } else { ranks.partition_point(|rank| *rank < from) };
        let mut rows = SmallVec::<[&[[u64; N]]; MAX_COLUMNS]>::new();
        for chunk in first / (64 * N)..words / N {
            let start = chunk * 64 * N;
            match ranks.get(start) {
                Some(rank) if *rank < bound => {}
                _ => return,
            }
            let mut bits = [!0_u64; N];
            for row in &rows {
                join(&mut bits, row, chunk);
            }
            // A value is looked at once there is a route left for it to rule out.
            while let Some(column) = block.columns.get(rows.len())
                && bits != [0; N]
            {
                let row = column.row(self.class(index, column.lens), words).as_chunks().0;
                join(&mut bits, row, chunk);
                rows.push(row);
            }
            for (word, mut bits) in bits.into_iter().enumerate() {
                while bits != 0 {
                    let at = start + word * 64 + bits.trailing_zeros() as usize;
                    // Behind the last route lies none, where there is no column to say so.
                    let Some(rank) = ranks.get(at) else { return };
                    if *rank >= bound || (at >= first && stop(self, *rank)) {
                        return;
                    }
                    bits &= bits - 1;
                }
            }
        }
    }

    /// Every route of a table that holds.
    pub(super) fn search_all(&mut self, index: &'a Index, table: TableId) -> Vec<RuleId> {
        let Some(info) = index.tables.get(table.index()) else { return Vec::new() };
        self.look(index, info);
        let mut candidates = Vec::new();
        let hits = std::mem::take(&mut self.probe.hits);
        for key in &hits {
            let Some(key) = index.keys.get(*key as usize).filter(|key| key.table == table.0) else {
                continue;
            };
            match info.postings.get(key.posting as usize) {
                Some(Posting::List { start, end }) => {
                    for posted in posted(info, *start, *end) {
                        if self.is_let_through(index, posted) {
                            candidates.push(posted.rank);
                        }
                    }
                }
                Some(Posting::Block(block)) => self.collect(index, block, &mut candidates),
                None => {}
            }
        }
        self.probe.hits = hits;
        self.collect(index, &info.root, &mut candidates);
        candidates.sort_unstable();
        candidates.dedup();
        candidates.into_iter().filter_map(|rank| Some(self.try_route(table, rank)?.route)).collect()
    }

    fn collect(&mut self, index: &'a Index, block: &'a Block, into: &mut Vec<u32>) {
        self.each_of_block(index, block, 0, u32::MAX, |_, rank| {
            into.push(rank);
            false
        });
    }

    /// Looks up the keys of a table.
    fn look(&mut self, index: &'a Index, info: &TableIndex) {
        if self.probe.epoch != self.epoch {
            self.probe.epoch = self.epoch;
            self.probe.hits.clear();
        }
        for subject in &info.subjects {
            if self.probe.subjects.get(*subject as usize).is_some_and(|stamp| stamp & !3 != self.epoch) {
                self.scan(index, *subject);
            }
        }
        for lens in &info.lenses {
            if self.probe.lenses.get(*lens as usize).is_some_and(|stamp| *stamp != self.epoch) {
                self.look_through(index, *lens);
            }
        }
    }

    /// Scans a subject for literals.
    fn scan(&mut self, index: &'a Index, number: u32) {
        let Some(subject) = index.subjects.get(number as usize) else { return };
        let Value::Str(text) = self.operand(subject.operand) else { return };
        let epoch = self.epoch;
        let probe = &mut *self.probe;
        let (literals, keys, hits) = (&mut probe.literals, &mut probe.keys, &mut probe.hits);
        let mut scan = |text: &str| {
            subject.scanner.scan(text.as_bytes(), |literal, _| {
                if let Some(stamp) = literals.get_mut((subject.first + literal) as usize)
                    && *stamp != epoch
                {
                    *stamp = epoch;
                    for key in subject.keys.get(literal) {
                        Probe::hit(keys, hits, *key, epoch);
                    }
                }
            });
        };
        // The forms that were scanned: the first, and how it was made of the text.
        let mut scanned: Option<&str> = None;
        let mut state = epoch | ONE_FORM;
        if subject.plain {
            let mut own = text;
            if subject.fold {
                probe.text.clear();
                crate::text::fold_into(text, &mut probe.text);
                own = &probe.text;
            }
            if own == text {
                state |= OWN_TEXT;
            }
            scan(own);
            scanned = Some(own);
        }
        for mode in &subject.modes {
            probe.other.clear();
            mode.prepare_into(text, &mut probe.other);
            match scanned {
                Some(first) if first == probe.other => {}
                None => {
                    scan(&probe.other);
                    // What else is scanned is compared with this.
                    probe.text.clear();
                    probe.text.push_str(&probe.other);
                    scanned = Some(&probe.text);
                }
                Some(_) => {
                    scan(&probe.other);
                    state &= !ONE_FORM;
                }
            }
        }
        if let Some(stamp) = probe.subjects.get_mut(number as usize) {
            *stamp = state;
        }
    }

    /// Looks up the keys of a value.
    fn look_through(&mut self, index: &'a Index, number: u32) {
        let Some(lens) = index.lenses.get(number as usize) else { return };
        let epoch = self.epoch;
        if let Some(stamp) = self.probe.lenses.get_mut(number as usize) {
            *stamp = epoch;
        }
        let value = self.operand(lens.operand);
        if let (Some(elements), false) = (value.elements(), lens.elements.is_empty()) {
            for element in elements {
                self.look_for_element(index, number, element);
            }
            return;
        }
        if !lens.keys.is_empty() {
            let class = self.class(index, number);
            let probe = &mut *self.probe;
            for key in lens.keys.get(class) {
                Probe::hit(&mut probe.keys, &mut probe.hits, *key, epoch);
            }
        }
    }

    fn look_for_element(&mut self, index: &'a Index, number: u32, element: Value<'a>) {
        let Some(lens) = index.lenses.get(number as usize) else { return };
        let epoch = self.epoch;
        match element {
            Value::Str(text) => {
                let text = self.lens_text(text, lens.mode);
                let probe = &mut *self.probe;
                for key in lens.elements.get(text.unwrap_or(&probe.other)).into_iter().flatten() {
                    Probe::hit(&mut probe.keys, &mut probe.hits, *key, epoch);
                }
            }
            // A time equals texts that write it in many ways.
            Value::DateTime(_) => {
                let probe = &mut *self.probe;
                for key in lens.elements.values().flatten() {
                    Probe::hit(&mut probe.keys, &mut probe.hits, *key, epoch);
                }
            }
            _ => {}
        }
    }

    /// A text in a lens's mode: itself, or `None` for what now lies in [`Probe::other`].
    #[inline]
    fn lens_text(&mut self, text: &'a str, mode: TextMode) -> Option<&'a str> {
        if mode.is_plain() {
            return Some(text);
        }
        self.probe.other.clear();
        mode.prepare_into(text, &mut self.probe.other);
        None
    }

    /// The class of a value.
    #[inline]
    fn class(&mut self, index: &'a Index, number: u32) -> u32 {
        match self.probe.classes.get(number as usize) {
            Some((stamp, class)) if *stamp == self.epoch => *class,
            _ => self.look_up_class(index, number),
        }
    }

    #[inline(never)]
    fn look_up_class(&mut self, index: &'a Index, number: u32) -> u32 {
        let Some(lens) = index.lenses.get(number as usize) else { return crate::index::lens::OTHER };
        let class = match self.operand(lens.operand) {
            Value::Str(text) => {
                let text = self.lens_text(text, lens.mode);
                lens.classes.of(Value::Str(text.unwrap_or(&self.probe.other)))
            }
            other => lens.classes.of(other),
        };
        if let Some(cell) = self.probe.classes.get_mut(number as usize) {
            *cell = (self.epoch, class);
        }
        class
    }

    /// The answer of a text predicate over a text that has been scanned; `None` when the scan does
    /// not tell.
    #[inline]
    pub(super) fn scanned(&self, index: &Index, pred: usize) -> Option<Tri> {
        let literals = index.literals.get(pred)?.as_ref()?;
        let state = *self.probe.subjects.get(literals.subject as usize)?;
        if state & !3 != self.epoch {
            return None;
        }
        let first = index.subjects.get(literals.subject as usize)?.first;
        let is_there =
            |literal: &u32| self.probe.literals.get((first + literal) as usize) == Some(&self.epoch);
        let holds = if literals.all {
            literals.numbers.iter().all(is_there)
        } else {
            literals.numbers.iter().any(is_there)
        };
        let told = state & ONE_FORM != 0 && (!literals.plain || state & OWN_TEXT != 0);
        match holds {
            false => Some(Tri::False),
            true if literals.exact && told => Some(Tri::True),
            true => None,
        }
    }
}
