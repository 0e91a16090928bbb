"""Files that hold secrets are known by their names, wherever they lie; what is meant to be shared isn't."""

from __future__ import annotations

import pytest
from foveal.daemon.privacy.secret_files import is_secret_file


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "deploy/.env",
        ".env.local",
        ".env.production",
        "config/prod.env",
        ".envrc",
        "keys/server.pem",
        "id_rsa",
        "ssh/id_ed25519",
        ".ssh/config",
        "home/.aws/config",
        ".npmrc",
        "app/credentials.json",
        "Secrets.YAML",
        "infra/terraform.tfstate",
        "vars.tfvars",
        "config/master.key",
        "store.JKS",
        ".env~",
        ".env.bak",
        "id_rsa.bak",
        "server.key.old",
        ".vault_pass",
        "token.txt",
        "my-api_key.txt",
        "app-firebase-adminsdk-x1.json",
        "gcp-key.json",
    ],
)
def test_a_secret_file_is_known(path: str) -> None:
    assert is_secret_file(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        ".env.sample",
        "deploy/.env.template",
        "environment.py",
        "src/env.ts",
        "id_rsa.pub",
        ".ssh/id_ed25519.pub",
        "src/credentials/store.py",
        "secrets.py",
        "keyboard.py",
        "docs/pem.md",
        "src/key.rs",
        "design/tokens.json",
        "tokens.css",
        "notes/tokens.md",
        "docs/topics/passwords.txt",
        "main.py~",
        "passwords.py",
        "",
    ],
)
def test_another_file_is_none(path: str) -> None:
    assert not is_secret_file(path)
