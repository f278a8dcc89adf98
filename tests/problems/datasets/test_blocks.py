"""Samples in blocks: every source gives the samples that were written, and names what is wrong."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy
from sklearn.datasets import dump_svmlight_file

from dualgap.problems import datasets
from dualgap.problems.datasets import dask_blocks, open_blocks

N = 60


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    return X, np.where(X[:, 0] + rng.standard_normal(N) > 0, 1.0, -1.0)


@pytest.fixture(params=["parquet", "parquet of text labels", "libsvm", "npy", "frame", "array"])
def written(request, samples, tmp_path):
    """Blocks of the same samples from each kind of source."""
    (X, y), kind = samples, request.param
    frame = pd.DataFrame(X, columns=list("abc")).assign(label=y)
    if kind == "parquet":
        frame[:35].to_parquet(tmp_path / "0.parquet", row_group_size=10)
        frame[35:][["label", "c", "b", "a"]].to_parquet(tmp_path / "1.parquet", row_group_size=10)
        return open_blocks(tmp_path / "*.parquet", target="label", rows=20)
    if kind == "parquet of text labels":
        frame["label"] = np.where(y > 0, "yes", "no")
        frame.to_parquet(tmp_path / "0.parquet", row_group_size=25)
        return open_blocks(tmp_path, target="label", rows=20, positive="yes")
    if kind == "libsvm":
        dump_svmlight_file(X, y, str(tmp_path / "all.libsvm"), zero_based=False, comment="by us")
        return open_blocks([tmp_path / "all.libsvm"], rows=20)
    if kind == "npy":
        for k, rows in enumerate((slice(0, 40), slice(40, N))):
            np.save(tmp_path / f"X_{k}.npy", X[rows])
            np.save(tmp_path / f"y_{k}.npy", y[rows])
        return open_blocks(tmp_path, rows=20)
    if kind == "frame":
        dd = pytest.importorskip("dask.dataframe")
        return dask_blocks(dd.from_pandas(frame, npartitions=3), target="label")
    da = pytest.importorskip("dask.array")
    return dask_blocks(da.from_array(X, chunks=(20, 2)), da.from_array(y, chunks=15))


def test_every_source_gives_the_samples_that_were_written(written, samples):
    blocks = pickle.loads(pickle.dumps(written))
    dense = [b.X.toarray() if scipy.sparse.issparse(b.X) else b.X for b in blocks]
    np.testing.assert_allclose(np.concatenate(dense), samples[0], rtol=1e-15)
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), samples[1])
    assert blocks.count >= 3
    assert blocks.target == "labels"
    assert all(blocks.read(k, verify=True).y.size == m for k, m in enumerate(blocks.sizes))


def test_a_column_of_weights_comes_with_the_samples(samples, tmp_path):
    frame = pd.DataFrame(samples[0]).rename(columns=str).assign(y=samples[1], c=np.arange(N) + 1.0)
    frame.to_parquet(tmp_path / "a.parquet")
    blocks = open_blocks(tmp_path, target="y", weight="c")
    assert blocks.d == 3
    np.testing.assert_array_equal(blocks.read(0).C, np.arange(N) + 1.0)
    np.testing.assert_array_equal(blocks.times(2.0).read(0).C, 2.0 * np.arange(N) + 2.0)


def test_row_groups_are_joined_up_to_the_rows_of_a_block(samples, tmp_path):
    pd.DataFrame({"a": np.arange(50.0), "y": 1}).to_parquet(
        tmp_path / "a.parquet", row_group_size=10
    )
    sizes = {r: open_blocks(tmp_path, target="y", rows=r).sizes for r in (5, 25, 99)}
    assert sizes == {5: (10,) * 5, 25: (20, 20, 10), 99: (50,)}


def test_a_bad_value_is_named_by_file_and_row(tmp_path):
    frame = pd.DataFrame({"a": np.arange(50.0), "y": 1.0})
    frame.loc[33, "a"] = np.nan
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=10)
    with pytest.raises(ValueError, match=r"^X: .*a\.parquet, row 33: has a NaN"):
        open_blocks(tmp_path, target="y", rows=20)
    frame = pd.DataFrame({"a": np.arange(50.0), "y": 1.0})
    frame.loc[41, "y"] = None
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=10)
    with pytest.raises(ValueError, match=r"^y: .*a\.parquet, row 41: is NaN"):
        open_blocks(tmp_path, target="y", rows=20)
    (tmp_path / "b.libsvm").write_text("1 1:2\n\n# none\n-1 1:3\n1 1:x\n")
    with pytest.raises(ValueError, match=r"^X: .*b\.libsvm, row 2: "):
        open_blocks(tmp_path / "b.libsvm", rows=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "nowhere/*.parquet"}, "no such file"),
        ({"path": "a.parquet"}, "target: name the column"),
        ({"path": "a.parquet", "target": "z"}, "target: .*a.parquet has no 'z'"),
        (
            {"path": "a.parquet", "target": "y", "positive": 7},
            "positive: no sample has the label 7",
        ),
        ({"path": "text.parquet", "target": "y"}, "features must be numbers, but a are not"),
        ({"path": "text.parquet", "target": "a"}, "labels are text, such as 'u'"),
        ({"path": ["a.parquet", "b.parquet"], "target": "y"}, "differ in columns: .'a', 'b'"),
        ({"path": "a.libsvm.gz"}, "cannot be read in blocks; decompress it first"),
        ({"path": "a.libsvm", "target": "y"}, "target: is only for Parquet"),
        ({"path": "empty.libsvm"}, "no samples at all"),
        ({"path": "a.libsvm", "rows": 0}, "^rows: must be a whole number of 1 or more, got 0"),
        ({"path": "X_0.npy"}, "y_0.npy: no such file"),
        ({"path": "fake.parquet", "target": "y"}, "fake.parquet: is not a Parquet file"),
    ],
)
def test_unreadable_files_are_refused_by_name(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": [1.0, 2.0], "y": [1, -1]}).to_parquet("a.parquet")
    pd.DataFrame({"b": [1.0, 2.0], "y": [1, -1]}).to_parquet("b.parquet")
    pd.DataFrame({"a": ["u", "v"], "y": [1, -1]}).to_parquet("text.parquet")
    np.save("X_0.npy", np.eye(2))
    for name, text in {"a.libsvm.gz": "x", "a.libsvm": "1 1:1\n", "empty.libsvm": ""}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "fake.parquet").write_text("1 1:1\n")
    with pytest.raises((ValueError, OSError), match=message):
        open_blocks(**options)


def test_generated_blocks_depend_only_on_seed_and_index():
    first, again = (
        datasets.load("generated_blocks", n=50, d=3, rows=20, seed=1).X for _ in range(2)
    )
    other = datasets.load("generated_blocks", n=50, d=3, rows=20, seed=2).X
    assert first.checksums == again.checksums
    assert not set(first.checksums) & set(other.checksums)
    assert len(set(first.checksums)) == first.count == 3
    assert first.target == "labels"
    assert datasets.load("generated_blocks", task="regression").X.target == "targets"


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_a_missing_label_of_a_frame_is_refused(missing):
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame({"a": np.arange(6.0), "label": ["yes", "no"] * 3})
    frame.loc[4, "label"] = missing
    with pytest.raises(ValueError, match="partition 1, row 1: is NaN"):
        dask_blocks(dd.from_pandas(frame, npartitions=2), target="label", positive="yes")


def test_the_index_of_a_frame_is_not_a_feature(samples, tmp_path):
    frame = pd.DataFrame(samples[0], columns=list("abc")).assign(label=samples[1])
    frame[frame.a > 0].to_parquet(tmp_path / "0.parquet")
    frame[frame.a <= 0].rename_axis("row").to_parquet(tmp_path / "1.parquet")
    blocks = open_blocks(tmp_path, target="label")
    assert (blocks.n, blocks.d) == (N, 3)


@pytest.mark.parametrize("as_text", [False, True], ids=["integers", "text"])
def test_integers_that_float64_rounds_are_different_labels(tmp_path, as_text):
    labels = 2**53 + np.arange(4) % 2
    frame = pd.DataFrame({"x": np.arange(4.0), "y": labels.astype(str) if as_text else labels})
    frame.to_parquet(tmp_path / "a.parquet")
    blocks = open_blocks(tmp_path / "a.parquet", target="y", positive=2**53 + 1)
    assert blocks.read(0).y.tolist() == [-1.0, 1.0, -1.0, 1.0]
