//! The access path of each route, with the reasons for it, as printed by `rulec plan`. The plan is
//! computed from the rules on request, because the index does not store it.

use super::access::{AccessPathSelector, RouteAccess};
use super::attribute::ClassId;
use super::bitmap::MAX_COLUMNS;
use super::cost;
use super::index_terms::{IndexAtom, IndexAtoms};
use crate::bytecode::Chunk;
use hashbrown::HashMap;
use rulec_base::diag::{Message, comma_list};
use rulec_base::{broken_invariant, message};
use rulec_lang::operators::Anchor;
use rulec_sema::normal::{ExprId, NormalCond, NormalExpr, NormalForm, NormalRule};
use serde::Serialize;
use std::fmt::{self, Display, Formatter, Write};

/// How the index finds the routes of a table, for the output of `rulec plan`.
#[derive(Clone, Debug, Serialize)]
pub struct TablePlan {
    /// Id of the table in the compiled program.
    #[serde(skip)]
    pub table: u32,
    pub indexed: bool,
    /// Estimated cost in nanoseconds of a decision by this table with the index.
    pub index_cost: f64,
    /// Estimated cost in nanoseconds of a decision that tries this table's routes one by one.
    pub linear_cost: f64,
    pub routes: Vec<RoutePlan>,
}

/// How the index finds one route, for the output of `rulec plan`.
#[derive(Clone, Debug, Serialize)]
pub struct RoutePlan {
    /// Id of the route in the compiled program.
    #[serde(skip)]
    pub rule: u32,
    /// The access path of the route: by keys, by a bitmap index, or none.
    #[serde(flatten)]
    pub found: AccessPath,
}

/// How the index finds a route, as `rulec plan` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum AccessPath {
    /// Access by keys (facts about a message): every message that matches the route has one of the
    /// keys.
    Key {
        keys: Vec<Message>,
        /// Sum of the lengths of the keys' posting lists, each of which has the routes with one
        /// key.
        posting: usize,
        /// Estimated fraction of messages that have one of the keys (facts about a message).
        likelihood: f64,
    },
    /// Access by a bitmap index on message values, which leaves few routes to evaluate. `values`
    /// has the names of these values, as an author writes them.
    Bits { values: Vec<String> },
    /// The index cannot find the route: its condition is evaluated for every message. `because` is
    /// the reason.
    Always { because: Message },
}

impl AccessPath {
    /// Returns the name of the access path, and a message. The message lists the keys or values, or
    /// gives the reason why the route is evaluated for every message.
    pub fn name_and_message(&self) -> (&'static str, Message) {
        match self {
            AccessPath::Key { keys, .. } => {
                let keys = keys.iter().cloned().reduce(|one, other| message!("{one} or {other}"));
                ("key", keys.unwrap_or_default())
            }
            AccessPath::Bits { values } => ("bits", comma_list(values)),
            AccessPath::Always { because } => ("always", because.clone()),
        }
    }

    /// Returns the number of other routes that share a key with the route; 0 if the route is not
    /// found by keys.
    pub fn shared_route_count(&self) -> usize {
        match self {
            AccessPath::Key { posting, .. } => posting.saturating_sub(1),
            _ => 0,
        }
    }
}

/// Maximum number of keys (facts about a message) that are listed, to keep the output short. The
/// other keys are only counted.
/// Compared with other values in benches/notes/constants.md.
const MAX_LISTED_KEYS: usize = 4;

