"""Compiled kernels: rounds of a loop that are known without going through them.

Rounds of an outermost loop whose chunks share no words are alike, all but a short last one. Rounds
of a loop that is irrelevant to the tensor are alike, too, but begin with what the one before left:
when a round ends as an earlier one ended, all that follows repeats, and whole periods are skipped.
Time does not pass while rounds are skipped: what the next round finds is as old as it would be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import part
from tilewright.kernels.types import Bools, Ints
from tilewright.retention.spills.classes import Classes


class Rounds(NamedTuple):
    """What is known of the rounds of each loop.

    `saved` is the first step of the round to which later ones are compared, NONE or DONE. It is
    replaced after 1, 2, 4, ... rounds (Brent), so that any period is found.
    """

    apart: Bools  # outermost loops whose rounds share no words
    reuse: Bools  # loops that are irrelevant to the tensor
    even: Bools  # loops of which a short last round is like the others
    inner: Ints  # steps of one round
    begin: Ints  # first step of the current round
    begin_spills: Ints
    saved: Ints
    saved_round: Ints
    saved_steps: Ints
    saved_spills: Ints
    power: Ints


NONE, DONE = -1, -2


@part
def new_rounds(classes: Classes, chunks: Ints) -> Rounds:
    """Return the state of all loops before their first step."""
    loops = len(chunks)
    apart = np.zeros(loops, np.bool_)
    i = 0
    while i < loops and (classes.loop_alone[i] or classes.loop_pin[i] >= 0):
        apart[i] = True
        i += 1
    even = classes.loop_axis < 0
    inner = np.ones(loops, np.int64)
    for i in range(loops - 1, -1, -1):
        if i > 0:
            inner[i - 1] = inner[i] * chunks[i]
        if classes.loop_outer[i] >= 0:
            even[classes.loop_outer[i]] = False
    zeros = np.zeros((6, loops), np.int64)
    saved = np.full(loops, NONE, np.int64)
    return Rounds(
        apart=apart,
        reuse=(classes.loop_axis < 0) & (classes.loop_pin < 0),
        even=even,
        inner=inner,
        begin=zeros[0],
        begin_spills=zeros[1],
        saved=saved,
        saved_round=zeros[2],
        saved_steps=zeros[3],
        saved_spills=zeros[4],
        power=zeros[5] + 1,
    )


@part
def begin_round(rounds: Rounds, i: int, step: int, spills: int) -> None:
    """Begin a round of loop i, and with it all loops further in."""
    for j in range(i, len(rounds.begin)):
        rounds.begin[j] = step
        rounds.begin_spills[j] = spills
        if j > i:
            rounds.saved[j] = NONE
            rounds.power[j] = 1


@part
def skipped(
    rounds: Rounds, i: int, turn: int, turns: int, short: bool, step: int, spills: int,
    free: Ints, code: Ints, kept: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Return the round of loop i to go on from, and the spills until its end.

    Loop i is one whose rounds are apart, or a reuse loop.
    Round `turn` of `turns` has just ended before `step`; the last one may be `short`.
    """
    if short and not rounds.even[i]:
        turns -= 1
    if rounds.apart[i]:
        if turn == 0 and turns > 1:
            return turns - 1, spills + (turns - 1) * (spills - rounds.begin_spills[i])
        return turn, spills
    if rounds.saved[i] == DONE:
        return turn, spills
    begin = rounds.begin[i]
    steps = step - begin
    if rounds.saved[i] != NONE and steps == rounds.saved_steps[i]:
        ended_alike = True
        for t in range(steps):
            # as many places are free since each step, and the steps were the same: inner loops may
            # have skipped others. What is free for longer is alike to this loop and taken newest
            # first: what one period takes of it and adds to it, the next takes and adds again
            if (
                free[begin + 2 + t] != kept[i, t]
                or (code[begin + t] - code[rounds.saved[i] + t]) % rounds.inner[i] != 0
            ):
                ended_alike = False
                break
        if ended_alike:
            period = turn - rounds.saved_round[i]
            times = max(0, (turns - 1 - turn) // period)
            rounds.saved[i] = DONE
            return turn + times * period, spills + times * (spills - rounds.saved_spills[i])
    first = rounds.saved[i] == NONE
    if first or turn - rounds.saved_round[i] == rounds.power[i]:
        if not first:
            rounds.power[i] *= 2
        rounds.saved[i] = begin
        rounds.saved_round[i] = turn
        rounds.saved_steps[i] = steps
        rounds.saved_spills[i] = spills
        copy(free[begin + 2 : step + 2], kept[i])
    return turn, spills
