//! Prints bytecode as text, for tests that compare it with expected text, and for people who read
//! it. Each instruction has one line, with the constants and names to which the instruction refers.
//! A jump target is written as the address of an instruction.

use crate::bytecode::chunk::{Chunk, MemberList, NO_ENTRY, Operand, PredCheck};
use crate::bytecode::instr::{BlockKind, CmpJump, Instr, Pc, RegisterRange};
use rulec_base::text::{NormalizationForm, TextMode};
use rulec_lang::history::WindowBound;
use rulec_lang::operators::{Op, Quantity, TestMode};
use rulec_sema::hir::{Const, Program};
use rulec_sema::normal::TestKind;
use std::fmt::{self, Display, Write};

/// Returns the listing of a whole chunk. If `program` is given, the listing names the tables and
/// routes; otherwise the listing shows ids.
pub fn disassemble(chunk: &Chunk, program: Option<&Program>) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = Listing { chunk, program }.write_listing(&mut out);
    out
}

struct Listing<'c> {
    chunk: &'c Chunk,
    program: Option<&'c Program>,
}

/// A constant displayed as JSON, truncated if the JSON is long.
struct ShortConst<'c>(Option<&'c Const>);

impl Display for ShortConst<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(constant) = self.0 else { return f.write_str("?") };
        let text = constant.value().to_json().to_string();
        match text.char_indices().nth(60) {
            Some((end, _)) => write!(f, "{}…", &text[..end]),
            None => f.write_str(&text),
        }
    }
}

