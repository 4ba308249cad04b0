//! The pages of memory that machine code lies in: never writable and executable at once; and a machine that refuses
//! executable pages has the same answers, by the bytecode machine, and keeps nothing of what it tried. Pieces of memory may
//! lie anywhere: here each is further from the one before than a near call reaches.
#![cfg(all(target_os = "linux", feature = "jit"))]
#![allow(
    unsafe_code,
    reason = "an allocator, and asking the kernel to refuse executable pages as a hardened machine does"
)]

use rulec::{Backend, Rules, Tier};
use serde_json::json;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// An allocator that gives whole pages four gigabytes apart, as they may lie in a process with much memory.
struct Far;

const PAGE: usize = 4096;
/// The pieces of pages that were given out, and those that are held.
static GIVEN: AtomicUsize = AtomicUsize::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: pages come from the kernel, which gives none twice, and go back to it; all else is passed on to the system's allocator.
unsafe impl GlobalAlloc for Far {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() < PAGE {
            // SAFETY: the caller's promise is passed on.
            return unsafe { System.alloc(layout) };
        }
        HELD.fetch_add(1, Ordering::SeqCst);
        let at = (0x2000 + GIVEN.fetch_add(1, Ordering::SeqCst)) << 32;
        let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: the address is a wish, so that no other mapping is replaced.
        let pages =
            unsafe { libc::mmap(std::ptr::without_provenance_mut(at), layout.size(), rights, kind, -1, 0) };
        if pages == libc::MAP_FAILED { std::ptr::null_mut() } else { pages.cast() }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if layout.align() < PAGE {
            // SAFETY: the caller's promise is passed on.
            return unsafe { System.dealloc(pointer, layout) };
        }
        HELD.fetch_sub(1, Ordering::SeqCst);
        // SAFETY: these are the pages that `alloc` gave.
        unsafe { libc::munmap(pointer.cast(), layout.size()) };
    }
}

#[global_allocator]
static ALLOCATOR: Far = Far;

/// Routes that ask the same conditions, each of which is a function of its own: more than a page of code.
fn shared() -> String {
    let condition =
        |at: u32| format!("(n * {at} > 90 or text contains \"a{at}\" or text starts_with \"b{at}\")");
    let route =
        |(at, of): (u32, u32)| format!("route r{at}_{of} when m == {of} and {} -> h{at}\n", condition(at));
    (0..40).flat_map(|at| [(at, 1), (at, 2)]).map(route).collect::<String>() + "default -> few"
}

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

    let many = Rules::from_text(&shared()).expect("it compiles");
    let (given, held) = (GIVEN.load(Ordering::SeqCst), HELD.load(Ordering::SeqCst));
    let by_code = many.with_tier(Tier::Jit);
    by_code.ready().expect("code may lie anywhere");
    assert!(GIVEN.load(Ordering::SeqCst) > given + 2, "several pieces of memory");
    for message in (0..40).map(|n| json!({"n": n, "m": n % 3, "text": format!("a{n}")})) {
        let [code, reference] = [&by_code, &many.with_tier(Tier::Reference)]
            .map(|rules| serde_json::to_string(&rules.decide(&message)).expect("JSON"));
        assert_eq!(code, reference, "{message}");
    }
    drop((by_code, many));
    assert_eq!(HELD.load(Ordering::SeqCst), held, "code is freed with its rules");

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
    assert_eq!(HELD.load(Ordering::SeqCst), held, "what could not be made executable is freed");
}
