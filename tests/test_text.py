"""Tables and sentences fit the width that there is, and never break a number."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tilewright.text import aligned, percent, wrapped

HEADERS = ("layer", "repeat", "energy (uJ)", "cycles", "EDP (pJ x cycles)", "utilization", "remark")
ROWS = [
    ("conv2_1.expand", "4", "497.58", "308,224", "1.5337e+14", "99.2%", "keeps only the inputs"),
    ("fc", "1", "1,422.92", "12,250", "5.1808e+12", "9.5%", ""),
]
DROP = ("utilization", "EDP (pJ x cycles)", "repeat")
NUMBERS = [cell for row in ROWS for cell in row[1:6]]


@given(width=st.integers(60, 140))
def test_a_table_fits_and_no_number_or_word_of_it_is_cut(width: int) -> None:
    lines = aligned([HEADERS, *ROWS], (0, 6), width=width, drop=DROP)
    assert max(map(len, lines)) <= width
    words = re.sub(r"\(no room for.*", "", " ".join(lines), flags=re.DOTALL).split()
    assert {"conv2_1.expand", "497.58", "1,422.92", "308,224", "inputs"} <= set(words)
    assert {word for word in words if re.fullmatch(r"[\d,.e+%]+", word)} <= set(NUMBERS)


@given(width=st.integers(60, 140))
def test_columns_that_are_left_out_are_named(width: int) -> None:
    lines = aligned([HEADERS, *ROWS], (0, 6), width=width, drop=DROP)
    shown = " ".join(lines)
    for name, cell in zip(HEADERS, ROWS[0], strict=True):
        first = cell.split()[0]
        assert first in shown.split() or re.search(rf"no room for: .*{re.escape(name)}", shown)


def test_a_table_with_room_has_one_line_for_each_row() -> None:
    assert len(aligned([HEADERS, *ROWS], (0, 6), width=140)) == 3
    assert aligned([HEADERS, *ROWS], (0, 6), width=140) == aligned([HEADERS, *ROWS], (0, 6))


@given(st.lists(st.text("abc", min_size=1, max_size=12), min_size=1), st.integers(40, 120))
def test_prose_is_wrapped_at_blanks_alone(words: list[str], width: int) -> None:
    text = wrapped(" ".join(words), width)
    assert text.split() == words
    assert max(map(len, text.splitlines())) <= width


def test_lines_that_fit_keep_their_blanks_and_indents_go_on() -> None:
    assert wrapped("a    b", 40) == "a    b"
    first, second = wrapped("  " + "word " * 9 + "end", 40).splitlines()
    assert first.startswith("  word")
    assert second.startswith("    word")


def test_shares_that_are_not_zero_do_not_look_like_it() -> None:
    shares = (0.0, 0.0001, -0.0001, 0.0005, -0.45)
    assert [percent(share) for share in shares] == ["0.0%", "<0.1%", "<0.1%", "0.1%", "-45.0%"]
