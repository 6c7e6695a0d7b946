"""Disjoint sets of what a message, a thread or a key connects."""

from __future__ import annotations

Member = str | int | tuple[str, str]  # a hash, a thread's surrogate, a hard key


class Forest:
    """Disjoint sets of members, joined one pair at a time."""

    def __init__(self) -> None:
        self._up: dict[Member, Member] = {}

    def unite(self, one: Member, other: Member) -> None:
        """Make one set of those of `one` and `other`."""
        self._up[self._root(one)] = self._root(other)

    def groups(self) -> list[list[Member]]:
        """Return the sets."""
        found: dict[Member, list[Member]] = {}
        for one in list(self._up):
            found.setdefault(self._root(one), []).append(one)
        return list(found.values())

    def _root(self, one: Member) -> Member:
        path = []
        while (above := self._up.setdefault(one, one)) != one:
            path.append(one)
            one = above
        for below in path:
            self._up[below] = one
        return one
