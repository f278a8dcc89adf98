"""The module `dualgap.problems.datasets`, for `from dualgap.datasets import load`."""

import sys

from dualgap.problems import datasets
from dualgap.problems.datasets import *

sys.modules[__name__] = datasets
