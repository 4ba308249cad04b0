//! Tests of each recognizer with texts in English and Chinese, and with texts in which it must find
//! nothing.

use super::*;
use serde_json::{Value as Json, json};

fn check(text: &str, expected: &[(&str, &str, Json)]) {
    let found: Vec<(&str, &str, Json)> = recognize_all(text, |_| true)
        .into_iter()
        .map(|(name, EntityMatch { range, fields })| (name, &text[range], Json::Object(fields)))
        .collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn links_are_found() {
    check(
        "see https://example.com/a?b=1, or www.example.org. Mail a.b@example.com!",
        &[
            ("url", "https://example.com/a?b=1", json!({})),
            ("url", "www.example.org", json!({})),
            ("email", "a.b@example.com", json!({})),
        ],
    );
    check(
        "请发到support@example.cn或者https://example.cn/帮助",
        &[("email", "support@example.cn", json!({})), ("url", "https://example.cn/", json!({}))],
    );
    check("the file report.pdf and a @ b", &[]);
    check(
        "call http://[::1]/, or (https://u:p@[2001:db8::1]:8443/a?b=[1]#c).",
        &[
            ("url", "http://[::1]/", json!({})),
            ("url", "https://u:p@[2001:db8::1]:8443/a?b=[1]#c", json!({})),
        ],
    );
    assert!(recognize_all("http://[::1::2]/x", |_| true).iter().all(|(name, _)| *name != "url"));
    // A link that contains another URL stays whole. Only a parenthesis that the URL opens ends it.
    check("http://example.com/http://[::1]/", &[("url", "http://example.com/http://[::1]/", json!({}))]);
    check("http://u@[::1]/a(b)", &[("url", "http://u@[::1]/a(b)", json!({}))]);
    check("(see http://[::1]/a(b)).", &[("url", "http://[::1]/a(b)", json!({}))]);
    check("打开http://[fe80::1]/路径", &[("url", "http://[fe80::1]/", json!({}))]);
}

#[test]
fn dates_are_found() {
    let day = |year: &str, month: &str, day: &str, date: &str| json!({"year": year, "month": month, "day": day, "date": date});
    let leap = day("2024", "2", "29", "2024-02-29");
    check("on 2024-02-29.", &[("date", "2024-02-29", leap.clone())]);
    check("2024/2/29", &[("date", "2024/2/29", leap.clone())]);
    check("他在2024年2月29日来", &[("date", "2024年2月29日", leap.clone())]);
    check("29 February 2024", &[("date", "29 February 2024", leap.clone())]);
    check("Feb 29, 2024", &[("date", "Feb 29, 2024", leap)]);
    let month = json!({"year": "2026", "month": "5"});
    check("预计 2026年5月 交付", &[("date", "2026年5月", month.clone())]);
    check("2026 年 05 月份", &[("date", "2026 年 05 月份", month)]);
    check("3月5号", &[("date", "3月5号", json!({"month": "3", "day": "5"}))]);
    check("May 3rd", &[("date", "May 3rd", json!({"month": "5", "day": "3"}))]);
    check("01/02/2026", &[("date", "01/02/2026", json!({}))]);
    check("tomorrow or next Friday", &[("date", "tomorrow", json!({})), ("date", "next Friday", json!({}))]);
    check("后天或者下周三", &[("date", "后天", json!({})), ("date", "下周三", json!({}))]);
    check(
        "2026-01-31T03:12:05Z",
        &[
            ("date", "2026-01-31", day("2026", "1", "31", "2026-01-31")),
            ("time", "03:12:05", json!({"time": "03:12:05"})),
        ],
    );
    for text in ["2026-02-30x", "maybe", "id-2026-01-311"] {
        assert!(recognize_all(text, |_| true).iter().all(|(name, _)| *name != "date"), "{text}");
    }
}

#[test]
fn times_are_found() {
    for (text, part, time) in [
        ("at 15:30", "15:30", "15:30"),
        ("at 3:05 pm", "3:05 pm", "15:05"),
        ("12 am", "12 am", "00:00"),
        ("at 9 a.m. please", "9 a.m.", "09:00"),
        ("下午3点半见", "下午3点半", "15:30"),
        ("晚上8点", "晚上8点", "20:00"),
        ("早上7时20分", "早上7时20分", "07:20"),
        ("下午5:30开会", "下午5:30", "17:30"),
        ("改到 下午 5：30 吧", "下午 5：30", "17:30"),
        // A blank before the time is no part of it.
        ("at 8点", "8点", "08:00"),
        ("在 9:15 见", "9:15", "09:15"),
    ] {
        check(text, &[("time", part, json!({ "time": time }))]);
    }
    for text in ["1:2:3", "99:99", "ratio 10:15:99.5"] {
        assert!(recognize_all(text, |_| true).iter().all(|(name, _)| *name != "time"), "{text}");
    }
}

#[test]
fn amounts_of_money_are_found() {
    for (text, part, amount, currency) in [
        ("pay $1,234.50 now", "$1,234.50", "1234.50", "USD"),
        ("20 USD", "20 USD", "20", "USD"),
        ("USD 20", "USD 20", "20", "USD"),
        ("about 30 euros", "30 euros", "30", "EUR"),
        ("退款300元", "300元", "300", "CNY"),
        ("￥3.5万", "￥3.5万", "35000", "CNY"),
        ("£2.25m", "£2.25m", "2250000", "GBP"),
        ("50美元", "50美元", "50", "USD"),
        ("costs €1.234,56 now", "€1.234,56", "1234.56", "EUR"),
        ("1.234.567,8 EUR", "1.234.567,8 EUR", "1234567.8", "EUR"),
        ("€1.234.567", "€1.234.567", "1234567", "EUR"),
        ("12,50 €", "12,50 €", "12.50", "EUR"),
        ("€1,234", "€1,234", "1234", "EUR"),
        ("€1.234", "€1.234", "1.234", "EUR"),
        ("融资1.2亿元", "1.2亿元", "120000000", "CNY"),
        ("3百万美元", "3百万美元", "3000000", "USD"),
        ("预算￥3万一年", "￥3万", "30000", "CNY"),
        ("¥5万一台", "¥5万", "50000", "CNY"),
        ("￥3万能买吗", "￥3万", "30000", "CNY"),
        ("$5万一套", "$5万", "50000", "USD"),
        ("奖金￥3 万元", "￥3 万", "30000", "CNY"),
    ] {
        check(text, &[("money", part, json!({"amount": amount, "currency": currency}))]);
    }
}

#[test]
fn phone_numbers_are_found() {
    for (text, part, digits) in [
        ("call +1 (415) 555-0132", "+1 (415) 555-0132", "+14155550132"),
        ("电话13812345678。", "13812345678", "13812345678"),
        ("010-12345678", "010-12345678", "01012345678"),
        ("415-555-0132", "415-555-0132", "4155550132"),
        ("(415) 555-0132", "(415) 555-0132", "4155550132"),
        ("+44 20 7946 0958", "+44 20 7946 0958", "+442079460958"),
    ] {
        check(text, &[("phone", part, json!({ "digits": digits }))]);
    }
    for text in ["order 138123456789", "1.415.555.0132.7", "12345"] {
        assert!(recognize_all(text, |_| true).iter().all(|(name, _)| *name != "phone"), "{text}");
    }
}

#[test]
fn numbers_are_found_outside_of_other_words() {
    let number = |text: &str| json!({ "number": text });
    check(
        "3 of 1,200.5 or -4",
        &[
            ("number", "3", number("3")),
            ("number", "1,200.5", number("1200.5")),
            ("number", "-4", number("-4")),
        ],
    );
    check(
        "营收1.2亿，用户 3.5 万",
        &[("number", "1.2亿", number("120000000")), ("number", "3.5 万", number("35000"))],
    );
    check("-2千万", &[("number", "-2千万", number("-20000000"))]);
    // A unit is not the start of the next word, and none follows an exponent.
    check("2026 万圣节快乐", &[("number", "2026", number("2026"))]);
    check("买3 万宝路", &[("number", "3", number("3"))]);
    check("买3万宝路", &[("number", "3", number("3"))]);
    for (text, part, value) in [
        ("工资3万一个月", "3万", "30000"),
        ("5万能行吗", "5万", "50000"),
        ("用户 3.5 万人", "3.5 万", "35000"),
        ("浏览 10 万次", "10 万", "100000"),
        ("1.2 亿用户", "1.2 亿", "120000000"),
        ("3 万圣诞树", "3 万", "30000"),
        ("2026万年历", "2026", "2026"),
        ("2 千万富翁", "2", "2"),
    ] {
        check(text, &[("number", part, number(value))]);
    }
    check("1.5e3万", &[("number", "1.5e3", number("1.5e3"))]);
    check("1.234,56 or 1e3", &[("number", "1.234,56", number("1234.56")), ("number", "1e3", number("1e3"))]);
    check("买3个", &[("number", "3", number("3"))]);
    check("up 12.5%", &[("number", "12.5%", json!({"number": "12.5", "percent": "12.5"}))]);
    check("v2 x86 1.2.3 10.0.0.1 a_1", &[]);
}

#[test]
fn a_name_that_the_rules_declare_is_left_to_them() {
    let found = recognize_all("a@example.com 5", |name| name != "email");
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["number"]);
}

/// The recognizers run over every text, so their work is part of the limits.
#[test]
fn the_work_for_each_byte_is_known() {
    assert!((100..20_000).contains(&*RECOGNIZER_WORK_PER_BYTE), "{}", *RECOGNIZER_WORK_PER_BYTE);
}
