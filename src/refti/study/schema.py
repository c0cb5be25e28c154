"""The form of study.toml: what may stand in it, checked by pydantic; its JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from refti.run.settings import EstimatorName, PathName
from refti.search.searched import Effort

Number = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[StrictInt, Field(ge=1)]


class Table(BaseModel):
    """A table of the file, in which a key that is not known is a fault."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EvidenceSettings(Table):
    """Settings of refti.evidence; those not given have its defaults."""

    reference: StrictStr | list[StrictStr | StrictInt] | None = Field(
        default=None,
        description="Where the path starts: a family, or a list for a telescopic path.",
    )
    path: PathName | None = Field(default=None, description="The kind of path.")
    ladder: list[float] | None = Field(default=None, description="Values of lambda from 0 to 1.")
    estimator: EstimatorName | None = Field(default=None, description="Whose number is given.")
    target_error: Number | None = Field(default=None, description="Nats at which sampling stops.")
    max_seconds: Number | None = Field(default=None, description="Seconds for each model.")
    max_evaluations: Count | None = Field(default=None, description="Evaluations for each model.")
    chains: Count | None = Field(default=None, description="Chains a rung.")
    warmup: Count | None = Field(default=None, description="Iterations that adapt a chain.")
    kept: Count | None = Field(default=None, description="Draws of each chain.")
    posterior_draws: Count | None = Field(default=None, description="Draws kept of the posterior.")
    kernel: StrictStr | None = Field(default=None, description="How chains move.")
    check_prior: StrictBool | None = Field(
        default=None, description="See that the prior integrates to 1."
    )
    witness: StrictBool | None = Field(default=None, description="Repeat in an independent way.")
    search: Effort | Count | None = Field(
        default=None, description="How hard modes are looked for."
    )

    def given(self) -> dict[str, Any]:
        """Those that stand in the file."""
        return {name: value for name, value in self.model_dump().items() if value is not None}


class Outputs(Table):
    """Where results go; paths are relative to the file of the study."""

    store: StrictStr | None = Field(
        default=None,
        description="Folder to keep the study in; the name of the file with -runs if absent.",
    )
    report: Annotated[StrictStr, Field(pattern=r"\.(html|pdf)$")] | None = Field(
        default=None,
        description="Page on all models, .html or .pdf, that is written when they are done.",
    )


class ModelEntry(Table):
    """One model: a name in a Python file, or a Stan program."""

    file: StrictStr | None = Field(
        default=None, description="FILE.py:NAME, a refti.Model or a function that returns one."
    )
    stan: StrictStr | None = Field(default=None, description="A Stan program.")
    data: StrictStr | None = Field(default=None, description="The JSON data of the Stan program.")
    prior: StrictStr | None = Field(default=None, description="A Stan program of the prior alone.")
    solver_limit: Count | None = Field(default=None, description="As in refti.from_stan.")
    data_name: StrictStr | None = Field(
        default=None,
        description="What the data are called; models of other data are not ranked together.",
    )
    urgent: StrictBool = Field(default=False, description="Begin with this one.")
    settings: EvidenceSettings = EvidenceSettings()


class StudyFile(Table):
    """A study.toml."""

    format: Literal[1] = 1
    seed: Annotated[StrictInt, Field(ge=0, lt=2**63)] = Field(
        default=0, description="All randomness comes from this number and the names of the models."
    )
    data_name: StrictStr | None = Field(
        default=None, description="What the data of all models are called."
    )
    outputs: Outputs = Outputs()
    settings: EvidenceSettings = EvidenceSettings()
    models: dict[str, ModelEntry] = Field(min_length=1, description="The models by name.")


def json_schema() -> dict[str, Any]:
    """The JSON Schema of study.toml, for editors and other programs."""
    schema = StudyFile.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
