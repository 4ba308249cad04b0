//! Keeps compiled code in memory and calls it. Also defines what the code reads in memory: the
//! layout of values, and the [`Machine`], the state of a decision. A *slot* is a message field that
//! the rules read. Each slot has a *cell*, in which the compiled code finds the field's value.
//!
//! This is the only file of the engine with unsafe code, so that a review of that code has one
//! place to read. It contains what safe code cannot express:
//!
//! - Calling the bytes at an address as a function (`call_segment`).
//! - Freeing the memory of a module once no thread runs the module's code any more (`drop`).
//! - Reading the bytes of a [`Value`] (`byte_at`, `word_at`). These functions run at compile time,
//!   where reading invalid bytes is an error.

#![allow(unsafe_code, reason = "calling machine code and freeing it can be written no other way")]

use super::JitError;
use cranelift_jit::JITModule;
use memchr::memmem::Finder;
use rulec_eval::host::RegisteredFunction;
use rulec_lang::value::Value;
use rulec_sema::hir::TableId;
use rulec_vm::bytecode::Bytecode;
use rulec_vm::bytecode::chunk::Pred;
use rulec_vm::bytecode::pools::{KeywordMatcher, MemberSet};
use rulec_vm::vm::SlotValueSource;
use rulec_vm::vm::compiled::{LazyVm, Memo, ValueCells};
use std::any::Any;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

/// Offsets and tags (type markers) of a [`Value`] in memory. Compiled code reads values without
/// Rust's help, so compile-time checks in this module confirm every offset and tag.
pub(super) mod layout {
    use super::*;

    /// Size in bytes of a value. The cell that stores the value of a message field has the same
    /// size.
    pub const VALUE_SIZE: usize = size_of::<Value<'static>>();
    /// Offset in bytes of a value's payload, the data after the tag (type marker). The payload of a
    /// bool is one byte, of a number eight bytes; the payload of a text begins with the text's
    /// address.
    pub const PAYLOAD_OFFSET: usize = 8;
    /// Offset in bytes of a text's length in a value.
    pub const TEXT_LENGTH_OFFSET: usize = 16;

