//! An order workflow. The choice in `orders.rules` selects the next step of each order from the
//! results of the earlier steps. It also reports the conditions that it had to skip.
//!
//! `cargo run --example orders`

use rulec::Rules;
use serde_json::Value as Json;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let rules = Rules::from_path(folder.join("orders.rules"))?;
    let choice = rules.entry("next_step")?;

    for line in std::fs::read_to_string(folder.join("orders.jsonl"))?.lines() {
        let message: Json = serde_json::from_str(line)?;
        let decision = choice.decide(&message);
        // The name of the chosen branch; empty if no branch matches and there is no default.
        let branch = decision.branch().unwrap_or_default();
        let default = if decision.is_default() { "  (the default)" } else { "" };
        let id = message["steps"]["order"]["id"].as_str().unwrap_or("?");
        println!("{id} → {branch}{default}");
        for skipped in choice.skipped(&message) {
            println!("    {:<13} skipped `{}`", skipped.branch, skipped.condition);
            println!("    {:<13} because {}", "", skipped.reason);
        }
        println!();
    }

    // Print the explanation as `rulec why` prints it.
    let held_up = r#"{"steps": {"payment": {"status": "paid"}, "stock": {"missing": 0}, "customs": {"cleared": false}}}"#;
    println!("{}", choice.explain(&serde_json::from_str(held_up)?, false));
    Ok(())
}
