"""The sender as the From header names them: tells a signature from a contact that is passed on."""

from __future__ import annotations

import re

from models.message import Address

_WORD = re.compile(r"[^\W\d_]+")
_CJK_NAME = re.compile(r"[\u3400-\u9fff々]{2,5}|[\u3040-\u30ff\u3400-\u9fff]{2,8}")
_ADDRESS = re.compile(r"[\w.+\-=]{1,64}@([\w\-]{1,63}(?:\.[\w\-]{1,63}){1,4})")
_NO_LETTER = re.compile(r"[\W\d_]+")
# Hosts of private mail: their name in a line says nothing about the sender's company.
_FREE_MAIL = frozenset(
    (
        "gmail", "googlemail", "hotmail", "outlook", "yahoo", "icloud", "proton", "protonmail",
        "foxmail", "sina", "sohu", "yeah", "naver", "hanmail", "freemail",
    )
)  # fmt: skip

_NO_CARD = ("。", "？", "?", "！", "!", "，", ",")


class Sender:
    """Names by which the sender may sign: full, in either order, and single parts of two or more letters."""

    __slots__ = ("company", "domain", "email", "names", "parts")

    def __init__(self, address: Address | None) -> None:
        self.names: set[str] = set()
        self.parts: set[str] = set()
        self.email = (address.email if address else "").casefold()
        self.domain = self.email.rpartition("@")[2]
        name = (address.name if address else "").split("(")[0].strip("\"' ")
        if "@" in name:
            name = ""
        words = [word.casefold() for word in _WORD.findall(name)][:6]
        if words:
            self.names = {" ".join(words), " ".join(reversed(words)), "".join(words)}
            self.parts = {word for word in words if len(word) >= 2 or not word.isascii()}
        for cjk in _CJK_NAME.findall(name)[:2]:
            self.names.add(cjk)
            if len(cjk) in (3, 4) and cjk[0] >= "\u3400":
                self.parts.update((cjk[-2:], cjk[:2]))
            elif len(cjk) == 2:
                self.parts.add(cjk[1])
        local = self.email.partition("@")[0]
        self.parts.update(part for part in re.split(r"[._\-+\d]+", local) if len(part) >= 3)
        if len(local.split(".")) == 2:
            self.names.add(local.replace(".", " "))
        core = _NO_LETTER.sub("", self.domain.split(".")[0])
        self.company = core if len(core) >= 5 and core not in _FREE_MAIL else ""

    @classmethod
    def of_header(cls, value: str) -> Sender:
        """Return the sender that a quoted header names (`Ivo Brandt <ivo@kelp.example>`)."""
        found = _ADDRESS.search(value[:300])
        name = re.split(r"[<\[(（]|mailto:", value[:300], maxsplit=1)[0]
        return cls(Address(name=name.strip(" \"'“”;；"), email=found.group() if found else ""))

    @property
    def is_known(self) -> bool:
        """Tell whether a From header named the sender at all."""
        return bool(self.names or self.email)

    def is_name(self, text: str) -> bool:
        """Tell whether `text` is the sender's name, whole or in part, and nothing else."""
        if not text or len(text) > 40:
            return False
        words = [word.casefold() for word in _WORD.findall(text)]
        if not words or len(words) > 4 or len("".join(words)) < len("".join(text.split())) - 4:
            return False
        joined = " ".join(words)
        if joined in self.names or "".join(words) in self.names:
            return True
        return all(word in self.parts or len(word) == 1 for word in words) and any(
            word in self.parts for word in words
        )

    def is_named(self, text: str) -> bool:
        """Tell whether `text` starts with the sender's full name, or is the name alone, or their address."""
        if self.is_name(text):
            return True
        if self.email and len(text) < 160 and self.email in text.casefold():
            return True
        head = " ".join(word.casefold() for word in _WORD.findall(text[:60]))
        return len(text) <= 60 and any(
            (len(name) >= 2 and (head + " ").startswith(name + " "))
            or (not name.isascii() and head.startswith(name))
            for name in self.names
        )

    def holds_name(self, text: str) -> bool:
        """Tell whether a short line names the sender anywhere ("Purchasing, Rosa Lind"), or gives the address."""
        if len(text) > 70 or text.endswith(_NO_CARD) or (text[-1] == "." and len(text) > 30):
            return False
        if self.is_named(text):
            return True
        words = f" {' '.join(word.casefold() for word in _WORD.findall(text))} "
        return any(f" {name} " in words for name in self.names if len(name) >= 3 or not name.isascii())

    def may_sign(self, text: str) -> bool:
        """Tell whether a name could be another spelling of the sender's: a shared part, or another script."""
        if any(not char.isascii() for char in text):
            known = {char for name in self.names for char in name if not char.isascii()}
            return not known or any(char in known for char in text)
        known = {part for part in self.parts if part.isascii()}
        return not known or any(word.casefold() in known for word in _WORD.findall(text))

    def is_initial(self, text: str) -> bool:
        """Tell whether `text` is a first letter of the sender's name ("A.")."""
        letter = text.rstrip(".").casefold()
        return len(letter) == 1 and letter.isalpha() and any(part.startswith(letter) for part in self.parts)

    def is_company(self, text: str) -> bool:
        """Tell whether a short line holds the name of the sender's domain ("Tern Yard" of ternyard.example)."""
        return bool(self.company) and len(text) <= 80 and self.company in _NO_LETTER.sub("", text.casefold())

    def is_foreign(self, text: str) -> bool:
        """Tell whether `text` holds an address of another domain than the sender's (a contact passed on)."""
        if not self.domain:
            return False
        match = _ADDRESS.search(text[:200])
        return match is not None and not match.group(1).casefold().endswith(self.domain[-12:])
