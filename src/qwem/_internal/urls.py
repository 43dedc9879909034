"""URLs: telling them from paths, and showing them without secrets."""

from __future__ import annotations

import re

# More than one letter before the colon: C:// is a drive.
_URL = re.compile(r"([a-z][a-z0-9+.-]+::)*[a-z][a-z0-9+.-]+://", re.IGNORECASE)
# After :// a user, with a password or not; elsewhere a user with a password.
_USER = re.compile(r"((?<=://)[^/?#\s]*|[^\s/:@]+:[^\s/:@]+)@")
_QUERY = re.compile(r"(https?://[^\s?#]*\?)[^\s)\"']+", re.IGNORECASE)


def is_url(item: object) -> bool:
    """Return whether `item` is a string that names something by a URL, such as ``s3://…``.

    >>> is_url("s3://bucket/wiki.parquet"), is_url("wiki.parquet"), is_url("c://wiki.parquet")
    (True, False, False)
    """
    return isinstance(item, str) and _URL.match(item) is not None


def without_secrets(text: str) -> str:
    """Return text in which no URL has a user, a password or a query, which may be signed.

    >>> without_secrets("ftp://me:secret@host/file and https://host/file?token=secret are missing")
    'ftp://…@host/file and https://host/file?… are missing'
    """
    return _QUERY.sub(r"\1…", _USER.sub("…@", text))
