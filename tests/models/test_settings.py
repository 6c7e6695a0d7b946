"""The configuration: where it comes from, who wins, and that every mistake is named with its remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from models.config import Settings, StoredSettings, find_config, known_keys, load_settings, user_config_file
from models.errors import UsageError


def config(text: str | bytes, name: str = "given.toml") -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def refused(explicit: str | None = None) -> UsageError:
    with pytest.raises(UsageError) as caught:
        load_settings(explicit)
    assert caught.value.remedy
    return caught.value


# ---- where it comes from ----------------------------------------------------------------------------


def test_without_file_and_environment_the_defaults_of_the_contract_hold() -> None:
    settings = load_settings()
    assert (settings.tenant, settings.state) == ("default", "state")
    assert (settings.timezone, settings.home_currency) == ("Asia/Shanghai", "CNY")
    assert settings.email.model_dump() == {
        "max_message_mb": 50,
        "max_attachments": 50,
        "strip_plus_tags": False,
        "heuristic_thread_window_h": 168,
    }
    assert settings.output.body_html is False
    assert (settings.pipeline.batch_size, settings.pipeline.processes) == (200, 0)
    assert settings.pipeline.quarantine_limit == 0.2
    assert (settings.folders.include, settings.folders.exclude) == (["INBOX", "Sent"], [])
    assert (settings.intent.llm, settings.intent.on_outage) == ("off", "provisional")
    assert (settings.ledger_url, settings.blobs_url, settings.accounts, settings.aliases) == (
        None,
        None,
        {},
        [],
    )


def test_a_file_may_set_every_section() -> None:
    path = config(
        """
        tenant = "acme"
        company_domains = ["us.example"]
        seed_keywords = ["Relaunch = 改版"]
        [email]
        max_message_mb = 7
        [accounts.ann]
        type = "imap"
        host = "mail.us.example"
        [domain_map]
        "northwind.example" = "C001"
        [[aliases]]
        name = "Bo"
        email = "bo@us.example"
        """
    )
    settings = load_settings(path)
    assert (settings.tenant, settings.company_domains) == ("acme", ["us.example"])
    assert (settings.email.max_message_mb, settings.email.max_attachments) == (7, 50)
    assert settings.accounts["ann"].model_dump() == {"type": "imap", "host": "mail.us.example"}
    assert settings.domain_map == {"northwind.example": "C001"}
    assert settings.aliases[0].email == "bo@us.example"


def test_a_file_with_a_byte_order_mark_is_read() -> None:
    assert load_settings(config('\ufefftenant = "acme"')).tenant == "acme"


def test_the_given_file_comes_before_the_local_one_before_the_users() -> None:
    assert find_config(None) is None
    config('tenant = "user"', str(user_config_file()))
    assert find_config(None) == user_config_file()
    assert load_settings().tenant == "user"
    config('tenant = "local"', "atlas.toml")
    assert load_settings().tenant == "local"
    assert load_settings(config('tenant = "given"')).tenant == "given"


def test_flags_win_over_environment_and_environment_over_file(monkeypatch: pytest.MonkeyPatch) -> None:
    path = config('state = "file"\ntenant = "file"\n[email]\nmax_attachments = 1\nmax_message_mb = 1')
    monkeypatch.setenv("ATLAS_STATE", "environment")
    monkeypatch.setenv("ATLAS_EMAIL__MAX_ATTACHMENTS", "2")
    settings = load_settings(path, state=None)
    assert (settings.state, settings.tenant) == ("environment", "file")
    assert (settings.email.max_attachments, settings.email.max_message_mb) == (2, 1)
    assert load_settings(path, state="flag").state == "flag"


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        (
            "ATLAS_COMPANY_DOMAINS",
            '["us.example"]',
            lambda settings: settings.company_domains == ["us.example"],
        ),
        ("ATLAS_OUTPUT__BODY_HTML", "true", lambda settings: settings.output.body_html is True),
        (
            "ATLAS_PIPELINE__QUARANTINE_LIMIT",
            "0.5",
            lambda settings: settings.pipeline.quarantine_limit == 0.5,
        ),
        ("ATLAS_ACCOUNTS__ANN__TYPE", "jmap", lambda settings: settings.accounts["ann"].type == "jmap"),
        (
            "ATLAS_DOMAIN_MAP",
            '{"x.example": "C1"}',
            lambda settings: settings.domain_map == {"x.example": "C1"},
        ),
        ("ATLAS_EMAIL", '{"max_attachments": 9}', lambda settings: settings.email.max_attachments == 9),
        ("ATLAS_ALIASES", '[{"email": "a@x"}]', lambda settings: settings.aliases[0].email == "a@x"),
        ("ATLAS_LEDGER_URL", "sqlite:///x.db", lambda settings: settings.ledger_url == "sqlite:///x.db"),
    ],
)
def test_every_kind_of_key_can_be_set_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, read: object
) -> None:
    monkeypatch.setenv(name, value)
    assert callable(read)
    assert read(load_settings())


def test_the_variables_of_the_fault_tests_are_no_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ATLAS_CRASH_AT", "ATLAS_CRASH_GROUP", "ATLAS_INJECT"):
        monkeypatch.setenv(name, "x")
    load_settings()


# ---- mistakes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "key", "nearest"),
    [
        ('tenantt = "x"', "tenantt", "tenant"),
        ('company_domain = ["x"]', "company_domain", "company_domains"),
        ("[email]\nmax_mesage_mb = 3", "email.max_mesage_mb", "email.max_message_mb"),
        ("[pipelines]\nbatch_size = 3", "pipelines", "pipeline"),
        ("[folders]\nincludes = []", "folders.includes", "folders.include"),
        ('[[aliases]]\nname = "Bo"\nemial = "bo@x"', "aliases.0.emial", "aliases.email"),
    ],
)
def test_an_unknown_key_in_the_file_names_the_nearest_key(text: str, key: str, nearest: str) -> None:
    error = refused(config(text))
    assert error.detail == f"config file given.toml: unknown key `{key}`"
    assert error.remedy == f"did you mean `{nearest}`?"


@pytest.mark.parametrize(
    ("name", "key", "nearest"),
    [
        ("ATLAS_TENANTS", "tenants", "tenant"),
        ("ATLAS_EMAIL__MAX_ATTACHMENT", "email.max_attachment", "email.max_attachments"),
        ("ATLAS_EMAIL_MAX_ATTACHMENTS", "email_max_attachments", "email.max_attachments"),
    ],
)
def test_an_unknown_key_in_the_environment_names_the_nearest_key(
    monkeypatch: pytest.MonkeyPatch, name: str, key: str, nearest: str
) -> None:
    monkeypatch.setenv(name, "1")
    error = refused()
    assert error.detail == f"environment variable {name}: unknown key `{key}`"
    assert error.remedy == f"did you mean `{nearest}`?"


def test_an_unknown_key_without_a_near_one_says_where_the_keys_stand() -> None:
    error = refused(config("zzzzqqqq = 1"))
    assert error.detail.endswith("unknown key `zzzzqqqq`")
    assert error.remedy is not None
    assert "did you mean" not in error.remedy


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("tenant = 5", "tenant"),
        ('company_domains = "us.example"', "company_domains"),
        ("[email]\nmax_message_mb = 0", "email.max_message_mb"),
        ('[email]\nmax_attachments = "many"', "email.max_attachments"),
        ("email = 5", "email"),
        ("[pipeline]\nbatch_size = 5001", "pipeline.batch_size"),
        ("[pipeline]\nquarantine_limit = 1.5", "pipeline.quarantine_limit"),
        ('[intent]\nllm = "sometimes"', "intent.llm"),
        ('[accounts.ann]\ntype = "pop3"', "accounts.ann.type"),
        ("[accounts.ann]\nhost = 'x'", "accounts.ann.type"),
        ("[domain_map]\n'x.example' = 5", "domain_map.x.example"),
        ("[[aliases]]\nname = 'Bo'", "aliases.0.email"),
        ('timezone = "Mars/Olympus"', "timezone"),
        ('timezone = "../../etc/passwd"', "timezone"),
        ('timezone = ""', "timezone"),
        ('home_currency = "yuan"', "home_currency"),
        ('home_currency = "¥"', "home_currency"),
    ],
)
def test_a_bad_value_in_the_file_is_named_by_its_key(text: str, key: str) -> None:
    error = refused(config(text))
    assert error.detail.startswith(f"config file given.toml: {key}: ")
    assert error.remedy == f"correct the value of `{key}` and run again"


def test_a_bad_value_in_the_environment_is_blamed_on_the_variable_and_not_on_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = config("[pipeline]\nbatch_size = 5\nprocesses = 0")
    monkeypatch.setenv("ATLAS_PIPELINE__BATCH_SIZE", "0")
    assert refused(path).detail.startswith(
        "environment variable ATLAS_PIPELINE__BATCH_SIZE: pipeline.batch_size: "
    )
    monkeypatch.setenv("ATLAS_PIPELINE__BATCH_SIZE", "7")
    monkeypatch.setenv("ATLAS_FOLDERS", '{"include": "INBOX"}')
    assert refused(path).detail.startswith("environment variable ATLAS_FOLDERS: folders.include: ")


def test_a_list_in_the_environment_that_is_no_json_says_how_to_write_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ATLAS_COMPANY_DOMAINS", "us.example")
    error = refused()
    assert "company_domains" in error.detail
    assert error.remedy is not None
    assert """ATLAS_COMPANY_DOMAINS='["us.example"]'""" in error.remedy


def test_a_file_that_is_no_toml_is_named_with_its_line() -> None:
    error = refused(config('tenant = "x"\ntenant 5\n'))
    assert error.detail.startswith("config file given.toml is not valid TOML: ")
    assert "line 2" in error.detail


def test_a_file_that_is_no_text_is_named() -> None:
    assert "given.toml is not valid TOML" in refused(config(b"tenant = '\xff\xfe'")).detail


def test_a_file_that_is_not_there_or_is_a_folder_is_named() -> None:
    assert refused("missing.toml").detail == "config file missing.toml does not exist"
    os.mkdir("folder.toml")
    assert refused("folder.toml").detail == "config file folder.toml cannot be read: Is a directory"


# ---- what the rest of the house asks ----------------------------------------------------------------


def test_the_known_keys_are_those_of_all_sections() -> None:
    keys = known_keys()
    assert {"tenant", "email", "email.max_message_mb", "pipeline.batch_size", "intent.on_outage"} <= set(keys)
    assert len(keys) == len(set(keys))


def test_settings_survive_being_noted_and_read_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(config('tenant = "acme"\n[accounts.ann]\ntype = "imap"\nhost = "x"'))
    text = settings.model_dump_json()
    monkeypatch.setenv("ATLAS_TENANT", "another")
    stored = StoredSettings.model_validate_json(text)
    assert isinstance(stored, Settings)
    assert stored.model_dump() == settings.model_dump()


@pytest.mark.parametrize(
    "text",
    [
        "[pipeline]\nmessage_seconds = inf",
        "[pipeline]\nquarantine_limit = nan",
        "[intent]\nbudget = inf",
        'tenant = ""',
        'state = ""',
    ],
)
def test_a_value_that_no_run_can_keep_is_refused(text: str) -> None:
    assert text.split()[-3] in refused(config(text)).detail


def test_a_state_folder_without_a_name_is_refused_on_the_command_line_too() -> None:
    with pytest.raises(UsageError, match="--state"):
        load_settings(None, state="")
