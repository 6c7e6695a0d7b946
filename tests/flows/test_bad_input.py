"""Bad input and bad surroundings: a clear message that says what to do, and nothing is lost."""

from __future__ import annotations

import fcntl
import json
import mailbox
import os
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import MakeProduct
from driving import (
    BUSY,
    LATER,
    LOOK,
    USAGE,
    WITHOUT_ROOT,
    Product,
    assert_equal_trees,
    validate,
    wait_for_mail,
)
from letters import ANN, BO, NOTE, OFFER_1, OFFER_2, OFFICE, TALK, hash_of, letter, post

ONE_BY_ONE = {"pipeline": {"processes": 1, "batch_size": 1}}


def refused(product: Product, *arguments: str | Path, told: tuple[str, ...]) -> None:
    """Check that a command ends with 64 and tells what is wrong and what to do."""
    ended = product.call(*arguments, code=USAGE)
    for words in told:
        assert words in ended.all, ended


# ---- sources ----------------------------------------------------------------------------------------------


def test_an_unreadable_folder_and_file_are_named_and_the_rest_is_written(
    product: Product, tmp_path: Path
) -> None:
    names = ["inbox/1.eml", "inbox/secret.eml", "locked/2.eml"]
    mail = post(tmp_path / "mail", dict(zip(names, [OFFER_1, OFFER_2, TALK], strict=True)))
    product.prefix = WITHOUT_ROOT
    (mail / "locked").chmod(0)
    (mail / "inbox/secret.eml").chmod(0)
    try:
        report = product.run("--source", mail, code=LOOK)
    finally:
        (mail / "locked").chmod(0o700)
    assert (report["seen"], report["written"]) == (1, 1)
    assert report["unreadable"] == [
        {"path": "inbox/secret.eml", "reason": "Permission denied"},
        {"path": "locked", "reason": "Permission denied"},
    ]
    (mail / "inbox/secret.eml").chmod(0o600)
    again = product.run("--source", mail)
    assert (again["written"], again["unchanged"], again["unreadable"]) == (2, 1, [])


def test_an_unreadable_source_stops_the_run_before_it_begins(
    product: Product, office: Path, tmp_path: Path
) -> None:
    mail = Path(shutil.copytree(office, tmp_path / "mail"))
    product.prefix = WITHOUT_ROOT
    mail.chmod(0)
    try:
        refused(product, "--source", mail, told=("cannot be read: Permission denied", "check the path"))
    finally:
        mail.chmod(0o700)
    assert not product.state.exists()


def test_an_empty_file_and_a_binary_are_held_and_a_picture_is_no_mail(
    product: Product, tmp_path: Path
) -> None:
    binary = bytes(range(256)) * 20
    files = {"1.eml": OFFER_1, "empty.eml": b"", "binary.eml": binary, "picture.jpg": binary}
    report = product.run("--source", post(tmp_path / "mail", files), code=LOOK)
    assert (report["seen"], report["written"]) == (3, 1)
    assert report["quarantine_kinds"] == {"corrupt_input": 2}
    held = product.failed()
    assert sorted(held) == sorted([hash_of(b""), hash_of(binary)])
    assert held[hash_of(b"")]["locations"][0]["uid"] == "empty.eml"
    assert all(row["detail"] and row["remedy"] and row["traceback"] is None for row in held.values())


def test_files_that_vanish_during_the_run_are_named_and_taken_when_they_are_back(
    product: Product, make_product: MakeProduct, tmp_path: Path
) -> None:
    mail = post(tmp_path / "mail", {"last.eml": TALK, "middle.eml": NOTE})
    whole = write_mbox(mail / "a.mbox", *OFFICE.values())
    product.configure(**ONE_BY_ONE)
    running = product.start("--source", mail, "--json")
    wait_for_mail(product, running)
    os.kill(running.pid, signal.SIGSTOP)
    (mail / "last.eml").unlink()
    (mail / "a.mbox").unlink()
    os.kill(running.pid, signal.SIGCONT)
    report = product.check(product.finish(running, LOOK))
    gone = [row["path"] for row in report["unreadable"]]
    assert "last.eml" in gone and any(path.startswith("a.mbox/blake3:") for path in gone)
    assert all(row["reason"] == "No such file or directory" for row in report["unreadable"])
    assert report["quarantined"] == 0 and report["seen"] + len(gone) == 15
    post(mail, {"last.eml": TALK, "a.mbox": whole})
    assert product.run("--source", mail)["seen"] == 15
    calm = make_product("calm")
    calm.run("--source", mail)
    assert_equal_trees(calm.tree(), product.tree())


