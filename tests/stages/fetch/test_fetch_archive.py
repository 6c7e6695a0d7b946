"""A folder or file on disk as a source: what is listed, how it is named, and what cannot be read."""

from __future__ import annotations

import json
import mailbox
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from blake3 import blake3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.errors import UsageError
from stages.fetch import open_source
from stages.fetch.archive import Archive
from stages.fetch.config import FetchPolicy
from stages.fetch.names import bytes_of, text_of
from stages.fetch.source import Item, ItemVanished, Listing, NothingKnown

MAIL = b"Subject: hello\nFrom: a@example.com\n\nbody\n"
MBOX = (
    b"From a@b Mon Mar  2 09:00:00 2026\n"
    + MAIL
    + b"\nFrom a@b Mon Mar  2 09:00:01 2026\nSubject: two\n\nx\n\n"
)


def listed(path: Path, batch_size: int = 100) -> Listing:
    """Return everything a source lists as one Listing."""
    whole = Listing()
    for batch in open_source(str(path)).listing(NothingKnown(), batch_size):
        whole.items += batch.items
        whole.unreadable += batch.unreadable
        whole.containers |= batch.containers
    return whole


def names(path: Path) -> list[tuple[str, str]]:
    return [(item.folder, item.uid) for item in listed(path).items]


def write(root: Path, *files: str, data: bytes = MAIL) -> None:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)


def test_mail_files_are_named_by_their_path_and_other_files_are_left_alone(tmp_path: Path) -> None:
    write(
        tmp_path,
        "b.EML",
        "a.eml",
        "sub/deep/c.eml",
        "t.msg",
        "t.json",
        "t.eml.json",
        ".hidden.eml",
        ".git/d.eml",
    )
    write(tmp_path, "notes.txt", "sub.emlx", "17", "17.", data=MAIL)
    write(tmp_path, "README", data=b"Note: this is no mail\n\nSubject: x\n")
    write(tmp_path, "empty.eml", "empty", data=b"")
    assert names(tmp_path) == [
        (".", "17"),
        (".", "17."),
        (".", "a.eml"),
        (".", "b.EML"),
        (".", "empty.eml"),
        (".", "t.msg"),
        ("sub/deep", "sub/deep/c.eml"),
    ]
    assert listed(tmp_path).unreadable == []


def test_listing_comes_in_batches_of_at_most_the_asked_size_and_in_the_same_order(tmp_path: Path) -> None:
    write(tmp_path, *(f"d{number % 3}/{number:02}.eml" for number in range(25)))
    write(tmp_path, "box.mbox", data=MBOX * 4)
    batches = list(open_source(str(tmp_path)).listing(NothingKnown(), 7))
    assert [len(batch.items) for batch in batches] == [7, 7, 7, 7, 5]
    assert [item for batch in batches for item in batch.items] == listed(tmp_path).items
    assert all(batch.cursor is None for batch in batches)


def test_no_absolute_path_and_no_date_leave_the_source(tmp_path: Path) -> None:
    write(tmp_path, "a.eml", "sub/b.eml", "box", data=MBOX)
    os.symlink("/etc/hostname", tmp_path / "c.eml")
    whole = listed(tmp_path)
    assert str(tmp_path) not in repr(whole)
    assert all(item.internal_date is None for item in whole.items)


@pytest.mark.parametrize("given, account", [(None, "Takeout"), ("chen", "chen")])
def test_the_account_is_the_name_given_or_the_folders(
    tmp_path: Path, given: str | None, account: str
) -> None:
    write(tmp_path, "Takeout/a.eml", "Takeout.mbox")
    for path in ("Takeout", "Takeout/", "Takeout.mbox"):
        assert open_source(str(tmp_path / path), given).account == account
    here = os.getcwd()
    try:
        os.chdir(tmp_path / "Takeout")
        assert open_source(".", given).account == account
    finally:
        os.chdir(here)


