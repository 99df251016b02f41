from __future__ import annotations

import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from dissensus import DELIVERIES, InputError, Multipass, Soft, StochasticLabelSampling, Votes

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset  # noqa: E402

from dissensus.adapters.torch import EpochSampler, Shuffled, VotesDataset, WithoutLabel  # noqa: E402

N = 22
VOTES = Votes.from_counts(np.random.default_rng(0).integers(0, 4, (N, 3)) + np.array([1, 0, 0]))
INPUTS = torch.arange(N, dtype=torch.float32)[:, None]  # an input that names its item


class OneByOne(torch.utils.data.Dataset):
    """Items that are bare tensors, without a way to ask for many."""

    def __len__(self):
        return N

    def __getitem__(self, index):
        return INPUTS[index]


WORKERS = {
    "no workers": {},
    "two workers": {"num_workers": 2},
    "persistent workers": {"num_workers": 2, "persistent_workers": True},
    "no batches": {"batch_size": None},
}


@pytest.mark.parametrize("how", WORKERS)
@pytest.mark.parametrize("dataset", [TensorDataset(INPUTS), OneByOne()], ids=["at once", "one by one"])
def test_each_epoch_has_its_own_labels(how, dataset):
    deliver = StochasticLabelSampling(VOTES, seed=0)
    loader = DataLoader(
        VotesDataset(dataset, deliver), sampler=EpochSampler(Shuffled(N, seed=0)), **{"batch_size": 8} | WORKERS[how]
    )
    orders = set()
    for epoch in range(3):
        batches = [(x.reshape(-1).long(), y.reshape(-1)) for x, y in loader]
        items, labels = (torch.cat(parts).numpy() for parts in zip(*batches, strict=True))
        assert sorted(items) == list(range(N))
        np.testing.assert_array_equal(labels, deliver(epoch)[items])
        orders.add(tuple(items))
    assert len(orders) == 3


@pytest.mark.parametrize("name", DELIVERIES)
def test_batches_are_what_cross_entropy_takes(name):
    deliver = DELIVERIES[name](VOTES)
    x, y = next(iter(DataLoader(VotesDataset(TensorDataset(INPUTS), deliver), N, sampler=EpochSampler(range(N)))))
    torch.testing.assert_close(y, torch.from_numpy(deliver(0)))
    assert torch.nn.functional.cross_entropy(torch.zeros(N, 3), y).isfinite()
    torch.testing.assert_close(x, INPUTS)


def test_one_item_can_be_asked_for():
    dataset = VotesDataset(TensorDataset(INPUTS), Multipass(VOTES))
    x, y = dataset[5, 3]
    assert x.item() == 3
    assert y.item() == Multipass(VOTES)(5)[3]
    assert len(dataset) == N


def test_a_batch_may_reach_over_two_epochs():
    deliver = Multipass(VOTES)
    items = VotesDataset(TensorDataset(INPUTS), deliver).__getitems__([(0, 1), (1, 1), (4, 2)])
    assert [y.item() for _, y in items] == [deliver(0)[1], deliver(1)[1], deliver(4)[2]]


@pytest.mark.parametrize("workers", [0, 1])
def test_an_index_without_an_epoch_is_refused_with_the_way_out(workers):
    loader = DataLoader(VotesDataset(TensorDataset(INPUTS), Soft(VOTES)), shuffle=True, num_workers=workers)
    with pytest.raises(InputError, match=r"without an epoch.*sampler=EpochSampler\(Shuffled"):
        next(iter(loader))
    with pytest.raises(InputError, match="asked for item 3 without an epoch"):
        VotesDataset(TensorDataset(INPUTS), Soft(VOTES))[3]


@pytest.mark.parametrize(
    ("deliver", "given"),
    [
        (VOTES, "votes were"),
        (Multipass, "the class Multipass was"),
        ("multipass", "an object of type str was"),
        (partial(Multipass, seed=0), "an object of type partial was"),
    ],
)
def test_only_deliveries_are_deliveries(deliver, given):
    told = rf"{given} given, but a delivery was expected, such as Multipass\(votes, seed=0\) or Soft\(votes\)"
    with pytest.raises(InputError, match=told):
        VotesDataset(TensorDataset(INPUTS), deliver)


