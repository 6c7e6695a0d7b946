"""What a second run does: nothing where nothing changed, and exactly what depends on a change where one did."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import MakeProduct
from driving import LOOK, ROOT, Product, assert_equal_trees, inject
from letters import ANN, BO, OFFER_1, OFFER_4, OFFICE, TALK, hash_of, letter, post, with_attachments

from eval.snapshot import exact_snapshot

LATE = {
    "inbox/20-late.eml": letter(
        "late-1@northwind.example",
        "Thu, 05 Mar 2026 08:00:00 +0100",
        BO,
        ANN,
        "Re: Kestrel pilot",
        "Ann,\n\nthe contract is here, thank you. We pay EUR 11,800 on 1 April 2026.\n\nBo",
        after="offer-4@us.example",
    )
}


def test_a_second_run_finds_everything_unchanged_and_calls_no_stage(product: Product, office: Path) -> None:
    product.run("--source", office)
    before = exact_snapshot(product.state)
    report = product.run("--source", office)
    assert (report["seen"], report["unchanged"], report["duplicate"], report["rewritten"]) == (13, 12, 1, 0)
    assert (report["stage_calls"], report["cached"]) == ({}, {})
    assert report["threads"] == {"new": 0, "merged": 0, "rekeyed": 0, "guessed_links": 1}
    assert exact_snapshot(product.state) == before


@pytest.fixture(scope="module")
def with_late_mail(office: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the tree of one run over the office correspondence and a late mail."""
    folder = tmp_path_factory.mktemp("late")
    product = Product(folder)
    product.run("--source", post(Path(shutil.copytree(office, folder / "office")), LATE))
    return product.tree()


@pytest.mark.parametrize("loss", ["deleted", "damaged"])
def test_a_lost_record_cache_changes_no_output_byte(
    loss: str, product: Product, with_late_mail: dict[str, str], office: Path, tmp_path: Path
) -> None:
    mail = Path(shutil.copytree(office, tmp_path / "office"))
    product.run("--source", mail)
    (product.state / "cache.db").unlink()
    for rest in product.state.glob("cache.db-*"):
        rest.unlink()
    if loss == "damaged":
        (product.state / "cache.db").write_bytes(b"this is no database" * 1000)
    before = product.bytes()
    assert product.run("--source", mail)["stage_calls"] == {}
    assert product.bytes() == before
    post(mail, LATE)
    report = product.run("--source", mail)
    assert report["written"] == 1
    assert report["stage_calls"]["decode"] == 1  # settling its thread computes the others again, unasked
    assert_equal_trees(with_late_mail, product.tree())


def test_a_deleted_tree_comes_back_to_the_byte(product: Product, office: Path, tmp_path: Path) -> None:
    mail = post(Path(shutil.copytree(office, tmp_path / "office")), {"inbox/empty.eml": b""})
    product.run("--source", mail, code=LOOK)
    before = product.bytes()
    assert any("/_failed/" in path for path in before)
    shutil.rmtree(product.state / "extracted")
    shutil.rmtree(product.state / "threads")
    (product.state / "people/_to_merge.json").unlink()
    shutil.rmtree(product.state / "customers")
    report = product.run("--source", mail, code=LOOK)
    assert product.bytes() == before
    assert report["stage_calls"] == {}


def test_a_file_that_somebody_cut_short_or_removed_comes_back(product: Product, office: Path) -> None:
    product.run("--source", office)
    before = product.bytes()
    paths = sorted(before)
    (product.state / paths[0]).unlink()
    (product.state / paths[-1]).write_bytes(b"{")
    (product.state / "extracted/2026-03/stray.atlas-tmp").write_bytes(b"half a file")
    product.run("--source", office)
    assert product.bytes() == before


