"""The report of models of rates and of quantiles: in their own units, and by their own measures."""

import numpy as np
import pytest
from sklearn.metrics import d2_tweedie_score, mean_tweedie_deviance

from reported import credit, intervals, rates
from sasanet.errors import InvalidInputError
from sasanet.report import write_report
from sasanet.report.summary import gather


def measures(content):
    return {one["name"]: one for one in content["facts"]["quality"]["measures"]}


def test_rates_are_judged_by_their_deviance_and_by_exposure():
    model, table = rates()
    claims, years = table["claims"].to_numpy(), table["years"].to_numpy()
    found = measures(gather(model, table, "claims", "power", exposure="years"))
    predicted = model.predict(table[["age", "power", "density"]])
    scored = d2_tweedie_score(claims / years, predicted, sample_weight=years, power=1)
    assert found["D² of the deviance"]["value"] == pytest.approx(scored)
    loss = mean_tweedie_deviance(claims / years, predicted, sample_weight=years, power=1)
    assert found["Mean deviance"]["value"] == pytest.approx(loss)
    assert found["Mean deviance"]["base"] > loss
    assert found["Mean deviance"]["low"] < loss < found["Mean deviance"]["high"]
    plain = measures(gather(model, table.assign(claims=claims / years), "claims", None))
    assert plain["Mean deviance"]["value"] != pytest.approx(loss)  # the twin without exposure


def test_groups_of_rates_are_rates():
    model, table = rates()
    table = table.assign(old=np.where(table["age"] > 0, "old", "young"))
    content = gather(model, table, "claims", "old", exposure="years")
    for group in content["facts"]["quality"]["groups"]:
        rows = table["old"] == group["name"]
        wanted = table["claims"][rows].sum() / table["years"][rows].sum()
        assert group["observed"] == pytest.approx(wanted)


def test_the_page_knows_the_link_and_what_is_predicted():
    model, table = rates()
    data = gather(model, table, "claims", None, exposure="years")
    assert data["data"]["link"] == "log"
    assert dict(data["facts"]["model"])["Predicts"].startswith("the mean of claims, per unit")
    assert np.exp(data["data"]["base"][0]) == pytest.approx(
        float(dict(data["facts"]["model"])["Base value"].split(",")[0]), rel=1e-4
    )
    assert gather(*credit(), "bad", None)["data"]["link"] == ""


def test_quantiles_are_judged_by_their_loss_and_coverage():
    model, table = intervals()
    content = gather(model, table, "y", None)
    found, predicted = measures(content), model.predict(table[["a", "b", "c"]])
    y = table["y"].to_numpy()
    inside = ((predicted[:, 0] < y) & (y <= predicted[:, 2])).mean()
    assert found["Inside the interval"]["value"] == pytest.approx(inside)
    assert found["Inside the interval"]["better"] == "80 %"
    assert found["Below q0.9"]["value"] == pytest.approx((y <= predicted[:, 2]).mean())
    assert content["data"]["quantiles"] == [0.1, 0.5, 0.9]
    assert "quantiles of y: 0.1, 0.5, 0.9" in dict(content["facts"]["model"])["Predicts"]
    assert content["data"]["network"] is None  # the page takes features away one by one
    assert content["facts"]["pairs"]["why"] == ""


def test_both_pages_are_written(tmp_path):
    model, table = rates()
    page = write_report(model, table, tmp_path / "rates.html", "claims", exposure="years")
    assert "D² of the deviance" in page.read_text()
    model, table = intervals()
    page = write_report(model, table, tmp_path / "quantiles.html", "y")
    assert "80 % is meant" in page.read_text()


def test_exposure_is_refused_where_no_rate_is_judged():
    model, table = intervals()
    with pytest.raises(InvalidInputError, match=r"exposure must go with .* objective='quantile'"):
        gather(model, table, "y", None, exposure=np.ones(len(table)))
    model, table = rates()
    with pytest.raises(InvalidInputError, match="got it with no target"):
        gather(model, table, None, None, exposure="years")
    with pytest.raises(InvalidInputError, match="exposure must name a column"):
        gather(model, table, "claims", None, exposure="year")
