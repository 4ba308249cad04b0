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
                // Only the compiler uses facts of regular expressions and unused declarations, so
                // they are not written.
                let (regex_facts, unused_declarations) = (HashMap::new(), Vec::new());
                Ok(Program { $($part: Codec::read(from)?,)* regex_facts, unused_declarations })
            }
        }
    };
}
impl_codec_for_program!(
    slots lets externs tables rules values flows flow_tool questions prompts handlers input inferred tests workflows payloads
    requirements analysis history limits time_zone_version
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
        from.counts = from.counts.with_count(IndexedTable::Let, from.counts.count_of(IndexedTable::Let) + 1);
        Ok(let_definition)
    }
}

/// Encodes a table without the field `evaluation_order`. The caller computes `evaluation_order`
/// when all rules have been read.
impl Codec for Table {
    fn write(&self, to: &mut Writer) {
        let Table { name, kind, evaluation_order: _, default, is_shown_to_user: to_user, span, docs } = self;
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
            evaluation_order: Vec::new(),
            default: Codec::read(from)?,
            is_shown_to_user: Codec::read(from)?,
            span: Codec::read(from)?,
            docs: Codec::read(from)?,
        })
    }
}

impl_codec!(struct Slot { root, path, kinds, values, is_private });
impl_codec!(struct Extern { name, params, result, feature, span });
impl_codec!(struct Handler { name, params, required_permissions, span, docs });
impl_codec!(enum TableKind { 0 Routes, 1 Choice, 2 Flows, 3 Router, 4 Requirements });
impl_codec!(struct Rule { name, table, priority, is_disabled, condition, outcome, span, docs });
impl_codec!(enum Outcome {
    0 Handler { name, args, metadata },
    1 Goto(table),
    2 Branch { default },
    3 Flow { flow, pattern },
    4 Next { destinations, next, leads_back },
});
impl_codec!(enum Destination { 0 All, 1 At(number), 2 Node(id), 3 Named(value) });
impl_codec!(struct Flow { name, id, description, trigger, span, docs });
impl_codec!(enum Trigger { 0 Keyword, 1 Intent { examples, keywords } });
impl_codec!(struct FlowTool { name, description, parameter_description, endpoint, span });
impl_codec!(struct Question { name, text, branch_descriptions, default, span });
impl_codec!(struct Argument { name, value, is_optional, allowed_texts });
impl_codec!(struct Test { name, message, history, entry_table, expect, outcome, span });
impl_codec!(struct OutcomeExpectations { handler, args, metadata, next_nodes, score_bound });
impl_codec!(enum ExpectedDecision {
    0 Rule(rule),
    1 Default(table),
    2 Nothing,
    3 Judgement { payload_kind, validation_outcome, violations },
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
    5 Quantifier { is_all, list, var, body },
    6 Let(number),
    7 Call(name, args, cond),
    8 Branch { requires_all, conditions },
    9 NotTrue(cond),
});
impl_codec!(struct BoundArgument { parameter, span });
impl_codec!(struct GuardedCondition { presence_condition, cond });
impl_codec!(struct Predicate { op, is_negated, mode, left, right });
impl_codec!(enum Operand { 0 Nothing, 1 Value(value), 2 Range { start, end, includes_end, wraps_midnight } });
impl_codec!(struct Var { id, name, element_kinds });
impl_codec!(struct Expr { kind, ty, may_be_missing, span });
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
    14 If { cond, then_value, else_value },
    15 Window { list, bound, operand },
});
impl_codec!(enum Fold { 0 Count, 1 Sum(value), 2 First, 3 Last });
impl_codec!(enum Const { 0 Json(json), 1 DateTime(at), 2 Version(version), 3 Decimal(decimal) });
