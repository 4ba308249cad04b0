//! Machine code for comparisons of numbers, as exact as in the VM: integers beyond 2^53 are not
//! converted to floats. If a constant has another number type than the tested value, the value is
//! compared with an equivalent bound of its own type.

use super::body::{AnyHelpers, FunctionBody, OperandSource, PredTargets};
use crate::code::layout;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, types};
use rulec_vm::bytecode::instr::Comparison;
use std::cmp::Ordering;
use std::mem::offset_of;

/// A test of a number of type `T`, with the same result as a comparison with a constant. The
/// constant may have another type, such as a float if `T` is an integer type.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ConstantTest<T> {
    Always(bool),
    Compare(Comparison, T),
}

/// 2^63: floats from this value on are above all integers, and floats below -2^63 are below all
/// integers.
const INT_RANGE_END: f64 = 9_223_372_036_854_775_808.0;

/// Returns a test of an integer that has the same result as comparing the integer with `float`.
fn int_test_for_float(cmp: Comparison, float: f64) -> ConstantTest<i64> {
    if float >= INT_RANGE_END {
        return ConstantTest::Always(cmp.is_satisfied_by(std::cmp::Ordering::Less));
    }
    if float < -INT_RANGE_END {
        return ConstantTest::Always(cmp.is_satisfied_by(std::cmp::Ordering::Greater));
    }
    let floor = float.floor();
    if floor == float {
        return ConstantTest::Compare(cmp, float as i64);
    }
    // The float is between two integers, so no integer equals it.
    match cmp {
        Comparison::LT | Comparison::LE => ConstantTest::Compare(Comparison::LE, floor as i64),
        Comparison::GT | Comparison::GE => ConstantTest::Compare(Comparison::GT, floor as i64),
        _ => ConstantTest::Always(cmp == Comparison::NE),
    }
}

/// Returns a test of an integer from 2^63 to 2^64-1 that has the same result as comparing the
/// integer with `float`. The test compares the bits of the integer as a signed number, because
/// signed numbers have the same order in this range.
fn wide_test_for_float(cmp: Comparison, float: f64) -> ConstantTest<i64> {
    if (INT_RANGE_END..2.0 * INT_RANGE_END).contains(&float) {
        // A float in this range has no fraction.
        return ConstantTest::Compare(cmp, (float as u64).cast_signed());
    }
    ConstantTest::Always(cmp.is_satisfied_by(if float < INT_RANGE_END {
        Ordering::Greater
    } else {
        Ordering::Less
    }))
}

/// Returns a test of a float that has the same result as comparing the float with `int`.
fn float_test_for_int(cmp: Comparison, int: i64) -> ConstantTest<f64> {
    let nearest_float = int as f64;
    let order = rulec_lang::value::compare_int_float(int, nearest_float);
    match (cmp, order) {
        (_, std::cmp::Ordering::Equal) => ConstantTest::Compare(cmp, nearest_float),
        // The integer is greater than `nearest_float` and less than the next float.
        (Comparison::LT | Comparison::LE, std::cmp::Ordering::Greater) => {
            ConstantTest::Compare(Comparison::LE, nearest_float)
        }
        (Comparison::LT | Comparison::LE, _) => ConstantTest::Compare(Comparison::LT, nearest_float),
        (Comparison::GT | Comparison::GE, std::cmp::Ordering::Greater) => {
            ConstantTest::Compare(Comparison::GT, nearest_float)
        }
        (Comparison::GT | Comparison::GE, _) => ConstantTest::Compare(Comparison::GE, nearest_float),
        _ => ConstantTest::Always(cmp == Comparison::NE),
    }
}

fn to_int_condition_code(cmp: Comparison) -> IntCC {
    match cmp {
        Comparison::LT => IntCC::SignedLessThan,
        Comparison::LE => IntCC::SignedLessThanOrEqual,
        Comparison::GT => IntCC::SignedGreaterThan,
        Comparison::GE => IntCC::SignedGreaterThanOrEqual,
        Comparison::EQ => IntCC::Equal,
        _ => IntCC::NotEqual,
    }
}