impl Listing<'_> {
    fn write_listing(&self, out: &mut String) -> fmt::Result {
        for (id, block) in self.chunk.blocks.iter().enumerate() {
            match block.kind {
                BlockKind::Table => {
                    let table = self.chunk.tables.iter().position(|table| table.block as usize == id);
                    writeln!(out, "table {}:", self.table_name(table.unwrap_or(usize::MAX)))?;
                }
                BlockKind::Condition => {
                    let shared =
                        self.chunk.shared_conditions.iter().find(|shared| shared.block as usize == id);
                    let note = match shared {
                        Some(shared) if shared.is_memoized => ", shared, kept",
                        Some(_) => ", shared",
                        None => "",
                    };
                    writeln!(out, "condition {id}{note}:")?;
                }
                BlockKind::Value => {
                    let cache_note = match block.cache_cell {
                        None => "",
                        Some(cell) if cell.depends_on_loops => ", kept for each element",
                        Some(_) => ", kept",
                    };
                    writeln!(out, "value {id}, registers {}{cache_note}:", block.register_count)?;
                }
            }
            for pc in block.start..block.end {
                if let Some(instr) = self.chunk.instrs.get(pc as usize) {
                    write!(out, "  {pc:>4}  ")?;
                    self.write_instr(out, instr)?;
                    out.push('\n');
                }
            }
        }
        for (id, value) in self.chunk.outcome_operands.iter().enumerate() {
            if id == 0 {
                writeln!(out, "values:")?;
            }
            writeln!(out, "  {id:>4}  {}", self.format_operand(*value))?;
        }
        Ok(())
    }

    fn table_name(&self, table: usize) -> String {
        match self.program.and_then(|program| program.tables.get(table)) {
            Some(entry) => entry.name.to_string(),
            None => format!("#{table}"),
        }
    }

    fn route_name(&self, route: usize) -> String {
        match self.program.and_then(|program| program.rules.get(route)) {
            Some(entry) => entry.name.to_string(),
            None => format!("#{route}"),
        }
    }

    fn slot_name(&self, slot: u32) -> String {
        match self.chunk.slots.get(slot as usize) {
            Some(code) => code.name.to_string(),
            None => format!("slot {slot}?"),
        }
    }

    fn quote_string(&self, string: u32) -> String {
        self.chunk.strings.get(string as usize).map_or("?".to_owned(), |text| format!("{text:?}"))
    }

    fn format_constant(&self, constant: u32) -> ShortConst<'_> {
        ShortConst(self.chunk.consts.get(constant as usize))
    }

    fn format_operand(&self, operand: Operand) -> String {
        match operand {
            Operand::Missing => "nothing".to_owned(),
            Operand::Slot(slot) => self.slot_name(slot.0),
            Operand::Const(constant) => self.format_constant(constant).to_string(),
            Operand::Var(level) => format!("element {level}"),
            Operand::History => "history".to_owned(),
            Operand::Block(block) => format!("value {block}"),
        }
    }

    /// Writes the text of an instruction that computes a value from a list or from the history.
    fn write_list_instr(&self, out: &mut String, instr: &Instr) -> fmt::Result {
        match *instr {
            Instr::Count { dst, each } => write!(out, "r{dst} = count {}", self.format_loop(each)),
            Instr::Sum { dst, each, value } => {
                write!(out, "r{dst} = sum value {value} for {}", self.format_loop(each))
            }
            Instr::Find { dst, each, last } => {
                let word = if last { "last" } else { "first" };
                write!(out, "r{dst} = {word} {}", self.format_loop(each))
            }
            Instr::History { dst } => write!(out, "r{dst} = history"),
            Instr::Window { bound, dst, list, operand } => {
                let bound = match bound {
                    WindowBound::Since => "since",
                    WindowBound::After => "after",
                    WindowBound::Before => "before",
                    WindowBound::Hashed => "hashes",
                };
                write!(out, "r{dst} = r{list} {bound} r{operand}")
            }
            Instr::Quantifier { dst, each, fails } => {
                write!(out, "r{dst} = {}, else not condition {fails}", self.format_loop(each))
            }
            _ => Ok(()),
        }
    }

    fn write_instr(&self, out: &mut String, instr: &Instr) -> fmt::Result {
        let mut test = |word: &str, description: String, to: Pc| write!(out, "{word} {description} -> {to}");
        match *instr {
            Instr::Int { how, slot, to, value } => {
                let slot = self.slot_name(slot.into());
                test(jump_keyword(how), format!("{} {} {value}", slot, how.comparison().spelling()), to)
            }
            Instr::Float { how, slot, to, value } => {
                let slot = self.slot_name(slot.into());
                test(jump_keyword(how), format!("{} {} {value:?}", slot, how.comparison().spelling()), to)
            }
            Instr::Truth { on, slot, to } => test(on.spelling(), self.slot_name(slot.into()), to),
            Instr::Missing { on, slot, to } => {
                test(on.spelling(), format!("{} is missing", self.slot_name(slot.into())), to)
            }
            Instr::Text { on, slot, to, string } => test(
                on.spelling(),
                format!("{} == {}", self.slot_name(slot.into()), self.quote_string(string)),
                to,
            ),
            Instr::Test { on, to, pred } => test(on.spelling(), self.format_pred(pred), to),
            Instr::Memo { on, to, pred } => {
                test(on.spelling(), format!("memo {pred}: {}", self.format_pred(pred)), to)
            }
            Instr::Shared { on, to, shared } => {
                let block =
                    self.chunk.shared_conditions.get(shared as usize).map_or(NO_ENTRY, |shared| shared.block);
                test(on.spelling(), format!("condition {block}"), to)
            }
            Instr::Each { on, to, each } => {
                let is_all = self.chunk.loops.get(each as usize).is_some_and(|each| each.requires_all);
                test(
                    on.spelling(),
                    format!("{} {}", if is_all { "all" } else { "any" }, self.format_loop(each)),
                    to,
                )
            }
            Instr::Jump { to } => write!(out, "jump -> {to}"),
            Instr::Answer { holds } => write!(out, "answer {holds}"),
            Instr::Choose { route } => write!(out, "choose {}", self.route_name(route.index())),
            Instr::Goto { route, table } => {
                write!(out, "goto {} by {}", self.table_name(table.index()), self.route_name(route.index()))
            }
            Instr::Default { table } => write!(out, "default of {}", self.table_name(table.index())),
            Instr::Continue { table } => write!(out, "continue in {}", self.table_name(table.index())),
            Instr::Nothing => write!(out, "nothing"),
            Instr::Slot { dst, slot } => write!(out, "r{dst} = {}", self.slot_name(slot)),
            Instr::Const { dst, constant } => write!(out, "r{dst} = {}", self.format_constant(constant)),
            Instr::Var { dst, level } => write!(out, "r{dst} = element {level}"),
            Instr::Eval { dst, block } => write!(out, "r{dst} = value {block}"),
            Instr::Field { dst, base, key } => write!(out, "r{dst} = r{base}.{}", self.quote_string(key)),
            Instr::Index { dst, base, key } => write!(out, "r{dst} = r{base}[r{key}]"),
            Instr::Read { dst, src, kinds } => write!(out, "r{dst} = r{src} as {kinds}"),
            Instr::List { dst, items } => write!(out, "r{dst} = [{}]", format_registers(items)),
            Instr::Binary { op, dst, left, right } => {
                write!(out, "r{dst} = r{left} {} r{right}", op.info().spelling)
            }
            Instr::Unary { op, dst, src } => write!(out, "r{dst} = {}r{src}", op.info().spelling),
            Instr::Call { function, dst, args } => {
                write!(out, "r{dst} = {}({})", function.info().name, format_registers(args))
            }
            Instr::Similar { dst, src, to } => {
                let text = self.chunk.similarity_texts.get(to as usize).map_or("?", |text| text);
                write!(out, "r{dst} = similarity(r{src}, {text:?})")
            }
            Instr::Extern { dst, args, function } => {
                write!(out, "r{dst} = extern {function}({})", format_registers(args))
            }
            Instr::Count { .. }
            | Instr::Sum { .. }
            | Instr::Find { .. }
            | Instr::History { .. }
            | Instr::Window { .. }
            | Instr::Quantifier { .. } => self.write_list_instr(out, instr),
            Instr::Cond { dst, holds, fails } => {
                write!(out, "r{dst} = condition {holds}, else not condition {fails}")
            }
            Instr::IfNot { block, to } => write!(out, "unless block {block} -> {to}"),
            Instr::IfPresent { src, to } => write!(out, "if r{src} is present -> {to}"),
            Instr::Yield { src } => write!(out, "yield r{src}"),
        }
    }

    fn format_loop(&self, each: u32) -> String {
        match self.chunk.loops.get(each as usize) {
            Some(each) => format!(
                "element {} in {} as {}: condition {}",
                each.level,
                self.format_operand(each.list),
                each.kinds,
                each.body
            ),
            None => "?".to_owned(),
        }
    }

    fn format_pred(&self, id: u32) -> String {
        let Some(pred) = self.chunk.preds.get(id as usize) else { return "?".to_owned() };
        let left = self.format_operand(pred.left);
        match pred.check {
            PredCheck::Truth => left,
            PredCheck::Missing => format!("{left} is missing"),
            PredCheck::Int(cmp, int) => format!("{left} {} {int}", cmp.spelling()),
            PredCheck::Float(cmp, float) => format!("{left} {} {float:?}", cmp.spelling()),
            PredCheck::Length(cmp, length) => format!("len({left}) {} {length}", cmp.spelling()),
            PredCheck::Equals(string) => {
                format!("{left} =={} {}", format_mode(pred.mode.text), self.quote_string(string))
            }
            PredCheck::HasKey(string) => format!("{left} has_key {}", self.quote_string(string)),
            PredCheck::Members(id) => {
                let list = self
                    .chunk
                    .member_lists
                    .get(id as usize)
                    .map(|MemberList { constant_index: constant, .. }| *constant);
                format!(
                    "{left} in{} {}",
                    format_mode(pred.mode.text),
                    self.format_constant(list.unwrap_or(NO_ENTRY))
                )
            }
            PredCheck::Keywords(_) | PredCheck::Generic => {
                let right = match pred.right {
                    Operand::Missing => String::new(),
                    right => format!(" {}", self.format_operand(right)),
                };
                let generic = if pred.check == PredCheck::Generic { "generic " } else { "" };
                format!("{generic}{left} {}{right}", format_test(pred.test_kind, pred.mode))
            }
        }
    }
}

