"""What Numba is told of records: they are passed as pointers, see `record.record`."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

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
        value.add_attribute("noalias")
        value.attributes.dereferenceable = size(self.fields, builder.module.data_layout)
        return value


@cache
def size(kind: ir.Type, layout: str) -> int:
    """Return the bytes that a value takes."""
    return int(kind.get_abi_size(create_target_data(layout)))


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
    """Put the fields of a named tuple on the stack of the way into the kernel.

    Functions do that, one for each kind of field. Without them the way into a kernel would be
    longer than many a kernel: a record has dozens of fields, and each would be read, and given back
    in two places, where it stands.
    """
    with c.builder.goto_entry_block():
        pointer = c.builder.alloca(c.context.get_value_type(kind.fields))
    failed = c.builder.call(reader(kind.fields, c), [value, pointer])
    cleanups = []
    for i, field in enumerate(kind.fields):
        if isinstance(field, Record):
            # a pointer as well, to this stack
            native = c.unbox(field, c.pyapi.tuple_getitem(value, i))
            c.builder.store(native.value, cgutils.gep_inbounds(c.builder, pointer, 0, i))
            failed = c.builder.or_(failed, native.is_error)
            cleanups.append(native.cleanup)

    def cleanup() -> None:
        for inner in cleanups:
            inner()
        if c.context.enable_nrt:
            c.builder.call(releaser(kind.fields, c), [pointer])

    return NativeValue(pointer, is_error=failed, cleanup=cleanup)


def reader(kind: Any, c: Any) -> ir.Function:
    """Return a function that puts a Python object at an address, and returns whether it failed."""
    at = c.context.get_value_type(kind).as_pointer()
    function, inner = out_of_line(f"read {kind}", [c.pyapi.pyobj, at], c)
    if inner is None:
        return function
    value, pointer = function.args
    if isinstance(kind, types.BaseNamedTuple):
        failed, fields = cgutils.false_bit, cast("Any", kind)
        for i, field in enumerate(fields):
            if isinstance(field, Record):
                continue
            item = inner.pyapi.tuple_getitem(value, i)
            place = cgutils.gep_inbounds(inner.builder, pointer, 0, i)
            wrong = inner.builder.call(reader(field, inner), [item, place])
            failed = inner.builder.or_(failed, wrong)
        inner.builder.ret(failed)
    else:
        native = inner.pyapi.to_native_value(kind, value)
        assert native.cleanup is None  # numbers and arrays leave nothing to do after the call
        inner.builder.store(native.value, pointer)
        inner.builder.ret(native.is_error)
    return function


def releaser(kind: Any, c: Any) -> ir.Function:
    """Return a function that gives back what stands at an address."""
    at = c.context.get_value_type(kind).as_pointer()
    function, inner = out_of_line(f"release {kind}", [at], c)
    if inner is None:
        return function
    for i, field in enumerate(kind):
        place = cgutils.gep_inbounds(inner.builder, function.args[0], 0, i)
        inner.context.nrt.decref(inner.builder, field, inner.builder.load(place))
    inner.builder.ret(cgutils.false_bit)
    return function


def out_of_line(name: str, takes: list[ir.Type], c: Any) -> tuple[ir.Function, Any]:
    """Return a function of this module, and what writes it, unless it is written already."""
    shape = ir.FunctionType(ir.IntType(1), takes)
    function = cgutils.get_or_insert_function(c.builder.module, shape, f"tilewright {name}")
    if not function.is_declaration:
        return function, None
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block())
    return function, type(c)(c.context, builder, c.context.get_python_api(builder))


TOLD.append(tell)  # before the loop: what is declared meanwhile is told, if twice
for declared in tuple(KINDS):
    tell(declared)
