//! When a test jumps: questions with three answers, and comparisons as sets of orders.

use rulec_lang::operators::Op;
use rulec_lang::value::Tri;
use std::cmp::Ordering;

/// On which results of a three-valued test to jump: a set of [`Tri`]s. Four of them occur: each
/// predicate can be asked for true or for false, and each time one may jump when that holds or when
/// it does not; unknown counts as not holding both times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct On(u8);

impl On {
    /// Jump when it is true.
    pub const TRUE: On = On(1);
    /// Jump when it is false.
    pub const FALSE: On = On(2);
    /// Jump when it is false or unknown.
    pub const NOT_TRUE: On = On(6);
    /// Jump when it is true or unknown.
    pub const NOT_FALSE: On = On(5);

    /// Jump `when` the predicate is `want`, or when it is not.
    pub fn new(want: bool, when: bool) -> On {
        match (want, when) {
            (true, true) => On::TRUE,
            (false, true) => On::FALSE,
            (true, false) => On::NOT_TRUE,
            (false, false) => On::NOT_FALSE,
        }
    }

    /// Tells whether to jump.
    #[inline(always)]
    pub fn takes(self, result: Tri) -> bool {
        self.0 & (1 << result as u8) != 0
    }

    /// As written in listings; `?` for what is none of the four.
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

/// A comparison: the set of orders that satisfy it.
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

    /// The comparison an operator stands for.
    pub fn of(op: Op) -> Option<Cmp> {
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

    /// The same comparison with its sides changed over.
    #[must_use]
    pub fn flipped(self) -> Cmp {
        Cmp((self.0 & 2) | ((self.0 & 1) << 2) | (self.0 >> 2))
    }

    /// The opposite comparison.
    #[must_use]
    pub fn negated(self) -> Cmp {
        Cmp(!self.0 & 7)
    }

    /// Returns true when an order satisfies it.
    #[inline(always)]
    pub fn holds(self, order: Ordering) -> bool {
        self.0 & (1 << (order as i8 + 1)) != 0
    }

    /// As an author writes it; `?` for what is none of the six.
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

/// A comparison and on which of its answers to jump; values that do not compare do not satisfy it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CmpJump(u8);

impl CmpJump {
    /// Jump `when` the comparison holds, or when it does not.
    pub fn new(cmp: Cmp, when: bool) -> CmpJump {
        CmpJump(cmp.0 | (u8::from(when) << 3))
    }

    /// The comparison.
    pub fn cmp(self) -> Cmp {
        Cmp(self.0 & 7)
    }

    /// Returns true when the jump is taken where the comparison holds.
    pub fn when(self) -> bool {
        self.0 & 8 != 0
    }

    /// Tells whether to jump.
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