def test_data_and_delivery_must_be_equally_long():
    with pytest.raises(InputError, match="the data set has 21 items, but the delivery has 22"):
        VotesDataset(TensorDataset(INPUTS[:-1]), Soft(VOTES))


def test_epochs_can_be_resumed():
    sampler = EpochSampler(range(2), epoch=3)
    assert list(sampler) == [(3, 0), (3, 1)]
    assert list(sampler) == [(4, 0), (4, 1)]
    sampler.set_epoch(9)
    assert list(sampler) == [(9, 0), (9, 1)]
    assert len(sampler) == 2


def test_an_epoch_that_was_left_early_is_over():
    sampler = EpochSampler(range(5))
    next(iter(sampler))
    assert next(iter(sampler)) == (1, 0)


def test_an_iterator_that_is_never_used_is_no_epoch():
    sampler = EpochSampler(range(5))
    iter(sampler)
    assert next(iter(sampler)) == (0, 0)


def test_the_order_depends_on_seed_and_epoch_alone():
    def orders(seed):
        sampler = EpochSampler(Shuffled(N, seed))
        return [list(sampler) for _ in range(3)]

    assert orders(0) == orders(0)
    assert orders(0) != orders(1)
    resumed = EpochSampler(Shuffled(N, 0), epoch=2)
    assert list(resumed) == orders(0)[2]


def test_parts_of_a_distributed_sampler_make_up_the_epoch():
    dataset, seen = TensorDataset(INPUTS), []
    for epoch in range(2):
        parts = [EpochSampler(DistributedSampler(dataset, 2, rank), epoch=epoch) for rank in range(2)]
        pairs = [pair for part in parts for pair in part]
        assert sorted(pairs) == [(epoch, i) for i in range(N)]
        seen.append([i for _, i in pairs])
    assert seen[0] != seen[1]  # the sampler inside was told the epoch


def test_the_label_of_a_labelled_data_set_is_taken_away():
    labelled = TensorDataset(INPUTS, torch.full((N,), -1))
    deliver = Multipass(VOTES)
    _, y = next(iter(DataLoader(VotesDataset(WithoutLabel(labelled), deliver), N, sampler=EpochSampler(range(N)))))
    np.testing.assert_array_equal(y, deliver(0))
    pairs = [(INPUTS[i], -1) for i in range(N)]
    assert len(WithoutLabel(pairs)) == N
    assert WithoutLabel(pairs)[4] == (INPUTS[4],)
    assert WithoutLabel(Subset(labelled, [3])).__getitems__([0])[0][0].item() == 3


SHARES = torch.tensor([0.2, 0.5, 0.3])
MAY_BE_LABELS = {
    "a whole number": 2, "a truth": True, "of NumPy": np.int64(2), "of torch": torch.tensor(2), "boxed": np.array([2]),
    "a row of shares": SHARES, "of low precision": SHARES.bfloat16(), "in a list": SHARES.tolist(),
    "one of three": np.array([0, 1, 0]), "yes or no, for binary cross-entropy": 1.0, "boxed, too": torch.tensor([0.0]),
}  # fmt: skip
ARE_NONE = {
    "a share": 0.5, "an age": 31.0, "of torch": torch.tensor(31.5), "not a number": np.array([np.nan, 0, 1]),
    "as many features as classes": torch.tensor([0.2, 0.5, 0.9]), "a text": "somebody sleeps", "words": ["a", "b", "c"],
    "rows of several lengths": [[1], [2, 3]], "an image": torch.zeros(3, 4, 4), "tokens": np.array([5, 9, 2]),
    "a mapping": {"x": 1}, "nothing": None,
}  # fmt: skip


def asked_for(item, deliver=None, **said):
    """The items 0, one by one and in a batch."""
    dataset = VotesDataset([item] * N, deliver or Soft(VOTES), **said)
    return dataset[0, 0], *dataset.__getitems__([(0, 0)])


