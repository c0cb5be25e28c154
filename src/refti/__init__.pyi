"""The public names, each by the module it comes from; `__init__.py` reads them here."""

from refti import plots as plots
from refti import suite as suite
from refti.errors import CompareError as CompareError
from refti.errors import ExecutorError as ExecutorError
from refti.errors import LadderError as LadderError
from refti.errors import ModelError as ModelError
from refti.errors import NotTrustedError as NotTrustedError
from refti.errors import PathError as PathError
from refti.errors import ReferenceFitError as ReferenceFitError
from refti.errors import RefTIError as RefTIError
from refti.errors import SamplingError as SamplingError
from refti.errors import SettingsError as SettingsError
from refti.errors import StoppedEarlyError as StoppedEarlyError
from refti.errors import StoreError as StoreError
from refti.inputs.numpyro import from_numpyro as from_numpyro
from refti.inputs.pymc import from_pymc as from_pymc
from refti.inputs.python.source import from_callable as from_callable
from refti.inputs.stan import from_stan as from_stan
from refti.models.model import Model as Model
from refti.models.supports import correlation_cholesky as correlation_cholesky
from refti.models.supports import interval as interval
from refti.models.supports import lower as lower
from refti.models.supports import ordered as ordered
from refti.models.supports import positive as positive
from refti.models.supports import real as real
from refti.models.supports import simplex as simplex
from refti.models.supports import upper as upper
from refti.paths.ladder import power as power
from refti.paths.ladder import uniform as uniform
from refti.references.base import Reference as Reference
from refti.reports.of_study import run_study as run_study
from refti.reports.writing import report as report
from refti.results.compare import compare as compare
from refti.results.comparison import Comparison as Comparison
from refti.results.result import Evidence as Evidence
from refti.results.result import LogRatio as LogRatio
from refti.results.saved import load as load
from refti.run.evidence import evidence as evidence
from refti.run.evidence import log_bayes_factor as log_bayes_factor
from refti.study.running import StudyResult as StudyResult

__version__: str
