"""The files that people edit: what they mean, and that a broken one is named with its line and left alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from models.base import pack
from models.config import AliasSection, Settings
from models.curated import Alias, Curated, Customer, Example, ManualThread, Seed
from models.errors import UsageError
from storage.curated import ALIASES, DOMAIN_MAP, EXAMPLES, MANUAL, NOT_SAME, SEEDS, read_curated
from storage.json_place import line_of


def write(state: Path, name: str, content: str | bytes) -> Path:
    path = state / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def curated(state: Path, **configured: Any) -> Curated:
    return read_curated(state, Settings(**configured))


def test_without_files_and_configuration_everything_is_empty(state: Path) -> None:
    assert curated(state) == Curated()


def test_every_file_is_read_and_sorted(state: Path) -> None:
    write(
        state,
        ALIASES,
        '[{"name": "Bo", "email": "bo@x"}, {"email": "Ann@x", "also": ["z@x", "a@x"], "note": 1}]',
    )
    write(state, NOT_SAME, '[["z@x", "a@x"], ["b@x", "a@x"]]')
    write(state, DOMAIN_MAP, '{"Northwind.example": "C002", "a.example": "C001", "b.example": "C002"}')
    write(state, MANUAL, '[{"join": ["m1", "m2"]}, {"split": ["m3"]}]')
    write(state, SEEDS, "# projects\n\nRelaunch = relaunch, 新版，改版\r\n Fair \n")
    example = {"subject": "s", "body_text_clean": "one\u2028two", "primary": "催办", "secondary": ["询问"]}
    write(
        state,
        EXAMPLES,
        json.dumps(example, ensure_ascii=False) + "\r\n\n" + '{"primary": "决策", "secondary": null}',
    )
    assert curated(state) == Curated(
        aliases=[Alias(name="", email="Ann@x", also=["a@x", "z@x"]), Alias(name="Bo", email="bo@x")],
        customers=[
            Customer(id="C001", domains=["a.example"]),
            Customer(id="C002", domains=["b.example", "northwind.example"]),
        ],
        not_same=[["a@x", "b@x"], ["a@x", "z@x"]],
        seeds=[Seed(keyword="Fair"), Seed(keyword="Relaunch", synonyms=["relaunch", "改版", "新版"])],
        examples=[
            Example(subject="s", body_text_clean="one\u2028two", primary="催办", secondary=["询问"]),
            Example(subject="", body_text_clean="", primary="决策"),
        ],
        manual_threads=[ManualThread(join=["m1", "m2"]), ManualThread(split=["m3"])],
    )


def test_the_long_form_of_the_domain_map_names_customers(state: Path) -> None:
    row = {"name": "Northwind", "domains": ["N.example", "a.example"], "contacts": ["Jo@free.example"]}
    write(state, DOMAIN_MAP, json.dumps({"customers": {"C001": row, "C000": {}}}))
    assert curated(state).customers == [
        Customer(id="C000"),
        Customer(
            id="C001", name="Northwind", domains=["a.example", "n.example"], contacts=["jo@free.example"]
        ),
    ]


def test_the_configuration_wins_over_the_files(state: Path) -> None:
    write(state, ALIASES, '[{"name": "Bo", "email": "bo@x"}, {"name": "Ann", "email": "ann@x"}]')
    write(state, DOMAIN_MAP, '{"a.example": "C001", "b.example": "C001"}')
    write(state, SEEDS, "Fair = fair\nRelaunch")
    found = curated(
        state,
        aliases=[AliasSection(name="Robert", email="BO@x", also=["z@x", "rob@x"])],
        domain_map={"B.example": "C002"},
        seed_keywords=["Fair=book fair"],
    )
    assert found.aliases == [
        Alias(name="Ann", email="ann@x"),
        Alias(name="Robert", email="BO@x", also=["rob@x", "z@x"]),
    ]
    assert found.customers == [
        Customer(id="C001", domains=["a.example"]),
        Customer(id="C002", domains=["b.example"]),
    ]
    assert found.seeds == [Seed(keyword="Fair", synonyms=["book fair"]), Seed(keyword="Relaunch")]


def test_files_of_equal_content_are_equal_values(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    write(one, ALIASES, '[{"email": "a@x", "also": ["p", "q"]}, {"email": "b@x"}]')
    write(two, ALIASES, '\ufeff[{"email": "b@x", "name": ""},\n {"also": ["q", "p"], "email": "a@x"}]\n')
    write(one, DOMAIN_MAP, '{"a.example": "C1", "b.example": "C1"}')
    write(two, DOMAIN_MAP, '{"customers": {"C1": {"domains": ["b.example", "a.example"]}}}')
    assert pack(curated(one)) == pack(curated(two))


BROKEN = {
    "aliases: a missing comma": (ALIASES, '[\n {"email": "a@x"}\n {"email": "b@x"}\n]', 3, "delimiter"),
    "aliases: cut short": (ALIASES, '[\n {"email": "a@x"},\n', 3, "Expecting"),
    "aliases: empty": (ALIASES, "", 1, "Expecting value"),
    "aliases: no list": (ALIASES, '\n{"email": "a@x"}', 2, "must be a list of objects"),
    "aliases: null": (ALIASES, "null", 1, "must be a list of objects"),
    "aliases: no object": (ALIASES, '[\n {"email": "a@x"},\n "b@x"\n]', 3, "must be an object"),
    "aliases: no email": (ALIASES, '[\n {"email": "a@x"},\n {"name": "B"}]', 3, "`email`"),
    "aliases: blank email": (ALIASES, '[{\n "name": "B",\n "email": " "}]', 3, "`email`"),
    "aliases: name a number": (ALIASES, '[\n{"email": "a@x",\n "name": 5}]', 3, "`name` must be a text"),
    "aliases: also a text": (
        ALIASES,
        '[{"email": "a@x",\n\n "also": "b@x"}]',
        3,
        "`also` must be a list of texts",
    ),
    "aliases: also of numbers": (ALIASES, '[{"email": "a@x",\n "also": ["b@x", 5]}]', 2, "`also`"),
    "aliases: half a character": (
        ALIASES,
        '[{"email": "a@x",\n "name": "\\ud83d"}]',
        2,
        "half of a character",
    ),
    "aliases: too deep": (ALIASES, "[" * 100_000, 1, "nested too deeply"),
    "aliases: a huge number": (ALIASES, "[" + "9" * 5000 + "]", 1, "digits"),
    "not_same: no list": (NOT_SAME, '{"a@x": "b@x"}', 1, "must be a list of pairs"),
    "not_same: three": (NOT_SAME, '[["a@x", "b@x"],\n ["a@x", "b@x", "c@x"]]', 2, "must be a pair"),
    "not_same: a number": (NOT_SAME, '[["a@x", 1]]', 1, "must be a pair"),
    "domain map: a list": (DOMAIN_MAP, '["a.example"]', 1, "must be {"),
    "domain map: a number": (
        DOMAIN_MAP,
        '{\n"a.example": "C1",\n"b.example": 2}',
        3,
        "`b.example` must be a text",
    ),
    "domain map: no id": (DOMAIN_MAP, '{"a.example": ""}', 1, "`a.example` must be a text that is not empty"),
    "domain map: customers a list": (DOMAIN_MAP, '{\n"customers": []}', 2, "`customers` must be a text"),
    "domain map: both forms": (DOMAIN_MAP, '{"customers": {},\n "a.example": "C1"}', 2, "beside `customers`"),
    "domain map: customer a text": (
        DOMAIN_MAP,
        '{"customers": {\n"C1": {},\n"C2": "x"}}',
        3,
        "customer `C2`",
    ),
    "domain map: domains a text": (DOMAIN_MAP, '{"customers": {"C1":\n{"domains":\n"x"}}}', 3, "`domains`"),
    "manual: neither": (MANUAL, '[{"join": ["a"]},\n {"jion": ["a"]}]', 2, "`join` or `split`"),
    "manual: both": (MANUAL, '[{"join": ["a"], "split": ["b"]}]', 1, "`join` or `split`"),
    "manual: no list": (MANUAL, '[{\n"split": "a"}]', 2, "`split` must be a list of texts"),
    "seeds: no keyword": (SEEDS, "Fair\n = fair, book fair\n", 2, "no keyword"),
    "seeds: not UTF-8": (SEEDS, "Fair\nMünchen".encode("latin-1"), 2, "not UTF-8"),
    "examples: not JSON": (EXAMPLES, '{"primary": "催办"}\n\n{"primary": 催办}\n', 3, "Expecting value"),
    "examples: no object": (EXAMPLES, '["催办"]', 1, "must be an object"),
    "examples: no intent": (EXAMPLES, '{"subject": "s"}', 1, "`primary`"),
    "examples: unknown intent": (
        EXAMPLES,
        '{"primary": "催办"}\n{"primary": "urge"}',
        2,
        "`urge` is no intent",
    ),
    "examples: unknown second": (EXAMPLES, '{"primary": "催办", "secondary": ["x"]}', 1, "`x` is no intent"),
    "examples: second a text": (EXAMPLES, '{"primary": "催办", "secondary": "询问"}', 1, "`secondary`"),
    "examples: subject a number": (EXAMPLES, '{"primary": "催办", "subject": 1}', 1, "`subject`"),
    "examples: too deep": (EXAMPLES, '{"primary": "催办"}\n' + "[" * 100_000, 2, "nested too deeply"),
    "examples: half a character": (
        EXAMPLES,
        '{"primary": "催办", "subject": "\\udc00"}',
        1,
        "half of a character",
    ),
}


@pytest.mark.parametrize(("name", "content", "line", "said"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_named_with_line_and_remedy_and_left_alone(
    state: Path, name: str, content: str | bytes, line: int, said: str
) -> None:
    path = write(state, name, content)
    before = path.read_bytes(), path.stat().st_mtime_ns
    with pytest.raises(UsageError) as broken:
        curated(state)
    assert broken.value.detail.startswith(f"{path}: line {line}")
    assert said in broken.value.detail
    assert broken.value.remedy == "correct the file (it was not touched) and run again"
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_folder_in_the_place_of_a_file_is_an_error_that_names_it(state: Path) -> None:
    (state / ALIASES).mkdir(parents=True)
    with pytest.raises(UsageError, match=r"aliases\.json cannot be read: Is a directory") as broken:
        curated(state)
    assert broken.value.remedy


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ((), 2),
        (("b",), 4),
        (("b", 0), 5),
        (("b", 1, "d"), 7),
        (("b", 1, "missing"), 6),
        (("missing",), 2),
        (("a", "deeper"), 3),
        (('e, ["}',), 8),
        (("b", 5), 4),
    ],
)
def test_the_line_of_a_value_is_found_through_arrays_and_objects(
    place: tuple[int | str, ...], line: int
) -> None:
    text = '\n{ "a"\n: "x, [\\"]",  "b":\n[\n"c",\n{"q": {}, "r": [],\n"d": 1}],\n"e, [\\"}" : 2 }'
    json.loads(text)
    assert line_of(text, place) == line


def test_of_equal_keys_the_last_one_counts_as_for_json() -> None:
    assert line_of('{"a": 1,\n"a": 2}', ("a",)) == 2
