from dataclasses import replace

from dissensus.experiment.studies import careful_annotators as study


def test_both_kinds_of_people_judge_all_arms(small, scores_of):
    careful = replace(small.data, name="careful", votes=small.data.votes.subsample(4, seed=5))
    rows = scores_of(*(study.careful_annotators(careful, small.data, seed, small.how) for seed in (0, 1)))
    trained = [row for row in rows if row.method != study.ALONE]
    assert len(trained) == 2 * 3 * 2 * 2 * 4
    assert {row.against for row in trained} == {"crowd", "careful"}
    told = study.STUDY.verdicts(study.STUDY.judge(rows))
    assert len(told) == 1 + 2 * (3 + 1 + 2)
    assert told[1].startswith("varierr, judged by crowd: with careful votes S1 ")


def test_as_many_votes_of_the_crowd_are_drawn_anew_for_each_seed(small, scores_of):
    careful = replace(small.data, votes=small.data.votes.subsample(4, seed=5))
    rows = scores_of(study.careful_annotators(careful, small.data, 0, small.how))
    kl = {row.condition: row.values["kl"] for row in rows if row.method == "soft" and row.against == "crowd"}
    assert len(set(kl.values())) == 3