pub fn plan_tables(normal: &NormalForm, chunk: &Chunk) -> Vec<TablePlan> {
    let atoms = IndexAtoms::new(normal, chunk);
    let index = super::build_index(normal, chunk);
    let access_path_selector = AccessPathSelector::new(normal, &atoms);
    let writer = PlanWriter {
        normal,
        atoms: &atoms,
        atoms_by_set: atoms.atoms_by_set(),
        constants_by_attribute: atoms.constants_by_class(),
        literals_by_subject: atoms.literals_by_subject(),
    };
    let mut plans = Vec::new();
    for (table, (routes, info)) in normal.tables.iter().zip(&index.tables).enumerate() {
        let accesses = access_path_selector.table_access_paths(routes);
        let mut set_uses = vec![0_usize; atoms.probability_by_set.len()];
        for access in &accesses {
            if let RouteAccess::Keys(key_choice) = access {
                key_choice.iter().for_each(|set| set_uses[*set as usize] += 1);
            }
        }
        let routes = routes.iter().zip(accesses).map(|(route, access)| RoutePlan {
            rule: route.rule.0,
            found: match access {
                RouteAccess::Keys(key_choice) => AccessPath::Key {
                    keys: writer.key_messages(&key_choice),
                    posting: key_choice.iter().map(|set| set_uses[*set as usize]).sum(),
                    likelihood: key_choice
                        .iter()
                        .map(|set| atoms.probability_by_set[*set as usize])
                        .sum::<f64>()
                        .min(1.0),
                },
                RouteAccess::Bits(alternatives) => {
                    let mut values: Vec<String> = Vec::new();
                    for (attribute, _) in alternatives.iter().flatten() {
                        let value = writer.attribute_name(atoms.attributes[*attribute as usize].first_pred);
                        if !values.contains(&value) {
                            values.push(value);
                        }
                    }
                    values.truncate(MAX_COLUMNS);
                    AccessPath::Bits { values }
                }
                RouteAccess::Always => AccessPath::Always { because: writer.unindexed_reason(route) },
            },
        });
        plans.push(TablePlan {
            table: table as u32,
            indexed: info.index_cost_ns < info.linear_cost_ns,
            index_cost: info.index_cost_ns,
            linear_cost: info.linear_cost_ns,
            routes: routes.collect(),
        });
    }
    plans
}

struct PlanWriter<'n> {
    normal: &'n NormalForm,
    atoms: &'n IndexAtoms<'n>,
    atoms_by_set: Vec<&'n [IndexAtom]>,
    constants_by_attribute: Vec<HashMap<ClassId, String>>,
    literals_by_subject: Vec<Vec<(Anchor, &'n str)>>,
}

impl PlanWriter<'_> {
    /// Returns the name of the value that predicate number `pred` reads, as an author writes it.
    fn attribute_name(&self, pred: u32) -> String {
        let Some(pred) = self.normal.preds.get(pred as usize) else {
            broken_invariant!("the predicate of an index key exists");
            return String::new();
        };
        // Lowering swapped the operands of a comparison with a constant on the left.
        let operand = match (self.normal.constant(pred.left), pred.right) {
            (Some(_), Some(right)) => right,
            _ => pred.left,
        };
        ShownExpr { writer: self, expr: operand }.to_string()
    }

    fn key_messages(&self, key_choice: &[u32]) -> Vec<Message> {
        let mut atoms: Vec<&IndexAtom> =
            key_choice.iter().flat_map(|set| self.atoms_by_set[*set as usize]).collect();
        atoms.sort_unstable();
        atoms.dedup();
        // An operand that may be a text or a list has literal and element keys for the same words.
        let has_literals = atoms.iter().any(|atom| matches!(atom, IndexAtom::Literal(..)));
        let mut keys: Vec<Message> = atoms
            .iter()
            .filter(|atom| !has_literals || !matches!(atom, IndexAtom::Element(..)))
            .map(|atom| self.atom_message(atom))
            .collect();
        if keys.len() > MAX_LISTED_KEYS {
            let more = keys.len() - MAX_LISTED_KEYS + 1;
            keys.truncate(MAX_LISTED_KEYS - 1);
            keys.push(message!("{more} more"));
        }
        keys
    }

    fn atom_message(&self, atom: &IndexAtom) -> Message {
        match atom {
            IndexAtom::Literal(subject, number) => {
                let (anchor, literal) = self.literals_by_subject[*subject as usize][*number as usize];
                let value = self.attribute_name(self.atoms.subjects[*subject as usize].first_pred);
                let literal = format!("{literal:?}");
                match anchor {
                    Anchor::Anywhere => message!("{value} contains {literal}"),
                    Anchor::Start => message!("{value} begins with {literal}"),
                    Anchor::End => message!("{value} ends with {literal}"),
                }
            }
            IndexAtom::Class(attribute, class) => {
                let name = self.constants_by_attribute[*attribute as usize].get(class);
                let name = name.map_or_else(|| message!("another value"), Message::verbatim);
                message!(
                    "{} is {name}",
                    self.attribute_name(self.atoms.attributes[*attribute as usize].first_pred)
                )
            }
            IndexAtom::Element(attribute, text) => {
                let value = self.attribute_name(self.atoms.attributes[*attribute as usize].first_pred);
                message!("{value} has the element {}", format!("{text:?}"))
            }
        }
    }

    /// Returns the reason why a route cannot be found by the index, so that its condition is
    /// evaluated for every message.
    fn unindexed_reason(&self, route: &NormalRule) -> Message {
        let (mut has_negated, mut has_quantifier, mut has_other_test, mut has_constant) =
            (false, false, false, false);
        let mut pending = vec![route.cond];
        while let Some(cond) = pending.pop() {
            match self.normal.cond(cond) {
                NormalCond::And(parts) | NormalCond::Or(parts) => pending.extend(parts.iter()),
                NormalCond::Predicate { want: false, .. } | NormalCond::Not(_) => has_negated = true,
                NormalCond::Predicate { want: true, .. } => has_other_test = true,
                NormalCond::Each { .. } => has_quantifier = true,
                NormalCond::Const(_) => has_constant = true,
            }
        }
        let reason = match (has_constant, has_negated, has_quantifier, has_other_test) {
            (true, ..) => message!("it always holds"),
            (_, true, false, false) => message!("it has only negative tests"),
            (_, _, true, _) => message!("it tests the elements of a list"),
            _ => message!("no part of the condition requires a particular text or value"),
        };
        let cost = format!("{:.0}", cost::condition_cost_ns(self.normal, route.cond));
        message!("{reason}; about {cost} ns a message")
    }
}

