//! Writes the conditions of message routes as JSON. Some JSON conditions have no direct counterpart
//! in rules, so the importer writes them in another form. For example, one `ErrorCondition` becomes
//! two comparisons. This module recognizes these forms and writes the original condition again.

use super::{WriteResult, as_constant, ignores_case, inexpressible_condition_message, message_path, pattern};
use crate::derived::{LENGTH_STATEMENT, urgency_statements};
use rulec::Rules;
use rulec_base::broken_invariant;
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, Quantity};
use rulec_sema::hir::{Cond, CondKind, Const, Expr, ExprKind, LetId, Operand, Predicate, Program};
use serde_json::{Value as Json, json};
use time::format_description::well_known::Rfc3339;

/// The comparison operators of conditions on `ctx`, and their suffixes in JSON. The suffix follows
/// the name of the compared field: `n__gt`.
const OPERATOR_SUFFIXES: [(Op, &str); 6] =
    [(Op::Gt, "gt"), (Op::Lt, "lt"), (Op::Ge, "gte"), (Op::Le, "lte"), (Op::Eq, "eq"), (Op::Ne, "ne")];

pub(super) struct ConditionWriter<'p> {
    program: &'p Program,
    /// Whether the file contains the `let` statement that the importer writes for the message's
    /// length.
    derives_length: bool,
    /// Whether the file contains the `let` statements that the importer writes for the message's
    /// urgency.
    derives_urgency: bool,
}

impl<'p> ConditionWriter<'p> {
    pub(super) fn new(rules: &'p Rules) -> Self {
        let with_single_spaces = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let files: Vec<String> =
            rules.sources().iter().map(|(_, file)| with_single_spaces(&file.text)).collect();
        let has = |statement: &str| files.iter().any(|file| file.contains(&with_single_spaces(statement)));
        ConditionWriter {
            program: rules.program(),
            derives_length: has(LENGTH_STATEMENT),
            derives_urgency: urgency_statements().iter().all(|statement| has(statement)),
        }
    }

    pub(super) fn write(&self, cond: &Cond) -> WriteResult<Json> {
        self.write_condition_part(cond).unwrap_or_else(|| Err(inexpressible_condition_message()))
    }

    /// Writes a condition as JSON. `None` if the JSON format has no such condition. `Some(Err)`
    /// contains the reason why a part of the condition cannot be written.
    fn write_condition_part(&self, cond: &Cond) -> Option<WriteResult<Json>> {
        match &cond.kind {
            CondKind::Const(true) => Some(Ok(json!({"type": "AndCondition", "conditions": []}))),
            CondKind::Const(false) => Some(Ok(json!({"type": "OrCondition", "conditions": []}))),
            CondKind::Not(inner) => Some(self.write(inner).map(negate)),
            CondKind::And(parts) => Some(self.write_conjunction(parts)),
            CondKind::Or(parts) => {
                let parts: WriteResult<Vec<Json>> = parts.iter().map(|part| self.write(part)).collect();
                Some(parts.map(|parts| json!({"type": "OrCondition", "conditions": parts})))
            }
            CondKind::Predicate(test) => {
                let written = self.write_predicate(test)?;
                Some(if test.is_negated { written.map(negate) } else { written })
            }
            _ => None,
        }
    }

    /// Writes the operands of an `and` as JSON. In the rules, the type of the last error and the
    /// number of errors of this type are two conditions. In JSON they are one `ErrorCondition`, so
    /// this function joins them.
    fn write_conjunction(&self, parts: &[Cond]) -> WriteResult<Json> {
        let mut written: Vec<Json> = Vec::new();
        for part in parts {
            let count = match &part.kind {
                CondKind::Predicate(test) => {
                    self.error_count_comparison(test).filter(|(kind, ..)| kind.is_some())
                }
                _ => None,
            };
            let Some((kind, key, count)) = count else {
                written.push(self.write(part)?);
                continue;
            };
            let last_error = json!({"type": "ContextCondition", "last_error_type": kind});
            let position = written.iter().rposition(|other| {
                let is_error = other["type"] == "ErrorCondition" && other["last_error_type"] == json!(kind);
                *other == last_error || is_error && other[&key].is_null()
            });
            let Some(position) = position else { return Err(inexpressible_condition_message()) };
            let error = &mut written[position];
            error["type"] = json!("ErrorCondition");
            error[&key] = count;
        }
        // Two conditions of the rules may have become one.
        Ok(match written.len() {
            1 => written.remove(0),
            _ => json!({"type": "AndCondition", "conditions": written}),
        })
    }

