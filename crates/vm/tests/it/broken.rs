//! Tests that the verifier refuses bytecode that was tampered with, and that such bytecode is
//! harmless even if it runs.

use super::build::Build;
use super::*;
use rulec_sema::normal::{QuantifierLevels, QuantifierNesting};
use rulec_vm::bytecode::chunk::{NO_ENTRY, Operand, PredCheck};
use rulec_vm::bytecode::instr::{BlockKind, JumpOn};
use rulec_vm::bytecode::verify::{BytecodeLocation, VerifyError, verify};

/// A chunk with every kind of content.
fn sample() -> Chunk {
    let mut build = Build::default();
    let n = build.slot("ctx.n", KindSet::NUMBER);
    let list = build.slot("ctx.list", KindSet::LIST);
    let text = build.slot("text", KindSet::STRING);
    let fold = TestMode { text: TextMode { folds_case: true, ..TextMode::PLAIN }, ..TestMode::default() };
    let words = build.test(text, Op::Contains, json!("a"), fold);
    let member = build.test(text, Op::In, json!(["a", "b"]), fold);
    let name = build.test(text, Op::Eq, json!("a"), fold);
    let (element, elements) = (build.expr(NormalExpr::Var(0)), build.expr(NormalExpr::Slot(list)));
    let body = build.compare_expr(element, Op::Gt, json!(1));
    let each = build.cond(NormalCond::Each {
        is_all: true,
        list: elements,
        kinds: KindSet::MESSAGE_KINDS,
        body,
        level: 0,
        nest: QuantifierNesting::default(),
    });
    let number = build.expr(NormalExpr::Slot(n));
    let sum = build.expr(NormalExpr::Op(Op::Add, number, Some(number)));
    let sum = build.compare_expr(sum, Op::Lt, json!(2.5));
    let number = build.compare(n, Op::Gt, json!(3));
    let all = build.cond(NormalCond::And(Box::new([number, words, member, name, sum, each])));
    let any = build.cond(NormalCond::Or(Box::new([all, number])));
    build.route(0, any, Some(1));
    build.route(0, all, None);
    build.route(1, all, None);
    build.otherwise(1, None);
    let (holds, fails) = (all, any);
    let value = build.expr(NormalExpr::Cond {
        true_cond: holds,
        false_cond: fails,
        read_levels: QuantifierLevels::EMPTY,
    });
    build.normal.values = vec![elements, value];
    code(&build).chunk().clone()
}

fn at<T>(items: &[T], wanted: impl Fn(&T) -> bool) -> usize {
    items.iter().position(wanted).unwrap()
}

fn refused(tamper: impl FnOnce(&mut Chunk)) -> VerifyError {
    let mut chunk = sample();
    tamper(&mut chunk);
    let error = verify(&chunk).expect_err("tampered with and accepted");
    // Running it unverified gives some result, but no panic.
    if error != VerifyError::Jumps
        && let Ok(code) = Bytecode::new(chunk, |_, _| false)
    {
        let message = json!({"text": "a", "ctx": {"n": 1, "list": [2, 3]}});
        let mut scratch = Scratch::new();
        let mut vm = Vm::over_json(&code, &[], &message, &mut scratch);
        if !matches!(error, VerifyError::Jump { .. }) {
            vm.decide(TableId(0));
            for value in 0..3 {
                let _ = vm.eval_value(ValueId(value));
            }
        }
    }
    error
}

#[test]
fn a_sound_chunk_is_accepted() {
    assert_eq!(verify(&sample()), Ok(()));
    assert_eq!(verify(&Chunk::default()), Ok(()));
}

#[test]
fn jumps_go_forward_within_their_block() {
    let jump = |to: fn(u32, u32) -> u32| {
        refused(|chunk| {
            let block = *chunk.blocks.iter().rfind(|block| block.kind == BlockKind::Table).unwrap();
            let at =
                block.start + at(&chunk.instrs[block.start as usize..], |i| i.jump_target().is_some()) as u32;
            *chunk.instrs[at as usize].jump_target_mut().unwrap() = to(at, block.end);
        })
    };
    for error in [jump(|at, _| at), jump(|at, _| at - 1), jump(|_, end| end), jump(|_, _| u32::MAX)] {
        assert!(matches!(error, VerifyError::Jump { .. }), "{error}");
    }
}

