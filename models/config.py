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

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from models.errors import UsageError


class Section(BaseModel):
    """A table of the configuration; a key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class EmailSection(Section):
    """Limits and rules of one message."""

    max_message_mb: int = Field(50, ge=1, description="Largest message that is read, in MB.")
    max_attachments: int = Field(50, ge=0, description="More attachments than this: resource_limit.")
    strip_plus_tags: bool = Field(False, description="Drop `+tag` from addresses when people are matched.")
    heuristic_thread_window_h: int = Field(168, ge=0, description="Hours that a guess by subject may bridge.")


class OutputSection(Section):
    """What is written into each Email."""

    body_html: bool = Field(False, description="Write the sanitised HTML body into each Email.")


class PipelineSection(Section):
    """How a run does its work, and what one message may cost."""

    batch_size: int = Field(200, ge=1, le=5000, description="Messages per batch.")
    processes: int = Field(0, ge=0, description="Worker processes; 0 = all cores.")
    quarantine_limit: float = Field(
        0.2, ge=0, le=1, description="Share of quarantined mail that fails a scheduled flow."
    )
    message_seconds: float = Field(15, gt=0, description="Longest time one message may take in one stage.")
    message_memory_mb: int = Field(2048, ge=256, description="Most memory a worker may take, in MB.")


class FoldersSection(Section):
    """Folders of a mailbox on a server, for a later version: an archive is always read whole."""

    include: list[str] = Field(["INBOX", "Sent"], description="Folders that are read.")
    exclude: list[str] = Field([], description="Folders that are left out.")


class AccountSection(BaseModel):
    """One mailbox on a server, for a later version; the keys depend on its type."""

    model_config = ConfigDict(extra="allow")
    type: Literal["imap", "gmail", "graph", "exchange", "jmap"] = Field(description="Kind of server.")


class IntentSection(Section):
    """A model endpoint for the intent stage, for a later version: today the local classifier decides."""

    llm: Literal["off", "unsure", "always"] = Field("off", description="When the endpoint is asked.")
    base_url: str | None = Field(None, description="Address of the endpoint.")
    model: str | None = Field(None, description="Name of the model there.")
    concurrency: int = Field(4, ge=1, description="Questions at the same time.")
    budget: float | None = Field(None, description="Most that one run may spend; unset = no limit.")
    on_outage: Literal["provisional", "pending"] = Field(
        "provisional",
        description="Endpoint down: write the local answer and redo it later, or hold the mail back.",
    )


class AliasSection(Section):
    """One person under several names and addresses."""

    name: str = Field("", description="Name as it is to be written.")
    email: str = Field(description="The canonical address.")
    also: list[str] = Field([], description="Other names and addresses of the same person.")


class Settings(BaseSettings):
    """The whole configuration of one state root."""

    model_config = SettingsConfigDict(env_prefix="ATLAS_", env_nested_delimiter="__", extra="forbid")

    tenant: str = Field(
        "default", min_length=1, description="Whose mail this is; a state folder refuses another tenant."
    )
    state: str = Field("state", min_length=1, description="State folder, relative to where the command runs.")
    ledger_url: str | None = Field(
        None, description="SQLAlchemy URL of the ledger; default: SQLite in the state."
    )
    blobs_url: str | None = Field(
        None, description="fsspec URL of the blob store; default: raw/ in the state."
    )
    company_domains: list[str] = Field([], description="Your own domains: people there are internal.")
    free_mail: list[str] = Field([], description="More free mail domains (added to the built-in list).")
    timezone: str = Field("Asia/Shanghai", description="Time zone of dates whose message names none.")
    home_currency: str = Field("CNY", description="Currency (ISO 4217) of amounts that name none.")
    seed_keywords: list[str] = Field([], description="Project keywords, as in `keywords/seeds.txt`.")
    email: EmailSection = EmailSection()
    output: OutputSection = OutputSection()
    pipeline: PipelineSection = PipelineSection()
    folders: FoldersSection = FoldersSection()
    accounts: dict[str, AccountSection] = Field({}, description="Mailboxes on servers, by name.")
    intent: IntentSection = IntentSection()
    domain_map: dict[str, str] = Field(
        {}, description="Customer of a domain, over `customers/domain_map.json`."
    )
    aliases: list[AliasSection] = Field([], description="Merged over `people/aliases.json`.")

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        from zoneinfo import ZoneInfo

        try:
            ZoneInfo(name)
        except (OSError, ValueError, LookupError):
            raise ValueError(f"`{name}` is not a time zone; write it like Asia/Shanghai or UTC") from None
        return name

    @field_validator("home_currency")
    @classmethod
    def _currency_code(cls, code: str) -> str:
        if not (len(code) == 3 and code.isascii() and code.isalpha() and code.isupper()):
            raise ValueError(f"`{code}` is not a currency; write three capital letters like CNY or EUR")
        return code

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


class StoredSettings(Settings):
    """Settings as a run noted them: the environment of the process that reads them changes nothing."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


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
    """Return the settings; `overrides` are flags (None = not given).

    Raises UsageError that names the key and the remedy.
    """
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
        if given.get("state") == "":
            raise UsageError("--state names no folder", remedy="name one, or leave --state out")
        return settings.model_copy(update=given) if given else settings
    except ValidationError as error:
        raise _bad_value(error, where) from error
    except SettingsError as error:
        raise UsageError(
            f"environment: {error}",
            remedy="""lists and tables are written as JSON there: ATLAS_COMPANY_DOMAINS='["us.example"]'""",
        ) from error


