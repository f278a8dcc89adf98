"""Samples in blocks, of which one at a time is in memory."""

from dualgap.problems.blocks.base import Blocks, ChangedBlock
from dualgap.problems.blocks.rule import DualRule
from dualgap.problems.blocks.sources import ArraySource, Block, BlockSource

__all__ = ["ArraySource", "Block", "BlockSource", "Blocks", "ChangedBlock", "DualRule"]
