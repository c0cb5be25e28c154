"""Begins Stan's precompiled header in the background, as the tests compile many programs."""

from refti.inputs.stan.toolchain import find_toolchain
from refti.inputs.stan.wheel import Wheel

if __name__ == "__main__":
    toolchain = find_toolchain()
    if isinstance(toolchain, Wheel):
        toolchain.header.is_ready(many_to_come=True)
