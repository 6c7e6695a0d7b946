"""Configuration: `atlas.toml`, the environment (`ATLAS_…`) and flags, one typed tree (CONTRACTS §4).

Unknown keys are an error that names the nearest key. Flags win over environment, environment over file.
"""

from __future__ import annotations

import difflib
import os
import sys
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from models.errors import UsageError


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid")


class EmailSection(Section):
    """Limits and rules of one message."""

    max_message_mb: int = Field(50, ge=1, description="Largest message that is read, in MB.")
    max_attachments: int = Field(50, ge=0, description="More attachments than this: resource_limit.")
    strip_plus_tags: bool = Field(False, description="Drop `+tag` from addresses when people are matched.")
    heuristic_thread_window_h: int = Field(168, ge=0, description="Hours that a guess by subject may bridge.")


class OutputSection(Section):
    body_html: bool = Field(False, description="Write the sanitised HTML body into each Email.")


class PipelineSection(Section):
    batch_size: int = Field(200, ge=1, le=5000, description="Messages per batch.")
    processes: int = Field(0, ge=0, description="Worker processes; 0 = all cores.")
    quarantine_limit: float = Field(0.2, ge=0, le=1, description="Share of quarantined mail that fails a flow.")
    message_seconds: float = Field(15, gt=0, description="Longest time one message may take in one stage.")
    message_memory_mb: int = Field(2048, ge=256, description="Most memory a worker may take, in MB.")


class FoldersSection(Section):
    include: list[str] = ["INBOX", "Sent"]
    exclude: list[str] = []


class AccountSection(BaseModel):
    """One mailbox on a server; the keys depend on its type."""

    model_config = ConfigDict(extra="allow")
    type: Literal["imap", "gmail", "graph", "exchange", "jmap"]


class IntentSection(Section):
    llm: Literal["off", "unsure", "always"] = "off"
    base_url: str | None = None
    model: str | None = None
    concurrency: int = Field(4, ge=1)
    budget: float | None = None
    on_outage: Literal["provisional", "pending"] = "provisional"


class AliasSection(Section):
    name: str = ""
    email: str
    also: list[str] = []


class Settings(BaseSettings):
    """The whole configuration of one state root."""

    model_config = SettingsConfigDict(env_prefix="ATLAS_", env_nested_delimiter="__", extra="forbid")

    tenant: str = "default"
    state: str = "state"
    ledger_url: str | None = Field(None, description="SQLAlchemy URL of the ledger; default: SQLite in the state.")
    blobs_url: str | None = Field(None, description="fsspec URL of the blob store; default: raw/ in the state.")
    company_domains: list[str] = []
    free_mail: list[str] = []
    timezone: str = "Asia/Shanghai"
    home_currency: str = "CNY"
    seed_keywords: list[str] = []
    email: EmailSection = EmailSection()
    output: OutputSection = OutputSection()
    pipeline: PipelineSection = PipelineSection()
    folders: FoldersSection = FoldersSection()
    accounts: dict[str, AccountSection] = {}
    intent: IntentSection = IntentSection()
    domain_map: dict[str, str] = {}
    aliases: list[AliasSection] = []

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (env_settings, init_settings)  # the file comes as init values: environment wins over it


def user_config_file() -> Path:
    """Return the path of the user's own config file (XDG on Linux, Application Support on macOS)."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "atlas-extract" / "atlas.toml"
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "atlas-extract" / "atlas.toml"


def find_config(explicit: str | None) -> Path | None:
    """Return the config file to read: the explicit one, `./atlas.toml`, the user's, or None."""
    if explicit:
        return Path(explicit)
    for path in (Path("atlas.toml"), user_config_file()):
        if path.is_file():
            return path
    return None


def load_settings(explicit: str | None = None, **overrides: Any) -> Settings:
    """Return the settings; `overrides` are flags (None = not given). Raises UsageError, naming key and remedy."""
    path = find_config(explicit)
    values: dict[str, Any] = {}
    if path is not None:
        values = _read_toml(path)
    where = f"config file {path}" if path else "environment"
    _refuse_unknown(values, where)
    _refuse_unknown_environment()
    try:
        settings = Settings(**values)
        given = {key: value for key, value in overrides.items() if value is not None}
        return settings.model_copy(update=given) if given else settings
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UsageError(
            f"{where}: {key}: {first['msg']}", remedy=f"correct the value of `{key}` and run again"
        ) from error
    except Exception as error:
        raise UsageError(f"{where}: {error}", remedy="correct the ATLAS_… variable and run again") from error


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"config file {path} does not exist", remedy="check the path given with --config") from None
    except OSError as error:
        raise UsageError(f"config file {path} cannot be read: {error.strerror}", remedy="check its rights") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"config file {path} is not valid TOML: {error}", remedy="correct that line") from error


def known_keys(model: type[BaseModel] = Settings, prefix: str = "") -> list[str]:
    """Return every configuration key in dotted form."""
    keys: list[str] = []
    for name, field in model.model_fields.items():
        keys.append(prefix + name)
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            keys += known_keys(kind, f"{prefix}{name}.")
    return keys


def _refuse_unknown(values: dict[str, Any], where: str, model: type[BaseModel] = Settings, prefix: str = "") -> None:
    for key, value in values.items():
        field = model.model_fields.get(key)
        if field is None:
            raise _unknown(prefix + key, where)
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(value, dict):
            _refuse_unknown(value, where, kind, f"{prefix}{key}.")


def _refuse_unknown_environment() -> None:
    known = {"ATLAS_" + key.upper().replace(".", "__") for key in known_keys()}
    for name in sorted(os.environ):
        if not name.startswith("ATLAS_") or name in known or name.startswith(("ATLAS_ACCOUNTS__", "ATLAS_DOMAIN_MAP__")):
            continue
        raise _unknown(name.removeprefix("ATLAS_").lower().replace("__", "."), "environment")


def _unknown(key: str, where: str) -> UsageError:
    near = difflib.get_close_matches(key, known_keys(), n=1, cutoff=0.5)
    hint = f"did you mean `{near[0]}`?" if near else "see `atlas-extract --help` and the README for the known keys"
    return UsageError(f"{where}: unknown key `{key}`", remedy=hint)
