"""Numbers of the text and of the figures."""

from __future__ import annotations

from dissensus.report.paper.text import text_table


def test_numbers_of_the_text_in_the_order_of_the_figures(whole, basins):
    table = text_table(whole, basins)
    groups = list(dict.fromkeys(line.group for line in table.lines))
    assert groups == [f"Figure {n}" for n in (2, 3, 4, 7, 8, 9, 11, 12)]
    first = table.lines[0]
    assert first.boxes[0].text == "[0.05, 0.16]"
    assert "5 votes" in first.name
    assert "seeds" in first.boxes[2].detail  # lowest to highest, as the paper has it
    barrier = next(line for line in table.lines if line.group == "Figure 11")
    assert barrier.boxes[0].text == "2.0500"


def test_the_head_says_how_many_seeds_there_are(whole, basins):
    two = whole.only({run for run, cell in whole.runs.items() if cell.seed < 2})
    assert text_table(whole, basins).head[3] == "measured, seeds 0–4"
    assert text_table(two, basins).head[3] == "measured, 2 of the seeds 0–4"
