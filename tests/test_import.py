"""What importing dissensus costs, and what it must not bring along."""

import json
import subprocess
import sys

import pytest

HEAVY = ("torch", "matplotlib", "pandas", "scipy.stats", "pydantic", "polars")


def imported_after(code: str) -> set[str]:
    program = f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_import_brings_nothing_heavy():
    assert not imported_after("import dissensus").intersection(HEAVY)


def test_help_waits_for_nothing_heavy():
    heavy = {*HEAVY, "numpy", "scipy", "dissensus.votes", "dissensus.experiment", "dissensus.report"}
    code = "import dissensus.cli\ntry: dissensus.cli.main(['--help'])\nexcept SystemExit: print()"
    assert not imported_after(code).intersection(heavy)


def test_arrays_in_and_arrays_out_do_not_wait_for_polars():
    assert not imported_after("from dissensus import Votes, Multipass, metrics, stats, load").intersection(HEAVY)


@pytest.mark.parametrize("room", ["votes", "targets", "delivery", "metrics", "stats", "records", "report", "datasets"])
def test_rooms_of_arrays_import_without_torch_and_scipy_stats(room):
    heavy = imported_after(f"import dissensus.{room}").intersection(("torch", "pandas", "scipy.stats"))
    assert not heavy, f"dissensus.{room} imports {heavy}"


def test_the_metrics_and_the_statistics_come_with_the_first_import_in_time():
    program = (
        "import time; start = time.process_time(); import dissensus;"
        "from dissensus import Votes, Multipass, metrics, stats; print(time.process_time() - start)"
    )
    seconds = min(
        float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    )
    assert seconds < 0.5


def test_every_public_name_resolves_and_is_listed():
    import dissensus

    for name in dissensus.__all__:
        assert getattr(dissensus, name) is not None
    assert set(dissensus.__all__) <= set(dir(dissensus))
    with pytest.raises(AttributeError, match="has no attribute 'Multypass'"):
        dissensus.Multypass  # noqa: B018
