"""What Numba is told of records: they are passed as pointers, see `record.record`."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from llvmlite.binding import create_target_data
from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import PrimitiveModel
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    register_model,
    typeof_impl,
    unbox,
)

from tilewright.kernels.record import KINDS, TOLD


class Record(types.Type):
    """A named tuple that a kernel is given, and hands to its parts."""

    def __init__(self, fields: types.NamedTuple) -> None:
        self.fields = fields
        super().__init__(name=f"Record({fields.name})")

    @property
    def key(self) -> types.NamedTuple:
        """What makes two kinds the same."""
        return self.fields

    def position(self, name: str) -> int:
        """Return which field has a name."""
        return int(self.fields.fields.index(name))


def tell(kind: type) -> None:
    """Tell Numba that named tuples of this kind are records."""

    @typeof_impl.register(kind)
    def typeof_record(value: Any, context: Any) -> Record | None:
        kinds = [typeof_impl(field, context) for field in value]
        if None in kinds:
            return None
        return Record(types.NamedTuple(kinds, kind))


@register_model(Record)
class RecordModel(PrimitiveModel):
    """A pointer to the fields, which nothing changes while a kernel runs."""

    def __init__(self, models: Any, kind: Record) -> None:
        self.fields = models.lookup(kind.fields).get_value_type()
        usual: Any = super().__init__
        usual(models, kind, self.fields.as_pointer())

    def from_argument(self, builder: Any, value: Any) -> Any:
        """Tell LLVM that the fields stay as they are."""
        layout = create_target_data(builder.module.data_layout)
        value.add_attribute("noalias")
        value.attributes.dereferenceable = self.fields.get_abi_size(layout)
        return value


@infer_getattr
class RecordAttribute(AttributeTemplate):
    """What the fields are."""

    key = Record

    def generic_resolve(self, kind: Record, name: str) -> Any:  # type: ignore[override]
        """Return the kind of a field."""
        if name in kind.fields.fields:
            return kind.fields.types[kind.position(name)]
        return None


@lower_getattr_generic(Record)
def load_field(context: Any, builder: Any, kind: Record, pointer: Any, name: str) -> Any:
    """Load a field."""
    position = kind.position(name)
    place = builder.gep(pointer, [ir.IntType(32)(0), ir.IntType(32)(position)], inbounds=True)
    field = builder.load(place)
    if context.enable_nrt:
        context.nrt.incref(builder, kind.fields.types[position], field)
    return field


@unbox(Record)
def unbox_record(kind: Record, value: Any, c: Any) -> NativeValue:
    """Put the fields of a named tuple on the stack of the way into the kernel."""
    fields = c.unbox(kind.fields, value)
    pointer = cgutils.alloca_once_value(c.builder, fields.value)

    def cleanup() -> None:
        if fields.cleanup is not None:
            fields.cleanup()
        if c.context.enable_nrt:
            c.context.nrt.decref(c.builder, kind.fields, fields.value)

    return NativeValue(pointer, is_error=fields.is_error, cleanup=cleanup)


TOLD.append(tell)  # before the loop: what is declared meanwhile is told, if twice
for declared in tuple(KINDS):
    tell(declared)
