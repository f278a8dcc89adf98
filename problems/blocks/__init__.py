"""Samples in blocks, of which one at a time is in memory."""

from problems.blocks.base import ArraySource, Block, Blocks, BlockSource, ChangedBlock
from problems.blocks.rule import DualRule

__all__ = ["ArraySource", "Block", "BlockSource", "Blocks", "ChangedBlock", "DualRule"]
