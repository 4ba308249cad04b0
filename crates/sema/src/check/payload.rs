//! Lowers payloads. A `payload` declares the requirements on an object, such as a proposal of a
//! language model. Each requirement becomes a rule of a table; the rule's condition is true if an
//! object violates the requirement. A `group` of requirements is inlined where it is included.

mod declared;
mod each;
mod field;
mod include;
mod place;
mod rule;
mod shape;

use super::constant::json_of_constant;
use super::{AlreadyReported, Binding, Checked, Checker};
use crate::hir::{
    self, BindingId, BindingRoot, Cond, CondKind, Effect, Expr, ExprKind, ObjectPath, Operand, Part,
    Predicate, PrivateReads, Requirement, RequirementBlock, TableKind,
};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_lang::ty::Ty;
use rulec_syntax::ast::{self, PayloadItem, PayloadItemKind, ViolationNotice};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::sync::Arc;

/// The object to which the lowered items (fields, rules) apply, with the settings of its reports.
#[derive(Clone)]
struct ItemSite {
    /// The name of the payload or group, which is the prefix of the ids of rules about fields.
    owner_name: Arc<str>,
    object: Expr,
    place: ObjectPath,
    /// Whether the value may be no object, for example a number. A separate rule then reports it.
    may_be_non_object: bool,
    /// The id after `include … as`, if it was written. Reports then show this id instead of the
    /// rules' own ids, and the rules suggest no corrections.
    reported_id: Option<Arc<str>>,
    /// The names of all fields that are declared for the object. `closed` reports all other keys.
    declared_names: Arc<[Arc<str>]>,
}

/// The state of the checker while it lowers one `payload` statement.
#[derive(Default)]
pub(super) struct PayloadState {
    binding_count: u32,
    /// The block that receives the rules: the payload's block, or the block of the innermost
    /// `each`. The rules of a block are evaluated for the same value.
    block: RequirementBlock,
    /// Conditions under which each rule applies, such as the `when` of an enclosing `include`.
    guards: Vec<Cond>,
    /// The groups that are being inlined, outermost first, to detect a group that includes itself.
    inlined_groups: Vec<Arc<str>>,
    /// The schema of the validated object.
    object: hir::ObjectSchema,
    /// The path of each list that an `each` traverses in the validated object, by element binding.
    list_paths: HashMap<BindingId, ObjectPath>,
    /// The names of the validated object's fields, including the fields of included groups.
    pub(super) field_names: Arc<[Arc<str>]>,
    /// The number of `each` blocks that enclose the current item; the nesting is limited.
    each_depth: usize,
    /// The number of items (fields, rules and so on) that were lowered so far. Items of a group
    /// count each time that the group is inlined.
    item_count: usize,
    /// Number of inlined group items in all payloads so far. Limited, because copies take memory.
    copy_count: usize,
    /// Whether the payload was already reported as too large.
    is_too_big: bool,
}

impl PayloadState {
    fn has_too_many_items(&self) -> bool {
        self.item_count > MAX_PAYLOAD_ITEMS || self.copy_count > MAX_COPIED_ITEMS
    }
}

/// Maximum nesting depth of groups and `each` blocks, which are lowered recursively.
const MAX_ITEM_DEPTH: usize = 64;
/// Maximum number of items (fields, rules and so on) of a payload, with its groups inlined.
const MAX_PAYLOAD_ITEMS: usize = 100_000;
/// Maximum number of copies of group items in all payloads of a program. Every payload is lowered
/// in two passes, and the copies of both passes count.
const MAX_COPIED_ITEMS: usize = 100_000;

/// The data with which a violation of a requirement is reported.
struct ViolationReport<'a> {
    place: ObjectPath,
    /// The source span of the condition or clause that states the requirement.
    span: Span,
    message: Message,
    /// The suggested repair. If it is empty, reports show the correction or the message instead.
    repair: Message,
    shows_value: bool,
    correction: Option<hir::Correction>,
    notice: &'a ViolationNotice,
    /// Whether a violation is corrected but not reported, such as a field that gets its default.
    is_only_corrected: bool,
    /// Whether the requirement comes from the declaration of a field, and not from a rule.
    is_from_field: bool,
}

/// The kind of statement that contains items (fields, rules and so on).
#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemOwner {
    /// The items belong to a payload or group, which may declare fields.
    Object,
    /// The items belong to an `each`, which may not declare fields.
    Each,
}

