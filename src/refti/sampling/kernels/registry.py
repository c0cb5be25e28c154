"""The kernels, one row each: what `kernel=` and `--kernel` take."""

from __future__ import annotations

from refti.sampling.kernels.base import Kernel
from refti.sampling.kernels.elliptical import ELLIPTICAL
from refti.sampling.kernels.hmc import HMC
from refti.sampling.kernels.nuts import NUTS

KERNELS: dict[str, Kernel] = {kernel.name: kernel for kernel in (HMC, NUTS, ELLIPTICAL)}
BY_VALUES = ELLIPTICAL.name  # the kernel of models that have no gradients