    /// Tag of a missing value. A tag is the first byte of a value in memory and identifies the
    /// value's type. The other constants below are the tags of the other types.
    pub const MISSING_TAG: u8 = byte_at(&Value::Missing, 0);
    pub const BOOL_TAG: u8 = byte_at(&Value::Bool(true), 0);
    pub const INT_TAG: u8 = byte_at(&Value::Int(0), 0);
    pub const FLOAT_TAG: u8 = byte_at(&Value::Float(0.0), 0);
    pub const STR_TAG: u8 = byte_at(&Value::Str(""), 0);
    pub const DATETIME_TAG: u8 = byte_at(&Value::DateTime(time::OffsetDateTime::UNIX_EPOCH), 0);
    pub const VERSION_TAG: u8 = byte_at(&Value::Version(""), 0);
    pub const JSON_LIST_TAG: u8 = byte_at(&Value::JsonList(&[]), 0);
    pub const LIST_TAG: u8 = byte_at(&Value::List(&[]), 0);
    pub const ENTRIES_TAG: u8 = byte_at(&Value::Entries(&[]), 0);
    pub const WIDE_TAG: u8 = byte_at(&Value::Wide(0), 0);
    pub const DECIMAL_TAG: u8 = byte_at(&Value::Decimal(rulec_base::decimal::Decimal::ZERO), 0);
    /// Tag in the cell of a message field whose value has not been read yet. No value has this tag.
    pub const UNREAD_TAG: u8 = byte_at(&None::<Value<'static>>, 0);

    /// Returns the byte at an offset (in bytes) from the start of an item in memory.
    const fn byte_at<T>(item: &T, offset: usize) -> u8 {
        assert!(offset < size_of::<T>());
        // SAFETY: the byte lies within the referenced item. The function runs at compile time,
        // where reading an uninitialized byte is an error.
        unsafe { *std::ptr::from_ref(item).cast::<u8>().add(offset) }
    }

    /// Returns the eight bytes of an item in memory that begin at an offset (in bytes).
    const fn word_at<T>(item: &T, offset: usize) -> u64 {
        assert!(offset + 8 <= size_of::<T>() && offset.is_multiple_of(8) && align_of::<T>() == 8);
        // SAFETY: the bytes lie within the referenced item, and their address is a multiple of
        // eight. The function runs at compile time, where reading an uninitialized byte is an
        // error.
        unsafe { *std::ptr::from_ref(item).cast::<u8>().add(offset).cast::<u64>() }
    }

    // Checks what lowering assumes about the layout of a text in a value. A compile-time check
    // cannot read the text's address as a number. But it finds the text's length at
    // `TEXT_LENGTH_OFFSET`, so the address is in front of the length.
    const _: () = {
        assert!(VALUE_SIZE == 24 && size_of::<Option<Value<'static>>>() == VALUE_SIZE);
        assert!(word_at(&Value::Int(-7), PAYLOAD_OFFSET) == -7_i64 as u64);
        assert!(word_at(&Value::Wide(u64::MAX), PAYLOAD_OFFSET) == u64::MAX);
        assert!(word_at(&Value::Float(2.5), PAYLOAD_OFFSET) == 2.5_f64.to_bits());
        assert!(
            byte_at(&Value::Bool(true), PAYLOAD_OFFSET) == 1
                && byte_at(&Value::Bool(false), PAYLOAD_OFFSET) == 0
        );
        assert!(word_at(&Value::Str("abc"), TEXT_LENGTH_OFFSET) == 3 && size_of::<usize>() == 8);
        assert!(word_at(&Some(Value::Int(-7)), PAYLOAD_OFFSET) == -7_i64 as u64);
        assert!(byte_at(&Some(Value::Int(-7)), 0) == INT_TAG && byte_at(&Some(Value::Str("")), 0) == STR_TAG);
        assert!(MISSING_TAG == 0 && FLOAT_TAG == INT_TAG + 1 && UNREAD_TAG > DECIMAL_TAG);
        // A slice is its address, then its length.
        assert!(word_at(&([1_u8, 2, 3].as_slice()), 8) == 3 && size_of::<&[u8]>() == 16);
    };
}

/// Compiled function that searches a segment (a range of routes) of a table. Its arguments are the
/// machine (the state of the decision) and the position of the first route to try. The module
/// `lower` documents how the result is encoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentFn(unsafe extern "C" fn(*mut c_void, usize) -> u64);

/// A segment: a range of a table's routes that is compiled as one function.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeSegment {
    /// Index of the first route of this segment (a range of routes with one compiled function),
    /// counted from the first route of the table.
    pub first_route: u32,
    pub search_fn: SegmentFn,
}

/// A Cranelift module (compiled functions in memory), under construction or finished. Dropping it
/// frees the memory of the functions, which dropping a plain `JITModule` would not do.
pub(super) struct OwnedModule(ManuallyDrop<JITModule>);

impl OwnedModule {
    pub fn new(module: JITModule) -> OwnedModule {
        OwnedModule(ManuallyDrop::new(module))
    }
}

impl Deref for OwnedModule {
    type Target = JITModule;

    fn deref(&self) -> &JITModule {
        &self.0
    }
}

impl DerefMut for OwnedModule {
    fn deref_mut(&mut self) -> &mut JITModule {
        &mut self.0
    }
}

impl Drop for OwnedModule {
    fn drop(&mut self) {
        // SAFETY: the module is not used after this. Only a `JitCode` keeps addresses of its
        // functions, in `tables`, next to the module. Running the code borrows the `JitCode`, so no
        // code of the module runs now.
        unsafe { ManuallyDrop::take(&mut self.0).free_memory() }
    }
}

/// The compiled tables of one rule set. Keeps the bytecode alive, because the code refers to
/// constants of the bytecode. Frees the code's memory when dropped.
pub struct JitCode {
    bytecode: Arc<Bytecode>,
    /// The segments (functions) of each table, in the order in which routes are tried. The last
    /// segment of a table also contains the table's default.
    segments_by_table: Vec<Box<[CodeSegment]>>,
    /// Owns the memory of the code, and is otherwise unused. The mutex makes the type `Sync`,
    /// because a module is `Send` but not `Sync`.
    _module: Mutex<OwnedModule>,
    code_bytes: usize,
}

impl JitCode {
    /// Creates the code of a rule set from a finished module. For each table, `tables` lists its
    /// segments (ranges of routes): the position of the first route, and the function. `size` is
    /// the number of bytes of the machine code.
    pub(super) fn new(
        bytecode: Arc<Bytecode>,
        module: OwnedModule,
        tables: &[Vec<(u32, cranelift_module::FuncId)>],
        size: usize,
    ) -> Result<JitCode, JitError> {
        let segment_function = |id: cranelift_module::FuncId| {
            // SAFETY: the module has compiled the function with this signature and the calling
            // convention of `extern "C"`, and finished it. Its memory lives as long as `module`,
            // which is freed only with the `JitCode`. Only `call_segment` calls the function.
            SegmentFn(unsafe {
                std::mem::transmute::<*const u8, unsafe extern "C" fn(*mut c_void, usize) -> u64>(
                    module.get_finalized_function(id),
                )
            })
        };
        let segment =
            |(first, id): &(u32, _)| CodeSegment { first_route: *first, search_fn: segment_function(*id) };
        let tables = tables.iter().map(|parts| parts.iter().map(segment).collect()).collect();
        Ok(JitCode { bytecode, segments_by_table: tables, _module: Mutex::new(module), code_bytes: size })
    }

