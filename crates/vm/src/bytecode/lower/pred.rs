//! Lowering of predicates to bytecode. For each predicate, this file selects the fastest of the
//! checks that the VM implements.

use super::{LowerError, Lowering, checked_index};
use crate::bytecode::chunk::{Keywords, MemberList, NO_ENTRY, Operand, Pred, PredCheck};
use crate::bytecode::instr::Comparison;
use rulec_base::message;
use rulec_base::text::{self, Glob, TextMode};
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Cost, Op, Quantity, Search, TestMode};
use rulec_lang::value::Value;
use rulec_sema::hir::Const;
use rulec_sema::normal::{ExprId, NormalConst, NormalExpr, Part, TestKind};
use std::sync::Arc;

impl Lowering<'_> {
    /// Adds a placeholder to the chunk for every predicate, so that a predicate has the same index
    /// in the chunk and in the normal form.
    pub(super) fn reserve_preds(&mut self) {
        self.chunk.preds = self.normal.preds.iter().map(|pred| placeholder_pred(pred.test_kind)).collect();
    }

    pub(super) fn lower_pred(&mut self, id: u32) -> Result<(), LowerError> {
        let index = id as usize;
        if std::mem::replace(&mut self.is_pred_lowered[index], true) {
            return Ok(());
        }
        let pred = self.normal.preds[index].clone();
        let info = self.uses.use_info(Part::Pred(id));
        let memo = info.cost > Cost::Scalar && info.evaluation_count > 1 && info.is_loop_invariant();
        let (check, left) = self.select_check(&pred)?;
        let left = self.lower_operand(left)?;
        let right = match (check, pred.right) {
            // These checks contain the constant. The other checks may call the operator's own
            // function, for example for lists, and so need the operand too.
            (PredCheck::Int(..) | PredCheck::Float(..) | PredCheck::Length(..), _) | (_, None) => {
                Operand::Missing
            }
            (_, Some(right)) => self.lower_operand(right)?,
        };
        let mut lowered = Pred {
            check,
            left,
            right,
            test_kind: pred.test_kind,
            mode: pred.mode,
            text_index: NO_ENTRY,
            is_memoized: memo,
        };
        lowered.text_index = self.normalized_text_index(&lowered)?;
        self.chunk.preds[index] = lowered;
        Ok(())
    }

    /// Returns the index in `Chunk::normalized_texts` of the normalized text that the predicate
    /// reads; `NO_ENTRY` if the predicate needs no normalized text. Adds the text to the chunk if
    /// it is new.
    fn normalized_text_index(&mut self, pred: &Pred) -> Result<u32, LowerError> {
        let mode = pred.mode.text;
        let needs_no_text = match pred.check {
            PredCheck::Equals(_) | PredCheck::Members(_) => false,
            PredCheck::Keywords(keywords_id) => {
                !self.chunk.keywords[keywords_id as usize].search.prepares_texts()
            }
            _ => true,
        };
        let Operand::Slot(slot) = pred.left else { return Ok(NO_ENTRY) };
        if needs_no_text || mode.is_plain() {
            return Ok(NO_ENTRY);
        }
        if let Some(text) = self.text_indexes.get(&(slot, mode)) {
            return Ok(*text);
        }
        let text = checked_index(self.chunk.normalized_texts.len(), message!("texts"))?;
        self.chunk.normalized_texts.push((slot, mode));
        self.text_indexes.insert((slot, mode), text);
        Ok(text)
    }

    /// Selects the fastest check for a predicate. Returns the check and the operand to check: the
    /// right operand if the left one is a constant number, otherwise the left one. For a comparison
    /// of `len(x)` with a constant, the operand is `x`.
    fn select_check(
        &mut self,
        pred: &rulec_sema::normal::NormalPredicate,
    ) -> Result<(PredCheck, ExprId), LowerError> {
        let left = pred.left;
        let constant = pred.right.and_then(|right| self.constant_value(right));
        let generic = Ok((PredCheck::Generic, left));
        let op = match (pred.test_kind, pred.mode.quantity) {
            (TestKind::Truth, _) => return Ok((PredCheck::Truth, left)),
            (TestKind::Op(op), None) => op,
            (TestKind::Op(op), Some(_)) => return self.select_text_check(op, pred.mode, constant, left),
        };
        if let Some(cmp) = Comparison::from_op(op) {
            return match (constant, self.constant_value(left)) {
                (Some(constant), _) => self.select_comparison_check(op, cmp, left, &constant, pred.mode),
                (None, Some(constant)) => match pred.right {
                    // A constant on the left: swap the operands.
                    Some(right) if is_number(&constant) => self.select_comparison_check(
                        op,
                        cmp.with_swapped_operands(),
                        right,
                        &constant,
                        pred.mode,
                    ),
                    _ => generic,
                },
                (None, None) => generic,
            };
        }
        match op {
            Op::IsMissing => Ok((PredCheck::Missing, left)),
            Op::In => match constant {
                Some(list) if list.value().list_len().is_some() => {
                    let constant = self.constant_index(&list)?;
                    let id = checked_index(self.chunk.member_lists.len(), message!("lists"))?;
                    self.chunk
                        .member_lists
                        .push(MemberList { constant_index: constant, mode: pred.mode.text });
                    Ok((PredCheck::Members(id), left))
                }
                _ => generic,
            },
            Op::HasKey => match constant.as_ref().and_then(|key| key.value().as_str()) {
                Some(key) => Ok((PredCheck::HasKey(self.string_index(key)?), left)),
                None => generic,
            },
            _ => self.select_text_check(op, pred.mode, constant, left),
        }
    }

    fn select_comparison_check(
        &mut self,
        op: Op,
        cmp: Comparison,
        left: ExprId,
        constant: &Const,
        mode: TestMode,
    ) -> Result<(PredCheck, ExprId), LowerError> {
        Ok(match constant.value() {
            Value::Int(int) => match self.find_expr(left)? {
                NormalExpr::Call(Function::Len, args) if args.len() == 1 => {
                    (PredCheck::Length(cmp, int), args[0])
                }
                _ => (PredCheck::Int(cmp, int), left),
            },
            Value::Float(float) => (PredCheck::Float(cmp, float), left),
            Value::Str(text) if op == Op::Eq => {
                let normalized = mode.text.prepare(text).into_owned();
                (PredCheck::Equals(self.string_index(&normalized)?), left)
            }
            _ => (PredCheck::Generic, left),
        })
    }

    /// Returns the check of a predicate that may search a text, and the operand that it reads.
    /// `constant` is the value of the right operand, if it is constant. The check is
    /// [`PredCheck::Generic`] in three cases:
    /// - The operator searches no text.
    /// - The right operand is neither a constant text nor a constant list of texts.
    /// - The quantity is `none` (as in `contains none`), and not `any` or `all`.
    fn select_text_check(
        &mut self,
        op: Op,
        mode: TestMode,
        constant: Option<Const>,
        left: ExprId,
    ) -> Result<(PredCheck, ExprId), LowerError> {
        let Some(search) = op.info().search else { return Ok((PredCheck::Generic, left)) };
        let words = constant.and_then(|constant| constant_keywords(&constant, mode.quantity));
        let all = match mode.quantity {
            None | Some(Quantity::Any) => false,
            Some(Quantity::All) => true,
            Some(Quantity::None) => return Ok((PredCheck::Generic, left)),
        };
        Ok(match words {
            Some(words) => {
                let id = checked_index(self.chunk.keywords.len(), message!("text predicates"))?;
                let weight =
                    words.iter().map(|word| work_per_byte(search, word, mode.text)).max().unwrap_or(0);
                let keywords = Keywords {
                    search,
                    whole_word: mode.whole_word,
                    requires_all: all,
                    mode: mode.text,
                    words,
                    cost_per_byte: weight,
                };
                self.chunk.keywords.push(keywords);
                (PredCheck::Keywords(id), left)
            }
            None => (PredCheck::Generic, left),
        })
    }

    pub(super) fn constant_value(&self, id: ExprId) -> Option<Const> {
        match self.normal.exprs.get(id.index()) {
            Some(NormalExpr::Const(NormalConst(constant))) => Some(constant.clone()),
            _ => None,
        }
    }

    pub(super) fn constant_index(&mut self, constant: &Const) -> Result<u32, LowerError> {
        let key = NormalConst(constant.clone());
        if let Some(id) = self.const_indexes.get(&key) {
            return Ok(*id);
        }
        let id = checked_index(self.chunk.consts.len(), message!("constants"))?;
        self.chunk.consts.push(constant.clone());
        self.const_indexes.insert(key, id);
        Ok(id)
    }

    pub(super) fn string_index(&mut self, text: &str) -> Result<u32, LowerError> {
        if let Some(id) = self.string_indexes.get(text) {
            return Ok(*id);
        }
        let id = checked_index(self.chunk.strings.len(), message!("texts"))?;
        let text: Arc<str> = text.into();
        self.chunk.strings.push(text.clone());
        self.string_indexes.insert(text, id);
        Ok(id)
    }
}

