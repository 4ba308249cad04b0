//! Comparisons of numbers, as exact as the VM's: an integer beyond 2^53 is not converted to a
//! float. A constant of the other number type is replaced by a threshold of the value's own type.

use super::body::{AnyHelpers, Body, Source, Targets};
use crate::code::layout;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, types};
use rulec_vm::bytecode::instr::Cmp;
use std::mem::offset_of;

/// A test that replaces a comparison with a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Test<T> {
    Always(bool),
    Is(Cmp, T),
}

/// 2^63: floats from this value on are above all integers, and floats below -2^63 are below all
/// integers.
const LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// Returns the test of an integer that is equivalent to comparing the integer with the given float.
fn int_with_float(cmp: Cmp, float: f64) -> Test<i64> {
    if float >= LIMIT {
        return Test::Always(cmp.holds(std::cmp::Ordering::Less));
    }
    if float < -LIMIT {
        return Test::Always(cmp.holds(std::cmp::Ordering::Greater));
    }
    let floor = float.floor();
    if floor == float {
        return Test::Is(cmp, float as i64);
    }
    // The float is between two integers, so no integer equals it.
    match cmp {
        Cmp::LT | Cmp::LE => Test::Is(Cmp::LE, floor as i64),
        Cmp::GT | Cmp::GE => Test::Is(Cmp::GT, floor as i64),
        _ => Test::Always(cmp == Cmp::NE),
    }
}

/// Returns the test of a float that is equivalent to comparing the float with the given integer.
fn float_with_int(cmp: Cmp, int: i64) -> Test<f64> {
    let near = int as f64;
    let order = rulec_lang::value::compare_int_float(int, near);
    match (cmp, order) {
        (_, std::cmp::Ordering::Equal) => Test::Is(cmp, near),
        // The integer lies between `near` and the float on its other side.
        (Cmp::LT | Cmp::LE, std::cmp::Ordering::Greater) => Test::Is(Cmp::LE, near),
        (Cmp::LT | Cmp::LE, _) => Test::Is(Cmp::LT, near),
        (Cmp::GT | Cmp::GE, std::cmp::Ordering::Greater) => Test::Is(Cmp::GT, near),
        (Cmp::GT | Cmp::GE, _) => Test::Is(Cmp::GE, near),
        _ => Test::Always(cmp == Cmp::NE),
    }
}

fn int_cc(cmp: Cmp) -> IntCC {
    match cmp {
        Cmp::LT => IntCC::SignedLessThan,
        Cmp::LE => IntCC::SignedLessThanOrEqual,
        Cmp::GT => IntCC::SignedGreaterThan,
        Cmp::GE => IntCC::SignedGreaterThanOrEqual,
        Cmp::EQ => IntCC::Equal,
        _ => IntCC::NotEqual,
    }
}

fn float_cc(cmp: Cmp) -> FloatCC {
    match cmp {
        Cmp::LT => FloatCC::LessThan,
        Cmp::LE => FloatCC::LessThanOrEqual,
        Cmp::GT => FloatCC::GreaterThan,
        Cmp::GE => FloatCC::GreaterThanOrEqual,
        Cmp::EQ => FloatCC::Equal,
        // No value is NaN, so unequal is the opposite of equal.
        _ => FloatCC::NotEqual,
    }
}

