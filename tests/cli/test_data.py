"""``dissensus data``: sets, and where they come from."""

import json
import re


def test_sets_that_are_brought_by_hand_say_where_they_come_from(run, tmp_path, monkeypatch):
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path / "sets"))
    code, out, err = run("data", "list")
    assert code == 0
    assert re.search(r"popquorn-offensiveness .* 1,500 +by hand .* no", out)
    folder = tmp_path / "sets" / "lewidi2023"
    assert "hs-brexit: get HS-Brexit_train.json, HS-Brexit_dev.json, HS-Brexit_test.json from https://" in err
    assert f"into {folder}" in err
    homes = {row["name"]: row["home"] for row in json.loads(run("data", "list", "--json")[1])}
    code, _, err = run("data", "get", "hs-brexit")
    assert code == 2
    assert homes["hs-brexit"] in err
    assert str(folder / "HS-Brexit_train.json") in err
    assert homes["cifar10h"] is None
