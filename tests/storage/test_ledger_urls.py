"""Where a ledger may be, and what is said where it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
from databases import TENANT

from models.errors import UsageError
from storage.ledger import open_ledger


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("no url at all", "not a database URL"),
        ("mysql://host/db", "a mysql database cannot be the ledger"),
        ("postgresql+nodriver://host/db", "cannot be used"),
        ("postgresql+pg8000://me:secret@127.0.0.1:1/db", "cannot be opened"),
        ("sqlite:////no/such/folder/ledger.db", "cannot be opened"),
    ],
)
def test_a_ledger_url_that_leads_nowhere_is_a_usage_error_without_the_password(
    state: Path, url: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        open_ledger(state, url, TENANT)
    assert refused.value.remedy
    assert "secret" not in refused.value.detail


def test_a_file_that_is_no_database_is_a_usage_error_and_stays_as_it_is(state: Path) -> None:
    (state / "ledger.db").write_bytes(b"not a database, but somebody's notes " * 50)
    with pytest.raises(UsageError, match="cannot be opened: ledger: file is not a database") as refused:
        open_ledger(state, None, TENANT)
    assert "backup" in (refused.value.remedy or "")
    assert (state / "ledger.db").read_bytes().startswith(b"not a database")


def test_a_state_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "what? 100% #1 &ü=é+x"
    folder.mkdir()
    open_ledger(folder, None, TENANT).close()
    assert [path.name for path in folder.iterdir()] == ["ledger.db"]