@pytest.mark.parametrize(
    ("file", "content"),
    [
        (
            "people/aliases.json",
            [{"name": "Roy Hart", "email": "roy@us.example", "also": ["roy.hart@mailbox.example"]}],
        ),
        (
            "customers/domain_map.json",
            {"customers": {"C001": {"name": "Northwind", "domains": ["northwind.example"]}}},
        ),
    ],
)
def test_an_edit_of_a_curated_file_re_derives_entities_alone(
    file: str,
    content: Any,
    product: Product,
    make_product: MakeProduct,
    office: Path,
    clean: dict[str, str],
) -> None:
    product.run("--source", office)
    post(product.state, {file: json.dumps(content).encode()})
    report = product.run("--source", office)
    assert report["stage_calls"].get("entities") == 12
    assert not {"decode", "dequote", "intent"} & set(report["stage_calls"])
    assert {stage: report["cached"].get(stage) for stage in ("decode", "dequote", "intent")} == {
        "decode": 12,
        "dequote": 12,
        "intent": 12,
    }
    assert 0 < report["written"] < 12 and report["written"] + report["unchanged"] == 12
    fresh = make_product("fresh")
    post(fresh.state, {file: json.dumps(content).encode()})
    fresh.run("--source", office)
    assert_equal_trees(fresh.tree(), product.tree())
    (product.state / file).unlink()
    product.run("--source", office)
    assert_equal_trees(clean, product.tree())


def test_a_pair_that_is_not_the_same_person_is_proposed_no_more(product: Product, office: Path) -> None:
    product.run("--source", office)
    pairs = [
        (row["a"], row["b"]) for row in json.loads((product.state / "people/_to_merge.json").read_bytes())
    ]
    assert pairs == [("roy.hart@mailbox.example", "roy@us.example")]
    post(product.state, {"people/not_same.json": json.dumps(pairs).encode()})
    report = product.run("--source", office)
    assert (report["unchanged"], report["rewritten"]) == (12, 0)
    assert not (product.state / "people/_to_merge.json").exists()


def test_a_customer_candidate_goes_when_the_domain_map_knows_it(product: Product, office: Path) -> None:
    product.run("--source", office)
    candidate = product.state / "customers/UNCLASSIFIED-northwind.example.json"
    row = json.loads(candidate.read_bytes())
    assert (row["messages"], row["first_seen"]) == (4, "2026-03-02T08:10:00Z")
    product.configure(domain_map={"northwind.example": "C001"})
    product.run("--source", office)
    assert not candidate.exists()
    assert product.emails()["offer-1@northwind.example"]["entities"]["customer_id_candidate"] == "C001"


# ---- versions and policies ---------------------------------------------------------------------------------


def newer_program(folder: Path, stage: str) -> str:
    """Return the PYTHONPATH of a copy of the program in which `stage` has another version."""
    for package in ("models", "stages", "storage", "projections", "eval", "flows"):
        if (ROOT / package).exists():
            ignored = shutil.ignore_patterns("__pycache__", "sample", "*.jsonl")
            shutil.copytree(ROOT / package, folder / package, ignore=ignored)
    face = folder / "stages" / stage / "__init__.py"
    text, count = re.subn(
        r'^VERSION = "(.*)"$', r'VERSION = "\1-newer"', face.read_text("utf-8"), flags=re.MULTILINE
    )
    assert count == 1
    face.write_text(text, "utf-8")
    return str(folder)


def test_a_new_version_of_a_stage_runs_it_again_and_what_follows_only_if_its_input_changed(
    product: Product, office: Path, tmp_path: Path
) -> None:
    product.run("--source", office)
    product.python_path = newer_program(tmp_path / "newer", "decode")
    report = product.run("--source", office)
    assert report["written"] == 12  # extraction_version stands in every file
    assert {name: count for name, count in report["stage_calls"].items() if name != "thread"} == {
        "decode": 12
    }
    again = product.run("--source", office)
    assert (again["unchanged"], again["stage_calls"]) == (12, {})


