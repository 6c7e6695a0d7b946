"""Addresses, encoded words, parameters, ids and dates."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.decode.addresses import first_address, parse_addresses, split_addresses
from stages.decode.clock import parse_date
from stages.decode.headers import Headers, read_headers
from stages.decode.ids import message_id, reference_ids, replied_id
from stages.decode.params import filename_of, media_type, safe_filename
from stages.decode.words import decoded_text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('"Last, First" <a@B.com>, Bob <b@c.de>', [("Last, First", "a@b.com"), ("Bob", "b@c.de")]),
        ("Last, First <a@b.com>", [("Last, First", "a@b.com")]),
        ("a@b.com (Joe (x) Q)", [("Joe (x) Q", "a@b.com")]),
        ('Group: a@b.c, "D" <d@e.f>; x@y.z', [("", "a@b.c"), ("D", "d@e.f"), ("", "x@y.z")]),
        ("undisclosed-recipients:;", []),
        ("John Doe john@x.com", [("John Doe", "john@x.com")]),
        ("Joe <a@b", [("Joe", "a@b")]),
        ("=?utf-8?Q?a,b?= <q@w.e>", [("a,b", "q@w.e")]),
        ("'x@y.z' <x@y.z>", [("", "x@y.z")]),
        ('"=?utf-8?B?5byg5LiJ?=" <z@s.cn>', [("张三", "z@s.cn")]),
        ('"a b"@c.d', [("", '"a b"@c.d')]),
        ("<@r,@s:u@h.k>", [("", "u@h.k")]),
        ("a@b.c; d@e.f", [("", "a@b.c"), ("", "d@e.f")]),
        ('"Unclosed <a@b.c>', [("Unclosed", "a@b.c")]),
        ("Müller, Jörg <j@m.de>, C D <c@d.e>", [("Müller, Jörg", "j@m.de"), ("C D", "c@d.e")]),
        ("", []),
    ],
)
def test_address_lists_are_split_before_they_are_decoded(text: str, wanted: list[tuple[str, str]]) -> None:
    assert [(box.name, box.email) for box in split_addresses(text)] == wanted


def test_a_name_without_address_is_kept_for_the_sender_only() -> None:
    sender = first_address(b"root")
    assert sender is not None and (sender.name, sender.email) == ("root", "")
    assert parse_addresses([b"root, Some Body"]) == []


@settings(deadline=None)
@given(st.text(alphabet='"<>(),;:@\\ =?aB.', max_size=60))
def test_any_address_text_splits_without_error(text: str) -> None:
    for box in split_addresses(text):
        assert box.email == box.email.casefold()
        assert "\n" not in box.name


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (b"=?utf-8?B?5L2g?= =?utf-8?B?5aW9?=", "你好"),
        (b"=?utf-8?B?5L0=?=\t=?utf-8?B?oOWlvQ==?=", "你好"),
        ("你好".encode("gbk"), "你好"),
        (b"=?x-nobody-knows?Q?a=E4b?=", "aäb"),
        (b"Re: =?iso-8859-1?q?a=0Ab?= c", "Re: a b c"),
        (b"a =?utf-8?q?b?= c =?utf-8?q?d?= =?gbk?q?e?=", "a b c de"),
        (b"=?utf-8*en?q?hi_there?=", "hi there"),
        (b"cost =?= 5", "cost =?= 5"),
        (b"=?utf-8?B?!!!?=", ""),
    ],
)
def test_encoded_words(value: bytes, wanted: str) -> None:
    assert decoded_text(value) == wanted


@settings(deadline=None)
@given(st.binary(max_size=80))
def test_any_header_value_becomes_one_line(value: bytes) -> None:
    assert not set(decoded_text(value)) & set("\r\n\0")


def test_rfc_2231_sections_and_paths_in_file_names() -> None:
    _, params = media_type(b"a/b; name*0*=utf-8''%e4%bd%a0; name*1*=%e5%a5%bd; name*2=.pdf", "text/plain")
    assert filename_of({}, params) == ("你好.pdf", None)
    _, params = media_type(b'a/b; name="C:\\docs\\x.txt"', "text/plain")
    assert filename_of({}, params) == ("x.txt", "C:\\docs\\x.txt")
    assert safe_filename("../..") is None
    assert safe_filename("in\u202ecod.exe") == "in cod.exe"
    assert safe_filename("a\0b/c\r\nd.txt") == "c d.txt"


def test_media_types_that_are_none_are_text() -> None:
    assert media_type(b"foo", "text/plain")[0] == "text/plain"
    assert media_type(None, "message/rfc822")[0] == "message/rfc822"
    assert media_type(b"TEXT/HTML;charset=GBK;", "text/plain") == ("text/html", {"charset": "GBK"})


def test_a_header_value_is_cut_at_the_cap_and_a_bare_cr_forges_no_field() -> None:
    data = b"Subject: abc\rBcc: x\nX: " + b"y" * 500 + b"\n z\n\nbody"
    headers, body, _ = read_headers(data, 0, len(data), 100)
    assert [name for name, _ in headers.fields] == ["subject", "x"]
    assert headers.get("x") == b"y" * 99  # the space behind the colon counts
    assert headers.cut == ["x"]
    assert data[body:] == b"body"


def test_ids_lose_one_pair_of_brackets_and_keep_their_case() -> None:
    assert message_id(Headers([("message-id", b" <AbC@X.example> ")])) == "AbC@X.example"
    assert message_id(Headers([("message-id", b"bare@x")])) == "bare@x"
    assert message_id(Headers([("message-id", b"<>")])) is None
    found = reference_ids(Headers([("references", b"<a@b>\t<c@d><a@b> e@f, word")]))
    assert found == ["a@b", "c@d", "e@f"]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (b"<one@x>", "one@x"),
        (b"<one@x> <two@x>", "one@x"),
        (b'Your message of "Mon, 2 Mar" <2026.03.02@x.example>', "2026.03.02@x.example"),
        (b"Ben Tor <ben@tor.example>'s words", None),
        (b"message of Monday", None),
        (b"bare5@x", "bare5@x"),
    ],
)
def test_in_reply_to_takes_ids_not_people(value: bytes, wanted: str | None) -> None:
    assert replied_id(Headers([("in-reply-to", value)])) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Mon, 2 Mar 2026 10:15:00 +0800 (CST)", "2026-03-02T10:15:00+08:00"),
        ("Mon (x), 2 Mar 2026 (day) 10:15 +0800", "2026-03-02T10:15:00+08:00"),
        ("Mon Mar  2 10:15:00 2026", "2026-03-02T10:15:00+00:00"),
        ("2026-03-02T10:15:00+08:00", "2026-03-02T10:15:00+08:00"),
        ("2 Mar 26 10:15 GMT", "2026-03-02T10:15:00+00:00"),
        ("Fri, 1 Jan 99 00:00:00 EST", "1999-01-01T00:00:00-05:00"),
        ("Thu, 13 Feb 2003 20:45:26 GMT+0100", "2003-02-13T20:45:26+01:00"),
        ("Mar 2, 2026 3:04:05 PM PST", "2026-03-02T15:04:05-08:00"),
        ("Monday, 02-Mar-26 10:15:00 UTC", "2026-03-02T10:15:00+00:00"),
        ("Sun Mar  1 10:15:00 CST 2026", "2026-03-01T10:15:00-06:00"),
        ("Mon, 2 Mar 2026 10:15:60 -0000", "2026-03-02T10:15:59+00:00"),
        ("Mon, 2 Mar 2026 10:15:00 +9999", "2026-03-02T10:15:00+00:00"),
        ("Mon, 31 Feb 2026 10:15:00 +0000", None),
        ("02/03/2026 10:15", None),
        ("soon", None),
    ],
)
def test_dates(text: str, wanted: str | None) -> None:
    found = parse_date(text)
    assert (found.isoformat() if found else None) == wanted


@settings(deadline=None)
@given(st.text(alphabet="0123456789 :+-.,/()TZMonarGMT", max_size=40))
def test_any_date_text_parses_or_is_none(text: str) -> None:
    found = parse_date(text)
    assert found is None or found.tzinfo is not None
