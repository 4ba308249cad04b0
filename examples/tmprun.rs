fn main() {
    let path = std::env::args().nth(1).unwrap();
    let rules = match rulec::Compiler::new().allow_missing_functions().compile_path(&path) {
        Ok(r) => r,
        Err(e) => {
            println!("{e}");
            return;
        }
    };
    for w in rules.warnings() {
        println!("{} {}", w.code, w.message);
    }
    for t in rules.run_tests() {
        println!("{} {} exp {} act {}", t.passed, t.name, t.expected, t.actual);
        if let Some(e) = t.explanation {
            println!("{e}");
        }
    }
    let mut ok = [0, 0];
    let mut n = [0, 0];
    if let Some(f) = std::env::args().nth(2) {
        let reference = rules.with_tier(rulec::Tier::Reference);
        for line in std::fs::read_to_string(f).unwrap().lines() {
            let m: serde_json::Value = serde_json::from_str(line).unwrap();
            let d = rules.decide(&m);
            assert_eq!(d.chosen(), reference.decide(&m).chosen());
            if let Some(i) = m.get("intent").and_then(|i| i.as_str()) {
                if i == "oos" {
                    n[1] += 1;
                    if !d.is_default() {
                        ok[1] += 1
                    }
                } else if rules.program().handlers.as_ref().unwrap().iter().any(|h| &*h.name == i) {
                    n[0] += 1;
                    if d.target() == Some(i) {
                        ok[0] += 1
                    }
                }
            } else {
                println!("{}", serde_json::to_string(&d).unwrap());
            }
        }
        println!("{ok:?} {n:?}");
    }
}
