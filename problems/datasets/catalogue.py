"""The catalogue of published data sets: what each must contain, and where it is published.

Checksums are of the parsed content, not of a file: SHA-256 over the canonical CSR form of the
samples with the published number of features, and the labels as the source has them
(`Dataset.checksum`). Addresses are those of the LIBSVM data page (C.-C. Chang, C.-J. Lin).
There is none where the checked copy was made from another publication of the same data, which
need not agree with the file on that page in every digit, label or row: `usps` has the digits
0-9 as labels, `diabetes_scale` was scaled anew, `svmguide1.t`, `svmguide3`, `splice_scale`,
`abalone`, `cpusmall`, `housing` and `mpg` were converted. Those are found locally only.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Entry:
    """One published data set.

    Parameters
    ----------
    n, d
        Number of samples, and of features as published (the last may be zero throughout).
    checksum
        SHA-256 of the content.
    url
        Where to download it, None if there is no place with that content.
    licence
        As usually stated.
    decimals
        Decimals of the published values, where copies are in single precision.
    """

    name: str
    n: int
    d: int
    task: Literal["classification", "regression"]
    checksum: str
    url: str | None
    licence: str
    decimals: int | None = None


_SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"

_TABLE = (
    Entry(
        "a1a",
        1605,
        123,
        "classification",
        "e42e2e10285e15fe01464656fb0daca2169aa6a62cb3d3699f2fd52efe2a8618",
        _SITE + "binary/a1a",
        "UCI Adult CC BY 4.0",
    ),
    Entry(
        "a9a",
        32561,
        123,
        "classification",
        "30f7d1008fcc915b0116e7e98367fc72ec31c3b3262eacbf770377682d2fcb56",
        _SITE + "binary/a9a",
        "UCI Adult CC BY 4.0",
    ),
    Entry(
        "a9a.t",
        16281,
        123,
        "classification",
        "436bb4cd6ca6a73dc2267551595a118342c713e4f72bff446dfda2b262cdf273",
        _SITE + "binary/a9a.t",
        "UCI Adult CC BY 4.0",
    ),
    Entry(
        "w1a",
        2477,
        300,
        "classification",
        "e79d67564aeec49502e7d96336b63289f79f28f350bc4a12a636623e0ca7cd3b",
        _SITE + "binary/w1a",
        "unknown (Platt 1998)",
    ),
    Entry(
        "w8a",
        49749,
        300,
        "classification",
        "2e7cbdd2c971e7c358e0902a361398db33f0735b7d2e3cb3add0ef5d7878d1c7",
        _SITE + "binary/w8a",
        "unknown (Platt 1998)",
    ),
    Entry(
        "ijcnn1",
        49990,
        22,
        "classification",
        "e4c138431bb62405f2eaf279cb6f2302a1137e56d25c15d053018cc54e6c5699",
        _SITE + "binary/ijcnn1.bz2",
        "unknown (IJCNN 2001 challenge)",
    ),
    Entry(
        "ijcnn1.t",
        91701,
        22,
        "classification",
        "f54d3c12fe4d992dc54b0a70cbf7aa7e2042403af0fa2680dd27e3eec0f2581c",
        _SITE + "binary/ijcnn1.t.bz2",
        "unknown (IJCNN 2001 challenge)",
    ),
    Entry(
        "mushrooms",
        8124,
        112,
        "classification",
        "6fdff173c4455dcdb42875dcf88d3d807ed2d5b10072d2e3084cfc3206ac17e3",
        _SITE + "binary/mushrooms",
        "UCI Mushroom CC BY 4.0",
    ),
    Entry(
        "german.numer_scale",
        1000,
        24,
        "classification",
        "11de6c42006b5932afcde853d07655f19dbb6af6158a6e6be3ec6a5c0de64238",
        _SITE + "binary/german.numer_scale",
        "UCI Statlog German CC BY 4.0",
    ),
    Entry(
        "heart_scale",
        270,
        13,
        "classification",
        "e893b410614c710b928d481b9071b6fd1dd4633a42e1ecb3d5b9695f868fa337",
        _SITE + "binary/heart_scale",
        "UCI Statlog Heart CC BY 4.0",
    ),
    Entry(
        "australian",
        690,
        14,
        "classification",
        "b93f22d1b8c4ef33cac1040f2ad36313b56f87c7d951afffdbf0b66f666e13d8",
        _SITE + "binary/australian",
        "UCI Statlog Australian CC BY 4.0",
    ),
    Entry(
        "diabetes_scale",
        768,
        8,
        "classification",
        "a0679bdf35c0d1b829513bd15f8712dbee458c22dd358b6c150799b5b7b77a11",
        None,
        "UCI, GPL-2 (mlbench)",
    ),
    Entry(
        "splice_scale",
        1000,
        60,
        "classification",
        "e5033ed3e0c9c0692752c62998f3086aec51cc21fea9ebf669a0050a817027a7",
        None,
        "UCI Splice CC BY 4.0",
    ),
    Entry(
        "svmguide1",
        3089,
        4,
        "classification",
        "7a15a0236f49fa229f916674727f42ae5639f716191526b661f4ee5e2fda366a",
        _SITE + "binary/svmguide1",
        "unknown (LIBSVM guide)",
    ),
    Entry(
        "svmguide1.t",
        4000,
        4,
        "classification",
        "ad2174fb5e6300468cecb6c684d5e1bff0398a185753807074cbaa0cfdbb460e",
        None,
        "unknown (LIBSVM guide)",
    ),
    Entry(
        "svmguide3",
        1243,
        21,
        "classification",
        "3dc396c2c9710e35950d5d54f8ba980e07c7e3ac9f1e17335bc37747c9e9d9a0",
        None,
        "unknown (LIBSVM guide)",
    ),
    Entry(
        "fourclass",
        862,
        2,
        "classification",
        "cb86a43873082995f339add9acc474d583357869880aa497e7a76407ae02f406",
        _SITE + "binary/fourclass",
        "unknown",
    ),
    Entry(
        "usps",
        7291,
        256,
        "classification",
        "ed0ae74211ff01c22d9a323e4481e56438a6b3be9ba68cb8a733b85b4d3815ad",
        None,
        "none stated for the data",
        decimals=3,
    ),
    Entry(
        "usps.t",
        2007,
        256,
        "classification",
        "9283ddb83da2332ab5ca93762d91224ba7f710bb52c4c9ca6b5f3ed01a8ca01b",
        None,
        "none stated for the data",
        decimals=3,
    ),
    Entry(
        "farm-ads",
        4143,
        54877,
        "classification",
        "1c4669765a4b117e0cccd652ec71a3d72c3d611770f5b77c1b21806039dd3796",
        None,
        "UCI Farm Ads CC BY 4.0",
    ),
    Entry(
        "abalone",
        4177,
        8,
        "regression",
        "7046b353788a240ef5757c9f9c789a1348b03edcc05722cc4c191f69e96bda53",
        None,
        "UCI Abalone CC BY 4.0",
    ),
    Entry(
        "abalone_scale",
        4177,
        8,
        "regression",
        "7aeb04b52daab4e0a9933c0a247aba39e9c0e8221e833db78a06116d70d50e68",
        _SITE + "regression/abalone_scale",
        "UCI Abalone CC BY 4.0",
    ),
    Entry(
        "cpusmall",
        8192,
        12,
        "regression",
        "da5480c3a38c17fa5e694677522ae3ca623a196d55cb923141d35363bdb28735",
        None,
        "Delve (none stated)",
    ),
    Entry(
        "housing",
        506,
        13,
        "regression",
        "fdefb554ea650ddf271ae6a05cf837af489f30dc5444179fe5be734f770a9725",
        None,
        "UCI/StatLib (none stated)",
    ),
    Entry(
        "mpg",
        392,
        7,
        "regression",
        "63413818bb48980794430fc5cad177bbb235733e03b3e861d75b0b596edc72c9",
        None,
        "UCI Auto MPG CC BY 4.0",
    ),
)

ENTRIES: dict[str, Entry] = {entry.name: entry for entry in _TABLE}
