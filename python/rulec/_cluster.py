"""The part of a job that runs in the processes of a cluster: batches in, the same batches with their answers out."""

# PyArrow and the clusters say little of their types.
# pyright: basic

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ._load import digest, once
from ._rulec import UnknownName
from .batch import bind


def plain(data_type: Any) -> Any:
    """The type without dictionaries, extensions and numbers without a sign, which clusters do not exchange."""
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
    """An array of the plain type."""
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
    """Rules that decide batches somewhere else. It is small: the artifact comes by what the cluster has for such."""

    name: str
    artifact: Callable[[], bytes]
    into: str
    entry: str | None = None
    json: Sequence[str] = ()
    allow_missing: bool = False
    fields: Sequence[str] = ()

    def schema(self, columns: Any) -> Any:
        """The columns of batches with their answers."""
        import pyarrow as pa

        bound = self._bind(columns)
        answers = pa.struct([field.with_type(plain(field.type)) for field in self._wanted(bound.schema)])
        return columns.append(pa.field(self.into, answers, nullable=False))

    def _wanted(self, schema: Any) -> list[Any]:
        """The parts of an answer that are asked for: all, or those that are named."""
        for name in self.fields:
            if name not in schema.names:
                raise UnknownName(f"the answers have no `{name}`; they have {', '.join(schema.names)}")
        return [field for field in schema if not self.fields or field.name in self.fields]

    def _bind(self, columns: Any) -> Any:
        rules = once(self.name, self.artifact)
        return bind(rules, columns, entry=self.entry, json=self.json, allow_missing=self.allow_missing)

    def decide(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Decides batches of one schema."""
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
