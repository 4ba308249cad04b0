"""Models of pydantic from rules, and rules checked against the models of a program.

The models have the names, texts, optional fields and enumerations of the rules.

>>> from rulec import Rules, models
>>> rules = Rules.from_text('''
...     ## Pays an order back.
...     payload refund rank 1 { order: string not blank; amount: number in 0..=500; reason?: string }
... ''')
>>> Refund = models.of_payload(rules, "refund")
>>> Refund(order="A-7", amount=20)
Refund(amount=20, order='A-7', reason=None)
>>> Refund.__doc__
'Pays an order back.'

``check`` compares a model with the rules before the first message. The model may also be a dataclass.

>>> from dataclasses import dataclass
>>> @dataclass
... class Payment:
...     ordr: str
...     amount: float
>>> models.check(rules, Payment, kind="refund")
Traceback (most recent call last):
    ...
rulec.RulecError: `Payment` does not fit payload `refund` of the rules:
- `Payment` has `ordr`, but payload `refund` has `order`: rename one of them

This module needs pydantic 2.12 or later.
"""

# Models that are made while the program runs have no static types.
# pyright: basic

from __future__ import annotations

import difflib
import keyword
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, Optional, Union

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, create_model

from ._rulec import RulecError, Rules

Schema = dict[str, Any]
_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": Union[int, float], "boolean": bool, "null": None}
_LIMITS = {"minimum": "ge", "maximum": "le", "exclusiveMaximum": "lt", "pattern": "pattern", "description": "description"}


@dataclass(frozen=True)
class Models:
    """The models of a rule set.

    >>> from rulec import models
    >>> rules = Rules.from_text("input { n: int } route big when n > 9 -> many(n: n)")
    >>> made = models.of(rules)
    >>> made.input(n=12)
    Message(n=12)
    >>> made.arguments["many"](n=12)
    ManyArguments(n=12)
    """

    input: type[BaseModel]
    """The message."""
    payloads: dict[str, type[BaseModel]]
    """The payloads, by kind."""
    arguments: dict[str, type[BaseModel]]
    """The arguments of the handlers, by the name of the handler."""


def of(rules: Rules) -> Models:
    """Returns all models of a rule set."""
    payloads = {kind: of_payload(rules, kind) for kind in rules.kinds}
    return Models(of_input(rules), payloads, {handler: of_arguments(rules, handler) for handler in rules.targets})


def of_input(rules: Rules, name: str = "Message") -> type[BaseModel]:
    """Returns the model of messages: the declared ``input``, or else the fields that the rules read."""
    return _model(name, rules.input_schema())


def of_payload(rules: Rules, kind: str) -> type[BaseModel]:
    """Returns the model of a payload kind.

    The model has the rules about single fields. A ``Judge`` checks all rules.
    """
    return _model(_title(kind), rules.schema(kind))


def of_arguments(rules: Rules, handler: str) -> type[BaseModel]:
    """Returns the model of the arguments that the rules give to a handler."""
    return _model(f"{_title(handler)}Arguments", rules.args_schema(handler))


def check(rules: Rules, model: Any, *, kind: str | None = None, handler: str | None = None) -> Rules:
    """Raises a ``RulecError`` that names each field of a model that does not fit the rules.

    Without ``kind`` and ``handler``, the model is the message. With ``kind``, it is a payload. With
    ``handler``, it takes the arguments of this handler. A text may be declared as an enumeration or a
    time, because only its value shows whether it fits. Returns the rules.
    """
    model_name = f"`{model.__name__}`"
    mode: Literal["validation", "serialization"] = "serialization" if handler is None else "validation"
    schema = TypeAdapter(model).json_schema(mode=mode)
    if handler is not None:
        found = _misfits(_Side(f"handler `{handler}`", rules.args_schema(handler)), _Side(model_name, schema))
        rules_name = f"handler `{handler}`"
    else:
        rules_name = "`input`" if kind is None else f"payload `{kind}`"
        wanted = rules.input_schema() if kind is None else rules.schema(kind)
        found = _misfits(_Side(model_name, schema), _Side(rules_name, wanted))
    problems = [f"\n- {problem}" for problem in found]
    if problems:
        raise RulecError(f"{model_name} does not fit {rules_name} of the rules:{''.join(problems)}")
    return rules


