"""How the documentation is built: `make docs` runs every code cell; warnings are errors."""

import atexit
import os
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import refti
from refti.checks.tuning import TUNING

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
# Programs that JAX compiled for one page serve the others; warm-up notes stay out of the pages.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(HERE.parent / ".cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
# Cells compile more than they run: as plainly as the tests do, with which they share (see there).
plainly = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": "false",
    "xla_cpu_parallel_codegen_split_count": 1,
}
os.environ.setdefault("XLA_FLAGS", " ".join(f"--{name}={plainly[name]}" for name in plainly))
os.environ.setdefault("NUMBA_OPT", "0")
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

os.environ.update(COLUMNS="84", NO_COLOR="1")
# A command in a cell that fails, fails the build: IPython only takes note of it.
startup = Path(tempfile.mkdtemp(prefix="refti-docs-")) / "profile_default" / "startup"
startup.mkdir(parents=True)
for name in ("strict_shell.py", "seldom_garbage.py"):
    shutil.copy(HERE / "_extensions" / name, startup)
os.environ["IPYTHONDIR"] = str(startup.parents[1])
atexit.register(shutil.rmtree, startup.parents[1], ignore_errors=True)

project = "refti"
author = "The refti developers"
copyright = author
version = release = refti.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "lists", "mathml"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
# Thresholds of the checks, as {{ most_r_hat }}: no page can say another number than the code.
myst_substitutions = {
    name: f"{value:g}" for name, value in asdict(TUNING).items() if isinstance(value, int | float)
}
myst_heading_anchors = 3
exclude_patterns = ["_extensions", "_static", "**/runs"]
default_role = "literal"  # single backticks in docstrings
smartquotes = False  # quotes in docstrings are code
highlight_language = "text"

# Every page is run from nothing each time, so that none shows what the code no longer does.
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = False  # a warning with the traceback, and thus an error
nb_execution_show_tb = True
nb_merge_streams = True
nb_output_stderr = "remove"  # progress, and the warnings of other packages

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings tell what arguments are; shapes as types only clutter
autodoc_default_options = {"exclude-members": "__init__, __new__"}
napoleon_use_ivar = True
napoleon_attr_annotations = False

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"refti {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}
