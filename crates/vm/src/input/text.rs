//! JSON text as a source: one walk that checks all of it and keeps what slots read.

use super::fill::{Fill, Keys};
use super::plan::{NONE, Place, ROOT};
use super::scan::Cursor;
use rulec_base::json::{MAX_BYTES, MAX_DEPTH, may_hold_too_many_objects};
use rulec_lang::ty::Kind;
use rulec_lang::value::Value;
use smallvec::SmallVec;

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
    #[inline(always)]
    fn value(&mut self, node: u32, depth: usize) -> Option<u32> {
        match self.cursor.token()? {
            b'"' if node == NONE => self.cursor.skip_string().map(|()| 0),
            b'"' => {
                let text = self.cursor.string(self.fill.bump)?;
                Some(self.fill.put(node, Value::Str(text)))
            }
            b'{' => self.structure(node, Kind::Dict, depth),
            b'[' => self.structure(node, Kind::List, depth),
            _ => {
                let (value, _) = self.scalar()?;
                Some(self.fill.put(node, value))
            }
        }
    }

    /// The list or object that begins here, inside so many others: built as a whole where a slot reads it.
    #[inline(never)]
    fn structure(&mut self, node: u32, kind: Kind, depth: usize) -> Option<u32> {
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

    /// The object that begins here, at a place.
    fn object(&mut self, node: u32, depth: usize) -> Option<()> {
        if !self.opens(b'}', depth)? {
            self.fill.end(node, 0);
            return Some(());
        }
        let (mut keys, mut turn, mut given) = (Keys::begin(self.fill), Fill::first_in(node), 0);
        loop {
            let child = match self.fill.place_ahead(node, turn, self.cursor.ahead()) {
                Some((child, length)) => {
                    self.cursor.at += length;
                    self.fill.come_upon(child)?;
                    child
                }
                None => self.key(node, turn, &mut keys)?,
            };
            if child != NONE {
                turn = Fill::behind(child);
            }
            given += self.value(child, depth + 1)?;
            if !self.goes_on(b'}')? {
                break;
            }
            self.cursor.token()?;
        }
        keys.end(self.fill);
        self.fill.end(node, given);
        Some(())
    }

    /// The place behind the key that stands here with its colon, in an object at a place; it is looked up, and expected
    /// at this turn from now on.
    #[inline(never)]
    fn key(&mut self, node: u32, turn: usize, keys: &mut Keys<'a>) -> Option<u32> {
        let key = self.quoted()?;
        let child = self.fill.plan.child(node, key);
        keys.add(self.fill, key, child)?;
        if child != NONE
            && let Some(turn) = self.fill.order.get_mut(turn)
        {
            *turn = child;
        }
        Some(child)
    }

    /// The key that must stand here, with its colon.
    fn quoted(&mut self) -> Option<&'a str> {
        if self.cursor.token()? != b'"' {
            return None;
        }
        let key = self.cursor.string(self.fill.bump)?;
        self.cursor.expect(b':')?;
        Some(key)
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
                let mut entries = SmallVec::<[(&str, Value<'_>); 8]>::new();
                if self.opens(b'}', depth)? {
                    loop {
                        let key = self.quoted()?;
                        entries.push((key, self.build(depth + 1)?));
                        if !self.goes_on(b'}')? {
                            break;
                        }
                    }
                }
                entries.sort_unstable_by_key(|(key, _)| *key);
                let twice = entries.windows(2).any(|pair| pair[0].0 == pair[1].0);
                (!twice).then(|| Value::Entries(bump.alloc_slice_copy(&entries)))
            }
            b'[' => {
                let mut items = SmallVec::<[Value<'_>; 8]>::new();
                self.elements(depth, |reader| {
                    items.push(reader.build(depth + 1)?);
                    Some(())
                })?;
                Some(Value::List(bump.alloc_slice_copy(&items)))
            }
            _ => match self.scalar()? {
                (value, true) => Some(value),
                // An argument may show the list or dict it stands in.
                _ => None,
            },
        }
    }

    /// The elements of the list that begins here; `each` reads one.
    #[inline]
    fn elements(&mut self, depth: usize, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.opens(b']', depth)? {
            each(self)?;
            while self.goes_on(b']')? {
                each(self)?;
            }
        }
        Some(())
    }

    /// Steps into the list or object that begins here, inside so many others; false when nothing is in it, and it is
    /// left behind.
    #[inline(always)]
    fn opens(&mut self, close: u8, depth: usize) -> Option<bool> {
        if depth >= MAX_DEPTH {
            return None;
        }
        self.cursor.at += 1;
        let empty = self.cursor.token()? == close;
        self.cursor.at += usize::from(empty);
        Some(!empty)
    }

    /// Steps over the comma behind an element, or over the close; true when another element is to come.
    #[inline(always)]
    fn goes_on(&mut self, close: u8) -> Option<bool> {
        let next = self.cursor.token()?;
        self.cursor.at += 1;
        if next == b',' { Some(true) } else { (next == close).then_some(false) }
    }
}
