"""The prior of a Stan program: what its text tells of it, what that is in nats, and what is left.

What the text cannot tell is asked of the density, by the program with its likelihood switched off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from refti.errors import ModelError
from refti.inputs.stan.density import BatchEvaluator, StanDensity
from refti.inputs.stan.flatness import flat_directions
from refti.inputs.stan.priors import Priors, read_priors
from refti.inputs.stan.program import Program
from refti.inputs.stan.sizes import known_data
from refti.inputs.stan.space import StanSpace
from refti.inputs.stan.uniform_priors import log_volumes
from refti.inputs.stan.unit_vectors import UnitVectors, unit_vectors

NO_SIZE = 1e-9  # nats that are rounding: a flat density between 0 and 1 integrates to 1
ANOTHER_WAY = (
    "If the program has one in a form that was not recognised, give prior=, a program with the "
    "prior alone, which is then checked to integrate to one, or set check_prior=False "
    "(--no-prior-check)."
)


@dataclass(frozen=True)
class Sizes:
    """What is known of a prior's integral, in nats.

    Attributes:
        volumes: by parameter with an implicit uniform prior, the log of its integral; None where
            it depends on other parameters.
        cut: by parameter, the log of what its bounds leave of its prior.
        excess: what the lengths of unit vectors add to the log evidence.
        random_data: whether the program draws its own data at random.
        unit_vectors: those of the program, if it has any.
        cut_by_others: parameters of which bounds leave a part that depends on other parameters.
    """

    volumes: Mapping[str, float | None]
    cut: Mapping[str, float]
    excess: float
    random_data: bool
    unit_vectors: UnitVectors | None = None
    cut_by_others: tuple[str, ...] = ()

    def normalised(self, uniform_priors: str) -> float:
        """What is to be added to the log density. Raises ModelError if that is no one number."""
        if uniform_priors == "keep":
            return -self.excess
        unknown = [name for name, volume in self.volumes.items() if volume is None]
        if unknown:
            raise ModelError(
                f"The bounds of {', '.join(unknown)} depend on other parameters, so that dividing "
                'by one number does not normalise a uniform prior between them: uniform_priors="'
                'normalise" cannot. Add its density to the program, such as '
                f"`{unknown[0]} ~ uniform(a, b);`."
            )
        return -self.excess - sum(volume or 0.0 for volume in self.volumes.values())

    @property
    def known_integral(self) -> float:
        """The log of the prior's integral as far as the text tells."""
        return sum(self.cut.values()) + sum(volume or 0.0 for volume in self.volumes.values())

    def notes(self, uniform_priors: str) -> list[str]:
        """What a reader of the evidence has to know."""
        found = []
        sizes = {
            n: volume for n, volume in self.volumes.items() if volume and abs(volume) > NO_SIZE
        }
        nats = sum(sizes.values())
        said = ", ".join(map(_with_nats, sizes.items()))
        if sizes and uniform_priors == "normalise":
            found.append(f"uniform priors were normalised ({said}): {-nats:+.3f} nats in log z")
        elif sizes:
            found.append(
                f"no statement gives a prior to {said}: a density of 1 between the bounds, whose "
                f"integral is exp({nats:.3f}) and not 1, so that log z holds {nats:+.3f} nats that "
                'a normalised uniform prior would not add; use uniform_priors="normalise" '
                "(--uniform-priors normalise) to take them out"
            )
        unknown = [name for name, volume in self.volumes.items() if volume is None]
        if unknown:
            found.append(
                f"no statement gives a prior to {', '.join(unknown)}: a density of 1 between "
                "bounds that depend on other parameters, whose integral depends on them too; add "
                f"its density, such as `{unknown[0]} ~ uniform(a, b);` with its bounds"
            )
        if self.cut:
            said = ", ".join(map(_with_nats, self.cut.items()))
            total = sum(self.cut.values())
            found.append(
                f"bounds cut off a part of the priors of {said}: together they integrate to "
                f"exp({total:.3f}) and not to 1; truncate them, such as by `T[0, ]`, for a "
                f"log z that is {-total:.3f} higher"
            )
        if self.cut_by_others:
            found.append(
                f"bounds cut off a part of the density of {', '.join(self.cut_by_others)} that "
                "depends on other parameters, so that it does not integrate to 1: of data that "
                "are censored this is as it should be, and check_prior=False (--no-prior-check) "
                "says so; of anything else, truncate it, such as by `T[a, b]`"
            )
        if self.random_data:
            found.append(
                "the program draws random data in its transformed data block (functions that end "
                "in _rng); they were drawn once, with seed 0, and log z is for these data"
            )
        return found


@dataclass(frozen=True)
class Known:
    """A program's priors as its text has them."""

    program: Program
    priors: Priors

    def measured(self, space: StanSpace) -> Sizes:
        """The priors' integrals in nats."""
        code = self.program.code
        begin, end = code.places.get("transformed data", (0, 0))
        vectors, excess = unit_vectors(space)
        return Sizes(
            log_volumes(space, code.parameters, self.priors.uniform),
            self.priors.cut,
            excess,
            "_rng" in code.text[begin:end],
            vectors,
            self.priors.cut_by_others,
        )


def read_known(program: Program, data: Mapping[str, Any]) -> Known:
    """What the text of a program tells of its priors, with these data."""
    return Known(program, read_priors(program.code, known_data(program.code.data, data)))


def require_no_flat(program: Program, known: Known) -> None:
    """Raises ModelError if a parameter without bounds has no prior, by the text."""
    if known.priors.flat:
        _refuse(program, known.priors.flat)


def require_prior_apart(program: Program, known: Known) -> None:
    """Raises ModelError if the prior cannot be had by leaving out what is made of data."""
    beside = known.priors.beside_data
    if beside:
        raise ModelError(
            f"{program.name} draws {', '.join(beside)} together with data in one statement, as "
            "values that are missing are, so its prior is not simply what remains without the "
            "data, where power posteriors start. Use the default path, or give prior=, a Stan "
            "program with the same parameters block and the prior alone."
        )


def checked_prior(
    program: Program, known: Known, sizes: Sizes, evaluator: BatchEvaluator, space: StanSpace
) -> StanDensity | None:
    """The density of the prior alone, with what the text knows of its integral divided out.

    None where parameters are drawn together with data, so that there is no prior of them alone.
    Raises ModelError if the density does not fall in some direction.
    """
    density = evaluator.density(-sizes.excess - sizes.known_integral, sizes.unit_vectors)
    owners = np.array(space.owners)
    beside = np.isin(owners, known.priors.beside_data)
    for direction in flat_directions(density, len(owners)):
        largest = np.abs(direction) > 0.1 * np.abs(direction).max()
        if not (largest & beside).any():
            _refuse(program, tuple(dict.fromkeys(owners[largest].tolist())))
    return None if known.priors.beside_data else density


def _refuse(program: Program, names: tuple[str, ...]) -> None:
    raise ModelError(
        f"{program.name} gives no prior to {', '.join(names)}. A flat prior over an unbounded "
        "range is improper, and with it the evidence does not exist. A parameter has a prior "
        "only where a density with the parameter itself on its left is added: it is not enough "
        "that it appears in an expression that data are compared with, such as `resid = y - a`. "
        f"Add a proper prior for each, such as `{names[0]} ~ normal(0, 10);`. {ANOTHER_WAY}"
    )


def _with_nats(item: tuple[str, float]) -> str:
    name, nats = item
    return f"{name} ({nats:+.3f} nats)"
