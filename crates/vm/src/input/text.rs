//! Reads JSON text: one pass checks the whole text and stores the values that slots read.

use super::fill::{ObjectKeys, SlotFiller};
use super::plan::{NO_PATH, PathId, ROOT_PATH};
use super::scan::JsonCursor;
use rulec_base::json::{DecimalPaths, MAX_MESSAGE_BYTES, MAX_NESTING_DEPTH, may_hold_too_many_objects};
use rulec_lang::ty::Kind;
use rulec_lang::value::Value;
use smallvec::SmallVec;

/// Reads JSON text that consists of one object and white space. `None` if the text is invalid, or
/// if the message must be read into a JSON tree instead.
pub(crate) fn read_text<'a>(filler: &mut SlotFiller<'a>, text: &'a [u8]) -> Option<()> {
    if text.len() > MAX_MESSAGE_BYTES || may_hold_too_many_objects(text) {
        return None;
    }
    let text = simdutf8::basic::from_utf8(text).ok()?;
    let mut reader = JsonReader { cursor: JsonCursor::new(text), filler };
    if reader.cursor.peek_token()? != b'{' {
        return None;
    }
    if reader.filler.plan.reads_kind(ROOT_PATH, Kind::Dict) {
        let paths = reader.filler.plan.decimal_paths(ROOT_PATH);
        let message = reader.build_value(0, paths)?;
        reader.filler.put_built_value(ROOT_PATH, message);
    } else {
        reader.read_object(ROOT_PATH, 0)?;
    }
    reader.cursor.peek_token().is_none().then_some(())
}

impl<'a> SlotFiller<'a> {
    /// Reads JSON text as the value of a field of a message. The text may be nested as deeply as
    /// the value of a direct field of the message.
    ///
    /// Returns 1 if the input contract requires the field, else 0. `None` if the text is invalid,
    /// or must be read into a JSON tree.
    pub fn read_json(&mut self, node: PathId, text: &'a str) -> Option<u32> {
        if text.len() > MAX_MESSAGE_BYTES || may_hold_too_many_objects(text.as_bytes()) {
            return None;
        }
        let mut reader = JsonReader { cursor: JsonCursor::new(text), filler: self };
        let required = reader.read_value(node, 1)?;
        reader.cursor.peek_token().is_none().then_some(required)
    }
}

struct JsonReader<'f, 'a> {
    cursor: JsonCursor<'a>,
    filler: &'f mut SlotFiller<'a>,
}