    pub fn bytecode(&self) -> &Bytecode {
        &self.bytecode
    }

    pub fn code_bytes(&self) -> usize {
        self.code_bytes
    }

    pub(super) fn segments(&self, table: usize) -> &[CodeSegment] {
        self.segments_by_table.get(table).map_or(&[], |segments| segments)
    }
}

impl std::fmt::Debug for JitCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JitCode({} tables, {} bytes)", self.segments_by_table.len(), self.code_bytes)
    }
}

/// State of a decision that runs compiled code. Compiled code reads the first fields of this struct
/// at fixed offsets.
#[repr(C)]
pub struct Machine<'a, M: SlotValueSource<'a>> {
    /// Address of the values of the slots (fields that rules read), 24 bytes each.
    pub(super) slot_values: *const Value<'a>,
    /// The memo cells (cached results of conditions). The result in a cell is valid only if the
    /// cell also contains the number of the current decision.
    pub(super) memo: Memo<'a>,
    pub(super) helpers: &'a HelperTable<'a, M>,
    /// The value computed by the last call of the helper [`HelperTable::eval_block`]. The helper
    /// returns the address of this field.
    pub(super) block_result: Value<'a>,
    pub(super) code: &'a JitCode,
    pub(super) host_functions: &'a [RegisteredFunction],
    pub(super) vm: LazyVm<'a, M>,
    /// Cells for the values of slots (message fields), each of which is read at its first use.
    /// `None` if all slots were read before the decision.
    pub(super) slot_cells: Option<SlotCells<'a>>,
    pub(super) caught_panic: Option<Box<dyn Any + Send>>,
}

/// Cells for the values of message fields in one decision. Between decisions, `storage` keeps the
/// memory of the cells, so that the next decision reuses it.
pub(super) struct SlotCells<'a> {
    pub cells: ValueCells<'a>,
    pub storage: &'a mut ValueCells<'static>,
}

