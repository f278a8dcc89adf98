"""Samples in blocks, one of which is in memory at a time."""

from dualgap.problems.blocks.base import Blocks, ChangedBlock
from dualgap.problems.blocks.rule import DualRule
from dualgap.problems.blocks.sources import ArraySource, Block, BlockSource

__all__ = ["ArraySource", "Block", "BlockSource", "Blocks", "ChangedBlock", "DualRule"]