def _bad_value(error: ValidationError, where: str) -> UsageError:
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")  # a typo says most
    key = ".".join(str(part) for part in first["loc"])
    names = ["ATLAS_" + "__".join(str(part) for part in first["loc"][:end]).upper() for end in (None, 1)]
    where = next((f"environment variable {name}" for name in names if name in os.environ), where)
    if first["type"] == "extra_forbidden":
        return _unknown(key, where, [f"aliases.{name}" for name in AliasSection.model_fields])
    return UsageError(f"{where}: {key}: {first['msg']}", remedy=f"correct the value of `{key}` and run again")


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        remedy = "check the path given with --config"
        raise UsageError(f"config file {path} does not exist", remedy=remedy) from None
    except OSError as error:
        detail = f"config file {path} cannot be read: {error.strerror}"
        raise UsageError(detail, remedy="check its rights") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        detail = f"config file {path} is not valid TOML: {error}"
        raise UsageError(detail, remedy="correct that line") from error


def known_keys(model: type[BaseModel] = Settings, prefix: str = "") -> list[str]:
    """Return every configuration key in dotted form."""
    keys: list[str] = []
    for name, field in model.model_fields.items():
        keys.append(prefix + name)
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            keys += known_keys(kind, f"{prefix}{name}.")
    return keys


def _refuse_unknown(
    values: dict[str, Any], where: str, model: type[BaseModel] = Settings, prefix: str = ""
) -> None:
    for key, value in values.items():
        field = model.model_fields.get(key)
        if field is None:
            raise _unknown(prefix + key, where)
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(value, dict):
            _refuse_unknown(value, where, kind, f"{prefix}{key}.")


_FOR_TESTS = frozenset({"ATLAS_CRASH_AT", "ATLAS_CRASH_GROUP", "ATLAS_INJECT"})  # storage/faults.py
_FREE_FORM = ("ATLAS_ACCOUNTS__", "ATLAS_DOMAIN_MAP__")


def _refuse_unknown_environment() -> None:
    known = _FOR_TESTS | {"ATLAS_" + key.upper().replace(".", "__") for key in known_keys()}
    for name in sorted(os.environ):
        if not name.startswith("ATLAS_") or name in known or name.startswith(_FREE_FORM):
            continue
        key = name.removeprefix("ATLAS_").lower().replace("__", ".")
        raise _unknown(key, f"environment variable {name}")


def _unknown(key: str, where: str, known: list[str] | None = None) -> UsageError:
    near = difflib.get_close_matches(key, known or known_keys(), n=1, cutoff=0.5)
    hint = f"did you mean `{near[0]}`?" if near else "docs/configuration.md lists the known keys"
    return UsageError(f"{where}: unknown key `{key}`", remedy=hint)
