"""The page in a real browser: what it shows adds up, and what it computes is the model's value."""

import numpy as np
import pytest

from browsers import opened_browser
from reported import (
    HOSTILE,
    credit,
    hostile,
    intervals,
    masses,
    penguins,
    rates,
    sequences,
)
from sasanet.report import write_report

# Cell vectors travel in 16 bits: in a sum of a few dozen that is some 1e-4 of the network's units.
TOLERANCE = 1e-3


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture
def open_report(browser, folder):
    """Return a function that opens a report; at the end nothing was fetched and nothing failed."""
    trouble, pages = [], []

    def open_page(make, target, group=None, width=1280):
        file = folder / f"{make.__name__}.html"
        if not file.exists():
            write_report(*make(), file, target, group)
        page = browser.new_page(viewport={"width": width, "height": 800})
        pages.append(page)
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("console", lambda message: trouble.append(message.text))
        page.on("dialog", lambda dialog: (trouble.append("dialog"), dialog.dismiss()))
        page.on("request", lambda r: trouble.append(r.url) if r.url != file.as_uri() else None)
        page.goto(file.as_uri())
        return page

    yield open_page
    for page in pages:
        page.close()
    assert trouble == []


def number(page, selector):
    return float(page.locator(selector).get_attribute("data-value"))


def in_words(page, selector):
    return page.locator(selector).inner_text().split(" (")[0].replace("−", "-")


def value_of(model, table, label, names):
    row = table.loc[[label], list(model.encoder_.names)]
    return np.atleast_1d(np.squeeze(model.value(row, names)))


def test_the_numbers_of_a_clicked_row_add_up_to_its_prediction(open_report):
    model, table = credit()
    page = open_report(credit, "bad", "housing")
    label = table.index[4]
    page.get_by_role("button", name=f"Show row {label}", exact=True).click()
    assert page.locator("#row-title").inner_text() == f"Row {label}"
    page.get_by_role("button", name="Show every feature").click()
    lines = page.locator("#waterfall tr.feature td.num")
    assert lines.count() == len(model.encoder_.names)
    added = [float(line.get_attribute("data-value")) for line in lines.all()]
    written = [float(line.inner_text().replace("−", "-")) for line in lines.all()]
    base, total = number(page, "#line-base td.num"), number(page, "#line-prediction td.num")
    expected = model.decision_function(table[list(model.encoder_.names)])[4]
    assert total == pytest.approx(expected, abs=1e-9)
    assert base + sum(added) == pytest.approx(total, abs=1e-5)  # attributions travel in 32 bits
    assert base + sum(written) == pytest.approx(total, abs=0.0005 * (len(written) + 1))
    reason = page.locator("#reasons li").first.inner_text()
    strongest = written[0]
    assert reason.endswith(f"{'raises' if strongest > 0 else 'lowers'} the log-odds by "
                           f"{abs(strongest):.3f}")  # fmt: skip


def test_switching_features_off_shows_the_models_value_of_the_rest(open_report):
    model, table = credit()
    page, label = open_report(credit, "bad", "housing"), table.index[0]
    left = list(model.encoder_.names)
    for _ in range(2):
        line = page.locator("#waterfall tr.feature:not(.off)").first
        name = line.locator("input").get_attribute("aria-label").removeprefix("Use ")
        line.locator("input").uncheck()
        left.remove(name)
        expected = value_of(model, table, label, left)[0]
        assert number(page, "#from-rest") == pytest.approx(expected, abs=TOLERANCE)
        assert float(in_words(page, "#from-rest")) == pytest.approx(expected, abs=2 * TOLERANCE)
    page.get_by_role("button", name="All off").click()
    assert number(page, "#from-rest") == model.base_value_[0]
    page.get_by_role("button", name="All on").click()
    assert page.locator("#from-rest").count() == 0


def page_values(page, known):
    """Return v(S) of one coalition a row, as the page computes it: (n, K)."""
    return np.array(page.evaluate("known => known.map((k, row) => ROWS.value(row, k))", known))


@pytest.mark.parametrize(
    ("make", "target"), [(credit, "bad"), (penguins, "species"), (masses, "body_mass_g")]
)
def test_any_coalition_of_any_row_has_the_models_value(open_report, make, target):
    model, table = make()
    page = open_report(make, target)
    X = table[list(model.encoder_.names)]
    known = np.random.default_rng(0).random(X.shape) < 0.5
    expected = model.value(X, known).reshape(len(X), -1)
    error = np.abs(page_values(page, known.tolist()) - expected).max() / model.target_.scale
    assert error < TOLERANCE
    page.evaluate("ROWS.network.factors[0] *= 1.5")  # the twin that must fail
    broken = np.abs(page_values(page, known.tolist()) - expected).max() / model.target_.scale
    assert broken > 5 * TOLERANCE


