import pytest
from tests.browser import launched


@pytest.fixture(scope="module")
def browser():
    """A browser for the tests of a file."""
    with launched() as browser:
        yield browser
