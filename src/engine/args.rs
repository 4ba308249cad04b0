//! The arguments that rules give to handlers: the JSON Schema of these arguments, and a check that
//! the arguments fit a Rust type of the program.

mod probe;

use super::Rules;
use crate::schema::{record_schema, type_schema};
use probe::ArgumentsCheck;
use rulec_base::diag::{Message, nearest};
use rulec_base::message;
use rulec_lang::ty::Ty;
use rulec_sema::hir::{Outcome, Program};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The reason why the arguments of a handler do not fit a Rust type of the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct ArgsError {
    message: Message,
}

impl ArgsError {
    /// Returns the problem and its remedy as a localized message.
    pub fn to_message(&self) -> Message {
        self.message.clone()
    }
}

/// An argument that a route or a `handler` statement gives to a handler.
struct HandlerArgument<'r> {
    name: &'r Arc<str>,
    ty: &'r Ty,
    /// Whether the argument is left out of a handler call if it has no value. If false, it is
    /// passed as null.
    is_optional: bool,
}

/// The arguments that the rules give to a handler. If the rules declare the handler, there is one
/// list, which applies to every route. Otherwise there is a list for each route.
struct HandlerArguments<'r> {
    is_handler_declared: bool,
    argument_lists: Vec<Vec<HandlerArgument<'r>>>,
}

impl<'r> HandlerArguments<'r> {
    /// Finds the arguments that the rules give to `handler`. The result has no list of arguments if
    /// the rules neither declare the handler nor have a route to it.
    fn of_handler(program: &'r Program, handler: &str) -> HandlerArguments<'r> {
        let mut declarations = program.handlers.iter().flatten();
        if let Some(declared) = declarations.find(|declared| *declared.name == *handler) {
            let fields = declared.params.fields.iter();
            let list = fields.map(|field| HandlerArgument {
                name: &field.name,
                ty: &field.ty,
                is_optional: field.is_optional,
            });
            return HandlerArguments { is_handler_declared: true, argument_lists: vec![list.collect()] };
        }
        let defaults = program.tables.iter().filter_map(|table| table.default.as_ref());
        let outcomes = program.rules.iter().map(|rule| &rule.outcome).chain(defaults);
        let lists = outcomes.filter_map(|outcome| match outcome {
            Outcome::Handler { name, args, .. } if **name == *handler => Some(args.iter()),
            _ => None,
        });
        let lists = lists.map(|args| {
            let argument = |arg: &'r rulec_sema::hir::Argument| HandlerArgument {
                name: &arg.name,
                ty: &program.value(arg.value).ty,
                is_optional: arg.is_optional,
            };
            args.map(argument).collect()
        });
        HandlerArguments { is_handler_declared: false, argument_lists: lists.collect() }
    }
}

impl Rules {
    /// Returns the JSON Schema (draft 2020-12) of messages: the declared `input`, or else the
    /// fields that the rules read, all of them optional. A message that fits the schema has no
    /// [`breaches`](super::Decision::breaches).
    ///
    /// ```
    /// let rules = rulec::Rules::from_text("input { text: string, n?: int }\ndefault -> chat")?;
    /// let schema = rules.input_schema();
    /// assert_eq!(schema["required"], serde_json::json!(["text"]));
    /// assert_eq!(schema["properties"]["n"]["type"], serde_json::json!(["integer", "null"]));
    /// # Ok::<(), rulec::CompileError>(())
    /// ```
    pub fn input_schema(&self) -> Json {
        with_schema_dialect(record_schema(&self.program().known_fields()))
    }