@pytest.mark.parametrize("entry", MAY_BE_LABELS.values(), ids=MAY_BE_LABELS)
@pytest.mark.parametrize("kind", [tuple, list])
def test_what_may_be_a_label_of_the_data_set_is_not_taken_for_an_input_without_a_word(entry, kind):
    item, deliver = kind([INPUTS[0], entry]), Soft(VOTES)
    told = (
        r"the last of the 2 entries of an item may be a label of the data set's own.*"
        r"\(WithoutLabel\(dataset\), deliver\).*VotesDataset\(dataset, deliver, inputs=2\)"
    )
    for ask in (lambda data: data[0, 0], lambda data: data.__getitems__([(0, 0), (0, 1)])):
        with pytest.raises(InputError, match=told):
            ask(VotesDataset([item] * N, deliver))
    assert len(VotesDataset(WithoutLabel([item] * N), deliver)[0, 0]) == 2
    for x, same, y in asked_for(item, inputs=2):
        assert torch.equal(x, INPUTS[0])
        assert same is entry
        np.testing.assert_array_equal(y, deliver(0)[0])


@pytest.mark.parametrize("entry", ARE_NONE.values(), ids=ARE_NONE)
def test_several_inputs_are_several_inputs(entry):
    for x, same, y in asked_for((INPUTS[0], entry)):
        assert torch.equal(x, INPUTS[0])
        assert same is entry
        np.testing.assert_array_equal(y, Soft(VOTES)(0)[0])


def test_a_measurement_that_is_a_whole_number_now_and_then_is_an_input():
    """It ended a training in the middle, when one of them came first in a batch."""
    doses = torch.tensor([0.0, 0.7] * (N // 2))
    loader = DataLoader(VotesDataset(TensorDataset(INPUTS, doses), Soft(VOTES)), 4, sampler=EpochSampler(range(N)))
    assert torch.equal(torch.cat([dose for _, dose, _ in loader]), doses)


def test_where_votes_name_several_classes_shares_need_no_sum():
    votes = Votes.from_records(items=range(N), labels=[{0, 1}, {2}] * (N // 2), classes=range(3))
    item = (INPUTS[0], np.array([1, 1, 0]))
    assert len(asked_for(item)[0]) == 3
    with pytest.raises(InputError, match="may be a label of the data set's own"):
        asked_for(item, Soft(votes))


def test_as_many_inputs_as_were_said():
    with pytest.raises(InputError, match=r"inputs=1 was said, but an item has 2\. WithoutLabel\(dataset\) takes"):
        asked_for((INPUTS[0], 3), inputs=1)
    with pytest.raises(InputError, match="inputs=2 was said, but an item has 1"):
        asked_for(INPUTS[0], inputs=2)
    assert len(asked_for({"x": INPUTS[0], "y": 2})[0]) == 3


def test_a_label_that_may_be_one_is_told_of_by_workers_too():
    labelled = TensorDataset(INPUTS, torch.ones(N, dtype=torch.int64))
    sampler = EpochSampler(range(N))
    with pytest.raises(InputError, match=r"own: tensor\(1\)\. If it is, VotesDataset\(WithoutLabel"):
        next(iter(DataLoader(VotesDataset(labelled, Soft(VOTES)), 4, sampler=sampler, num_workers=1)))


@pytest.mark.parametrize(("item", "kind"), [({"x": 1, "labels": 2}, "dict"), (torch.zeros(3), "Tensor")])
def test_only_tuples_have_a_last_entry_to_take_away(item, kind):
    message = f"takes the last entry of a tuple away, but an item is of type {kind}"
    with pytest.raises(InputError, match=message):
        WithoutLabel([item])[0]
    with pytest.raises(InputError, match=message):
        WithoutLabel([item]).__getitems__([0])


def test_a_stream_has_no_positions():
    with pytest.raises(InputError, match="a data set whose items have positions: one with a length, but generator has"):
        VotesDataset((x for x in range(N)), DELIVERIES["soft"](VOTES))


def test_mappings_get_their_labels_by_name():
    dataset = [{"input_ids": torch.tensor([i]), "labels": torch.tensor(-1)} for i in range(N)]
    batch = next(iter(DataLoader(VotesDataset(dataset, Soft(VOTES)), N, sampler=EpochSampler(range(N)))))
    np.testing.assert_array_equal(batch["labels"], Soft(VOTES)(0))
    assert dataset[0]["labels"] == -1


def test_without_torch_the_extra_is_named():
    code = """
import sys
from functools import partial
sys.modules["torch"] = None
try:
    import dissensus.adapters.torch
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "dissensus[train]"' in done.stdout
