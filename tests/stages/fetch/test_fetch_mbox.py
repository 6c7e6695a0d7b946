"""An mbox is split where its messages end, whatever its writer forgot to quote."""

from __future__ import annotations

import io
import mailbox
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stages.fetch import mbox
from stages.fetch.mbox import find_messages, read_message, separator_kind
from stages.fetch.sniff import extension, kind_by_name, pack

DATED = b"From alice@example.com Mon Mar  2 09:00:00 2026\n"


def split(data: bytes) -> list[bytes]:
    file = io.BytesIO(data)
    return [b"".join(read_message(file, span)) for span in find_messages(file)]


@pytest.mark.parametrize("rule", pack("mbox")["separator"], ids=lambda rule: str(rule["name"]))
def test_every_separator_rule_matches_its_examples_and_spares_its_near_misses(
    rule: dict[str, list[str]],
) -> None:
    for line in rule["match"]:
        assert separator_kind(line.rstrip("\r").encode()) == rule["name"], line
    for line in rule["miss"]:
        assert separator_kind(line.encode()) is None, line


@pytest.mark.parametrize("rule", pack("files")["extension"], ids=lambda rule: str(rule["suffix"]))
def test_every_extension_rule_matches_its_examples_and_spares_its_near_misses(
    rule: dict[str, list[str]],
) -> None:
    for name in rule["match"]:
        assert kind_by_name(name.encode()) == rule["kind"], name
    for name in rule["miss"]:
        assert extension(name.encode()) != rule["suffix"], name


def test_from_lines_in_a_body_do_not_split() -> None:
    body = (
        b"Subject: notes\n\nFrom the start we said:\n\n"
        b"From March 2025 to March 2026 the price stays.\nNote: see below\n\n"
        b"From bob@example.com Mon Mar  2 09:00:00 2026\nas he told us\n\n"
        b"as quoted by Bob\nFrom bob@example.com Mon Mar  2 09:00:00 2026\nSubject: no blank line before\n"
    )
    assert split(DATED + body + b"\n" + DATED + b"Subject: next\n\nx\n\n") == [body, b"Subject: next\n\nx\n"]


def test_a_bare_from_line_separates_with_or_without_a_blank_line() -> None:
    data = b"From \nX-Mozilla-Status: 0001\nSubject: a\n\none\nFrom \nX-Mozilla-Status: 0001\n\ntwo\n\nFrom \nA: b\n\nthree\n"
    assert split(data) == [
        b"X-Mozilla-Status: 0001\nSubject: a\n\none\n",
        b"X-Mozilla-Status: 0001\n\ntwo\n",
        b"A: b\n\nthree\n",
    ]


def test_a_line_that_is_only_from_in_a_body_does_not_split() -> None:
    body = b"Subject: a\n\nsaid\nFrom \nHello: this is prose\n\nFrom \nhere\n"
    assert split(DATED + body) == [body]


def test_one_level_of_quoting_is_undone() -> None:
    data = DATED + b"Subject: a\n\n>From here\n>>From there\n>>>From >From\n> From not quoted\nx >From\n"
    assert split(data) == [
        b"Subject: a\n\nFrom here\n>From there\n>>From >From\n> From not quoted\nx >From\n"
    ]


def test_carriage_returns_are_kept_and_one_blank_line_is_taken_away() -> None:
    crlf = (DATED + b"Subject: a\n\none\n\n\n" + DATED + b"Subject: b\n\ntwo\n\n").replace(b"\n", b"\r\n")
    assert split(crlf) == [b"Subject: a\r\n\r\none\r\n\r\n", b"Subject: b\r\n\r\ntwo\r\n"]


def test_an_envelope_of_an_earlier_hop_is_no_part_of_the_message() -> None:
    data = DATED + b">From - Sat Apr 12 2025 15:59:28\nX-Mozilla-Status: 0001\nSubject: a\n\none\n"
    assert split(data) == [b"X-Mozilla-Status: 0001\nSubject: a\n\none\n"]


