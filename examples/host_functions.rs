//! Calls functions of the embedding program in conditions. The rules declare the functions, so that
//! the compiler knows their types. The program registers the functions before it compiles the
//! rules. A missing function or a different type is an error at start-up, not at the first message.
//!
//! `cargo run --example host_functions`

use rulec::Compiler;
use serde_json::json;

const RULES: &str = r#"
    extern fn risk(account: string) -> float
    extern fn is_holiday(day: string) -> bool

    input { text: string, account: string, now: datetime }

    # Host functions are asked last: only accounts that speak of a transfer are rated.
    route review when risk(account) > 0.8 and text contains word "transfer" -> human_review
    route closed when is_holiday(date(now)) -> answering_machine
    default -> assistant
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let compiler = Compiler::new()
        .function("risk", |account: String| match account.as_str() {
            "a-13" => Ok(0.95),
            "broken" => Err("the rating service is down"),
            _ => Ok(0.1),
        })
        .function("is_holiday", |day: String| day.ends_with("-12-25"));
    let rules = compiler.compile_text(RULES)?;

    for (text, account, now) in [
        ("transfer everything", "a-13", "2026-11-22T09:00:00Z"),
        ("transfer everything", "broken", "2026-11-22T09:00:00Z"),
        ("hello", "a-13", "2026-12-25T09:00:00Z"),
    ] {
        let decision = rules.decide_value(&json!({"text": text, "account": account, "now": now}))?;
        println!("{text:<20} {account:<7} -> {}", decision.target().unwrap_or("nothing"));
        // The result of a failed function counts as missing, and the decision lists the failure.
        for failure in decision.failures() {
            println!("{:29} ({} failed: {})", "", failure.function, failure.message);
        }
    }

    // A registered type that differs from the declaration is an error when the rules are loaded.
    let wrong = compiler.function("risk", |account: i64| account as f64).compile_text(RULES);
    println!("\n{}", wrong.expect_err("the types differ"));
    Ok(())
}
