//! Builds one machine-code function. This file emits loads of values from the cells of slots
//! (message fields that rules read). It also emits tests of the tags of values, and calls of
//! helpers. A *tag* is the first byte of a value in memory, which identifies the value's type.

use super::Lowering;
use crate::PINS_SLOT_ADDRESS;
use crate::code::layout;
use crate::code::{HelperTable, Machine};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, InstBuilder, MemFlags, SigRef, Type, Value, types};
use cranelift_frontend::FunctionBuilder;
use rulec_lang::ty::{Kind, KindSet};
use rulec_sema::hir::SlotId;
use rulec_vm::vm::SlotValues;
use rulec_vm::vm::compiled::Memo;
use std::mem::offset_of;

/// A [`Machine`] type from which the offsets of the fields are computed. Compiled code reads only
/// the first fields of the struct, whose offsets are equal for all message types.
type AnyMachine = Machine<'static, SlotValues<'static>>;
pub(super) type AnyHelpers = HelperTable<'static, SlotValues<'static>>;

/// The machine-code function that is being emitted.
pub(super) struct FunctionBody<'b, 'l, 'c> {
    pub lowering: &'l mut Lowering<'c>,
    /// The Cranelift builder, which appends instructions to the function that is being emitted.
    pub builder: FunctionBuilder<'b>,
    /// The address of the machine (the state of the decision), which is the function's first
    /// parameter.
    pub machine: Value,
    slots_address: SlotsAddress,
    /// Signatures of helpers (Rust functions that compiled code calls), indexed by the number of
    /// arguments after the machine.
    signatures: [Option<SigRef>; 4],
}

/// Where the emitted function keeps the address of the slot cells, which hold the values of message
/// fields.
#[derive(Clone, Copy)]
enum SlotsAddress {
    /// The address of the slot cells is in this SSA value of the function.
    InValue(Value),
    /// The address of the slot cells is in a register that is reserved for it. `Some` is the
    /// previous value of the register, which the function must restore when it returns. `None` in a
    /// function that only compiled code calls: it leaves the register unchanged.
    Pinned(Option<Value>),
}

/// The Cranelift blocks to which the code of a predicate jumps, one for each possible result.
#[derive(Clone, Copy)]
pub(super) struct PredTargets {
    pub yes: Block,
    pub no: Block,
    pub unknown: Block,
}

/// The tags (type markers in memory) that a value may have, one bit per tag.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct TagSet(pub u16);

impl TagSet {
    pub const MISSING_ONLY: TagSet = TagSet(1 << layout::MISSING_TAG);
    pub const ALL: TagSet = TagSet((1 << (layout::DECIMAL_TAG + 1)) - 1);

    pub const fn single(tag: u8) -> TagSet {
        TagSet(1 << tag)
    }

    /// Returns the tags (type markers) that a value of the given kinds may have. The tag of a
    /// missing value is always included.
    pub fn of_kinds(kinds: KindSet) -> TagSet {
        let tags = |kind| match kind {
            Kind::Bool => TagSet::single(layout::BOOL_TAG),
            Kind::Int => TagSet::single(layout::INT_TAG).union(TagSet::single(layout::WIDE_TAG)),
            Kind::Float => TagSet::single(layout::FLOAT_TAG),
            Kind::String => TagSet::single(layout::STR_TAG),
            Kind::DateTime => TagSet::single(layout::DATETIME_TAG),
            Kind::Version => TagSet::single(layout::VERSION_TAG),
            Kind::Decimal => TagSet::single(layout::DECIMAL_TAG),
            Kind::List => TagSet::single(layout::JSON_LIST_TAG).union(TagSet::single(layout::LIST_TAG)),
            Kind::Dict => TagSet::single(layout::ENTRIES_TAG - 1).union(TagSet::single(layout::ENTRIES_TAG)),
        };
        kinds.iter().map(tags).fold(TagSet::MISSING_ONLY, TagSet::union)
    }

    pub const fn union(self, other: TagSet) -> TagSet {
        TagSet(self.0 | other.0)
    }

    pub const fn has(self, tag: u8) -> bool {
        self.0 & (1 << tag) != 0
    }

    /// True if a value with one of these tags (type markers) may be an int or a float. Decimals do
    /// not count, because they have no inline code.
    pub const fn may_be_number(self) -> bool {
        self.has(layout::INT_TAG) || self.has(layout::FLOAT_TAG) || self.has(layout::WIDE_TAG)
    }
}

/// A value on which a predicate is evaluated, in memory or in registers.
#[derive(Clone, Copy)]
pub(super) enum OperandSource {
    /// Value of a message field, in the field's cell; the field may not have been read yet.
    Slot { tags: TagSet, slot: u32 },
    /// Value that is already in registers.
    Scalar(Scalar),
}

