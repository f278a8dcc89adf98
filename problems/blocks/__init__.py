"""Samples in blocks, of which one at a time is in memory."""

from dualgap.problems.blocks.base import ArraySource, Block, Blocks, BlockSource, ChangedBlock
from dualgap.problems.blocks.rule import DualRule

__all__ = ["ArraySource", "Block", "BlockSource", "Blocks", "ChangedBlock", "DualRule"]
