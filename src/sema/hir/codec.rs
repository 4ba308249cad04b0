//! The form in which a program is written to a file. Numbers are held against what they number when they are
//! read, so that whoever follows one finds what it numbers.

use super::*;
use crate::codec::{Codec, DecodeError, Numbered, Reader, Writer, impl_codec};

macro_rules! ids {
    ($($name:ident $numbered:expr;)*) => {$(
        impl Codec for $name {
            fn write(&self, to: &mut Writer) {
                to.number(self.0.into());
            }
            fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                from.id($numbered).map($name)
            }
        }
    )*};
}
ids! {
    SlotId Numbered::Slot;
    LetId Numbered::Let;
    ExternId Numbered::Extern;
    TableId Numbered::Table;
    RuleId Numbered::Rule;
    FlowId Numbered::Flow;
    ValueId Numbered::Value;
}

macro_rules! names {
    ($($name:ident)*) => {$(
        /// Compared only with others, so that any number does.
        impl Codec for $name {
            fn write(&self, to: &mut Writer) {
                self.0.write(to);
            }
            fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                u32::read(from).map($name)
            }
        }
    )*};
}
names!(VarId BindingId);

impl Codec for Program {
    fn write(&self, to: &mut Writer) {
        let Program {
            slots,
            lets,
            externs,
            tables,
            rules,
            values,
            flows,
            questions,
            handlers,
            input,
            tests,
            payloads,
            requirements,
            // Where an expression was first written matters to the compiler alone.
            patterns: _,
            analysis,
        } = self;
        let counts = self.counts(0);
        for numbered in Numbered::OF_PROGRAM {
            counts.of(numbered).write(to);
        }
        slots.write(to);
        lets.write(to);
        externs.write(to);
        tables.write(to);
        rules.write(to);
        values.write(to);
        flows.write(to);
        questions.write(to);
        handlers.write(to);
        input.write(to);
        tests.write(to);
        payloads.write(to);
        requirements.write(to);
        analysis.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut counts = from.counts();
        for numbered in Numbered::OF_PROGRAM {
            counts = counts.with(numbered, from.count()?);
        }
        from.set_counts(counts);
        let program = Program {
            slots: Codec::read(from)?,
            lets: read_lets(from)?,
            externs: Codec::read(from)?,
            tables: Codec::read(from)?,
            rules: Codec::read(from)?,
            values: Codec::read(from)?,
            flows: Codec::read(from)?,
            questions: Codec::read(from)?,
            handlers: Codec::read(from)?,
            input: Codec::read(from)?,
            tests: Codec::read(from)?,
            payloads: Codec::read(from)?,
            requirements: Codec::read(from)?,
            patterns: HashMap::new(),
            analysis: Codec::read(from)?,
        };
        if program.counts(counts.of(Numbered::File)) != counts {
            return Err(DecodeError("the program is not as large as it says"));
        }
        program.check()?;
        Ok(program)
    }
}

/// A `let` may use earlier ones only: whoever followed a circle would never come back.
fn read_lets(from: &mut Reader<'_>) -> Result<Vec<Let>, DecodeError> {
    let (counts, count) = (from.counts(), from.count()?);
    let mut lets = Vec::new();
    for number in 0..count {
        from.set_counts(counts.with(Numbered::Let, number));
        lets.push(Let::read(from)?);
    }
    from.set_counts(counts);
    Ok(lets)
}

impl Program {
    /// Checks that numbers within their bounds cannot make.
    fn check(&self) -> Result<(), DecodeError> {
        if self.tables.is_empty() {
            return Err(DecodeError("there is no table of routes"));
        }
        let entity = |feature: Feature| match feature {
            Feature::Entity(number) => number < self.analysis.entities.len(),
            Feature::Lexicon(number) => number < self.analysis.lexicons.len(),
            Feature::Intent | Feature::Keywords => true,
        };
        if !self.externs.iter().filter_map(|function| function.feature).all(entity) {
            return Err(DecodeError("a function analyses what is not there"));
        }
        Ok(())
    }
}

impl_codec!(struct Slot { root, path, kinds, private });
impl_codec!(struct Let { name, body, span });
impl_codec!(struct Extern { name, params, result, feature, span });
impl_codec!(struct Handler { name, params, span, docs });
impl_codec!(struct Table { name, kind, order, default, span, docs });
impl_codec!(enum TableKind { 0 Routes, 1 Choice, 2 Flows, 3 Router, 4 Requirements });
impl_codec!(struct Rule { name, table, priority, disabled, condition, outcome, span, docs });
impl_codec!(enum Outcome {
    0 Handler { name, args, metadata },
    1 Goto(table),
    2 Branch { default },
    3 Flow { flow, pattern },
    4 Next { destinations, next, loopback },
});
impl_codec!(enum Destination { 0 All, 1 At(number), 2 Node(id), 3 Named(value) });
impl_codec!(struct Flow { name, id, description, trigger, span, docs });
impl_codec!(enum Trigger { 0 Keyword, 1 Intent { examples, keywords } });
impl_codec!(struct Question { name, text, branches, default, span });
impl_codec!(struct Argument { name, value, optional });
impl_codec!(struct Test { name, message, entry, expect, span });
impl_codec!(enum Expect { 0 Rule(rule), 1 Default(table), 2 Nothing, 3 Judgement { kind, outcome, breaks } });
impl_codec!(enum Term { 0 Cond(cond), 1 Expr(expr) });
impl_codec!(struct Cond { kind, span });
impl_codec!(enum CondKind {
    0 Const(value),
    1 Not(cond),
    2 And(parts),
    3 Or(parts),
    4 Test(predicate),
    5 Quantifier { all, list, var, body },
    6 Let(number),
    7 Call(name, cond),
    8 Branch { all, conditions },
});
impl_codec!(struct Guarded { usable, cond });
impl_codec!(struct Predicate { op, negated, mode, left, right });
impl_codec!(enum Operand { 0 Nothing, 1 Value(value), 2 Range { start, end, inclusive } });
impl_codec!(struct Var { id, name, kinds });
impl_codec!(struct Expr { kind, ty, optional, span });
impl_codec!(enum ExprKind {
    0 Const(value),
    1 Slot(slot),
    2 Var(var),
    3 Param(number),
    4 Field(base, name),
    5 Index(base, index),
    6 List(items),
    7 Op(op, left, right),
    8 Read(value, kinds),
    9 Call(function, items),
    10 Extern(function, items),
    11 Count { list, var, body },
    12 Cond(cond),
    13 Let(number),
});
impl_codec!(enum Const { 0 Json(json), 1 DateTime(at) });
