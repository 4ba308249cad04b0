//! Translates the bytecode of a rule set to Cranelift's intermediate code, from which Cranelift
//! generates machine code.
//!
//! A table is a list of routes that are tried in order. It is compiled to one function, or to
//! several functions (segments) if it is long. The parameters of each function are the machine (the
//! state of the decision) and the position of the first route to try. So the same code can search
//! the whole table, or resume the search after a jump to another table. A condition shared by
//! several routes is compiled to a function of its own. Loops over lists are run by the VM.
//!
//! | file | contents |
//! |---|---|
//! | this file | the module, tables, and blocks that evaluate a condition |
//! | [`body`] | one function: the addresses of values, tags, helper calls |
//! | [`test`] | predicates, and the jumps that depend on their results |
//! | [`text`] | predicates on texts |
//! | [`find`] | searches of a text for keywords |
//! | [`number`] | comparisons of numbers, exact across kinds |
//! | [`arith`] | blocks that compute a value |

mod arith;
mod body;
mod find;
mod number;
mod test;
mod text;

use super::JitError;
use super::code::{JitCode, OwnedModule};
use body::FunctionBody;
use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, BlockArg, InstBuilder, JumpTableData, Signature, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::{FuncId, Module};
use hashbrown::HashMap;
use rulec_vm::bytecode::chunk::{Block, TableCode};
use rulec_vm::bytecode::instr::{BlockId, BlockKind, Instr, Pc};
use rulec_vm::bytecode::{Bytecode, Chunk};
use std::sync::Arc;

/// Maximum number of bytecode instructions in a segment (a range of routes that is compiled to one
/// function), except if a single route has more. A longer table has several segments.
/// Compared with other values in benches/notes/constants.md.
const MAX_SEGMENT_INSTRS: u32 = 400;

/// Bit position at which an encoded search result has its kind. The kind is `ROUTE_RESULT`,
/// `DEFAULT_RESULT` or, if another instruction ended the search, `INSTRUCTION_RESULT`. The bits
/// below are the id of the chosen route, the id of the default's table, or the address of the
/// instruction.
pub(super) const RESULT_KIND_SHIFT: u32 = 32;
pub(super) const ROUTE_RESULT: u64 = 0;
pub(super) const DEFAULT_RESULT: u64 = 1;
pub(super) const INSTRUCTION_RESULT: u64 = 2;
/// Encoded result of a search through a table that selected neither a route nor a default.
pub(super) const NO_CHOICE_RESULT: u64 = u64::MAX;
/// Encoded result of a segment (range of routes) without a matching route, after which the search
/// continues in the next segment.
pub(super) const NEXT_SEGMENT_RESULT: u64 = u64::MAX - 1;

/// Returns the encoded result of a search that ends with the instruction `instr` at `address`.
fn encode_result(instr: &Instr, address: u64) -> u64 {
    match instr {
        Instr::Choose { route } => ROUTE_RESULT << RESULT_KIND_SHIFT | u64::from(route.0),
        Instr::Default { table } => DEFAULT_RESULT << RESULT_KIND_SHIFT | u64::from(table.0),
        _ => INSTRUCTION_RESULT << RESULT_KIND_SHIFT | address,
    }
}

/// The state while one rule set is compiled to a Cranelift module.
struct Lowering<'c> {
    bytecode: &'c Bytecode,
    module: OwnedModule,
    /// The compiled function of each condition block, by the block's id. A condition block is
    /// bytecode for a condition that several routes share. Blocks that are compiled inline have no
    /// entry.
    condition_functions: HashMap<BlockId, FuncId>,
    /// The condition blocks (conditions that several routes share) that already have a function id,
    /// but whose code must still be emitted.
    pending_functions: Vec<(BlockId, FuncId)>,
    /// For each bytecode block: its number of instructions, if the block computes a value and is
    /// compiled inline; else `None`.
    inline_sizes: Vec<Option<u32>>,
    /// Number of bytes of machine code that were generated so far.
    code_bytes: usize,
}

