//! Character classes such as `[a-z_]`, whose syntax differs most between Python and the `regex`
//! crate.

use super::{Done, Last, RegexTranslator, err};
use rulec::Message;
use rulec_base::message;

impl RegexTranslator<'_> {
    /// Reads the rest of a class after `[`.
    pub(super) fn class(&mut self) -> Done<Last> {
        const OPEN: Message = message!("a character class is not closed");
        self.out.push('[');
        if self.eat('^') {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let Some(c) = self.chars.next() else { return err(OPEN) };
            if c == ']' && !first {
                self.out.push(']');
                return Ok(Last::Item);
            }
            first = false;
            let low = self.member(c)?;
            if !self.eat('-') {
                self.write_member(&low);
                continue;
            }
            match self.chars.next() {
                None => return err(OPEN),
                Some(']') => {
                    self.write_member(&low);
                    self.out.push_str(r"\-]");
                    return Ok(Last::Item);
                }
                Some(c) => match (low, self.member(c)?) {
                    (Member::One(low), Member::One(high)) if low <= high => {
                        self.write_member(&Member::One(low));
                        self.out.push('-');
                        self.write_member(&Member::One(high));
                    }
                    _ => return err(message!("a character class has an invalid range")),
                },
            }
        }
    }

    fn member(&mut self, c: char) -> Done<Member> {
        if c != '\\' {
            return Ok(Member::One(c));
        }
        let Some(c) = self.chars.next() else { return err(message!("it ends with a `\\`")) };
        match self.category(c) {
            Some(category) => Ok(Member::Category(category)),
            None => Ok(Member::One(self.escaped(c, true)?)),
        }
    }

    fn write_member(&mut self, member: &Member) {
        match member {
            Member::Category(category) => self.out.push_str(category),
            Member::One(c) => {
                // Doubled `&`, `-` and `~` are operators in the crate's classes.
                if r"\[]^&-~".contains(*c) {
                    self.out.push('\\');
                }
                self.character(*c);
            }
        }
    }
}

enum Member {
    One(char),
    Category(&'static str),
}