/// A value in registers: its tag (type marker), and the first eight bytes of its payload (data).
#[derive(Clone, Copy)]
pub(super) struct Scalar {
    pub tags: TagSet,
    pub tag: Value,
    pub bits: Value,
}

impl OperandSource {
    pub fn tags(self) -> TagSet {
        match self {
            OperandSource::Slot { tags, .. } | OperandSource::Scalar(Scalar { tags, .. }) => tags,
        }
    }
}

impl<'b, 'l, 'c> FunctionBody<'b, 'l, 'c> {
    pub fn new(lowering: &'l mut Lowering<'c>, builder: FunctionBuilder<'b>) -> Self {
        // `begin_function` sets the actual values.
        let placeholder = Value::from_u32(0);
        FunctionBody {
            lowering,
            builder,
            machine: placeholder,
            slots_address: SlotsAddress::InValue(placeholder),
            signatures: [None; 4],
        }
    }

    /// Begins a function that only other compiled code calls, and returns the function's
    /// parameters.
    pub fn begin_function(&mut self) -> Vec<Value> {
        let entry = self.builder.create_block();
        self.builder.append_block_params_for_function_params(entry);
        self.switch_to(entry);
        let params = self.builder.block_params(entry).to_vec();
        self.machine = params[0];
        self.slots_address = match PINS_SLOT_ADDRESS {
            true => SlotsAddress::Pinned(None),
            false => SlotsAddress::InValue(
                self.load_machine_field(types::I64, offset_of!(AnyMachine, slot_values)),
            ),
        };
        params
    }

    /// Begins a function that the engine calls from Rust, and returns the function's parameters. If
    /// `PINS_SLOT_ADDRESS` is true, also emits code that loads the address of the slot values into
    /// the reserved register. Functions that only compiled code calls find the address there.
    pub fn begin_outermost_function(&mut self) -> Vec<Value> {
        let params = self.begin_function();
        if PINS_SLOT_ADDRESS {
            let saved_register = self.builder.ins().get_pinned_reg(types::I64);
            let slots = self.load_machine_field(types::I64, offset_of!(AnyMachine, slot_values));
            self.builder.ins().set_pinned_reg(slots);
            self.slots_address = SlotsAddress::Pinned(Some(saved_register));
        }
        params
    }

    pub fn finish_function(mut self) {
        self.builder.seal_all_blocks();
        self.builder.finalize();
    }

    pub fn switch_to(&mut self, block: Block) {
        self.builder.switch_to_block(block);
    }

    pub fn emit_return(&mut self, number: u64) {
        let number = self.int_const(number as i64);
        if let SlotsAddress::Pinned(Some(saved_register)) = self.slots_address {
            self.builder.ins().set_pinned_reg(saved_register);
        }
        self.builder.ins().return_(&[number]);
    }

    pub fn int_const(&mut self, number: i64) -> Value {
        self.builder.ins().iconst(types::I64, number)
    }

    /// Returns a constant with the address of `item`. Precondition: `item` lives as long as the
    /// compiled code.
    pub fn address_const<T>(&mut self, item: &T) -> Value {
        self.int_const(std::ptr::from_ref(item).addr() as i64)
    }

    pub fn load_machine_field(&mut self, ty: Type, offset: usize) -> Value {
        // These fields of the machine do not change while the code runs.
        let flags = MemFlags::trusted().with_readonly();
        self.builder.ins().load(ty, flags, self.machine, offset as i32)
    }

