"""Several seeds at once: the same scores, each kept when it is done, none begun in vain."""

import sys
from dataclasses import replace

import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.experiment.studies import STUDIES, Made, carry_out, real_sparsity, together, transfer
from dissensus.experiment.studies.score import Score
from dissensus.experiment.studies.trial import After, Asked, Making
from dissensus.training import Diverged

COURSE = sys.modules[carry_out.__module__]


def score(seed):
    return Score("mine", "c", "soft", seed, "all", "best", False, 9, {"kl": 0.5})


@pytest.fixture
def quick(small):
    """Few epochs."""
    return replace(small.how, recipe=replace(small.how.recipe, epochs=3))


@pytest.fixture
def study(small, quick):
    """Three trainings a seed."""
    return study_of(lambda seed: [Asked(small.data, small.data.votes, "soft", seed, quick)] * 3)


def study_of(asked, name="mine", model="frozen"):
    """A study with one row a seed, whose trainings ``asked`` gives for a seed."""
    make = lambda given: lambda seed: [Making(asked(seed), lambda said: [score(seed)])]  # noqa: E731
    return replace(STUDIES["transfer"], name=name, model=model, make=make)


@pytest.fixture
def real(small):
    """Two studies as they are, on small data: one of two data sets, one of trainings that come after others."""
    original, other = small.data.votes.subsample(5, seed=9), replace(small.data, name="other")

    def sparsity(seed):
        return [real_sparsity.real_sparsity(data, original, seed, small.how) for data in (small.data, other)]

    def carried(seed):
        return [transfer.transfer(small.data, other, seed, small.how)]

    named = {"real-sparsity": sparsity, "transfer": carried}
    return [replace(STUDIES[name], make=lambda given, of=of: of) for name, of in named.items()]


