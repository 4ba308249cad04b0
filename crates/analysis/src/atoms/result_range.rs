//! Bounds on the results of function calls. The solver never proposes a value out of these bounds.

use rulec_lang::builtins::Function;
use rulec_sema::normal::{NormalExpr, NormalFold};

/// Bounds that all results of an expression satisfy, whatever the message contains.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ResultRange {
    pub low: Option<i64>,
    pub high: Option<i64>,
    /// The called function, if the whole expression is a call of a function such as `lower`, whose
    /// results are known to be certain texts only. `None` for any other expression.
    pub called_text_function: Option<Function>,
}

/// Returns bounds on the results of a function call or `count`, or the called function if its
/// results are certain texts only. Returns nothing for other expressions.
pub(super) fn result_range(expr: &NormalExpr) -> ResultRange {
    let between = |low, high| ResultRange { low: Some(low), high: Some(high), called_text_function: None };
    let at_least = |low| ResultRange { low: Some(low), ..ResultRange::default() };
    match expr {
        NormalExpr::Fold { fold: NormalFold::Count, .. } => at_least(0),
        NormalExpr::Call(function, args) => match function {
            Function::Hour => between(0, 23),
            Function::Minute => between(0, 59),
            Function::Weekday => between(1, 7),
            Function::Day => between(1, 31),
            Function::Month => between(1, 12),
            Function::Similarity => between(0, 1),
            Function::Bucket if args.len() <= 2 => between(0, 99),
            Function::Len | Function::Abs | Function::IndexOf | Function::JsonSize => at_least(0),
            Function::Lower
            | Function::Upper
            | Function::Trim
            | Function::Date
            | Function::Time
            | Function::UrlHost
            | Function::UrlScheme
            | Function::UrlPath => {
                ResultRange { called_text_function: Some(*function), ..ResultRange::default() }
            }
            _ => ResultRange::default(),
        },
        _ => ResultRange::default(),
    }
}
