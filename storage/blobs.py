"""Raw message bytes, content-addressed (blake3), compressed (zstd), durable before anybody names them."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import zstandard

from models.base import content_hash
from models.errors import AtlasError, Defect, Transient, UsageError
from storage.durable import clear_workshop, move_all, sync_folder, write_temps
from storage.faults import passing

_local = threading.local()


def compress(data: bytes) -> bytes:
    """Return `data` as one zstd frame (level 3)."""
    if not hasattr(_local, "packer"):
        _local.packer = zstandard.ZstdCompressor(level=3)
    packed: bytes = _local.packer.compress(data)
    return packed


def decompress(data: bytes) -> bytes:
    """Return the content of one zstd frame written by `compress`."""
    if not hasattr(_local, "unpacker"):
        _local.unpacker = zstandard.ZstdDecompressor()
    plain: bytes = _local.unpacker.decompress(data)
    return plain


def blob_key(raw: str) -> str:
    """Return the relative key of a raw hash: `ab/abcd….zst`."""
    name = raw.removeprefix("blake3:")
    return f"{name[:2]}/{name}.zst"


class BlobStore(Protocol):
    """Put is durable on return and idempotent; get verifies the hash; clear removes what killed runs left."""

    def put_all(self, blobs: Sequence[bytes]) -> list[str]: ...
    def get(self, raw: str) -> bytes: ...
    def exists(self, raw: str) -> bool: ...
    def clear(self) -> None: ...


class LocalBlobs:
    """Blobs in a local folder: temp, fsync, rename, then one fsync for each touched folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def clear(self) -> None:
        """Remove the temporary files that killed processes left."""
        clear_workshop(self.root / ".tmp")

    def put_all(self, blobs: Sequence[bytes]) -> list[str]:
        """Store `blobs` and return their hashes; all are durable on return. Raises OSError (full disk …)."""
        hashes: list[str] = []
        files: dict[Path, bytes] = {}
        there: set[Path] = set()
        for data in blobs:
            raw = content_hash(data)
            hashes.append(raw)
            path = self.root / blob_key(raw)
            if path.exists():
                there.add(path.parent)
            elif path not in files:
                files[path] = compress(data)
        moves = write_temps(list(files.items()), self.root / ".tmp")
        if moves:
            passing("blob-written")
        move_all(moves)
        for folder in sorted(there):  # who wrote it may not have come to this yet
            sync_folder(folder)
        return hashes

    def get(self, raw: str) -> bytes:
        try:
            packed = (self.root / blob_key(raw)).read_bytes()
        except FileNotFoundError:
            raise _missing(raw, str(self.root), gone=not self.root.exists()) from None
        return _verified(raw, packed)

    def exists(self, raw: str) -> bool:
        return (self.root / blob_key(raw)).exists()


class RemoteBlobs:
    """Blobs behind any fsspec URL (object store, memory, ssh …). Raises UsageError for one that cannot be opened."""

    def __init__(self, url: str) -> None:
        import fsspec  # slow to import, only needed here

        self.files: Any
        try:
            self.files, self.base = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:  # a scheme that nobody knows, or whose package is missing
            raise UsageError(
                f"blobs_url {url.partition('://')[0]}://… cannot be opened: {error}",
                remedy="correct blobs_url, or leave it out for raw/ in the state folder",
            ) from error

    def clear(self) -> None:
        """Do nothing: an object store shows no half-written object."""

    def put_all(self, blobs: Sequence[bytes]) -> list[str]:
        hashes: list[str] = []
        for data in blobs:
            raw = content_hash(data)
            hashes.append(raw)
            key = f"{self.base}/{blob_key(raw)}"
            if not self.files.exists(key):
                self.files.makedirs(os.path.dirname(key), exist_ok=True)
                self.files.pipe_file(key, compress(data))
                passing("blob-written")
        return hashes

    def get(self, raw: str) -> bytes:
        try:
            packed = self.files.cat_file(f"{self.base}/{blob_key(raw)}")
        except FileNotFoundError:
            raise _missing(raw, self.base, gone=not self.files.exists(self.base)) from None
        return _verified(raw, packed)

    def exists(self, raw: str) -> bool:
        return bool(self.files.exists(f"{self.base}/{blob_key(raw)}"))


def open_blobs(state: Path, url: str | None) -> BlobStore:
    """Return the blob store: `raw/` in the state folder, or the fsspec URL of the configuration.

    A local folder by URL (`file:///srv/raw`, or its path) is as durable as `raw/`.
    """
    if not url:
        return LocalBlobs(state / "raw")
    if url.startswith("file://") or "://" not in url:
        return LocalBlobs(Path(url.removeprefix("file://")).absolute())
    return RemoteBlobs(url)


def _missing(raw: str, where: str, *, gone: bool) -> AtlasError:
    """Return what a missing blob means: the whole store is away (try later), or this one message is lost."""
    if gone:
        return Transient(f"the blob store {where} is not there", remedy="bring it back, then run again")
    return Defect(
        f"the raw bytes of {raw} are missing from {where}",
        remedy="restore raw/ from a backup and retry the message from quarantine",
    )


def _verified(raw: str, packed: bytes) -> bytes:
    try:
        data = decompress(packed)
    except (zstandard.ZstdError, MemoryError) as error:  # the latter for a size that is nonsense
        raise Defect(
            f"the stored bytes of {raw} are damaged: {error or 'no such size'}",
            remedy="restore raw/ from a backup",
        ) from error
    if content_hash(data) != raw:
        raise Defect(
            f"the stored bytes of {raw} are damaged: hash differs", remedy="restore raw/ from a backup"
        )
    return data
