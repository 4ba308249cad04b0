//! Comparisons of numbers, as exact as in the VM: integers beyond 2^53 are not converted to floats.
//! If a constant has another number type than the value, the constant is replaced by a threshold of
//! the value's type.

use super::body::{AnyHelpers, Body, Source, TestTargets};
use crate::code::layout;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, types};
use rulec_vm::bytecode::instr::Comparison;
use std::cmp::Ordering;
use std::mem::offset_of;

/// A test of a number that is equivalent to a comparison with a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ConstantTest<T> {
    Always(bool),
    Is(Comparison, T),
}

/// 2^63: floats from this value on are above all integers, and floats below -2^63 are below all
/// integers.
const INT_RANGE_END: f64 = 9_223_372_036_854_775_808.0;

/// Returns the test of an integer that is equivalent to comparing the integer with the given float.
fn int_test_for_float(cmp: Comparison, float: f64) -> ConstantTest<i64> {
    if float >= INT_RANGE_END {
        return ConstantTest::Always(cmp.holds(std::cmp::Ordering::Less));
    }
    if float < -INT_RANGE_END {
        return ConstantTest::Always(cmp.holds(std::cmp::Ordering::Greater));
    }
    let floor = float.floor();
    if floor == float {
        return ConstantTest::Is(cmp, float as i64);
    }
    // The float is between two integers, so no integer equals it.
    match cmp {
        Comparison::LT | Comparison::LE => ConstantTest::Is(Comparison::LE, floor as i64),
        Comparison::GT | Comparison::GE => ConstantTest::Is(Comparison::GT, floor as i64),
        _ => ConstantTest::Always(cmp == Comparison::NE),
    }
}

/// Returns the test of an integer from 2^63 to 2^64-1 that is equivalent to comparing the integer
/// with the given float. The bits of the integer are compared as signed numbers, which have the
/// same order in this range.
fn wide_test_for_float(cmp: Comparison, float: f64) -> ConstantTest<i64> {
    if (INT_RANGE_END..2.0 * INT_RANGE_END).contains(&float) {
        // A float in this range has no fraction.
        return ConstantTest::Is(cmp, (float as u64).cast_signed());
    }
    ConstantTest::Always(cmp.holds(if float < INT_RANGE_END { Ordering::Greater } else { Ordering::Less }))
}

/// Returns the test of a float that is equivalent to comparing the float with the given integer.
fn float_test_for_int(cmp: Comparison, int: i64) -> ConstantTest<f64> {
    let near = int as f64;
    let order = rulec_lang::value::compare_int_float(int, near);
    match (cmp, order) {
        (_, std::cmp::Ordering::Equal) => ConstantTest::Is(cmp, near),
        // The integer lies between `near` and the float on its other side.
        (Comparison::LT | Comparison::LE, std::cmp::Ordering::Greater) => {
            ConstantTest::Is(Comparison::LE, near)
        }
        (Comparison::LT | Comparison::LE, _) => ConstantTest::Is(Comparison::LT, near),
        (Comparison::GT | Comparison::GE, std::cmp::Ordering::Greater) => {
            ConstantTest::Is(Comparison::GT, near)
        }
        (Comparison::GT | Comparison::GE, _) => ConstantTest::Is(Comparison::GE, near),
        _ => ConstantTest::Always(cmp == Comparison::NE),
    }
}

fn int_cc(cmp: Comparison) -> IntCC {
    match cmp {
        Comparison::LT => IntCC::SignedLessThan,
        Comparison::LE => IntCC::SignedLessThanOrEqual,
        Comparison::GT => IntCC::SignedGreaterThan,
        Comparison::GE => IntCC::SignedGreaterThanOrEqual,
        Comparison::EQ => IntCC::Equal,
        _ => IntCC::NotEqual,
    }
}

fn float_cc(cmp: Comparison) -> FloatCC {
    match cmp {
        Comparison::LT => FloatCC::LessThan,
        Comparison::LE => FloatCC::LessThanOrEqual,
        Comparison::GT => FloatCC::GreaterThan,
        Comparison::GE => FloatCC::GreaterThanOrEqual,
        Comparison::EQ => FloatCC::Equal,
        // No value is NaN, so unequal is the opposite of equal.
        _ => FloatCC::NotEqual,
    }
}

