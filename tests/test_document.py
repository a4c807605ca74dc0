"""Files that ship are parsed once; what is kept of them says the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tilewright as tw
from tilewright import document
from tilewright.document import load, load_shipped

FILES = sorted(Path(tw.__file__).parent.glob("*/**/*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_kept_of_a_file_is_what_it_says(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "folder_of", lambda source: str(tmp_path))
    whole = load(path)
    load_shipped(path)  # keeps it
    with monkeypatch.context() as patch:
        if not whole.tags:
            patch.setattr(document, "parse", lambda *_: pytest.fail("parsed again"))
        kept = load_shipped(path)
        assert kept.data == whole.data
        assert kept.source == whole.source
    assert dict(kept.lines) == dict(whole.lines)


def test_another_text_and_damage_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "folder_of", lambda source: str(tmp_path))
    file = tmp_path / "a.yaml"
    for text in ("x: 1", "x: 2"):
        file.write_text(text, encoding="utf-8")
        assert [load_shipped(file).data for _ in range(2)] == [{"x": int(text[-1])}] * 2
    for damage in (b"", b"[]", b"\xff", json.dumps({"stamp": "other"}).encode()):
        (tmp_path / "a.json").write_bytes(damage)
        assert load_shipped(file).data == {"x": 2}


def test_nothing_is_kept_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("x: 1", encoding="utf-8")
    for folder in (None, str(tmp_path / "none")):
        monkeypatch.setattr(document, "folder_of", lambda source, folder=folder: folder)
        assert load_shipped(file).data == {"x": 1}
    assert list(tmp_path.iterdir()) == [file]