#[test]
fn indices_lie_within_their_pools() {
    let out = |error: VerifyError| assert!(matches!(error, VerifyError::OutOfBounds { .. }), "{error}");
    out(refused(|chunk| {
        let at = at(&chunk.instrs, |i| matches!(i, Instr::Int { .. }));
        if let Instr::Int { slot, .. } = &mut chunk.instrs[at] {
            *slot = 99;
        }
    }));
    out(refused(|chunk| {
        let at = at(&chunk.instrs, |i| matches!(i, Instr::Binary { .. }));
        if let Instr::Binary { right, .. } = &mut chunk.instrs[at] {
            *right = 2;
        }
    }));
    out(refused(|chunk| {
        let at = at(&chunk.instrs, |i| matches!(i, Instr::Goto { .. }));
        if let Instr::Goto { table, .. } = &mut chunk.instrs[at] {
            *table = TableId(2);
        }
    }));
    out(refused(|chunk| {
        let at = at(&chunk.instrs, |i| matches!(i, Instr::Each { .. }));
        if let Instr::Each { each, .. } = &mut chunk.instrs[at] {
            *each = 1;
        }
    }));
    out(refused(|chunk| {
        let at = at(&chunk.preds, |p| matches!(p.check, PredCheck::Keywords(_)));
        chunk.preds[at].check = PredCheck::Keywords(1);
    }));
    out(refused(|chunk| chunk.preds[0].left = Operand::Slot(SlotId(3))));
    out(refused(|chunk| chunk.preds[0].right = Operand::Const(99)));
    out(refused(|chunk| chunk.loops[0].level = 1));
    out(refused(|chunk| chunk.max_loop_depth = 0));
    out(refused(|chunk| chunk.member_lists[0].constant_index = NO_ENTRY));
    out(refused(|chunk| chunk.slots[0].object_index = 7));
    out(refused(|chunk| chunk.preds.clear()));
    out(refused(|chunk| chunk.strings.clear()));
    out(refused(|chunk| chunk.keywords.clear()));
    out(refused(|chunk| chunk.normalized_texts.clear()));
    out(refused(|chunk| chunk.shared_conditions.clear()));
    out(refused(|chunk| chunk.tables[0].block = 99));
    out(refused(|chunk| chunk.outcome_operands[0] = Operand::Slot(SlotId(3))));
    out(refused(|chunk| chunk.outcome_operands[1] = Operand::Block(99)));
}

#[test]
fn kinds_are_kept_apart() {
    let kind = |error: VerifyError| assert!(matches!(error, VerifyError::Kind { .. }), "{error}");
    kind(refused(|chunk| {
        chunk.instrs.push(Instr::Nothing);
    }));
    kind(refused(|chunk| chunk.outcome_operands[0] = Operand::Block(chunk.tables[0].block)));
    kind(refused(|chunk| {
        let last = chunk.instrs.len() - 1;
        chunk.instrs[last] = Instr::Goto { route: RuleId(0), table: TableId(1) };
    }));
    kind(refused(|chunk| {
        let at = at(&chunk.instrs, |i| matches!(i, Instr::Test { .. } | Instr::Memo { .. }));
        if let Instr::Test { on, .. } | Instr::Memo { on, .. } = &mut chunk.instrs[at] {
            *on = JumpOn::default();
        }
    }));
    kind(refused(|chunk| {
        let at = at(&chunk.instrs, |i| matches!(i, Instr::Yield { .. }));
        chunk.instrs[at] = Instr::Answer { holds: true };
    }));
    kind(refused(|chunk| {
        let at = at(&chunk.instrs, |i| matches!(i, Instr::Binary { .. }));
        if let Instr::Binary { op, .. } = &mut chunk.instrs[at] {
            *op = Op::Contains;
        }
    }));
    kind(refused(|chunk| chunk.loops[0].body = at(&chunk.blocks, |b| b.kind == BlockKind::Value) as u32));
    kind(refused(|chunk| {
        let value = at(&chunk.blocks, |b| b.kind == BlockKind::Condition) as u32;
        chunk.preds[0].left = Operand::Block(value);
    }));
    kind(refused(|chunk| chunk.keywords[0].words = Box::new([])));
    kind(refused(|chunk| chunk.keywords[0].mode = TextMode::PLAIN));
    kind(refused(|chunk| chunk.shared_objects[0].parent_index = 0));
    kind(refused(|chunk| chunk.normalized_texts[0].1 = TextMode::PLAIN));
    kind(refused(|chunk| chunk.tables[0].routes[0].end += 1));
    kind(refused(|chunk| chunk.blocks[0].end += 1));
    kind(refused(|chunk| {
        let value = at(&chunk.blocks, |b| b.kind == BlockKind::Value);
        let start = chunk.blocks[value].start as usize;
        chunk.instrs[start] = Instr::Eval { dst: 0, block: value as u32 };
    }));
}

#[test]
fn tables_do_not_lead_in_circles() {
    let error = refused(|chunk| {
        let at = at(&chunk.instrs, |i| matches!(i, Instr::Default { .. }));
        chunk.instrs[at] = Instr::Continue { table: TableId(0) };
    });
    assert_eq!(error, VerifyError::Jumps);
}

#[test]
fn errors_name_the_place() {
    let error = VerifyError::Jump { to: 3, at: BytecodeLocation::Instr(7) };
    assert_eq!(error.to_string(), "jump to 3 leaves its block or goes back (at instruction 7)");
}