impl Body<'_, '_, '_> {
    /// Emits a comparison of a value with an integer constant. The result is unknown if the value
    /// is not a number.
    pub fn emit_int_comparison(&mut self, source: Source, cmp: Comparison, int: i64, targets: TestTargets) {
        self.emit_number_comparison(
            source,
            ConstantTest::Is(cmp, int),
            float_test_for_int(cmp, int),
            ConstantTest::Always(cmp.holds(Ordering::Greater)),
            layout::INT_TAG,
            targets,
        );
    }

    pub fn emit_float_comparison(
        &mut self,
        source: Source,
        cmp: Comparison,
        float: f64,
        targets: TestTargets,
    ) {
        self.emit_number_comparison(
            source,
            int_test_for_float(cmp, float),
            ConstantTest::Is(cmp, float),
            wide_test_for_float(cmp, float),
            layout::FLOAT_TAG,
            targets,
        );
    }

    fn emit_number_comparison(
        &mut self,
        source: Source,
        int: ConstantTest<i64>,
        float: ConstantTest<f64>,
        wide: ConstantTest<i64>,
        likely: u8,
        targets: TestTargets,
    ) {
        let [on_int, on_float] = [(); 2].map(|()| self.b.create_block());
        let on_wide = self.create_cold_block();
        let mut cases =
            [(layout::INT_TAG, on_int), (layout::FLOAT_TAG, on_float), (layout::WIDE_TAG, on_wide)];
        if likely == layout::FLOAT_TAG {
            cases.swap(0, 1);
        }
        self.emit_tag_dispatch(source, &cases, targets.unknown, targets.unknown);
        for (tag, block, test) in [(layout::INT_TAG, on_int, int), (layout::WIDE_TAG, on_wide, wide)] {
            if !source.tags().has(tag) {
                continue;
            }
            self.switch_to(block);
            match test {
                ConstantTest::Always(holds) => self.emit_fixed_result(holds, targets),
                ConstantTest::Is(cmp, int) => {
                    let value = self.load_payload_bits(source);
                    let holds = self.b.ins().icmp_imm(int_cc(cmp), value, int);
                    self.emit_bool_branch(holds, targets);
                }
            }
        }
        if source.tags().has(layout::FLOAT_TAG) {
            self.switch_to(on_float);
            match float {
                ConstantTest::Always(holds) => self.emit_fixed_result(holds, targets),
                ConstantTest::Is(cmp, float) => {
                    let value = self.load_float(source);
                    let constant = self.b.ins().f64const(float);
                    let holds = self.b.ins().fcmp(float_cc(cmp), value, constant);
                    self.emit_bool_branch(holds, targets);
                }
            }
        }
    }

    fn emit_fixed_result(&mut self, holds: bool, targets: TestTargets) {
        let to = if holds { targets.yes } else { targets.no };
        self.b.ins().jump(to, &[]);
    }

    /// Emits a comparison of two values if both are numbers, else a jump to `other`.
    pub fn emit_two_number_comparison(
        &mut self,
        left: Source,
        right: Source,
        cmp: Comparison,
        targets: TestTargets,
        other: cranelift_codegen::ir::Block,
    ) {
        let [left_int, left_float, ints, int_float, float_int, floats] =
            [(); 6].map(|()| self.b.create_block());
        let rest = other;
        self.emit_tag_dispatch(
            left,
            &[(layout::INT_TAG, left_int), (layout::FLOAT_TAG, left_float)],
            rest,
            rest,
        );
        if left.tags().has(layout::INT_TAG) {
            self.switch_to(left_int);
            self.emit_tag_dispatch(
                right,
                &[(layout::INT_TAG, ints), (layout::FLOAT_TAG, int_float)],
                rest,
                rest,
            );
        }
        if left.tags().has(layout::FLOAT_TAG) {
            self.switch_to(left_float);
            self.emit_tag_dispatch(
                right,
                &[(layout::INT_TAG, float_int), (layout::FLOAT_TAG, floats)],
                rest,
                rest,
            );
        }
        let both = |l: u8, r: u8| left.tags().has(l) && right.tags().has(r);
        if both(layout::INT_TAG, layout::INT_TAG) {
            self.switch_to(ints);
            let (a, b) = (self.load_payload_bits(left), self.load_payload_bits(right));
            let holds = self.b.ins().icmp(int_cc(cmp), a, b);
            self.emit_bool_branch(holds, targets);
        }
        if both(layout::FLOAT_TAG, layout::FLOAT_TAG) {
            self.switch_to(floats);
            let (a, b) = (self.load_float(left), self.load_float(right));
            let holds = self.b.ins().fcmp(float_cc(cmp), a, b);
            self.emit_bool_branch(holds, targets);
        }
        for (block, int, float, cmp, is) in [
            (int_float, left, right, cmp, both(layout::INT_TAG, layout::FLOAT_TAG)),
            (float_int, right, left, cmp.flipped(), both(layout::FLOAT_TAG, layout::INT_TAG)),
        ] {
            if is {
                self.switch_to(block);
                let (int, float) = (self.load_payload_bits(int), self.load_float(float));
                let params = [types::I64, types::F64];
                let helper = offset_of!(AnyHelpers, order);
                let order = self.emit_plain_call(helper, &params, types::I64, &[int, float]);
                let holds = self.b.ins().icmp_imm(int_cc(cmp), order, 0);
                self.emit_bool_branch(holds, targets);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec_lang::value::{compare_int_float, compare_wide_float};

    const CMPS: [Comparison; 6] =
        [Comparison::LT, Comparison::LE, Comparison::EQ, Comparison::NE, Comparison::GT, Comparison::GE];
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
        INT_RANGE_END,
        -INT_RANGE_END,
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
                    let by_int = match int_test_for_float(cmp, float) {
                        ConstantTest::Always(holds) => holds,
                        ConstantTest::Is(cmp, threshold) => cmp.holds(order(int, threshold)),
                    };
                    assert_eq!(by_int, cmp.holds(exact), "{int} {} {float}", cmp.spelling());
                    let by_float = match float_test_for_int(cmp, int) {
                        ConstantTest::Always(holds) => holds,
                        ConstantTest::Is(cmp, threshold) => cmp.holds(order(float, threshold)),
                    };
                    assert_eq!(by_float, cmp.holds(exact.reverse()), "{float} {} {int}", cmp.spelling());
                }
            }
            for int in [1 << 63, (1 << 63) + 1, (1 << 63) + 2048, u64::MAX - 2047, u64::MAX - 1, u64::MAX] {
                for float in
                    FLOATS.into_iter().chain([9.3e18, 18_446_744_073_709_549_568.0, 2.0_f64.powi(64)])
                {
                    let by_wide = match wide_test_for_float(cmp, float) {
                        ConstantTest::Always(holds) => holds,
                        ConstantTest::Is(cmp, threshold) => cmp.holds(order(int.cast_signed(), threshold)),
                    };
                    let exact = cmp.holds(compare_wide_float(int, float));
                    assert_eq!(by_wide, exact, "{int} {} {float}", cmp.spelling());
                }
            }
        }
    }
}
