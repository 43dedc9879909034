"""Lists of words on the command line: separated by commas, or in a file."""

from __future__ import annotations

import argparse
from pathlib import Path


def word_list(text: str) -> list[str]:
    """Return the words of ``a,b,c``, or of the file that ``@FILE`` names, one per line."""
    if text.startswith("@"):
        try:
            words = Path(text[1:]).read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise argparse.ArgumentTypeError(f"can't read {text[1:]}: {error}") from error
    else:
        words = text.split(",")
    found = [word.strip() for word in words if word.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"takes words separated by commas, not {text!r}")
    return found