    /// Returns the JSON Schema (draft 2020-12) of the arguments that the rules give to a handler.
    /// `None` if the rules neither declare the handler nor have a route to it. If the rules do not
    /// declare the handler, the schema has the arguments of all its routes. A required argument
    /// whose value is missing is null; [`missing_args`](super::Decision::missing_args) lists it.
    ///
    /// ```
    /// let rules = rulec::Rules::from_text("handler files(limit: int)\ndefault -> files(limit: 20)")?;
    /// let schema = rules.args_schema("files").unwrap();
    /// assert_eq!(schema["properties"]["limit"]["type"], "integer");
    /// # Ok::<(), rulec::CompileError>(())
    /// ```
    pub fn args_schema(&self, handler: &str) -> Option<Json> {
        let HandlerArguments { argument_lists: lists, .. } =
            HandlerArguments::of_handler(self.program(), handler);
        let mut alternatives: BTreeMap<&str, Vec<Json>> = BTreeMap::new();
        for argument in lists.iter().flatten() {
            let (known, schema) = (alternatives.entry(argument.name).or_default(), type_schema(argument.ty));
            if !known.contains(&schema) {
                known.push(schema);
            }
        }
        let properties = alternatives.into_iter().map(|(name, mut schemas)| match &schemas[..] {
            [_] => (name.to_owned(), schemas.remove(0)),
            _ => (name.to_owned(), json!({"anyOf": schemas})),
        });
        let properties: Map<String, Json> = properties.collect();
        let first = lists.first()?;
        let is_required = |argument: &&HandlerArgument<'_>| {
            let is_given = |other: &HandlerArgument<'_>| other.name == argument.name && !other.is_optional;
            lists.iter().all(|list| list.iter().any(is_given))
        };
        let required: Vec<&str> = first.iter().filter(is_required).map(|argument| &**argument.name).collect();
        let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        Some(with_schema_dialect(schema))
    }

    /// Checks that the arguments that the rules give to a handler fit the Rust type `T`. If so,
    /// [`Decision::args_as`](super::Decision::args_as) succeeds. Call it at start-up.
    ///
    /// The check finds missing and unknown arguments and wrong kinds of values. It does not find
    /// values that the type's own code refuses, such as a text that is no variant of an enum. If
    /// the rules declare the handler, `T` must accept every kind of value of each declared type.
    /// Otherwise the types are inferred, and an inferred type may be wider than the real values.
    /// `T` must then accept at least one kind.
    ///
    /// ```
    /// #[derive(serde::Deserialize)]
    /// struct Listing {
    ///     #[allow(dead_code)]
    ///     limit: u32,
    /// }
    ///
    /// let text = "handler files(limit: string)\ndefault -> files(limit: \"all\")";
    /// let rules = rulec::Rules::from_text(text)?;
    /// let error = rules.check_args::<Listing>("files").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "the rules give `files` the argument `limit` of type string, but the program takes u32"
    /// );
    /// # Ok::<(), rulec::CompileError>(())
    /// ```
    ///
    /// # Errors
    /// If the arguments do not fit, or if the rules neither declare the handler nor have a route to
    /// it.
    pub fn check_args<T: DeserializeOwned>(&self, handler: &str) -> Result<(), ArgsError> {
        let arguments = HandlerArguments::of_handler(self.program(), handler);
        if arguments.argument_lists.is_empty() {
            let known = self.program().handlers.iter().flatten().map(|declared| &*declared.name);
            let targets = self.targets();
            let near = nearest(handler, targets.iter().copied().chain(known));
            let message = match near {
                Some(near) => message!("no route leads to `{handler}`; did you mean `{near}`?"),
                None => message!("no route leads to `{handler}`"),
            };
            return Err(ArgsError { message });
        }
        for list in &arguments.argument_lists {
            let given: Vec<_> = list.iter().map(|argument| (&**argument.name, argument.ty)).collect();
            let always = list.iter().filter(|argument| !argument.is_optional);
            let always: Vec<_> = always.map(|argument| (&**argument.name, argument.ty)).collect();
            let checked = ArgumentsCheck { handler, is_strict: arguments.is_handler_declared };
            checked.check_all_arguments::<T>(&given)?;
            if always.len() < given.len() {
                checked.check_all_arguments::<T>(&always)?;
            }
        }
        Ok(())
    }
}

fn with_schema_dialect(mut schema: Json) -> Json {
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema
}
