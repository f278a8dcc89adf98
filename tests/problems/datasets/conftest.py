"""What the tests of data sets share: files of the user's own."""

import pytest


@pytest.fixture
def write(tmp_path):
    def save(content, name="data.libsvm"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return save