/// Compiles all tables of a rule set to machine code, and makes the functions of the module
/// callable.
pub(super) fn lower_rule_set(code: Arc<Bytecode>, module: OwnedModule) -> Result<JitCode, JitError> {
    let inline_sizes = arith::inline_sizes(code.chunk());
    let (condition_functions, pending_functions) = (HashMap::new(), Vec::new());
    let mut lowering = Lowering {
        bytecode: &code,
        module,
        condition_functions,
        pending_functions,
        inline_sizes,
        code_bytes: 0,
    };
    let mut context = lowering.module.make_context();
    let mut builder_context = FunctionBuilderContext::new();
    let mut tables = Vec::with_capacity(code.chunk().tables.len());
    for table in &code.chunk().tables {
        tables.push(lowering.lower_table(table, &mut context, &mut builder_context)?);
    }
    while let Some((block, id)) = lowering.pending_functions.pop() {
        lowering.lower_condition(block, id, &mut context, &mut builder_context)?;
    }
    lowering.module.finalize_definitions().map_err(compile_error)?;
    let Lowering { module, code_bytes: size, .. } = lowering;
    JitCode::new(code, module, &tables, size)
}

fn compile_error(error: impl std::fmt::Display) -> JitError {
    JitError::Failed(error.to_string())
}

fn malformed_bytecode_error(problem: &str) -> JitError {
    JitError::Failed(format!("malformed bytecode: {problem}"))
}

impl Lowering<'_> {
    fn chunk(&self) -> &Chunk {
        self.bytecode.chunk()
    }

    fn function_signature(&self, params: usize) -> Signature {
        let mut signature = self.module.make_signature();
        signature.params = vec![AbiParam::new(types::I64); params];
        signature.returns = vec![AbiParam::new(types::I64)];
        signature
    }

    fn condition_function(&mut self, block: BlockId) -> Result<FuncId, JitError> {
        if let Some(id) = self.condition_functions.get(&block) {
            return Ok(*id);
        }
        let signature = self.function_signature(1);
        let id = self.module.declare_anonymous_function(&signature).map_err(compile_error)?;
        self.condition_functions.insert(block, id);
        self.pending_functions.push((block, id));
        Ok(id)
    }

    fn define_function(&mut self, id: FuncId, context: &mut Context) -> Result<(), JitError> {
        self.module.define_function(id, context).map_err(compile_error)?;
        self.code_bytes += context.compiled_code().map_or(0, |code| code.code_buffer().len());
        self.module.clear_context(context);
        Ok(())
    }

    fn lower_table(
        &mut self,
        table: &TableCode,
        context: &mut Context,
        builder_context: &mut FunctionBuilderContext,
    ) -> Result<Vec<(u32, FuncId)>, JitError> {
        let mut segments = Vec::new();
        let mut first = 0;
        loop {
            let mut last = first;
            let start = table.routes.get(first).map_or(0, |route| route.start);
            while table
                .routes
                .get(last)
                .is_some_and(|route| route.end - start <= MAX_SEGMENT_INSTRS || last == first)
            {
                last += 1;
            }
            let signature = self.function_signature(2);
            let id = self.module.declare_anonymous_function(&signature).map_err(compile_error)?;
            context.func.signature = signature;
            self.lower_segment(table, first, last, FunctionBuilder::new(&mut context.func, builder_context))?;
            self.define_function(id, context)?;
            segments.push((first as u32, id));
            if last == table.routes.len() {
                return Ok(segments);
            }
            first = last;
        }
    }

    /// Lowers a segment of a table: the routes with indexes from `first` up to `last`, exclusive.
    /// The last segment also gets the code that follows the routes, such as the default.
    fn lower_segment(
        &mut self,
        table: &TableCode,
        first: usize,
        last: usize,
        builder: FunctionBuilder<'_>,
    ) -> Result<(), JitError> {
        let block = *self
            .chunk()
            .blocks
            .get(table.block as usize)
            .ok_or_else(|| malformed_bytecode_error("no block"))?;
        let mut body = FunctionBody::new(self, builder);
        let params = body.begin_outermost_function();
        let first_route = params[1];
        // The start of each route, and the end after the last route.
        let starts: Vec<_> = (first..=last).map(|_| body.builder.create_block()).collect();
        let nothing_block = body.builder.create_block();
        if let [start, _, ..] = &*starts {
            let dispatch = body.builder.create_block();
            body.builder.ins().brif(first_route, dispatch, &[], *start, &[]);
            body.switch_to(dispatch);
        }
        let calls = starts.iter().map(|block| body.builder.func.dfg.block_call(*block, &[] as &[BlockArg]));
        let calls: Vec<_> = calls.collect();
        let nothing_call = body.builder.func.dfg.block_call(nothing_block, &[] as &[BlockArg]);
        let jumps = body.builder.create_jump_table(JumpTableData::new(nothing_call, &calls));
        let index = body.builder.ins().ireduce(types::I32, first_route);
        body.builder.ins().br_table(index, jumps);

        for (route_index, route) in table.routes.get(first..last).unwrap_or_default().iter().enumerate() {
            body.lower_instructions(route.start, route.end, starts[route_index], starts[route_index + 1])?;
        }
        body.switch_to(starts[last - first]);
        if last < table.routes.len() {
            body.emit_return(NEXT_SEGMENT_RESULT);
        } else {
            let end = block.end.wrapping_sub(1);
            let ends_after_routes = table.routes.last().map_or(block.start, |route| route.end) == end;
            if !ends_after_routes {
                return Err(malformed_bytecode_error("code after the routes"));
            }
            let last = body
                .lowering
                .bytecode
                .chunk()
                .instrs
                .get(end as usize)
                .ok_or_else(|| malformed_bytecode_error("no end"))?;
            body.emit_return(encode_result(last, end.into()));
        }
        body.switch_to(nothing_block);
        body.emit_return(NO_CHOICE_RESULT);
        body.finish_function();
        Ok(())
    }

    fn lower_condition(
        &mut self,
        id: BlockId,
        function: FuncId,
        context: &mut Context,
        builder_context: &mut FunctionBuilderContext,
    ) -> Result<(), JitError> {
        let block = self.chunk().blocks.get(id as usize).copied();
        let Some(Block { start, end, kind: BlockKind::Condition, .. }) = block else {
            return Err(malformed_bytecode_error("no condition"));
        };
        context.func.signature = self.function_signature(1);
        let mut body = FunctionBody::new(self, FunctionBuilder::new(&mut context.func, builder_context));
        body.begin_function();
        let (entry_block, end_block) = (body.builder.create_block(), body.builder.create_block());
        body.builder.ins().jump(entry_block, &[]);
        body.lower_instructions(start, end, entry_block, end_block)?;
        // Unreachable in verified code.
        body.switch_to(end_block);
        body.emit_return(0);
        body.finish_function();
        self.define_function(function, context)
    }
}