/// An expression that `Display` writes as an author would write it in a rule.
struct ShownExpr<'w> {
    writer: &'w PlanWriter<'w>,
    expr: ExprId,
}

impl Display for ShownExpr<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shown_expr = |expr: ExprId| ShownExpr { expr, ..*self };
        let write_list = |f: &mut Formatter<'_>, items: &[ExprId]| {
            for (at, item) in items.iter().enumerate() {
                write!(f, "{}{}", if at > 0 { ", " } else { "" }, shown_expr(*item))?;
            }
            Ok(())
        };
        match self.writer.normal.expr(self.expr) {
            NormalExpr::Slot(slot) | NormalExpr::History(slot) => {
                f.write_str(self.writer.atoms.slot_name(*slot))
            }
            NormalExpr::Const(constant) => write!(f, "{}", constant.0.value().to_json()),
            NormalExpr::Field(base, name) => write!(f, "{}.{name}", shown_expr(*base)),
            NormalExpr::Index(base, key) => write!(f, "{}[{}]", shown_expr(*base), shown_expr(*key)),
            NormalExpr::Read(inner, _) => write!(f, "{}", shown_expr(*inner)),
            NormalExpr::Op(op, left, Some(right)) => {
                write!(f, "{} {} {}", shown_expr(*left), op.info().spelling, shown_expr(*right))
            }
            NormalExpr::Op(op, inner, None) => write!(f, "{}{}", op.info().spelling, shown_expr(*inner)),
            NormalExpr::Call(function, args) => {
                write!(f, "{}(", function.info().name)?;
                write_list(f, args)?;
                f.write_char(')')
            }
            NormalExpr::List(items) => {
                f.write_char('[')?;
                write_list(f, items)?;
                f.write_char(']')
            }
            NormalExpr::Var(_)
            | NormalExpr::Extern(..)
            | NormalExpr::Fold { .. }
            | NormalExpr::Window(..)
            | NormalExpr::Quantifier { .. }
            | NormalExpr::Cond { .. }
            | NormalExpr::If { .. } => f.write_char('…'),
        }
    }
}
