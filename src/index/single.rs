//! The keys of one route by itself, apart from any index: what routes are found by that were added to
//! a rule set while it serves.
//!
//! The contract is the index's: whenever the route's condition holds, the message holds one of its
//! keys. A message's field is read at the slot's kinds, as the condition reads it.

use super::atom::{Atom, Atoms};
use super::build::{Builder, Way};
use super::lens::{Named, Number};
use crate::bytecode::Chunk;
use crate::bytecode::chunk::Operand;
use crate::sema::hir::SlotId;
use crate::sema::normal::{NRoute, Normal};
use crate::text::{Form, TextMode};

/// What a message must hold in one of its fields.
#[derive(Clone, Debug)]
pub struct FieldKey {
    /// The field.
    pub slot: SlotId,
    /// What it must hold.
    pub wanted: Wanted,
}

/// What a field must hold.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// A text that holds the literal, in one of these forms.
    Literal(Vec<TextMode>, Box<str>),
    /// A text that is this one, in that form.
    Text(TextMode, Box<str>),
    /// A number equal to it.
    Number(Number),
    /// A list with an element that is this text, in that form.
    Element(TextMode, Box<str>),
}

/// The share of messages in which a field has a value that a rule names: a guess.
const EQUAL: f64 = 0.03;
/// A key that this share of messages holds is not worth looking up.
const USELESS: f64 = 0.4;

/// The keys of a route, of which a message must hold one; `None` when only trying it will tell.
pub fn keys(normal: &Normal, chunk: &Chunk, route: &NRoute) -> Option<Vec<FieldKey>> {
    let atoms = Atoms::of(chunk);
    let mut ways = Vec::new();
    Builder::new(normal, &atoms).ways(route.cond, &mut ways);
    let by_number = atoms.atoms_of_sets();
    let found = ways.iter().filter_map(|way| keys_of(&atoms, &by_number, way));
    let best = found.min_by(|(_, a), (_, b)| a.total_cmp(b)).filter(|(_, likelihood)| *likelihood < USELESS);
    best.map(|(keys, _)| keys)
}

/// The keys of a way and how likely a message holds one, when all of them can be looked up in fields.
fn keys_of(atoms: &Atoms<'_>, by_number: &[&[Atom]], way: &Way) -> Option<(Vec<FieldKey>, f64)> {
    let (mut keys, mut likelihood) = (Vec::new(), 0.0);
    for set in way {
        let (mut literals, mut others) = (false, 0.0);
        for atom in *by_number.get(*set as usize)? {
            match atom {
                Atom::Literal(..) => literals = true,
                Atom::Class(..) | Atom::Element(..) => others += EQUAL,
            }
            keys.push(key(atoms, atom)?);
        }
        likelihood += others + if literals { *atoms.likelihood.get(*set as usize)? } else { 0.0 };
    }
    Some((keys, likelihood))
}

fn key(atoms: &Atoms<'_>, atom: &Atom) -> Option<FieldKey> {
    let slot = |operand: Operand| match operand {
        Operand::Slot(slot) => Some(slot),
        _ => None,
    };
    Some(match atom {
        Atom::Literal(subject, number) => {
            let subject = atoms.subjects.get(*subject as usize)?;
            let (literal, _) = subject.literals.iter().find(|(_, other)| *other == number)?;
            // It is not known here in which of its forms the text is asked for the literal.
            let own = subject.plain.then_some(TextMode { fold: subject.fold, form: Form::None });
            let modes = own.into_iter().chain(subject.modes.iter().copied()).collect();
            FieldKey { slot: slot(subject.operand)?, wanted: Wanted::Literal(modes, literal.clone()) }
        }
        Atom::Class(lens, class) => {
            let lens = atoms.lenses.get(*lens as usize)?;
            let wanted = match lens.classes.value(*class)? {
                Named::Text(text) => Wanted::Text(lens.mode, text.into()),
                Named::Number(number) => Wanted::Number(number),
            };
            FieldKey { slot: slot(lens.operand)?, wanted }
        }
        Atom::Element(lens, text) => {
            let lens = atoms.lenses.get(*lens as usize)?;
            FieldKey { slot: slot(lens.operand)?, wanted: Wanted::Element(lens.mode, text.clone()) }
        }
    })
}