impl<'a> Checker<'a> {
    /// Lowers every `payload` statement. Also checks groups that no payload includes.
    pub(super) fn lower_payloads(&mut self) {
        let symbols = self.symbols;
        let mut ranks: HashMap<i64, Span> = HashMap::new();
        for symbol in symbols.payloads.iter() {
            let (payload, docs) = symbol.declaration;
            if let Some(rank) = &payload.rank
                && let Some(first) = ranks.insert(rank.node, rank.span)
            {
                let message = message!("another payload kind has the rank {}", rank.node);
                self.diagnostics.push(
                    Diagnostic::new(Code::EqualRank, rank.span, message)
                        .label(first, message!("the first one"))
                        .help(message!(
                            "the decision with the lowest rank runs first, so give each payload kind a rank \
                            of its own"
                        )),
                );
            }
            if let Some(name) = &payload.fallback_kind
                && symbols.payloads.get(&name.node).is_none()
            {
                let message = message!("there is no payload kind `{}`", name.node);
                let help = message!("declare it: `payload {} rank 10 {{ … }}`", name.node);
                let kinds = symbols.payloads.names();
                let _: Checked<()> =
                    self.report_unknown_or_nearest(Code::UnknownPayload, name, message, kinds, help);
            }
            self.lower_payload(payload, docs);
        }
        for symbol in symbols.groups.iter() {
            // If groups are nested too deep, some groups were not reached. These groups are not
            // checked alone, because a payload may include them.
            if !self.used_names.contains(symbol.name.node.as_str()) && !self.payload.is_too_big {
                self.check_lone_group(symbol.declaration);
            }
        }
    }

    fn lower_payload(&mut self, payload: &'a ast::Payload, docs: &str) {
        let object = self.lower_body(&payload.name, &payload.body, None);
        self.program.payloads.push(hir::Payload {
            name: payload.name.node.as_str().into(),
            execution_rank: payload.rank.as_ref().map(|rank| rank.node),
            interrupts: payload.interrupts_others,
            suspends: payload.suspends_others,
            is_internal: payload.is_internal,
            is_strict: payload.is_strict,
            fallback_payload: payload.fallback_kind.as_ref().map(|name| name.node.as_str().into()),
            object,
            binding_count: self.payload.binding_count,
            block: std::mem::take(&mut self.payload.block),
            span: payload.name.span,
            docs: docs.into(),
            payload_version: self.payload_versions.get(&payload.name.span.file).cloned(),
        });
    }

    /// Checks a group that no payload includes. Reports its errors, but adds none of its rules to
    /// the program.
    fn check_lone_group(&mut self, group: &'a ast::Group) {
        let counts_before =
            (self.program.rules.len(), self.program.requirements.len(), self.program.tables.len());
        self.lower_body(&group.name, &group.body, Some(group));
        self.program.rules.truncate(counts_before.0);
        self.program.requirements.truncate(counts_before.1);
        self.program.tables.truncate(counts_before.2);
    }

    /// Lowers `body`, the body of a payload, or of `group` if a group is checked alone. The names
    /// `payload` and `decision` are in scope. Returns the schema of the object.
    fn lower_body(
        &mut self,
        name: &ast::Ident,
        body: &'a [PayloadItem],
        group: Option<&ast::Group>,
    ) -> hir::ObjectSchema {
        let groups: Vec<Arc<str>> = group.iter().map(|group| group.name.node.as_str().into()).collect();
        let PayloadState { copy_count: copies, is_too_big: too_large, .. } = self.payload;
        self.payload = PayloadState { copy_count: copies, is_too_big: too_large, ..PayloadState::default() };
        let decision = super::constant::build_constant(Json::from(name.node.as_str()), name.span);
        self.scope.push(Binding::new(shape::DECISION_NAME, decision.clone(), name.span));
        let object = self.collect_object(body, &mut groups.clone());
        self.scope.clear();
        let block = self.new_block(&name.node, name.span);
        let fields = object.fields.iter().map(|field| field.name.clone()).collect();
        let PayloadState { item_count: items, copy_count: copies, is_too_big: too_large, .. } = self.payload;
        self.payload = PayloadState {
            block,
            inlined_groups: groups,
            field_names: fields,
            item_count: items,
            copy_count: copies,
            is_too_big: too_large,
            ..PayloadState::default()
        };
        let (root_binding, payload) = self.new_binding("payload", object.record_type(), false, name.span);
        self.bind_path(ObjectPath::new(root_binding), Binding::new("payload", payload.clone(), name.span));
        self.scope.push(Binding::new(shape::DECISION_NAME, decision, name.span));
        let site = ItemSite {
            owner_name: name.node.as_str().into(),
            object: payload,
            place: ObjectPath::new(root_binding),
            may_be_non_object: group.is_some(),
            reported_id: None,
            declared_names: object.fields.iter().map(|field| field.name.clone()).collect(),
        };
        self.payload.object = object;
        let params = group.map_or(&[][..], |group| &group.params);
        for (field, param) in self.resolve_record(params).fields.into_iter().zip(params) {
            let (id, expr) = self.new_binding(&field.name, field.ty, false, param.name.span);
            self.bind_path(ObjectPath::new(id), Binding::new(&field.name, expr, param.name.span));
        }
        self.lower_items(body, ItemOwner::Object, &site);
        self.scope.clear();
        self.payload.field_names = Arc::default();
        std::mem::take(&mut self.payload.object)
    }

