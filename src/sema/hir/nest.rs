//! The nesting of quantifiers. A part of a quantifier's body that does not depend on its element is computed once, by every
//! engine, and counts as if it stood outside; the others form chains, whose length bounds the lists they read.

use super::{Cond, CondKind, Expr, ExprKind, Part, VarId};
use smallvec::SmallVec;
use std::collections::HashMap;

/// The facts found out about parts of a program, by their addresses.
#[derive(Debug, Default)]
pub struct Nests {
    known: HashMap<(usize, bool), Facts>,
}

/// The facts about a part.
#[derive(Clone, Debug, Default)]
struct Facts {
    /// The elements of quantifiers around it that it reads.
    free: SmallVec<[VarId; 2]>,
    /// The longest chain of quantifiers in it that read elements of others around them.
    chain: u32,
}

impl Nests {
    /// True when a part reads no element of a quantifier around it.
    pub fn is_closed(&mut self, part: Part<'_>) -> bool {
        self.facts(part).free.is_empty()
    }

    /// The depth of the nest that a quantifier stands in, when so many that it depends on stand around it.
    pub fn depth(&mut self, around: u32, body: &Cond) -> u32 {
        around.saturating_add(1).saturating_add(self.facts(Part::Cond(body)).chain)
    }

    fn facts(&mut self, part: Part<'_>) -> Facts {
        // It stands outside every quantifier.
        let Some(key) = part.address() else { return Facts::default() };
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let facts = self.find(part);
        self.known.insert(key, facts.clone());
        facts
    }

    fn find(&mut self, part: Part<'_>) -> Facts {
        let mut facts = Facts::default();
        let quantified = match part {
            Part::Expr(Expr { kind: ExprKind::Var(id), .. }) => {
                facts.free.push(*id);
                return facts;
            }
            Part::Cond(Cond { kind: CondKind::Quantifier { list, var, body, .. }, .. })
            | Part::Expr(Expr { kind: ExprKind::Count { list, var, body }, .. }) => Some((list, var, body)),
            _ => None,
        };
        let Some((list, var, body)) = quantified else {
            part.parts().into_iter().for_each(|part| facts.add(self.facts(part)));
            return facts;
        };
        let mut inner = self.facts(Part::Cond(body));
        inner.free.retain(|id| *id != var.id);
        inner.chain += 1;
        facts.add(inner);
        let list = self.facts(Part::Expr(list));
        let chain = list.chain;
        facts.add(list);
        if facts.free.is_empty() {
            facts.chain = chain;
        }
        facts
    }
}

impl Facts {
    fn add(&mut self, part: Facts) {
        self.chain = self.chain.max(part.chain);
        for id in part.free {
            if !self.free.contains(&id) {
                self.free.push(id);
            }
        }
    }
}
