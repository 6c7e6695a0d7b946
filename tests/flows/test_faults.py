"""A message that breaks a stage costs that message only, and comes back once the stage is mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from driving import CLEAN, LOOK, ROOT, Product, assert_equal_trees, inject
from letters import BILL_1, BILL_2, BILL_3, NEWS, OFFER_2, OFFER_3, OFFER_4, PLAN, TALK, hash_of

STAGES = ("decode", "dequote", "thread", "entities", "intent", "normalize")


def held(product: Product, report: dict[str, Any], *poisons: bytes) -> dict[str, dict[str, Any]]:
    """Return the quarantine files, after checking that exactly `poisons` are held and the rest is written."""
    assert report["quarantined"] == len(poisons)
    assert report["written"] + report["duplicate"] == 13 - len(poisons)
    found = product.failed()
    assert sorted(found) == sorted(map(hash_of, poisons))
    assert not set(found) & {email["raw"] for email in product.emails().values()}
    return found


def mended(product: Product, source: Path, clean: dict[str, str]) -> None:
    """Check that without the fault a retry brings the messages back, as if nothing had happened."""
    product.call("quarantine", "retry", "--all")
    assert product.run("--source", source, code=CLEAN)["quarantined"] == 0
    assert_equal_trees(clean, product.tree())


def test_an_exception_in_any_stage_costs_the_message_alone(
    product: Product, office: Path, clean: dict[str, str]
) -> None:
    poisons = dict(zip(STAGES, [OFFER_2, BILL_1, BILL_3, TALK, PLAN, NEWS], strict=True))
    wish = inject(*((stage, "raise", hash_of(poison)) for stage, poison in poisons.items()))
    report = product.run("--source", office, code=LOOK, **wish)
    found = held(product, report, *poisons.values())
    assert report["quarantine_kinds"] == {"defect": 6}
    for stage, poison in poisons.items():
        row = found[hash_of(poison)]
        assert (row["kind"], row["stage"], row["tries"]) == ("defect", stage, 1)
        assert row["detail"] == f"RuntimeError: injected into {stage}"
        assert "faults.py" in row["traceback"] and str(ROOT) not in row["traceback"]
    mended(product, office, clean)


def test_a_message_that_kills_its_worker_while_its_thread_is_settled_costs_itself(
    product: Product, office: Path, clean: dict[str, str]
) -> None:
    report = product.run("--source", office, code=LOOK, **inject(("normalize", "segfault", hash_of(OFFER_2))))
    [row] = held(product, report, OFFER_2).values()
    assert (row["kind"], row["stage"]) == ("defect", "normalize")
    assert "SIGSEGV" in row["detail"]
    mended(product, office, clean)


@pytest.mark.parametrize("stage", ["dequote", "normalize"])
def test_a_message_that_hangs_in_c_costs_itself(
    stage: str, product: Product, office: Path, clean: dict[str, str]
) -> None:
    limit = {"ATLAS_PIPELINE__MESSAGE_SECONDS": "4"}
    report = product.run("--source", office, code=LOOK, **inject((stage, "hang", hash_of(OFFER_4))), **limit)
    [row] = held(product, report, OFFER_4).values()
    assert (row["kind"], row["stage"]) == ("resource_limit", stage)
    assert "longer than 4 s" in row["detail"] and "message_seconds" in row["remedy"]
    mended(product, office, clean)


def test_a_message_that_bloats_memory_costs_itself(
    product: Product, office: Path, clean: dict[str, str]
) -> None:
    limit = {"ATLAS_PIPELINE__MESSAGE_MEMORY_MB": "512"}
    report = product.run(
        "--source", office, code=LOOK, **inject(("entities", "bloat", hash_of(PLAN))), **limit
    )
    [row] = held(product, report, PLAN).values()
    assert (row["kind"], row["stage"]) == ("resource_limit", "entities")
    assert "memory" in row["detail"] and "message_memory_mb" in row["remedy"]
    mended(product, office, clean)


def test_several_poisons_in_one_batch_are_told_apart(
    product: Product, office: Path, clean: dict[str, str]
) -> None:
    faults = [("decode", "segfault", BILL_2), ("decode", "bloat", PLAN), ("thread", "segfault", TALK)]
    wish = inject(*((stage, fault, hash_of(letter)) for stage, fault, letter in faults))
    wish["ATLAS_PIPELINE__MESSAGE_MEMORY_MB"] = "512"
    found = held(product, product.run("--source", office, code=LOOK, **wish), BILL_2, PLAN, TALK)
    assert {raw: row["stage"] for raw, row in found.items()} == {
        hash_of(letter): stage for stage, _, letter in faults
    }
    mended(product, office, clean)


def test_every_copy_of_a_held_message_is_counted(
    product: Product, office: Path, clean: dict[str, str]
) -> None:
    report = product.run("--source", office, code=LOOK, **inject(("entities", "raise", hash_of(OFFER_3))))
    assert (report["quarantined"], report["written"], report["duplicate"]) == (2, 11, 0)
    [row] = product.failed().values()
    assert [place["uid"] for place in row["locations"]] == [
        "archive/03-offer-again.eml",
        "inbox/03-offer.eml",
    ]
    mended(product, office, clean)


@pytest.mark.parametrize("stage", ["entities", "normalize"])
def test_the_rest_of_a_thread_is_written_without_its_poisoned_middle(
    stage: str, product: Product, office: Path, clean: dict[str, str]
) -> None:
    report = product.run("--source", office, code=LOOK, **inject((stage, "raise", hash_of(OFFER_2))))
    held(product, report, OFFER_2)
    emails = product.emails()
    kept = ["offer-1@northwind.example", "offer-3@northwind.example", "offer-4@us.example"]
    [thread] = {emails[msg_id]["thread_id"] for msg_id in kept}
    assert [member["msg_id"] for member in product.threads()[thread]["members"]] == kept
    assert emails[kept[1]]["rule_audit"]["thread_parent"] == kept[0]
    mended(product, office, clean)


def test_a_held_message_waits_for_a_retry_and_counts_its_tries(product: Product, office: Path) -> None:
    wish = inject(("dequote", "raise", hash_of(TALK)))
    product.run("--source", office, code=LOOK, **wish)
    again = product.run("--source", office, code=LOOK, **wish)
    assert (again["quarantined"], again["written"], again["stage_calls"]) == (1, 0, {})
    assert product.failed()[hash_of(TALK)]["tries"] == 1
    product.call("quarantine", "retry", "inbox/08-talk.eml")
    once_more = product.run("--source", office, code=LOOK, **wish)
    assert once_more["quarantined"] == 1
    assert product.failed()[hash_of(TALK)]["tries"] == 2


def test_an_exception_while_a_file_is_read_leaves_it_for_the_next_run(
    product: Product, office: Path, clean: dict[str, str]
) -> None:
    report = product.run("--source", office, code=LOOK, **inject(("fetch", "raise", hash_of(TALK))))
    assert (report["seen"], report["written"], report["quarantined"]) == (12, 11, 0)
    [row] = report["unreadable"]
    assert row["path"] == "inbox/08-talk.eml" and "injected into fetch" in row["reason"]
    assert product.run("--source", office)["written"] == 1
    assert_equal_trees(clean, product.tree())