def test_an_mbox_that_is_rewritten_during_the_run_gives_no_torn_messages(
    product: Product, make_product: MakeProduct, tmp_path: Path
) -> None:
    mail = tmp_path / "mail"
    mail.mkdir()
    short = write_mbox(mail / "a.mbox", OFFER_1, OFFER_2)
    whole = write_mbox(mail / "a.mbox", *OFFICE.values())
    product.configure(**ONE_BY_ONE)
    running = product.start("--source", mail, "--json")
    wait_for_mail(product, running)
    os.kill(running.pid, signal.SIGSTOP)
    (mail / "a.mbox").write_bytes(short)
    os.kill(running.pid, signal.SIGCONT)
    report = product.check(product.finish(running, LOOK))
    assert report["unreadable"] and all(row["path"].startswith("a.mbox") for row in report["unreadable"])
    assert product.failed() == {}
    assert {email["raw"] for email in product.emails().values()} <= {
        hash_of(data) for data in OFFICE.values()
    }
    (mail / "a.mbox").write_bytes(whole)
    assert product.run("--source", mail)["seen"] == 15
    calm = make_product("calm")
    calm.run("--source", mail)
    assert_equal_trees(calm.tree(), product.tree())


def write_mbox(path: Path, *letters: bytes) -> bytes:
    box = mailbox.mbox(path)
    for data in letters:
        box.add(data)
    box.close()
    return path.read_bytes()


# ---- the state folder, configuration, curated files --------------------------------------------------------


def test_a_read_only_state_folder_is_refused(product: Product, office: Path) -> None:
    product.prefix = WITHOUT_ROOT
    product.state.mkdir(0o500)
    told = (
        f"the state folder {product.state} cannot be written: Permission denied",
        "name another one with --state",
    )
    refused(product, "--source", office, told=told)
    assert list(product.state.iterdir()) == []


def test_a_state_folder_that_became_read_only_is_refused_and_untouched(
    product: Product, office: Path
) -> None:
    product.run("--source", office)
    before = product.bytes()
    product.prefix = WITHOUT_ROOT
    folders = [product.state, *(path for path in product.state.rglob("*") if path.is_dir())]
    for path in [*product.state.rglob("*"), product.state]:
        path.chmod(0o500 if path in folders else 0o400)
    try:
        refused(
            product, "--source", office, told=("cannot be written: Permission denied", "check its rights")
        )
    finally:
        for path in [product.state, *product.state.rglob("*")]:
            path.chmod(0o700 if path in folders else 0o600)
    assert product.bytes() == before


def test_a_read_only_tree_inside_the_state_stops_resumably(
    product: Product, office: Path, clean: dict[str, str]
) -> None:
    product.prefix = WITHOUT_ROOT
    (product.state / "extracted").mkdir(parents=True, mode=0o500)
    report = product.run("--source", office, code=LATER)
    assert "Permission denied" in report["stopped"] and "nothing is lost" in report["stopped"]
    (product.state / "extracted").chmod(0o700)
    product.run("--source", office)
    assert_equal_trees(clean, product.tree())


def test_a_broken_alias_file_is_named_with_its_line_and_never_touched(product: Product, office: Path) -> None:
    broken = '[\n  {"name": "Ann Vale", "email": "ann@us.example"},\n  {"name": "Roy Hart" "email": "x"}\n]\n'
    post(product.state, {"people/aliases.json": broken.encode()})
    refused(product, "--source", office, told=("people/aliases.json: line 3", "correct the file"))
    assert (product.state / "people/aliases.json").read_text() == broken
    post(product.state, {"people/aliases.json": broken.replace('" "', '", "').encode()})
    product.run("--source", office)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"compny_domains": ["x"]}, ("unknown key `compny_domains`", "did you mean `company_domains`?")),
        ({"email": {"max_atachments": 3}}, ("email.max_atachments", "did you mean `email.max_attachments`?")),
        ({"pipeline": {"batch_size": 0}}, ("pipeline.batch_size", "greater than or equal to 1")),
    ],
)
def test_a_config_mistake_is_named_with_what_was_meant(
    setting: dict[str, Any], told: tuple[str, ...], product: Product, office: Path
) -> None:
    product.configure(**setting)
    refused(product, "--source", office, told=told)
    assert not product.state.exists()


