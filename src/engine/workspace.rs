//! The working memory of decisions: a session owns one, and each thread has one for whoever decides
//! without a session.

use rulec_vm::input::InputScratch;
use rulec_vm::vm::{RootedScratch, Scratch};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory that is kept from one decision to the next, for any rule sets and messages in turn.
#[derive(Default)]
pub(crate) struct Workspace {
    pub machine: Scratch,
    /// The memory that messages are read into.
    pub input: InputScratch,
    /// The memory of the machines of live rules, one for each segment.
    pub segments: Vec<Scratch>,
    /// The memory that payloads are read into.
    pub rooted: RootedScratch,
}

/// A thread's own workspace, and the thread's number.
struct Home {
    thread: usize,
    workspace: Workspace,
}

thread_local! {
    /// Taken out while it is used, so that a host function may decide as well.
    static HOME: RefCell<Option<Box<Home>>> = const { RefCell::new(None) };
}

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Lends this thread's workspace, with the thread's number.
pub(super) fn with_thread<T>(work: impl FnOnce(&mut Workspace, usize) -> T) -> T {
    let mut home = HOME.with(RefCell::take).unwrap_or_else(|| {
        Box::new(Home { thread: NEXT.fetch_add(1, Ordering::Relaxed), workspace: Workspace::default() })
    });
    let result = work(&mut home.workspace, home.thread);
    HOME.with(|cell| cell.replace(Some(home)));
    result
}
