"""The charset chain, forwards over many codecs and backwards over wrong labels."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.decode.charset import codec_of, decode_bytes, decode_text

SAMPLES = {
    "gb2312": "您好，附件是三月份的对账单，请核对后回复我，谢谢！",
    "gb18030": "您好，朱镕先生的合同编号是二〇二六，请查收附件并尽快确认。",
    "big5": "您好，附件是三月份的對帳單，請核對後回覆我，謝謝！",
    "shift_jis": "お世話になっております。三月分の請求書を添付しましたのでご確認ください。",
    "euc-jp": "お世話になっております。三月分の請求書を添付しましたのでご確認ください。",
    "iso-2022-jp": "お世話になっております。三月分の請求書を添付しました。",
    "euc-kr": "안녕하세요, 삼월 청구서를 첨부하오니 확인 부탁드립니다.",
    "koi8-r": "Здравствуйте, во вложении счёт за март, проверьте его, пожалуйста.",
    "windows-1251": "Здравствуйте, во вложении счет за март, проверьте его, пожалуйста.",
    "iso-8859-1": "Grüße aus Köln, die Rechnung für März hängt an.",
    "windows-1252": "Voilà – la facture de « mars » est prête, à bientôt.",
    "utf-16": "您好，附件是对账单。",
    "utf-8": "Grüße 您好 お世話 안녕",
}


@pytest.mark.parametrize(("label", "text"), SAMPLES.items())
def test_a_rightly_labelled_text_is_read_without_fault(label: str, text: str) -> None:
    read = decode_text(text.encode(label), label)
    assert read.text == text
    assert read.fault is None


@pytest.mark.parametrize(
    ("real", "label"),
    [
        ("big5", "gb2312"),
        ("gb2312", "iso-8859-1"),
        ("gb2312", None),
        ("shift_jis", "gbk"),
        ("euc-kr", "us-ascii"),
        ("koi8-r", "iso-8859-1"),
        ("windows-1251", None),
        ("iso-8859-1", "utf-8"),
        ("utf-8", "gbk"),
        ("utf-8", "no-such-charset"),
        ("gb18030", "gb2312"),
        ("iso-2022-jp", None),
        ("iso-2022-jp", "utf-8"),
    ],
)
def test_a_wrong_label_is_overruled(real: str, label: str | None) -> None:
    text = SAMPLES[real]
    read = decode_text((text + "\n").encode(real) * 4, label)
    assert read.text == (text + "\n") * 4


@pytest.mark.parametrize(
    "label", ["idna", "punycode", "undefined", "base64", "unicode_escape", "a\0b", "x" * 5000, ""]
)
def test_labels_that_are_no_charset_are_ignored(label: str) -> None:
    assert codec_of(label) is None
    assert decode_bytes("ä".encode(), label) == "ä"


def test_labels_are_widened() -> None:
    assert codec_of("GB2312") == "gb18030"
    assert codec_of(' "ISO-8859-1" ') == "cp1252"
    assert codec_of("x-sjis") == "cp932"


def test_utf8_with_one_broken_byte_stays_utf8() -> None:
    data = "Счёт за март во вложении, проверьте пожалуйста".encode() + b"\xd0 end"
    read = decode_text(data, "utf-8")
    assert read.text.count("\ufffd") == 1
    assert read.fault == "broken utf-8"


@settings(deadline=None)
@given(
    st.binary(max_size=200), st.sampled_from([None, *SAMPLES, "utf-7", "hz", "idna", "utf-32", "cp037", "\0"])
)
def test_any_bytes_become_text_that_utf8_can_write(data: bytes, label: str | None) -> None:
    decode_bytes(data, label).encode("utf-8")
