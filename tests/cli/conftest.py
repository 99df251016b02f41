"""The command as a person types it, in an empty folder, and data of one's own."""

import numpy as np
import pytest

from dissensus.cli import main, telling


@pytest.fixture
def run(capfd, monkeypatch, tmp_path):
    """Call the command in an empty folder; returns exit code, standard output and standard error, of workers too."""
    monkeypatch.chdir(tmp_path)
    for console in (telling.out, telling.err):
        monkeypatch.setattr(console, "width", 200)

    def call(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        printed = capfd.readouterr()
        return stop.value.code, printed.out, printed.err

    return call


@pytest.fixture
def own_data(tmp_path):
    """Sixty items with four features and five votes each."""
    rng = np.random.default_rng(0)
    centre = rng.integers(0, 3, 60)
    features = np.eye(4)[centre] + 0.3 * rng.normal(size=(60, 4))
    np.save(tmp_path / "features.npy", features.astype(np.float32))
    lines = ["item,annotator,label"]
    for item in range(60):
        for annotator in range(5):
            label = centre[item] if rng.random() < 0.8 else rng.integers(0, 3)
            lines.append(f"{item},a{annotator},{'abc'[label]}")
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.fixture
def own_texts(own_data, monkeypatch):
    """A text for each of the sixty items, and a data folder to keep features in."""
    pytest.importorskip("transformers")
    monkeypatch.setenv("DISSENSUS_DATA", str(own_data / "data"))
    words = ["a man sleeps .", "the dog runs .", "a cat eats outside ."]
    lines = [f"{item},{words[item % 3]} {'the park ' * (item % 4)}" for item in range(60)]
    (own_data / "texts.csv").write_text("\n".join(["id,text", *lines]) + "\n")
    return own_data
