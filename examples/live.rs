//! Rules that change while they serve. Two threads decide while a third thread edits the rules.
//! Every message gets an answer.
//!
//! `cargo run --example live`

use rulec::{Compiler, LiveRules};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const RULES: &str = r#"
input { text: string  ctx?: { user?: { role: string } } }

let is_staff = ctx.user.role == "staff"

route refund priority 10 when text contains any ["refund", "money back"] -> billing
route staff when is_staff -> back_office
default -> chat
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rules = LiveRules::from_text(Compiler::new(), RULES)?;
    let message = json!({"text": "my parcel is late, I want my money back"});
    let done = AtomicBool::new(false);

    let counts = thread::scope(|scope| {
        let decide = || {
            let mut counts = BTreeMap::<String, usize>::new();
            while !done.load(Ordering::Relaxed) {
                let decision = rules.decide(&message);
                *counts.entry(decision.target().unwrap_or("nobody").to_owned()).or_default() += 1;
            }
            counts
        };
        let threads = [scope.spawn(decide), scope.spawn(decide)];

        let edit = || -> Result<(), Box<dyn std::error::Error>> {
            thread::sleep(Duration::from_millis(20));
            // During an outage, one team gets every message about parcels.
            rules.insert(
                r#"route outage priority 100 when text contains word "parcel" and not is_staff -> logistics"#,
            )?;
            thread::sleep(Duration::from_millis(20));
            rules.replace(r#"route outage priority 100 when text contains "late" -> logistics_urgent"#)?;
            thread::sleep(Duration::from_millis(20));
            rules.remove("outage")?;
            thread::sleep(Duration::from_millis(20));
            Ok(())
        };
        let edited = edit();
        done.store(true, Ordering::Relaxed);
        edited.map(|()| {
            let mut sum = BTreeMap::<String, usize>::new();
            for counts in threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()) {
                *sum.entry(counts.0).or_default() += counts.1;
            }
            sum
        })
    })?;
    for (target, count) in counts {
        println!("{target:<18} {count} decisions");
    }

    // A rejected edit changes nothing, and the error suggests a fix.
    if let Err(error) = rules.insert("route staf_only when is_staf -> back_office") {
        println!("\n{error}");
    }
    rules.remove("staff")?;
    println!(
        "\nthe rules now:\n{}",
        rules.texts().into_iter().map(|(_, text)| text).collect::<String>().trim()
    );
    println!("\n{}", rules.explain(&message)?);
    Ok(())
}