fn to_float_condition_code(cmp: Comparison) -> FloatCC {
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

/// The tests that replace a comparison with a constant, one for each kind of number.
struct NumberTests {
    int: ConstantTest<i64>,
    float: ConstantTest<f64>,
    /// The test of an integer from 2^63 to 2^64-1. It compares the integer's bits as a signed
    /// number, because signed numbers have the same order in this range.
    wide: ConstantTest<i64>,
}

impl FunctionBody<'_, '_, '_> {
    /// Emits a comparison of a value with the integer constant `int`. The result is unknown if the
    /// value is not a number.
    pub fn emit_int_comparison(
        &mut self,
        source: OperandSource,
        cmp: Comparison,
        int: i64,
        targets: PredTargets,
    ) {
        self.emit_number_comparison(
            source,
            NumberTests {
                int: ConstantTest::Compare(cmp, int),
                float: float_test_for_int(cmp, int),
                wide: ConstantTest::Always(cmp.is_satisfied_by(Ordering::Greater)),
            },
            layout::INT_TAG,
            targets,
        );
    }

    pub fn emit_float_comparison(
        &mut self,
        source: OperandSource,
        cmp: Comparison,
        float: f64,
        targets: PredTargets,
    ) {
        self.emit_number_comparison(
            source,
            NumberTests {
                int: int_test_for_float(cmp, float),
                float: ConstantTest::Compare(cmp, float),
                wide: wide_test_for_float(cmp, float),
            },
            layout::FLOAT_TAG,
            targets,
        );
    }

    fn emit_number_comparison(
        &mut self,
        source: OperandSource,
        NumberTests { int, float, wide }: NumberTests,
        likely_tag: u8,
        targets: PredTargets,
    ) {
        let [int_block, float_block] = [(); 2].map(|()| self.builder.create_block());
        let wide_block = self.create_cold_block();
        let mut cases =
            [(layout::INT_TAG, int_block), (layout::FLOAT_TAG, float_block), (layout::WIDE_TAG, wide_block)];
        if likely_tag == layout::FLOAT_TAG {
            cases.swap(0, 1);
        }
        self.emit_tag_dispatch(source, &cases, targets.unknown, targets.unknown);
        for (tag, block, test) in [(layout::INT_TAG, int_block, int), (layout::WIDE_TAG, wide_block, wide)] {
            if !source.tags().has(tag) {
                continue;
            }
            self.switch_to(block);
            match test {
                ConstantTest::Always(is_true) => self.emit_fixed_result(is_true, targets),
                ConstantTest::Compare(cmp, int) => {
                    let value = self.load_payload_bits(source);
                    let is_true = self.builder.ins().icmp_imm(to_int_condition_code(cmp), value, int);
                    self.emit_bool_branch(is_true, targets);
                }
            }
        }
        if source.tags().has(layout::FLOAT_TAG) {
            self.switch_to(float_block);
            match float {
                ConstantTest::Always(is_true) => self.emit_fixed_result(is_true, targets),
                ConstantTest::Compare(cmp, float) => {
                    let value = self.load_float(source);
                    let constant = self.builder.ins().f64const(float);
                    let is_true = self.builder.ins().fcmp(to_float_condition_code(cmp), value, constant);
                    self.emit_bool_branch(is_true, targets);
                }
            }
        }
    }

    fn emit_fixed_result(&mut self, is_true: bool, targets: PredTargets) {
        let target = if is_true { targets.yes } else { targets.no };
        self.builder.ins().jump(target, &[]);
    }

    /// Emits a comparison of two values if both are floats or integers below 2^63, else a jump to
    /// `other`.
    pub fn emit_two_number_comparison(
        &mut self,
        left: OperandSource,
        right: OperandSource,
        cmp: Comparison,
        targets: PredTargets,
        other: cranelift_codegen::ir::Block,
    ) {
        let [left_int, left_float, ints, int_float, float_int, floats] =
            [(); 6].map(|()| self.builder.create_block());
        let other_block = other;
        self.emit_tag_dispatch(
            left,
            &[(layout::INT_TAG, left_int), (layout::FLOAT_TAG, left_float)],
            other_block,
            other_block,
        );
        if left.tags().has(layout::INT_TAG) {
            self.switch_to(left_int);
            self.emit_tag_dispatch(
                right,
                &[(layout::INT_TAG, ints), (layout::FLOAT_TAG, int_float)],
                other_block,
                other_block,
            );
        }
        if left.tags().has(layout::FLOAT_TAG) {
            self.switch_to(left_float);
            self.emit_tag_dispatch(
                right,
                &[(layout::INT_TAG, float_int), (layout::FLOAT_TAG, floats)],
                other_block,
                other_block,
            );
        }
        let may_be = |l: u8, r: u8| left.tags().has(l) && right.tags().has(r);
        if may_be(layout::INT_TAG, layout::INT_TAG) {
            self.switch_to(ints);
            let (a, b) = (self.load_payload_bits(left), self.load_payload_bits(right));
            let is_true = self.builder.ins().icmp(to_int_condition_code(cmp), a, b);
            self.emit_bool_branch(is_true, targets);
        }
        if may_be(layout::FLOAT_TAG, layout::FLOAT_TAG) {
            self.switch_to(floats);
            let (a, b) = (self.load_float(left), self.load_float(right));
            let is_true = self.builder.ins().fcmp(to_float_condition_code(cmp), a, b);
            self.emit_bool_branch(is_true, targets);
        }
        for (block, int, float, cmp, is_possible) in [
            (int_float, left, right, cmp, may_be(layout::INT_TAG, layout::FLOAT_TAG)),
            (float_int, right, left, cmp.with_swapped_operands(), may_be(layout::FLOAT_TAG, layout::INT_TAG)),
        ] {
            if is_possible {
                self.switch_to(block);
                let (int, float) = (self.load_payload_bits(int), self.load_float(float));
                let params = [types::I64, types::F64];
                let helper = offset_of!(AnyHelpers, order_int_float);
                let order = self.emit_plain_call(helper, &params, types::I64, &[int, float]);
                let is_true = self.builder.ins().icmp_imm(to_int_condition_code(cmp), order, 0);
                self.emit_bool_branch(is_true, targets);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rulec_lang::value::{compare_int_float, compare_wide_float};

    const COMPARISONS: [Comparison; 6] =
        [Comparison::LT, Comparison::LE, Comparison::EQ, Comparison::NE, Comparison::GT, Comparison::GE];
    const TESTED_INTS: [i64; 13] = [
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
    const TESTED_FLOATS: [f64; 14] = [
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

    fn compare_numbers<T: PartialOrd>(a: T, b: T) -> Ordering {
        a.partial_cmp(&b).expect("there is no NaN")
    }

    #[test]
    fn constant_tests_equal_exact_comparisons() {
        for cmp in COMPARISONS {
            for int in TESTED_INTS {
                for float in TESTED_FLOATS {
                    let exact = compare_int_float(int, float);
                    let by_int = match int_test_for_float(cmp, float) {
                        ConstantTest::Always(holds) => holds,
                        ConstantTest::Compare(cmp, threshold) => {
                            cmp.is_satisfied_by(compare_numbers(int, threshold))
                        }
                    };
                    assert_eq!(by_int, cmp.is_satisfied_by(exact), "{int} {} {float}", cmp.spelling());
                    let by_float = match float_test_for_int(cmp, int) {
                        ConstantTest::Always(holds) => holds,
                        ConstantTest::Compare(cmp, threshold) => {
                            cmp.is_satisfied_by(compare_numbers(float, threshold))
                        }
                    };
                    assert_eq!(
                        by_float,
                        cmp.is_satisfied_by(exact.reverse()),
                        "{float} {} {int}",
                        cmp.spelling()
                    );
                }
            }
            for int in [1 << 63, (1 << 63) + 1, (1 << 63) + 2048, u64::MAX - 2047, u64::MAX - 1, u64::MAX] {
                for float in
                    TESTED_FLOATS.into_iter().chain([9.3e18, 18_446_744_073_709_549_568.0, 2.0_f64.powi(64)])
                {
                    let by_wide = match wide_test_for_float(cmp, float) {
                        ConstantTest::Always(holds) => holds,
                        ConstantTest::Compare(cmp, threshold) => {
                            cmp.is_satisfied_by(compare_numbers(int.cast_signed(), threshold))
                        }
                    };
                    let exact = cmp.is_satisfied_by(compare_wide_float(int, float));
                    assert_eq!(by_wide, exact, "{int} {} {float}", cmp.spelling());
                }
            }
        }
    }
}