fn is_number(constant: &Const) -> bool {
    matches!(constant.value(), Value::Int(_) | Value::Float(_))
}

/// Returns the keywords in a constant: a single text or, with a quantity such as `any`, the
/// elements of a list. `None` if the list is empty or an element is not a text.
fn constant_keywords(constant: &Const, quantity: Option<Quantity>) -> Option<Box<[Arc<str>]>> {
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

/// Returns the maximum work of a search for `word`, per byte of the searched text, in the unit of
/// `Keywords::cost_per_byte`. `word` is a keyword, wildcard pattern or regular expression.
fn work_per_byte(search: Search, word: &str, mode: TextMode) -> u64 {
    match search {
        Search::Literal(_) => 0,
        Search::Glob => Glob::with_mode(word, mode).match_cost(),
        Search::Regex => {
            text::parse_cached(word, mode.folds_case).map_or(0, |hir| text::automaton_state_count(&hir))
        }
    }
}

/// Returns a placeholder for a predicate that is not lowered yet. The placeholder remains in the
/// chunk if no route uses the predicate.
fn placeholder_pred(ask: TestKind) -> Pred {
    Pred {
        check: PredCheck::Generic,
        left: Operand::Missing,
        right: Operand::Missing,
        test_kind: ask,
        mode: TestMode::default(),
        text_index: NO_ENTRY,
        is_memoized: false,
    }
}
