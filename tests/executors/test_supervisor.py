"""The supervisor: every task comes to its end, whatever becomes of the workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import worker_tasks
from refti.errors import ExecutorError, ModelError
from refti.executors.markers import PREFIX, Markers, is_alive, remove_those_of_the_dead
from refti.executors.supervisor import Supervisor
from refti.executors.task import Outcome, Task

HERE = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def two_processes() -> Iterator[Supervisor]:
    with Supervisor(2) as supervisor:
        yield supervisor


def outcomes(supervisor: Supervisor, tasks: list[Task]) -> dict[str, Outcome]:
    found: list[Outcome] = []
    supervisor.run(tasks, found.append)
    return {outcome.task.name: outcome for outcome in found}


def squares(count: int) -> list[Task]:
    return [Task(f"square {n}", worker_tasks.square, (n,)) for n in range(count)]


@pytest.mark.parametrize("executor", [None, 2])
def test_every_task_is_run_once_and_told_of(executor: int | None):
    with Supervisor(executor) as supervisor:
        done = outcomes(supervisor, squares(30))
        assert {name: outcome.value for name, outcome in done.items()} == {
            f"square {n}": n * n for n in range(30)
        }
        assert supervisor.spread.tasks == 30
        assert supervisor.spread.lost == 0


def test_only_what_is_not_done_is_sent(two_processes: Supervisor, tmp_path: Path):
    (tmp_path / "there").touch()
    tasks = [
        Task(
            name, worker_tasks.count_and_die, (str(tmp_path / "runs"), 0), (tmp_path / name).exists
        )
        for name in ("there", "missing")
    ]
    (tmp_path / "runs").mkdir()
    done = outcomes(two_processes, tasks)
    assert [done["there"].was_done, done["missing"].was_done] == [True, False]
    assert len(list((tmp_path / "runs").iterdir())) == 1


@pytest.mark.parametrize("executor", ["in process", "processes"])
def test_a_task_that_fails_does_not_stop_the_others(executor: str, two_processes: Supervisor):
    supervisor = two_processes if executor == "processes" else Supervisor()
    kinds = ("ours", "carries", "exit", "unsendable", "other")
    tasks = [Task(kind, worker_tasks.fail, (kind,)) for kind in kinds] + squares(5)
    done = outcomes(supervisor, tasks)
    assert len(done) == 10
    assert "not to be trusted" in str(done["carries"].error)
    assert isinstance(done["ours"].error, ModelError)
    assert "This model is bad." in str(done["ours"].error)
    assert "something else" in str(done["other"].error)
    assert "1 and 2" in str(done["unsendable"].error)
    assert [done[f"square {n}"].value for n in range(5)] == [0, 1, 4, 9, 16]


def test_what_cannot_be_sent_is_told(two_processes: Supervisor):
    lock = threading.Lock()
    back = Task("back", worker_tasks.unsendable_value)
    unread = Task("unread", worker_tasks.unreadable_value)
    done = outcomes(two_processes, [Task("there", worker_tasks.square, (lock,)), back, unread])  # type: ignore[arg-type]
    assert "there cannot be sent" in str(done["there"].error)
    assert "cannot pickle" in str(done["back"].error)
    assert "What unread sent cannot be read" in str(done["unread"].error)


def test_a_lost_worker_is_replaced_and_only_what_had_begun_is_charged(tmp_path: Path):
    for name in ("twice", "always"):
        (tmp_path / name).mkdir()
    tasks = [
        Task("twice", worker_tasks.count_and_die, (str(tmp_path / "twice"), 2)),
        Task("always", worker_tasks.count_and_die, (str(tmp_path / "always"), 99)),
        *squares(40),
    ]
    with Supervisor(2) as supervisor:
        done = outcomes(supervisor, tasks)
        assert done["twice"].value == 3
        assert isinstance(done["always"].error, ExecutorError)
        assert "always was given up" in str(done["always"].error)
        assert "lost 4 times" in str(done["always"].error)
        assert len(list((tmp_path / "always").iterdir())) == 4
        assert [done[f"square {n}"].value for n in range(40)] == [n * n for n in range(40)]
        # Two of the first and four of the second, and at most one a loss that had just ended.
        assert 6 <= supervisor.spread.lost <= 12


def test_workers_have_one_thread_and_their_share_of_the_cores(
    two_processes: Supervisor, monkeypatch: pytest.MonkeyPatch
):
    names = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"
    assert two_processes.submit(Task("", worker_tasks.variables, names)).result() == ["1", "1"]
    monkeypatch.setenv("REFTI_CORES", "8")
    with Supervisor("loky", workers=3) as supervisor:
        names = ("REFTI_CORES",)
        assert supervisor.submit(Task("", worker_tasks.variables, names)).result() == ["2"]


def test_it_serves_several_threads(two_processes: Supervisor):
    def ask(number: int) -> int:
        return two_processes.submit(Task(f"{number}", worker_tasks.square, (number,))).result()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(ask, range(50))) == [n * n for n in range(50)]


def test_closing_releases_those_who_wait():
    supervisor = Supervisor(1)
    futures = [supervisor.submit(Task("long", worker_tasks.sleep, (600,))) for _ in range(5)]
    supervisor.close(at_once=True)
    for future in futures:
        with pytest.raises(ExecutorError, match="released before long had finished"):
            future.result(timeout=20)
    with pytest.raises(ExecutorError, match="were released"):
        supervisor.submit(squares(1)[0])


def test_a_users_executor_that_breaks_is_told():
    from loky import ProcessPoolExecutor

    with ProcessPoolExecutor(1) as pool, Supervisor(pool) as supervisor:
        done = outcomes(supervisor, [Task("killer", os.kill, (0, 0)), *squares(1)])
        assert done["square 0"].value == 0
        task = Task("killer", os._exit, (1,))
        with pytest.raises(ExecutorError, match="make a new executor"):
            supervisor.submit(task).result(timeout=60)


DRIVER = """
import sys, signal
sys.path.insert(0, {here!r})
import worker_tasks
from refti.executors.supervisor import Supervisor
from refti.executors.task import Task
if __name__ == "__main__":
    # A shell that starts the tests in the background leaves Ctrl-C ignored to all its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with Supervisor(1) as supervisor:
        supervisor.run([Task("long", worker_tasks.announce_and_sleep, ({file!r}, 600.0))])
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_with_the_process_that_began_them(number: signal.Signals, tmp_path: Path):
    file = tmp_path / "worker"
    script = tmp_path / "driver.py"
    script.write_text(DRIVER.format(here=str(HERE), file=str(file)))
    driver = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE, text=True)
    worker = int(_eventually(lambda: file.read_text() if file.exists() else None))
    assert is_alive(worker)
    driver.send_signal(number)
    _, words = driver.communicate(timeout=60)
    assert driver.returncode != 0
    assert number == signal.SIGKILL or "KeyboardInterrupt" in words
    _eventually(lambda: _is_gone(worker) or None)


def test_markers_of_killed_processes_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    dead, alive = tmp_path / f"{PREFIX}999999999-x", tmp_path / f"{PREFIX}{os.getpid()}-x"
    for folder in (dead, alive):
        folder.mkdir()
    remove_those_of_the_dead()
    assert [dead.exists(), alive.exists()] == [False, True]
    markers = Markers()
    one, other = markers.next(), markers.next()
    Path(one).touch()
    assert [Markers.take(one), Markers.take(one), Markers.take(other)] == [True, False, False]
    assert Path(one).parent.stat().st_mode & 0o077 == 0
    markers.close()
    assert not Path(one).parent.exists()


def _is_gone(process: int) -> bool:
    """Whether a process is no more, or waits only to be buried by whoever adopted it."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return not is_alive(process)


def _eventually(look, seconds: float = 60.0):
    """What a look gives, once it is not None."""
    until = time.monotonic() + seconds
    while (seen := look()) is None:
        assert time.monotonic() < until, "it never came"
        time.sleep(0.05)
    return seen
