//! Embeds rules in a program in twenty lines. The program compiles the rules once and decides many
//! times.
//!
//! `cargo run --example embed`

use rulec::Rules;
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rules = Rules::from_text(
        r#"
        route refund priority 10 when text contains word any ["refund", "退款"] ignoring case -> billing(order: ctx.order)
        route urgent when text contains any ["urgent", "asap"] ignoring case and ctx.plan in ["pro", "team"] -> on_call
        default -> chat
        "#,
    )?;
    for message in [
        json!({"text": "Refund, please", "ctx": {"order": 17}}),
        json!({"text": "URGENT: it is down", "ctx": {"plan": "pro"}}),
        json!({"text": "URGENT: it is down"}),
    ] {
        let decision = rules.decide(&message);
        println!("{}", serde_json::to_string(&decision)?);
    }
    println!("\n{}", rules.explain(&json!({"text": "URGENT: it is down"})));
    Ok(())
}