def test_a_network_that_cannot_travel_lets_one_feature_go_at_a_time(open_report):
    model, table = sequences()
    page, label = open_report(sequences, "gentoo"), table.index[0]
    assert "one feature at a time" in page.locator("#by-row").inner_text()
    boxes = page.locator("#waterfall input:enabled")
    boxes.nth(0).uncheck()
    boxes.nth(1).uncheck()
    assert page.locator("#waterfall tr.off").count() == 1
    gone = page.locator("#waterfall tr.off input").get_attribute("aria-label")
    left = [name for name in model.encoder_.names if name != gone.removeprefix("Use ")]
    expected = value_of(model, table, label, left)[0]
    assert number(page, "#from-rest") == pytest.approx(expected, abs=1e-5)
    assert page.locator("#all-off").is_hidden()


def test_the_class_switch_changes_the_reasons(open_report):
    model, table = penguins()
    page = open_report(penguins, "species")
    expected = model.explain(table[list(model.encoder_.names)]).prediction[0]
    for k, name in enumerate(model.classes_):
        page.locator("#row select.output").select_option(str(name))
        assert number(page, "#line-prediction td.num") == pytest.approx(expected[k], abs=1e-9)
        assert f"log-odds of {name}" in page.locator("#reasons").inner_text()


def test_the_keyboard_alone_finds_a_row_and_switches_a_feature(open_report):
    table = credit()[1]
    page = open_report(credit, "bad", "housing")
    page.locator("#search").focus()
    page.keyboard.type(f"{table.index[7]} {table['purpose'].iloc[7]}")
    assert page.locator("#rows tbody tr").count() >= 1
    focused = "document.activeElement.getAttribute('aria-label') || ''"
    wanted = f"Show row {table.index[7]}"
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate(focused) == wanted:
            break
    page.keyboard.press("Enter")
    assert page.locator("#row-title").inner_text() == f"Row {table.index[7]}"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate(focused).startswith("Use "):
            break
    page.keyboard.press("Space")
    assert page.locator("#waterfall tr.off").count() == 1
    assert page.locator("#from-rest").count() == 1


def test_caveats_open_their_row_and_filter_the_table(open_report):
    page = open_report(penguins, "species")
    button = page.locator("button.open").first
    button.click()
    assert page.locator("#row-title").inner_text() == f"Row {button.inner_text()}"
    missing = int(penguins()[1].drop(columns="species").isna().any(axis=1).sum())
    page.locator("#filter").select_option("missing")
    assert page.locator("#pager").inner_text().endswith(f"of {missing}")


@pytest.mark.parametrize("width", [390, 1280])
def test_hostile_names_stay_text_and_long_ones_fit(open_report, width):
    page = open_report(hostile, "<i>y</i>", width=width)
    assert HOSTILE in page.locator("#importance").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("#dependence svg").count() == 4


def test_a_printed_page_has_no_controls(open_report):
    page = open_report(credit, "bad", "housing")
    page.emulate_media(media="print")
    assert page.locator("#controls").is_hidden()
    assert page.locator("#waterfall").is_visible()
    assert page.get_by_role("button", name="Actual").is_visible()  # a column's head
    assert len(page.pdf()) > 10_000


def test_rates_are_shown_as_such_and_explained_as_logarithms(open_report):
    model, table = rates()
    page = open_report(rates, "claims")
    predicted = model.predict(table[["age", "power", "density"]])[0]
    page.get_by_role("button", name=f"Show row {table.index[0]}", exact=True).click()
    shown = page.locator("#row-prediction").inner_text().split(";")[0].removeprefix("Predicted: ")
    assert float(shown) == pytest.approx(predicted, abs=1e-3)
    total = number(page, "#line-prediction td.num")
    assert total == pytest.approx(np.log(predicted), abs=1e-5)
    assert "the logarithm of claims by" in page.locator("#reasons li").first.inner_text()
    page.locator("#waterfall input").first.uncheck()
    known = ("age", "power", "density")
    first = page.locator("#waterfall input").first.get_attribute("aria-label").removeprefix("Use ")
    without = value_of(model, table, table.index[0], [name for name in known if name != first])
    assert number(page, "#from-rest") == pytest.approx(without[0], abs=TOLERANCE)


def test_quantiles_are_shown_together_and_explained_one_by_one(open_report):
    model, table = intervals()
    page = open_report(intervals, "y")
    predicted = model.predict(table[["a", "b", "c"]])[0]
    page.get_by_role("button", name=f"Show row {table.index[0]}", exact=True).click()
    shown = page.locator("#row-prediction").inner_text().split(";")[0].removeprefix("Predicted: ")
    found = [float(part.replace("−", "-")) for part in shown.split(" · ")]
    assert found == pytest.approx(predicted.tolist(), abs=1e-3)
    assert number(page, "#line-prediction td.num") == pytest.approx(predicted[1], abs=1e-5)
    page.locator("select.output").first.select_option("2")
    assert number(page, "#line-prediction td.num") == pytest.approx(predicted[2], abs=1e-5)
    assert "the q0.9 of y by" in page.locator("#reasons li").first.inner_text()
