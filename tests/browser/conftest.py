"""One browser for the tests of a worker, and a daemon of each file's own."""

from tests.browser_cases import browser, page, site

__all__ = ["browser", "page", "site"]
