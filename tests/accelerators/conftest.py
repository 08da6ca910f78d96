"""Programs are compiled for descriptions of arrays, which are no arrays: shapes and types are not checked here."""

import jaxtyping
import pytest


@pytest.fixture(autouse=True)
def unchecked_shapes():
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)
