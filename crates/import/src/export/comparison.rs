//! Writes the conditions of branches as JSON. Each condition compares an output of a workflow step
//! with a constant or with another output. The importer writes some JSON conditions in a special
//! form of rule syntax; this module recognizes these forms.

use super::{WriteResult, as_constant, ignores_case, inexpressible_condition_message, message_path, pattern};
use crate::operator::{Comparison, OPERATOR_VERBS, Operator, ValueType};
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::ty::KindSet;
use rulec_sema::hir::{Cond, CondKind, Expr, ExprKind, Operand, Predicate, Program};
use serde_json::{Value as Json, json};

/// One of the two sides of a JSON condition: the JSON object that describes it, and the type of its
/// value.
type TypedSide = (Json, ValueType);

pub(super) fn write_condition(program: &Program, cond: &Cond) -> WriteResult<Json> {
    let CondKind::Predicate(test) = &cond.kind else { return Err(inexpressible_condition_message()) };
    write_predicate(program, test).unwrap_or_else(|| Err(inexpressible_condition_message()))
}

/// Writes a predicate of the rules as a JSON condition. `None` if the JSON format has no such
/// condition; `Some(Err)` if there is a special reason, such as a regular expression that Python
/// lacks.
fn write_predicate(program: &Program, test: &Predicate) -> Option<WriteResult<Json>> {
    if let (None, false) = (test.op, test.is_negated) {
        let (left, ty) = step_output(program, &test.left)?;
        let yes = literal_side(ValueType::Bool, json!(true));
        return (ty == ValueType::Bool).then(|| Ok(condition_json(&left, ty, "equal", yes)));
    }
    let Operand::Value(right) = &test.right else { return None };
    if test.mode.whole_word || test.mode.quantity.is_some() || ignores_case(&test.mode) != Some(false) {
        return None;
    }
    let op = test.op?;
    if let Some(never) = write_never_true_condition(program, &test.left, op, right) {
        return Some(Ok(never));
    }
    let spelling = match (op, test.is_negated) {
        (Op::Contains, false) => "contains",
        (Op::Contains, true) => "not contains",
        (Op::HasKey, false) => "has_key",
        (Op::HasKey, true) => "not has_key",
        (_, true) => return None,
        (op, false) => op.info().spelling,
    };
    if let Some(inner) = argument_of_len(&test.left) {
        return write_length_condition(program, inner, spelling, right).map(Ok);
    }
    let (left, left_type) = step_output(program, &test.left)?;
    if op == Op::Matches {
        let right = match as_constant(right) {
            Some(Json::String(text)) => pattern::to_anchored_python_regex(text)
                .map(|text| literal_side(ValueType::String, text.into())),
            Some(_) => return None,
            None => {
                Ok(step_as_anchored_regex(program, right).or_else(|| non_text_step_output(program, right))?)
            }
        };
        return Some(right.map(|right| condition_json(&left, ValueType::String, "regex_match", right)));
    }
    let is_constant = as_constant(right).is_some();
    let (right, right_type) = right_side(program, right)?;
    let operand_type = match spelling {
        "==" | "!=" => right_type,
        ">" | "<" | ">=" | "<=" => ValueType::Number,
        "starts_with" | "ends_with" => ValueType::String,
        "has_key" | "not has_key" => ValueType::Dict,
        "contains" | "not contains" => match (left_type, right_type) {
            (ValueType::String | ValueType::List, _) => left_type,
            (_, ValueType::String) => ValueType::String,
            _ => ValueType::List,
        },
        _ => return None,
    };
    let comparison = |verb: &Comparison| matches!(verb, Comparison::Infix(infix) if *infix == spelling);
    let verb = find_verb(operand_type, comparison)?;
    // A constant of another type makes the importer skip the condition.
    let operator = Operator::from_name(&format!("{}_{verb}", operand_type.name()))?;
    let is_accepted = !is_constant || operator.literal_type() == right_type;
    is_accepted.then(|| Ok(condition_json(&left, operand_type, verb, right)))
}

/// Returns the JSON condition for `[a] == []` or `[a, b] == []`, which are never true. The importer
/// writes this form for a condition that is never true in the original. `None` for any other
/// predicate.
fn write_never_true_condition(program: &Program, left: &Expr, op: Op, right: &Expr) -> Option<Json> {
    let ExprKind::List(items) = &left.kind else { return None };
    let is_empty = as_constant(right).is_some_and(|list| list.as_array().is_some_and(Vec::is_empty));
    if op != Op::Eq || !is_empty {
        return None;
    }
    let sides: Vec<TypedSide> = items.iter().map(|item| step_output(program, item)).collect::<Option<_>>()?;
    // In the original, an operator of another type than its left value is never true. The importer
    // uses this form only for conditions that would otherwise be true for some values.
    let other = |ty: ValueType| if ty == ValueType::List { ValueType::String } else { ValueType::List };
    match sides.as_slice() {
        [(left, ValueType::List)] => Some(condition_json(
            left,
            ValueType::Dict,
            "equal",
            literal_side(ValueType::Dict, json!("{1: 2}")),
        )),
        [(left, _)] => Some(condition_json(
            left,
            ValueType::List,
            "equal",
            literal_side(ValueType::List, json!("[(1, 2)]")),
        )),
        [(left, ty @ (ValueType::String | ValueType::List | ValueType::Dict)), (right, _)] => {
            Some(condition_json(left, other(*ty), "length_equal", right.clone()))
        }
        [(left, ty), (right, right_type)] if ty == right_type => {
            Some(condition_json(left, ValueType::String, "equal", right.clone()))
        }
        _ => None,
    }
}

