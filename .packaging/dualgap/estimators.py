"""The module `dualgap.solvers.estimators`, for `from dualgap.estimators import SVC`."""

import sys

from dualgap.solvers import estimators
from dualgap.solvers.estimators import *

sys.modules[__name__] = estimators
