"""Data sets of OpenML are those of their number and checksum, or refused; openml.org is not asked."""

import hashlib
import json

import numpy as np
import pytest
import sklearn.datasets._openml as client

from dualgap.problems import datasets

ARFF = """\
@RELATION small
@ATTRIBUTE length REAL
@ATTRIBUTE width REAL
@ATTRIBUTE class {left,right}
@DATA
1.5,2.0,left
0.5,4.0,right
3.5,1.0,right
"""
COLUMNS = [("length", "numeric"), ("width", "numeric"), ("class", "nominal")]
NEITHER = dict.fromkeys(["is_target", "is_ignore", "is_row_identifier"], "false")
FEATURES = [
    {"index": str(i), "name": name, "data_type": kind, "number_of_missing_values": "0"} | NEITHER
    for i, (name, kind) in enumerate(COLUMNS)
]
FEATURES[-1]["is_target"] = "true"


@pytest.fixture
def openml(server, tmp_path, monkeypatch):
    """A server that has one data set, number 7."""
    monkeypatch.setenv("DUALGAP_CACHE", str(tmp_path / "cache"))
    for name, path in (
        ("DATA_INFO", ""),
        ("DATA_FEATURES", "features/"),
        ("DATA_QUALITIES", "qualities/"),
    ):
        monkeypatch.setattr(client, f"_{name}", f"{server.address}/info/{path}{{}}")
    description = {
        "id": "7",
        "name": "small",
        "version": "1",
        "format": "ARFF",
        "status": "active",
        "description": "",
        "file_id": "9",
        "url": f"{server.address}/data/v1/download/9/small.arff",
        "md5_checksum": hashlib.md5(ARFF.encode()).hexdigest(),
    }
    qualities = [{"name": "NumberOfInstances", "value": "3.0"}]
    contents = {
        "info/7": {"data_set_description": description},
        "info/features/7": {"data_features": {"feature": FEATURES}},
        "info/qualities/7": {"data_qualities": {"quality": qualities}},
    }
    files = {path: json.dumps(content) for path, content in contents.items()}
    for path, text in (files | {"data/v1/download/9/small.arff": ARFF}).items():
        (server.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (server.folder / path).write_text(text)
    return server.requests


def test_a_number_is_read_with_its_checksum_and_downloaded_once(openml):
    with pytest.raises(ValueError, match="openml_7 now has sha256: ") as refusal:
        datasets.make("openml", id=7).check()
    checksum = str(refusal.value).rpartition(" ")[2]
    before = len(openml)
    data = datasets.load("openml", id=7, sha256=checksum, positive="right")
    assert len(openml) == before == 4
    assert data.name == "openml_7"
    np.testing.assert_array_equal(data.X, [[1.5, 2.0], [0.5, 4.0], [3.5, 1.0]])
    np.testing.assert_array_equal(data.y, [-1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=f"expected checksum {'0' * 64}, found {checksum}"):
        datasets.load("openml", id=7, sha256="0" * 64)


@pytest.mark.usefixtures("openml")
def test_a_missing_data_set_or_a_nonnumeric_column_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(client.time, "sleep", lambda _: None)
    refused = pytest.raises(OSError, match="openml_8: could not be downloaded")
    with pytest.warns(UserWarning, match="Retrying"), refused:
        datasets.load("openml", id=8, sha256="0" * 64)
    with pytest.raises(ValueError, match=r"columns but width are features.*not: class"):
        datasets.load("openml", id=7, target="width", sha256="0" * 64)
    with pytest.raises(ValueError, match="sha256: must be 64 hexadecimal digits"):
        datasets.make("openml", id=7, sha256="abc")


@pytest.mark.usefixtures("openml")
def test_a_target_that_is_not_a_column_is_refused_by_name():
    with pytest.raises(ValueError, match=r"target: openml_7: .*target_column='side'"):
        datasets.make("openml", id=7, target="side").check()


@pytest.mark.usefixtures("openml")
def test_a_data_set_without_a_target_is_refused_by_name(server):
    features = [*FEATURES[:-1], FEATURES[-1] | {"is_target": "false"}]
    text = json.dumps({"data_features": {"feature": features}})
    (server.folder / "info/features/7").write_text(text)
    with pytest.raises(ValueError, match="target: OpenML names no column of openml_7"):
        datasets.make("openml", id=7).check()
