"""Owns which files hold secrets by their name: they are left out for everyone. Knows paths only."""

from __future__ import annotations

import re
from functools import lru_cache

_NAMES = frozenset(
    {
        ".netrc",
        "_netrc",
        ".pgpass",
        ".my.cnf",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".htpasswd",
        ".dockercfg",
        ".boto",
        ".s3cfg",
        ".vault-token",
        ".terraformrc",
        "credentials",
        "credentials.json",
        "credentials.toml",
        "credentials.xml",
        "client_secret.json",
        "service-account.json",
        "service_account.json",
        "kubeconfig",
        "secrets.json",
        "secrets.toml",
        "secrets.yml",
        "secrets.yaml",
        "secret.yml",
        "secret.yaml",
        "master.key",
        "terraform.tfstate",
        "wp-config.php",
    }
)
_PLAIN_ENVIRONMENT = ("example", "sample", "template", "dist", "defaults", "schema")
"""What an environment file that is meant to be shared ends in."""
_ENVIRONMENT = re.compile(r"\.env(?:rc)?(?:[.\-_](?P<kind>[\w.\-]{1,60}))?\Z|(?P<name>[\w\-]{1,60})\.env\Z")
_KEY_ENDINGS = (
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".p8",
    ".jks",
    ".keystore",
    ".kdbx",
    ".kdb",
    ".ppk",
    ".gpg",
    ".ovpn",
    ".tfvars",
    ".tfstate",
)
_SSH_KEY = re.compile(r"id_(?:rsa|dsa|ecdsa|ed25519|ecdsa_sk|ed25519_sk)\Z")
_COPY = re.compile(r"(?:~|\.(?:bak|backup|old|orig|save|copy|swp|tmp|\d{1,3}))+\Z")
"""What editors and people add to the name of a copy."""
_NAMED = re.compile(
    r"\.?vault[_-]?pass(?:word)?(?:\.txt)?\Z|(?:[\w\-]{0,60}[._\-])?(?:secret|token|password|passwd|api[_-]?key)\.txt\Z"
    r"|[\w\-.]{0,60}(?:adminsdk|service[_-]account|gcp[_-]key|client[_-]secret)[\w\-.]{0,60}\.json\Z"
)
_PRIVATE_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud"})


@lru_cache(maxsize=16_384)  # a prompt asks it of each hit and each file shown: 5 % of its time without
def is_secret_file(path: str) -> bool:
    """Whether a file, by its relative POSIX path, holds secrets by convention: `.env`, private keys,
    credentials. A public key and an example of an environment file are none."""
    folders, _, name = path.rpartition("/")
    name = _COPY.sub("", name.lower())
    if name in _NAMES or _SSH_KEY.match(name) or name.endswith(_KEY_ENDINGS):
        return True
    if any(folder in _PRIVATE_FOLDERS for folder in folders.lower().split("/")):
        return not name.endswith(".pub")
    if _NAMED.match(name):
        return True
    found = _ENVIRONMENT.match(name)
    return found is not None and not (found["kind"] or "").endswith(_PLAIN_ENVIRONMENT)
