//! JSON text as a source: one pass checks the whole text and stores the values that slots read.

use super::fill::{Fill, Keys};
use super::plan::{NONE, PathId, ROOT};
use super::scan::Cursor;
use rulec_base::json::{MAX_BYTES, MAX_DEPTH, may_hold_too_many_objects};
use rulec_lang::ty::Kind;
use rulec_lang::value::Value;
use smallvec::SmallVec;

/// Reads JSON text that consists of one object and white space. `None` if the text is invalid, or
/// must be read into a JSON tree.
pub(crate) fn read_text<'a>(fill: &mut Fill<'a>, text: &'a [u8]) -> Option<()> {
    if text.len() > MAX_BYTES || may_hold_too_many_objects(text) {
        return None;
    }
    let text = simdutf8::basic::from_utf8(text).ok()?;
    let mut reader = JsonReader { cursor: Cursor::new(text), fill };
    if reader.cursor.token()? != b'{' {
        return None;
    }
    if reader.fill.plan.wants(ROOT, Kind::Dict) {
        let message = reader.build(0)?;
        reader.fill.put_built(ROOT, message);
    } else {
        reader.object(ROOT, 0)?;
    }
    reader.cursor.token().is_none().then_some(())
}

impl<'a> Fill<'a> {
    /// Reads JSON text as the value at a path of a message. Nesting is limited as for a direct
    /// field of the message.
    ///
    /// Returns 1 if the value is a required field of its object, else 0. `None` if the text is
    /// invalid, or must be read into a JSON tree.
    pub fn json(&mut self, node: PathId, text: &'a str) -> Option<u32> {
        if text.len() > MAX_BYTES || may_hold_too_many_objects(text.as_bytes()) {
            return None;
        }
        let mut reader = JsonReader { cursor: Cursor::new(text), fill: self };
        let given = reader.value(node, 1)?;
        reader.cursor.token().is_none().then_some(given)
    }
}

struct JsonReader<'f, 'a> {
    cursor: Cursor<'a>,
    fill: &'f mut Fill<'a>,
}

impl<'a> JsonReader<'_, 'a> {
    /// Reads the next value, nested in `depth` lists and objects. Returns 1 if the value is a
    /// required field of its object, else 0.
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

    /// Reads the list or object at the cursor, nested in `depth` others. The value is built as a
    /// whole if a slot reads it. Returns 1 if the value is a required field of its object, else 0.
    #[inline(never)]
    fn structure(&mut self, node: u32, kind: Kind, depth: usize) -> Option<u32> {
        if self.fill.plan.wants(node, kind) {
            let value = self.build(depth)?;
            return Some(self.fill.put_built(node, value));
        }
        if kind == Kind::Dict {
            self.object(node, depth)?;
        } else {
            self.elements(depth, |reader| reader.value(NONE, depth + 1).map(drop))?;
        }
        Some(self.fill.put_unread(node, kind))
    }

    /// Reads the object at the cursor, whose path is `node`.
    fn object(&mut self, node: u32, depth: usize) -> Option<()> {
        if !self.opens(b'}', depth)? {
            self.fill.end(node, 0);
            return Some(());
        }
        let (mut keys, mut turn, mut given) = (Keys::begin(self.fill), Fill::first_child(node), 0);
        loop {
            let child = match self.fill.predict_child(node, turn, self.cursor.ahead()) {
                Some((child, length)) => {
                    self.cursor.at += length;
                    self.fill.mark_seen(child)?;
                    child
                }
                None => self.key(node, turn, &mut keys)?,
            };
            if child != NONE {
                turn = Fill::after(child);
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

    /// Reads the key at the cursor with its colon and looks up its path in object `node`. Stores
    /// the path at index `turn` of the key order, as a prediction for the next message.
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

    /// Reads the key at the cursor, with its colon; `None` if no key is there.
    fn quoted(&mut self) -> Option<&'a str> {
        if self.cursor.token()? != b'"' {
            return None;
        }
        let key = self.cursor.string(self.fill.bump)?;
        self.cursor.expect(b':')?;
        Some(key)
    }

    /// Reads a number or a word such as `true`. The flag is false if the value does not show how
    /// the number was written.
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

    /// Reads the next value with all its fields or elements.
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
                // The value may be shown in an argument exactly as written, which only a JSON tree
                // preserves.
                _ => None,
            },
        }
    }

    /// Reads the list at the cursor, calling `each` to read one element.
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

    /// Enters the list or object at the cursor, nested in `depth` others. Returns false if the list
    /// or object is empty; the cursor is then after its end.
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

    /// Skips the comma after an element, or the closing bracket. Returns true after a comma.
    #[inline(always)]
    fn goes_on(&mut self, close: u8) -> Option<bool> {
        let next = self.cursor.token()?;
        self.cursor.at += 1;
        if next == b',' { Some(true) } else { (next == close).then_some(false) }
    }
}