def _title(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _model(name: str, schema: Schema) -> type[BaseModel]:
    """Converts the schema of a record to a model."""
    required = schema.get("required", [])
    fields: dict[str, Any] = {}
    for field, inner in schema.get("properties", {}).items():
        safe = field if _is_free(field) else f"{field.lstrip('_')}_"
        options: dict[str, Any] = {ours: inner[key] for key, ours in _LIMITS.items() if key in inner}
        if "exclusiveMaximum" in inner:
            options.pop("le", None)
        if safe != field:
            options["alias"] = field
        # The `repr` of a model does not show private values.
        if inner.get("writeOnly"):
            options["repr"] = False
        kind = _type(f"{name}{_title(field)}", inner)
        if field in required:
            fields[safe] = (kind, Field(**options))
        else:
            # A payload may lack an optional field, but not have null for it.
            fields[safe] = (kind, Field(default=inner.get("default"), exclude_if=_is_none, **options))
    extra: Literal["forbid", "allow"] = "forbid" if schema.get("additionalProperties") is False else "allow"
    config = ConfigDict(extra=extra, populate_by_name=True, serialize_by_alias=True, protected_namespaces=())
    made: type[BaseModel] = create_model(name, __config__=config, __doc__=schema.get("description"), **fields)
    return made


def _is_none(value: Any) -> bool:
    return value is None


def _is_free(name: str) -> bool:
    """True if a field of a model may have this name."""
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_") and not hasattr(BaseModel, name)


def _type(name: str, schema: Schema) -> Any:
    """Converts the schema of a value to a type; ``name`` is for a record."""
    if "const" in schema:
        return Literal[schema["const"]]
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if "anyOf" in schema:
        return Union[tuple(_type(name, one) for one in schema["anyOf"])]
    kinds = _kinds(schema)
    if kinds is None:
        return Any
    if schema.get("format") == "decimal":
        return Optional[Decimal] if "null" in kinds else Decimal
    return Union[tuple(_one_type(name, kind, schema) for kind in _ordered(kinds))]


def _ordered(kinds: set[str]) -> list[str]:
    """Returns kinds in the order in which a model tries them: an integer before a number."""
    return [kind for kind in ("boolean", "integer", "number", "string", "array", "object", "null") if kind in kinds]


def _one_type(name: str, kind: str, schema: Schema) -> Any:
    if kind == "array":
        return list[_type(name, schema.get("items", {}))]  # type: ignore[misc]
    if kind == "object" and "properties" in schema:
        return _model(name, schema)
    if kind == "object":
        inner = schema.get("additionalProperties")
        return dict[str, _type(name, inner if isinstance(inner, dict) else {})]  # type: ignore[misc]
    return AwareDatetime if kind == "string" and schema.get("format") == "date-time" else _TYPES[kind]


def _kinds(schema: Schema) -> set[str] | None:
    """Returns the JSON types of a schema; ``None`` if it allows every type."""
    if "type" in schema:
        named = schema["type"]
        return {named} if isinstance(named, str) else set(named)
    values = schema.get("enum", [schema["const"]] if "const" in schema else [])
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return {names[type(value)] for value in values} if values and all(type(value) in names for value in values) else None


@dataclass(frozen=True)
class _Side:
    """One of two compared schemas: its name for messages, the schema, and the definitions that it refers to."""

    name: str
    schema: Schema
    root: Schema | None = None

    def inside(self, schema: Schema) -> _Side:
        """Returns this side with a nested schema in place of its schema."""
        return _Side(self.name, schema, self.root or self.schema)

    def forms(self) -> list[_Side]:
        """Returns the alternatives of the schema, with references followed."""
        schema = self.schema
        if "$ref" in schema:
            return self.inside((self.root or schema)["$defs"][schema["$ref"].rsplit("/", 1)[1]]).forms()
        if "anyOf" in schema:
            return [form for one in schema["anyOf"] for form in self.inside(one).forms()]
        return [self]

    def kinds(self) -> set[str] | None:
        """Returns the JSON types of all alternatives; ``None`` if every type is allowed."""
        found: set[str] = set()
        for form in self.forms():
            kinds = _kinds(form.schema)
            if kinds is None:
                return None
            found |= kinds
        return found | {"integer"} if "number" in found else found

    def part(self, key: str) -> _Side | None:
        """Returns the alternative that has this key."""
        return next((form for form in self.forms() if isinstance(form.schema.get(key), dict)), None)


def _misfits(given: _Side, wanted: _Side, path: str = "") -> Iterator[str]:
    """Yields the reasons why a value of ``given`` may not fit ``wanted``."""
    kinds, accepted = given.kinds(), wanted.kinds()
    if kinds is not None and accepted is not None and kinds - accepted:
        having, taking = " or ".join(_ordered(kinds)), " or ".join(_ordered(accepted))
        yield f"`{path or 'the value'}` is {having} in {given.name}, but {taking} in {wanted.name}: change one of them"
        return
    listed = [form.schema.get("enum") for form in wanted.forms()]
    for form in given.forms():
        other = [value for value in form.schema.get("enum", []) if listed[0] is not None and value not in listed[0]]
        if other:
            yield f"`{path}` may be {other[0]!r} in {given.name}, which {wanted.name} does not list: add it, or remove it"
    mine, theirs = given.part("properties"), wanted.part("properties")
    if mine is not None and theirs is not None:
        yield from _misfit_fields(mine, theirs, path)
    for key, place in (("items", "[]"), ("additionalProperties", ".*")):
        mine, theirs = given.part(key), wanted.part(key)
        if mine is not None and theirs is not None:
            yield from _misfits(mine.inside(mine.schema[key]), theirs.inside(theirs.schema[key]), f"{path}{place}")


def _misfit_fields(given: _Side, wanted: _Side, path: str) -> Iterator[str]:
    having, taking = given.schema["properties"], wanted.schema["properties"]
    at = f"{path}." if path else ""
    unknown = [name for name in having if name not in taking]
    for name, schema in taking.items():
        if name in having:
            yield from _misfits(given.inside(having[name]), wanted.inside(schema), f"{at}{name}")
            continue
        near = difflib.get_close_matches(name, unknown, 1, 0.75)
        if near:
            unknown.remove(near[0])
            yield f"{given.name} has `{at}{near[0]}`, but {wanted.name} has `{at}{name}`: rename one of them"
        elif name in wanted.schema.get("required", []):
            yield f"{wanted.name} requires `{at}{name}`, which {given.name} does not have: add it, or make it optional"
    if wanted.schema.get("additionalProperties") is False:
        for name in unknown:
            yield f"{given.name} has `{at}{name}`, which {wanted.name} does not take: remove it, or add it there"
