"""How `refti doctor` tries the extras: each does a small piece of its real work."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from refti.cli.findings import Complaint

STAN_PROGRAM = "parameters { real doctor; }\nmodel { doctor ~ normal(0, 1); }\n"
LOG_NORMAL_AT_0 = -0.9189385332046727


def try_stan(quick: bool) -> str:
    """Compiles a program of two lines."""
    from refti.inputs.stan.compiler import find_compiler
    from refti.inputs.stan.toolchain import find_toolchain

    toolchain, compiler = find_toolchain(), find_compiler()
    names = f"{toolchain.name} with {compiler.version}"
    if quick:
        return f"{names}; not compiled (--quick)"
    import numpy as np

    import refti

    begun = time.perf_counter()
    model = refti.from_stan(STAN_PROGRAM, {}, progress=False)
    value = float(model.log_densities(np.zeros((1, 1)))[0])
    if abs(value - LOG_NORMAL_AT_0) > 1e-9:
        raise Complaint(
            f"{names} gives {value} for the log density of a standard normal at 0",
            "Clear the cache and reinstall the package.",
        )
    return f"{names}; a program of two lines is right, in {time.perf_counter() - begun:.0f} s"


def try_pymc(quick: bool) -> str:
    """Evaluates a model of one parameter."""
    import numpy as np
    import pymc

    if quick:
        return "imported"
    import refti

    with pymc.Model() as normal:
        pymc.Normal("x", 0, 1)
    value = float(refti.from_pymc(normal).log_densities(np.zeros((1, 1)))[0])
    if abs(value - LOG_NORMAL_AT_0) > 1e-9:
        raise Complaint(
            f"the log density of a standard normal at 0 is {value}",
            "Reinstall pymc and pytensor in versions that fit each other.",
        )
    return "a model of one parameter is right"


def try_flow(quick: bool) -> str:
    """Evaluates a distribution."""
    import jax.numpy as jnp
    from flowjax.distributions import Normal

    value = float(Normal(jnp.zeros(1)).log_prob(jnp.zeros(1)))
    return f"a normal's log density at 0 is {value:.4f}"


def try_report(quick: bool) -> str:
    """Draws a figure and fills a page with it."""
    import io

    import jinja2
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot([0, 1])
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg")
    jinja2.Template("{{ figure }}").render(figure=drawn.getvalue())
    return "a figure was drawn"


def try_discrete(quick: bool) -> str:
    """Sums a coin out of a NumPyro model."""
    import numpy as np
    import numpyro
    from numpyro.distributions import Bernoulli, Normal

    import refti

    def coin_and_normal() -> None:
        numpyro.sample("coin", Bernoulli(0.3))
        x = numpyro.sample("x", Normal(0, 1))
        numpyro.sample("datum", Normal(x, 1), obs=0.0)

    value = float(refti.from_numpyro(coin_and_normal).log_densities(np.zeros((1, 1)))[0])
    if abs(value - 2 * LOG_NORMAL_AT_0) > 1e-9:
        raise Complaint(
            f"a log density that should be {2 * LOG_NORMAL_AT_0:.4f} is {value}",
            "Reinstall funsor and numpyro in versions that fit each other.",
        )
    return "a discrete variable was summed out"


def try_pdf(quick: bool) -> str:
    """Looks for the browser that prints reports; it is not needed for anything else."""
    from refti.errors import SettingsError
    from refti.reports.pdf import find_browser, write_pdf

    try:
        browser = find_browser()
    except SettingsError:
        return "not possible, as Chromium is not installed; reports are HTML"
    if quick:
        return f"{browser}; nothing printed (--quick)"
    with tempfile.TemporaryDirectory(prefix="refti-") as folder:
        page = Path(folder) / "page.pdf"
        write_pdf(browser, "<!doctype html><title>doctor</title><p>doctor</p>", page)
        return f"{browser} printed a page of {page.stat().st_size / 1000:.0f} kB"


def try_arviz(quick: bool) -> str:
    """Summarises draws in the form that results are handed to it."""
    import arviz
    import numpy as np
    import xarray

    from refti.results.inference_data import to_inference_data

    draws = xarray.Dataset({"x": (("chain", "draw"), np.arange(20.0).reshape(2, 10))})
    summary = arviz.summary(to_inference_data(draws, {}))
    return f"a summary of {len(summary)} parameter was made"


def try_dask(quick: bool) -> str:
    """Starts a cluster of one worker on loopback and lets it compute."""
    if quick:
        return "no worker started (--quick)"
    from refti.executors.dask_pool import local_cluster

    pool = local_cluster(1)
    try:
        answer = pool.submit(sum, [1, 2]).result(timeout=60)
    finally:
        pool.close()
    if answer != 3:
        raise Complaint(f"a worker says that 1 + 2 is {answer}", "Install distributed again.")
    return "a worker on this machine answers"
