//! The pages of memory that machine code lies in: never writable and executable at once; and a machine that refuses
//! executable pages has the same answers, by the bytecode machine.
#![cfg(all(target_os = "linux", feature = "jit"))]
#![allow(unsafe_code, reason = "the kernel is asked to refuse executable pages, as a hardened machine does")]

use rulec::{Backend, Rules, Tier};
use serde_json::json;

const TEXT: &str = "route many when n * 2 > 9 and text contains \"a\" -> many(n: n)\ndefault -> few";

fn answers(rules: &Rules) -> Vec<String> {
    let messages = [json!({"n": 7, "text": "a"}), json!({"n": 7, "text": "b"}), json!({"n": 1}), json!({})];
    messages.iter().map(|message| serde_json::to_string(&rules.decide(message)).expect("JSON")).collect()
}

/// The mappings of this process that are writable and executable.
fn both() -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the kernel tells");
    assert!(maps.contains(" r-xp "), "a process has executable pages");
    let rights = |line: &&str| {
        line.split(' ').nth(1).is_some_and(|rights| rights.contains('w') && rights.contains('x'))
    };
    maps.lines().filter(rights).map(str::to_owned).collect()
}

/// One test, since what the kernel is asked for holds for the whole process and for good.
#[test]
fn pages_are_writable_or_executable_and_who_gets_none_decides_alike() {
    let rules = Rules::from_text(TEXT).expect("it compiles");
    let expected = answers(&rules.with_tier(Tier::Reference));
    let compiled = rules.with_tier(Tier::Jit);
    compiled.ready().expect("this machine has executable pages");
    assert_eq!(compiled.main().backend(false), Backend::Jit);
    assert_eq!((answers(&compiled), both()), (expected.clone(), Vec::new()));

    // SAFETY: it changes what later mappings may be, and no memory.
    let refused = unsafe { libc::prctl(libc::PR_SET_MDWE, libc::PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) };
    if refused != 0 {
        // Kernels before 6.3 cannot.
        println!("not tried: {}", std::io::Error::last_os_error());
        return;
    }
    let rules = Rules::from_text(TEXT).expect("it compiles");
    let error = rules.with_tier(Tier::Jit).ready().expect_err("there are no executable pages");
    assert!(!error.to_string().is_empty());
    // Code that was made before goes on, and by itself the bytecode machine decides, however often.
    assert_eq!(answers(&compiled), expected);
    for _ in 0..5_000 {
        assert_eq!(answers(&rules), expected);
    }
    assert_ne!(rules.main().backend(false), Backend::Jit);
    assert_eq!(answers(&rules.with_tier(Tier::Jit)), expected);
}
