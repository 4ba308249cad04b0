//! The conditions of jump instructions: [`JumpOn`] is a set of results of a predicate (true, false,
//! unknown). [`CmpJump`] is a comparison with the result (true or false) on which to jump. An
//! instruction jumps if its predicate or comparison has such a result.

use rulec_lang::operators::Op;
use rulec_lang::value::Tri;
use std::cmp::Ordering;

/// The set of results of a predicate (true, false or unknown; see [`Tri`]) on which an instruction
/// jumps.
///
/// Only four of the sets occur. A set contains either one of the results true and false, or all
/// results except that one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JumpOn(u8);

impl JumpOn {
    /// Jump if the predicate is true, but not if it is false or unknown.
    pub const TRUE: JumpOn = JumpOn(1);
    /// Jump if the predicate is false, but not if it is true or unknown.
    pub const FALSE: JumpOn = JumpOn(2);
    /// Jump if the predicate is false or unknown.
    pub const NOT_TRUE: JumpOn = JumpOn(6);
    /// Jump if the predicate is true or unknown.
    pub const NOT_FALSE: JumpOn = JumpOn(5);

    /// Returns the set of results that take the jump. With `jump_if` true, this is only the result
    /// `want`; with `jump_if` false, the two other results.
    pub fn new(want: bool, jump_if: bool) -> JumpOn {
        match (want, jump_if) {
            (true, true) => JumpOn::TRUE,
            (false, true) => JumpOn::FALSE,
            (true, false) => JumpOn::NOT_TRUE,
            (false, false) => JumpOn::NOT_FALSE,
        }
    }

    /// Returns true if an instruction with this set jumps on the given result of its predicate.
    #[inline(always)]
    pub fn jumps_on(self, result: Tri) -> bool {
        self.0 & (1 << result as u8) != 0
    }

    /// Returns the name of this set in bytecode listings; `?` for a set that is none of the four
    /// constants.
    pub fn spelling(self) -> &'static str {
        match self {
            JumpOn::TRUE => "if",
            JumpOn::FALSE => "if-false",
            JumpOn::NOT_TRUE => "unless",
            JumpOn::NOT_FALSE => "unless-false",
            _ => "?",
        }
    }
}

/// A comparison operator: the set of orderings that satisfy it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comparison(u8);

impl Comparison {
    /// The comparison `<`.
    pub const LT: Comparison = Comparison(1);
    /// The comparison `==`.
    pub const EQ: Comparison = Comparison(2);
    /// The comparison `<=`.
    pub const LE: Comparison = Comparison(3);
    /// The comparison `>`.
    pub const GT: Comparison = Comparison(4);
    /// The comparison `!=`.
    pub const NE: Comparison = Comparison(5);
    /// The comparison `>=`.
    pub const GE: Comparison = Comparison(6);

    /// Returns the comparison of an operator; `None` if the operator is no comparison.
    pub fn from_op(op: Op) -> Option<Comparison> {
        Some(match op {
            Op::Eq => Comparison::EQ,
            Op::Ne => Comparison::NE,
            Op::Lt => Comparison::LT,
            Op::Le => Comparison::LE,
            Op::Gt => Comparison::GT,
            Op::Ge => Comparison::GE,
            _ => return None,
        })
    }

    /// Returns the equivalent comparison for swapped operands, such as `>` for `<`.
    #[must_use]
    pub fn with_swapped_operands(self) -> Comparison {
        Comparison((self.0 & 2) | ((self.0 & 1) << 2) | (self.0 >> 2))
    }

    /// Returns the opposite comparison, such as `>=` for `<`.
    #[must_use]
    pub fn negated(self) -> Comparison {
        Comparison(!self.0 & 7)
    }

    /// Returns true if the ordering satisfies the comparison.
    #[inline(always)]
    pub fn is_satisfied_by(self, order: Ordering) -> bool {
        self.0 & (1 << (order as i8 + 1)) != 0
    }

    /// Returns the operator as authors write it; `?` for a set that is none of the six constants.
    pub fn spelling(self) -> &'static str {
        match self {
            Comparison::LT => "<",
            Comparison::EQ => "==",
            Comparison::LE => "<=",
            Comparison::GT => ">",
            Comparison::NE => "!=",
            Comparison::GE => ">=",
            _ => "?",
        }
    }
}

/// A comparison, and the result of the comparison (true or false) on which an instruction jumps. A
/// comparison of two values without an order, such as a text and a number, is false.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CmpJump(u8);

impl CmpJump {
    /// Creates a jump that is taken if the comparison `cmp` is true or, with `jump_if` false, if
    /// the comparison is false.
    pub fn new(cmp: Comparison, jump_if: bool) -> CmpJump {
        CmpJump(cmp.0 | (u8::from(jump_if) << 3))
    }

    /// Returns the comparison that decides whether to jump.
    pub fn comparison(self) -> Comparison {
        Comparison(self.0 & 7)
    }

    /// Returns true if the instruction jumps when the comparison is true. Returns false if it jumps
    /// when the comparison is false.
    pub fn jumps_if_true(self) -> bool {
        self.0 & 8 != 0
    }

    /// Returns true if the jump is taken for operands in this order. `order` is `None` for operands
    /// without an order, such as a text and a number.
    #[inline(always)]
    pub fn jumps_for_order(self, order: Option<Ordering>) -> bool {
        order.is_some_and(|order| self.comparison().is_satisfied_by(order)) == self.jumps_if_true()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_sets_of_orders() {
        for (cmp, flipped, negated) in [
            (Comparison::LT, Comparison::GT, Comparison::GE),
            (Comparison::LE, Comparison::GE, Comparison::GT),
            (Comparison::EQ, Comparison::EQ, Comparison::NE),
            (Comparison::GT, Comparison::LT, Comparison::LE),
        ] {
            assert_eq!((cmp.with_swapped_operands(), cmp.negated()), (flipped, negated));
            for order in [Ordering::Less, Ordering::Equal, Ordering::Greater] {
                assert_eq!(
                    cmp.is_satisfied_by(order),
                    cmp.with_swapped_operands().is_satisfied_by(order.reverse())
                );
                assert_ne!(cmp.is_satisfied_by(order), cmp.negated().is_satisfied_by(order));
                assert!(CmpJump::new(cmp, true).jumps_for_order(Some(order)) == cmp.is_satisfied_by(order));
            }
            assert!(
                !CmpJump::new(cmp, true).jumps_for_order(None)
                    && CmpJump::new(cmp, false).jumps_for_order(None)
            );
        }
    }

    #[test]
    fn unknown_is_neither_true_nor_false() {
        assert!(
            !JumpOn::new(true, true).jumps_on(Tri::Unknown)
                && !JumpOn::new(false, true).jumps_on(Tri::Unknown)
        );
        assert!(
            JumpOn::new(true, false).jumps_on(Tri::Unknown)
                && JumpOn::new(false, false).jumps_on(Tri::Unknown)
        );
        assert!(
            JumpOn::FALSE.jumps_on(Tri::False)
                && JumpOn::NOT_TRUE.jumps_on(Tri::False)
                && JumpOn::TRUE.jumps_on(Tri::True)
        );
    }
}
