//! Checks that decimal arithmetic is exact, and that results with too many digits are refused.

use super::*;

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap_or_else(|| panic!("{text} is a decimal"))
}

#[test]
fn numbers_are_read_by_their_digits() {
    let check = |text: &str, expected: &str| assert_eq!(decimal(text).to_string(), expected, "{text}");
    check("19.90", "19.9");
    check("1e-1", "0.1");
    check("-1.50E+2", "-150");
    check("+007.0", "7");
    check("-0.00", "0");
    check("0e999999999999999999999", "0");
    check(".5", "0.5");
    check("5.", "5");
    check("9999999999999999999999999999", "9999999999999999999999999999");
    check("0.0000000000000000000000000001", "0.0000000000000000000000000001");
    check("1000000000000000000000000000000e-10", "100000000000000000000");
    check("0.10000000000000000000000000000000000", "0.1");
    for text in [
        "",
        "-",
        ".",
        "e5",
        "1e",
        "1e+",
        "1.2.3",
        "1 2",
        "0x10",
        "inf",
        "nan",
        "１",
        "--1",
        "1e-",
        "10000000000000000000000000000",
        "1e28",
        "1e-29",
        "0.12345678901234567890123456789",
        "1e400",
        "1e-999999999999999999999",
    ] {
        assert_eq!(Decimal::parse(text), None, "{text}");
    }
    assert_eq!(Decimal::from_float(0.1), Some(decimal("0.1")));
    assert_eq!(Decimal::from_float(1e27), Some(decimal("1e27")));
    assert_eq!(Decimal::from_float(1e300), None);
    assert!(Decimal::is_kept_by_float("19.990", 19.99));
    assert!(!Decimal::is_kept_by_float("19.99000000000000000001", 19.99));
    assert!(!Decimal::is_kept_by_float("0.10000000000000000000000000001", 0.1));
}

#[test]
fn results_are_exact_or_nothing() {
    type Operator = fn(Decimal, Decimal) -> Option<Decimal>;
    let check = |operator: Operator, a: &str, b: &str, expected: Option<&str>| {
        let result = operator(decimal(a), decimal(b)).map(|result| result.to_string());
        assert_eq!(result.as_deref(), expected, "{a} {b}");
    };
    check(Decimal::checked_mul, "0.1", "3", Some("0.3"));
    check(Decimal::checked_add, "0.1", "0.2", Some("0.3"));
    check(Decimal::checked_add, "0.1", "-0.1", Some("0"));
    check(Decimal::checked_add, "9999999999999999999999999999", "1", None);
    check(Decimal::checked_add, "5000000000000000000000000000", "5000000000000000000000000000", None);
    check(Decimal::checked_add, "1e27", "1e-28", None);
    check(
        Decimal::checked_add,
        "0.5555555555555555555555555555",
        "0.4444444444444444444444444445",
        Some("1"),
    );
    check(
        Decimal::checked_sub,
        "1",
        "0.9999999999999999999999999999",
        Some("0.0000000000000000000000000001"),
    );
    check(Decimal::checked_mul, "0.12345678901234567", "0.12345678901234567", None);
    // 2^89 * 5^40 exceeds 128 bits. With the zeros of 10^40 removed, 2^49 is left.
    check(
        Decimal::checked_mul,
        "0.618970019642690137449562112",
        "0.9094947017729282379150390625",
        Some("0.562949953421312"),
    );
    check(Decimal::checked_mul, "1e-20", "1e-9", None);
    check(Decimal::checked_div, "1", "3", Some("0.3333333333333333333333333333"));
    check(Decimal::checked_div, "2", "3", Some("0.6666666666666666666666666667"));
    check(Decimal::checked_div, "200", "3", Some("66.66666666666666666666666667"));
    check(Decimal::checked_div, "-1", "8", Some("-0.125"));
    check(Decimal::checked_div, "100", "0.5", Some("200"));
    check(Decimal::checked_div, "1e-28", "2", Some("0"));
    check(Decimal::checked_div, "3e-28", "2", Some("0.0000000000000000000000000002"));
    check(Decimal::checked_div, "1", "0", None);
    check(Decimal::checked_div, "1e27", "1e-1", None);
    check(Decimal::checked_rem, "-7.5", "2", Some("-1.5"));
    check(Decimal::checked_rem, "7", "-0.4", Some("0.2"));
    check(Decimal::checked_rem, "1e27", "7e-28", Some("0.0000000000000000000000000003"));
    check(Decimal::checked_rem, "3e-28", "1e27", Some("0.0000000000000000000000000003"));
    check(Decimal::checked_rem, "1", "0", None);
    for (text, floor, ceil, round) in [
        ("2.5", "2", "3", "3"),
        ("-2.5", "-3", "-2", "-3"),
        ("-0.5", "-1", "0", "-1"),
        ("-0.4", "-1", "0", "0"),
    ] {
        let shown = |value: Decimal| value.to_string();
        assert_eq!(shown(decimal(text).floor()), floor);
        assert_eq!(shown(decimal(text).ceil()), ceil);
        assert_eq!(decimal(text).round(0).map(shown).as_deref(), Some(round));
    }
    assert_eq!(decimal("2.345").round(2), Some(decimal("2.35")));
    assert_eq!(
        decimal("9999999999999999999999999999").round(2),
        Some(decimal("9999999999999999999999999999"))
    );
}

