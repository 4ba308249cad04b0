//! Statements of which a file has many, read from the codes by hand: what pest makes of them costs more than
//! anything else in parsing. Nothing is decided here. `grammar/rules.pest` says what the language is and pest
//! words what is wrong: whatever does not fit at first sight is left to it, and a test holds what is read here
//! against what pest reads.
//!
//! Each function below is the rule of its name, and each step of it one of the rule's.

use super::Rule;
use super::tree::Tree;

/// Reads a statement into a tree, or leaves it to pest.
pub(super) fn read(rule: Rule, codes: &str, tree: &mut Tree) -> bool {
    tree.clear();
    let is_frequent = matches!(
        rule,
        Rule::route_statement | Rule::default_statement | Rule::let_statement | Rule::list_statement
    );
    is_frequent && Direct { codes: codes.as_bytes(), at: 0, tree }.statement(rule).is_some()
}

struct Direct<'c> {
    codes: &'c [u8],
    at: usize,
    tree: &'c mut Tree,
}

fn is_name(code: u8) -> bool {
    code.is_ascii_alphabetic()
}

fn is_key(code: u8) -> bool {
    is_name(code) || matches!(code, 0x01..=0x1C)
}

fn is_quantity(code: u8) -> bool {
    matches!(code, b'B'..=b'D')
}

