//! The binary encoding of a program. When an id is read, it is compared with the length of the
//! vector that it indexes, so that later lookups cannot fail.

use super::*;
use rulec_base::codec::{Codec, DecodeError, IndexedTable, Reader, Writer, impl_codec};

macro_rules! impl_codec_for_ids {
    ($($name:ident $read:path $(, $numbered:expr)?;)*) => {$(
        impl Codec for $name {
            fn write(&self, to: &mut Writer) {
                to.write_number(self.0.into());
            }
            fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                $read(from $(, $numbered)?).map($name)
            }
        }
    )*};
}
impl_codec_for_ids! {
    SlotId Reader::read_id, IndexedTable::Slot;
    LetId Reader::read_id, IndexedTable::Let;
    ExternId Reader::read_id, IndexedTable::Extern;
    TableId Reader::read_id, IndexedTable::Table;
    RuleId Reader::read_id, IndexedTable::Rule;
    FlowId Reader::read_id, IndexedTable::Flow;
    ValueId Reader::read_id, IndexedTable::Value;
    // These ids are only compared with each other, so any number is valid.
    VarId u32::read;
    BindingId u32::read;
}

/// Implements the binary encoding of a program. Every id must be below the length of the vector
/// that it indexes, but an id may be read before its vector. So the lengths of all vectors are
/// stored before the program, and each id is compared with a stored length. Only after the whole
/// program is read are the lengths themselves checked. Until then, no id is used as an index.
macro_rules! impl_codec_for_program {
    ($($part:ident)*) => {
        impl Codec for Program {
            fn write(&self, to: &mut Writer) {
                $(self.$part.write(to);)*
            }
            fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
                from.counts = from.counts.with_count(IndexedTable::Let, 0);
                // Only the compiler uses patterns and unused declarations, so they are not written.
                let (patterns, idle) = (HashMap::new(), Vec::new());
                Ok(Program { $($part: Codec::read(from)?,)* patterns, idle })
            }
        }
    };
}
impl_codec_for_program!(
    slots lets externs tables rules values flows flow_tool questions prompts handlers input inferred tests workflows payloads
    requirements analysis history limits zones
);

/// While the body of a `let` is read, only the ids of earlier `let`s are valid. So the body can
/// refer only to earlier `let`s, and no cycle can make evaluators loop forever.
impl Codec for Let {
    fn write(&self, to: &mut Writer) {
        let Let { name, body, span } = self;
        name.write(to);
        body.write(to);
        span.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let let_definition =
            Let { name: Codec::read(from)?, body: Codec::read(from)?, span: Codec::read(from)? };
        from.counts = from.counts.with_count(IndexedTable::Let, from.counts.get(IndexedTable::Let) + 1);
        Ok(let_definition)
    }
}

/// Encodes a table without the field `order`. The caller computes `order` when all rules have been
/// read.
impl Codec for Table {
    fn write(&self, to: &mut Writer) {
        let Table { name, kind, order: _, default, to_user, span, docs } = self;
        name.write(to);
        kind.write(to);
        default.write(to);
        to_user.write(to);
        span.write(to);
        docs.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Table {
            name: Codec::read(from)?,
            kind: Codec::read(from)?,
            order: Vec::new(),
            default: Codec::read(from)?,
            to_user: Codec::read(from)?,
            span: Codec::read(from)?,
            docs: Codec::read(from)?,
        })
    }
}

impl_codec!(struct Slot { root, path, kinds, values, private });
impl_codec!(struct Extern { name, params, result, feature, span });
impl_codec!(struct Handler { name, params, requires, span, docs });
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
impl_codec!(struct FlowTool { name, description, parameter, endpoint, span });
impl_codec!(struct Question { name, text, branches, default, span });
impl_codec!(struct Argument { name, value, optional });
impl_codec!(struct Test { name, message, history, entry, expect, then, span });
impl_codec!(struct Then { handler, args, metadata, next, score });
impl_codec!(enum Expect {
    0 Rule(rule),
    1 Default(table),
    2 Nothing,
    3 Judgement { kind, outcome, breaks },
    4 Flow(flow),
    5 Any,
});
impl_codec!(enum Term { 0 Cond(cond), 1 Expr(expr) });
impl_codec!(struct Cond { kind, span });
impl_codec!(enum CondKind {
    0 Const(value),
    1 Not(cond),
    2 And(parts),
    3 Or(parts),
    4 Predicate(predicate),
    5 Quantifier { all, list, var, body },
    6 Let(number),
    7 Call(name, args, cond),
    8 Branch { all, conditions },
    9 NotTrue(cond),
});
impl_codec!(struct BoundArgument { parameter, span });
impl_codec!(struct Guarded { usable, cond });
impl_codec!(struct Predicate { op, negated, mode, left, right });
impl_codec!(enum Operand { 0 Nothing, 1 Value(value), 2 Range { start, end, inclusive, wraps } });
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
    11 Fold { fold, list, var, body },
    12 Cond(cond),
    13 Let(number),
    14 If { cond, then, other },
    15 Window { list, bound, operand },
});
impl_codec!(enum Fold { 0 Count, 1 Sum(value), 2 First, 3 Last });
impl_codec!(enum Const { 0 Json(json), 1 DateTime(at), 2 Version(version), 3 Decimal(decimal) });
