//! The function that is being emitted: access to slot cells, tags of values, first reads of slots,
//! and helper calls.

use super::Lowering;
use crate::PINS_SLOTS;
use crate::code::layout;
use crate::code::{Helpers, Machine};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, InstBuilder, MemFlags, SigRef, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use rulec_lang::ty::{Kind, KindSet};
use rulec_sema::hir::SlotId;
use rulec_vm::vm::SlotValues;
use rulec_vm::vm::compiled::Memo;
use std::mem::offset_of;

/// A machine for the offsets of fields. The fields that compiled code reads come first, so their
/// offsets are equal for all message types.
type AnyMachine = Machine<'static, SlotValues<'static>>;
pub(super) type AnyHelpers = Helpers<'static, SlotValues<'static>>;

pub(super) struct Body<'b, 'l, 'c> {
    pub lowering: &'l mut Lowering<'c>,
    pub b: FunctionBuilder<'b>,
    pub machine: Value,
    slots: Slots,
    /// Signatures of helpers, by the number of arguments that follow the machine.
    signatures: [Option<SigRef>; 4],
}

/// Where the function finds the address of the slots' cells.
#[derive(Clone, Copy)]
enum Slots {
    At(Value),
    /// The address is in the reserved register. The variant has the caller's value of the register,
    /// if the function must restore it.
    Pinned(Option<Value>),
}

/// The blocks to which a test jumps, by its result.
#[derive(Clone, Copy)]
pub(super) struct Targets {
    pub yes: Block,
    pub no: Block,
    pub unknown: Block,
}

/// The tags that a value may have, as bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Tags(pub u16);

impl Tags {
    pub const MISSING: Tags = Tags(1 << layout::MISSING);
    pub const ALL: Tags = Tags((1 << (layout::ENTRIES + 1)) - 1);

    pub const fn single(tag: u8) -> Tags {
        Tags(1 << tag)
    }

    /// Returns the tags that a value of these kinds may have; the value may also be missing.
    pub fn of_kinds(kinds: KindSet) -> Tags {
        let tags = |kind| match kind {
            Kind::Bool => Tags::single(layout::BOOL),
            Kind::Int => Tags::single(layout::INT),
            Kind::Float => Tags::single(layout::FLOAT),
            Kind::String => Tags::single(layout::STR),
            Kind::DateTime => Tags::single(layout::DATETIME),
            Kind::Version => Tags::single(layout::VERSION),
            Kind::List => Tags::single(layout::JSON_LIST).or(Tags::single(layout::LIST)),
            Kind::Dict => Tags::single(layout::ENTRIES - 1).or(Tags::single(layout::ENTRIES)),
        };
        kinds.iter().map(tags).fold(Tags::MISSING, Tags::or)
    }

    pub const fn or(self, other: Tags) -> Tags {
        Tags(self.0 | other.0)
    }

    pub const fn has(self, tag: u8) -> bool {
        self.0 & (1 << tag) != 0
    }

    /// True if the value may be a number.
    pub const fn numeric(self) -> bool {
        self.has(layout::INT) || self.has(layout::FLOAT)
    }
}

/// A value to be tested, in memory or in registers.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Value in a slot's cell; the slot may not have been read yet.
    Slot { tags: Tags, slot: u32 },
    /// Value that is already in registers.
    Scalar(Scalar),
}

/// A value in registers: its tag, and the first eight bytes of its payload.
#[derive(Clone, Copy)]
pub(super) struct Scalar {
    pub tags: Tags,
    pub tag: Value,
    pub bits: Value,
}

impl Source {
    pub fn tags(self) -> Tags {
        match self {
            Source::Slot { tags, .. } | Source::Scalar(Scalar { tags, .. }) => tags,
        }
    }
}

impl<'b, 'l, 'c> Body<'b, 'l, 'c> {
    pub fn new(lowering: &'l mut Lowering<'c>, builder: FunctionBuilder<'b>) -> Self {
        // `begin` sets the actual values.
        let none = Value::from_u32(0);
        Body { lowering, b: builder, machine: none, slots: Slots::At(none), signatures: [None; 4] }
    }

    /// Begins a function that other compiled code calls, and returns its parameters.
    pub fn begin(&mut self) -> Vec<Value> {
        let entry = self.b.create_block();
        self.b.append_block_params_for_function_params(entry);
        self.go(entry);
        let params = self.b.block_params(entry).to_vec();
        self.machine = params[0];
        self.slots = match PINS_SLOTS {
            true => Slots::Pinned(None),
            false => Slots::At(self.field(types::I64, offset_of!(AnyMachine, slots))),
        };
        params
    }

