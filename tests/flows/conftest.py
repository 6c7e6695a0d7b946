"""What the end-to-end tests share: the command in folders of its own, and a clean run to compare with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from driving import Product, json_files, validate
from letters import OFFICE, post

MakeProduct = Callable[[str], Product]


def check_files(state: Path) -> None:
    """Validate every JSON file of a state folder against the schema of its kind."""
    for kind, path in json_files(state):
        validate(kind, json.loads(path.read_bytes()))


@pytest.fixture
def make_product(tmp_path: Path) -> Iterator[MakeProduct]:
    """Return a maker of products; what they wrote is validated when the test ends."""
    made: list[Product] = []

    def make(name: str) -> Product:
        made.append(Product(tmp_path / name))
        return made[-1]

    yield make
    for product in made:
        check_files(product.state)


@pytest.fixture
def product(make_product: MakeProduct) -> Product:
    return make_product("product")


@pytest.fixture(scope="session")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the office correspondence; nobody writes into it."""
    return post(tmp_path_factory.mktemp("corpus") / "office", OFFICE)


@pytest.fixture(scope="session")
def clean(office: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the tree that one undisturbed run makes of the office correspondence."""
    product = Product(tmp_path_factory.mktemp("clean"))
    report = product.run("--source", office)
    assert (report["written"], report["duplicate"]) == (12, 1)
    check_files(product.state)
    return product.tree()
