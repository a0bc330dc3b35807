"""`noise`: random numbers added to columns of numbers, each by itself or so that means and covariances stay."""

from pramana.methods.noise.method import NoiseMethod

METHODS = {NoiseMethod.name: NoiseMethod()}

__all__ = ["METHODS"]
