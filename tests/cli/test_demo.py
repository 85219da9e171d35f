"""The demo does the whole job and leaves a page."""

import pytest

from sasanet import load
from sasanet.cli import demonstration


@pytest.mark.usefixtures("small_default", "few_trees")
def test_the_demo_leaves_a_model_and_a_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    demonstration.main()
    said = capsys.readouterr().out
    for part in ("SASANet", "LightGBM", "additivity gap", "self-game R²", "the log-odds by"):
        assert part in said
    assert "predictions identical: True" in said
    page = (tmp_path / "demo-output" / "index.html").read_text("utf-8")
    assert "How faithful" in page
    assert "housing" in page
    assert load(tmp_path / "demo-output" / "model").n_features_in_ == 20
