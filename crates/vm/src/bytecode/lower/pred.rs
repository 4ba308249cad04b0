//! Lowering of predicates: selects the fastest check for each.

use super::{LowerError, Lowering, index};
use crate::bytecode::chunk::{Check, Keywords, Members, NONE, Operand, Pred};
use crate::bytecode::instr::Cmp;
use rulec_base::message;
use rulec_base::text::{self, Glob, TextMode};
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Cost, Op, Quantity, Search, TestMode};
use rulec_lang::value::Value;
use rulec_sema::hir::Const;
use rulec_sema::normal::{ExprId, NConst, NExpr, Part, TestKind};
use std::sync::Arc;

impl Lowering<'_> {
    /// Fills the pool of predicates with placeholders, so that a predicate's id in the normal form
    /// is its index in the pool.
    pub(super) fn reserve_preds(&mut self) {
        self.chunk.preds = self.normal.preds.iter().map(|pred| unasked(pred.ask)).collect();
    }

    pub(super) fn lower_pred(&mut self, id: u32) -> Result<(), LowerError> {
        let at = id as usize;
        if std::mem::replace(&mut self.pred_done[at], true) {
            return Ok(());
        }
        let pred = self.normal.preds[at].clone();
        let info = self.uses.info(Part::Pred(id));
        let memo = info.cost > Cost::Scalar && info.asks > 1 && info.is_closed();
        let (check, left) = self.check(&pred)?;
        let left = self.operand(left)?;
        let right = match (check, pred.right) {
            // These checks contain the constant. The other checks may call the operator's own
            // function, for example for lists, and so need the operand too.
            (Check::Int(..) | Check::Float(..) | Check::Length(..), _) | (_, None) => Operand::Missing,
            (_, Some(right)) => self.operand(right)?,
        };
        let mut lowered = Pred { check, left, right, ask: pred.ask, mode: pred.mode, text: NONE, memo };
        lowered.text = self.text_of(&lowered)?;
        self.chunk.preds[at] = lowered;
        Ok(())
    }

    /// Returns the index of the normalized text of the predicate's slot; `NONE` if the predicate
    /// needs no normalized text.
    fn text_of(&mut self, pred: &Pred) -> Result<u32, LowerError> {
        let mode = pred.mode.text;
        let raw = match pred.check {
            Check::Equals(_) | Check::Members(_) => false,
            Check::Keywords(at) => !self.chunk.keywords[at as usize].search.prepares_texts(),
            _ => true,
        };
        let Operand::Slot(slot) = pred.left else { return Ok(NONE) };
        if raw || mode.is_plain() {
            return Ok(NONE);
        }
        if let Some(text) = self.texts.get(&(slot, mode)) {
            return Ok(*text);
        }
        let text = index(self.chunk.texts.len(), message!("texts"))?;
        self.chunk.texts.push((slot, mode));
        self.texts.insert((slot, mode), text);
        Ok(text)
    }

    /// Selects the fastest check for a predicate. Returns the check with the operand that it tests:
    /// the operand that is not constant, or the argument of its `len`.
    fn check(&mut self, pred: &rulec_sema::normal::NPred) -> Result<(Check, ExprId), LowerError> {
        let left = pred.left;
        let constant = pred.right.and_then(|right| self.const_of(right));
        let generic = Ok((Check::Generic, left));
        let op = match (pred.ask, pred.mode.quantity) {
            (TestKind::Truth, _) => return Ok((Check::Truth, left)),
            (TestKind::Op(op), None) => op,
            (TestKind::Op(op), Some(_)) => return self.search(op, pred.mode, constant, left),
        };
        if let Some(cmp) = Cmp::from_op(op) {
            return match (constant, self.const_of(left)) {
                (Some(constant), _) => self.comparison(op, cmp, left, &constant, pred.mode),
                (None, Some(constant)) => match pred.right {
                    // A constant on the left: swap the operands.
                    Some(right) if is_number(&constant) => {
                        self.comparison(op, cmp.flipped(), right, &constant, pred.mode)
                    }
                    _ => generic,
                },
                (None, None) => generic,
            };
        }
        match op {
            Op::IsMissing => Ok((Check::Missing, left)),
            Op::In => match constant {
                Some(list) if list.value().list_len().is_some() => {
                    let constant = self.constant(&list)?;
                    let id = index(self.chunk.members.len(), message!("lists"))?;
                    self.chunk.members.push(Members { constant, mode: pred.mode.text });
                    Ok((Check::Members(id), left))
                }
                _ => generic,
            },
            Op::HasKey => match constant.as_ref().and_then(|key| key.value().as_str()) {
                Some(key) => Ok((Check::HasKey(self.string(key)?), left)),
                None => generic,
            },
            _ => self.search(op, pred.mode, constant, left),
        }
    }

    fn comparison(
        &mut self,
        op: Op,
        cmp: Cmp,
        left: ExprId,
        constant: &Const,
        mode: TestMode,
    ) -> Result<(Check, ExprId), LowerError> {
        Ok(match constant.value() {
            Value::Int(int) => match self.expr(left)? {
                NExpr::Call(Function::Len, args) if args.len() == 1 => (Check::Length(cmp, int), args[0]),
                _ => (Check::Int(cmp, int), left),
            },
            Value::Float(float) => (Check::Float(cmp, float), left),
            Value::Str(text) if op == Op::Eq => {
                let prepared = mode.text.prepare(text).into_owned();
                (Check::Equals(self.string(&prepared)?), left)
            }
            _ => (Check::Generic, left),
        })
    }

    /// Returns the check of a text predicate. Without constant keywords, and for the quantity
    /// `none`, this is `Check::Generic`.
    fn search(
        &mut self,
        op: Op,
        mode: TestMode,
        constant: Option<Const>,
        left: ExprId,
    ) -> Result<(Check, ExprId), LowerError> {
        let Some(search) = op.info().search else { return Ok((Check::Generic, left)) };
        let words = constant.and_then(|constant| words(&constant, mode.quantity));
        let all = match mode.quantity {
            None | Some(Quantity::Any) => false,
            Some(Quantity::All) => true,
            Some(Quantity::None) => return Ok((Check::Generic, left)),
        };
        Ok(match words {
            Some(words) => {
                let id = index(self.chunk.keywords.len(), message!("text predicates"))?;
                let weight = words.iter().map(|word| weight(search, word, mode.text)).max().unwrap_or(0);
                let keywords = Keywords { search, word: mode.word, all, mode: mode.text, words, weight };
                self.chunk.keywords.push(keywords);
                (Check::Keywords(id), left)
            }
            None => (Check::Generic, left),
        })
    }

    pub(super) fn const_of(&self, id: ExprId) -> Option<Const> {
        match self.normal.exprs.get(id.index()) {
            Some(NExpr::Const(NConst(constant))) => Some(constant.clone()),
            _ => None,
        }
    }

    pub(super) fn constant(&mut self, constant: &Const) -> Result<u32, LowerError> {
        let key = NConst(constant.clone());
        if let Some(id) = self.consts.get(&key) {
            return Ok(*id);
        }
        let id = index(self.chunk.consts.len(), message!("constants"))?;
        self.chunk.consts.push(constant.clone());
        self.consts.insert(key, id);
        Ok(id)
    }

    pub(super) fn string(&mut self, text: &str) -> Result<u32, LowerError> {
        if let Some(id) = self.strings.get(text) {
            return Ok(*id);
        }
        let id = index(self.chunk.strings.len(), message!("texts"))?;
        let text: Arc<str> = text.into();
        self.chunk.strings.push(text.clone());
        self.strings.insert(text, id);
        Ok(id)
    }
}