def test_a_file_given_directly_is_always_read(tmp_path: Path) -> None:
    write(tmp_path, "a.eml", "notes.txt", "c.json", data=MAIL)
    write(tmp_path, "Inbox", data=MBOX)
    write(tmp_path, "noise.bin", data=b"\0\1\2")
    for name in ("a.eml", "notes.txt", "c.json", "noise.bin"):
        source = open_source(str(tmp_path / name))
        [batch] = source.listing(NothingKnown(), 10)
        [item] = batch.items
        assert (item.folder, item.uid) == (".", name)
        assert source.read(item) == (tmp_path / name).read_bytes()
    assert [folder for folder, _ in names(tmp_path / "Inbox")] == ["Inbox", "Inbox"]


@pytest.mark.parametrize("path", ["missing", "missing/a.eml", "pipe"])
def test_an_unusable_source_is_a_usage_error_with_a_remedy(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError) as caught:
        open_source(str(tmp_path / path))
    assert path in caught.value.detail and caught.value.remedy


HOSTILE = [
    b"line\nend.eml",
    b"gb\xb2\xe2.eml",
    b"100%.eml",
    b"100%25.eml",
    b"right\xe2\x80\xaeleft.eml",
    "ü.eml".encode(),
]
HOSTILE += [
    "u\u0308.eml".encode(),
    "测试.eml".encode(),
    b"tab\t.eml",
    b"\\.eml",
    b"\"quote'.eml",
    b"a#2.eml",
    b"-rf.eml",
]


def test_hostile_names_become_safe_text_and_can_be_read(tmp_path: Path) -> None:
    for number, name in enumerate(HOSTILE):
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
            file.write(b"Subject: %d\n\n" % number)
    source = open_source(str(tmp_path))
    items = listed(tmp_path).items
    assert len({item.uid for item in items}) == len(HOSTILE)
    assert all(item.uid.isprintable() and json.loads(json.dumps(item.uid)).encode() for item in items)
    assert sorted(source.read(item) for item in items) == sorted(
        b"Subject: %d\n\n" % n for n in range(len(HOSTILE))
    )
    assert {"测试.eml", "ü.eml", "u%CC%88.eml", "100%25.eml", "100%2525.eml", "gb%B2%E2.eml"} <= {
        i.uid for i in items
    }


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_names_are_reversible_and_never_two_under_one(one: bytes, two: bytes) -> None:
    assert bytes_of(text_of(one)) == one
    assert (text_of(one) == text_of(two)) == (one == two)
    assert text_of(one).isprintable()


def test_links_out_are_unreadable_and_loops_are_safe(tmp_path: Path) -> None:
    write(tmp_path, "out/secret.eml", "in/a.eml", "in/sub/b.eml", "in/.hidden/c.eml")
    os.symlink(tmp_path / "out/secret.eml", tmp_path / "in/d.eml")
    os.symlink(tmp_path / "out", tmp_path / "in/elsewhere")
    os.symlink("..", tmp_path / "in/sub/loop")
    os.symlink("self", tmp_path / "in/self")
    os.symlink("gone.eml", tmp_path / "in/e.eml")
    os.symlink(".hidden", tmp_path / "in/visible")
    os.symlink("a.eml", tmp_path / "in/copy.eml")
    os.symlink("/etc/hosts", tmp_path / "in/hosts.txt")
    whole = listed(tmp_path / "in")
    assert [item.uid for item in whole.items] == ["a.eml", "copy.eml", "sub/b.eml"]
    reasons = {row.path: row.reason for row in whole.unreadable}
    assert set(reasons) == {"d.eml", "e.eml", "elsewhere", "self", "visible"}
    assert reasons["d.eml"] == reasons["elsewhere"] == "a link that leads outside the source"
    os.symlink(tmp_path / "in", tmp_path / "door")
    assert listed(tmp_path / "door") == whole
    assert open_source(str(tmp_path / "door")).account == "door"


