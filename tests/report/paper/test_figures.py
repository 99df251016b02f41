"""The twelve figures: all of them, what they overlay, and what they say to those who cannot see them."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection

from dissensus.experiment.papers import Cell
from dissensus.experiment.papers.evidence import Evidence
from dissensus.report.figures import styled
from dissensus.report.paper.drawing import LOOKS
from dissensus.report.paper.figures import AUDITED, FIGURES

# how many of the paper's numbers each figure overlays
OVERLAID = {"figure1": 16, "figure4": 4, "figure7": 1, "figure8": 2, "figure9": 4, "figure11": 1, "figure12": 2}


@pytest.fixture(scope="module")
def drawn(whole, basins):
    with styled():
        return {place: draw(whole, basins) for place, draw in FIGURES.items()}


def diamonds(figure):
    """Where published numbers stand."""
    lines = [line for ax in figure.axes for line in ax.lines if line.get_marker() == "D" and len(line.get_xdata()) == 1]
    return [float(line.get_ydata()[0]) for line in lines if line.get_markerfacecolor() == "none"]


def test_there_are_twelve_in_the_papers_order(drawn):
    assert list(drawn) == [f"figure{number}" for number in range(1, 13)]
    assert all(one is not None for one in drawn.values())


def test_published_numbers_are_overlaid_where_there_are_any(drawn, basins):
    for place, one in drawn.items():
        shown = diamonds(one.figure)
        assert len(shown) == OVERLAID.get(place, 0), place
        source = "table1" if place == "figure1" else place
        told = [n.mean for address, n in basins.published.numbers.items() if address.place == source]
        assert set(shown) <= set(told)


def test_every_figure_that_the_audited_protocol_feeds_shows_it(basins, whole, drawn):
    """By itself or beside the published one; from its own runs alone, and without the paper's numbers."""
    fed = {place for one in basins.of("audited") for place in one.feeds if place.startswith("figure")}
    assert fed == {*AUDITED, "figure1", "figure3"}
    own = whole.only({run for run, cell in whole.runs.items() if cell.protocol == "audited"})
    with styled():
        for place, draw in AUDITED.items():
            one, alone = draw(whole, basins, protocol="audited"), draw(own, basins, protocol="audited")
            assert one.alt == alone.alt != drawn[place].alt, place
            assert not diamonds(one.figure)
            assert "published" not in [text.get_text() for legend in one.figure.legends for text in legend.get_texts()]


def test_every_figure_says_what_is_up(drawn):
    for place, one in drawn.items():
        first = one.figure.axes[0]
        assert first.get_ylabel() or {"↑", "↓"} & set(first.get_title(loc="left")), place


def test_texts_tell_what_is_seen(drawn):
    for one in drawn.values():
        assert len(one.alt) > 60
        assert any(letter.isdigit() for letter in one.alt)
        assert len(one.caption) > 40
        assert "None" not in one.alt + one.caption
        assert "nan" not in one.alt + one.caption
    assert "published 2.05" in drawn["figure11"].alt
    assert "published 35.7" in drawn["figure8"].alt


def test_what_people_reach_stands_where_models_are_compared_with_it(drawn):
    told = [text.get_text() for ax in drawn["figure1"].figure.axes for text in ax.texts]
    assert told == ["human ceiling 0.54"] * 2  # under either protocol


def test_axes_are_named(drawn):
    for place, one in drawn.items():
        for ax in one.figure.axes:
            assert ax.get_title("left") or ax.get_title(), place


def test_methods_keep_colours_and_markers_that_differ():
    assert len({look.colour for look in LOOKS.values()}) == len(LOOKS)
    assert len({look.marker for look in LOOKS.values()}) == len(LOOKS)


def test_what_is_not_run_is_not_drawn(basins):
    for draw in FIGURES.values():
        assert draw(Evidence({}, {}), basins) is None


def test_one_seed_is_drawn_without_intervals(basins, make):
    cells = [cell for cell in basins.cells("published") if cell.seed == 0]
    evidence = make(cells)
    with styled():
        drawn = {place: draw(evidence, basins) for place, draw in FIGURES.items()}
    assert drawn["figure1"] is not None
    assert drawn["figure9"] is None  # one seed makes no pair
    for one in drawn.values():
        if one is not None:
            assert "nan" not in one.alt


