//! Translates character classes such as `[a-z_]`. Their syntax differs the most between Python and
//! the `regex` crate.

use super::{LastItem, RegexTranslator, TranslateResult, invalid_pattern};
use rulec::Message;
use rulec_base::message;

impl RegexTranslator<'_> {
    /// Translates the rest of a character class, such as `[a-z_]`, after its `[`.
    pub(super) fn translate_class(&mut self) -> TranslateResult<LastItem> {
        const UNCLOSED_CLASS: Message = message!("a character class is not closed");
        self.translated.push('[');
        if self.eat_char('^') {
            self.translated.push('^');
        }
        let mut is_first = true;
        loop {
            let Some(c) = self.chars.next() else { return invalid_pattern(UNCLOSED_CLASS) };
            if c == ']' && !is_first {
                self.translated.push(']');
                return Ok(LastItem::Item);
            }
            is_first = false;
            let low = self.read_class_member(c)?;
            if !self.eat_char('-') {
                self.write_class_member(&low);
                continue;
            }
            match self.chars.next() {
                None => return invalid_pattern(UNCLOSED_CLASS),
                Some(']') => {
                    self.write_class_member(&low);
                    self.translated.push_str(r"\-]");
                    return Ok(LastItem::Item);
                }
                Some(c) => match (low, self.read_class_member(c)?) {
                    (ClassMember::Char(low), ClassMember::Char(high)) if low <= high => {
                        self.write_class_member(&ClassMember::Char(low));
                        self.translated.push('-');
                        self.write_class_member(&ClassMember::Char(high));
                    }
                    _ => return invalid_pattern(message!("a character class has an invalid range")),
                },
            }
        }
    }

    fn read_class_member(&mut self, c: char) -> TranslateResult<ClassMember> {
        if c != '\\' {
            return Ok(ClassMember::Char(c));
        }
        let Some(c) = self.chars.next() else { return invalid_pattern(message!("it ends with a `\\`")) };
        match self.translate_category(c) {
            Some(category) => Ok(ClassMember::Category(category)),
            None => Ok(ClassMember::Char(self.read_escaped_char(c, true)?)),
        }
    }

    fn write_class_member(&mut self, member: &ClassMember) {
        match member {
            ClassMember::Category(category) => self.translated.push_str(category),
            ClassMember::Char(c) => {
                // Doubled `&`, `-` and `~` are operators in the crate's classes.
                if r"\[]^&-~".contains(*c) {
                    self.translated.push('\\');
                }
                self.write_char(*c);
            }
        }
    }
}

enum ClassMember {
    Char(char),
    Category(&'static str),
}
