"""Words: what the page of the benchmark says besides its numbers."""

from __future__ import annotations

INTRODUCTION = """\
# Beside other programs

How long do refti and other programs take to get a log evidence that is right to 0.05 nats? Every
program has a process and an environment of its own with pinned versions, and runs at its defaults
on the same problem, whose evidence is known. The first run of a process is cold: its seconds
count from the start of Python, with importing and compiling. refti has nothing compiled on disk
here, as if it had never been run; *second process* has what a first one kept.

The table has the cold seconds of refti to a true error of 0.05, and those of the others as
multiples of it. Each program stops at an error of its own. So the seconds that it spent sampling
are scaled by (true error / 0.05)², which is how Monte Carlo errors go, and the rest is left as it
is: starting, compiling, warming up. Sampling is taken to be at least a quarter of what it was,
since no program can be made arbitrarily short. All that is generous to chains which stay on the
modes they began on. True errors are root mean squares over a few seeds; with three of them such a
number is known to about a factor of 2, and its square to 4, so small differences mean nothing.
*Wrong by* stands where a program is farther off than 2.5 times what it claims: sampling longer
does not cure that. A dash marks a problem that a program cannot take: nested samplers and
sequential Monte Carlo need a prior to draw from, R a program in the syntax of Stan 2.21.

These two rules, the quarter and the 2.5, were settled after the first rows had been seen, and on
those rows they favour refti: without the first, nautilus on radiata would be at 0.26× and nutpie
at 0.49×; with 4 instead of 2.5, NumPyro on the eggbox would have a multiple and not be called
wrong. The table of every number below does not depend on them.

![Seconds to a true error of 0.05 nats, by problem and program](_static/benchmarks_seconds.svg)
"""

CLOCKS = {
    "wall": "Seconds are those that a user waits.\n",
    "processor": (
        "Others used the machine while this was measured. So seconds are those that all cores\n"
        "together worked, and not those that a user waits; a program that uses two cores may take\n"
        "half as long as is shown here.\n"
    ),
}

READING = """\
## Whether claimed errors are right

![True errors against claimed ones](_static/benchmarks_claims.svg)

Programs above the line are farther from the truth than they say. One that claims no error is not
shown.

## Every number

Gradients and calls of the density are medians; MB is the most memory that the process had; *95 %
hold* is the share of 95 % intervals that hold the truth. *Limit* is the error that draws of that
number allow if all were independent and ideally spread over the path, ∫ sd_λ Δ dλ / √n, and in
brackets the share of it that was reached a draw, in squares. With two rungs the integral is
itself a rough one.
"""

# Why one would use it instead.
WHY = {
    "rstan": (
        "If the model is in R and small, and its posterior has one peak, it is a fine choice; "
        "it has no check that would tell you when it is wrong."
    ),
    "numpyro": (
        "For a posterior close to a Gaussian, draws of NUTS and a plain bridge are enough, "
        "and you have the draws; where it is not, nothing warns you."
    ),
    "nutpie": (
        "It draws fast, and for a posterior close to a Gaussian a plain bridge does the rest; "
        "where it is not, nothing warns you."
    ),
    "pymc_smc": (
        "If the model is in PyMC already it is one call, and it finds modes that lie apart."
    ),
    "dynesty": (
        "In a few dimensions, under a prior that is a simple box, it needs no gradient and "
        "finds every mode on its way in."
    ),
    "nautilus": (
        "In a few dimensions, under a prior that is a simple box and with a likelihood of "
        "microseconds, it starts at once, needs no gradient and finds every mode: use it "
        "there."
    ),
    "ultranest": (
        "In a few dimensions it starts at once, needs no gradient, finds every mode on its "
        "way in, and claims errors that are rather too large."
    ),
    "blackjax_nss": (
        "With a prior to draw from and a likelihood in JAX it runs many points side by side, "
        "on a GPU too, and finds every mode that its first points see."
    ),
    "blackjax_smc": (
        "With a prior to draw from and a likelihood in JAX it is quick, on a GPU too; it "
        "tells no error, so run it several times."
    ),
}