impl<'a> JsonReader<'_, 'a> {
    /// Reads the next value, whose path is `node`. `depth` is the number of lists and objects
    /// around the value. Returns 1 if the input contract requires this field in its object, else 0.
    /// `None` if the text is invalid, or must be read into a JSON tree.
    #[inline(always)]
    fn read_value(&mut self, node: PathId, depth: usize) -> Option<u32> {
        match self.cursor.peek_token()? {
            b'"' if node == NO_PATH => self.cursor.skip_string().map(|()| 0),
            b'"' => {
                let text = self.cursor.read_string(self.filler.bump)?;
                Some(self.filler.put_value(node, Value::Str(text)))
            }
            b'{' => self.read_list_or_object(node, Kind::Dict, depth),
            b'[' => self.read_list_or_object(node, Kind::List, depth),
            _ => {
                let start = self.cursor.offset;
                let mut value = self.read_scalar()?;
                if let Value::Float(float) = value
                    && let Some(paths) = self.filler.plan.decimal_paths(node)
                {
                    value = self.cursor.exact_number(start, float, paths);
                }
                Some(self.filler.put_value(node, value))
            }
        }
    }

    /// Reads the list or object at the cursor, whose path is `node`. `depth` is the number of lists
    /// and objects around it. If a slot reads the list or object, it is built as one value. Returns
    /// 1 if the input contract requires this field, else 0. `None` if the text is invalid, or must
    /// be read into a JSON tree.
    #[inline(never)]
    fn read_list_or_object(&mut self, node: PathId, kind: Kind, depth: usize) -> Option<u32> {
        if self.filler.plan.reads_kind(node, kind) {
            let paths = self.filler.plan.decimal_paths(node);
            let value = self.build_value(depth, paths)?;
            return Some(self.filler.put_built_value(node, value));
        }
        if kind == Kind::Dict {
            self.read_object(node, depth)?;
        } else {
            self.read_elements(depth, |reader| reader.read_value(NO_PATH, depth + 1).map(drop))?;
        }
        Some(self.filler.check_unread_value(node, kind))
    }

    /// Reads the object at the cursor, whose path is `node`. `depth` is the number of lists and
    /// objects around it. `None` if the text is invalid, or must be read into a JSON tree.
    fn read_object(&mut self, node: PathId, depth: usize) -> Option<()> {
        if !self.skip_opening_bracket(b'}', depth)? {
            self.filler.end_object(node, 0);
            return Some(());
        }
        let (mut keys, mut turn, mut given) =
            (ObjectKeys::begin_object(self.filler), SlotFiller::first_child_index(node), 0);
        loop {
            let child = match self.filler.predict_child(node, turn, self.cursor.remaining_bytes()) {
                Some((child, length)) => {
                    self.cursor.offset += length;
                    self.filler.mark_seen(child)?;
                    child
                }
                None => self.read_key(node, turn, &mut keys)?,
            };
            if child != NO_PATH {
                turn = SlotFiller::next_sibling_index(child);
            }
            given += self.read_value(child, depth + 1)?;
            if !self.skip_comma_or_close(b'}')? {
                break;
            }
            self.cursor.peek_token()?;
        }
        keys.release_keys(self.filler);
        self.filler.end_object(node, given);
        Some(())
    }

    /// Reads the key at the cursor with its colon, and adds it to `keys`, the keys of its object.
    /// Returns the path of the key in the object `node`; `NO_PATH` if the value of the key can be
    /// skipped. `None` if there is no valid key, or if the object already has the key. Writes the
    /// path to the index `turn` of [`SlotFiller::predicted_paths`], as a prediction for the next
    /// message.
    #[inline(never)]
    fn read_key(&mut self, node: PathId, turn: usize, keys: &mut ObjectKeys<'a>) -> Option<u32> {
        let key = self.read_key_text()?;
        let child = self.filler.plan.child_named(node, key);
        keys.add_key(self.filler, key, child)?;
        if child != NO_PATH
            && let Some(turn) = self.filler.predicted_paths.get_mut(turn)
        {
            *turn = child;
        }
        Some(child)
    }

    /// Reads the key at the cursor, with its colon; `None` if no key is there.
    fn read_key_text(&mut self) -> Option<&'a str> {
        if self.cursor.peek_token()? != b'"' {
            return None;
        }
        let key = self.cursor.read_string(self.filler.bump)?;
        self.cursor.expect_byte(b':')?;
        Some(key)
    }

    /// Reads a number or a word such as `true`; `None` if there is no valid one.
    #[inline]
    fn read_scalar(&mut self) -> Option<Value<'a>> {
        let (word, value) = match self.cursor.peek_byte()? {
            b't' => ("true", Value::Bool(true)),
            b'f' => ("false", Value::Bool(false)),
            b'n' => ("null", Value::Missing),
            _ => return self.cursor.read_number(),
        };
        self.cursor.expect_word(word)?;
        Some(value)
    }

    /// Reads the next value with everything inside it, even if no rule reads it; `None` if it is
    /// invalid. `depth` is the number of lists and objects around the value. Numbers at `paths`,
    /// which are relative to the value, keep all their digits and are not rounded to floats.
    fn build_value(&mut self, depth: usize, paths: Option<&DecimalPaths>) -> Option<Value<'a>> {
        let bump = self.filler.bump;
        match self.cursor.peek_token()? {
            b'"' => self.cursor.read_string(bump).map(Value::Str),
            b'{' => {
                let mut entries = SmallVec::<[(&str, Value<'_>); 8]>::new();
                if self.skip_opening_bracket(b'}', depth)? {
                    loop {
                        let key = self.read_key_text()?;
                        let paths = paths.and_then(|paths| paths.field(key));
                        entries.push((key, self.build_value(depth + 1, paths)?));
                        if !self.skip_comma_or_close(b'}')? {
                            break;
                        }
                    }
                }
                entries.sort_unstable_by_key(|(key, _)| *key);
                let has_duplicate = entries.windows(2).any(|pair| pair[0].0 == pair[1].0);
                (!has_duplicate).then(|| Value::Entries(bump.alloc_slice_copy(&entries)))
            }
            b'[' => {
                let paths = paths.and_then(DecimalPaths::elements);
                let mut items = SmallVec::<[Value<'_>; 8]>::new();
                self.read_elements(depth, |reader| {
                    items.push(reader.build_value(depth + 1, paths)?);
                    Some(())
                })?;
                Some(Value::List(bump.alloc_slice_copy(&items)))
            }
            _ => {
                let start = self.cursor.offset;
                match (self.read_scalar()?, paths) {
                    (Value::Float(float), Some(paths)) => Some(self.cursor.exact_number(start, float, paths)),
                    (value, _) => Some(value),
                }
            }
        }
    }

    /// Reads the list at the cursor; `None` if it is invalid. `depth` is the number of lists and
    /// objects around the list. Calls `each` for every element, and `each` must read the element.
    #[inline]
    fn read_elements(&mut self, depth: usize, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.skip_opening_bracket(b']', depth)? {
            each(self)?;
            while self.skip_comma_or_close(b']')? {
                each(self)?;
            }
        }
        Some(())
    }

    /// Skips the opening bracket of the list or object at the cursor. Returns false if the list or
    /// object is empty; its closing bracket, `close`, is then skipped too. `None` if the text ends,
    /// or if `depth`, the number of lists and objects around it, is at the limit.
    #[inline(always)]
    fn skip_opening_bracket(&mut self, close: u8, depth: usize) -> Option<bool> {
        if depth >= MAX_NESTING_DEPTH {
            return None;
        }
        self.cursor.offset += 1;
        let is_empty = self.cursor.peek_token()? == close;
        self.cursor.offset += usize::from(is_empty);
        Some(!is_empty)
    }

    /// Skips the comma after an element, or the closing bracket `close`. Returns true after a
    /// comma, false after the bracket, `None` at anything else.
    #[inline(always)]
    fn skip_comma_or_close(&mut self, close: u8) -> Option<bool> {
        let next = self.cursor.peek_token()?;
        self.cursor.offset += 1;
        if next == b',' { Some(true) } else { (next == close).then_some(false) }
    }
}