def test_a_new_version_of_the_failing_stage_retries_what_it_held(
    product: Product, make_product: MakeProduct, office: Path, tmp_path: Path
) -> None:
    poison = inject(("dequote", "raise", hash_of(TALK)), ("entities", "raise", hash_of(OFFER_4)))
    assert product.run("--source", office, code=LOOK, **poison)["quarantined"] == 2
    assert product.run("--source", office, code=LOOK)["quarantined"] == 2
    product.python_path = newer_program(tmp_path / "newer", "dequote")
    assert product.run("--source", office, code=LOOK)["quarantined"] == 1
    assert list(product.failed()) == [hash_of(OFFER_4)]
    product.call("quarantine", "retry", "--all")
    product.run("--source", office)
    fresh = make_product("fresh")
    fresh.python_path = product.python_path
    fresh.run("--source", office)
    assert_equal_trees(fresh.tree(), product.tree())


def test_a_raised_limit_retries_what_was_over_it(product: Product, tmp_path: Path) -> None:
    files = [(f"{number}.txt", b"text") for number in range(4)]
    heavy = with_attachments(
        letter("heavy@x.example", "Mon, 02 Mar 2026 10:00:00 +0000", BO, ANN, "All", "See."), *files
    )
    mail = post(tmp_path / "mail", {"1.eml": OFFER_1, "2.eml": heavy})
    product.configure(email={"max_attachments": 3})
    report = product.run("--source", mail, code=LOOK)
    assert report["quarantine_kinds"] == {"resource_limit": 1}
    [row] = product.failed().values()
    assert row["detail"] == "4 attachments, the limit is 3" and "email.max_attachments" in row["remedy"]
    product.configure(email={"max_attachments": 4})
    report = product.run("--source", mail)
    assert (report["written"], report["quarantined"]) == (1, 0)
    assert len(product.emails()["heavy@x.example"]["attachments"]) == 4
    product.configure(email={"max_attachments": 3})
    assert product.run("--source", mail, code=LOOK)["quarantined"] == 1
    assert list(product.emails()) == ["offer-1@northwind.example"]


def test_a_dismissed_message_stays_out_and_no_longer_counts_against_a_run(
    product: Product, tmp_path: Path
) -> None:
    mail = post(tmp_path / "mail", {"1.eml": OFFER_1, "empty.eml": b""})
    product.run("--source", mail, code=LOOK)
    told = product.call("quarantine", "dismiss", "empty.eml")
    assert "1 dismissed" in told.all
    assert product.failed() == {}
    report = product.run("--source", mail)
    assert (report["quarantined"], report["dismissed"], report["balanced"]) == (1, 1, True)
    assert [row["dismissed"] for row in product.call("quarantine", "list", "--json").json] == [True]
    post(mail, {"empty-too.eml": b""})  # another copy of what was dismissed
    report = product.run("--source", mail)
    assert (report["quarantined"], report["dismissed"]) == (2, 2)
    assert product.failed() == {}
    product.call("quarantine", "retry", "empty.eml")
    report = product.run("--source", mail, code=LOOK)
    assert (report["quarantined"], report["dismissed"]) == (2, 0)
    assert list(product.failed()) == [hash_of(b"")]


def test_mail_that_changed_in_its_place_is_taken_and_what_stood_there_is_kept(
    product: Product, tmp_path: Path
) -> None:
    changed = OFFICE["inbox/08-talk.eml"].replace("3月18日".encode(), "3月19日".encode())
    mail = post(tmp_path / "mail", {"talk.eml": OFFICE["inbox/08-talk.eml"]})
    product.run("--source", mail)
    report = product.run("--source", post(mail, {"talk.eml": changed}))
    assert (report["seen"], report["written"]) == (1, 1)
    texts = {len(email["locations"]): email["body_text_clean"] for email in product.emails().values()}
    assert "3月19日" in texts[1] and "3月18日" in texts[0]
