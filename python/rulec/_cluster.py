"""The part of a job that runs in a cluster's processes: adds an answer column to each batch."""

# PyArrow and the cluster libraries have few type annotations.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ._load import digest, once
from ._rulec import UnknownName
from .batch import bind


def plain(data_type: Any) -> Any:
    """Returns the type without dictionaries, extensions and unsigned integers.

    Clusters cannot exchange these types.
    """
    import pyarrow as pa

    if isinstance(data_type, pa.BaseExtensionType):
        return plain(data_type.storage_type)
    if pa.types.is_dictionary(data_type):
        return plain(data_type.value_type)
    if pa.types.is_unsigned_integer(data_type):
        return pa.int64()
    if pa.types.is_struct(data_type):
        return pa.struct([field.with_type(plain(field.type)) for field in data_type])
    if pa.types.is_list(data_type):
        return pa.list_(data_type.value_field.with_type(plain(data_type.value_type)))
    return data_type


def _decoded(array: Any, wanted: Any) -> Any:
    """Converts an array to the plain type ``wanted``."""
    import pyarrow as pa

    if array.type.equals(wanted):
        return array
    if isinstance(array, pa.ExtensionArray):
        return _decoded(array.storage, wanted)
    if pa.types.is_dictionary(array.type):
        return _decoded(array.dictionary_decode(), wanted)
    if pa.types.is_struct(array.type):
        fields = [_decoded(array.field(at), field.type) for at, field in enumerate(wanted)]
        return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=array.is_null())
    if pa.types.is_list(array.type):
        values = _decoded(array.values, wanted.value_type)
        return pa.ListArray.from_arrays(array.offsets, values, type=wanted, mask=array.is_null())
    return array.cast(wanted)


@dataclass(frozen=True)
class Job:
    """A description of rules that decide batches in another process.

    It is small to pickle, because ``artifact`` loads the rules over the cluster's own storage.
    """

    name: str
    artifact: Callable[[], bytes]
    into: str
    entry: str | None = None
    json: Sequence[str] = ()
    allow_missing: bool = False
    fields: Sequence[str] = ()

    def schema(self, columns: Any) -> Any:
        """Returns the schema of batches with the answer column."""
        import pyarrow as pa

        bound = self._bind(columns)
        answers = pa.struct([field.with_type(plain(field.type)) for field in self._wanted(bound.schema)])
        return columns.append(pa.field(self.into, answers, nullable=False))

    def _wanted(self, schema: Any) -> list[Any]:
        """Returns the fields of the answer that are selected by ``fields``; all, if it is empty."""
        for name in self.fields:
            if name not in schema.names:
                raise UnknownName(f"the answers have no `{name}`; they have {', '.join(schema.names)}")
        return [field for field in schema if not self.fields or field.name in self.fields]

    def _bind(self, columns: Any) -> Any:
        rules = once(self.name, self.artifact)
        return bind(rules, columns, entry=self.entry, json=self.json, allow_missing=self.allow_missing)

    def decide(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Decides batches of one schema, and yields them with the answer column."""
        import pyarrow as pa

        bound: Any = None
        for batch in batches:
            if bound is None:
                bound = self._bind(batch.schema)
            answers = bound.answer(batch)
            fields = [field.with_type(plain(field.type)) for field in self._wanted(answers.schema)]
            arrays = [_decoded(answers.column(field.name), field.type) for field in fields]
            struct = pa.StructArray.from_arrays(arrays, fields=fields)
            schema = batch.schema.append(pa.field(self.into, struct.type, nullable=False))
            yield pa.RecordBatch.from_arrays([*batch.columns, struct], schema=schema)


__all__ = ["Job", "digest", "plain"]
