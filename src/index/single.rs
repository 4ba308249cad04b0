//! The keys of one route by itself, apart from any index: what routes are found by that were added to
//! a rule set while it serves.
//!
//! The contract is the index's: whenever the route's condition holds, the message holds one of its
//! keys. A message's field is read at the slot's kinds, as the condition reads it.

use super::atom::{Atom, Atoms};
use super::attribute::{Class, Named, Number};
use super::build::{Builder, Way};
use crate::bytecode::Chunk;
use crate::bytecode::chunk::Operand;
use crate::sema::hir::SlotId;
use crate::sema::normal::{NRoute, Normal};
use crate::text::{Form, TextMode};
use hashbrown::HashMap;

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
    let lists = Lists {
        sets: atoms.atoms_of_sets(),
        classes: atoms.values_of_classes(),
        literals: atoms.literals_by_number(),
        atoms: &atoms,
    };
    let found = ways.iter().filter_map(|way| lists.keys_of(way));
    let best = found.min_by(|(_, a), (_, b)| a.total_cmp(b)).filter(|(_, likelihood)| *likelihood < USELESS);
    best.map(|(keys, _)| keys)
}

/// What numbers stand for.
struct Lists<'a> {
    atoms: &'a Atoms<'a>,
    sets: Vec<&'a [Atom]>,
    classes: Vec<HashMap<Class, Named<'a>>>,
    literals: Vec<Vec<&'a str>>,
}

impl Lists<'_> {
    /// The keys of a way and how likely a message holds one, when all of them can be looked up in
    /// fields.
    fn keys_of(&self, way: &Way) -> Option<(Vec<FieldKey>, f64)> {
        let (mut keys, mut likelihood) = (Vec::new(), 0.0);
        for set in way {
            let (mut literals, mut others) = (false, 0.0);
            for atom in *self.sets.get(*set as usize)? {
                match atom {
                    Atom::Literal(..) => literals = true,
                    Atom::Class(..) | Atom::Element(..) => others += EQUAL,
                }
                keys.push(self.key(atom)?);
            }
            likelihood += others + if literals { *self.atoms.likelihood.get(*set as usize)? } else { 0.0 };
        }
        Some((keys, likelihood))
    }

    fn key(&self, atom: &Atom) -> Option<FieldKey> {
        let slot = |operand: Operand| match operand {
            Operand::Slot(slot) => Some(slot),
            _ => None,
        };
        let (operand, wanted) = match atom {
            Atom::Literal(at, number) => {
                let subject = self.atoms.subjects.get(*at as usize)?;
                let literal = *self.literals.get(*at as usize)?.get(*number as usize)?;
                // It is not known here in which of its forms the text is asked for the literal.
                let own = subject.plain.then_some(TextMode { fold: subject.fold, form: Form::None });
                let modes = own.into_iter().chain(subject.modes.iter().copied()).collect();
                (subject.operand, Wanted::Literal(modes, literal.into()))
            }
            Atom::Class(at, class) => {
                let attribute = self.atoms.attributes.get(*at as usize)?;
                let wanted = match *self.classes.get(*at as usize)?.get(class)? {
                    Named::Text(text) => Wanted::Text(attribute.mode, text.into()),
                    Named::Number(number) => Wanted::Number(number),
                };
                (attribute.operand, wanted)
            }
            Atom::Element(at, text) => {
                let attribute = self.atoms.attributes.get(*at as usize)?;
                (attribute.operand, Wanted::Element(attribute.mode, text.clone()))
            }
        };
        Some(FieldKey { slot: slot(operand)?, wanted })
    }
}