    /// Reads a comparison of an error count, such as `(ctx.error_counts["Type"] ?? 0) > 1`. Returns
    /// the error type, the JSON key such as `occurrence_count__gt`, and the number. The error type
    /// is `None` if the condition counts errors of the same type as the last error.
    fn error_count_comparison(&self, test: &Predicate) -> Option<(Option<String>, String, Json)> {
        let ExprKind::Op(Op::Coalesce, count, Some(zero)) = &test.left.kind else { return None };
        if test.is_negated || as_constant(zero) != Some(&json!(0)) {
            return None;
        }
        let kind = match &count.kind {
            ExprKind::Index(counts, kind) => {
                self.context_field_name(counts).filter(|field| *field == "error_counts")?;
                match as_constant(kind) {
                    Some(Json::String(kind)) => Some(kind.clone()),
                    Some(_) => return None,
                    None => {
                        self.context_field_name(kind).filter(|field| *field == "last_error_type")?;
                        None
                    }
                }
            }
            ExprKind::Slot(slot) => match message_path(self.program, *slot)? {
                [ctx, counts, kind] if &**ctx == "ctx" && &**counts == "error_counts" => {
                    Some(kind.to_string())
                }
                _ => return None,
            },
            _ => return None,
        };
        let Operand::Value(value) = &test.right else { return None };
        let number = as_constant(value).filter(|json| json.is_number())?;
        Some((kind, format!("occurrence_count__{}", operator_suffix(test.op?)?), number.clone()))
    }

    fn write_predicate(&self, test: &Predicate) -> Option<WriteResult<Json>> {
        let Some(op) = test.op else {
            // A boolean field that is a condition by itself is compared with true.
            let field = self.context_field_name(&test.left)?;
            let key = context_comparison_key(field, Op::Eq)?;
            return Some(Ok(json!({"type": "ContextCondition", key: true})));
        };
        let Operand::Value(right) = &test.right else { return None };
        let ignores_case = ignores_case(&test.mode)?;
        if self.is_message_text(&test.left) {
            return write_text_condition(op, test, right, ignores_case);
        }
        if let ExprKind::Call(Function::Similarity, arguments) = &test.left.kind {
            let [text, other] = arguments.as_slice() else {
                broken_invariant!("`similarity` has two arguments");
                return None;
            };
            let (text, threshold) =
                (as_constant(other).filter(|_| self.is_message_text(text))?, as_constant(right)?);
            let is_threshold = op == Op::Ge && text.is_string() && threshold.is_number();
            return is_threshold
                .then(|| Ok(json!({"type": "SimilarityCondition", "text": text, "threshold": threshold})));
        }
        if ignores_case || test.mode.whole_word || test.mode.quantity.is_some() {
            return None;
        }
        self.write_context_condition(op, test, right)
    }

    /// Writes a predicate that reads a field of `ctx` as a JSON condition. `op` is the predicate's
    /// operator, and `right` is its right operand. `None` if it reads no such field, or if the JSON
    /// format has no such condition.
    fn write_context_condition(&self, op: Op, test: &Predicate, right: &Expr) -> Option<WriteResult<Json>> {
        if let Some((kind, key, count)) = self.error_count_comparison(test) {
            return kind.is_none().then(|| Ok(json!({"type": "ErrorCondition", key: count})));
        }
        if let Some(path) = self.context_path(&test.left) {
            match (path.as_slice(), op, as_constant(right)) {
                (["user", "role"], Op::Eq, Some(Json::String(role))) => {
                    return Some(Ok(json!({"type": "PermissionCondition", "user_role": role})));
                }
                (["user", "permissions"], Op::Contains, Some(Json::String(permission))) => {
                    return Some(Ok(
                        json!({"type": "PermissionCondition", "required_permissions": [permission]}),
                    ));
                }
                _ => {}
            }
        }
        let field = match &test.left.kind {
            ExprKind::Let(id) => self.derived_value_key(*id)?,
            _ => self.context_field_name(&test.left)?,
        };
        let value = match &right.kind {
            ExprKind::Const(Const::Json(json)) if !json.is_null() => json.as_ref().clone(),
            ExprKind::Const(Const::DateTime(at)) => json!(at.format(&Rfc3339).ok()?),
            _ => return None,
        };
        let key = context_comparison_key(field, op)?;
        let is_ordering = !matches!(op, Op::Eq | Op::Ne);
        let is_ordered = value.is_number() || matches!(right.kind, ExprKind::Const(Const::DateTime(_)));
        (is_ordered || !is_ordering).then(|| Ok(json!({"type": "ContextCondition", key: value})))
    }

