"""The machines of Timeloop's case studies, with the sizes that the paper gives."""

from __future__ import annotations

from string import Template

from tilewright import Architecture
from tilewright.architecture.reading import parse_architecture
from tilewright.document import parse

# Figure 4; filters pass the buffer by, as on the chip. The mesh and the constraints are those of
# Figure 6: filter rows and input channels on X, output rows and output channels on Y; an element
# takes whole rows of the filter. Its loops run over outputs, channels, filter columns.
EYERISS = Template("""
name: eyeriss-$design
technology: $technology
levels:
  - {memory: DRAM, word: 16 bits}
  - {memory: GBuf, size: $buffer, word: 16 bits, keep: [I, O], must_keep: [I, O]}
  - {array: PE, axes: {X: $columns, Y: $rows}, network: {multicast: true, reduction: true}}
$registers
  - {compute: MAC, word: 16 bits}
constraints:
  - at: PE
    axis: X
    dims: [I&W sliding rows, I&W not sliding]
    factor: {I&W sliding rows: all}
  - {at: PE, axis: Y, dims: [I&O rows, W&O]}
  - at: $outer
    tile: {I&W sliding rows: 1, I&O rows: 1, I&W sliding columns: all}
  - {at: $inner, order: [I&O columns, I&W not sliding, I&W sliding columns]}
  - {at: memories, even: true}
""")
# name of the design: its registers, the outermost and the innermost that hold a tile
FILE = "  - {memory: RF, size: 256 words, word: 16 bits, must_keep: [I, W, O]}"
REGISTERS = {
    "shared": (FILE, "RF", "RF"),
    "register": (FILE + "\n  - {memory: REG, size: 1 words, word: 16 bits}", "RF", "RF"),
    "partitioned": (
        "  - {memory: RF_W, size: 228 words, word: 16 bits, keep: [W], must_keep: [W]}\n"
        "  - {memory: RF_O, size: 16 words, word: 16 bits, keep: [O], must_keep: [O]}\n"
        "  - {memory: RF_I, size: 12 words, word: 16 bits, keep: [I], must_keep: [I]}",
        "RF_W", "RF_W",
    ),
}  # fmt: skip


def eyeriss(
    technology: str,
    design: str = "shared",
    *,
    columns: int = 16,
    rows: int = 16,
    buffer: str = "128 KiB",
) -> Architecture:
    """Return Eyeriss as Timeloop has it, in a technology, with one of its register files.

    Parameters
    ----------
    technology : str
        Name of a table.
    design : str
        One of `REGISTERS`.
    columns, rows : int
        Elements along X and Y.
    buffer : str
        Size of the global buffer.
    """
    registers, outer, inner = REGISTERS[design]
    text = EYERISS.substitute(
        design=design, technology=technology, buffer=buffer, columns=columns, rows=rows,
        registers=registers, outer=outer, inner=inner,
    )  # fmt: skip
    return parse_architecture(parse(text, f"eyeriss-{design}.yaml"))


# The presets `nvdla-1024` and `diannao` with words of 16 bits. A buffer reads at once what the
# array takes, up to the 512 bits of the table.
NVDLA = Template("""
name: nvdla
technology: $technology
levels:
  - memory: DRAM
    word: 16 bits
  - {memory: CBUF, size: $buffer, word: 16 bits, width: 512 bits, keep: [I, W], must_keep: [I, W]}
  - {memory: CACC, size: 512 words, word: 16 bits, width: 256 bits, keep: [O], must_keep: [O]}
  - {array: CMAC, axes: {X: 64, Y: 16}, network: {multicast: true, reduction: true}}
  - {memory: WREG, size: 2 words, word: 16 bits, buffering: double, keep: [W], must_keep: [W]}
  - {compute: MAC, word: 16 bits}
constraints:
  - {at: CMAC, axis: X, dims: [I&W not sliding]}
  - {at: CMAC, axis: Y, dims: [W&O]}
  - {at: memories, even: true}
""")
DIANNAO = Template("""
name: diannao
technology: $technology
levels:
  - {memory: DRAM, word: 16 bits}
  - {memory: SB, size: $weights B, word: 16 bits, width: 512 bits, keep: [W], must_keep: [W]}
  - {memory: NBin, size: $own B, word: 16 bits, width: 256 bits, keep: [I], must_keep: [I]}
  - {memory: NBout, size: $own B, word: 16 bits, width: 256 bits, keep: [O], must_keep: [O]}
  - {array: NFU, axes: {X: $side, Y: $side}, network: {multicast: true, reduction: true}}
  - {compute: MAC, word: 16 bits}
constraints:
  - {at: NFU, axis: X, dims: [I&W not sliding]}
  - {at: NFU, axis: Y, dims: [W&O]}
  - {at: memories, even: true}
""")


def nvdla(technology: str, *, buffer: str = "256 KiB") -> Architecture:
    """Return NVDLA with 1024 multipliers in a technology."""
    text = NVDLA.substitute(technology=technology, buffer=buffer)
    return parse_architecture(parse(text, "nvdla.yaml"))


def diannao(technology: str, *, side: int = 16, own: int = 2048) -> Architecture:
    """Return DianNao in a technology.

    Parameters
    ----------
    technology : str
        Name of a table.
    side : int
        Multipliers along each axis.
    own : int
        Bytes of the buffer of inputs, and of that of outputs; that of weights has 16 times as many.
    """
    text = DIANNAO.substitute(technology=technology, side=side, own=own, weights=16 * own)
    return parse_architecture(parse(text, "diannao.yaml"))