/// If `expr` is `join(["^(?:", steps.s.x as string, ")"], "")`, returns the side of a JSON
/// condition that it was imported from. Otherwise `None`. The importer writes this form for a
/// regular expression that is the output of a step.
fn step_as_anchored_regex(program: &Program, expr: &Expr) -> Option<Json> {
    let ExprKind::Call(Function::Join, arguments) = &expr.kind else { return None };
    let [list, separator] = arguments.as_slice() else { return None };
    let ExprKind::List(parts) = &list.kind else { return None };
    let [open, inner, close] = parts.as_slice() else { return None };
    let is_form = as_constant(open) == Some(&json!("^(?:"))
        && as_constant(close) == Some(&json!(")"))
        && as_constant(separator) == Some(&json!(""));
    let (side, ty) = step_output(program, inner)?;
    (is_form && ty == ValueType::String).then_some(side)
}

/// If `expr` is the output of a workflow step and is not a text, returns it as a side of a JSON
/// condition; otherwise `None`. Such an output never matches as a regular expression.
fn non_text_step_output(program: &Program, expr: &Expr) -> Option<Json> {
    step_output(program, expr).filter(|(_, ty)| *ty != ValueType::String).map(|(side, _)| side)
}

/// Returns the JSON condition that compares the length of the step output `inner` with `right`.
/// `spelling` is the operator, such as `>=`. `None` if the JSON format has no such condition.
fn write_length_condition(program: &Program, inner: &Expr, spelling: &str, right: &Expr) -> Option<Json> {
    let (left, operand_type) = step_output(program, inner)?;
    let right = match argument_of_len(right) {
        Some(inner) => {
            let (right, ty) = step_output(program, inner)?;
            matches!(ty, ValueType::String | ValueType::List).then_some(right)?
        }
        None => {
            let (right, ty) = right_side(program, right)?;
            (!matches!(ty, ValueType::String | ValueType::List)).then_some(right)?
        }
    };
    if operand_type == ValueType::Dict {
        // The importer writes `len(x) >= 0` for a dict that differs from a constant that no message
        // can contain.
        let is_always = spelling == ">=" && right == literal_side(ValueType::Number, json!(0));
        let never = literal_side(ValueType::Dict, json!("{1: 2}"));
        return is_always.then(|| condition_json(&left, operand_type, "not_equal", never));
    }
    let operand_type = if operand_type == ValueType::List { operand_type } else { ValueType::String };
    let verb = find_verb(operand_type, |verb| matches!(verb, Comparison::Length(op) if *op == spelling))?;
    Some(condition_json(&left, operand_type, verb, right))
}

fn find_verb(operand_type: ValueType, is_wanted: impl Fn(&Comparison) -> bool) -> Option<&'static str> {
    let row = OPERATOR_VERBS
        .iter()
        .find(|(_, operand_types, verb)| operand_types.contains(&operand_type) && is_wanted(verb));
    row.map(|(name, ..)| *name)
}

fn condition_json(left: &Json, operand_type: ValueType, verb: &str, right: Json) -> Json {
    json!({"left": left, "operate": format!("{}_{verb}", operand_type.name()), "right": right})
}

fn literal_side(ty: ValueType, value: Json) -> Json {
    // A text is written as a Python literal, so that it is not read as a value of another type.
    let value = match value {
        Json::String(text) if ty == ValueType::String => json!(to_python_string(&text)),
        other => other,
    };
    json!({"type": ty.name(), "value": value})
}

/// Returns the JSON string that the importer reads as `text`. A text that is itself a Python string
/// literal, such as `'a'`, would lose its quotation marks. So it is quoted once more.
fn to_python_string(text: &str) -> String {
    match crate::literal::parse_literal(text) {
        Some(crate::literal::Literal::Json(Json::String(_))) => Json::from(text).to_string(),
        _ => text.to_owned(),
    }
}

fn argument_of_len(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Call(Function::Len, arguments) => arguments.first(),
        _ => None,
    }
}

fn right_side(program: &Program, expr: &Expr) -> Option<TypedSide> {
    let Some(json) = as_constant(expr) else { return step_output(program, expr) };
    let ty = match json {
        Json::Null => return None,
        Json::Bool(_) => ValueType::Bool,
        Json::Number(_) => ValueType::Number,
        Json::String(_) => ValueType::String,
        Json::Array(_) => ValueType::List,
        Json::Object(_) => ValueType::Dict,
    };
    Some((literal_side(ty, json.clone()), ty))
}

/// If `expr` is the typed output of a workflow step, such as `steps.parse.amount as number`,
/// returns it as a side of a JSON condition. Otherwise `None`.
fn step_output(program: &Program, expr: &Expr) -> Option<TypedSide> {
    let ExprKind::Read(inner, kinds) = &expr.kind else { return None };
    let ExprKind::Slot(slot) = &inner.kind else { return None };
    let [root, step, output @ ..] = message_path(program, *slot)? else { return None };
    if &**root != "steps" || output.is_empty() || output.iter().any(|key| key.contains('/')) {
        return None;
    }
    let types = [
        (KindSet::STRING, ValueType::String),
        (KindSet::NUMBER, ValueType::Number),
        (KindSet::BOOL, ValueType::Bool),
        (KindSet::LIST, ValueType::List),
        (KindSet::DICT, ValueType::Dict),
    ];
    let (_, ty) = types.into_iter().find(|(known, _)| known == kinds)?;
    let output: Vec<&str> = output.iter().map(|key| &**key).collect();
    Some((json!({"step_id": step, "type": ty.name(), "value": output.join("/")}), ty))
}
