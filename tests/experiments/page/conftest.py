"""Fixtures of several files of this folder."""

from report_pages import chromium, pages

__all__ = ["chromium", "pages"]
