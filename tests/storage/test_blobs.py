"""Raw bytes are kept by their hash, once, and damage is never handed on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest
from actors import Actor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.base import content_hash
from models.errors import Defect, Transient, UsageError
from storage.blobs import BlobStore, LocalBlobs, RemoteBlobs, blob_key, compress, decompress, open_blobs

MAILS = [b"Subject: one\n\nhello\n", b"", b"\x00\xff" * 5000, "Subject: 你好\n\n".encode("gb18030")]


class Kept:
    """A blob store, and a way to its bytes behind its back."""

    def __init__(
        self, store: BlobStore, read: Callable[[str], bytes], write: Callable[[str, bytes], None]
    ) -> None:
        self.store, self.read, self.write = store, read, write


@pytest.fixture(params=["local", "memory"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    if request.param == "local":
        root = tmp_path / "raw"

        def write(key: str, data: bytes) -> None:
            (root / key).write_bytes(data)

        yield Kept(LocalBlobs(root), lambda key: (root / key).read_bytes(), write)
        return
    store = open_blobs(tmp_path, f"memory://{tmp_path.name}")
    assert isinstance(store, RemoteBlobs)
    base = f"/{tmp_path.name}"
    files = fsspec.filesystem("memory")
    yield Kept(
        store,
        lambda key: files.cat_file(f"{base}/{key}"),
        lambda key, data: files.pipe_file(f"{base}/{key}", data),
    )
    if files.exists(base):
        files.rm(base, recursive=True)


def test_what_was_put_comes_back_by_its_hash(kept: Kept) -> None:
    hashes = kept.store.put_all(MAILS)
    assert hashes == [content_hash(mail) for mail in MAILS]
    assert [kept.store.get(raw) for raw in hashes] == MAILS
    assert all(kept.store.exists(raw) for raw in hashes)


def test_a_blob_lies_compressed_under_the_start_of_its_hash(kept: Kept) -> None:
    (raw,) = kept.store.put_all([MAILS[2]])
    assert blob_key(raw) == f"{raw[7:9]}/{raw[7:]}.zst"
    assert decompress(kept.read(blob_key(raw))) == MAILS[2]
    assert len(kept.read(blob_key(raw))) < len(MAILS[2]) / 10


def test_equal_bytes_are_kept_once_and_not_written_again(kept: Kept) -> None:
    (raw,) = kept.store.put_all([MAILS[0]])
    kept.write(blob_key(raw), compress(MAILS[0]) + b"")
    marker = compress(b"behind its back")
    kept.write(blob_key(raw), marker)
    assert kept.store.put_all([MAILS[0], MAILS[0], MAILS[1]])[:2] == [raw, raw]
    assert kept.read(blob_key(raw)) == marker


def test_bytes_that_are_not_there_are_an_error_that_names_hash_and_remedy(kept: Kept) -> None:
    kept.store.put_all([MAILS[0]])
    unknown = content_hash(b"never stored")
    assert not kept.store.exists(unknown)
    with pytest.raises(Defect, match=unknown) as missing:
        kept.store.get(unknown)
    assert missing.value.remedy


def test_a_store_that_is_not_there_at_all_is_an_error_to_try_again_later(kept: Kept) -> None:
    with pytest.raises(Transient, match="is not there") as missing:
        kept.store.get(content_hash(b"never stored"))
    assert missing.value.remedy


@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: b"",
        lambda packed: packed[:-1],
        lambda packed: packed[: len(packed) // 2],
        lambda packed: b"not a frame at all",
        lambda packed: packed[:-2] + bytes([packed[-2] ^ 1]) + packed[-1:],
        lambda packed: compress(b"another mail"),
    ],
    ids=["empty", "short by a byte", "half", "another format", "one bit", "another mail"],
)
def test_a_damaged_blob_is_an_error_and_never_another_mail(
    kept: Kept, damage: Callable[[bytes], bytes]
) -> None:
    (raw,) = kept.store.put_all([MAILS[0]])
    kept.write(blob_key(raw), damage(kept.read(blob_key(raw))))
    with pytest.raises(Defect, match=f"{raw} are damaged") as damaged:
        kept.store.get(raw)
    assert damaged.value.remedy


def test_no_wrong_bit_anywhere_in_a_blob_gives_other_bytes(tmp_path: Path) -> None:
    store = LocalBlobs(tmp_path / "raw")
    (raw,) = store.put_all([MAILS[3]])
    file = tmp_path / "raw" / blob_key(raw)
    packed = file.read_bytes()
    for position in range(len(packed) * 8):
        damaged = bytearray(packed)
        damaged[position // 8] ^= 1 << position % 8
        file.write_bytes(damaged)
        try:
            assert store.get(raw) == MAILS[3]  # a few bits of a frame's header mean nothing here
        except Defect:
            continue


@settings(deadline=None, derandomize=True)
@given(st.binary(max_size=2000))
def test_any_bytes_survive_packing(data: bytes) -> None:
    assert decompress(compress(data)) == data


@settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=30,
)
@given(st.lists(st.binary(max_size=40), max_size=5))
def test_storing_twice_is_storing_once(tmp_path: Path, blobs: list[bytes]) -> None:
    store = LocalBlobs(tmp_path / "raw")
    assert store.put_all(blobs) == store.put_all(blobs)
    assert [store.get(content_hash(data)) for data in blobs] == blobs


def test_after_a_crash_no_half_blob_has_a_name_and_storing_again_completes_them(tmp_path: Path) -> None:
    root = tmp_path / "raw"
    with Actor("store_blobs", root, 5, crash_at="blob-written:1") as actor:
        assert actor.wait() == -signal.SIGKILL
    store = LocalBlobs(root)
    blobs = [f"blob {number}".encode() for number in range(5)]
    for data in blobs:
        assert not store.exists(content_hash(data)) or store.get(content_hash(data)) == data
    assert [store.get(raw) for raw in store.put_all(blobs)] == blobs


def test_many_blobs_at_once_are_all_stored(tmp_path: Path) -> None:
    store = LocalBlobs(tmp_path / "raw")
    blobs = [f"blob {number}".encode() for number in range(100)]
    assert [store.get(raw) for raw in store.put_all([*blobs, *blobs])] == [*blobs, *blobs]
    assert len([path for path in (tmp_path / "raw").rglob("*") if path.is_file()]) == 100


def test_a_full_disk_leaves_no_half_blob(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    store = LocalBlobs(tmp_path / "raw")
    monkeypatch.setattr("storage.durable.os.write", full)
    with pytest.raises(OSError, match="No space left"):
        store.put_all([MAILS[0]])
    monkeypatch.undo()
    assert [path for path in (tmp_path / "raw").rglob("*") if path.is_file()] == []
    assert store.get(store.put_all([MAILS[0]])[0]) == MAILS[0]


def test_a_local_folder_by_url_is_kept_as_durably_as_the_default(tmp_path: Path) -> None:
    default = open_blobs(tmp_path, None)
    by_url = open_blobs(tmp_path, f"file://{tmp_path}/elsewhere")
    by_path = open_blobs(tmp_path, f"{tmp_path}/elsewhere")
    assert isinstance(default, LocalBlobs)
    assert isinstance(by_url, LocalBlobs)
    assert isinstance(by_path, LocalBlobs)
    assert default.root == tmp_path / "raw"
    assert by_url.root == by_path.root == tmp_path / "elsewhere"


def test_a_store_of_a_scheme_that_nobody_knows_is_a_usage_error_without_its_secrets(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        open_blobs(tmp_path, "ftp3://user:secret@store.example/raw")
    assert "ftp3" in caught.value.detail
    assert "secret" not in caught.value.detail
    assert caught.value.remedy


def test_a_start_removes_what_a_killed_process_left_and_nothing_of_a_live_one(tmp_path: Path) -> None:
    store = LocalBlobs(tmp_path / "raw")
    store.put_all([b"one"])
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    workshop = tmp_path / "raw" / ".tmp"
    left = workshop / f".abc.zst.{int(dead.stdout)}-0.atlas-tmp"
    busy = workshop / f".abc.zst.{os.getpid()}-7.atlas-tmp"
    for path in (left, busy):
        path.write_bytes(b"half")
    store.clear()
    assert [path.name for path in workshop.iterdir()] == [busy.name]
