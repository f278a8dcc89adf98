"""Published data sets: found, downloaded, verified; real ones where DUALGAP_DATA names them."""

import bz2
import gzip
import lzma
import os
from dataclasses import replace

import numpy as np
import pytest
from tests.halves import quick_cases

from dualgap.problems import datasets
from dualgap.problems.dataset import Dataset
from dualgap.problems.datasets.published import ENTRIES, Entry, locate

REAL = os.environ.get("DUALGAP_DATA")
TEXT = b"1 1:0.1 2:0.25\n2 1:-3\n2 2:0.7\n"
SAMPLES = np.array([[0.1, 0.25, 0], [-3, 0, 0], [0, 0.7, 0]])
LABELS = np.array([1.0, 2.0, 2.0])
COUNTS = {"usps": (7291, 644), "a9a": (32561, 7841), "mushrooms": (8124, 4208)}


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """An empty data folder and an empty cache, whatever the environment says."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("DUALGAP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("DUALGAP_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def entry(monkeypatch):
    """A small published set, `tiny`: three features, of which the last is zero throughout."""
    checksum = Dataset(SAMPLES, LABELS).checksum
    tiny = Entry("tiny", 3, 3, "classification", checksum, None, "none")
    monkeypatch.setitem(ENTRIES, "tiny", tiny)
    return tiny


@pytest.fixture
def publish(monkeypatch, entry, server):
    """Serve a file over HTTP as the place where `tiny` is published."""

    def serve(name, content):
        if content is not None:
            (server.folder / name).write_bytes(content)
        url = f"{server.address}/{name}"
        monkeypatch.setitem(ENTRIES, "tiny", replace(entry, url=url))
        return url

    return serve


def save_npz(path):
    np.savez(path, X=SAMPLES[:, :2].astype(np.float32), y=LABELS.astype(np.int8))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tiny.libsvm.xz", lzma.compress(TEXT)),
        ("tiny", TEXT),
        ("tiny.bz2", bz2.compress(TEXT)),
        ("tiny.gz", gzip.compress(TEXT)),
    ],
    ids=["xz", "plain", "bz2", "gz"],
)
@pytest.mark.parametrize("folder", ["data", "cache"])
def test_a_local_file_of_every_format_is_used(folders, entry, folder, name, content):
    (folders / folder).mkdir(exist_ok=True)
    (folders / folder / name).write_bytes(content)
    data = datasets.load("tiny")
    assert (data.X.toarray() if hasattr(data.X, "toarray") else data.X).tolist() == SAMPLES.tolist()
    assert data.y.tolist() == [-1, 1, 1]
    assert data.name == "tiny"


def test_npz_in_single_precision_has_the_published_decimals(folders, entry, monkeypatch):
    save_npz(folders / "data" / "tiny.npz")
    with pytest.raises(ValueError, match=r"expected tiny with checksum"):
        datasets.load("tiny")
    monkeypatch.setitem(ENTRIES, "tiny", replace(entry, decimals=2))
    from_npz = datasets.load("tiny")
    (folders / "data" / "tiny.libsvm.xz").write_bytes(lzma.compress(TEXT))
    assert from_npz.checksum == datasets.load("tiny").checksum


def test_the_data_folder_precedes_the_cache(folders, entry):
    (folders / "cache").mkdir()
    for folder in ("cache", "data"):
        (folders / folder / "tiny").write_bytes(TEXT)
    assert locate("tiny") == folders / "data" / "tiny"


def test_a_data_folder_that_does_not_exist_is_an_error(folders, entry, monkeypatch):
    monkeypatch.setenv("DUALGAP_DATA", str(folders / "nowhere"))
    with pytest.raises(NotADirectoryError, match=r"^DUALGAP_DATA: .*nowhere is not a folder"):
        datasets.make("tiny").check()


def test_cache_is_the_users_without_the_variable(monkeypatch):
    monkeypatch.delenv("DUALGAP_CACHE")
    assert "dualgap" in str(datasets.cache_folder())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TEXT.replace(b"0.7", b"0.8"), "expected tiny with checksum .*, found [0-9a-f]{64}"),
        (TEXT.replace(b"2 2:", b"1 2:"), "expected tiny with checksum .*, found [0-9a-f]{64}"),
        (TEXT + b"1 1:1\n", r"expected tiny with shape \(3, 3\), found \(4, 2\)"),
        (TEXT.replace(b" 2:0.7", b" 4:0.7"), r"expected tiny with shape \(3, 3\), found \(3, 4\)"),
        (b"spam\n", "line 1: could not convert string to float: b'spam'"),
    ],
)
def test_other_content_is_refused_with_the_file_and_both_sums(folders, entry, content, message):
    (folders / "data" / "tiny").write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        datasets.load("tiny")
    assert str(error.value).startswith(str(folders / "data" / "tiny"))


@pytest.mark.parametrize(("name", "content"), [("tiny", TEXT), ("tiny.bz2", bz2.compress(TEXT))])
def test_a_download_is_verified_and_cached(folders, publish, capfd, name, content):
    publish(name, content)
    first = datasets.load("tiny")
    assert [path.name for path in (folders / "cache").iterdir()] == [name]
    (folders / "www" / name).unlink()
    assert datasets.load("tiny").checksum == first.checksum
    assert capfd.readouterr() == ("", "")


def test_a_download_of_other_content_is_refused_and_not_cached(folders, publish):
    url = publish("tiny", b"<html>moved</html>\n")
    with pytest.raises(
        ValueError, match=r"line 1: could not convert string to float: b'<html>moved"
    ) as error:
        datasets.load("tiny")
    assert str(error.value).startswith(url)
    assert list((folders / "cache").iterdir()) == []


def test_a_failed_download_explains_where_to_put_the_file(folders, publish):
    url = publish("tiny", None)
    with pytest.raises(
        OSError, match=f"^tiny: could not download {url} .*404.*put the file as"
    ) as e:
        datasets.load("tiny")
    assert str(folders / "data") in str(e.value)
    assert list((folders / "cache").iterdir()) == []


def test_an_unreachable_server_explains_where_to_put_the_file(entry, monkeypatch):
    monkeypatch.setitem(ENTRIES, "tiny", replace(entry, url="http://127.0.0.1:9/tiny"))
    datasets.make("tiny").check()
    with pytest.raises(
        OSError, match=r"^tiny: could not download .*put the file as tiny, tiny.bz2"
    ):
        datasets.load("tiny")


def test_cache_that_cannot_be_written_is_an_os_error(folders, publish):
    (folders / "cache").write_text("a file")
    publish("tiny", TEXT)
    with pytest.raises(OSError, match=r"^tiny: could not download"):
        datasets.load("tiny")


def test_check_explains_where_to_put_a_file_without_a_download_url(entry):
    with pytest.raises(
        FileNotFoundError, match=r"^tiny: no download is known.*put the file as tiny"
    ):
        datasets.make("tiny").check()
    with pytest.raises(FileNotFoundError, match=r"^tiny: no download is known"):
        datasets.load("tiny")


def test_published_regression_refuses_positive():
    with pytest.raises(ValueError, match=r"^positive: abalone is a regression data set"):
        datasets.make("abalone", positive=9)


def test_unknown_published_name_is_refused():
    with pytest.raises(ValueError, match=r"^name: must be one of a1a, a9a, .*got 'a10a'"):
        datasets.Published(name="a10a")


def test_definition_of_the_checksum_has_not_changed():
    """If it has to, every checksum of the catalogue must be computed anew."""
    assert (
        Dataset(SAMPLES, LABELS).checksum
        == "1d8191f115ba3e4c3fc3a3c8135f171eba9792c1e2b506477ae3007d92d94a9b"
    )


def test_catalogue_is_complete_and_well_formed():
    assert len(ENTRIES) == 25
    for name, entry in ENTRIES.items():
        assert entry.name == name
        assert len(entry.checksum) == 64
        assert entry.url is None or entry.url.startswith("https://www.csie.ntu.edu.tw/~cjlin/")


@pytest.mark.skipif(not REAL, reason="DUALGAP_DATA is not set: no folder with the published files")
@pytest.mark.parametrize("name", quick_cases(ENTRIES, COUNTS))
def test_real_data_has_the_published_content(name, monkeypatch):
    monkeypatch.setenv("DUALGAP_DATA", str(REAL))
    if locate(name) is None:
        pytest.skip(f"no file of {name} in {REAL}")
    data = datasets.load(name, positive=9 if name.startswith("usps") else None)
    entry = ENTRIES[name]
    assert (data.n, data.d) == (entry.n, entry.d)
    if entry.task == "classification":
        assert set(data.y) == {-1.0, 1.0}
    if name in COUNTS:
        assert (data.n, (data.y == 1).sum()) == COUNTS[name]