def test_the_line_to_all_votes_is_drawn_only_where_samples_are_nested(drawn):
    published, audited = (drawn["figure1"].figure.axes[i] for i in (0, 3))
    assert max(len(line.get_xdata()) for line in published.lines) == 4
    assert max(len(line.get_xdata()) for line in audited.lines) == 4  # 5, 10, 25 and all
    assert [label.get_text() for label in audited.get_xticklabels()] == ["5", "10", "25", "all"]


def test_controls_of_the_barrier_stand_beside_it(drawn, whole):
    stale, reset, heights = drawn["figure11"].figure.axes
    for ax, name in ((stale, "barrier"), (reset, "barrier_reset")):
        labels = [line.get_label() for line in ax.lines]
        assert labels == ["sls to soft", "sls to sls again", "soft to soft again"]
        curves = whole.curves(name, protocol="published", method="sls", other="sls+reorder")
        mean = np.mean([curve.y for curve in curves.values()], axis=0)
        np.testing.assert_allclose(ax.lines[1].get_ydata(), mean)
    assert heights.get_xticklabels()[0].get_text() == "sls\nto soft"


def test_a_run_that_diverged_does_not_spoil_the_rest(basins, whole):
    cells = [Cell("published", "sls", "all", 1, seed) for seed in range(3)]
    history = {"epoch": [0, 1], "soft_nll": [2.0, 1.0]}
    lost = {"epoch": [0, 1], "soft_nll": [2.0, np.nan]}
    rows = [{"cell": cells[0], **history}, {"cell": cells[1], **history}, {"cell": cells[2], **lost}]
    with styled():
        drawn = FIGURES["figure8"](Evidence.from_rows(histories=rows), basins)
    np.testing.assert_allclose(drawn.figure.axes[0].lines[0].get_ydata(), [2.0, 1.0])


@pytest.mark.parametrize("protocols", [("published",), ("audited",), ("published", "audited")])
def test_no_legend_is_wider_than_its_figure(basins, make, protocols):
    """Nor is it cut off while the runs of one protocol are there alone, and the figure is narrow."""
    cells = [cell for cell in basins.cells() if cell.protocol in protocols and cell.seed < 2]
    with styled():
        evidence = make(cells)
        for place, draw in FIGURES.items():
            if (one := draw(evidence, basins)) is not None:
                one.figure.draw_without_rendering()
                for legend in one.figure.legends:
                    box = legend.get_window_extent()
                    assert box.x0 >= 0, place
                    assert box.x1 <= one.figure.bbox.width, place


def bands(figure):
    """Of every line over seeds, whether it has a band."""
    filled = [one for ax in figure.axes for one in ax.collections if isinstance(one, FillBetweenPolyCollection)]
    return [any(np.isfinite(path.vertices).all() for path in one.get_paths()) for one in filled]


def bars(figure):
    return [line for ax in figure.axes for line in ax.lines if line.get_solid_capstyle() == "round"]


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_captions_promise_intervals_where_they_are_drawn(basins, make, seeds):
    evidence = make([cell for cell in basins.cells() if cell.seed < seeds])
    with styled():
        drawn = {place: one for place, draw in FIGURES.items() if (one := draw(evidence, basins))}
    assert len(drawn) == (10 if seeds == 1 else 12)  # one seed makes no pair
    for place, one in drawn.items():
        of_lines = bands(one.figure)
        assert len(set(of_lines)) < 2
        shown = any(of_lines) if of_lines and place != "figure11" else bool(bars(one.figure))
        assert ("95 % intervals" in one.caption) == shown, place
        partly = place == "figure11" and seeds == 2  # heights have an interval, lines have none
        assert ("from three seeds on" in one.caption) == partly, place


def test_captions_say_from_how_many_seeds_on_there_are_intervals(basins, make):
    lines = make([cell for cell in basins.cells() if cell.seed < (2 if cell.method == "soft" else 3)])
    means = make([cell for cell in basins.cells() if cell.seed < (1 if cell.method == "soft" else 2)])
    with styled():
        of_lines, of_means = FIGURES["figure3"](lines, basins), FIGURES["figure10"](means, basins)
    assert {True, False} == set(bands(of_lines.figure))
    assert of_lines.caption.startswith("Means over 2 to 3 seeds, with 95 % intervals from three seeds on; all vot")
    assert "Means over 1 to 2 seeds, with 95 % intervals from two seeds on; a dot a seed" in of_means.caption
