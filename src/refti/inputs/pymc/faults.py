"""What keeps a PyMC model from having an evidence, found in its graph before anything is run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refti.errors import ModelError
from refti.inputs.pymc.discrete import discrete_names
from refti.inputs.pymc.graph import ancestors

IMPROPER = ("FlatRV", "HalfFlatRV")


def require_pymc_model(model: object) -> None:
    """Raises ModelError if PyMC is not installed, or this is none of its models."""
    try:
        import pymc
    except ImportError as missing:
        raise ModelError(
            "from_pymc needs the package pymc, which is not installed. "
            'Run pip install "refti[pymc]".'
        ) from missing
    if not isinstance(model, pymc.Model):
        raise ModelError(
            f"Expected a pymc.Model; got {type(model).__name__}. Write "
            "`with pymc.Model() as model: ...`, then refti.from_pymc(model)."
        )


def require_integrable(model: Any) -> None:
    """Raises ModelError, with all faults together, if what was given cannot have an evidence."""
    if not model.free_RVs:
        raise ModelError(
            "The model has no free variables, so there is nothing to integrate over. Give the "
            "model at least one unobserved variable with a prior. Of a point null hypothesis the "
            "log evidence is model.compile_logp()({})."
        )
    faults = [
        *_discrete(model),
        *_improper(model),
        *_elementwise(model),
        *_wrapped(model),
        *_random(model),
        *_short(model),
    ]
    if faults:
        raise ModelError("\n".join(faults))


def _discrete(model: Any) -> list[str]:
    faults = []
    finite, others = (discrete_names(model, finite=which) for which in (True, False))
    if finite:
        faults.append(
            f"Discrete free variables: {_listed(finite)}. Evidence needs a density over "
            "continuous parameters: run pip install pymc-extras, so that refti can sum them out, "
            "or write them as a mixture."
        )
    if others:
        faults.append(
            f"Discrete free variables with infinitely many values: {_listed(others)}. Evidence "
            "needs a density over continuous parameters: sum them out by hand, such as by a "
            "negative binomial for a Poisson of gamma rate."
        )
    return faults


def _improper(model: Any) -> list[str]:
    names = [
        rv.name
        for rv in model.free_RVs
        if any(_kind(part) in IMPROPER for part in [rv, *_inside(model, rv)])
    ]
    if not names:
        return []
    return [
        f"Improper flat priors: {_listed(names)}. The evidence does not exist under a prior that "
        "has no finite integral: give a proper one, such as a wide Normal or HalfNormal."
    ]


def _inside(model: Any, rv: Any) -> list[Any]:
    """What a variable is made of, such as the first value of a random walk or a mixture's parts."""
    from pytensor.graph.traversal import ancestors as all_above

    return list(all_above(rv.owner.inputs, blockers=model.free_RVs))


def _elementwise(model: Any) -> list[str]:
    """Free Wishart matrices: PyMC has no transform for them, so that each element goes its way."""
    names = [
        rv.name
        for rv in model.free_RVs
        if _kind(rv) == "WishartRV" and model.rvs_to_transforms[rv] is None
    ]
    if not names:
        return []
    return [
        f"Free Wishart variables: {_listed(names)}. PyMC moves each of their elements by itself, "
        "so that no matrix is symmetric and the density is zero nearly everywhere: use "
        "pm.LKJCholeskyCov."
    ]


def _wrapped(model: Any) -> list[str]:
    """Circular variables: PyMC repeats their density for ever along the real line."""
    names = [
        rv.name
        for rv in model.free_RVs
        if type(model.rvs_to_transforms[rv]).__name__ == "CircularTransform"
    ]
    if not names:
        return []
    return [
        f"Circular transforms: {_listed(names)}. They repeat the density without end, so that its "
        "integral is infinite: pass default_transform=None, transform=pymc.distributions."
        "transforms.Interval(-numpy.pi, numpy.pi)."
    ]


def _random(model: Any) -> list[str]:
    """Parts whose value changes from one evaluation to the next."""
    from pytensor.tensor.random.op import RandomVariable

    batches = [rv.name for rv in model.observed_RVs if _kind(rv) == "MinibatchRandomVariable"]
    everything = [*model.free_RVs, *model.observed_RVs, *model.potentials]
    observed = [model.rvs_to_values[rv] for rv in model.observed_RVs]
    batches += [
        variable.name
        for variable in [*everything, *observed]
        if any(_kind(above) == "MinibatchOp" for above in ancestors([variable]))
    ]
    faults = []
    if batches:
        faults.append(
            f"Minibatches or total_size: {_listed(batches)}. The evidence is of all the data: "
            "observe all of them."
        )
    simulated = [rv.name for rv in model.basic_RVs if _is_simulator(rv)]
    if simulated:
        faults.append(
            f"Simulators: {_listed(simulated)}. Their likelihood is random and not a density: "
            "refti needs one it can evaluate."
        )
    if not faults:
        potentials = model.replace_rvs_by_values(model.potentials)
        named = zip(model.potentials, potentials, strict=True)
        drawn = [
            potential.name
            for potential, graph in named
            if any(
                above.owner and isinstance(above.owner.op, RandomVariable)
                for above in ancestors([graph])
            )
        ]
        if drawn:
            faults.append(
                f"Potentials that draw random numbers: {_listed(drawn)}. A density must not change "
                "from one evaluation to the next: make what they draw a variable of the model."
            )
    return faults


def _short(model: Any) -> list[str]:
    names = [rv.name for rv in model.basic_RVs if rv.dtype in ("float16", "float32")]
    if not names:
        return []
    return [
        f"32-bit variables: {_listed(names)}. Log densities need 64 bits: set "
        'pytensor.config.floatX = "float64" before the model is built.'
    ]


def _is_simulator(rv: Any) -> bool:
    return any(base.__name__ == "SimulatorRV" for base in type(rv.owner.op).__mro__)


def _kind(variable: Any) -> str:
    return type(variable.owner.op).__name__ if variable.owner is not None else ""


def _listed(names: Sequence[str | None]) -> str:
    return ", ".join(f'"{name}"' for name in dict.fromkeys(names) if name)
