//! Compiled code: the memory it lies in, how values lie in memory, the [`Machine`] that it is given, and
//! the call into it.
//!
//! This is the only file of the engine with unsafe code. It holds what cannot be said otherwise: that
//! bytes at an address are a function (`enter`), that nobody runs a module's code any more when its
//! memory is freed (`drop`), and what the bytes of a [`Value`] are (`byte_of`, `word_of`, evaluated by
//! the compiler, which refuses to read what is not there).

#![allow(unsafe_code, reason = "calling machine code and freeing it can be written no other way")]

use super::JitError;
use cranelift_jit::JITModule;
use memchr::memmem::Finder;
use rulec_eval::host::Host;
use rulec_lang::value::Value;
use rulec_sema::hir::TableId;
use rulec_vm::bytecode::Bytecode;
use rulec_vm::bytecode::chunk::Pred;
use rulec_vm::bytecode::pools::{Matcher, MemberSet};
use rulec_vm::vm::Message;
use rulec_vm::vm::compiled::{Cells, LateVm, Memo};
use std::any::Any;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

/// The layout of values in memory, as compiled code reads them.
pub(super) mod layout {
    use super::*;

    /// Bytes of a value, and of a slot's place.
    pub const SIZE: usize = size_of::<Value<'static>>();
    /// The offset of the payload: a bool is one byte, a number eight, a text its address.
    pub const PAYLOAD: usize = 8;
    /// The offset of a text's length.
    pub const LENGTH: usize = 16;

    /// The tag of a value.
    pub const MISSING: u8 = byte_of(&Value::Missing, 0);
    pub const BOOL: u8 = byte_of(&Value::Bool(true), 0);
    pub const INT: u8 = byte_of(&Value::Int(0), 0);
    pub const FLOAT: u8 = byte_of(&Value::Float(0.0), 0);
    pub const STR: u8 = byte_of(&Value::Str(""), 0);
    pub const DATETIME: u8 = byte_of(&Value::DateTime(time::OffsetDateTime::UNIX_EPOCH), 0);
    pub const VERSION: u8 = byte_of(&Value::Version(""), 0);
    pub const JSON_LIST: u8 = byte_of(&Value::JsonList(&[]), 0);
    pub const LIST: u8 = byte_of(&Value::List(&[]), 0);
    pub const ENTRIES: u8 = byte_of(&Value::Entries(&[]), 0);
    /// The tag of a slot's place that is still empty. No value has it.
    pub const UNREAD: u8 = byte_of(&None::<Value<'static>>, 0);

    /// A byte of something.
    const fn byte_of<T>(it: &T, at: usize) -> u8 {
        assert!(at < size_of::<T>());
        // SAFETY: the byte lies inside what the reference points to. This runs while rulec is
        // compiled, and reading a byte without a value is an error then.
        unsafe { *std::ptr::from_ref(it).cast::<u8>().add(at) }
    }

    /// Eight bytes of something.
    const fn word_of<T>(it: &T, at: usize) -> u64 {
        assert!(at + 8 <= size_of::<T>() && at.is_multiple_of(8) && align_of::<T>() == 8);
        // SAFETY: as for `byte_of`; the address is a multiple of eight.
        unsafe { *std::ptr::from_ref(it).cast::<u8>().add(at).cast::<u64>() }
    }

    // What lowering takes for granted. That a text's length stands behind its address follows from
    // the length being readable there: the compiler does not read an address as a number.
    const _: () = {
        assert!(SIZE == 24 && size_of::<Option<Value<'static>>>() == SIZE);
        assert!(word_of(&Value::Int(-7), PAYLOAD) == -7_i64 as u64);
        assert!(word_of(&Value::Float(2.5), PAYLOAD) == 2.5_f64.to_bits());
        assert!(byte_of(&Value::Bool(true), PAYLOAD) == 1 && byte_of(&Value::Bool(false), PAYLOAD) == 0);
        assert!(word_of(&Value::Str("abc"), LENGTH) == 3 && size_of::<usize>() == 8);
        assert!(word_of(&Some(Value::Int(-7)), PAYLOAD) == -7_i64 as u64);
        assert!(byte_of(&Some(Value::Int(-7)), 0) == INT && byte_of(&Some(Value::Str("")), 0) == STR);
        assert!(MISSING == 0 && FLOAT == INT + 1 && UNREAD > ENTRIES);
        // So that the address of the answers stands in front of their number.
        assert!(word_of(&([1_u8, 2, 3].as_slice()), 8) == 3 && size_of::<&[u8]>() == 16);
    };
}

/// A compiled search of a part of a table: the machine, and the route to begin with. The answer is
/// the number of the instruction of bytecode that ends it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search(unsafe extern "C" fn(*mut c_void, usize) -> u64);

/// A part of a table, compiled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    /// The position of its first route.
    pub first: u32,
    pub search: Search,
}

/// A module, in the making or finished, whose memory is freed with it: by itself it would be kept for good.
pub(super) struct Owned(ManuallyDrop<JITModule>);

impl Owned {
    pub fn new(module: JITModule) -> Owned {
        Owned(ManuallyDrop::new(module))
    }
}

impl Deref for Owned {
    type Target = JITModule;

