//! Jump conditions of tests: sets of three-valued results, and comparisons as sets of orderings.

use rulec_lang::operators::Op;
use rulec_lang::value::Tri;
use std::cmp::Ordering;

/// The set of test results ([`Tri`]s) on which an instruction jumps.
///
/// Four sets occur. A test wants its predicate to be true, or wants it to be false. The jump is
/// taken either on the wanted result, or on the two other results. Unknown is never the wanted
/// result.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct On(u8);

impl On {
    /// Jump if the result is true.
    pub const TRUE: On = On(1);
    /// Jump if the result is false.
    pub const FALSE: On = On(2);
    /// Jump if the result is false or unknown.
    pub const NOT_TRUE: On = On(6);
    /// Jump if the result is true or unknown.
    pub const NOT_FALSE: On = On(5);

    /// Returns a set of results that take the jump. With `when` true, this is only the result
    /// `want`; with `when` false, all other results.
    pub fn new(want: bool, when: bool) -> On {
        match (want, when) {
            (true, true) => On::TRUE,
            (false, true) => On::FALSE,
            (true, false) => On::NOT_TRUE,
            (false, false) => On::NOT_FALSE,
        }
    }

    /// Returns true if an instruction jumps on this result.
    #[inline(always)]
    pub fn takes(self, result: Tri) -> bool {
        self.0 & (1 << result as u8) != 0
    }

    /// Returns the name used in listings; `?` for a set that is none of the four constants.
    pub fn spelling(self) -> &'static str {
        match self {
            On::TRUE => "if",
            On::FALSE => "if-false",
            On::NOT_TRUE => "unless",
            On::NOT_FALSE => "unless-false",
            _ => "?",
        }
    }
}

/// A comparison operator: the set of orderings that satisfy it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cmp(u8);

impl Cmp {
    /// `<`
    pub const LT: Cmp = Cmp(1);
    /// `==`
    pub const EQ: Cmp = Cmp(2);
    /// `<=`
    pub const LE: Cmp = Cmp(3);
    /// `>`
    pub const GT: Cmp = Cmp(4);
    /// `!=`
    pub const NE: Cmp = Cmp(5);
    /// `>=`
    pub const GE: Cmp = Cmp(6);

    /// Returns the comparison of an operator; `None` if the operator is no comparison.
    pub fn from_op(op: Op) -> Option<Cmp> {
        Some(match op {
            Op::Eq => Cmp::EQ,
            Op::Ne => Cmp::NE,
            Op::Lt => Cmp::LT,
            Op::Le => Cmp::LE,
            Op::Gt => Cmp::GT,
            Op::Ge => Cmp::GE,
            _ => return None,
        })
    }

    /// Returns the equivalent comparison for swapped operands, such as `>` for `<`.
    #[must_use]
    pub fn flipped(self) -> Cmp {
        Cmp((self.0 & 2) | ((self.0 & 1) << 2) | (self.0 >> 2))
    }

    /// Returns the opposite comparison, such as `>=` for `<`.
    #[must_use]
    pub fn negated(self) -> Cmp {
        Cmp(!self.0 & 7)
    }

    /// Returns true if the ordering satisfies the comparison.
    #[inline(always)]
    pub fn holds(self, order: Ordering) -> bool {
        self.0 & (1 << (order as i8 + 1)) != 0
    }

    /// Returns the operator as authors write it; `?` for a set that is none of the six constants.
    pub fn spelling(self) -> &'static str {
        match self {
            Cmp::LT => "<",
            Cmp::EQ => "==",
            Cmp::LE => "<=",
            Cmp::GT => ">",
            Cmp::NE => "!=",
            Cmp::GE => ">=",
            _ => "?",
        }
    }
}

/// A comparison that jumps, either if it is true or if it is false. The comparison of two values
/// without an order is false.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CmpJump(u8);

impl CmpJump {
    /// Returns a comparison that jumps if it is true; with `when` false, if it is false.
    pub fn new(cmp: Cmp, when: bool) -> CmpJump {
        CmpJump(cmp.0 | (u8::from(when) << 3))
    }

    /// Returns the comparison.
    pub fn cmp(self) -> Cmp {
        Cmp(self.0 & 7)
    }

    /// Returns true if the jump is taken on a true comparison, false if on a false one.
    pub fn when(self) -> bool {
        self.0 & 8 != 0
    }

    /// Returns true if the jump is taken for operands in this order. `order` is `None` for operands
    /// without an order, such as a text and a number.
    #[inline(always)]
    pub fn takes(self, order: Option<Ordering>) -> bool {
        order.is_some_and(|order| self.cmp().holds(order)) == self.when()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_sets_of_orders() {
        for (cmp, flipped, negated) in [
            (Cmp::LT, Cmp::GT, Cmp::GE),
            (Cmp::LE, Cmp::GE, Cmp::GT),
            (Cmp::EQ, Cmp::EQ, Cmp::NE),
            (Cmp::GT, Cmp::LT, Cmp::LE),
        ] {
            assert_eq!((cmp.flipped(), cmp.negated()), (flipped, negated));
            for order in [Ordering::Less, Ordering::Equal, Ordering::Greater] {
                assert_eq!(cmp.holds(order), cmp.flipped().holds(order.reverse()));
                assert_ne!(cmp.holds(order), cmp.negated().holds(order));
                assert!(CmpJump::new(cmp, true).takes(Some(order)) == cmp.holds(order));
            }
            assert!(!CmpJump::new(cmp, true).takes(None) && CmpJump::new(cmp, false).takes(None));
        }
    }

    #[test]
    fn unknown_holds_for_neither_question() {
        assert!(!On::new(true, true).takes(Tri::Unknown) && !On::new(false, true).takes(Tri::Unknown));
        assert!(On::new(true, false).takes(Tri::Unknown) && On::new(false, false).takes(Tri::Unknown));
        assert!(On::FALSE.takes(Tri::False) && On::NOT_TRUE.takes(Tri::False) && On::TRUE.takes(Tri::True));
    }
}
