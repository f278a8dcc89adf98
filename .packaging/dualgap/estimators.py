"""The module `solvers.estimators`, for `from dualgap.estimators import SVC`."""

import sys

from solvers import estimators
from solvers.estimators import *

sys.modules[__name__] = estimators
