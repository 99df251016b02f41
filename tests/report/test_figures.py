"""Figures: each draws into the axes it is given, in every shape that data can have, and changes nothing global."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

from dissensus.report import collect, figures
from dissensus.report.gallery import gallery
from dissensus.report.views import differences, learning


@pytest.fixture
def ax():
    with figures.styled():
        yield figures.sheet(1, 4, 3)[1][0]


def test_a_method_keeps_its_look():
    one, many = figures.looks(["majority"]), figures.looks(["soft", "mine", "majority", "yours"])
    assert one["majority"] == many["majority"]
    assert len(set(many.values())) == 4
    assert len(figures.looks([f"method {i}" for i in range(20)])) == 20


def test_global_settings_are_left_alone(comparison):
    before = dict(matplotlib.rcParams)
    with figures.styled():
        figures.learning_figure(comparison.panels[0])
    assert dict(matplotlib.rcParams) == before


def test_differences_show_every_seed(comparison, ax):
    (panel,) = comparison.panels
    view = differences(panel, panel.judgements[0])
    figures.plot_differences(view, ax)
    assert [label.get_text() for label in ax.get_yticklabels()][2] == "soft − majority"
    drawn = [dots.get_offsets()[:, 0] for dots in ax.collections]
    np.testing.assert_allclose(drawn, view.values)
    low, high = ax.get_xlim()
    assert low < view.values.min()
    assert high > view.values.max()


@pytest.mark.parametrize(
    ("rule", "label"), [(0, "← first better      second better →"), (2, "← second better      first better →")]
)
def test_differences_say_which_side_is_better(comparison, ax, rule, label):
    (panel,) = comparison.panels
    figures.plot_differences(differences(panel, panel.judgements[rule]), ax)
    assert ax.get_xlabel() == label


def test_learning_curves_mark_the_best_epoch(comparison, ax):
    view = learning(comparison.panels[0].runs["soft"])
    figures.plot_learning({"soft": view}, ax)
    curve, mark = ax.lines
    np.testing.assert_array_equal(curve.get_ydata(), view.mean)
    assert mark.get_xdata()[0] == view.best_epoch


def test_bars_show_every_class(comparison, ax):
    item = gallery(comparison)[0]
    figures.plot_bars(item, ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(item.classes)
    assert len(ax.patches) == 2 * len(item.bars) * len(item.classes)


def test_one_seed_and_one_method(make_run):
    found = collect([make_run("soft")])
    (panel,) = found.panels
    with figures.styled():
        assert figures.differences_figure(panel) is None
        assert figures.by_votes_figure(found) is None
        assert figures.reliability_figure(panel) is not None
        assert figures.entropy_figure(found, panel) is not None
        assert figures.learning_figure(panel) is not None


def test_diverged_methods_are_left_out(make_run):
    def diverged(predictions):
        predictions["best_logits"][:] = np.nan

    found = collect([make_run("soft"), make_run("sls", edit=diverged)])
    (panel,) = found.panels
    with figures.styled():
        assert len([ax for ax in figures.entropy_figure(found, panel).axes if ax.get_visible()]) == 1
        only = collect([make_run("sls", edit=diverged)])
        assert figures.reliability_figure(only.panels[0]) is None
        assert figures.entropy_figure(only, only.panels[0]) is None
        assert figures.learning_figure(only.panels[0]) is None


def test_a_seed_that_diverged_has_no_learning_curve(make_run):
    """Its history is shorter than that of the others."""

    def diverged(predictions):
        predictions["best_logits"][:] = np.nan

    lost = make_run("soft", 1, edit=diverged)
    lost.history.update({name: column[:2] for name, column in lost.history.items()})
    (panel,) = collect([make_run("soft", 0), lost]).panels
    alone = collect([make_run("soft", 0)]).panels[0]
    with figures.styled():
        curves = [figures.learning_figure(one).axes[0].lines[0].get_ydata() for one in (panel, alone)]
    np.testing.assert_array_equal(*curves)


def test_files_are_the_same_each_time(comparison):
    with figures.styled():
        one, two = (figures.rendered(figures.learning_figure(comparison.panels[0])) for _ in range(2))
    assert one == two
    assert one["png"].startswith(b"\x89PNG")
    assert b"<svg" in one["svg"]


def test_characters_without_a_glyph_stay_texts_in_svg(comparison):
    """The page shows the svg, and its reader may have a font; nothing is said on standard error."""
    assert figures.without_glyph(["größer", "да", "\U00012000x"]) == "\U00012000"
    with figures.styled():
        drawn = {}
        for name in ("größer", "\U00012000größer"):
            figure, (ax,) = figures.sheet(1, 3, 2)
            ax.barh([name], [1.0])
            drawn[name] = figures.rendered(figure)["svg"].decode()
    assert "größer</text>" not in drawn["größer"]
    assert "\U00012000größer</text>" in drawn["\U00012000größer"]