    /// Begins a function that the engine itself calls, and returns its parameters.
    pub fn begin_outermost(&mut self) -> Vec<Value> {
        let params = self.begin();
        if PINS_SLOTS {
            let kept = self.b.ins().get_pinned_reg(types::I64);
            let slots = self.field(types::I64, offset_of!(AnyMachine, slots));
            self.b.ins().set_pinned_reg(slots);
            self.slots = Slots::Pinned(Some(kept));
        }
        params
    }

    pub fn finish(mut self) {
        self.b.seal_all_blocks();
        self.b.finalize();
    }

    pub fn go(&mut self, block: Block) {
        self.b.switch_to_block(block);
    }

    pub fn yield_number(&mut self, number: u64) {
        let number = self.number(number as i64);
        if let Slots::Pinned(Some(kept)) = self.slots {
            self.b.ins().set_pinned_reg(kept);
        }
        self.b.ins().return_(&[number]);
    }

    pub fn number(&mut self, number: i64) -> Value {
        self.b.ins().iconst(types::I64, number)
    }

    /// Returns the address of an item that lives as long as the code.
    pub fn address<T>(&mut self, of: &T) -> Value {
        self.number(std::ptr::from_ref(of).addr() as i64)
    }

    pub fn field(&mut self, ty: Type, offset: usize) -> Value {
        // These fields do not change while the code runs.
        let flags = MemFlags::trusted().with_readonly();
        self.b.ins().load(ty, flags, self.machine, offset as i32)
    }