    fn deref(&self) -> &JITModule {
        &self.0
    }
}

impl DerefMut for Owned {
    fn deref_mut(&mut self) -> &mut JITModule {
        &mut self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: nobody sees the module after this. Addresses of its functions are kept by a `JitCode` alone, in
        // `tables`, beside the module; whoever runs the code borrows the `JitCode`, so nobody does.
        unsafe { ManuallyDrop::take(&mut self.0).free_memory() }
    }
}

/// The compiled tables of one rule set. Holds the bytecode, whose constants the code refers to, and
/// frees its memory when dropped.
pub struct JitCode {
    bytecode: Arc<Bytecode>,
    /// For each table its segments, in the order its routes are tried; the last one ends with the
    /// table's default.
    tables: Vec<Box<[Segment]>>,
    /// The memory that the code lies in; kept, never looked at. Behind a lock, since a module may be sent but not shared.
    _module: Mutex<Owned>,
    size: usize,
}

impl JitCode {
    /// Takes over a module whose functions have their final addresses; `tables` refer to them.
    pub(super) fn new(
        bytecode: Arc<Bytecode>,
        module: Owned,
        tables: &[Vec<(u32, cranelift_module::FuncId)>],
        size: usize,
    ) -> Result<JitCode, JitError> {
        let search = |id: cranelift_module::FuncId| {
            // SAFETY: the module has compiled the function with this signature and in the calling
            // convention of `extern "C"`, and finished it. Its memory lives as long as `module`,
            // which is freed only with the `JitCode`, and only `enter` calls it.
            Search(unsafe {
                std::mem::transmute::<*const u8, unsafe extern "C" fn(*mut c_void, usize) -> u64>(
                    module.get_finalized_function(id),
                )
            })
        };
        let segment = |(first, id): &(u32, _)| Segment { first: *first, search: search(*id) };
        let tables = tables.iter().map(|parts| parts.iter().map(segment).collect()).collect();
        Ok(JitCode { bytecode, tables, _module: Mutex::new(module), size })
    }

    pub fn bytecode(&self) -> &Bytecode {
        &self.bytecode
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub(super) fn segments(&self, table: usize) -> &[Segment] {
        self.tables.get(table).map_or(&[], |segments| segments)
    }
}

impl std::fmt::Debug for JitCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JitCode({} tables, {} bytes)", self.tables.len(), self.size)
    }
}

/// A decision by compiled code. The fields in front are read by the code, at fixed offsets.
#[repr(C)]
pub struct Machine<'a, M: Message<'a>> {
    /// The values of the program's slots, 24 bytes each.
    pub(super) slots: *const Value<'a>,
    /// The cells that keep answers, stamped with the decision's number.
    pub(super) memo: Memo<'a>,
    pub(super) helpers: &'a Helpers<'a, M>,
    /// The value that [`Helpers::eval`] computed last.
    pub(super) result: Value<'a>,
    pub(super) code: &'a JitCode,
    pub(super) hosts: &'a [Host],
    pub(super) vm: LateVm<'a, M>,
    /// The slots of a message that is read when asked.
    pub(super) lent: Option<Lent<'a>>,
    pub(super) panic: Option<Box<dyn Any + Send>>,
}

/// The slots' places, and where they are kept between decisions.
pub(super) struct Lent<'a> {
    pub cells: Cells<'a>,
    pub home: &'a mut Cells<'static>,
}