    /// Returns the JSON name of the message's length or urgency, if `id` is the `let` statement
    /// that the importer writes for this value. `None` for any other `let`.
    fn derived_value_key(&self, id: LetId) -> Option<&'static str> {
        match &*self.program.lets[id.index()].name {
            "message_length" if self.derives_length => Some("message_length"),
            "urgency" if self.derives_urgency => Some("urgency"),
            _ => None,
        }
    }

    fn is_message_text(&self, expr: &Expr) -> bool {
        self.message_field_path(expr).is_some_and(|path| path == ["text"])
    }

    fn message_field_path(&self, expr: &Expr) -> Option<Vec<&'p str>> {
        match &expr.kind {
            ExprKind::Slot(slot) => {
                message_path(self.program, *slot).map(|path| path.iter().map(|key| &**key).collect())
            }
            ExprKind::Read(inner, _) => self.message_field_path(inner),
            _ => None,
        }
    }

    /// Returns the path of a field inside `ctx`; `None` for any other expression.
    fn context_path(&self, expr: &Expr) -> Option<Vec<&'p str>> {
        match self.message_field_path(expr)?.as_slice() {
            ["ctx", path @ ..] => Some(path.to_vec()),
            _ => None,
        }
    }

    /// Returns the name of a field directly inside `ctx`; `None` for any other expression.
    fn context_field_name(&self, expr: &Expr) -> Option<&'p str> {
        match self.context_path(expr)?.as_slice() {
            [field] => Some(field),
            _ => None,
        }
    }
}

fn negate(condition: Json) -> Json {
    json!({"type": "NotCondition", "condition": condition})
}

/// Returns the JSON key for a comparison with a field of `ctx`, such as `n__gt`. For equality, the
/// key is the plain field name, unless this name itself ends like a comparison. `None` if JSON has
/// no key for the comparison.
fn context_comparison_key(field: &str, op: Op) -> Option<String> {
    let suffix = operator_suffix(op)?;
    let is_plain = op == Op::Eq && !field.contains("__") && field != "type";
    let key = if is_plain { field.to_owned() } else { format!("{field}__{suffix}") };
    (!field.is_empty()).then_some(key)
}

fn operator_suffix(op: Op) -> Option<&'static str> {
    OPERATOR_SUFFIXES.iter().find(|(known, _)| *known == op).map(|(_, suffix)| *suffix)
}

/// Writes a predicate on the message text as JSON. `op` is the predicate's operator, and `right` is
/// its right operand. `ignores_case` is true if the predicate ignores case. `None` if the JSON
/// format has no such condition; `Some(Err)` if Python has no such regular expression.
fn write_text_condition(
    op: Op,
    test: &Predicate,
    right: &Expr,
    ignores_case: bool,
) -> Option<WriteResult<Json>> {
    let value = as_constant(right)?;
    match (op, value, test.mode.quantity) {
        (Op::Matches, Json::String(text), None) => {
            let pattern = pattern::to_python_regex(text, ignores_case);
            Some(pattern.map(|pattern| {
                let mut condition = json!({"type": "RegexCondition", "pattern": pattern});
                if ignores_case {
                    condition["case_sensitive"] = json!(false);
                }
                condition
            }))
        }
        (Op::Contains, Json::String(_), None) | (Op::Contains, Json::Array(_), Some(Quantity::Any)) => {
            let words = if value.is_array() { value.clone() } else { json!([value]) };
            if !words.as_array()?.iter().all(Json::is_string) {
                return None;
            }
            let key = if test.mode.whole_word { "keywords" } else { "contains" };
            let mut condition = json!({"type": "TextCondition", key: words});
            if !ignores_case {
                condition["case_sensitive"] = json!(true);
            }
            Some(Ok(condition))
        }
        _ => None,
    }
}
