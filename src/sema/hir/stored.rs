//! The form in which a program is written to a file. Numbers are held against what they number when they are
//! read, so that whoever follows one finds what it numbers.

use super::*;
use crate::codec::{Fault, Numbered, Reader, Stored, Writer, stored};

macro_rules! ids {
    ($($name:ident $numbered:expr;)*) => {$(
        impl Stored for $name {
            fn write(&self, to: &mut Writer) {
                to.number(self.0.into());
            }
            fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
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
        impl Stored for $name {
            fn write(&self, to: &mut Writer) {
                self.0.write(to);
            }
            fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
                u32::read(from).map($name)
            }
        }
    )*};
}
names!(VarId BindingId);

impl Stored for Program {
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
        for numbered in NUMBERED {
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

    fn read(from: &mut Reader<'_>) -> Result<Self, Fault> {
        let mut counts = from.counts();
        for numbered in NUMBERED {
            counts = counts.with(numbered, from.count()?);
        }
        from.set_counts(counts);
        let program = Program {
            slots: Stored::read(from)?,
            lets: read_lets(from)?,
            externs: Stored::read(from)?,
            tables: Stored::read(from)?,
            rules: Stored::read(from)?,
            values: Stored::read(from)?,
            flows: Stored::read(from)?,
            questions: Stored::read(from)?,
            handlers: Stored::read(from)?,
            input: Stored::read(from)?,
            tests: Stored::read(from)?,
            payloads: Stored::read(from)?,
            requirements: Stored::read(from)?,
            patterns: HashMap::new(),
            analysis: Stored::read(from)?,
        };
        if program.counts(counts.of(Numbered::File)) != counts {
            return Err(Fault("the program is not as large as it says"));
        }
        program.check()?;
        Ok(program)
    }
}

/// A `let` may use earlier ones only: whoever followed a circle would never come back.
fn read_lets(from: &mut Reader<'_>) -> Result<Vec<Let>, Fault> {
    let (counts, count) = (from.counts(), from.count()?);
    let mut lets = Vec::new();
    for number in 0..count {
        from.set_counts(counts.with(Numbered::Let, number));
        lets.push(Let::read(from)?);
    }
    from.set_counts(counts);
    Ok(lets)
}

/// What is counted before the program is read.
const NUMBERED: [Numbered; 7] = [
    Numbered::Slot,
    Numbered::Let,
    Numbered::Extern,
    Numbered::Table,
    Numbered::Rule,
    Numbered::Flow,
    Numbered::Value,
];

impl Program {
    /// Checks that numbers within their bounds cannot make.
    fn check(&self) -> Result<(), Fault> {
        if self.tables.is_empty() {
            return Err(Fault("there is no table of routes"));
        }
        let entity = |feature: Feature| match feature {
            Feature::Entity(number) => number < self.analysis.entities.len(),
            Feature::Lexicon(number) => number < self.analysis.lexicons.len(),
            Feature::Intent | Feature::Keywords => true,
        };
        if !self.externs.iter().filter_map(|function| function.feature).all(entity) {
            return Err(Fault("a function analyses what is not there"));
        }
        Ok(())
    }
}

stored!(struct Slot { root, path, kinds, private });
stored!(struct Let { name, body, span });
stored!(struct Extern { name, params, result, feature, span });
stored!(struct Handler { name, params, span, docs });
stored!(struct Table { name, kind, order, default, span, docs });
stored!(enum TableKind { 0 Routes, 1 Choice, 2 Flows, 3 Router, 4 Requirements });
stored!(struct Rule { name, table, priority, disabled, condition, outcome, span, docs });
stored!(enum Outcome {
    0 Handler { name, args, metadata },
    1 Goto(table),
    2 Branch { default },
    3 Flow { flow, pattern },
    4 Next { destinations, next, loopback },
});
stored!(enum Destination { 0 All, 1 At(number), 2 Node(id), 3 Named(value) });
stored!(struct Flow { name, id, description, trigger, span, docs });
stored!(enum Trigger { 0 Keyword, 1 Intent { examples, keywords } });
stored!(struct Question { name, text, branches, default, span });
stored!(struct Argument { name, value, optional });
stored!(struct Test { name, message, entry, expect, span });
stored!(enum Expect { 0 Rule(rule), 1 Default(table), 2 Nothing, 3 Judgement { kind, outcome, breaks } });
stored!(enum Term { 0 Cond(cond), 1 Expr(expr) });
stored!(struct Cond { kind, span });
stored!(enum CondKind {
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
stored!(struct Guarded { usable, cond });
stored!(struct Predicate { op, negated, mode, left, right });
stored!(enum Operand { 0 Nothing, 1 Value(value), 2 Range { start, end, inclusive } });
stored!(struct Var { id, name, kinds });
stored!(struct Expr { kind, ty, optional, span });
stored!(enum ExprKind {
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
stored!(enum Const { 0 Json(json), 1 DateTime(at) });