def test_another_tenants_state_is_refused_and_untouched(product: Product, office: Path) -> None:
    product.run("--source", office)
    before = product.bytes()
    product.configure(tenant="other")
    told = ("belongs to tenant `default`, not to `other`", "one state folder for each tenant")
    refused(product, "--source", office, told=told)
    refused(product, "status", told=told)
    assert product.bytes() == before


# ---- ids, copies, missing headers --------------------------------------------------------------------------


def test_any_message_id_gives_a_safe_file_of_its_own(product: Product, tmp_path: Path) -> None:
    ids = [
        "../../x",
        "/etc/passwd",
        "x" * 300,
        "x" * 299 + "y",
        "Case@x.example",
        "case@x.example",
        "CASE@x.example",
        "CON",
        "con",
        "nul.json",
        "com1@x.example",
        "a/b\\c:d*e?\"f|g'h@x.example",
        "%2E%2E%2Fx",
        "..",
        "ends.in.dot.",
        "größe@x.example",
    ]
    mails = {
        f"{number:02}.eml": letter(
            id, f"Mon, 02 Mar 2026 10:{number:02}:00 +0000", BO, ANN, f"Subject {number}", "x"
        )
        for number, id in enumerate(ids)
    }
    report = product.run("--source", post(tmp_path / "mail", mails))
    assert report["written"] == len(ids)
    paths = [path for path in product.tree() if path.startswith("extracted/")]
    assert len(paths) == len({path.casefold() for path in paths}) == len(ids)
    for path in paths:
        name = path.rpartition("/")[2]
        assert path.count("/") == 3 and len(name) < 200 and name.isascii()
        assert not set(name) & set('\\/:*?"<>|\0') and not name.startswith(".")
        assert name.partition(".")[0].casefold() not in ("con", "nul", "com1")
    assert sorted(os.listdir(tmp_path)) == ["mail", "product"]
    for id in ("../../x", "CASE@x.example", "x" * 300):
        found = Path(product.call("path", id).out.rstrip("\n"))
        assert json.loads(found.read_bytes())["msg_id"] == id
        assert found.is_relative_to(product.state / "extracted")


def test_two_mails_with_one_message_id_but_other_content_are_both_kept(
    product: Product, tmp_path: Path
) -> None:
    one = letter("same@x.example", "Mon, 02 Mar 2026 10:00:00 +0000", BO, ANN, "Order", "Ten desks, please.")
    two = letter(
        "same@x.example", "Tue, 03 Mar 2026 10:00:00 +0000", BO, ANN, "Invoice", "Here is the invoice."
    )
    report = product.run("--source", post(tmp_path / "mail", {"1.eml": two, "2.eml": one}))
    assert (report["written"], report["duplicate"]) == (2, 0)
    first, second = sorted(product.emails())
    assert (
        first == "same@x.example" and second.startswith("same@x.example#") and len(second) == len(first) + 9
    )
    assert product.emails()[first]["subject"] == "Order"


def test_a_mail_in_two_folders_is_one_record_with_two_places(product: Product, tmp_path: Path) -> None:
    mail = post(tmp_path / "mail", {"inbox/a.eml": OFFER_1, "kept/b.eml": OFFER_1})
    report = product.run("--source", mail)
    assert (report["written"], report["duplicate"]) == (1, 1)
    [email] = product.emails().values()
    assert [(place["folder"], place["uid"]) for place in email["locations"]] == [
        ("inbox", "inbox/a.eml"),
        ("kept", "kept/b.eml"),
    ]
    again = product.run("--source", mail)
    assert (again["unchanged"], again["duplicate"]) == (1, 1)


def test_a_mail_without_id_date_or_sender_is_written(product: Product, tmp_path: Path) -> None:
    bare = letter(None, None, None, ANN, "Nothing but a subject", "Who wrote this, and when?")
    report = product.run("--source", post(tmp_path / "mail", {"bare.eml": bare}))
    assert report["written"] == 1
    [email] = product.emails().values()
    assert email["msg_id"] == hash_of(bare)
    assert (email["from"], email["sent_at"], email["internal_date"]) == (None, None, None)
    assert [row["kind"] for row in email["ambiguities"]] == ["undated"]
    [path] = (path for path in product.tree() if path.startswith("extracted/"))
    assert path.startswith("extracted/undated/thr-undated-")