    pub fn load_memo_and_epoch(&mut self) -> (Value, Value) {
        // A slice has its address first, then its length.
        let cells = self
            .load_machine_field(types::I64, offset_of!(AnyMachine, memo) + offset_of!(Memo<'static>, cells));
        (
            cells,
            self.load_machine_field(
                types::I32,
                offset_of!(AnyMachine, memo) + offset_of!(Memo<'static>, epoch),
            ),
        )
    }

    /// Emits a call of a helper, a Rust function. `helper` is its offset in bytes in the table of
    /// helpers. The arguments of the call are the machine and `args`, which are integers.
    pub fn emit_helper_call(&mut self, helper: usize, args: &[Value]) -> Value {
        let signature = match self.signatures.get(args.len()).copied().flatten() {
            Some(signature) => signature,
            None => {
                let signature = self.lowering.function_signature(args.len() + 1);
                let signature = self.builder.import_signature(signature);
                if let Some(cached) = self.signatures.get_mut(args.len()) {
                    *cached = Some(signature);
                }
                signature
            }
        };
        let args: Vec<Value> = std::iter::once(self.machine).chain(args.iter().copied()).collect();
        self.emit_indirect_call(helper, signature, &args)
    }

    /// Emits a call of a helper (a Rust function) that does not take the machine as an argument.
    /// `helper` is its offset in bytes in the table of helpers. `params` and `result` are the types
    /// in its signature.
    pub fn emit_plain_call(&mut self, helper: usize, params: &[Type], result: Type, args: &[Value]) -> Value {
        let mut signature = self.lowering.function_signature(0);
        signature.params = params.iter().map(|ty| AbiParam::new(*ty)).collect();
        signature.returns = vec![AbiParam::new(result)];
        let signature = self.builder.import_signature(signature);
        self.emit_indirect_call(helper, signature, args)
    }

    fn emit_indirect_call(&mut self, helper: usize, signature: SigRef, args: &[Value]) -> Value {
        let helpers = self.load_machine_field(types::I64, offset_of!(AnyMachine, helpers));
        let flags = MemFlags::trusted().with_readonly();
        let function = self.builder.ins().load(types::I64, flags, helpers, helper as i32);
        let call = self.builder.ins().call_indirect(signature, function, args);
        self.builder.inst_results(call)[0]
    }

    /// Returns where a part of a slot's value, such as its tag, lies in memory: the offset in bytes
    /// from the address of the first slot's value. `field` is the offset of the part within a
    /// value, such as 0 for the tag. `None` if the result does not fit into 32 bits.
    fn slot_field_offset(slot: u32, field: usize) -> Option<i32> {
        (slot as usize).checked_mul(layout::VALUE_SIZE)?.checked_add(field)?.try_into().ok()
    }

    fn slots_address(&mut self) -> Value {
        match self.slots_address {
            SlotsAddress::InValue(slots) => slots,
            SlotsAddress::Pinned(_) => self.builder.ins().get_pinned_reg(types::I64),
        }
    }

    /// Emits a load of a field of a slot's value in memory, such as its tag or payload. `field` is
    /// the offset in bytes of this field in the value.
    pub fn load_slot_field(&mut self, ty: Type, slot: u32, field: usize) -> Value {
        let flags = MemFlags::trusted();
        match Self::slot_field_offset(slot, field) {
            Some(offset) => {
                let slots = self.slots_address();
                self.builder.ins().load(ty, flags, slots, offset)
            }
            None => {
                let cell_address = self.slot_address(slot);
                self.builder.ins().load(ty, flags, cell_address, field as i32)
            }
        }
    }

    /// Emits loads of the address and the length of a message field's text, and returns both.
    pub fn load_text_slice(&mut self, slot: u32) -> (Value, Value) {
        let field_offset = |field| Self::slot_field_offset(slot, field);
        match (field_offset(layout::PAYLOAD_OFFSET), field_offset(layout::TEXT_LENGTH_OFFSET)) {
            (Some(address), Some(length)) => {
                let (slots, flags) = (self.slots_address(), MemFlags::trusted());
                let address = self.builder.ins().load(types::I64, flags, slots, address);
                (address, self.builder.ins().load(types::I64, flags, slots, length))
            }
            _ => [layout::PAYLOAD_OFFSET, layout::TEXT_LENGTH_OFFSET]
                .map(|field| self.load_slot_field(types::I64, slot, field))
                .into(),
        }
    }

    pub fn slot_address(&mut self, slot: u32) -> Value {
        let slots = self.slots_address();
        self.builder.ins().iadd_imm(slots, i64::from(slot) * layout::VALUE_SIZE as i64)
    }

    /// Returns a slot (message field) as a [`OperandSource`], the form in which predicates take
    /// operands.
    pub fn slot_source(&self, slot: SlotId) -> OperandSource {
        let code = self.lowering.chunk().slots.get(slot.index());
        OperandSource::Slot {
            tags: code.map_or(TagSet::ALL, |code| TagSet::of_kinds(code.kinds)),
            slot: slot.0,
        }
    }

    /// Emits a load of the first eight bytes of a value's payload (its data after the tag).
    pub fn load_payload_bits(&mut self, source: OperandSource) -> Value {
        match source {
            OperandSource::Slot { slot, .. } => {
                self.load_slot_field(types::I64, slot, layout::PAYLOAD_OFFSET)
            }
            OperandSource::Scalar(Scalar { bits, .. }) => bits,
        }
    }

    pub fn load_float(&mut self, source: OperandSource) -> Value {
        match source {
            OperandSource::Slot { slot, .. } => {
                self.load_slot_field(types::F64, slot, layout::PAYLOAD_OFFSET)
            }
            OperandSource::Scalar(Scalar { bits, .. }) => {
                self.builder.ins().bitcast(types::F64, MemFlags::new(), bits)
            }
        }
    }

    /// Emits a load of a bool, as 1 for `true` and 0 for `false`.
    pub fn load_bool(&mut self, source: OperandSource) -> Value {
        match source {
            OperandSource::Slot { slot, .. } => self.load_slot_field(types::I8, slot, layout::PAYLOAD_OFFSET),
            OperandSource::Scalar(Scalar { bits, .. }) => self.builder.ins().ireduce(types::I8, bits),
        }
    }

    /// Emits a test whether the tag (type marker) of a value equals `expected`. The result is 1 or
    /// 0.
    pub fn emit_tag_test(&mut self, tag: Value, expected: u8) -> Value {
        self.builder.ins().icmp_imm(IntCC::Equal, tag, i64::from(expected))
    }

    /// Emits jumps that depend on the tag of a value. They lead to the tag's block in `cases`, to
    /// `missing` if the value is missing, else to `other`. If the value is in a slot that was not
    /// read before, the code first reads the slot.
    pub fn emit_tag_dispatch(
        &mut self,
        source: OperandSource,
        cases: &[(u8, Block)],
        missing: Block,
        other: Block,
    ) {
        let tag = match source {
            OperandSource::Scalar(Scalar { tag, .. }) => tag,
            OperandSource::Slot { slot, .. } => {
                let retry_block = self.builder.create_block();
                self.builder.ins().jump(retry_block, &[]);
                self.switch_to(retry_block);
                let tag = self.load_slot_field(types::I8, slot, 0);
                self.emit_tag_cases(source, tag, cases);
                let (unread_block, read_block) = (self.create_cold_block(), self.builder.create_block());
                let is_unread = self.emit_tag_test(tag, layout::UNREAD_TAG);
                self.builder.ins().brif(is_unread, unread_block, &[], read_block, &[]);
                self.switch_to(unread_block);
                self.emit_slot_read(slot);
                self.builder.ins().jump(retry_block, &[]);
                self.switch_to(read_block);
                return self.emit_missing_branch(tag, missing, other);
            }
        };
        self.emit_tag_cases(source, tag, cases);
        self.emit_missing_branch(tag, missing, other);
    }

    fn emit_tag_cases(&mut self, source: OperandSource, tag: Value, cases: &[(u8, Block)]) {
        for (case_tag, block) in cases.iter().filter(|(case_tag, _)| source.tags().has(*case_tag)) {
            let next = self.builder.create_block();
            let is_case = self.emit_tag_test(tag, *case_tag);
            self.builder.ins().brif(is_case, *block, &[], next, &[]);
            self.switch_to(next);
        }
    }

    fn emit_missing_branch(&mut self, tag: Value, missing: Block, other: Block) {
        if missing == other {
            self.builder.ins().jump(other, &[]);
        } else {
            let is_missing = self.emit_tag_test(tag, layout::MISSING_TAG);
            self.builder.ins().brif(is_missing, missing, &[], other, &[]);
        }
    }

    /// Emits a call of the helper that reads a slot (message field) into its cell.
    pub fn emit_slot_read(&mut self, slot: u32) {
        let slot = self.int_const(slot.into());
        self.emit_helper_call(offset_of!(AnyHelpers, read_slot), &[slot]);
    }

    /// Creates a Cranelift block that is expected to run rarely.
    pub fn create_cold_block(&mut self) -> Block {
        let block = self.builder.create_block();
        self.builder.set_cold_block(block);
        block
    }

    /// Emits a jump that depends on the result of a predicate (true, false or unknown), encoded as
    /// the number of a `Tri`.
    pub fn emit_tri_branch(&mut self, result: Value, targets: PredTargets) {
        let PredTargets { yes, no, unknown } = targets;
        if no == unknown {
            // `Tri::True` is 0, so any other number means false or unknown.
            self.builder.ins().brif(result, no, &[], yes, &[]);
            return;
        }
        if yes == unknown {
            let is_no = self.builder.ins().icmp_imm(IntCC::Equal, result, 1);
            self.builder.ins().brif(is_no, no, &[], yes, &[]);
            return;
        }
        let decided_block = self.builder.create_block();
        let is_unknown = self.builder.ins().icmp_imm(IntCC::UnsignedGreaterThan, result, 1);
        self.builder.ins().brif(is_unknown, unknown, &[], decided_block, &[]);
        self.switch_to(decided_block);
        self.builder.ins().brif(result, no, &[], yes, &[]);
    }

    /// Emits a jump to `targets.yes` if a boolean is true, else to `targets.no`.
    pub fn emit_bool_branch(&mut self, is_true: Value, targets: PredTargets) {
        self.builder.ins().brif(is_true, targets.yes, &[], targets.no, &[]);
    }
}
