//! Checks calls of built-in functions, `def`s, and host functions (of the embedding program). The
//! body of a `def` is inlined.

use super::constant::build_constant;
use super::decimal::number_or_element_kinds;
use super::fields::NarrowingReason;
use super::file_settings::{CASE_SETTING, ZONE_SETTING};
use super::path::read_as_declared;
use super::read::wrap_in_typed_read;
use super::substitute::Substitution;
use super::{AlreadyReported, Binding, Checked, CheckedDefinition, Checker, DefBody, MAX_CONDITION_NODES};
use crate::hir::{self, BoundArgument, Cond, CondKind, Expr, ExprKind, ExprSize, Part, Term};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::Function;
use rulec_lang::ty::{InnerType, KindSet, Ty};
use rulec_syntax::ast::{self, Ident};
use std::sync::Arc;

impl<'a> Checker<'a> {
    pub(super) fn check_def(
        &mut self,
        params: &'a [ast::Field],
        body: &'a ast::Expr,
    ) -> Checked<CheckedDefinition> {
        let record = self.resolve_record(params);
        let mut bindings = Vec::new();
        for (index, (field, param)) in record.fields.into_iter().zip(params).enumerate() {
            let (kind, ty) = (ExprKind::Param(index as u32), field.ty.clone());
            let expr = Expr { kind, ty, may_be_missing: field.is_optional, span: param.name.span };
            self.scope.push(Binding::new(&field.name, expr, param.name.span));
            bindings.push((field.name, field.ty));
        }
        let checked = self.check_term(body);
        self.scope.truncate(self.scope.len() - bindings.len());
        let checked = checked?;
        self.measure_within_limits(checked.as_part(), body.span)?;
        Ok(CheckedDefinition::Def(Arc::new(DefBody { params: bindings, body: checked })))
    }

    pub(super) fn declare_extern_fn(
        &mut self,
        name: &Ident,
        params: &'a [ast::Field],
        result: &'a ast::TypeExpr,
    ) -> Checked<CheckedDefinition> {
        let record = self.resolve_record(params);
        let ty = self.resolve_type_without_enumerations(result)?;
        let element = if ty.kinds == KindSet::LIST { ty.element().kinds } else { KindSet::EMPTY };
        let composite = |kinds: KindSet| kinds.overlaps(KindSet::DICT) || kinds == KindSet::MESSAGE_KINDS;
        if composite(ty.kinds) || composite(element) {
            let message = message!("a host function cannot return {ty}");
            let help =
                message!("a host function may return a bool, number, string, datetime, or a list of these");
            return self.fail(Code::ArgumentType, result.span, message, help);
        }
        let id = hir::ExternId(self.program.externs.len() as u32);
        let params = record.fields.into_iter().map(|field| (field.name, field.ty)).collect();
        self.program.externs.push(hir::Extern {
            name: name.node.as_str().into(),
            params,
            result: ty,
            feature: None,
            span: name.span,
        });
        Ok(CheckedDefinition::Extern(id))
    }

