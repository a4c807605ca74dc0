"""The least off-chip traffic when a memory keeps the words whose next use is nearest."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from tilewright.api.inputs import WorkloadLike, check_count, check_seconds, listener, the_network
from tilewright.architecture.units import bits
from tilewright.errors import InputError
from tilewright.offchip.network_result import NetworkTraffic
from tilewright.offchip.result import Banks

MOST_BANKS = 4096
MOST_ELEMENTS = 64
MOST_REGISTERS = 4096


def least_traffic(
    workload: WorkloadLike,
    *,
    banks: int = 27,
    bank: str = "4 KiB",
    word: str = "16 bits",
    layer: str | None = None,
    weight: float = 0.0,
    elements: tuple[int, int] = (12, 14),
    registers: int = 260,
    time_limit: float | None = None,
    progress: bool | Callable[[str], None] = False,
) -> NetworkTraffic:
    """Find the schedule with the least off-chip traffic for every layer, with a proof.

    A layer is cut into blocks that are worked off in the order of a loop nest. The memory holds the
    current block of every tensor and, in banks of its own for each tensor, those words of earlier
    blocks whose next use is nearest. Loop order, block sizes and banks are chosen for the least
    words to and from DRAM (Problem 1 of Q. Nie, S. Malik, CNNFlow, ACM TODAES 28(3), 2023).

    With a weight, words between the memory and an array of processing elements count as well: the
    least is DRAM words + weight x these words (Problem 0). Each block is worked off in batches over
    the array; how they are spread, how large they are, and their order are chosen too. Registers
    may keep words of earlier batches; the lower bound holds whatever they retain.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself. Index expressions have at most
        two terms.
    banks : int
        Banks of the memory, at least one for each tensor, at most 4096.
    bank : str
        Size of a bank, such as ``"4 KiB"`` or ``"2048 words"``.
    word : str
        Size of an element of any tensor.
    layer : str, optional
        This layer of the workload alone.
    weight : float
        DRAM words that a word between memory and array is worth, 0 or more; 0 for DRAM words alone.
    elements : pair of int
        Rows and columns of the array.
    registers : int
        Words that each element holds, of all tensors together, at most 4096. Where they are too few
        for a proof, schedules that retain are tried, which takes some seconds.
    time_limit : float, optional
        Seconds for all layers together, more than 0; the result has the best schedules so far.
    progress : bool or callable
        Whether to print a line per layer to the standard error stream, or who is told instead.

    Returns
    -------
    NetworkTraffic
        Schedule, DRAM words per tensor and lower bound of each layer, in words. Ctrl-C ends the
        search with the best so far.

    Raises
    ------
    InputError
        When something cannot be read.
    NoMappingError
        When the banks or the registers do not suffice.
    """
    check_count(banks, "banks", 1)
    if banks > MOST_BANKS:
        raise InputError(f"at most {MOST_BANKS} banks are accepted, found {banks}", key="banks")
    if time_limit is not None:
        check_seconds(time_limit, "time_limit")
    memory = Banks(banks, *sizes(bank, word))
    check_array(weight, elements, registers)
    network = the_network(workload, layer)
    # the compiled search is only imported once the input is known to be good
    from tilewright.offchip.arrays.extents import Elements
    from tilewright.offchip.least import WeightedArray, least_of_network

    array = WeightedArray(Elements(*elements, registers), weight) if weight else None
    return least_of_network(network, memory, time_limit, array, listener(progress))


def check_array(weight: float, elements: tuple[int, int], registers: int) -> None:
    """Refuse an array that cannot be, and a weight below 0."""
    if not (isinstance(weight, int | float) and 0 <= weight < inf):
        raise InputError(f"a weight of 0 or more is accepted, found {weight}", key="weight")
    if not isinstance(elements, tuple | list) or len(elements) != 2:
        raise InputError(f"rows and columns are accepted, found {elements}", key="elements")
    for side in elements:
        check_count(side, "elements", 1)
        if side > MOST_ELEMENTS:
            raise InputError(
                f"at most {MOST_ELEMENTS} rows and columns are accepted, found {side}",
                key="elements",
            )
    check_count(registers, "registers", 1)
    if registers > MOST_REGISTERS:
        raise InputError(
            f"at most {MOST_REGISTERS} registers are accepted, found {registers}", key="registers"
        )


def sizes(bank: str, word: str) -> tuple[int, int]:
    """Return the bits of a bank, whole words, and of a word."""
    try:
        word_bits = bits(word)
    except ValueError as reason:
        raise InputError(str(reason), key="word") from None
    try:
        bank_bits = bits(bank, word_bits)
    except ValueError as reason:
        raise InputError(str(reason), key="bank") from None
    if bank_bits < word_bits:
        raise InputError(f"a bank of {bank} holds no word of {word}", key="bank")
    return bank_bits, word_bits
