"""What the repository's own runs share, of the tests as of the benchmark: markers, and where data lies.

The benchmark's data sets lie in ``data/`` beside this file, or where ``--ab-data`` says; recordings that only the tests
read lie beside the checkout. Both may be absent: what needs them is skipped, and says where it looked.
"""

from pathlib import Path

import pytest

RECORDINGS = Path(__file__).resolve().parent.parent / "shared" / "data"


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a CUDA device; all of them lie in tests/gpu")
    config.addinivalue_line("markers", "slow: a long sweep, of which the ordinary run has a small part; run by -m slow")


@pytest.fixture(scope="session")
def shared():
    """The folder of real recordings, published manifests and recorded answers beside the checkout."""
    if not RECORDINGS.is_dir():
        pytest.skip(f"no recordings lie beside this checkout (looked for {RECORDINGS})")
    return RECORDINGS
