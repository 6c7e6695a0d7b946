"""What kind of file some bytes are, by what they begin with."""

from __future__ import annotations

# What files of a kind begin with; only kinds whose mark is long enough not to be met by chance.
_MAGIC = (
    (b"%PDF-", "application/pdf"), (b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"), (b"GIF89a", "image/gif"), (b"BM", "image/bmp"), (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"Rar!\x1a\x07", "application/vnd.rar"), (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\x1f\x8b\x08", "application/gzip"), (b"BZh", "application/x-bzip2"), (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"), (b"{\\rtf", "application/rtf"),
    (b"\x7fELF", "application/x-executable"), (b"MZ", "application/x-msdownload"),
    (b"%!PS", "application/postscript"),
    (b"ID3", "audio/mpeg"), (b"OggS", "audio/ogg"), (b"BEGIN:VCALENDAR", "text/calendar"),
    (b"BEGIN:VCARD", "text/vcard"),
    (b"-----BEGIN PGP SIGNATURE", "application/pgp-signature"), (b"\x78\x9f\x3e\x22", "application/ms-tnef"),
)  # fmt: skip
_OFFICE = (
    (b"word/", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"xl/", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (b"ppt/", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
)


def sniff(data: bytes) -> str | None:
    """Return the media type that the first bytes of a file tell, None where they tell none."""
    if data.startswith(b"PK\x03\x04"):
        head = data[:8192]
        at = head.find(b"mimetype")
        if at == 30:  # OpenDocument and EPUB: the type is the first entry's content
            kind = head[38:100].split(b"PK", 1)[0]
            return kind.decode("ascii", "ignore").strip() or "application/zip"
        return next((mime for mark, mime in _OFFICE if mark in head), "application/zip")
    if data[:4] == b"RIFF" and len(data) > 12:
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}.get(data[8:12])
    if data[4:8] == b"ftyp":
        return "image/heic" if data[8:12] in {b"heic", b"heix", b"mif1"} else "video/mp4"
    if data[:2] == b"BM" and data[6:10] != b"\0\0\0\0":
        return None
    return next((mime for mark, mime in _MAGIC if data.startswith(mark)), None)
