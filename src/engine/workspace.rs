//! The working memory of decisions. Each session has its own; decisions without a session use the
//! memory of their thread.

use rulec_vm::input::InputScratch;
use rulec_vm::vm::{RootedScratch, Scratch};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory that is reused from one decision to the next, for any rule set and message.
#[derive(Default)]
pub(crate) struct Workspace {
    pub machine: Scratch,
    /// The buffers that messages are read into.
    pub input: InputScratch,
    /// The VM memory for live rules, one per segment.
    pub segments: Vec<Scratch>,
    /// The buffers that payloads are read into.
    pub rooted: RootedScratch,
}

/// A thread's workspace, and the number of the thread.
struct Home {
    thread: usize,
    workspace: Workspace,
}

thread_local! {
    /// Empty while in use, so a host function that decides gets a new workspace.
    static HOME: RefCell<Option<Box<Home>>> = const { RefCell::new(None) };
}

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Runs `work` with this thread's workspace and the number of the thread.
pub(super) fn with_thread<T>(work: impl FnOnce(&mut Workspace, usize) -> T) -> T {
    let mut home = HOME.with(RefCell::take).unwrap_or_else(|| {
        Box::new(Home { thread: NEXT.fetch_add(1, Ordering::Relaxed), workspace: Workspace::default() })
    });
    let result = work(&mut home.workspace, home.thread);
    HOME.with(|cell| cell.replace(Some(home)));
    result
}
