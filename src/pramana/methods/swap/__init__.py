"""`swap`: values exchanged between records, every column by itself as in the source."""

from pramana.methods.swap.method import SwapMethod

METHODS = {SwapMethod.name: SwapMethod()}

__all__ = ["METHODS"]