def tables(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*-scores.csv")}


def test_side_by_side_scores_are_those_of_one_seed_after_the_other(real, tmp_path, monkeypatch, request):
    for one in real:
        for seed in (0, 1):
            carry_out([one], tmp_path / "alone", "command", [seed])
    carry_out(real, tmp_path / "in turn", "command", [0, 1])
    request.getfixturevalue("beside")
    said = []
    assert carry_out(real, tmp_path / "beside", "command", [0, 1], width=20, say=said.append) == Made(4, 0)
    assert len(tables(tmp_path / "alone")) == 2
    assert tables(tmp_path / "in turn") == tables(tmp_path / "alone")
    assert tables(tmp_path / "beside") == tables(tmp_path / "alone")
    begun = [line for line in said if "begins" in line]
    assert begun == [
        "real-sparsity: seed 0 begins, 28 trainings",
        "real-sparsity: seed 1 begins, 28 trainings",
        "transfer: seed 0 begins, 8 trainings",
        "transfer: seed 1 begins, 8 trainings",
    ]
    first_done = next(place for place, line in enumerate(said) if "is done" in line)
    assert said[:first_done] == begun[:2]  # the second does not wait for the first


def test_on_a_cpu_one_seed_follows_the_other(study, tmp_path):
    said = []
    carry_out([study], tmp_path, "command", [0, 1], width=9, say=said.append)
    assert said == [
        "mine: seed 0 begins, 3 trainings", "mine: seed 0 is done, 1 left",
        "mine: seed 1 begins, 3 trainings", "mine: seed 1 is done, 0 left",
    ]  # fmt: skip


@pytest.mark.usefixtures("beside")
def test_on_a_gpu_it_is_said_how_many_go_side_by_side(study, tmp_path, monkeypatch):
    monkeypatch.setattr(COURSE, "_on_gpu", lambda: True)
    said = []
    carry_out([study], tmp_path, "command", [0, 1], width=6, say=said.append)
    assert said[:2] == [f"mine: seed {seed} begins, 3 trainings, up to 6 side by side" for seed in (0, 1)]


@pytest.mark.usefixtures("beside")
def test_no_more_seeds_are_under_way_than_there_is_room_for(small, tmp_path):
    """Seeds of three trainings, of which the first lasts longest, so that the next two have its company."""
    under_way, most = set(), 0

    def say(line):
        nonlocal most
        seed = line.split()[2]
        (under_way.add if "begins" in line else under_way.remove)(seed)
        most = max(most, len(under_way))

    def asked(seed):
        hows = [replace(small.how, recipe=replace(small.how.recipe, epochs=epochs)) for epochs in (4, 1, 1)]
        return [Asked(small.data, small.data.votes, "soft", seed, how) for how in hows]

    assert carry_out([study_of(asked)], tmp_path, "command", range(5), width=3, say=say).left == 0
    assert most == 3


@pytest.mark.usefixtures("beside")
def test_stopped_all_seeds_that_are_done_are_kept(study, tmp_path):
    done = []

    def say(line):
        if "is done" in line:
            done.append(line)
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out([study], tmp_path, "command", range(6), width=4, say=say)
    assert study.left(tmp_path, range(6)) == [2, 3, 4, 5]
    assert carry_out([study], tmp_path, "command", range(6)) == Made(4, 0)


def test_the_longest_begin_first_and_those_that_others_wait_for(small, tmp_path):
    begun = []

    def how(name, epochs):
        class Told(type(small.how)):
            def make(self, data):
                begun.append(name)
                return small.how.make(data)

        return Told(small.how.model, replace(small.how.recipe, epochs=epochs))

    def carry(said):
        begun.append("second")
        return small.how.make(small.data)

    def asked(seed):
        hows = {"short": 1, "long": 4, "first": 2}
        trainings = [Asked(small.data, small.data.votes, "soft", seed, how(*one)) for one in hows.items()]
        return [*trainings, replace(trainings[1], after=After(2, carry))]

    carry_out([study_of(asked)], tmp_path, "command", [0])
    assert begun == ["first", "long", "second", "short"]


@pytest.mark.usefixtures("beside")
def test_an_error_ends_its_own_seed_and_those_under_way_are_finished(small, quick, tmp_path):
    wild = replace(quick, recipe=replace(quick.recipe, lr=1e30, epochs=3))
    said = []

    def asked(seed):
        return [Asked(small.data, small.data.votes, "soft", seed, wild if seed == 2 else small.how)] * 2

    study = study_of(asked)
    with pytest.raises(Diverged):
        carry_out([study], tmp_path, "command", range(6), width=6, say=said.append)
    assert study.seeds_in(tmp_path) == {0, 1}
    assert "mine: seed 2 failed; no other is begun, and those under way are finished" in said
    assert not any("seed 3 begins" in line for line in said)


@pytest.mark.usefixtures("beside")
def test_data_that_are_not_there_lose_nothing_of_another_study(study, tmp_path):
    def nothing(given):
        raise InputError("no data")

    other = replace(study, name="other", make=nothing)
    with pytest.raises(InputError, match="no data"):
        carry_out([study, other], tmp_path, "command", [0, 1], width=9)
    assert study.seeds_in(tmp_path) == {0, 1}


def test_only_trainings_have_a_single_thread(small, quick, tmp_path):
    """Texts are encoded, and untrained models asked, with all: as before, and with the same numbers."""
    threads = {}

    def make(given):
        threads["data"] = torch.get_num_threads()

        def one_seed(seed):
            threads["asked"] = torch.get_num_threads()
            return [
                Making([Asked(small.data, small.data.votes, "soft", seed, Watching(quick.model, quick.recipe))], scores)
            ]

        def scores(said):
            threads["scores"] = torch.get_num_threads()
            return [score(0)]

        return one_seed

    class Watching(type(quick)):
        def make(self, data):
            def model():
                threads["training"] = torch.get_num_threads()
                return quick.make(data)()

            return model

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        carry_out([replace(STUDIES["transfer"], make=make)], tmp_path, "command", [0])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert threads == {"data": 2, "asked": 2, "scores": 2, "training": 1}


class Clock:
    """Every training that begins takes a second."""

    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(together, "time", found)
    monkeypatch.setattr(COURSE, "time", found)
    return found


@pytest.fixture
def timed(small, quick, clock):
    """Three trainings a seed of a second each."""

    class Timed(type(quick)):
        def make(self, data):
            def model():
                clock.now += 1
                return quick.make(data)()

            return model

    how = Timed(quick.model, quick.recipe)
    return study_of(lambda seed: [Asked(small.data, small.data.votes, "soft", seed, how)] * 3)


def test_none_is_begun_that_would_not_be_done_in_time(timed, clock, tmp_path):
    assert carry_out([timed], tmp_path, "command", range(9), end=10.0) == Made(9, 6)
    assert clock.now == 9


def test_the_first_begins_whatever_it_takes_and_none_when_the_time_is_over(timed, clock, tmp_path):
    assert carry_out([timed], tmp_path, "command", range(9), end=0.5) == Made(9, 8)
    assert carry_out([timed], tmp_path, "command", range(9), end=0.5) == Made(8, 8)


def test_what_one_study_takes_is_known_of_the_next(timed, clock, tmp_path):
    both = [timed, replace(timed, name="other")]
    assert carry_out(both, tmp_path, "command", [0], end=4.0) == Made(2, 1)
    assert clock.now == 3


@pytest.mark.usefixtures("beside")
@pytest.mark.parametrize("end", range(4, 30, 5))
def test_side_by_side_none_is_begun_that_would_not_be_done_in_time(timed, clock, tmp_path, end):
    said = []
    carry_out(
        [timed], tmp_path, "command", range(20), width=7, say=lambda line: said.append((clock.now, line)), end=end
    )
    begun, done = ([when for when, line in said if word in line] for word in ("begins", "is done"))
    assert len(begun) == len(done)
    assert done[-1] <= end
    if end > 4:
        assert len(done) > 1
    assert begun[0] == 0
    assert all(when > 0 for when in begun[1:])  # nothing is known of the pace until an epoch is over


@pytest.mark.usefixtures("beside")
def test_without_a_budget_all_places_are_filled_at_once(timed, clock, tmp_path):
    said = []
    carry_out([timed], tmp_path, "command", range(3), width=7, say=lambda line: said.append((clock.now, line)))
    assert [when for when, line in said if "begins" in line] == [0, 3, 6]
