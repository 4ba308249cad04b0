//! Warns about comparing an integer with a fraction, which often does not mean what the author
//! expects. For example, `bucket(user) in 0..2.5` selects the buckets 0, 1 and 2 of 100, which is 3
//! % of the users.

use super::Checker;
use crate::hir::{Const, Expr, ExprKind};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_lang::builtins::Function;
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;

impl Checker<'_> {
    /// Warns if `side`, one operand of a comparison, is an integer and `constant`, the other
    /// operand, is a fraction. Also warns if `constant` is a list that contains one.
    pub(super) fn warn_fraction(&mut self, side: &Expr, constant: &Expr) {
        let ty = if side.ty.kinds == KindSet::LIST { side.ty.element() } else { side.ty.clone() };
        if ty.kinds != KindSet::INT {
            return;
        }
        let Some(value) = constant.as_const().map(Const::value) else { return };
        let mut values = value.elements().into_iter().flatten().chain([value]);
        let Some(fraction) = values.find_map(find_fraction) else { return };
        let message = message!("a whole number is compared with the fraction {}", fraction);
        let diagnostic = Diagnostic::new(Code::FractionForInt, constant.span, message)
            .label(side.span, side.ty.to_message());
        self.diagnostics.push(diagnostic.help(fraction_help(side, fraction)));
    }
}

fn find_fraction(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Float(float) if float.fract() != 0.0 => Some(float),
        _ => None,
    }
}

/// Removes the rounding error of a float multiplication, for example of 0.07 × 100 =
/// 7.000000000000001.
fn without_rounding_error(percent: f64) -> f64 {
    (percent * 1e9).round() / 1e9
}

fn fraction_help(side: &Expr, fraction: f64) -> Message {
    let is_percent_bucket = match &side.kind {
        ExprKind::Call(Function::Bucket, args) => args.len() <= 2,
        _ => false,
    };
    // Finds a number of buckets, 100 × `parts`, for which the fraction becomes a whole number of
    // buckets.
    let parts =
        [10, 100, 1000, 10_000].into_iter().find(|parts| (fraction * f64::from(*parts)).fract() == 0.0);
    match parts.filter(|_| is_percent_bucket) {
        // A fraction below 1 can mean two things: a share of all keys, or a share of one percent.
        Some(parts) if (0.0..1.0).contains(&fraction) => message!(
            "for {}% of the keys write {}, and for {}% use finer buckets: `bucket(…, of: {})` and {}",
            without_rounding_error(fraction * 100.0),
            without_rounding_error(fraction * 100.0),
            fraction,
            100 * parts,
            fraction * f64::from(parts)
        ),
        Some(parts) => message!(
            "use finer buckets: write `bucket(…, of: {})` and {} instead of {}",
            100 * parts,
            fraction * f64::from(parts),
            fraction
        ),
        None => message!("compare with a whole number; if the value can have a fraction, it is a `number`"),
    }
}