def test_a_pipe_named_like_a_mail_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.eml")
    os.mkfifo(tmp_path / "b")
    assert [(row.path, row.reason) for row in listed(tmp_path).unreadable] == [
        ("a.eml", "not a regular file")
    ]
    with pytest.raises(ItemVanished, match="not a regular file"):
        open_source(str(tmp_path)).read(Item(folder=".", uid="a.eml", locator="file:a.eml", stamp=""))


@pytest.fixture
def world() -> Iterator[Path]:
    """A folder that another user can reach (pytest's own are closed)."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    for folder, _, _ in os.walk(path):
        os.chmod(folder, 0o700)
    shutil.rmtree(path)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Give up root's rights to read everything, for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_files_and_folders_without_rights_are_listed_unreadable(world: Path) -> None:
    write(world, "a.eml", "shut/b.eml", "open/c.eml", "Inbox", "box.mbox")
    listed(world)  # everything is imported while that is still allowed
    for name in ("a.eml", "shut", "Inbox", "box.mbox"):
        (world / name).chmod(0)
    with as_nobody():
        whole = listed(world)
        assert [item.uid for item in whole.items] == ["a.eml", "open/c.eml"]
        assert [(row.path, row.reason) for row in whole.unreadable] == [
            (name, "Permission denied") for name in ("Inbox", "box.mbox", "shut")
        ]
        with pytest.raises(ItemVanished, match="Permission denied"):
            open_source(str(world)).read(whole.items[0])
        for name in ("shut", "a.eml"):
            with pytest.raises(UsageError, match="Permission denied"):
                open_source(str(world / name))


def test_a_vanished_file_is_a_typed_error_that_survives_a_process_border(tmp_path: Path) -> None:
    write(tmp_path, "a.eml", "box.mbox")
    source, items = open_source(str(tmp_path)), listed(tmp_path).items
    (tmp_path / "a.eml").unlink()
    (tmp_path / "box.mbox").unlink()
    for item in items:
        with pytest.raises(ItemVanished) as caught:
            source.read(item)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (again.detail, again.message, again.kind) == (
            "No such file or directory",
            item.uid,
            "transient",
        )


@pytest.mark.parametrize(
    "locator", ["file:/etc/hosts", "file:../x.eml", "file:a/%2E%2E/../x", "part:0:9:/etc/hosts", "", "x:y"]
)
def test_a_locator_never_leads_outside(tmp_path: Path, locator: str) -> None:
    with pytest.raises(ItemVanished):
        open_source(str(tmp_path)).read(Item(folder=".", uid="a", locator=locator, stamp=""))


def test_members_of_an_mbox_are_named_by_content_and_copies_stay_apart(tmp_path: Path) -> None:
    write(tmp_path, "sub/box.mbox", data=MBOX + MBOX)
    source, whole = open_source(str(tmp_path)), listed(tmp_path)
    one, two = "blake3:" + blake3(MAIL).hexdigest(), "blake3:" + blake3(b"Subject: two\n\nx\n").hexdigest()
    assert [item.uid for item in whole.items] == [one, two, f"{one}#2", f"{two}#2"]
    assert {item.folder for item in whole.items} == {"sub/box.mbox"}
    assert [source.read(item) for item in whole.items] == [MAIL, b"Subject: two\n\nx\n"] * 2


def test_an_mbox_that_grows_keeps_the_names_and_stamps_of_its_members(tmp_path: Path) -> None:
    write(tmp_path, "box.mbox", data=MBOX)
    before = listed(tmp_path)
    write(tmp_path, "box.mbox", data=MBOX + MBOX)
    after = listed(tmp_path)
    assert after.items[:2] == before.items and len(after.items) == 4
    assert before.containers.keys() == after.containers.keys() == {"box.mbox"}
    assert before.containers != after.containers


class Stored:
    """What a ledger would know after one complete listing."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing

    def container(self, folder: str) -> str | None:
        return self.listing.containers.get(folder)

    def members(self, folder: str) -> Iterator[Item]:
        return (item for item in self.listing.items if item.folder == folder)


