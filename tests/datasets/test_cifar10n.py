from __future__ import annotations

import pickle
import zipfile

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import cifar, load
from dissensus.datasets.cifar10n import HUMAN, read_human

VOTES = ["random_label1", "random_label2", "random_label3"]


@pytest.fixture
def human(small, rng):
    """What annotators said of the small train batches: one of three is wrong now and then."""
    clean = np.concatenate([small[file]["labels"] for file in cifar.TRAIN])
    wrong = {name: np.where(rng.random(len(clean)) < 0.2, rng.integers(0, 10, len(clean)), clean) for name in VOTES}
    return {"clean_label": clean, "aggre_label": clean, "worse_label": clean} | wrong


@pytest.fixture
def write(folder, put):
    """As torch.save writes it since 1.6: a zip file around a pickle."""

    def to(arrays):
        path = put(folder / HUMAN, b"")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("CIFAR-10_human/data.pkl", pickle.dumps(arrays, protocol=2))
            archive.writestr("CIFAR-10_human/version", "3\n")
        return path

    return to


def expected_counts(human):
    return np.stack([np.bincount(row, minlength=10) for row in np.stack([human[name] for name in VOTES], 1)])


def test_images_votes_and_labels_of_one_order(small, human, write):
    write(human)
    data = load("cifar10n")
    assert data.inputs.shape == (150, 3, 32, 32)
    np.testing.assert_array_equal(data.inputs[60:90].reshape(30, -1), small[cifar.TRAIN[2]]["data"])
    np.testing.assert_array_equal(data.votes.counts(), expected_counts(human))
    assert (data.votes.votes_per_item == 3).all()
    assert data.votes.annotators is None
    assert data.votes.items[[0, 149]].tolist() == ["cifar10-train-00000", "cifar10-train-00149"]
    np.testing.assert_array_equal(data.labels, human["clean_label"])


@pytest.mark.parametrize("zipped", [True, False])
def test_as_torch_itself_writes_it(human, folder, put, zipped):
    torch = pytest.importorskip("torch")
    torch.save(human, put(folder / HUMAN, b""), _use_new_zipfile_serialization=zipped)
    np.testing.assert_array_equal(load("cifar10n").votes.counts(), expected_counts(human))


def test_plain_arrays(human, folder):
    (folder / "cifar-10n").mkdir()
    np.savez_compressed(folder / "cifar-10n" / "cifar10n.npz", **{k: v.astype(np.int8) for k, v in human.items()})
    np.testing.assert_array_equal(load("cifar10n").votes.counts(), expected_counts(human))


def test_columns_are_as_good_as_rows(human, write):
    write({name: array[:, None] for name, array in human.items()})
    np.testing.assert_array_equal(load("cifar10n").votes.counts(), expected_counts(human))


def test_missing_train_images_are_named(human, write, folder):
    write(human)
    for file in cifar.TRAIN[3:]:
        (folder / file).unlink()
    with pytest.raises(
        InputError, match=r"cifar10n needs cifar-10-.*data_batch_4, cifar-10-.*data_batch_5 in .*get cifar10n"
    ):
        load("cifar10n")


def test_swapped_batches_are_refused(human, write, folder):
    write(human)
    second, third = (folder / file for file in cifar.TRAIN[1:3])
    (folder / "aside").write_bytes(second.read_bytes())
    second.write_bytes(third.read_bytes())
    third.write_bytes((folder / "aside").read_bytes())
    with pytest.raises(
        InputError, match=r"CIFAR-10_human.pt and .*data_batch_2 are not in one order: .* of 150 images"
    ):
        load("cifar10n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda h: h.pop("random_label2"),
            r"'random_label2' in .*human.pt must be 150 whole numbers, but is not there",
        ),
        (
            lambda h: h.update(random_label1=h["random_label1"][:-1]),
            r"must be 150 whole numbers, but is int64 \(149,\)",
        ),
        (lambda h: h.update(random_label1=h["random_label1"] / 1), r"but is float64 \(150,\)"),
        (
            lambda h: h["random_label3"].__setitem__(5, 10),
            r"'random_label3' in .*human.pt must be 0 to 9, but image 5 has 10",
        ),
        (lambda h: h.update(extra=print), r"human.pt was refused: it asks for .*print"),
    ],
)
def test_another_structure_is_named(human, write, change, message):
    change(human)
    with pytest.raises(InputError, match=message):
        read_human(write(human))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("ending", ["pt", "npz"])
def test_cut_off_files(human, write, tmp_path, share, ending):
    path = tmp_path / f"human.{ending}"
    np.savez_compressed(path, **human) if ending == "npz" else path.write_bytes(write(human).read_bytes())
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match=rf"human.{ending} is damaged"):
        read_human(path)


def test_damaged_bytes(human, tmp_path):
    path = tmp_path / "human.npz"
    np.savez_compressed(path, **human)
    whole = bytearray(path.read_bytes())
    whole[60:120] = b"\xff" * 60
    path.write_bytes(whole)
    with pytest.raises(InputError, match=r"human.npz is damaged"):
        read_human(path)


def test_the_real_votes(real):
    human = read_human(real("cifar-10n/cifar10n.npz"))
    assert np.bincount(human["clean_label"]).tolist() == [5000] * 10
    # the noise rates that the paper reports for the three, in percent
    rates = [100 * (human[name] != human["clean_label"]).mean() for name in VOTES]
    np.testing.assert_allclose(rates, [17.23, 18.12, 17.64], atol=0.01)
