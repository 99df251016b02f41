"""Several seeds at once: the same scores, each kept when it is done, none begun in vain."""

import sys
from dataclasses import replace

import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.experiment.studies import STUDIES, Made, carry_out, real_sparsity, together, transfer
from dissensus.experiment.studies.score import Score
from dissensus.experiment.studies.trial import After, Asked, Making
from dissensus.training import Diverged, Ended

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


def test_what_is_left_of_a_seed_that_failed_is_not_trained(small, tmp_path):
    begun = []

    class Wild(type(small.how)):
        def make(self, data):
            begun.append(data.name)
            return small.how.make(data)

    wild = Wild(small.how.model, replace(small.how.recipe, lr=1e30))
    with pytest.raises(Diverged):
        carry_out(
            [study_of(lambda seed: [Asked(small.data, small.data.votes, "soft", 0, wild)] * 3)], tmp_path, "command"
        )
    assert begun == ["small"]


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


class Gpu:
    """A clock, and a GPU on which an epoch takes a second: of every training, or of one, where all share its speed."""

    now = 0.0

    def __init__(self, shared):
        self.shared = shared

    def monotonic(self):
        return self.now

    def side_by_side(self, jobs, width, say):
        left = {}  # epochs, by job
        while True:
            while len(left) < width and (job := next(jobs)) is not None:
                left[job.tag] = [job, job.recipe.epochs]
            if not left:
                return
            self.now += len(left) if self.shared else 1
            for job, _ in left.values():
                left[job.tag][1] -= 1
                job.progress({})
            for job in [job for job, epochs in left.values() if not epochs]:
                del left[job.tag]
                yield Ended(job, None)


@pytest.fixture(params=[False, True], ids=["wide", "shared"])
def gpu(request, monkeypatch):
    found = Gpu(request.param)
    monkeypatch.setattr("dissensus.training.side_by_side", found.side_by_side)
    monkeypatch.setattr(Ended, "result", lambda ended: None)
    monkeypatch.setattr(together, "trial_of", lambda asked, fitted, weights: None)
    for module in (together, COURSE):
        monkeypatch.setattr(module, "time", found)
    return found


@pytest.fixture
def two_steps(small):
    """Six trainings a seed, 24 epochs: two of four, after each of which comes another, and two of other lengths."""
    votes = small.data.votes

    def asked(seed):
        hows = [replace(small.how, recipe=replace(small.how.recipe, epochs=epochs)) for epochs in (4, 4, 4, 4, 2, 6)]
        first = [Asked(small.data, votes, "soft", seed, how) for how in hows]
        return [replace(one, after=AFTER.get(number)) for number, one in enumerate(first)]

    return study_of(asked)


AFTER = {2: After(0, lambda said: None), 3: After(1, lambda said: None)}


@pytest.mark.parametrize("width", [1, 5, 16])
@pytest.mark.parametrize("end", [10, 30, 50, 100, 300])
def test_none_is_begun_that_would_not_be_done_in_time(two_steps, gpu, tmp_path, width, end):
    """But for the first, of which nothing is known."""
    over = {}

    def say(line):
        if "begins" in line:
            assert gpu.now < end
        else:
            over[int(line.split()[2])] = gpu.now

    made = carry_out([two_steps], tmp_path, "command", range(1000), width=width, say=say, end=end)
    assert two_steps.seeds_in(tmp_path) == set(over) == set(range(1000 - made.left))
    assert all(when <= end for seed, when in over.items() if seed)
    at_best = end * (1 if gpu.shared else width) / 24
    assert len(over) >= max(1, 0.6 * at_best - 0.5 * width)  # and the time is used


def test_nothing_is_begun_when_the_time_is_over(two_steps, gpu, tmp_path):
    assert carry_out([two_steps], tmp_path, "command", range(9), end=1) == Made(9, 8)
    gpu.now = 1.0
    assert carry_out([two_steps], tmp_path, "command", range(9), end=1) == Made(8, 8)


def test_what_one_study_takes_is_known_of_the_next(two_steps, gpu, tmp_path):
    both = [two_steps, replace(two_steps, name="other")]
    assert carry_out(both, tmp_path, "command", [0], width=1, end=40) == Made(2, 1)
    assert gpu.now == 24


@pytest.mark.parametrize("gpu", [False], indirect=True)
def test_all_places_are_used_until_the_last_seed(two_steps, gpu, tmp_path):
    assert carry_out([two_steps], tmp_path, "command", range(100), width=16) == Made(100, 0)
    assert 100 * 24 / 16 <= gpu.now < 100 * 24 / 16 + 8
