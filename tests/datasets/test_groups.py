from __future__ import annotations

from dissensus.datasets.groups import by_words


def test_case_signs_blanks_and_stand_ins_do_not_count():
    assert len(set(by_words(["I’m sorry what 😂", "<user> I’m sorry WHAT??", " I m  sorry what <url>"]).tolist())) == 1


def test_other_words_and_texts_without_words_are_apart():
    assert by_words(["no", "not", "👇", "👆", "👇", "<user>"]).tolist() == [0, 1, 2, 3, 2, 4]