def test_an_unchanged_mbox_is_not_scanned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.eml", "box.mbox", "other.mbox", data=MBOX)
    first = listed(tmp_path)
    scanned: list[bytes] = []
    scan = Archive._members
    monkeypatch.setattr(
        Archive, "_members", lambda self, row, batch: scanned.append(row.path) or scan(self, row, batch)
    )
    write(tmp_path, "other.mbox", data=MBOX * 2)
    [second] = open_source(str(tmp_path)).listing(Stored(first), 100)
    assert scanned == [b"other.mbox"]
    assert [item for item in second.items if item.folder != "other.mbox"] == [
        i for i in first.items if i.folder != "other.mbox"
    ]
    assert second.containers.keys() == {"box.mbox", "other.mbox"}


def test_a_container_is_complete_only_in_the_batch_of_its_last_member(tmp_path: Path) -> None:
    write(tmp_path, "box.mbox", data=MBOX * 3)
    batches = list(open_source(str(tmp_path)).listing(NothingKnown(), 4))
    assert [(len(batch.items), list(batch.containers)) for batch in batches] == [(4, []), (2, ["box.mbox"])]


def test_an_mbox_that_changed_after_the_listing_gives_no_wrong_bytes(tmp_path: Path) -> None:
    write(tmp_path, "box.mbox", data=MBOX)
    source, items = open_source(str(tmp_path)), listed(tmp_path).items
    write(tmp_path, "box.mbox", data=b"From a@b Mon Mar  2 09:00:00 2026\nSubject: put before\n\n\n" + MBOX)
    for item in items:
        with pytest.raises(ItemVanished, match="changed since it was listed"):
            source.read(item)


@pytest.mark.parametrize("now", [MBOX * 3, MBOX[:-2], b"", MBOX.replace(b"body", b"bode")])
def test_an_mbox_that_changes_while_it_is_listed_gives_nothing_behind_the_change(
    tmp_path: Path, now: bytes
) -> None:
    write(tmp_path, "box.mbox", data=MBOX)
    batches = open_source(str(tmp_path)).listing(NothingKnown(), 1)
    first = next(batches)
    write(tmp_path, "box.mbox", data=now)
    rest = list(batches)
    assert first.items == listed_before(tmp_path, MBOX)[:1]
    assert [item for batch in rest for item in batch.items] == []
    [row] = [row for batch in rest for row in batch.unreadable]
    assert row.path == "box.mbox" and "while it was read" in row.reason
    assert not any(batch.containers for batch in rest)


def listed_before(folder: Path, data: bytes) -> list[Item]:
    write(folder / "again", "box.mbox", data=data)
    return listed(folder / "again").items


