"""The estimators of one leg: each turns Draws into an Estimate of its log ratio of evidences."""

from __future__ import annotations

from refti.estimators.estimate import Estimate
from refti.estimators.mbar import bridge, mbar
from refti.estimators.stepping_stone import stepping_stone
from refti.estimators.ti import thermodynamic_integration

__all__ = ["Estimate", "bridge", "mbar", "stepping_stone", "thermodynamic_integration"]
