"""What the tests of data sets share: files of the user's own, and a server of files."""

import http.server
import threading
from functools import partial

import pytest


@pytest.fixture
def write(tmp_path):
    def save(content, name="data.libsvm"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return save


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        self.server.requests.append(self.path)


@pytest.fixture
def server(tmp_path):
    """A server of the files in `www`, with its address and what it was asked for."""
    (tmp_path / "www").mkdir()
    handler = partial(Handler, directory=str(tmp_path / "www"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as http_server:
        http_server.folder, http_server.requests = tmp_path / "www", []
        http_server.address = f"http://127.0.0.1:{http_server.server_port}"
        threading.Thread(target=http_server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield http_server
        http_server.shutdown()
