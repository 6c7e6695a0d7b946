"""Folding: the form in which two spellings of one word are equal (NFKC, case, traditional characters)."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff々]")


@cache
def han_table() -> dict[int, str]:
    """Return the translation table from traditional and Japanese forms to simplified ones."""
    text = files(__package__).joinpath("packs/han_fold.txt").read_text(encoding="utf-8")
    rows = (line for line in text.splitlines() if not line.startswith("#"))
    return {ord(pair[0]): pair[1] for row in rows for pair in row.split()}


def fold(text: str) -> str:
    """Return `text` in comparing form; its length may differ, so never use it for spans."""
    return unicodedata.normalize("NFKC", text).casefold().translate(han_table())


def fold_name(name: str) -> str:
    """Return a display name in comparing form: folded, tokens sorted, punctuation dropped."""
    words = "".join(char if char.isalnum() else " " for char in fold(name)).split()
    return " ".join(sorted(words))


def is_han(char: str) -> bool:
    """Return whether `char` is a CJK ideograph of the basic block or its extension A."""
    return "\u4e00" <= char <= "\u9fff" or "\u3400" <= char <= "\u4dbf"


def is_cjk(char: str) -> bool:
    """Return whether `char` is an ideograph, kana or an ideographic iteration mark."""
    return "\u3040" <= char <= "\u30ff" or is_han(char) or char == "々"


def has_han(text: str) -> bool:
    """Return whether `text` holds a CJK ideograph."""
    return _HAN.search(text) is not None


def has_cjk(text: str) -> bool:
    """Return whether `text` holds an ideograph, kana or an ideographic iteration mark."""
    return _CJK.search(text) is not None
