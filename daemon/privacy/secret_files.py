"""Files that hold secrets by their name; they are left out for everyone. To add a name, add it to these
tables."""

from __future__ import annotations

import re
from functools import lru_cache

from ..core.vocabulary import words

_NAMES = words(
    ".netrc _netrc .pgpass .my.cnf .npmrc .pypirc .git-credentials .htpasswd .dockercfg .boto .s3cfg",
    ".vault-token .terraformrc credentials credentials.json credentials.toml credentials.xml",
    "client_secret.json service-account.json service_account.json kubeconfig secrets.json secrets.toml",
    "secrets.yml secrets.yaml secret.yml secret.yaml master.key terraform.tfstate wp-config.php",
)
_PLAIN_ENVIRONMENT = ("example", "sample", "template", "dist", "defaults", "schema")
"""Endings of environment files that are meant to be shared."""
_ENVIRONMENT = re.compile(r"\.env(?:rc)?(?:[.\-_](?P<kind>[\w.\-]{1,60}))?\Z|(?P<name>[\w\-]{1,60})\.env\Z")
_KEY_ENDINGS = tuple(
    words(".pem .key .p12 .pfx .p8 .jks .keystore .kdbx .kdb .ppk .gpg .ovpn .tfvars .tfstate")
)
_SSH_KEY = re.compile(r"id_(?:rsa|dsa|ecdsa|ed25519|ecdsa_sk|ed25519_sk)\Z")
_COPY = re.compile(r"(?:~|\.(?:bak|backup|old|orig|save|copy|swp|tmp|\d{1,3}))+\Z")
"""Endings that editors and people add to the names of copies."""
_NAMED = re.compile(
    r"\.?vault[_-]?pass(?:word)?(?:\.txt)?\Z|(?:[\w\-]{0,60}[._\-])?(?:secret|token|password|passwd|api[_-]?key)\.txt\Z"
    r"|[\w\-.]{0,60}(?:adminsdk|service[_-]account|gcp[_-]key|client[_-]secret)[\w\-.]{0,60}\.json\Z"
)
_PRIVATE_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud"})


@lru_cache(maxsize=16_384)  # called for each hit and shown file: 5 % of a prompt's time without the cache
def is_secret_file(path: str) -> bool:
    """Tell whether a file, by its relative POSIX path, holds secrets by convention: `.env`, private keys,
    credentials, but not public keys and example environment files."""
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