/// The functions that compiled code calls through a table, since they depend on the kind of message.
/// Truth values are numbers as in [`Tri`]; booleans 0 and 1.
#[repr(C)]
pub struct Helpers<'a, M: Message<'a>> {
    /// Reads a slot; the answer means nothing.
    pub(super) load: extern "C" fn(&mut Machine<'a, M>, usize) -> u64,
    /// Answers a predicate anew, by the VM.
    pub(super) test: extern "C" fn(&mut Machine<'a, M>, usize) -> u64,
    /// Tests a loop's condition, by the VM.
    pub(super) each: extern "C" fn(&mut Machine<'a, M>, usize) -> u64,
    /// Computes a value block, by the VM.
    pub(super) eval: extern "C" fn(&mut Machine<'a, M>, usize) -> *const Value<'a>,
    /// Tests a text predicate on a slot's text.
    pub(super) holds: extern "C" fn(&mut Machine<'a, M>, &Matcher, &Value<'a>) -> u64,
    /// Tests a text predicate on a slot's text once it is prepared.
    pub(super) prepared: extern "C" fn(&mut Machine<'a, M>, &Pred, &Matcher, &Value<'a>) -> u64,
    /// Tests that a slot's text holds a keyword.
    pub(super) find: extern "C" fn(&mut Machine<'a, M>, &Finder<'static>, &Value<'a>) -> u64,
    /// Tests that a slot's list has a text.
    pub(super) has: extern "C" fn(&mut Machine<'a, M>, &Arc<str>, &Value<'a>) -> u64,
    /// Tests that a slot's text is one of a set.
    pub(super) member: extern "C" fn(&mut Machine<'a, M>, &MemberSet, &Value<'a>) -> u64,
    /// Tests that a slot's text is a constant.
    pub(super) same: extern "C" fn(&mut Machine<'a, M>, &Arc<str>, &Value<'a>) -> u64,
    /// The order of an integer and a float: -1, 0 or 1.
    pub(super) order: extern "C" fn(i64, f64) -> i64,
    /// The remainder of two floats.
    pub(super) rem: extern "C" fn(f64, f64) -> f64,
}

/// The code of one table, for whoever decides by it again and again.
#[derive(Debug)]
pub struct EntryCode {
    pub(super) code: Arc<JitCode>,
    pub(super) table: TableId,
    /// The table's first segment.
    search: Search,
    /// The numbers of slots and of answers that it asks for.
    pub(super) slots: usize,
    pub(super) answers: usize,
}

impl EntryCode {
    /// The code of a table; `None` when there is none.
    pub fn new(code: &Arc<JitCode>, table: TableId) -> Option<EntryCode> {
        let search = code.segments(table.index()).first()?.search;
        let chunk = code.bytecode().chunk();
        let (slots, answers) = (chunk.slots.len(), chunk.memo_len());
        Some(EntryCode { code: Arc::clone(code), table, search, slots, answers })
    }

    /// Runs the first segment for a machine of this code.
    #[inline(always)]
    pub(super) fn enter<'a, M: Message<'a> + 'a>(&self, machine: &mut Machine<'a, M>) -> Option<u64> {
        std::ptr::eq(machine.code, &*self.code).then(|| machine.call(self.search, 0))
    }
}

impl<'a, M: Message<'a> + 'a> Machine<'a, M> {
    /// Runs a segment of the machine's own code from a route on.
    #[inline]
    pub(super) fn enter(&mut self, segment: usize, table: usize, from: usize) -> Option<u64> {
        let Segment { search, .. } = *self.code.segments(table).get(segment)?;
        Some(self.call(search, from))
    }

    /// Runs a part of the machine's own code.
    #[inline(always)]
    fn call(&mut self, Search(search): Search, from: usize) -> u64 {
        // SAFETY: the code was compiled from verified bytecode for a machine of this layout, whose
        // fields in front point to a value for every slot and a cell for every answer of that
        // bytecode (its constructors see to that) and to helpers for its own kind of message. It
        // refers to constants of the bytecode, which `code` keeps alive. No helper unwinds.
        let answer = unsafe { search(std::ptr::from_mut(self).cast(), from) };
        if self.panic.is_some() {
            self.resume();
        }
        answer
    }

    /// Goes on with a panic that a helper caught.
    #[cold]
    fn resume(&mut self) {
        if let Some(panic) = self.panic.take() {
            std::panic::resume_unwind(panic);
        }
    }
}