# ---- kinds of archives -------------------------------------------------------------------------------------


def test_an_mbox_gives_the_same_records_as_single_files_and_grows(
    product: Product, clean: dict[str, str], tmp_path: Path
) -> None:
    letters = list(OFFICE.values())
    write_mbox(tmp_path / "old.mbox", *letters[:-3])
    first = product.run("--source", tmp_path / "old.mbox")
    assert first["accounts"] == {"old": {"old.mbox": {**counts(seen=10, written=10)}}}
    write_mbox(tmp_path / "old.mbox", *letters[-3:])
    second = product.run("--source", tmp_path / "old.mbox")
    assert (second["written"], second["unchanged"], second["duplicate"]) == (
        3,
        9,
        1,
    )  # one got a second place
    third = product.run("--source", tmp_path / "old.mbox")
    assert (third["unchanged"], third["duplicate"], third["stage_calls"]) == (12, 1, {})
    assert_equal_trees(without_places(clean), without_places(product.tree()))


def test_a_maildir_is_read_without_a_trace_and_flags_are_no_change(
    product: Product, clean: dict[str, str], tmp_path: Path
) -> None:
    box = mailbox.Maildir(tmp_path / "Mail")
    sent = box.add_folder("Sent")
    for number, data in enumerate(OFFICE.values()):
        (sent if number % 2 else box).add(data)
    before = {
        path: (path.stat().st_mtime_ns, path.stat().st_size)
        for path in sorted((tmp_path / "Mail").rglob("*"))
    }
    report = product.run("--source", tmp_path / "Mail")
    assert (report["written"], report["duplicate"]) == (12, 1)
    assert sorted(report["accounts"]["Mail"]) == [".", "Sent"]
    assert before == {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in before}
    assert sorted(before) == sorted((tmp_path / "Mail").rglob("*"))
    assert_equal_trees(without_places(clean), without_places(product.tree()))
    new = next(iter(sorted((tmp_path / "Mail/new").iterdir())))
    new.rename(tmp_path / "Mail/cur" / f"{new.name}:2,S")
    assert product.run("--source", tmp_path / "Mail")["unchanged"] == 12


def counts(**some: int) -> dict[str, int]:
    names = ("seen", "written", "unchanged", "duplicate", "quarantined", "pending")
    return {**dict.fromkeys(names, 0), **some}


def without_places(tree: dict[str, str]) -> dict[str, str]:
    """Return the tree without what tells where a mail was found."""
    values = {path: json.loads(content) for path, content in tree.items()}
    for value in values.values():
        if isinstance(value, dict):
            value.pop("locations", None)
    return {path: json.dumps(value) for path, value in values.items()}


# ---- options -----------------------------------------------------------------------------------------------


def test_since_and_until_take_whole_days_of_the_messages_own_date(
    product: Product, office: Path, clean: dict[str, str]
) -> None:
    report = product.run("--source", office, "--since", "2026-03-05", "--until", "2026-03-09")
    assert (report["seen"], report["written"]) == (3, 3)
    assert {email["sent_at"][:10] for email in product.emails().values()} == {
        "2026-03-05",
        "2026-03-06",
        "2026-03-09",
    }
    later = product.run("--source", office, "--since", "2026-03-09")
    assert (later["written"], later["unchanged"]) == (5, 1)
    product.run("--source", office)
    assert_equal_trees(clean, product.tree())


def test_a_limit_takes_so_many_new_messages_and_the_next_run_goes_on(
    product: Product, office: Path, clean: dict[str, str]
) -> None:
    first = product.run("--source", office, "--limit", "4")
    assert (first["seen"], first["written"], first["duplicate"]) == (4, 3, 1)
    second = product.run("--source", office, "--limit", "4")
    assert (second["seen"], second["written"], second["unchanged"]) == (8, 4, 3)
    product.run("--source", office)
    assert_equal_trees(clean, product.tree())


def test_a_dry_run_counts_and_writes_nothing(product: Product, office: Path) -> None:
    report = product.run("--source", office, "--dry-run")
    assert report["dry_run"] and (report["seen"], report["pending"], report["unchanged"]) == (13, 13, 0)
    assert not product.state.exists()
    product.run("--source", office, "--limit", "4")
    before = product.bytes()
    again = product.run("--source", office, "--dry-run")
    assert (again["seen"], again["pending"], again["unchanged"]) == (13, 9, 4)
    assert product.bytes() == before and len(list((product.state / "runs").iterdir())) == 1