fn jump_keyword(jump: CmpJump) -> &'static str {
    if jump.jumps_if_true() { "if" } else { "unless" }
}

fn format_registers(RegisterRange { first, len }: RegisterRange) -> String {
    (0..len).map(|offset| format!("r{}", u32::from(first) + u32::from(offset))).collect::<Vec<_>>().join(", ")
}

fn format_mode(mode: TextMode) -> String {
    let case = match (mode.folds_case, mode.folds_fully) {
        (false, _) => "",
        (true, false) => "/fold",
        (true, true) => "/full",
    };
    let form = match mode.form {
        NormalizationForm::None => "",
        NormalizationForm::Nfc => "/nfc",
        NormalizationForm::Nfkc => "/nfkc",
        NormalizationForm::Visible => "/visible",
        NormalizationForm::StrictNfkc => "/strict_nfkc",
    };
    format!("{case}{form}")
}

fn format_test(ask: TestKind, mode: TestMode) -> String {
    let TestKind::Op(op) = ask else { return "holds".to_owned() };
    let spelling = if op == Op::IsMissing { "is missing" } else { op.info().spelling };
    let word = if mode.whole_word { " word" } else { "" };
    let quantity =
        mode.quantity.map_or(String::new(), |quantity: Quantity| format!(" {}", quantity.spelling()));
    format!("{spelling}{}{word}{quantity}", format_mode(mode.text))
}
