"""What a user waits for: the radiata evidence from a cold process to the printed number.

`make speed` runs it three times beside a peer that does less: NumPyro's NUTS, which only draws from
the posterior, with as many chains and iterations. Each time there are two processes: one with an
empty cache, and a second one that reads what the first has compiled. Seconds depend on the machine,
the ratios less.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

REPEATS = 3

OURS = """
import json, time
begun = time.perf_counter()
import refti
from refti.paper.radiata import model as radiata
model = radiata.density()
refti.evidence
imported = time.perf_counter()
result = refti.evidence(model, ladder=refti.uniform(11), warmup=1000, kept=1000, progress=False)
done = time.perf_counter()
print(json.dumps({
    "import": imported - begun,
    "compile": result.cost.compile_seconds,
    "trace": result.cost.trace_seconds,
    "rest": done - imported - result.cost.compile_seconds,
    "total": done - begun,
    "programs": result.cost.programs,
    "gradients": result.cost.gradient_evaluations,
}))
"""

PEER = """
import json, time
begun = time.perf_counter()
import jax
import numpyro
from numpyro.infer import MCMC, NUTS
from refti.paper.radiata import model as radiata
numpyro.enable_x64()
covariate = radiata.SPECIMENS[:, 1] - radiata.SPECIMENS[:, 1].mean()
def model():
    tau = numpyro.sample("tau", numpyro.distributions.Gamma(3.0, 2 * 300.0**2))
    alpha = numpyro.sample("alpha", numpyro.distributions.Normal(3000, (0.06 * tau) ** -0.5))
    beta = numpyro.sample("beta", numpyro.distributions.Normal(185, (6 * tau) ** -0.5))
    mean = alpha + beta * covariate
    numpyro.sample("y", numpyro.distributions.Normal(mean, tau**-0.5), obs=radiata.SPECIMENS[:, 0])
imported = time.perf_counter()
options = dict(num_warmup=1000, num_samples=1000, num_chains=4, chain_method="vectorized")
kernel = NUTS(model, init_strategy=numpyro.infer.init_to_median)
sampler = MCMC(kernel, progress_bar=False, **options)
sampler.run(jax.random.key(0))
jax.block_until_ready(sampler.get_samples())
done = time.perf_counter()
print(json.dumps({"import": imported - begun, "total": done - begun}))
"""


def main() -> None:
    """Prints the seconds of each part and the ratios to the first process and to the peer."""
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as cache:
            ours, again = _run(OURS, cache), _run(OURS, cache)
            peer = _run(PEER, cache)
        for name, one in (("evidence", ours), ("in a second process", again)):
            parts = ("import", "trace", "compile", "rest")
            told = ", ".join(f"{part} {one[part]:.1f} s" for part in parts)
            print(
                f"{name}: {one['total']:.1f} s ({told}; {one['programs']} programs, "
                f"{one['gradients']:,} gradients); "
                f"ratio to the first {one['total'] / ours['total']:.2f}"
            )
        print(
            f"NumPyro NUTS, posterior only: {peer['total']:.1f} s; "
            f"ratio of the evidence to it {ours['total'] / peer['total']:.2f}",
            flush=True,
        )


def _run(program: str, cache: str) -> dict[str, float]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    finished = subprocess.run(
        [sys.executable, "-c", program],
        env={**kept, "REFTI_CACHE": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(finished.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
