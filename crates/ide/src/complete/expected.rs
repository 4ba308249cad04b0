//! Finds which kinds of value fit at a position, from the operator or the parameter before it. Then
//! orders the completion items by these kinds.

use super::{CompletionContext, CompletionItem, CompletionKind, keyword_item, unquote_name};
use crate::{DeclarationKind, Symbol};
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, OpInfo, RightOperand};
use rulec_lang::ty::{KindSet, Ty};
use rulec_syntax::lex::TokenKind;
use std::collections::HashMap;

/// Words between an operator and its right operand.
const MODIFIERS: [&str; 4] = ["any", "all", "none", "word"];

/// The operator whose right operand contains the position.
struct OperatorBefore {
    op: Op,
    /// The index of the operator's token, or of the `not` before it.
    start: usize,
    /// Whether `any`, `all` or `none` follows the operator, so that its right operand is a list.
    has_quantity: bool,
    /// Whether the position is an element of a list in square brackets.
    is_element: bool,
}

impl CompletionContext<'_> {
    /// Returns the kinds of value that fit at the position. `None` if every kind may fit, for
    /// example where a condition begins.
    fn expected_kinds(&self) -> Option<KindSet> {
        let kinds = match self.operator_before() {
            Some(before) => self.kinds_of_right_operand(&before),
            None if self.is_quantified_list(self.tokens_before.len()) => Some(KindSet::LIST),
            None => self.argument_ty().map(|ty| ty.kinds.with_accepted_kinds()),
        };
        kinds.filter(|kinds| !kinds.is_empty() && !KindSet::MESSAGE_KINDS.is_subset_of(*kinds))
    }

    /// Finds the operator before the position. Between both, there may be modifiers, and the
    /// beginning of a list.
    fn operator_before(&self) -> Option<OperatorBefore> {
        let mut end = self.tokens_before.len();
        let open = self.scope.open_brackets.last().copied();
        let list = open.filter(|open| {
            self.tokens_before[*open].kind == TokenKind::OpenBracket
                && matches!(self.token_text(end - 1), "[" | ",")
        });
        end = list.unwrap_or(end);
        let mut has_quantity = false;
        while MODIFIERS.contains(&self.token_text_before(end)) {
            has_quantity |= self.token_text_before(end) != "word";
            end -= 1;
        }
        if self.is_quantified_list(end) {
            return None;
        }
        let op = Op::from_spelling(self.token_text_before(end))?;
        let is_negated = self.token_text_before(end - 1) == "not";
        let start = end - 1 - usize::from(is_negated);
        Some(OperatorBefore { op, start, has_quantity, is_element: list.is_some() })
    }

    /// Returns the kinds of the right operand of an operator. `None` if it is a condition, or if
    /// nothing is known about it.
    fn kinds_of_right_operand(&self, before: &OperatorBefore) -> Option<KindSet> {
        let info: &OpInfo = before.op.info();
        let left = self.operand_before(before.start).kinds;
        let in_list = before.is_element;
        if in_list && before.op != Op::In && !before.has_quantity {
            return None;
        }
        let texts = if before.has_quantity && !in_list { KindSet::LIST } else { KindSet::STRING };
        let forms = info.forms.iter().filter(|form| form.left.overlaps(left));
        let of_form = |form: &rulec_lang::operators::OperatorForm| {
            let compared = left.intersect(form.left).with_comparable_kinds();
            match form.right {
                RightOperand::Condition => KindSet::EVERY_KIND,
                RightOperand::Nothing | RightOperand::Type => KindSet::EMPTY,
                RightOperand::Kinds(kinds) => kinds.with_accepted_kinds(),
                RightOperand::Same => compared,
                RightOperand::SomeText => KindSet::STRING,
                RightOperand::Text | RightOperand::Pattern | RightOperand::Network => texts,
                RightOperand::Element if before.has_quantity && !in_list => KindSet::LIST,
                RightOperand::Element => self.kinds_of_elements(before.start),
                RightOperand::Members if in_list => compared,
                // A range begins with a value.
                RightOperand::Members => compared.union(KindSet::LIST),
            }
        };
        Some(forms.map(of_form).fold(KindSet::EMPTY, KindSet::union))
    }

    /// Returns the kinds of the elements of the list that ends directly before the token with the
    /// index `end`.
    fn kinds_of_elements(&self, end: usize) -> KindSet {
        let (path, start) = self.path_before(end);
        let path = self.expand_path(&path, start);
        let list = self.type_from_let(&path).or_else(|| self.analysis.facts.declared_type(&path));
        list.map_or(KindSet::EVERY_KIND, |list| list.element().kinds.with_comparable_kinds())
    }

    /// Returns the type of the parameter whose argument begins at the position. `None` if no
    /// argument begins there, or if the type is not known.
    pub(super) fn argument_ty(&self) -> Option<Ty> {
        let open = self.scope.open_brackets.last().copied().filter(|open| *open > 0)?;
        let last = self.tokens_before.len() - 1;
        let name = unquote_name(self.token_text(open - 1));
        if self.tokens_before[open].kind != TokenKind::OpenParen || self.is_declaration_bracket(open) {
            return None;
        }
        let key = (self.token_text(last) == ":").then(|| unquote_name(self.token_text_before(last)));
        if self.is_target_bracket(open) {
            return self.analysis.facts.type_of_parameter(&["handler", name, key?]);
        }
        if key.is_none() && !matches!(self.token_text(last), "(" | ",") {
            return None;
        }
        let arguments = open + 1..self.tokens_before.len();
        let number = arguments
            .filter(|index| self.token_text(*index) == "," && self.is_directly_in(open, *index))
            .count();
        if let Some(function) = Function::from_name(name) {
            let parameters = function.info().params;
            return parameters.get(number).or(parameters.last()).map(|(_, kinds)| Ty::from_kinds(*kinds));
        }
        let parameters = self.inner_symbols(DeclarationKind::Parameter, &[name]);
        let parameter = match key {
            Some(key) => parameters.into_iter().find(|symbol| symbol.name == key)?,
            None => parameters.into_iter().nth(number)?,
        };
        self.analysis.facts.type_of_parameter(&[name, &parameter.name]).or_else(|| {
            // The compiler replaces each call of a `def` by its body, so the type is read from its
            // text.
            let declared = self.analysis.sources.slice(parameter.declaration.as_ref()?.whole_span);
            Ty::from_builtin_name(declared.split_once(':')?.1.trim())
        })
    }

    /// Removes the items whose values do not fit at the position, and marks the items that may not
    /// fit. A record fits if one of its fields fits. An element of a list may fit.
    pub(super) fn rank_by_type(&self, mut items: Vec<CompletionItem>) -> Vec<CompletionItem> {
        let Some(expected) = self.expected_kinds() else { return items };
        let before = self.operator_before();
        let accepts_quantity = before.as_ref().is_some_and(|before| {
            before.op.info().accepted_modifiers.accepts_quantity && !before.has_quantity && !before.is_element
        });
        // An argument may be a condition, and a condition can begin with any value.
        let begins_condition = before.is_none() && expected.overlaps(KindSet::BOOL);
        let declared = self.kinds_of_declarations();
        items.retain_mut(|item| {
            if item.kind == CompletionKind::Keyword {
                item.may_not_fit = matches!(&*item.label, "if" | "null");
                return match &*item.label {
                    // They begin a condition, which is no operand of a comparison.
                    "not" => begins_condition,
                    "any" | "all" | "none" => accepts_quantity || begins_condition,
                    "true" | "false" => expected.overlaps(KindSet::BOOL),
                    "count" => expected.overlaps(KindSet::INT),
                    _ => true,
                };
            }
            let kinds = self.kinds_of_item(item, &declared);
            let is_unknown = KindSet::MESSAGE_KINDS.is_subset_of(kinds);
            let field_ty = self.analysis.facts.declared_type(&[unquote_name(&item.label)]);
            let field_ty = field_ty.filter(|_| item.kind == CompletionKind::Field);
            let has_inner = field_ty.as_ref().is_some_and(|ty| has_field_of_kinds(ty, expected));
            item.may_not_fit = is_unknown || !(kinds.overlaps(expected) || has_inner);
            // A name of a list statement is followed by no index.
            let may_contain = kinds.overlaps(KindSet::DICT) && field_ty.is_none()
                || kinds.overlaps(KindSet::LIST) && item.kind == CompletionKind::Field;
            !item.may_not_fit || is_unknown || may_contain || begins_condition
        });
        items
    }

    /// Returns the kinds of the value of each `let` and list, by its name.
    fn kinds_of_declarations(&self) -> HashMap<&str, KindSet> {
        let kinds = [DeclarationKind::Let, DeclarationKind::List];
        let symbols = self.analysis.index.symbols_of_kinds(&kinds);
        let kinds_of = |symbol: &Symbol| match symbol.kind {
            DeclarationKind::List => Some(KindSet::LIST),
            _ => self.analysis.facts.type_of_let(symbol.declaration.as_ref()?.name_span).map(|ty| ty.kinds),
        };
        symbols.filter_map(|symbol| Some((symbol.name.as_str(), kinds_of(symbol)?))).collect()
    }

    /// Returns the kinds that the value of an item may have: a field, a name of `declared`, or the
    /// result of a function.
    fn kinds_of_item(&self, item: &CompletionItem, declared: &HashMap<&str, KindSet>) -> KindSet {
        let (name, facts) = (unquote_name(&item.label), &self.analysis.facts);
        if item.kind == CompletionKind::Function {
            return match Function::from_name(name) {
                Some(function) => function.info().result_ty(&[Ty::ANY]).kinds,
                None => facts.result_of_function(name).map_or(KindSet::EVERY_KIND, |ty| ty.kinds),
            };
        }
        let path = self.expand_path(&[name], self.tokens_before.len());
        let declared = declared.get(name).copied().filter(|_| path == [name]);
        declared.or_else(|| facts.kinds_at_path(&path)).unwrap_or(KindSet::EVERY_KIND)
    }

    /// Returns the constants that fit at the position: the values of an enumeration, or `true` and
    /// `false`.
    pub(super) fn constants_of_type(&self) -> Vec<CompletionItem> {
        let values = self.enumeration_items();
        if !values.is_empty() {
            return values;
        }
        let is_bool = self.expected_kinds().is_some_and(|kinds| kinds.is_subset_of(KindSet::BOOL));
        if is_bool { ["true", "false"].map(keyword_item).to_vec() } else { Vec::new() }
    }
}

/// True if a record has a field of one of these kinds, also within its records.
fn has_field_of_kinds(ty: &Ty, kinds: KindSet) -> bool {
    let fields = ty.fields().map_or(&[][..], |record| &record.fields);
    fields.iter().any(|field| field.ty.kinds.overlaps(kinds) || has_field_of_kinds(&field.ty, kinds))
}