impl FunctionBody<'_, '_, '_> {
    /// Lowers the instructions of a route or condition block between the addresses `start` and
    /// `end`. The code begins at `entry_block`. A bytecode jump to `end` becomes a jump to
    /// `end_block`.
    fn lower_instructions(
        &mut self,
        start: Pc,
        end: Pc,
        entry_block: cranelift_codegen::ir::Block,
        end_block: cranelift_codegen::ir::Block,
    ) -> Result<(), JitError> {
        let code = self.lowering.bytecode;
        let instrs = code.chunk().instrs.get(start as usize..end as usize);
        let instrs = instrs.ok_or_else(|| malformed_bytecode_error("a block outside the code"))?;
        let mut blocks: Vec<_> = instrs.iter().map(|_| None).collect();
        blocks.push(Some(end_block));
        if let Some(first) = blocks.first_mut() {
            *first = Some(entry_block);
        }
        for (index, instr) in instrs.iter().enumerate() {
            let Some(block) = blocks[index] else { continue };
            self.switch_to(block);
            let next = *blocks[index + 1].get_or_insert_with(|| self.builder.create_block());
            let target = match instr.jump_target() {
                Some(target) if target > start + index as u32 && target <= end => {
                    *blocks[(target - start) as usize].get_or_insert_with(|| self.builder.create_block())
                }
                Some(_) => return Err(malformed_bytecode_error("a jump out of its part")),
                None => end_block,
            };
            match *instr {
                Instr::Jump { .. } => {
                    self.builder.ins().jump(target, &[]);
                }
                Instr::Answer { holds } => self.emit_return(holds.into()),
                Instr::Choose { .. } | Instr::Goto { .. } => {
                    self.emit_return(encode_result(instr, u64::from(start) + index as u64));
                }
                _ => self.lower_test_instr(instr, target, next)?,
            }
        }
        // Fills each block that has no instructions yet, because a Cranelift block must not be
        // empty. Such a block follows the end of a route's code, and no jump leads to it.
        for (index, block) in blocks.iter().enumerate().take(instrs.len()) {
            if let Some(block) = block
                && !self.builder.func.layout.is_block_inserted(*block)
            {
                debug_assert!(index > 0);
                self.switch_to(*block);
                self.builder.ins().jump(end_block, &[]);
            }
        }
        Ok(())
    }
}
