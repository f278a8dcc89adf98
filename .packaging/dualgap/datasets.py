"""The module `problems.datasets`, for `from dualgap.datasets import load`."""

import sys

from problems import datasets
from problems.datasets import *

sys.modules[__name__] = datasets
