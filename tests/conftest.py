"""Fixtures that several test files share."""
import pytest
from small_world import words

from lib import dials_stream, evidence


@pytest.fixture
def counting_words(monkeypatch):
    """Budgets count words, and no world is remembered from another test."""
    monkeypatch.setattr(evidence, "budget_tokenizer", lambda name: words)
    dials_stream._laid.cache_clear()
    yield
    dials_stream._laid.cache_clear()
