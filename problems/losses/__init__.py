"""Losses ℓ(y, f), registered by their class names in snake case."""

from dualgap.problems.losses.base import Loss, ScalarLoss, Terms, VectorLoss
from dualgap.problems.losses.interval import (
    EpsilonInsensitive,
    Hinge,
    IntervalLoss,
    Perceptron,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from dualgap.problems.losses.logistic import Logistic
from dualgap.problems.losses.piecewise import PiecewiseLinear
from dualgap.problems.registry import Registry

LOSSES = Registry(ScalarLoss, "loss", __name__)

__all__ = [
    "LOSSES",
    "EpsilonInsensitive",
    "Hinge",
    "IntervalLoss",
    "Logistic",
    "Loss",
    "Perceptron",
    "PiecewiseLinear",
    "ScalarLoss",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Terms",
    "VectorLoss",
]