/// The helpers: Rust functions that compiled code calls. The code finds them in this table, because
/// each message type has its own helpers. A helper that returns a truth value returns it as a
/// number: 1 for true and 0 for false or, if the result may be unknown, the number of a
/// [`Tri`](rulec_lang::value::Tri).
#[repr(C)]
pub struct HelperTable<'a, M: SlotValueSource<'a>> {
    /// Reads the slot (message field) with the given id into the cell from which compiled code
    /// reads its value. The returned number has no meaning.
    pub(super) read_slot: extern "C" fn(&mut Machine<'a, M>, usize) -> u64,
    /// Makes the VM evaluate the predicate with the given index, without memoization. Returns the
    /// number of a `Tri`.
    pub(super) eval_pred: extern "C" fn(&mut Machine<'a, M>, usize) -> u64,
    /// Makes the VM evaluate the loop with the given index, for all elements of the loop's list.
    /// Returns 1 if the loop's condition is true, else 0.
    pub(super) eval_loop: extern "C" fn(&mut Machine<'a, M>, usize) -> u64,
    /// Makes the VM run the block of bytecode with the given id. Returns the address of the value
    /// that the block computes.
    pub(super) eval_block: extern "C" fn(&mut Machine<'a, M>, usize) -> *const Value<'a>,
    /// Evaluates a text predicate that needs no normalized text, on a message field. Returns 1 if
    /// the predicate is true; 0 if it is false, or if the field is no text.
    pub(super) matches_text: extern "C" fn(&mut Machine<'a, M>, &KeywordMatcher, &Value<'a>) -> u64,
    /// Normalizes a message field's text as the predicate requires, and evaluates the predicate on
    /// the normalized text. Returns 1 or 0, like `matches_text`.
    pub(super) matches_prepared_text:
        extern "C" fn(&mut Machine<'a, M>, &Pred, &KeywordMatcher, &Value<'a>) -> u64,
    /// Tests whether a message field's text contains the keyword that a [`Finder`] searches for.
    /// Returns 1 if it does; 0 if it does not, or if the field is no text.
    pub(super) finds_keyword: extern "C" fn(&mut Machine<'a, M>, &Finder<'static>, &Value<'a>) -> u64,
    /// Tests whether a message field's list has an element that equals a text. Returns the number
    /// of a `Tri`: unknown if the field is no list.
    pub(super) is_text_in_list: extern "C" fn(&mut Machine<'a, M>, &Arc<str>, &Value<'a>) -> u64,
    /// Tests whether a message field's text is in a set. Returns 1 if it is, else 0.
    pub(super) is_text_in_set: extern "C" fn(&mut Machine<'a, M>, &MemberSet, &Value<'a>) -> u64,
    /// Tests whether a message field's text equals a constant. Returns 1 if it does, else 0.
    pub(super) equals_text: extern "C" fn(&mut Machine<'a, M>, &Arc<str>, &Value<'a>) -> u64,
    /// Compares an integer with a float. Returns -1 if the integer is less than the float, 0 if
    /// they are equal, and 1 if the integer is greater.
    pub(super) order_int_float: extern "C" fn(i64, f64) -> i64,
    /// Returns the remainder of dividing the first float by the second. Cranelift has no
    /// instruction for it.
    pub(super) remainder: extern "C" fn(f64, f64) -> f64,
}

/// The compiled code of one table, with the numbers that every decision needs. Prepared once, for
/// callers that make many decisions by this table.
#[derive(Debug)]
pub struct EntryCode {
    pub(super) code: Arc<JitCode>,
    pub(super) table: TableId,
    /// The compiled function of the table's first segment (or of the whole table, if there is only
    /// one).
    search_fn: SegmentFn,
    /// Number of slots (fields that rules read) of the program.
    pub(super) slot_count: usize,
    /// Number of memo cells (cached results) that a decision needs.
    pub(super) memo_cell_count: usize,
}

impl EntryCode {
    /// Returns the compiled code of one table, prepared for repeated decisions; `None` if there is
    /// no code for the table.
    pub fn new(code: &Arc<JitCode>, table: TableId) -> Option<EntryCode> {
        let search = code.segments(table.index()).first()?.search_fn;
        let chunk = code.bytecode().chunk();
        let (slot_count, memo_len) = (chunk.slots.len(), chunk.memo_cell_count());
        Some(EntryCode {
            code: Arc::clone(code),
            table,
            search_fn: search,
            slot_count,
            memo_cell_count: memo_len,
        })
    }

    /// Searches the first segment (range of routes) of the table with its compiled function, and
    /// returns the function's encoded result. `None` if `machine` was not created for this code.
    #[inline(always)]
    pub(super) fn search_first_segment<'a, M: SlotValueSource<'a> + 'a>(
        &self,
        machine: &mut Machine<'a, M>,
    ) -> Option<u64> {
        std::ptr::eq(machine.code, &*self.code).then(|| machine.call_segment(self.search_fn, 0))
    }
}

impl<'a, M: SlotValueSource<'a> + 'a> Machine<'a, M> {
    /// Searches a segment (range of routes) of a table with its compiled function. The search
    /// begins with route `first_route`, counted from the start of the segment. Returns the
    /// function's encoded result; `None` if the table has no such segment.
    #[inline]
    pub(super) fn search_segment(&mut self, segment: usize, table: usize, first_route: usize) -> Option<u64> {
        let CodeSegment { search_fn: search, .. } = *self.code.segments(table).get(segment)?;
        Some(self.call_segment(search, first_route))
    }

    /// Calls a compiled function with this machine (state of a decision), and returns its encoded
    /// result. The search begins with route `first_route`, counted from the start of the function's
    /// segment. Precondition: the function belongs to the code for which the machine was created.
    #[inline(always)]
    fn call_segment(&mut self, SegmentFn(search): SegmentFn, first_route: usize) -> u64 {
        // SAFETY: the code was compiled from verified bytecode for a machine of this layout. The
        // machine's constructors ensure that its first fields point to values for all slots, to
        // cells for all memoized results, and to helpers for its message type. The code refers to
        // constants of the bytecode, which `code` keeps alive. No helper unwinds.
        let encoded_result = unsafe { search(std::ptr::from_mut(self).cast(), first_route) };
        if self.caught_panic.is_some() {
            self.resume_panic();
        }
        encoded_result
    }

    /// Resumes a panic. Does nothing if no helper (a Rust function that compiled code called) has
    /// caught and stored one.
    #[cold]
    fn resume_panic(&mut self) {
        if let Some(panic) = self.caught_panic.take() {
            std::panic::resume_unwind(panic);
        }
    }
}
