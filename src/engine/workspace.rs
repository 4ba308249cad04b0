//! The working memory of decisions without a session. Each thread reuses its own working memory, so
//! that a decision need not allocate.

use rulec_vm::vm::Scratch;
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory that a thread reuses from one decision to the next, for any rule set and message.
pub(crate) struct ThreadWorkspace {
    /// The number of the thread. Each rule set has several reference counters, and the number
    /// selects the counter that this thread uses.
    pub thread_number: usize,
    pub scratch: Scratch,
    /// The working memory for live rules, one element per segment (group of routes compiled
    /// together).
    pub segment_scratches: Vec<Scratch>,
}

thread_local! {
    /// The reusable memory of this thread. It is `None` while a decision uses it. So if a function
    /// of the embedding program makes a decision inside a decision, that decision gets new memory.
    static THREAD_WORKSPACE: RefCell<Option<Box<ThreadWorkspace>>> = const { RefCell::new(None) };
}

static NEXT_THREAD_NUMBER: AtomicUsize = AtomicUsize::new(0);

impl ThreadWorkspace {
    /// Calls `work` with the working memory of this thread, and returns the result of `work`.
    pub fn with_current<T>(work: impl FnOnce(&mut ThreadWorkspace) -> T) -> T {
        let mut workspace = THREAD_WORKSPACE.with(RefCell::take).unwrap_or_else(|| {
            let thread = NEXT_THREAD_NUMBER.fetch_add(1, Ordering::Relaxed);
            Box::new(ThreadWorkspace {
                thread_number: thread,
                scratch: Scratch::new(),
                segment_scratches: Vec::new(),
            })
        });
        let result = work(&mut workspace);
        THREAD_WORKSPACE.with(|cell| cell.replace(Some(workspace)));
        result
    }
}
