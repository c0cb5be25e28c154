"""Recipe: how a model was made, so that another process can make it again.

A recipe names a maker of models, such as `from_stan`, and what it was called with. Over the wire it
travels by cloudpickle, with functions made in a notebook and all; on disk it is plain values and
arrays, in which functions are names, so that nothing there is ever unpickled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import cloudpickle
import jax
import numpy as np

from refti.errors import ModelError
from refti.models.plain_values import Reader, Writer, find_name

T = TypeVar("T")

# What may stand in a file as a maker: a file must not be able to call anything else.
MAKERS = frozenset(
    {
        "refti.models.model:Model",
        "refti.inputs.named:from_name",
        "refti.inputs.numpyro.source:from_numpyro",
        "refti.inputs.pymc.source:from_pymc",
        "refti.inputs.python.source:from_callable",
        "refti.inputs.stan.source:from_stan",
    }
)


@dataclass(frozen=True, eq=False)
class Recipe:
    """A maker of models and what it was called with.

    Attributes:
        maker: its module and name, one of MAKERS.
        arguments: those given by place.
        keywords: those given by name.
        prior_only: whether the model is the prior of what the maker makes.
    """

    maker: str
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    prior_only: bool = False

    def build(self) -> Any:
        """The refti.Model, made anew. Raises what its maker raises where it cannot be."""
        make = find_name(self.maker)
        arguments = [thaw(value) for value in self.arguments]
        model = make(*arguments, **{name: thaw(v) for name, v in self.keywords.items()})
        return model.prior_alone() if self.prior_only else model

    def for_prior(self) -> Recipe:
        """The recipe of the prior alone."""
        return replace(self, prior_only=True)

    def to_bytes(self) -> bytes:
        """The recipe for the wire. Raises ModelError if a part cannot be sent."""
        try:
            return cloudpickle.dumps((self.maker, self.arguments, self.keywords, self.prior_only))
        except Exception as error:
            raise ModelError(
                f"The model cannot be sent to another process: {type(error).__name__}: {error}. "
                "Define its functions at the top level of a module, and let them use no open "
                "files, locks or connections."
            ) from error

    @classmethod
    def from_bytes(cls, sent: bytes) -> Recipe:
        """The recipe that was sent; for bytes from a process of one's own, never from a file."""
        return cls(*cloudpickle.loads(sent))

    def to_plain(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The recipe for a file: values that JSON can hold, and the arrays they refer to.

        Raises ModelError if a part can stand in no file, such as a lambda; all of them are named.
        """
        writer = Writer()
        values = {
            "maker": self.maker,
            "arguments": [
                writer.write(value, f"argument {place}")
                for place, value in enumerate(self.arguments, start=1)
            ],
            "keywords": {name: writer.write(v, name) for name, v in self.keywords.items()},
            "prior_only": self.prior_only,
        }
        writer.require_no_faults("The model cannot be written to a file")
        return values, writer.arrays

    @classmethod
    def from_plain(cls, values: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Recipe:
        """The recipe that a file holds; modules that it names are imported, and no more is done.

        Raises ModelError if the maker is none of refti's, or a name is not there.
        """
        if values["maker"] not in MAKERS:
            raise ModelError(
                f"A recipe must name one of refti's makers of models; got {values['maker']!r}."
            )
        reader = Reader(arrays)
        return cls(
            values["maker"],
            tuple(reader.read(value) for value in values["arguments"]),
            {name: reader.read(value) for name, value in values["keywords"].items()},
            bool(values["prior_only"]),
        )


@dataclass(frozen=True)
class Frozen:
    """An object as it was when the model was made, whatever becomes of it afterwards.

    Attributes:
        pickled: the object by cloudpickle.
        title: what it is, in words.
    """

    pickled: bytes
    title: str

    def __repr__(self) -> str:
        return self.title


def freeze(value: Any, title: str) -> Frozen:
    """The object as it is now; raises what cloudpickle raises where it cannot be kept."""
    return Frozen(cloudpickle.dumps(value), title)


def thaw(value: Any) -> Any:
    """The object that was frozen, or the value itself where it was not."""
    return cloudpickle.loads(value.pickled) if isinstance(value, Frozen) else value


def copy_arrays(values: T) -> T:
    """The values with copies of the NumPy arrays in them, which nobody else can change."""
    return jax.tree.map(lambda a: a.copy() if isinstance(a, np.ndarray) else a, values)
