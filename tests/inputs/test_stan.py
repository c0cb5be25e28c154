"""Stan programs: the same density as elsewhere, the user's names, and clear words on bad input."""

import dataclasses
import json
import os
import pickle
import shutil
import stat
import threading
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import refti
from refti.cli.main import commands
from refti.inputs.stan import cache, cache_care, compiler, toolchain
from refti.inputs.stan.data import to_json
from refti.inputs.stan.precompiled_header import PrecompiledHeader
from refti.inputs.stan.program import read_program
from refti.inputs.stan.tuning import TUNING
from refti.inputs.stan.wheel import NATIVE, Wheel
from refti.paper.radiata import model as radiata

HERE = Path(__file__).parents[1] / "stan"
EXAMPLE = Path(__file__).parents[2] / "examples" / "radiata"
SHAPES = {"none": 0, "rows": 2, "scale": 2.0, "decays": 0, "left": []}


@pytest.fixture(scope="module")
def pine() -> refti.Model:
    return refti.from_stan(
        EXAMPLE / "radiata.stan", EXAMPLE / "density.json", prior=EXAMPLE / "prior.stan"
    )


@pytest.fixture(scope="module")
def shapes() -> refti.Model:
    return refti.from_stan(HERE / "shapes.stan", SHAPES)


def points(model: refti.Model, count: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(count, model.dim))