/// Returns the product of two numbers, which may exceed 128 bits. The result is a list of digits in
/// base 10^9, the least significant digit first.
fn product(a: i128, b: i128) -> Vec<u64> {
    let limbs = |number: i128| {
        let mut rest = number.unsigned_abs();
        let mut limbs = Vec::new();
        while rest > 0 {
            limbs.push((rest % 1_000_000_000) as u64);
            rest /= 1_000_000_000;
        }
        limbs
    };
    let (a, b) = (limbs(a), limbs(b));
    let mut sum = vec![0_u64; a.len() + b.len() + 1];
    for (i, x) in a.iter().enumerate() {
        let mut carry = 0;
        for (j, y) in b.iter().chain([&0, &0]).enumerate().take(sum.len() - i) {
            let total = sum[i + j] + x * y + carry;
            (sum[i + j], carry) = (total % 1_000_000_000, total / 1_000_000_000);
        }
    }
    sum
}

/// Compares random products with schoolbook arithmetic. Checks quotients, sums and remainders by
/// the inverse operation.
#[test]
fn products_have_all_their_digits() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 16
    };
    let mut exact = 0;
    for _ in 0..20_000 {
        let mut number = || {
            let digits = 1 + next() % 28;
            let mantissa = (0..digits).fold(0_i128, |sum, _| 10 * sum + i128::from(next() % 10));
            let mantissa = if next() % 4 == 0 { 1_i128 << (next() % 93) } else { mantissa };
            Decimal::from_parts(mantissa, (next() % 29) as i64).or(Some(Decimal::ZERO))
        };
        let (Some(a), Some(b)) = (number(), number()) else { continue };
        let limbs = product(a.mantissa(), b.mantissa());
        let digits: String = limbs.iter().rev().map(|limb| format!("{limb:09}")).collect();
        let expected = Decimal::parse(&format!("{digits}e-{}", a.scale() + b.scale()));
        assert_eq!(a.checked_mul(b), expected, "{a} * {b}");
        exact += usize::from(expected.is_some());
        if let Some(quotient) =
            expected.and_then(|product| product.checked_div(b)).filter(|_| b != Decimal::ZERO)
        {
            assert_eq!(quotient, a, "{a} * {b} / {b}");
        }
        let (Some(sum), Some(rest)) = (a.checked_add(b), a.checked_rem(b)) else { continue };
        assert_eq!(sum.checked_sub(b), Some(a), "{a} + {b} - {b}");
        assert!(rest < b && (rest == a || a.checked_sub(rest).is_none_or(|whole| whole >= b)), "{a} % {b}");
    }
    assert!(exact > 5_000, "{exact}");
}
