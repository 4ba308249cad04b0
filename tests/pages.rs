//! Tests of the memory pages for JIT code. Pages are never writable and executable at once. If the
//! system refuses executable pages, the VM gives the same answers, and the failed attempt leaves no
//! pages allocated.
//!
//! A process may place pages with code anywhere in memory. So the test's allocator places each
//! allocation farther from the previous one than a near call can reach.
#![cfg(all(target_os = "linux", feature = "jit"))]
#![allow(
    unsafe_code,
    reason = "an allocator, and asking the kernel to refuse executable pages as a hardened machine does"
)]

use rulec::{Backend, Rules, Tier};
use serde_json::json;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// An allocator that places page-aligned allocations 4 GiB apart, as in a process with much memory.
struct FarAllocator;

const PAGE_BYTES: usize = 4096;
/// Number of page-aligned allocations so far (`ALLOCATED_PAGES`) and currently live (`HELD`).
static ALLOCATED_PAGES: AtomicUsize = AtomicUsize::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the kernel returns each mapping only once, and `dealloc` unmaps it. All other calls are
// forwarded to the system allocator.
unsafe impl GlobalAlloc for FarAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() < PAGE_BYTES {
            // SAFETY: the caller upholds the contract of `alloc`.
            return unsafe { System.alloc(layout) };
        }
        HELD.fetch_add(1, Ordering::SeqCst);
        let at = (0x2000 + ALLOCATED_PAGES.fetch_add(1, Ordering::SeqCst)) << 32;
        let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: without `MAP_FIXED` the address is only a hint, so no mapping is replaced.
        let pages =
            unsafe { libc::mmap(std::ptr::without_provenance_mut(at), layout.size(), rights, kind, -1, 0) };
        if pages == libc::MAP_FAILED { std::ptr::null_mut() } else { pages.cast() }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if layout.align() < PAGE_BYTES {
            // SAFETY: the caller upholds the contract of `dealloc`.
            return unsafe { System.dealloc(pointer, layout) };
        }
        HELD.fetch_sub(1, Ordering::SeqCst);
        // SAFETY: `alloc` returned these pages.
        unsafe { libc::munmap(pointer.cast(), layout.size()) };
    }
}

#[global_allocator]
static ALLOCATOR: FarAllocator = FarAllocator;

/// Returns routes that share conditions. Each shared condition is compiled to a function; together
/// the functions take more than one page.
fn shared_rules() -> String {
    let condition =
        |at: u32| format!("(n * {at} > 90 or text contains \"a{at}\" or text starts_with \"b{at}\")");
    let route =
        |(at, of): (u32, u32)| format!("route r{at}_{of} when m == {of} and {} -> h{at}\n", condition(at));
    (0..40).flat_map(|at| [(at, 1), (at, 2)]).map(route).collect::<String>() + "default -> few"
}

const TEXT: &str = "route many when n * 2 > 9 and text contains \"a\" -> many(n: n)\ndefault -> few";

fn decide_all(rules: &Rules) -> Vec<String> {
    let messages = [json!({"n": 7, "text": "a"}), json!({"n": 7, "text": "b"}), json!({"n": 1}), json!({})];
    messages.iter().map(|message| serde_json::to_string(&rules.decide(message)).expect("JSON")).collect()
}

/// Returns the memory mappings of this process that are both writable and executable.
fn decide_both() -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the kernel tells");
    assert!(maps.contains(" r-xp "), "a process has executable pages");
    let rights = |line: &&str| {
        line.split(' ').nth(1).is_some_and(|rights| rights.contains('w') && rights.contains('x'))
    };
    maps.lines().filter(rights).map(str::to_owned).collect()
}

/// Checks both promises in a single test, because the `prctl` setting applies to the whole process
/// and cannot be undone.
#[test]
fn pages_are_writable_or_executable_and_who_gets_none_decides_alike() {
    let rules = Rules::from_text(TEXT).expect("it compiles");
    let expected = decide_all(&rules.with_tier(Tier::Reference));
    let compiled = rules.with_tier(Tier::Jit);
    compiled.warm_up().expect("this machine has executable pages");
    assert_eq!(compiled.main().backend(false), Backend::Jit);
    assert_eq!((decide_all(&compiled), decide_both()), (expected.clone(), Vec::new()));

    let many = Rules::from_text(&shared_rules()).expect("it compiles");
    let (given, held) = (ALLOCATED_PAGES.load(Ordering::SeqCst), HELD.load(Ordering::SeqCst));
    let by_code = many.with_tier(Tier::Jit);
    by_code.warm_up().expect("code may lie anywhere");
    assert!(ALLOCATED_PAGES.load(Ordering::SeqCst) > given + 2, "several pieces of memory");
    for message in (0..40).map(|n| json!({"n": n, "m": n % 3, "text": format!("a{n}")})) {
        let [code, reference] = [&by_code, &many.with_tier(Tier::Reference)]
            .map(|rules| serde_json::to_string(&rules.decide(&message)).expect("JSON"));
        assert_eq!(code, reference, "{message}");
    }
    drop((by_code, many));
    assert_eq!(HELD.load(Ordering::SeqCst), held, "code is freed with its rules");

    // SAFETY: the call restricts later mappings and accesses no memory.
    let refused = unsafe { libc::prctl(libc::PR_SET_MDWE, libc::PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) };
    if refused != 0 {
        // Kernels before 6.3 do not support this setting.
        println!("not tried: {}", std::io::Error::last_os_error());
        return;
    }
    let rules = Rules::from_text(TEXT).expect("it compiles");
    let error = rules.with_tier(Tier::Jit).warm_up().expect_err("there are no executable pages");
    assert!(!error.to_string().is_empty());
    // Code compiled before the call still runs. In automatic mode the VM decides, however many
    // decisions are made.
    assert_eq!(decide_all(&compiled), expected);
    for _ in 0..5_000 {
        assert_eq!(decide_all(&rules), expected);
    }
    assert_ne!(rules.main().backend(false), Backend::Jit);
    assert_eq!(decide_all(&rules.with_tier(Tier::Jit)), expected);
    assert_eq!(HELD.load(Ordering::SeqCst), held, "what could not be made executable is freed");
}