    /// Checks a call `name(args)` of a built-in function, `def` or host function, and lowers it.
    pub(super) fn check_call(&mut self, name: &'a Ident, args: &'a [ast::Arg], span: Span) -> Checked<Term> {
        if let Some(function) = Function::from_name(&name.node) {
            return self.check_builtin_call(function, name, args, span).map(Term::Expr);
        }
        let Some(symbol) = self.symbols.definition(name.span.file, &name.node) else {
            return self.report_unknown_function(name, args, span);
        };
        self.used_names.insert(&symbol.name.node);
        let declared = symbol.name.span;
        self.warn_other_settings(&name.node, declared, span);
        match self.definitions.get(name.node.as_str()).cloned().flatten() {
            None => Err(AlreadyReported),
            Some(CheckedDefinition::Def(def)) => {
                let args = self.check_arguments(name, args, &def.params, declared, span)?;
                let sizes =
                    args.iter().map(|arg| ExprSize::new(Part::Expr(arg), &self.let_measures).node_count);
                let (sizes, args) = (sizes.collect(), &*args);
                let mut substitution = Substitution {
                    arg_node_counts: sizes,
                    args,
                    copied_nodes: 0,
                    substituted_predicates: Vec::new(),
                    substituted_args: Vec::new(),
                };
                let mut term = def.body.clone();
                match &mut term {
                    Term::Cond(cond) => {
                        substitution.substitute_in_cond(cond);
                        let bound = def.params.iter().zip(args).map(|((parameter, _), arg)| BoundArgument {
                            parameter: parameter.clone(),
                            span: arg.span,
                        });
                        let (name, body) = (name.node.as_str().into(), Box::new(cond.clone()));
                        *cond = Cond { kind: CondKind::Call(name, bound.collect(), body), span };
                    }
                    Term::Expr(expr) => {
                        substitution.substitute_in_expr(expr);
                        expr.span = span;
                    }
                }
                if substitution.copied_nodes > MAX_CONDITION_NODES {
                    return self.report_too_large(span, true);
                }
                let Substitution { substituted_predicates, substituted_args, .. } = substitution;
                for (op, mode, left, right) in substituted_predicates {
                    self.check_text_operand(op, mode, &right)?;
                    self.check_enumeration((op, mode), &left, &right, None)?;
                    // A constant left operand was already checked with the `def` itself.
                    if left.as_const().is_none() {
                        self.warn_useless_constant(op, mode, &left, &right);
                    }
                }
                for (function, param, arg) in substituted_args {
                    self.check_argument_validity(function, param, &arg)?;
                }
                self.measure_within_limits(term.as_part(), span)?;
                Ok(term)
            }
            Some(CheckedDefinition::Extern(id)) => {
                let (params, ty) = {
                    let function = &self.program.externs[id.index()];
                    (function.params.clone(), function.result.clone())
                };
                let args = self.check_arguments(name, args, &params, declared, span)?;
                Ok(Term::Expr(Expr { kind: ExprKind::Extern(id, args), ty, may_be_missing: true, span }))
            }
            Some(CheckedDefinition::Let(..) | CheckedDefinition::List(_)) => {
                let message = message!("`{}` takes no arguments", name.node);
                self.report(
                    Diagnostic::new(Code::UnknownFunction, name.span, message)
                        .here(message!("called here"))
                        .label(declared, message!("declared as a {}", symbol.declaration.keyword()))
                        .help(message!("write `{}` without parentheses", name.node)),
                )
            }
        }
    }

    fn check_builtin_call(
        &mut self,
        function: Function,
        name: &Ident,
        written_args: &'a [ast::Arg],
        span: Span,
    ) -> Checked<Expr> {
        let row = function.info();
        let names: Vec<&str> = row.params.iter().map(|(name, _)| *name).collect();
        let args_by_parameter = self.arguments_by_parameter(name, written_args, &names, None)?;
        let required_count = names.len() - row.optional_count;
        if !row.accepts_argument_count(args_by_parameter.len())
            || args_by_parameter.iter().take(required_count).any(Option::is_none)
        {
            let wanted = argument_count_phrase(required_count, names.len(), row.is_variadic);
            let message = message!("`{}` takes {wanted}, not {}", row.name, written_args.len());
            let diagnostic = Diagnostic::new(Code::ArgumentCount, span, message);
            return self.report(self.with_suggested_call(diagnostic, function, written_args, span));
        }
        let mut args = Vec::new();
        let mut optional = row.missing_result_reason().is_some();
        let mut values = Vec::with_capacity(args_by_parameter.len());
        for (index, written_arg) in args_by_parameter.into_iter().enumerate() {
            let (_, kinds) = row.params[index.min(row.params.len() - 1)];
            if let Some(written_arg) =
                written_arg.filter(|_| !kinds.overlaps(KindSet::BOOL) && !self.is_in_choice)
            {
                self.check_comparison_in_argument(name, written_arg, span)?;
            }
            values.push(written_arg.map(|written_arg| self.check_value(written_arg)).transpose()?);
        }
        self.convert_to_decimals(function, &mut values, span)?;
        let typed: Vec<_> = values
            .iter()
            .zip(row.params)
            .filter_map(|(value, (param, kinds))| Some((value.as_ref()?, *param, *kinds)))
            .collect();
        if let Some(diagnostic) =
            self.swapped_arguments_error(row.name, &typed, None).filter(|_| !self.is_in_choice)
        {
            return self.report(diagnostic);
        }
        for (index, value) in values.into_iter().enumerate() {
            let (param, kinds) = row.params[index.min(row.params.len() - 1)];
            // This optional argument is omitted although a later one is given, so the empty text
            // takes its place.
            let Some(arg) = value else {
                args.push(build_constant("".into(), span));
                continue;
            };
            let arg = self.check_argument(row.name, param, arg, &Ty::from_kinds(kinds), None)?;
            optional |= self.check_argument_validity(function, param, &arg)? || arg.may_be_missing;
            args.push(arg);
        }
        let takes_zone = names.get(args.len()) == Some(&"zone");
        self.setting_uses.record_used_settings(span.file, if takes_zone { ZONE_SETTING } else { 0 });
        let zone = self.settings_of(span.file).zone.filter(|_| takes_zone);
        if let Some(zone) = zone {
            let zone = build_constant(zone.as_ref().into(), span);
            self.check_argument_validity(function, "zone", &zone)?;
            args.push(zone);
        } else if let (true, Some(time)) = (takes_zone, args.first()) {
            self.warn_no_zone(function, time, span);
        }
        if function == Function::Capture {
            self.setting_uses.record_used_settings(span.file, CASE_SETTING);
            let ignore_case = self.ignores_case(span);
            self.check_capture(&mut args, ignore_case)?;
        }
        self.warn_constant_subject(function, &args, span);
        self.warn_unit_of_epoch(function, &args, span);
        let types: Vec<Ty> = args.iter().map(|arg| arg.ty.clone()).collect();
        let call = Expr {
            ty: row.result_ty(&types),
            kind: ExprKind::Call(function, args),
            may_be_missing: optional,
            span,
        };
        // As with `list[i]`, the type of an element is checked when the element is read.
        Ok(if row.returns_elements() {
            read_as_declared(Expr { ty: Ty::ANY, ..call }, call.ty)
        } else {
            call
        })
    }