    pub fn memo(&mut self) -> (Value, Value) {
        // A slice has its address first, then its length.
        let cells = self.field(types::I64, offset_of!(AnyMachine, memo) + offset_of!(Memo<'static>, cells));
        (cells, self.field(types::I32, offset_of!(AnyMachine, memo) + offset_of!(Memo<'static>, epoch)))
    }

    /// Emits a call of a helper, with the machine and integer arguments.
    pub fn call(&mut self, helper: usize, args: &[Value]) -> Value {
        let signature = match self.signatures.get(args.len()).copied().flatten() {
            Some(signature) => signature,
            None => {
                let signature = self.lowering.signature(args.len() + 1);
                let signature = self.b.import_signature(signature);
                if let Some(kept) = self.signatures.get_mut(args.len()) {
                    *kept = Some(signature);
                }
                signature
            }
        };
        let args: Vec<Value> = std::iter::once(self.machine).chain(args.iter().copied()).collect();
        self.call_by(helper, signature, &args)
    }

    /// Emits a call of a helper that does not take the machine.
    pub fn call_plain(&mut self, helper: usize, params: &[Type], result: Type, args: &[Value]) -> Value {
        let mut signature = self.lowering.signature(0);
        signature.params = params.iter().map(|ty| AbiParam::new(*ty)).collect();
        signature.returns = vec![AbiParam::new(result)];
        let signature = self.b.import_signature(signature);
        self.call_by(helper, signature, args)
    }

    fn call_by(&mut self, helper: usize, signature: SigRef, args: &[Value]) -> Value {
        let helpers = self.field(types::I64, offset_of!(AnyMachine, helpers));
        let flags = MemFlags::trusted().with_readonly();
        let function = self.b.ins().load(types::I64, flags, helpers, helper as i32);
        let call = self.b.ins().call_indirect(signature, function, args);
        self.b.inst_results(call)[0]
    }

    /// Returns the offset in bytes of a field of a slot's cell, from the address of all cells.
    fn offset(slot: u32, field: usize) -> Option<i32> {
        (slot as usize).checked_mul(layout::SIZE)?.checked_add(field)?.try_into().ok()
    }

    fn slots(&mut self) -> Value {
        match self.slots {
            Slots::At(slots) => slots,
            Slots::Pinned(_) => self.b.ins().get_pinned_reg(types::I64),
        }
    }

    /// Emits a load of a field of a slot's cell.
    pub fn load(&mut self, ty: Type, slot: u32, field: usize) -> Value {
        let flags = MemFlags::trusted();
        match Self::offset(slot, field) {
            Some(offset) => {
                let slots = self.slots();
                self.b.ins().load(ty, flags, slots, offset)
            }
            None => {
                let place = self.place(slot);
                self.b.ins().load(ty, flags, place, field as i32)
            }
        }
    }

    /// Emits loads of the address and the length of a slot's text.
    pub fn text(&mut self, slot: u32) -> (Value, Value) {
        let part = |field| Self::offset(slot, field);
        match (part(layout::PAYLOAD), part(layout::LENGTH)) {
            (Some(at), Some(length)) => {
                let (slots, flags) = (self.slots(), MemFlags::trusted());
                let at = self.b.ins().load(types::I64, flags, slots, at);
                (at, self.b.ins().load(types::I64, flags, slots, length))
            }
            _ => [layout::PAYLOAD, layout::LENGTH].map(|field| self.load(types::I64, slot, field)).into(),
        }
    }

    pub fn place(&mut self, slot: u32) -> Value {
        let slots = self.slots();
        self.b.ins().iadd_imm(slots, i64::from(slot) * layout::SIZE as i64)
    }

    /// Returns a slot as a value to be tested.
    pub fn slot(&self, slot: SlotId) -> Source {
        let code = self.lowering.chunk().slots.get(slot.index());
        Source::Slot { tags: code.map_or(Tags::ALL, |code| Tags::of_kinds(code.kinds)), slot: slot.0 }
    }

    /// Emits a load of the first eight bytes of a value's payload.
    pub fn bits(&mut self, source: Source) -> Value {
        match source {
            Source::Slot { slot, .. } => self.load(types::I64, slot, layout::PAYLOAD),
            Source::Scalar(Scalar { bits, .. }) => bits,
        }
    }

    pub fn float(&mut self, source: Source) -> Value {
        match source {
            Source::Slot { slot, .. } => self.load(types::F64, slot, layout::PAYLOAD),
            Source::Scalar(Scalar { bits, .. }) => self.b.ins().bitcast(types::F64, MemFlags::new(), bits),
        }
    }

    /// Emits a load of a bool: 1 for `true`.
    pub fn truth(&mut self, source: Source) -> Value {
        match source {
            Source::Slot { slot, .. } => self.load(types::I8, slot, layout::PAYLOAD),
            Source::Scalar(Scalar { bits, .. }) => self.b.ins().ireduce(types::I8, bits),
        }
    }

    /// Emits a test whether a tag is `wanted`.
    pub fn is(&mut self, tag: Value, wanted: u8) -> Value {
        self.b.ins().icmp_imm(IntCC::Equal, tag, i64::from(wanted))
    }

    /// Emits jumps by the tag of a value: to the block in `cases` for its tag, to `missing` if the
    /// value is missing, else to `other`. A slot that has not been read is read first.
    pub fn dispatch(&mut self, source: Source, cases: &[(u8, Block)], missing: Block, other: Block) {
        let tag = match source {
            Source::Scalar(Scalar { tag, .. }) => tag,
            Source::Slot { slot, .. } => {
                let again = self.b.create_block();
                self.b.ins().jump(again, &[]);
                self.go(again);
                let tag = self.load(types::I8, slot, 0);
                self.cases(source, tag, cases);
                let (unread, rest) = (self.cold(), self.b.create_block());
                let is_unread = self.is(tag, layout::UNREAD);
                self.b.ins().brif(is_unread, unread, &[], rest, &[]);
                self.go(unread);
                self.read(slot);
                self.b.ins().jump(again, &[]);
                self.go(rest);
                return self.missing_or(tag, missing, other);
            }
        };
        self.cases(source, tag, cases);
        self.missing_or(tag, missing, other);
    }

    fn cases(&mut self, source: Source, tag: Value, cases: &[(u8, Block)]) {
        for (wanted, block) in cases.iter().filter(|(wanted, _)| source.tags().has(*wanted)) {
            let next = self.b.create_block();
            let is = self.is(tag, *wanted);
            self.b.ins().brif(is, *block, &[], next, &[]);
            self.go(next);
        }
    }

    fn missing_or(&mut self, tag: Value, missing: Block, other: Block) {
        if missing == other {
            self.b.ins().jump(other, &[]);
        } else {
            let is_missing = self.is(tag, layout::MISSING);
            self.b.ins().brif(is_missing, missing, &[], other, &[]);
        }
    }

    /// Emits a call that reads a slot into its cell.
    pub fn read(&mut self, slot: u32) {
        let slot = self.number(slot.into());
        self.call(offset_of!(AnyHelpers, load), &[slot]);
    }

    /// Creates a block that rarely runs.
    pub fn cold(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    /// Emits a jump by a three-valued result, encoded as the number of a `Tri`.
    pub fn branch(&mut self, answer: Value, targets: Targets) {
        let Targets { yes, no, unknown } = targets;
        if no == unknown {
            // True is 0.
            self.b.ins().brif(answer, no, &[], yes, &[]);
            return;
        }
        if yes == unknown {
            let is_no = self.b.ins().icmp_imm(IntCC::Equal, answer, 1);
            self.b.ins().brif(is_no, no, &[], yes, &[]);
            return;
        }
        let known = self.b.create_block();
        let is_unknown = self.b.ins().icmp_imm(IntCC::UnsignedGreaterThan, answer, 1);
        self.b.ins().brif(is_unknown, unknown, &[], known, &[]);
        self.go(known);
        self.b.ins().brif(answer, no, &[], yes, &[]);
    }

    /// Emits a branch by a boolean.
    pub fn branch_bool(&mut self, holds: Value, targets: Targets) {
        self.b.ins().brif(holds, targets.yes, &[], targets.no, &[]);
    }
}