impl Body<'_, '_, '_> {
    /// Emits a comparison of a value with an integer; a value that is not a number makes the result
    /// unknown.
    pub fn compare_int(&mut self, source: Source, cmp: Cmp, int: i64, targets: Targets) {
        self.compare(source, Test::Is(cmp, int), float_with_int(cmp, int), layout::INT, targets);
    }

    pub fn compare_float(&mut self, source: Source, cmp: Cmp, float: f64, targets: Targets) {
        self.compare(source, int_with_float(cmp, float), Test::Is(cmp, float), layout::FLOAT, targets);
    }

    fn compare(&mut self, source: Source, int: Test<i64>, float: Test<f64>, likely: u8, targets: Targets) {
        let [on_int, on_float] = [(); 2].map(|()| self.b.create_block());
        let mut cases = [(layout::INT, on_int), (layout::FLOAT, on_float)];
        if likely == layout::FLOAT {
            cases.reverse();
        }
        self.dispatch(source, &cases, targets.unknown, targets.unknown);
        if source.tags().has(layout::INT) {
            self.go(on_int);
            match int {
                Test::Always(holds) => self.always(holds, targets),
                Test::Is(cmp, int) => {
                    let value = self.bits(source);
                    let holds = self.b.ins().icmp_imm(int_cc(cmp), value, int);
                    self.branch_bool(holds, targets);
                }
            }
        }
        if source.tags().has(layout::FLOAT) {
            self.go(on_float);
            match float {
                Test::Always(holds) => self.always(holds, targets),
                Test::Is(cmp, float) => {
                    let value = self.float(source);
                    let constant = self.b.ins().f64const(float);
                    let holds = self.b.ins().fcmp(float_cc(cmp), value, constant);
                    self.branch_bool(holds, targets);
                }
            }
        }
    }

    fn always(&mut self, holds: bool, targets: Targets) {
        let to = if holds { targets.yes } else { targets.no };
        self.b.ins().jump(to, &[]);
    }

    /// Emits a comparison of two values if both are numbers, else a jump to `other`.
    pub fn compare_numbers(
        &mut self,
        left: Source,
        right: Source,
        cmp: Cmp,
        targets: Targets,
        other: cranelift_codegen::ir::Block,
    ) {
        let [left_int, left_float, ints, int_float, float_int, floats] =
            [(); 6].map(|()| self.b.create_block());
        let rest = other;
        self.dispatch(left, &[(layout::INT, left_int), (layout::FLOAT, left_float)], rest, rest);
        if left.tags().has(layout::INT) {
            self.go(left_int);
            self.dispatch(right, &[(layout::INT, ints), (layout::FLOAT, int_float)], rest, rest);
        }
        if left.tags().has(layout::FLOAT) {
            self.go(left_float);
            self.dispatch(right, &[(layout::INT, float_int), (layout::FLOAT, floats)], rest, rest);
        }
        let both = |l: u8, r: u8| left.tags().has(l) && right.tags().has(r);
        if both(layout::INT, layout::INT) {
            self.go(ints);
            let (a, b) = (self.bits(left), self.bits(right));
            let holds = self.b.ins().icmp(int_cc(cmp), a, b);
            self.branch_bool(holds, targets);
        }
        if both(layout::FLOAT, layout::FLOAT) {
            self.go(floats);
            let (a, b) = (self.float(left), self.float(right));
            let holds = self.b.ins().fcmp(float_cc(cmp), a, b);
            self.branch_bool(holds, targets);
        }
        for (block, int, float, cmp, is) in [
            (int_float, left, right, cmp, both(layout::INT, layout::FLOAT)),
            (float_int, right, left, cmp.flipped(), both(layout::FLOAT, layout::INT)),
        ] {
            if is {
                self.go(block);
                let (int, float) = (self.bits(int), self.float(float));
                let params = [types::I64, types::F64];
                let helper = offset_of!(AnyHelpers, order);
                let order = self.call_plain(helper, &params, types::I64, &[int, float]);
                let holds = self.b.ins().icmp_imm(int_cc(cmp), order, 0);
                self.branch_bool(holds, targets);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec_lang::value::compare_int_float;
    use std::cmp::Ordering;

    const CMPS: [Cmp; 6] = [Cmp::LT, Cmp::LE, Cmp::EQ, Cmp::NE, Cmp::GT, Cmp::GE];
    const INTS: [i64; 13] = [
        0,
        1,
        -1,
        3,
        -3,
        (1 << 53) - 1,
        1 << 53,
        (1 << 53) + 1,
        -(1 << 53) - 1,
        i64::MAX,
        i64::MAX - 511,
        i64::MIN,
        i64::MIN + 1,
    ];
    const FLOATS: [f64; 14] = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        3.0,
        -3.5,
        9_007_199_254_740_992.0,
        9_007_199_254_740_994.0,
        -9_007_199_254_740_994.0,
        9_223_372_036_854_774_784.0,
        LIMIT,
        -LIMIT,
        1e300,
        -1e300,
    ];

    fn order<T: PartialOrd>(a: T, b: T) -> Ordering {
        a.partial_cmp(&b).expect("there is no NaN")
    }

    #[test]
    fn thresholds_answer_as_the_exact_comparison_does() {
        for cmp in CMPS {
            for int in INTS {
                for float in FLOATS {
                    let exact = compare_int_float(int, float);
                    let by_int = match int_with_float(cmp, float) {
                        Test::Always(holds) => holds,
                        Test::Is(cmp, threshold) => cmp.holds(order(int, threshold)),
                    };
                    assert_eq!(by_int, cmp.holds(exact), "{int} {} {float}", cmp.spelling());
                    let by_float = match float_with_int(cmp, int) {
                        Test::Always(holds) => holds,
                        Test::Is(cmp, threshold) => cmp.holds(order(float, threshold)),
                    };
                    assert_eq!(by_float, cmp.holds(exact.reverse()), "{float} {} {int}", cmp.spelling());
                }
            }
        }
    }
}
