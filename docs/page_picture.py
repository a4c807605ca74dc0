"""Takes the picture of a page that the README shows: ``python docs/page_picture.py PAGE.html``.

It needs Chromium. The page is that of ``tilewright map resnet50 eyeriss --objective edp --report``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

PICTURE = Path(__file__).parent / "assets" / "page.png"


def main() -> None:
    """Write the picture of the beginning of a page."""
    page = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                f"--user-data-dir={profile}", "--window-size=1280,1000",
                "--virtual-time-budget=4000", f"--screenshot={PICTURE}", page.as_uri(),
            ],
            check=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