fn is_number(constant: &Const) -> bool {
    matches!(constant.value(), Value::Int(_) | Value::Float(_))
}

/// Returns the keywords in a constant: a single text or, with a quantity such as `any`, the
/// elements of a list. `None` if the list is empty or an element is not a text.
fn words(constant: &Const, quantity: Option<Quantity>) -> Option<Box<[Arc<str>]>> {
    match (constant.value(), quantity) {
        (Value::Str(text), None) => Some(Box::new([text.into()])),
        (list, Some(_)) => {
            let words: Option<Box<[Arc<str>]>> =
                list.elements()?.map(|element| element.as_str().map(Arc::from)).collect();
            words.filter(|words| !words.is_empty())
        }
        _ => None,
    }
}

/// Returns the work, per byte of text, that a search for a keyword may cost.
fn weight(search: Search, word: &str, mode: TextMode) -> u64 {
    match search {
        Search::Literal(_) => 0,
        Search::Glob => Glob::with_mode(word, mode).match_cost(),
        Search::Regex => text::parse_cached(word, mode.fold).map_or(0, |hir| text::automaton_states(&hir)),
    }
}

/// Returns a placeholder, which stays in the chunk if no route uses the predicate.
fn unasked(ask: TestKind) -> Pred {
    Pred {
        check: Check::Generic,
        left: Operand::Missing,
        right: Operand::Missing,
        ask,
        mode: TestMode::default(),
        text: NONE,
        memo: false,
    }
}