class TestDensity:
    def test_is_that_of_the_same_model_in_jax_with_every_constant(self, pine: refti.Model):
        x = points(pine, 20) * [500, 30, 1] + [3000, 185, -11]
        same = radiata.density()
        np.testing.assert_allclose(pine.log_densities(x), same.log_densities(x), rtol=1e-12)
        with jax.enable_x64(True):
            ours, theirs = (
                jax.vmap(jax.grad(model.log_density))(jnp.asarray(x)) for model in (pine, same)
            )
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)

    def test_a_batch_is_as_its_points_one_by_one(self, shapes: refti.Model):
        x = points(shapes, 64)
        with jax.enable_x64(True):
            batch = jax.jit(jax.vmap(jax.value_and_grad(shapes.density.log_density)))(x)
            one = [jax.value_and_grad(shapes.density.log_density)(jnp.asarray(row)) for row in x]
        np.testing.assert_array_equal(batch[0], [value for value, _ in one])
        np.testing.assert_array_equal(batch[1], [gradient for _, gradient in one])
        np.testing.assert_allclose(shapes.log_densities(x), batch[0], rtol=1e-13)

    def test_threads_that_evaluate_at_once_get_what_each_would_alone(self, shapes: refti.Model):
        x = points(shapes, 2000)
        alone = shapes.log_densities(x)
        found: dict[int, np.ndarray] = {}
        threads = [
            threading.Thread(target=lambda i=i: found.update({i: shapes.log_densities(x)}))
            for i in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 4
        for values in found.values():
            np.testing.assert_array_equal(values, alone)

    def test_does_not_travel_to_another_process(self, shapes: refti.Model):
        with pytest.raises(TypeError, match="belongs to the process"):
            pickle.dumps(shapes.density)

    def test_models_of_one_dimension_share_what_was_compiled(self, pine: refti.Model):
        other = refti.from_stan(
            EXAMPLE / "radiata.stan",
            EXAMPLE / "adjusted_density.json",
            prior=EXAMPLE / "prior.stan",
        )
        options = {"search": "quick", "check_prior": False, "progress": False}
        refti.evidence(pine, **options)
        result = refti.evidence(other, **options)
        assert result.cost.programs == 0
        assert abs(result.log_z - radiata.EXACT_LOG_Z["adjusted_density"]) < 4 * result.error


class TestSpace:
    def test_parameters_have_their_names_and_shapes(self, shapes: refti.Model):
        found = {name: parameter.shape for name, parameter in shapes.parameters.items()}
        assert found == {"p": (2, 3), "m": (2, 3), "factor": (3, 3), "r": (2, 2)}
        assert shapes.dim == 4 + 6 + 3 + 4

    def test_elements_stand_where_stan_has_them(self, shapes: refti.Model):
        x = points(shapes, 1)[0]
        values = shapes.constrain(x)
        at = dict(zip(shapes.space.coordinates, x, strict=True))
        m = [[at[f"m[{i},{j}]"] for j in (1, 2, 3)] for i in (1, 2)]
        np.testing.assert_array_equal(values["m"], m)
        np.testing.assert_allclose(values["p"].sum(axis=1), 1)
        np.testing.assert_allclose(np.sum(values["factor"] ** 2, axis=1), 1)
        assert np.triu(values["factor"], 1).any() == np.False_

    def test_an_array_of_arrays_is_read_by_rows(self, shapes: refti.Model):
        # The program gives r[1, 2] a prior of its own, and no other element of r.
        values = shapes.constrain(points(shapes, 1)[0])
        other = {**values, "r": values["r"].copy()}
        other["r"][0, 1] = 0.6
        x = np.stack([shapes.unconstrain(v) for v in (values, other)])
        r = np.array([values["r"][0, 1], 0.6])
        jacobian = np.log1p(r) + np.log1p(-r)
        wanted = np.diff(stats.norm.logpdf(r, 0.5, 0.3) + jacobian)[0]
        assert np.diff(shapes.log_densities(x))[0] == pytest.approx(wanted, rel=1e-9)

    def test_values_come_back_as_coordinates(self, shapes: refti.Model):
        x = points(shapes, 10)
        back = shapes.space.unconstrain_all(shapes.space.constrain_all(x))
        np.testing.assert_allclose(back, x, atol=1e-9)

    def test_values_outside_are_told_by_name(self, shapes: refti.Model):
        values = shapes.constrain(points(shapes, 1)[0])
        with pytest.raises(refti.ModelError, match=r"interval \[-1, 1\].*line 23"):
            shapes.unconstrain({**values, "r": np.full((2, 2), 3.0)})
        with pytest.raises(refti.ModelError, match=r"'m\[1,1\]' has values that are not finite"):
            shapes.unconstrain({**values, "m": np.full((2, 3), np.nan)})

    def test_the_jacobian_is_in_the_density(self, shapes: refti.Model):
        # Only r[1, 1] changes, which is uniform: its Jacobian is then the whole difference.
        x = np.stack([points(shapes, 1)[0]] * 2)
        last = shapes.space.coordinates.index("r[1,1]")
        x[1, last] += 1.0
        found = np.diff(shapes.log_densities(x))[0]
        wanted = np.diff(stats.logistic.logpdf(x[:, last]))[0]
        assert found == pytest.approx(wanted, rel=1e-9)


class TestRejections:
    def test_rejected_and_failing_points_are_counted_and_located(self):
        model = refti.from_stan(HERE / "shapes.stan", SHAPES)
        assert model.rejections() is None
        x = points(model, 4)
        first, failing = (model.space.coordinates.index(c) for c in ("m[1,2]", "m[2,3]"))
        x[1, first] = x[2, failing] = 6.0
        values = model.log_densities(x[[1, 0, 2, 3]])
        np.testing.assert_array_equal(np.isneginf(values), [True, False, True, False])
        rejections = model.rejections()
        assert rejections is not None
        assert rejections.count == 2
        assert "m[1, 2] is 6" in rejections.message
        assert "shapes.stan" in rejections.message
        np.testing.assert_array_equal(rejections.where, x[1])


class TestEvidence:
    def test_both_radiata_models_from_the_command_line(self, tmp_path: Path):
        program = str(EXAMPLE / "radiata.stan")
        data = [f"--data={EXAMPLE / name}.json" for name in radiata.EXACT_LOG_Z]
        options = ["--quiet", "--store", str(tmp_path)]
        command = ["run", program, program, *data, *options]
        done = CliRunner().invoke(
            commands, [*command, "--data-name", "pine"], standalone_mode=False
        )
        assert done.return_value == 0, done.output
        assert "log Bayes factor" in done.output
        # Far out, where modes are searched for, the precision underflows, and Stan says so.
        assert "the model rejected" in done.output
        assert "gamma_lpdf: Random variable is 0" in done.output
        for name, exact in radiata.EXACT_LOG_Z.items():
            result = refti.load(tmp_path / name)
            assert abs(result.log_z - exact) < 4 * result.error < 0.2
            assert result.found["rejected"]["count"] > 0
            assert result.found["source"].startswith("Stan 2.")

    def test_a_prior_program_is_seen_to_integrate_to_one(self, pine: refti.Model):
        result = refti.evidence(pine, progress=False)
        (prior,) = [check for check in result.checks if check.name == "prior"]
        assert prior.ok
        assert abs(result.log_z - radiata.EXACT_LOG_Z["density"]) < 4 * result.error

    @pytest.mark.long  # the density of the prior is seen by its check
    def test_power_posteriors_start_from_the_prior_program(self, pine: refti.Model):
        result = refti.evidence(
            pine, path="power", search="quick", check_prior=False, progress=False
        )
        assert abs(result.log_z - radiata.EXACT_LOG_Z["density"]) < 4 * result.error


PROGRAM = """
data { int n; vector[n] y; }
parameters { real mu; }
model { mu ~ normal(0, 1); y ~ normal(mu, 1); }
"""


class TestBadInput:
    """Each is told before anything is compiled."""

    @pytest.fixture(autouse=True)
    def _nothing_is_compiled(self, monkeypatch: pytest.MonkeyPatch):
        def refuse(*arguments: object, **options: object) -> None:
            raise AssertionError("compiled")

        monkeypatch.setattr(Wheel, "build", refuse)

    @pytest.mark.parametrize(
        ("program", "said"),
        [
            (
                "parameters { real mu }\nmodel { mu ~ normal(0, 1); }",
                r'line 1.*\n.*\n.*";" expected',
            ),
            ("parameters { real mu; }\nmodel { mu ~ nrmal(0, 1); }", "line 2"),
            ("data { int n; real y[n]; } model { }", "array.N. real y"),
            ("parameters { int k; } model { }", "log_sum_exp"),
            ((HERE / "flat.stan").read_text(), "no prior to mu, sigma.*does not exist"),
            ("parameters { complex z; tuple(real, real) t; } model { }", "z, t"),
            (
                "parameters { sum_to_zero_vector[3] z; } model { z ~ normal(0, 1); }",
                r"sum_to_zero_vector with Stan 2\.36.*BRIDGESTAN",
            ),
        ],
        ids=[
            "syntax",
            "unknown",
            "old arrays",
            "discrete",
            "no priors",
            "complex",
            "of a newer Stan",
        ],
    )
    def test_programs(self, program: str, said: str):
        with pytest.raises(refti.ModelError, match=f"(?s){said}"):
            refti.from_stan(program)

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (None, "needs data, and there are none.*'n' is missing; expected one.*'y' is missing"),
            ({"n": 2}, "'y' is missing; expected numbers in an array of 1 dimension"),
            ({"n": 2.5, "y": [1, 2]}, "'n' must be one whole number; got 2.5"),
            ({"n": 2, "y": ["a", "b"]}, "'y' must be numbers.*got"),
            ({"n": 2, "y": [[1, 2]]}, r"'y'.*got the shape \(1, 2\)"),
            ({"n": [2], "y": [1, 2]}, r"'n'.*got the shape \(1,\)"),
            ({"n": 2, "y": [[1], [1, 2]]}, "'y'"),
            ({"n": 2, "y": None}, "'y'.*got null .*, which stands for a missing value"),
            ({"n": 3, "y": [1, 2]}, r"'y' must have the sizes \[n = 3\]; got \[2\]"),
            ({"J": 8, "sigma": [1, 2]}, "holds J, sigma. .* none of these: .* another program"),
            ({"n": 2, "y": [1], "K": 3}, r"does not declare K\..*'y' must have the sizes"),
            (3, "got int"),
        ],
    )
    def test_data(self, data: object, said: str):
        with pytest.raises(refti.ModelError, match=f"(?s){said}"):
            refti.from_stan(PROGRAM, data)  # type: ignore[arg-type]

    def test_files(self, tmp_path: Path):
        with pytest.raises(refti.ModelError, match=r"no Stan program .*missing\.stan"):
            refti.from_stan(tmp_path / "missing.stan")
        with pytest.raises(refti.ModelError, match="cannot be read"):
            refti.from_stan(PROGRAM, tmp_path / "missing.json")
        (tmp_path / "data.json").write_text('{"n": 2,')
        with pytest.raises(refti.ModelError, match=r"neither JSON nor an R dump.*line 1"):
            refti.from_stan(PROGRAM, tmp_path / "data.json")
        (tmp_path / "data.R").write_text("n <- 2\ny <- list(1, 2)")
        with pytest.raises(
            refti.ModelError, match=r"R dump: line 2: expected a number, got 'list'"
        ):
            refti.from_stan(PROGRAM, tmp_path / "data.R")
        with pytest.raises(refti.ModelError, match="got list"):
            refti.from_stan([PROGRAM])  # type: ignore[arg-type]

    def test_without_the_extra_its_pip_line_is_told(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
        with pytest.raises(refti.ModelError, match=r'pip install "refti\[stan\]"'):
            refti.from_stan(PROGRAM, {"n": 0, "y": []})

    def test_data_options_of_the_command_line(self):
        runner = CliRunner()
        with pytest.raises(refti.SettingsError, match="got none"):
            runner.invoke(
                commands,
                ["run", "a.py:m", "--data", "d.json"],
                standalone_mode=False,
                catch_exceptions=False,
            )
        with pytest.raises(refti.SettingsError, match="got 2 for 1"):
            runner.invoke(
                commands,
                ["run", "a.stan", "--data", "d.json", "--data", "e.json"],
                standalone_mode=False,
                catch_exceptions=False,
            )


def test_data_are_written_as_stan_reads_them():
    text = "data { int n; array[2] int k; matrix[2, 2] y; vector[0] z; } model { }"
    program = read_program(text, toolchain.find_toolchain().stanc)
    data = {
        "n": np.float64(3),
        "k": jnp.array([1, 2]),
        "y": np.array([[1, 2.5], [np.inf, -np.inf]]),
        "z": [],
        "unused": "text",
    }
    wanted = {"n": 3, "k": [1, 2], "y": [[1, 2.5], ["Infinity", "-Infinity"]], "z": []}
    assert json.loads(to_json(program, data)) == wanted


def test_data_that_break_a_declared_bound_are_refused(shapes: refti.Model):
    with pytest.raises(refti.ModelError, match=r"'n' must be at least 1; got n = 0"):
        refti.from_stan(EXAMPLE / "radiata.stan", {"n": 0, "strength": [], "covariate": []})
    with pytest.raises(refti.ModelError, match=r"'scale' must hold numbers; got NaN at scale"):
        refti.from_stan(HERE / "shapes.stan", {**SHAPES, "scale": np.nan})


def test_a_copy_in_another_folder_is_the_same_program(tmp_path: Path):
    copy = shutil.copy(EXAMPLE / "prior.stan", tmp_path)
    stanc = toolchain.find_toolchain().stanc
    first, second = (read_program(file, stanc) for file in (EXAMPLE / "prior.stan", Path(copy)))
    assert first.generated == second.generated
    assert str(EXAMPLE) not in first.generated


def test_a_prior_program_with_other_parameters_is_refused():
    # Programs that other tests compile, as they are.
    data = json.loads((EXAMPLE / "density.json").read_text()) | {"K": 4, "nested": 0}
    with pytest.raises(
        refti.ModelError,
        match=r"same parameters.*radiata.stan has alpha.*uniform.stan has alpha\[4\], p\[4\]",
    ):
        refti.from_stan(EXAMPLE / "radiata.stan", data, prior=HERE / "uniform.stan")


class TestCompiler:
    def test_that_is_absent(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("CXX", "no-such-compiler")
        with pytest.raises(refti.ModelError, match=r"CXX names 'no-such-compiler'.*apt install"):
            compiler.find_compiler()
        monkeypatch.delenv("CXX")
        monkeypatch.setenv("PATH", "")
        with pytest.raises(refti.ModelError, match="none was found"):
            compiler.find_compiler()

    def test_that_is_too_old(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        old = tmp_path / "old-g++"
        old.write_text("#!/bin/sh\necho 'g++ (GCC) 4.8.5 20150623 (Red Hat 4.8.5-44)'\n")
        old.chmod(0o700)
        monkeypatch.setenv("CXX", str(old))
        with pytest.raises(refti.ModelError, match=r"gcc 8 or later; got .*4\.8\.5"):
            compiler.find_compiler()

    def test_that_fails_is_quoted(self, tmp_path: Path):
        (tmp_path / "bad.cpp").write_text("int main( {")
        with pytest.raises(refti.ModelError, match=r"(?s)compiler failed.*bad\.cpp"):
            compiler.find_compiler().run("-c", tmp_path / "bad.cpp", "-o", tmp_path / "bad.o")


class TestPrecompiledHeader:
    @pytest.fixture
    def header(self, tmp_path: Path) -> PrecompiledHeader:
        """A header by a compiler that only writes its last argument, beside no program as yet."""
        script = tmp_path / "g++"
        script.write_text('#!/bin/sh\nfor last; do :; done\nsleep 0.1\necho > "$last"\n')
        script.chmod(0o700)
        made_by = compiler.Compiler((str(script),), "gcc", "12.0")
        (tmp_path / "shared" / "core").mkdir(parents=True)
        (tmp_path / "shared" / "core" / cache.COMPLETE).touch()
        return PrecompiledHeader(tmp_path / "shared", NATIVE, made_by, ())

    @staticmethod
    def add_programs(header: PrecompiledHeader, count: int) -> None:
        for i in range(count):
            folder = header.shared / f"program{i}"
            folder.mkdir()
            (folder / cache.COMPLETE).touch()

    def test_is_not_made_for_a_few_programs(self, header: PrecompiledHeader):
        self.add_programs(header, TUNING.programs_before_header - 1)
        assert not header.is_ready()
        assert not header.folder.exists()

    def test_is_made_at_once_where_many_are_to_come(self, header: PrecompiledHeader):
        assert not header.is_ready(many_to_come=True)
        assert header.is_ready()

    def test_is_made_beside_a_program_and_awaited_by_the_next(self, header: PrecompiledHeader):
        self.add_programs(header, TUNING.programs_before_header)
        assert not header.is_ready()
        assert header.is_ready()


class TestCache:
    def test_a_folder_is_made_once_and_again_if_it_is_not_whole(self, tmp_path: Path):
        times = []

        def make(folder: Path) -> None:
            times.append(folder)
            (folder / "library").write_text("whole")

        folder = tmp_path / "x"
        for _ in range(2):
            assert cache.make_once(folder, make) == folder
        assert len(times) == 1
        (folder / "library").write_text("cut")
        cache.make_once(folder, make)
        (folder / cache.COMPLETE).unlink()
        cache.make_once(folder, make)
        assert len(times) == 3
        assert (folder / "library").read_text() == "whole"

    def test_what_fails_leaves_nothing_behind(self, tmp_path: Path):
        def fail(folder: Path) -> None:
            (folder / "half").write_text("half")
            raise refti.ModelError("no")

        with pytest.raises(refti.ModelError):
            cache.make_once(tmp_path / "x", fail)
        assert [file.name for file in tmp_path.iterdir() if file.is_dir()] == []

    def test_two_who_want_the_same_make_it_once(self, tmp_path: Path):
        times = []

        def make(folder: Path) -> None:
            times.append(folder)
            (folder / "library").write_text("whole")

        threads = [
            threading.Thread(target=cache.make_once, args=(tmp_path / "x", make)) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(times) == 1

    def test_a_folder_that_others_can_write_to_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("REFTI_CACHE", str(tmp_path))
        folder = cache.cache_folder()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        folder.chmod(0o777)
        with pytest.raises(
            refti.ModelError, match=r"planted.*Delete the whole cache, rm -r .*chmod"
        ):
            cache.cache_folder()

    @staticmethod
    def make(folder: Path) -> None:
        (folder / "program.so").write_text("whole")

    def test_a_file_of_the_same_size_with_other_contents_is_made_again(self, tmp_path: Path):
        folder = cache.make_once(tmp_path / "x", self.make)
        (folder / "program.so").write_text("plant")
        cache.make_once(folder, self.make)
        assert (folder / "program.so").read_text() == "whole"

    @pytest.mark.parametrize("name", ["program.so", cache.COMPLETE, "added"])
    def test_a_file_that_others_own_or_can_write_to_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
    ):
        folder = cache.make_once(tmp_path / "x", self.make)
        (folder / name).touch()
        (folder / name).chmod(0o666)
        with pytest.raises(refti.ModelError, match=f"{name} is in the cache.*Delete the whole"):
            cache.make_once(folder, self.make)
        (folder / name).chmod(0o600)
        theirs = os.getuid() + 1
        real = Path.lstat

        def lstat(path: Path) -> os.stat_result:
            found = real(path)
            if path.name != name:
                return found
            return os.stat_result((*found[:4], theirs, *found[5:10]))

        monkeypatch.setattr(Path, "lstat", lstat)
        with pytest.raises(refti.ModelError, match=f"{name} is in the cache.*Delete the whole"):
            cache.make_once(folder, self.make)

    def test_a_link_to_elsewhere_is_refused(self, tmp_path: Path):
        folder = cache.make_once(tmp_path / "x", self.make)
        (folder / "program.so").rename(tmp_path / "elsewhere")
        (folder / "program.so").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(refti.ModelError, match="Delete the whole"):
            cache.make_once(folder, self.make)

    def test_it_is_kept_small_and_tells_what_it_holds(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("REFTI_CACHE", str(tmp_path))
        small = dataclasses.replace(TUNING, most_cache_megabytes=2.5)
        monkeypatch.setattr(cache_care, "TUNING", small)
        assert cache_care.report_cache().programs == 0

        def large(folder: Path) -> None:
            (folder / "program.so").write_bytes(bytes(1_000_000))

        folders = [
            cache.make_once(cache.cache_folder() / "key" / f"p{age}", large) for age in range(4)
        ]
        for age, folder in enumerate(folders):
            used = time.time() - 3700 * (3 - age)
            os.utime(folder / cache.COMPLETE, (used, used))
        assert str(cache_care.report_cache()).startswith("4 compiled Stan programs in")
        # The two used longest ago go; the one at hand would stay in any case.
        assert cache_care.bound_cache(folders[3]) == folders[:2]
        found = cache_care.report_cache()
        assert (found.programs, found.foreign) == (2, ())
        assert found.megabytes == pytest.approx(2, abs=0.1)
        (folders[3] / "program.so").chmod(0o666)
        assert "delete the cache, rm -r" in str(cache_care.report_cache())
        assert cache_care.clear_cache() == pytest.approx(2, abs=0.1)
        assert not cache.cache_place().exists()


class TestBridgeStan:
    """BridgeStan's sources are not on the package index: a tree of its shape stands in for them,
    whose Makefile gives the library that refti built, which has the same C interface."""

    @pytest.fixture
    def tree(self, tmp_path: Path, pine: refti.Model, monkeypatch: pytest.MonkeyPatch) -> Path:
        wheel = toolchain.find_toolchain()
        program = read_program(EXAMPLE / "radiata.stan", wheel.stanc)
        library = wheel.build(program, lambda: None)
        (tmp_path / "tree" / "bin").mkdir(parents=True)
        shutil.copy(wheel.stanc, tmp_path / "tree" / "bin" / "stanc")
        rule = f"%_model.so: %.stan\n\ttest '$(STAN_THREADS)' = true && cp {library} $@\n"
        (tmp_path / "tree" / "Makefile").write_text(rule)
        monkeypatch.setenv("BRIDGESTAN", str(tmp_path / "tree"))
        monkeypatch.setenv("REFTI_CACHE", str(tmp_path / "cache"))
        return tmp_path / "tree"

    def test_is_used_where_the_environment_names_it(self, tree: Path, pine: refti.Model):
        model = refti.from_stan(EXAMPLE / "radiata.stan", EXAMPLE / "density.json")
        assert model.source.endswith("by BridgeStan")
        x = points(model, 5) + np.array([3000, 185, -11])
        np.testing.assert_array_equal(model.log_densities(x), pine.log_densities(x))

    def test_a_folder_without_sources_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("BRIDGESTAN", str(tmp_path))
        with pytest.raises(refti.ModelError, match="holds no BridgeStan sources"):
            refti.from_stan(EXAMPLE / "radiata.stan", EXAMPLE / "density.json")
