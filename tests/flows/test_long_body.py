"""A body that is too long to be taken whole: its beginning is written, and the record says so."""

from __future__ import annotations

from pathlib import Path

from driving import Product

LIMIT = 2_000_000


def test_a_cut_body_is_named_in_the_repairs_and_a_whole_one_is_not(product: Product, tmp_path: Path) -> None:
    source = tmp_path / "mail"
    source.mkdir()
    for name, size in (("long", LIMIT + 5), ("whole", 5)):
        head = f"From: Ann <ann@us.example>\nSubject: {name}\nMessage-ID: <{name}@us.example>\n\n"
        (source / f"{name}.eml").write_text(head + "word " * (size // 5), encoding="ascii")
    product.run("--source", source)
    found = product.emails()
    long, whole = found["long@us.example"], found["whole@us.example"]
    cut = {"kind": "body_cut", "detail": f"only the first {LIMIT} characters were read"}
    assert cut in long["repairs"] and len(long["body_text"]) == LIMIT
    assert not [repair for repair in whole["repairs"] if repair["kind"] == "body_cut"]