    /// Brings `binding`, a named value, into scope. `place` is the path of the value in the
    /// validated object.
    fn bind_path(&mut self, place: ObjectPath, binding: Binding) {
        self.scope.push(Binding { place: Some(place), ..binding });
    }

    /// Allocates an id for a binding (a named value). Returns the id and the expression that reads
    /// the binding. `private` is true if the value comes from private fields.
    fn new_binding(&mut self, name: &str, ty: Ty, private: bool, span: Span) -> (BindingId, Expr) {
        let id = BindingId(self.payload.binding_count);
        self.payload.binding_count += 1;
        let root = BindingRoot { id, name: name.into() };
        let slot = self.fields.intern_slot(Some(&root), &[""; 0], ty.kinds, private);
        (id, Expr { kind: ExprKind::Slot(slot), ty, may_be_missing: true, span })
    }

    /// Returns an analysis that finds out which expressions read private values.
    fn private_reads(&self) -> PrivateReads<'_> {
        PrivateReads::new(self.fields.slots(), &self.program.lets, self.fields.declared_root_fields())
    }

    /// Returns a block (rules that are evaluated for the same value) with a new, empty table.
    fn new_block(&mut self, name: &str, span: Span) -> RequirementBlock {
        let table = self.push_table(TableKind::Requirements, name, Some(span), "");
        RequirementBlock { lets: Vec::new(), table, each_blocks: Vec::new() }
    }

    /// Lowers the items (fields, rules and so on) of a payload, a group or an `each`, in order.
    fn lower_items(&mut self, items: &'a [PayloadItem], body: ItemOwner, site: &ItemSite) {
        let scope = self.scope.len();
        self.payload.item_count += items.len();
        if body == ItemOwner::Object {
            self.bring_fields_into_scope(items, site);
        }
        let mut rules: HashMap<(&str, &str), Span> = HashMap::new();
        for item in items {
            // An error in one item does not stop the others.
            let _: Checked<()> = match &item.kind {
                PayloadItemKind::Field(field) if body == ItemOwner::Each => self.fail(
                    Code::Unexpected,
                    field.name.span,
                    message!("an `each` block cannot declare fields"),
                    message!(
                        "declare a group with these fields and use it as the list's type: `nodes: \
                        list<plan_node>`"
                    ),
                ),
                PayloadItemKind::Field(field) => self.add_field_rules(field, site),
                PayloadItemKind::Rule(rule) => {
                    if body == ItemOwner::Object {
                        self.report_duplicate_rule(rule, &mut rules);
                    }
                    self.lower_rule(rule, site)
                }
                PayloadItemKind::Closed { id, notice } => {
                    self.lower_closed(id.as_ref(), notice, item.span, site)
                }
                PayloadItemKind::Let { name, value } => self.lower_local(name, value),
                PayloadItemKind::Include(include) => self.lower_include(include, site),
                PayloadItemKind::Each(each) => self.lower_each(each, site),
            };
        }
        self.scope.truncate(scope);
    }

    pub(super) fn source_on_one_line(&self, span: Span) -> String {
        self.loaded.sources.slice(span).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Adds a requirement and its rule to the program. The requirement is violated if all
    /// conditions in `parts` and the conditions of enclosing `include`s are true.
    fn add_requirement(
        &mut self,
        id: &str,
        mut parts: Vec<Cond>,
        report: ViolationReport<'a>,
        site: &ItemSite,
    ) -> Checked<()> {
        let ViolationReport { place, span, message, repair, shows_value, correction, notice, .. } = report;
        let (completes, of_field) = (report.is_only_corrected, report.is_from_field);
        parts.splice(0..0, self.payload.guards.iter().cloned());
        let condition = join_by_and(parts, span);
        self.measure_within_limits(Part::Cond(&condition), span)?;
        let name: Arc<str> = site.reported_id.clone().unwrap_or_else(|| id.into());
        let (handler, metadata) = (name.clone(), self.empty_metadata.clone());
        let outcome = hir::Outcome::Handler { name: handler, args: Vec::new(), metadata };
        let rule = self.add_rule(self.payload.block.table, name, condition, outcome, span);
        let message = notice.message.as_ref().map_or(message, |text| Message::verbatim(&text.node));
        let repair = match (&notice.remedy, repair) {
            (Some(text), _) => Message::verbatim(&text.node),
            (None, repair) if !repair.is_empty() => repair,
            (None, _) => match &correction {
                Some(hir::Correction::Remove) => message!("remove it"),
                // A value that is not constant is computed when the requirement is violated.
                Some(hir::Correction::Default(value) | hir::Correction::Clamp(value)) => {
                    json_of_constant(self.program.value(*value))
                        .map_or_else(Message::default, |value| message!("write {value}"))
                }
                None => message.clone(),
            },
        };
        self.program.requirements.push(Requirement {
            rule,
            place,
            message,
            repair,
            shows_value,
            correction: correction.filter(|_| site.reported_id.is_none() && !notice.is_warning),
            effect: match (completes, notice.is_warning) {
                (true, _) => Effect::Completion,
                (false, true) => Effect::Warning,
                (false, false) => Effect::Violation,
            },
            must_compile: false,
            is_from_field: of_field,
        });
        Ok(())
    }

    /// Lowers `let name = value`, so that later rules of the payload can read the value by its
    /// name.
    fn lower_local(&mut self, name: &'a ast::Ident, value: &'a ast::Expr) -> Checked<()> {
        self.pending_type_tests.clear();
        let Ok(expr) = self.check_value(value) else {
            // The name comes into scope although its value has an error. Its uses are then not
            // reported as unknown.
            let (_, expr) = self.new_binding(&name.node, Ty::ANY, false, name.span);
            self.scope.push(Binding::new(&name.node, expr, name.span));
            return Err(AlreadyReported);
        };
        let guard = self.take_type_tests(name.span);
        let object_path = self.object_path_of(value);
        let expr = self.bind_once(&name.node, expr, name.span);
        self.scope.push(Binding { place: object_path, guard, ..Binding::new(&name.node, expr, name.span) });
        Ok(())
    }

    /// Joins the pending type tests into one condition, and clears them. The condition is true if
    /// all values named since the last call have their declared types. `None` if none is pending.
    fn take_type_tests(&mut self, span: Span) -> Option<Cond> {
        let pending_type_tests = std::mem::take(&mut self.pending_type_tests);
        (!pending_type_tests.is_empty()).then(|| join_by_and(pending_type_tests, span))
    }

    /// Stores a value under a name so that it is computed only once, and returns the expression
    /// that reads it. A constant or a direct read of a field is cheap, so it is returned unchanged.
    fn bind_once(&mut self, name: &str, value: Expr, span: Span) -> Expr {
        if matches!(value.kind, ExprKind::Slot(_) | ExprKind::Const(_)) {
            return value;
        }
        let private = self.private_reads().is_private(&value);
        let (id, expr) = self.new_binding(name, value.ty.clone(), private, span);
        let value = self.add_value(value);
        self.payload.block.lets.push((id, value));
        expr
    }
}

fn negate(condition: Cond) -> Cond {
    let span = condition.span;
    Cond { kind: CondKind::Not(Box::new(condition)), span }
}

fn join_by_and(mut parts: Vec<Cond>, span: Span) -> Cond {
    match parts.len() {
        1 => parts.remove(0),
        _ => Cond { kind: CondKind::And(parts), span },
    }
}

/// Builds a condition that applies one operator, without `not` and without modifiers such as
/// `ignoring case`.
fn test_condition(op: Op, left: Expr, right: Operand, span: Span) -> Cond {
    Predicate::without_modifiers(op, left, right).into_cond(span)
}

fn is_missing_condition(value: &Expr, span: Span) -> Cond {
    test_condition(Op::IsMissing, value.clone(), Operand::Nothing, span)
}

fn is_present_condition(value: &Expr, span: Span) -> Cond {
    test_condition(Op::IsPresent, value.clone(), Operand::Nothing, span)
}