def test_text_before_the_first_separator_is_a_message_and_blank_lines_are_not() -> None:
    message = DATED + b"Subject: a\n\none\n\n"
    assert split(b"torn off end of a mail\n\n" + message) == [
        b"torn off end of a mail\n",
        b"Subject: a\n\none\n",
    ]
    assert split(b"\n\n\r\n" + message) == [b"Subject: a\n\none\n"]
    assert split(b"\xef\xbb\xbf" + message) == [b"Subject: a\n\none\n"]
    assert split(b"Subject: not an mbox at all\n\nx\n") == [b"Subject: not an mbox at all\n\nx\n"]
    assert split(b"") == []


@pytest.mark.parametrize("cut", range(1, 66))
def test_a_torn_last_message_never_changes_the_one_before_it(cut: int) -> None:
    first, second = DATED + b"Subject: a\n\none\n\n", DATED + b"Subject: b\n\ntwo\n"
    found = split(first + second[:cut])
    whole_separator = len(DATED) - 1  # without its line end
    if cut >= whole_separator:
        assert found[0] == b"Subject: a\n\none\n"
    assert b"".join(found).startswith(b"Subject: a\n\none\n")


def test_a_separator_over_the_line_limit_is_text() -> None:
    line = b"From " + b"a" * 5000 + b"@x.example Mon Mar  2 09:00:00 2026\n"
    assert len(split(DATED + b"Subject: a\n\none\n\n" + line + b"Subject: b\n\n")) == 1


def test_hostile_lines_take_linear_work() -> None:
    data = DATED + b"A: b\n\n" + b">" * 3_000_000 + b"From \n" + b"\nFrom " * 200_000 + b"From " * 200_000
    assert sum(map(len, split(data))) >= 4_000_000


line = (  # a line that is quoted already cannot be told from one that the writer quoted
    st.binary(max_size=40)
    .map(lambda text: text.replace(b"\n", b" ").replace(b"\r", b" "))
    .filter(lambda text: not text.startswith(b">"))
)
start = st.sampled_from(
    [b"", b"From ", b"> ", b"From a@b Mon Mar  2 09:00:00 2026", b"Name: value", b"from "]
)
body = st.lists(st.tuples(start, line).map(b"".join), max_size=12).map(b"\n".join)
message = st.tuples(st.integers(0, 9), body).map(lambda pair: b"Subject: %d\nTo: a@b\n\n%b" % pair)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(messages=st.lists(message, max_size=8), chunk=st.sampled_from([7, 100, 5000, 1 << 20]))
def test_what_the_standard_library_writes_is_read_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, messages: list[bytes], chunk: int
) -> None:
    path = tmp_path / "box"
    path.unlink(missing_ok=True)
    box = mailbox.mbox(path)
    for raw in messages:
        box.add(raw)
    box.close()
    monkeypatch.setattr(mbox, "CHUNK", chunk)
    written = [raw if raw.endswith(b"\n") else raw + b"\n" for raw in messages]
    assert split(path.read_bytes()) == written


@settings(deadline=None)
@given(lines=st.lists(st.tuples(start, line).map(b"".join), max_size=40))
def test_nothing_but_separators_and_blank_lines_is_left_out(lines: list[bytes]) -> None:
    data, end = b"\n".join(lines), 0
    left_out = []
    for span in find_messages(io.BytesIO(data)):
        assert span.offset >= end and span.length > 0
        left_out += data[end : span.offset].splitlines()
        end = span.offset + span.length
    assert end <= len(data)
    left_out += data[end:].splitlines()
    assert all(not row.strip() or row.startswith((b"From ", b">From ")) for row in left_out)


def test_splitting_holds_little_in_memory(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "big.mbox"
    with path.open("wb") as file:
        for number in range(40):
            file.write(DATED + b"Subject: %d\n\n" % number + b"x" * 76 * 15_000 + b"\n\n")
    tracemalloc.start()
    with path.open("rb") as file:
        assert sum(1 for span in find_messages(file) for _ in read_message(file, span)) >= 40
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000_000