def test_a_report_goes_to_the_file_the_output_and_the_state(
    product: Product, office: Path, tmp_path: Path
) -> None:
    printed = product.run("--source", office, "--report", tmp_path / "report.json")
    for path in (tmp_path / "report.json", product.state / "runs" / f"{printed['run_id']}.json"):
        kept = json.loads(path.read_bytes())
        validate("report", kept)
        assert kept == printed
    assert printed["accounts"]["office"]["inbox"] == counts(seen=8, written=7, duplicate=1)


def test_a_person_reads_a_balance_sheet_unless_quiet(product: Product, office: Path) -> None:
    shown = product.call("--source", office)
    for words in ("13 seen", "written 12", "duplicate 1", "13 balanced", "1 links are guesses"):
        assert words in shown.all, shown
    quiet = product.call("--source", office, "--quiet")
    assert (quiet.out, quiet.err) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], ("nothing to read", "--source PATH")),
        (["--source", "nowhere"], ("cannot be read: No such file or directory", "check the path")),
        (
            ["--source", "a/mail", "--source", "b/mail"],
            ("two sources are both named `mail`", "--account NAME"),
        ),
        (["--source", "a", "--since", "yesterday"], ("--since yesterday is not a day", "2026-01-31")),
        (["--source", "a", "--since", "2026-02-01", "--until", "2026-01-01"], ("lies before", "exchange")),
        (["--source", "a", "--limit", "0"], ("--limit", "must be 1 or more")),
        (["--source", "a", "--sinse", "2026-02-01"], ("unknown option --sinse", "did you mean --since?")),
        (["--source", "a", "--config", "nowhere.toml"], ("nowhere.toml does not exist", "--config")),
        (["quarantine", "burn"], ("usage:", "invalid choice")),
        (["status"], ("there is no state in", "--source PATH")),
    ],
)
def test_a_usage_mistake_ends_with_64_and_a_way_out(
    arguments: list[str], told: tuple[str, ...], product: Product
) -> None:
    post(product.folder, {"a/mail/1.eml": OFFER_1, "b/mail/1.eml": OFFER_2})
    refused(product, *arguments, told=told)
    assert not product.state.exists()


# ---- stopping and running at once --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_run_that_is_stopped_ends_with_2_and_the_next_one_goes_on(
    name: str, product: Product, office: Path, clean: dict[str, str], tmp_path: Path
) -> None:
    product.configure(**ONE_BY_ONE)
    running = product.start("--source", office, "--report", tmp_path / "report.json")
    wait_for_mail(product, running)
    os.killpg(running.pid, signal.Signals[name])  # as a terminal does: workers get it too
    ended = product.finish(running, LATER)
    assert f"stopped: stopped by {name}" in ended.all and "run the same command again" in ended.all
    report = json.loads((tmp_path / "report.json").read_bytes())
    validate("report", report)
    assert report["balanced"] and report["exit_code"] == LATER and report["seen"] < 13
    assert report["quarantined"] == 0
    product.run("--source", office)
    assert_equal_trees(clean, product.tree())


def test_a_mailbox_is_run_by_one_process_at_a_time(
    product: Product, office: Path, clean: dict[str, str]
) -> None:
    product.state.mkdir()
    with (product.state / ".publish.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the first run waits for it before it reads anything
        running = product.start("--source", office, "--json")
        while not lease_holders(product):
            assert running.poll() is None, product.finish(running)
            time.sleep(0.05)
        second = product.call("--source", office, code=BUSY)
    assert "mailbox `office` is held by run run-" in second.all and f"process {running.pid}" in second.all
    assert "run again" in second.all
    assert product.check(product.finish(running, 0))["written"] == 12
    assert_equal_trees(clean, product.tree())


def lease_holders(product: Product) -> list[str]:
    """Return the runs that hold a mailbox."""
    if not (product.state / "ledger.db").exists():
        return []
    try:
        with closing(sqlite3.connect(f"file:{product.state}/ledger.db?mode=ro", uri=True)) as ledger:
            return [run for (run,) in ledger.execute("SELECT run_id FROM lease")]
    except sqlite3.OperationalError:  # not made yet
        return []