impl Direct<'_> {
    /// The code here; none of the language behind the last one.
    fn code(&self) -> u8 {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> u8 {
        self.codes.get(self.at + by).copied().unwrap_or(0)
    }

    /// A terminal of one code.
    fn token(&mut self, rule: Rule) {
        self.tree.leaf(rule, self.at, self.at + 1);
        self.at += 1;
    }

    fn expect(&mut self, code: u8, rule: Rule) -> Option<()> {
        (self.code() == code).then(|| self.token(rule))
    }

    fn name(&mut self) -> Option<()> {
        is_name(self.code()).then(|| self.token(Rule::name))
    }

    fn key(&mut self) -> Option<()> {
        is_key(self.code()).then(|| self.token(Rule::key))
    }

    fn node(&mut self, rule: Rule, inside: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let node = self.tree.open(rule, self.at);
        inside(self)?;
        self.tree.close(node, self.at);
        Some(())
    }

    fn statement(&mut self, rule: Rule) -> Option<()> {
        self.node(rule, |this| {
            match rule {
                Rule::route_statement => this.route(),
                Rule::default_statement => {
                    this.expect(0x0B, Rule::kw_default)?;
                    this.expect(b'/', Rule::arrow)?;
                    this.target()
                }
                Rule::let_statement => {
                    this.expect(0x05, Rule::kw_let)?;
                    this.definition()
                }
                _ => {
                    this.expect(0x04, Rule::kw_list)?;
                    this.definition()
                }
            }?;
            if this.at < this.codes.len() {
                return None;
            }
            this.tree.leaf(Rule::EOI, this.at, this.at);
            Some(())
        })
    }

    /// `name ~ equals ~ expression`; a list from a file is rare.
    fn definition(&mut self) -> Option<()> {
        self.name()?;
        self.expect(b'=', Rule::equals)?;
        let from_file = self.code() == b'S' && self.ahead(1) == b'"';
        if from_file { None } else { self.expression() }
    }

    fn route(&mut self) -> Option<()> {
        self.expect(0x0A, Rule::kw_route)?;
        self.name()?;
        loop {
            match self.code() {
                b'e' => self.node(Rule::priority, |this| {
                    this.token(Rule::kw_priority);
                    if this.code() == b'-' {
                        this.token(Rule::minus);
                    }
                    this.expect(b'0', Rule::number)
                })?,
                b'L' => self.token(Rule::kw_disabled),
                _ => break,
            }
        }
        self.expect(0x16, Rule::kw_when)?;
        self.expression()?;
        self.expect(b'/', Rule::arrow)?;
        self.target()
    }

    fn target(&mut self) -> Option<()> {
        self.node(Rule::target, |this| {
            if this.code() == b'T' {
                return this.node(Rule::goto_target, |this| {
                    this.token(Rule::kw_goto);
                    this.name()
                });
            }
            this.node(Rule::handler_target, |this| {
                this.name()?;
                if this.code() == b'(' {
                    this.node(Rule::arguments, |this| {
                        this.token(Rule::open_paren);
                        this.listed(b')', |this| this.entry(Rule::argument))?;
                        this.expect(b')', Rule::close_paren)
                    })?;
                }
                if this.code() == b'{' {
                    this.node(Rule::metadata, |this| {
                        this.token(Rule::open_brace);
                        this.listed(b'}', |this| this.entry(Rule::entry))?;
                        this.expect(b'}', Rule::close_brace)
                    })?;
                }
                Some(())
            })
        })
    }

    /// `(item ~ (comma ~ item)* ~ comma?)?` before a closing bracket.
    fn listed(&mut self, close: u8, item: impl Fn(&mut Self) -> Option<()>) -> Option<()> {
        while self.code() != close {
            item(self)?;
            if self.code() != b',' {
                break;
            }
            self.token(Rule::comma);
        }
        Some(())
    }

    /// `entry`, or `argument`, whose key is never a string.
    fn entry(&mut self, rule: Rule) -> Option<()> {
        self.node(rule, |this| {
            if rule == Rule::entry && this.code() == b'"' {
                this.token(Rule::string);
            } else {
                this.key()?;
            }
            this.expect(b':', Rule::colon)?;
            this.expression()
        })
    }

    fn expression(&mut self) -> Option<()> {
        self.node(Rule::expression, |this| {
            let start = this.at;
            while this.piece()? {}
            (this.at > start).then_some(())
        })
    }

    /// A `piece`; false when what stands here begins none.
    fn piece(&mut self) -> Option<bool> {
        match self.code() {
            b'B'..=b'D' if is_key(self.ahead(1)) && self.ahead(2) == b'V' => self.quantified()?,
            b'a'..=b'z' | b'B'..=b'Z' | 0x13..=0x15 => self.token(Rule::word),
            b'.' => self.node(Rule::member, |this| {
                this.at += 1;
                this.key()
            })?,
            b'"' => self.token(Rule::string),
            b'0' => self.token(Rule::number),
            b'<'..=b'?' | b'-' | b'|' | b'+' => self.token(Rule::operator),
            b'(' => self.node(Rule::group, |this| {
                this.token(Rule::open_paren);
                this.listed(b')', Self::expression)?;
                this.expect(b')', Rule::close_paren)
            })?,
            b'[' => self.node(Rule::brackets, |this| {
                this.token(Rule::open_bracket);
                this.listed(b']', Self::expression)?;
                this.expect(b']', Rule::close_bracket)
            })?,
            b'{' => self.braces()?,
            b'A' => self.node(Rule::cast, |this| {
                this.token(Rule::kw_as);
                this.type_expr()
            })?,
            _ => return Some(false),
        }
        Some(true)
    }

    fn braces(&mut self) -> Option<()> {
        self.node(Rule::braces, |this| {
            this.token(Rule::open_brace);
            let starts_entry = this.code() == b'"' || is_key(this.code());
            if starts_entry && this.ahead(1) == b':' {
                this.node(Rule::entries, |this| this.listed(b'}', |this| this.entry(Rule::entry)))?;
            } else if this.code() != b'}' {
                this.node(Rule::conditions, |this| {
                    while this.code() != b'}' {
                        this.expression()?;
                        match this.code() {
                            b';' => this.token(Rule::semicolon),
                            b',' => this.token(Rule::comma),
                            _ => break,
                        }
                    }
                    Some(())
                })?;
            }
            this.expect(b'}', Rule::close_brace)
        })
    }

    fn quantified(&mut self) -> Option<()> {
        self.node(Rule::quantified, |this| {
            this.node(Rule::quantifier, |this| {
                // Consumed without a node of its own.
                this.at += usize::from(is_quantity(this.code()));
                Some(())
            })?;
            this.name()?;
            this.expect(b'V', Rule::kw_in)?;
            this.expression()?;
            this.expect(b':', Rule::colon)?;
            this.expression()
        })
    }

    /// A type that is a name; others are rare.
    fn type_expr(&mut self) -> Option<()> {
        self.node(Rule::type_expr, |this| {
            let is_plain = is_name(this.code()) && this.code() != b'K';
            is_plain.then(|| this.token(Rule::type_name))
        })
    }
}
