"""Nested runs."""

import pytest
from support.nested import Nested


@pytest.fixture
def nested(pytester: pytest.Pytester) -> Nested:
    """A project with the plugin; fill it with targets."""
    return Nested(pytester)