def test_the_last_message_of_an_mbox_that_a_program_has_locked_waits(tmp_path: Path) -> None:
    write(tmp_path, "box.mbox", data=MBOX)
    hold = (
        "import fcntl, sys; box = open(sys.argv[1], 'r+b'); fcntl.lockf(box, fcntl.LOCK_EX); "
        "print('locked', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", hold, str(tmp_path / "box.mbox")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None and writer.stdout.readline() == b"locked\n"
        whole = listed(tmp_path)
        writer.communicate()
    assert (len(whole.items), whole.containers) == (1, {})
    assert [row.path for row in whole.unreadable] == ["box.mbox"]
    assert "another program is writing" in whole.unreadable[0].reason
    assert len(listed(tmp_path).items) == 2


def test_a_message_over_the_ceiling_is_named_and_never_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.eml", "box.mbox", data=MBOX + MAIL * 50)
    assert FetchPolicy().ceiling == 1 << 30 and FetchPolicy(max_message_mb=1000).ceiling == 4000 << 20
    monkeypatch.setattr(FetchPolicy, "ceiling", 500)
    whole = listed(tmp_path)
    assert [item.folder for item in whole.items] == ["box.mbox"]
    assert [row.path.partition(" ")[0] for row in whole.unreadable] == ["a.eml", "box.mbox"]


def test_maildir_names_have_no_flags_and_dotted_folders_are_paths(tmp_path: Path) -> None:
    write(tmp_path, "cur/100.M1.host,S=5:2,RS", "new/101.M1.host", "tmp/102.M1.host", "cur/.nfs1")
    write(tmp_path, "dovecot-uidlist", data=b"3 V1772442000 N3 G0123456789abcdef\n1 :100.M1.host\n")
    write(tmp_path, ".Sent.2026/cur/103.M1.host:2,S", "Archive/cur/104.M1.host:2,", ".config/105.eml")
    for folder in (".Sent.2026", "Archive"):
        (tmp_path / folder / "new").mkdir()
    assert names(tmp_path) == [
        (".", "100.M1.host,S=5"),
        (".", "101.M1.host"),
        ("Sent/2026", "103.M1.host"),
        ("Archive", "104.M1.host"),
    ]


def test_a_maildir_message_is_found_after_its_flags_changed(tmp_path: Path) -> None:
    write(tmp_path, "new/100.M1.host")
    (tmp_path / "cur").mkdir()
    source, [item] = open_source(str(tmp_path)), listed(tmp_path).items
    (tmp_path / "new/100.M1.host").rename(tmp_path / "cur/100.M1.host:2,S")
    assert source.read(item) == MAIL
    [seen] = listed(tmp_path).items
    assert (seen.uid, seen.stamp) == (item.uid, item.stamp)


def test_a_maildir_name_in_new_and_cur_is_two_items(tmp_path: Path) -> None:
    write(tmp_path, "new/100.M1.host", "cur/100.M1.host:2,S")
    assert names(tmp_path) == [(".", "100.M1.host"), (".", "100.M1.host#2")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(messages=st.lists(st.binary(max_size=80).map(lambda text: b"Subject: x\n\n" + text), max_size=6))
def test_what_the_standard_library_puts_in_a_maildir_is_read_back(
    tmp_path: Path, messages: list[bytes]
) -> None:
    shutil.rmtree(tmp_path / "box", ignore_errors=True)
    box = mailbox.Maildir(tmp_path / "box")
    for number, raw in enumerate(messages):
        sent = mailbox.MaildirMessage(b"Subject: x\n\n")
        sent.set_subdir("cur" if number % 2 else "new")
        sent.set_flags("S" if number % 4 == 1 else "")
        key = box.add(sent)
        next((tmp_path / "box").glob(f"*/{key}*")).write_bytes(raw)
    source = open_source(str(tmp_path / "box"))
    assert sorted(source.read(item) for item in listed(tmp_path / "box").items) == sorted(messages)


def test_nothing_in_the_source_is_changed(tmp_path: Path) -> None:
    write(tmp_path, "cur/100.M1.host:2,", "new/101.M1.host", "a.eml", "box.mbox", data=MBOX)
    before = {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))}
    source = open_source(str(tmp_path))
    for item in listed(tmp_path).items:
        source.read(item)
    source.close()
    assert {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))} == before


def test_the_policy_is_the_slice_of_the_settings_that_fetch_depends_on() -> None:
    from models.config import EmailSection, FoldersSection, Settings
    from models.curated import Curated
    from stages.fetch.config import policy_of

    made = Settings(
        email=EmailSection(max_message_mb=7), folders=FoldersSection(include=["A"], exclude=["B"])
    )
    assert policy_of(made, Curated()) == FetchPolicy(include=["A"], exclude=["B"], max_message_mb=7)
    assert policy_of(Settings(), Curated()) == FetchPolicy()
