//! Compaction: young segments are compiled together in the background, so that there are few of them
//! however many routes came, each more than twice as large as the next.

use super::Shared;
use super::declarations::name_in;
use super::route::Route;
use super::segment::{Place, Segment};
use super::writer::Writer;
use crate::engine::Rules;
use crate::sema::hir::TableId;
use crate::text;
use hashbrown::HashMap;
use std::sync::Arc;

/// The number of young segments of one file that are left alone.
const FEW: usize = 3;
/// A segment of so many routes is left to the next merge.
const LARGE: usize = 512;

impl Shared {
    /// Starts compacting in the background when there are too many young segments.
    pub(super) fn compact_if_due(self: &Arc<Self>, writer: &mut Writer) {
        if writer.compacting || writer.due().is_none() {
            return;
        }
        let shared = Arc::clone(self);
        let started = std::thread::Builder::new().name("rulec-compact".to_owned()).spawn(move || {
            let compacting = Compacting(&shared);
            while shared.compact() {}
            std::mem::forget(compacting);
            shared.idle.notify_all();
        });
        writer.compacting = started.is_ok();
    }

    /// Compacts once; false when there is nothing to be done, which ends it under the same lock: an edit
    /// that comes later starts it again.
    fn compact(&self) -> bool {
        let mut writer = self.lock();
        let Some(old) = writer.due() else {
            writer.compacting = false;
            return false;
        };
        let base = Arc::clone(&writer.base);
        let routes = writer.living_in(&old);
        let mut compiled = Ok(None);
        if !routes.is_empty() {
            let known = writer.known.clone();
            let checked = text::keeping_parsed(|| writer.declarations.check_all(&base.rules, &routes, known));
            drop(writer);
            let rules = text::keeping_parsed(|| checked.finish(&self.compiler, &base.rules)).ok();
            compiled = rules.and_then(|rules| segment(&base.rules, rules, routes)).map(Some).ok_or(());
            writer = self.lock();
        }
        // Everything may have been compiled anew meanwhile.
        if !Arc::ptr_eq(&base, &writer.base) {
            return true;
        }
        match compiled {
            Ok(segment) => {
                writer.replace(&old, segment);
                self.snapshot.store(writer.snapshot());
                true
            }
            // Each alone they go on as before.
            Err(()) => {
                (writer.incompatible, writer.compacting) = (true, false);
                false
            }
        }
    }
}

/// Routes as they stand in the rules that were compiled of them.
fn segment(base: &Rules, rules: Rules, routes: Vec<(Arc<Route>, Place)>) -> Option<Segment> {
    let program = rules.program();
    let mut by_name: HashMap<(TableId, Arc<str>), (Arc<Route>, Place)> = HashMap::new();
    for (route, place) in routes {
        by_name.insert((route.table, Arc::clone(&route.name)), (route, place));
    }
    let mut ordered = Vec::with_capacity(program.rules.len());
    for rule in &program.rules {
        let table = base.program().table_named(&program.tables[rule.table.index()].name)?;
        ordered.push(by_name.remove(&(table, rule.name.clone()))?);
    }
    by_name.is_empty().then(|| Segment::young(rules, base, ordered))
}

/// Says that compacting has ended when it panics.
struct Compacting<'s>(&'s Shared);

impl Drop for Compacting<'_> {
    fn drop(&mut self) {
        self.0.lock().compacting = false;
        self.0.idle.notify_all();
    }
}

impl Writer {
    /// The young segments that are to be compacted next, when there are too many.
    fn due(&self) -> Option<Vec<Arc<Segment>>> {
        let home = |segment: &Segment| {
            let table = segment.routes.first().map_or(TableId(0), |route| route.table);
            self.declarations.home(name_in(&self.base.rules, table))
        };
        let open = self.young.get(self.sealed..)?;
        let newest = home(open.last()?);
        let of_home = open.iter().rev();
        let of_home = of_home.filter(|segment| segment.routes.len() < LARGE && home(segment) == newest);
        let of_home: Vec<&Arc<Segment>> = of_home.collect();
        if self.incompatible || of_home.len() <= FEW {
            return None;
        }
        let (mut taken, mut routes) = (Vec::new(), 0);
        for segment in of_home {
            if taken.len() > 1 && segment.routes.len() > 2 * routes {
                break;
            }
            routes += segment.routes.len();
            taken.push(Arc::clone(segment));
        }
        Some(taken)
    }
}
