//! JSON text as a source: one walk that checks all of it and keeps what slots read.

use super::fill::{Fill, Keys};
use super::plan::{NONE, Place, ROOT};
use super::scan::Cursor;
use crate::json::{MAX_BYTES, MAX_DEPTH, may_hold_too_many_objects};
use crate::ty::Kind;
use crate::value::Value;
use bumpalo::collections::Vec as BumpVec;

/// Reads one object that takes up the whole of a text but for white space.
pub(super) fn read<'a>(fill: &mut Fill<'a>, text: &'a str) -> Option<()> {
    let mut reader = Reader { cursor: Cursor::new(text), fill };
    if reader.cursor.token()? != b'{' {
        return None;
    }
    if reader.fill.plan.wants(ROOT, Kind::Dict) {
        let message = reader.build(0)?;
        reader.fill.spread(ROOT, message);
    } else {
        reader.object(ROOT, 0)?;
    }
    reader.cursor.token().is_none().then_some(())
}

impl<'a> Fill<'a> {
    /// Reads JSON text that stands at a place of a message, inside one object. The answer is that of [`Fill::put`];
    /// `None` when something is wrong with it, or only a tree will do.
    pub fn json(&mut self, node: Place, text: &'a str) -> Option<u32> {
        if text.len() > MAX_BYTES || may_hold_too_many_objects(text.as_bytes()) {
            return None;
        }
        let mut reader = Reader { cursor: Cursor::new(text), fill: self };
        let given = reader.value(node, 1)?;
        reader.cursor.token().is_none().then_some(given)
    }
}

struct Reader<'f, 'a> {
    cursor: Cursor<'a>,
    fill: &'f mut Fill<'a>,
}

impl<'a> Reader<'_, 'a> {
    /// The value that comes next, inside so many lists and objects. The answer is that of
    /// [`Fill::put`].
    fn value(&mut self, node: u32, depth: usize) -> Option<u32> {
        let kind = match self.cursor.token()? {
            b'"' if node == NONE => {
                self.cursor.skip_string()?;
                return Some(0);
            }
            b'"' => {
                let text = self.cursor.string(self.fill.bump)?;
                return Some(self.fill.put(node, Value::Str(text)));
            }
            b'{' => Kind::Dict,
            b'[' => Kind::List,
            _ => {
                let (value, _) = self.scalar()?;
                return Some(self.fill.put(node, value));
            }
        };
        if self.fill.plan.wants(node, kind) {
            let value = self.build(depth)?;
            return Some(self.fill.spread(node, value));
        }
        if kind == Kind::Dict {
            self.object(node, depth)?;
        } else {
            self.elements(depth, |reader| reader.value(NONE, depth + 1).map(drop))?;
        }
        Some(self.fill.pass(node, kind))
    }

    fn object(&mut self, node: u32, depth: usize) -> Option<()> {
        let mut given = 0;
        self.members(node, depth, |reader, _, child| {
            given += reader.value(child, depth + 1)?;
            Some(())
        })?;
        self.fill.end(node, given);
        Some(())
    }

    /// A number or a word, and whether its value is all there is to it.
    #[inline]
    fn scalar(&mut self) -> Option<(Value<'a>, bool)> {
        let (word, value) = match self.cursor.peek()? {
            b't' => ("true", Value::Bool(true)),
            b'f' => ("false", Value::Bool(false)),
            b'n' => ("null", Value::Missing),
            _ => return self.cursor.number(),
        };
        self.cursor.word(word)?;
        Some((value, true))
    }

    /// The value that comes next, with all that is in it.
    fn build(&mut self, depth: usize) -> Option<Value<'a>> {
        let bump = self.fill.bump;
        match self.cursor.token()? {
            b'"' => self.cursor.string(bump).map(Value::Str),
            b'{' => {
                let mut entries = BumpVec::new_in(bump);
                self.members(NONE, depth, |reader, key, _| {
                    entries.push((key, reader.build(depth + 1)?));
                    Some(())
                })?;
                entries.sort_unstable_by_key(|(key, _)| *key);
                Some(Value::Entries(entries.into_bump_slice()))
            }
            b'[' => {
                let mut items = BumpVec::new_in(bump);
                self.elements(depth, |reader| {
                    items.push(reader.build(depth + 1)?);
                    Some(())
                })?;
                Some(Value::List(items.into_bump_slice()))
            }
            _ => match self.scalar()? {
                (value, true) => Some(value),
                // An argument may show the list or dict it stands in.
                _ => None,
            },
        }
    }

    /// The keys of the object that begins here, at a place; `each` reads the value behind one, at a place as well.
    #[inline]
    fn members(
        &mut self,
        node: u32,
        depth: usize,
        mut each: impl FnMut(&mut Self, &'a str, u32) -> Option<()>,
    ) -> Option<()> {
        if depth >= MAX_DEPTH {
            return None;
        }
        self.cursor.at += 1;
        if self.cursor.token()? == b'}' {
            self.cursor.at += 1;
            return Some(());
        }
        let mut keys = Keys::begin(self.fill);
        let mut turn = Fill::first_in(node);
        loop {
            if self.cursor.token()? != b'"' {
                return None;
            }
            let (key, child) = self.key(node, turn)?;
            if child != NONE {
                turn = Fill::behind(child);
            }
            keys.add(self.fill, key, child)?;
            self.cursor.expect(b':')?;
            each(self, key, child)?;
            let next = self.cursor.token()?;
            self.cursor.at += 1;
            match next {
                b',' => {}
                b'}' => break,
                _ => return None,
            }
        }
        keys.end(self.fill);
        Some(())
    }

    /// The key that stands here in an object at a place, and the place behind it: first the one whose turn it is.
    #[inline(always)]
    fn key(&mut self, node: u32, turn: usize) -> Option<(&'a str, u32)> {
        let plan = self.fill.plan;
        if let Some(&child) = self.fill.order.get(turn)
            && let Some(known) = plan.child_ahead(node, child, self.cursor.ahead())
        {
            self.cursor.at += known.quoted.length;
            return Some((&known.key, child));
        }
        let key = self.cursor.string(self.fill.bump)?;
        let child = plan.child(node, key);
        if child != NONE
            && let Some(turn) = self.fill.order.get_mut(turn)
        {
            *turn = child;
        }
        Some((key, child))
    }

    /// The elements of the list that begins here; `each` reads one.
    #[inline]
    fn elements(&mut self, depth: usize, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if depth >= MAX_DEPTH {
            return None;
        }
        self.cursor.at += 1;
        if self.cursor.token()? == b']' {
            self.cursor.at += 1;
            return Some(());
        }
        loop {
            each(self)?;
            let next = self.cursor.token()?;
            self.cursor.at += 1;
            match next {
                b',' => {}
                b']' => return Some(()),
                _ => return None,
            }
        }
    }
}
