"""File names are pure functions of ids: safe on every file system, and never one name for two ids."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.names import candidate_path, email_path, failed_path, month_of, safe_name, thread_path

WINDOWS_DEVICES = [
    "CON",
    "PRN",
    "AUX",
    "NUL",
    *(f"{kind}{number}" for kind in ("COM", "LPT") for number in range(10)),
]
ODD = [
    "",
    ".",
    "..",
    "../../x",
    "..\\..\\x",
    "/etc/passwd",
    "~root",
    "-rf",
    'a:b|c?d*e<f>g"h',
    "x.",
    "x ",
    " x",
    ".hidden",
    "con",
    "CON",
    "con.txt",
    "Con.tar.gz",
    "lpt1.@x",
    "COM¹",
    "x" * 300,
    "x" * 299 + "X",
    "X" * 300,
    "é",
    "é",
    "ß",
    "ẞ",
    "ss",
    "İ",
    "i̇",
    "ǆ",
    "ǅ",
    "一" * 100,
    "a%2Fb",
    "a/b",
    "a%2fb",
    "\0",
    "\n",
    "\ud800",
    "�",
    "x~0123456789ab",
    "🐉@x.example",
]

letters = st.characters(codec=None, categories=["L", "N", "P", "Z", "S", "Cc", "Cs"])
ids = (
    st.text(max_size=40)
    | st.text(letters, max_size=300)
    | st.text("aAbB.%~-@ /\\", max_size=8)
    | st.sampled_from(ODD + WINDOWS_DEVICES)
    | st.tuples(st.sampled_from(ODD + WINDOWS_DEVICES), st.text("aA.~%", max_size=3)).map("".join)
)


def file_of(text: str) -> str:
    return email_path(None, "thr", text).rpartition("/")[2]


def assert_safe(name: str) -> None:
    """Assert that every file system takes a file of this name as it is."""
    assert re.fullmatch(r"[A-Za-z0-9._@+=%~-]+\.json", name)
    assert len(name.encode()) <= 140
    assert not name.startswith(".")
    assert name.partition(".")[0].upper() not in WINDOWS_DEVICES
    assert not name.removesuffix(".json").endswith((".", " "))


@pytest.mark.parametrize("text", ODD + WINDOWS_DEVICES, ids=ascii)
def test_an_odd_id_has_a_safe_name(text: str) -> None:
    assert_safe(file_of(text))


def test_odd_ids_have_different_names_even_where_case_does_not_count() -> None:
    texts = {*ODD, *WINDOWS_DEVICES, *(name.lower() for name in WINDOWS_DEVICES)}
    assert len({file_of(text).casefold() for text in texts}) == len(texts)


@settings(deadline=None, derandomize=True, max_examples=400)
@given(ids)
def test_every_id_has_a_safe_name(text: str) -> None:
    assert_safe(file_of(text))


@settings(deadline=None, derandomize=True, max_examples=400)
@given(st.lists(ids, unique=True, min_size=2, max_size=12))
def test_no_two_ids_share_a_name_even_where_case_does_not_count(texts: list[str]) -> None:
    assert len({file_of(text).casefold() for text in texts}) == len(texts)


@settings(deadline=None, derandomize=True)
@given(ids)
def test_an_id_and_its_other_case_differ(text: str) -> None:
    for other in {text.swapcase(), text.lower(), text.upper(), text.casefold()} - {text}:
        assert file_of(other).casefold() != file_of(text).casefold()


def test_a_plain_id_is_its_own_name() -> None:
    assert file_of("a.b+c=d_e-1@mail.example") == "a.b+c=d_e-1@mail.example.json"


def test_other_characters_are_percent_encoded_without_a_hash() -> None:
    assert safe_name("a/b c@x") == "a%2Fb%20c@x"
    assert safe_name("blake3:00ff") == "blake3%3A00ff"
    assert safe_name("陈@x") == "%E9%99%88@x"


@pytest.mark.parametrize("text", ["Id@x", "x" * 121, "con", "nul.x", ".x", "x."])
def test_an_id_that_could_meet_another_gets_a_hash(text: str) -> None:
    assert re.search(r"~[0-9a-f]{12}$", safe_name(text))


@settings(deadline=None, derandomize=True)
@given(ids)
def test_a_name_with_a_hash_is_no_other_ids_plain_name(text: str) -> None:
    name = safe_name(text)
    assert name == text or safe_name(name) != name


@pytest.mark.parametrize("text", ["x" * 120, "icon", "con1", "a.con", "null", "id@x"])
def test_an_id_that_cannot_meet_another_gets_none(text: str) -> None:
    assert safe_name(text) == text


def test_paths_stand_under_the_trees_of_the_state_folder() -> None:
    assert month_of("2026-03-05T06:20:11Z") == "2026-03"
    assert month_of(None) == "undated"
    assert email_path("2026-03-05T06:20:11Z", "thr-1", "a/b") == "extracted/2026-03/thr-1/a%2Fb.json"
    assert email_path(None, "thr-1", "a") == "extracted/undated/thr-1/a.json"
    assert thread_path("thr-1") == "threads/thr-1.json"
    assert failed_path("blake3:ab") == "extracted/_failed/ab.json"
    assert candidate_path("x.example") == "customers/UNCLASSIFIED-x.example.json"
    assert "/" not in candidate_path("../x").removeprefix("customers/")