    /// Returns the arguments in the order of the parameters. For an omitted argument the list
    /// contains `None`, or the list ends before the argument's position.
    fn arguments_by_parameter(
        &mut self,
        function: &Ident,
        written_args: &'a [ast::Arg],
        params: &[&str],
        declared: Option<Span>,
    ) -> Checked<Vec<Option<&'a ast::Expr>>> {
        let named_args = written_args.iter().position(|arg| arg.name.is_some()).unwrap_or(written_args.len());
        let (positional, named_args) = written_args.split_at(named_args);
        let mut args_by_parameter: Vec<_> = positional.iter().map(|arg| Some(&arg.value)).collect();
        for arg in named_args {
            let Some(name) = &arg.name else {
                let message = message!("an argument without a name comes after one with a name");
                let help = message!("write the named arguments last");
                return self.fail(Code::ArgumentCount, arg.value.span, message, help);
            };
            let Some(index) = params.iter().position(|param| **param == *name.node) else {
                let message = message!("`{}` has no argument `{}`", function.node, name.node);
                let finding =
                    Diagnostic::new(Code::UnknownArgument, name.span, message).label_declaration(declared);
                let help = message!("its arguments are {}", params.join(", "));
                let nearest_name = self.nearest(&name.node, params.iter().copied());
                return self.report(finding.suggest_or_help(name.span, nearest_name, help));
            };
            if args_by_parameter.len() <= index {
                args_by_parameter.resize(index + 1, None);
            }
            if args_by_parameter[index].replace(&arg.value).is_some() {
                let message = message!("`{}` is given twice", name.node);
                return self.fail(Code::ArgumentCount, name.span, message, message!("remove one of them"));
            }
        }
        Ok(args_by_parameter)
    }

    fn check_arguments(
        &mut self,
        name: &Ident,
        written_args: &'a [ast::Arg],
        params: &[(Arc<str>, Ty)],
        declared: Span,
        span: Span,
    ) -> Checked<Vec<Expr>> {
        let names: Vec<&str> = params.iter().map(|(name, _)| &**name).collect();
        let args_by_parameter = self.arguments_by_parameter(name, written_args, &names, Some(declared))?;
        if written_args.len() != params.len() || args_by_parameter.len() != params.len() {
            let count = argument_count_phrase(params.len(), params.len(), false);
            let message = message!("`{}` takes {count}, not {}", name.node, written_args.len());
            let diagnostic = Diagnostic::new(Code::ArgumentCount, span, message);
            let params: Vec<String> = params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
            let help = message!("its signature is `{}({})`", name.node, params.join(", "));
            return self.report(diagnostic.label(declared, message!("declared here")).help(help));
        }
        let mut args = Vec::new();
        // The counts are equal and no argument is given twice, so every parameter has an argument.
        let written_args = args_by_parameter.into_iter().flatten();
        let values = written_args.map(|written_arg| self.check_value(written_arg));
        let values = values.collect::<Checked<Vec<Expr>>>()?;
        let typed: Vec<_> =
            values.iter().zip(params).map(|(value, (param, ty))| (value, &**param, ty.kinds)).collect();
        if let Some(diagnostic) = self.swapped_arguments_error(&name.node, &typed, Some(declared)) {
            return self.report(diagnostic);
        }
        for (arg, (param, ty)) in values.into_iter().zip(params) {
            args.push(self.check_argument(&name.node, param, arg, ty, Some(declared))?);
        }
        Ok(args)
    }

    /// Checks that `arg` has the type of the parameter `param`. Messages show the names `function`
    /// and `param`. If the value may also be of another kind, wraps it in a typed read, so that a
    /// value of another kind counts as missing.
    pub(super) fn check_argument(
        &mut self,
        function: &str,
        param: &str,
        arg: Expr,
        param_type: &Ty,
        declared: Option<Span>,
    ) -> Checked<Expr> {
        let arg = self.convert_constant_to_datetime(arg, param_type.kinds)?;
        let arg = self.convert_constants_for_kinds(arg, number_or_element_kinds(param_type))?;
        self.check_enumeration_argument(&arg, param_type)?;
        let accepted = param_type.kinds.with_accepted_kinds();
        let inner_fits = match (&arg.ty.inner, &param_type.inner) {
            (InnerType::Unknown, _) | (_, InnerType::Unknown) => true,
            _ => arg.ty.is_subtype_of(param_type),
        };
        if !arg.ty.kinds.overlaps(accepted) || !inner_fits {
            let (wants, found) = (param_type.with_article(), arg.ty.with_article());
            let message = message!("`{function}` expects {wants} for `{param}`, but this is {found}");
            let diagnostic = Diagnostic::new(Code::ArgumentType, arg.span, message).here(arg.ty.to_message());
            let diagnostic = match (arg.ty.kinds, param_type.kinds) {
                (KindSet::STRING, wanted) if wanted.overlaps(KindSet::NUMBER) && arg.as_const().is_some() => {
                    diagnostic.help(message!("a number is written without quotes"))
                }
                (kinds, KindSet::DATETIME) if kinds.is_subset_of(KindSet::NUMBER) => {
                    let written = self.loaded.sources.slice(arg.span);
                    diagnostic.help(message!(
                        "a difference of two times is a number of seconds: compare it with a duration, as in \
                        `{written} > 2h`; the time of a number is `from_epoch_seconds({written})`",
                        written = written.to_owned()
                    ))
                }
                (KindSet::STRING, wanted) if wanted.overlaps(KindSet::NUMBER) => {
                    diagnostic.help(message!("write `number(…)` to read the number in a text"))
                }
                (given, KindSet::DECIMAL) if given.is_subset_of(KindSet::FLOAT.union(KindSet::STRING)) => {
                    diagnostic.help(message!("write `decimal(…)` to read the number as a decimal"))
                }
                (KindSet::DECIMAL, wanted) if wanted.overlaps(KindSet::NUMBER) => {
                    diagnostic.help(message!("write `round(…)` for an int, or `number(…)` for a number"))
                }
                (given, KindSet::LIST) if param_type.element().kinds.overlaps(given) => {
                    let written = format!("[{}]", self.loaded.sources.slice(arg.span));
                    let help = message!(
                        "write `{written}` for a list of one element, or declare the parameter as `{param}: {}`",
                        arg.ty
                    );
                    diagnostic.help(help).likely_fix(arg.span, written)
                }
                (KindSet::LIST, wanted) if arg.ty.element().kinds.overlaps(wanted) => {
                    let list = self.loaded.sources.slice(arg.span);
                    diagnostic.help(message!(
                        "for the first element, write `first({list})`; for each element, write `any x in {list}: …`"
                    ))
                }
                (given, KindSet::STRING)
                    if given.is_subset_of(KindSet::NUMBER) && arg.as_const().is_some() =>
                {
                    diagnostic.help(message!("a text is written in quotes"))
                }
                _ => diagnostic,
            };
            let diagnostic = self.with_type_origin(diagnostic.label_declaration(declared), &arg);
            // In a choice, a wrong type is only a warning, and the call then has no result. The
            // argument keeps its type so that the field which it reads counts as used.
            if self.is_in_choice && declared.is_none() {
                self.warn_never_holds(diagnostic);
                return Ok(arg);
            }
            return self.report(diagnostic);
        }
        if self.fields.is_narrowing_pass() {
            let reason = NarrowingReason::Argument(param_type.clone(), param.into(), function.into());
            self.narrow_field(&arg, accepted, &reason);
        }
        // A function on numbers of all kinds reads a value of unknown type as an int or float, but
        // not as a decimal.
        let reads_decimals = arg.ty.kinds.overlaps(KindSet::DECIMAL) || param_type.kinds == KindSet::DECIMAL;
        let wanted_kinds = match reads_decimals {
            true => param_type.kinds,
            false => param_type.kinds.without(KindSet::DECIMAL),
        };
        Ok(wrap_in_typed_read(arg, &Ty { kinds: wanted_kinds, inner: param_type.inner.clone() }))
    }
}

fn argument_count_phrase(least: usize, most: usize, is_variadic: bool) -> Message {
    match (least, most, is_variadic) {
        (1, 1, false) => message!("one argument"),
        (least, most, false) if least == most => message!("{most} arguments"),
        (least, most, false) if least + 1 == most => message!("{least} or {most} arguments"),
        (least, most, false) => message!("{least} to {most} arguments"),
        (least, _, true) => message!("{least} or more arguments"),
    }
}
