"""The MIME tree: the same as the standard library's on well-formed mail, capped on the rest."""

from email.message import Message
from email.mime.application import MIMEApplication
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.parser import BytesParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.errors import ResourceLimit
from stages.decode import DecodePolicy, decode, decode_parts
from stages.decode.tree import parse_tree

TEXT = st.text(alphabet="ab \n->äß你\u3000.", max_size=60)


def mime_trees() -> st.SearchStrategy[Message]:
    leaf = st.one_of(
        TEXT.map(lambda text: MIMEText(text, "plain", "utf-8")),
        TEXT.map(lambda text: MIMEText(text, "html", "utf-8")),
        st.binary(max_size=60).map(MIMEApplication),
    )

    def grow(inner: st.SearchStrategy[Message]) -> st.SearchStrategy[Message]:
        multipart = st.tuples(
            st.sampled_from(["mixed", "alternative", "related"]), st.lists(inner, min_size=1, max_size=4)
        )
        return st.one_of(
            multipart.map(lambda pair: MIMEMultipart(pair[0], None, pair[1])),
            inner.map(_nested),
        )

    return st.recursive(leaf, grow, max_leaves=12)


def _nested(message: Message) -> Message:
    message["Subject"] = "inner"
    return MIMEMessage(message)


@settings(max_examples=150, deadline=None)
@given(mime_trees(), st.booleans())
def test_leaves_equal_those_of_the_standard_library(message: Message, crlf: bool) -> None:
    message["From"] = "a@b.example"
    raw = message.as_bytes()
    if crlf:
        raw = raw.replace(b"\n", b"\r\n")
    root, _ = parse_tree(raw, DecodePolicy())
    found = [(leaf.mime, leaf.payload()) for leaf in root.leaves()]
    wanted = [
        (part.get_content_type(), part.get_payload(decode=True))
        for part in BytesParser().parsebytes(raw).walk()
        if not part.is_multipart()
    ]
    assert found == wanted


def nested_multiparts(levels: int) -> bytes:
    lines = [b"From: a@b.example"]
    for level in range(levels):
        lines.append(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d" % (level, level))
    return b"\n".join(lines) + b"\n\ndeep words\n"


def test_depth_is_capped_without_recursion() -> None:
    assert decode(nested_multiparts(49), DecodePolicy()).body_text == "deep words"
    for levels in (51, 5_000):
        with pytest.raises(ResourceLimit):
            decode(nested_multiparts(levels), DecodePolicy())
    with pytest.raises(ResourceLimit):
        decode(b"Content-Type: message/rfc822\n\n" * 5_000 + b"Subject: x\n\nhi", DecodePolicy())


def test_parts_attachments_and_size_are_capped() -> None:
    parts = b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 5_000
    with pytest.raises(ResourceLimit, match="parts"):
        decode(parts, DecodePolicy())
    one = b"--b\nContent-Type: image/png\n\nx\n"
    head = b"Content-Type: multipart/mixed; boundary=b\n\n"
    assert len(decode(head + one * 3, DecodePolicy(max_attachments=3)).attachments) == 3
    with pytest.raises(ResourceLimit, match="attachments"):
        decode(head + one * 4, DecodePolicy(max_attachments=3))
    with pytest.raises(ResourceLimit, match="MB"):
        decode(b"Subject: x\n\n" + b"x" * 1_100_000, DecodePolicy(max_message_mb=1))


def test_parts_are_dumped_in_document_order_inside_nested_messages_too() -> None:
    inner = MIMEMultipart("mixed", None, [MIMEText("two", "plain", "utf-8"), MIMEApplication(b"3")])
    outer = MIMEMultipart(
        "mixed", None, [MIMEText("one", "plain", "utf-8"), MIMEMessage(inner), MIMEText("four")]
    )
    parts = decode_parts(outer.as_bytes(), DecodePolicy())
    assert [part.text or part.b64 for part in parts] == ["one", "two", "Mw==", "four"]
    assert [part.size for part in parts] == [3, 3, 1, 4]
    assert all(part.hash.startswith("blake3:") for part in parts)


def test_a_parent_delimiter_ends_an_unclosed_child() -> None:
    raw = (
        b"Content-Type: multipart/mixed; boundary=out\n\n--out\nContent-Type: multipart/mixed; boundary=in\n\n"
        b"--in\n\nfirst\n--out\n\nsecond\n--out--\nepilogue\n"
    )
    assert decode(raw, DecodePolicy()).body_text == "first\n\nsecond"


def test_a_delimiter_is_a_whole_line() -> None:
    raw = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nsee --b\n--bc\n--b--\n"
    assert decode(raw, DecodePolicy()).body_text == "see --b\n--bc"
