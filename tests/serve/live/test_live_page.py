"""The live page in a real browser: what it shows is what the model says of the row at hand."""

import json

import numpy as np
import pandas as pd
import pytest

CLOSE = {"abs": 2e-5}  # float32, alone or in a batch


def version(page):
    return int(page.locator("#main").get_attribute("data-version") or 0)


def after(page, act):
    """Do something and wait until the page shows what the server answered."""
    before = version(page)
    act()
    wait(page, lambda: version(page) > before)


def wait(page, holds):
    """Wait until something holds; the page's policy forbids what playwright waits with."""
    for _ in range(500):
        if holds():
            return
        page.wait_for_timeout(10)
    raise AssertionError("it never came")


def ready(page):
    page.wait_for_selector("#line-total")
    return page


def number(page, selector):
    return float(page.locator(selector).first.get_attribute("data-value"))


def numbers(page, selector):
    return page.locator(selector).evaluate_all("all => all.map(e => Number(e.dataset.value))")


def by_name(page, selector):
    """Return the number of every line of a table, by the feature that it is about."""
    read = "all => all.map(e => [e.dataset.name, Number(e.querySelector('td.num').dataset.value)])"
    return dict(page.locator(selector).evaluate_all(read))


def texts(page, selector):
    return page.locator(selector).evaluate_all("all => all.map(e => e.textContent)")


def one(table, row, **changed):
    """Return one row of a table, with some cells changed."""
    found = table.iloc[[row]].astype(object)
    return found.assign(**{name: [value] for name, value in changed.items()})


def absent(table, row, *names):
    return one(table, row, **dict.fromkeys(names))


def check(page, model, row, output=None):
    """The page has the model's prediction, base value, attributions and reasons of a row."""
    if (
        page.locator("#all-lines").is_visible()
        and "every" in page.locator("#all-lines").inner_text()
    ):
        page.locator("#all-lines").click()
    found = model.explain(row)
    reasons = found.reasons(0)
    if output is not None:
        found = found.output(output)
    assert number(page, "#line-total td.num") == pytest.approx(found.prediction[0], **CLOSE)
    assert number(page, "#prediction .big") == pytest.approx(found.prediction[0], **CLOSE)
    assert number(page, "#line-base td.num") == pytest.approx(found.base_values[0], **CLOSE)
    shown = by_name(page, "#waterfall tr.feature")
    known = row.notna().iloc[0]
    expected = dict(zip(found.feature_names, found.values[0], strict=True))
    assert shown == pytest.approx({n: v for n, v in expected.items() if known[n]}, **CLOSE)
    if output is None:
        assert texts(page, "#reasons li") == reasons


def test_a_chosen_row_is_explained_as_the_model_does(open_page, models):
    model, table = models["credit"]
    page = ready(open_page())
    check(page, model, table[:1])
    page.locator("#search").fill(f"{table['purpose'].iloc[7]} {table['age'].iloc[7]}")
    wait(page, lambda: page.locator("#rows tbody tr").count() < 6)
    label = table.index[7]
    after(page, lambda: page.get_by_role("button", name=f"Use row {label}", exact=True).click())
    assert page.locator("#row-name").inner_text() == f"Row {label}"
    check(page, model, table.iloc[[7]])
    with pytest.raises(AssertionError):  # the twin: another row is another prediction
        check(page, model, table.iloc[[8]])


def test_sliders_lists_and_fields_move_prediction_waterfall_and_reasons(open_page, models):
    model, table = models["credit"]
    page = ready(open_page())
    after(page, lambda: page.get_by_label("months, slider").fill("48"))
    check(page, model, one(table, 0, months=48))
    assert page.get_by_label("months", exact=True).input_value() == "48"
    assert "1 changed" in page.locator("#row-name").inner_text()
    after(page, lambda: page.get_by_label("purpose", exact=True).select_option("education"))
    check(page, model, one(table, 0, months=48, purpose="education"))
    after(page, lambda: page.get_by_label("age", exact=True).fill("200"))
    check(page, model, one(table, 0, months=48, purpose="education", age=200))
    assert "outside" in page.locator("#warnings").inner_text()
    after(page, lambda: page.locator("#undo").click())
    check(page, model, table[:1])


def test_features_that_are_switched_off_are_absent(open_page, models):
    model, table = models["credit"]
    page = ready(open_page())
    off = ["status", "months"]
    for name in off:
        after(page, lambda name=name: page.get_by_label(f"Use {name}", exact=True).uncheck())
    check(page, model, absent(table, 0, *off))
    left = [name for name in table if name not in off]
    assert number(page, "#prediction .big") == pytest.approx(
        model.value(table[:1], left)[0], **CLOSE
    )
    whole = float(page.locator("#without").get_attribute("data-value"))
    assert whole == pytest.approx(model.decision_function(table[:1])[0], **CLOSE)
    after(page, lambda: page.locator("#all-off").click())
    assert number(page, "#line-total td.num") == pytest.approx(model.base_value_[0], **CLOSE)
    after(page, lambda: page.locator("#all-on").click())
    check(page, model, table[:1])


def test_what_one_more_known_feature_would_be_expected_to_change(open_page, models):
    model, table = models["credit"]
    page = ready(open_page())
    for name in ("status", "age"):
        after(page, lambda name=name: page.get_by_label(f"Use {name}", exact=True).uncheck())
    page.locator("#ask-gains").click()
    page.wait_for_selector("#gains table")
    row, rows = absent(table, 0, "status", "age"), table[:60]
    now = model.decision_function(row)[0]
    for name in ("status", "age"):
        cells = rows[name].sort_values() if name == "age" else rows[name]
        values = cells.iloc[np.linspace(0, 59, 32).round().astype(int)]
        later = model.decision_function(pd.concat([row.assign(**{name: [v]}) for v in values]))
        expected = np.abs(later - now).mean()
        found = number(page, f"#gains tr[data-name={name}] td.num")
        assert found == pytest.approx(expected, **CLOSE)
    after(page, lambda: page.get_by_role("button", name="Switch age on").click())
    check(page, model, absent(table, 0, "status"))


def test_two_rows_compared(open_page, models):
    model, table = models["credit"]
    page = ready(open_page())
    page.locator("#keep").click()
    label = table.index[3]
    after(page, lambda: page.get_by_role("button", name=f"Use row {label}", exact=True).click())
    e = model.explain(table.iloc[[0, 3]])
    gaps = dict(zip(e.feature_names, e.values[1] - e.values[0], strict=True))
    shown = by_name(page, "#comparison tr.feature")
    assert shown == pytest.approx({name: gaps[name] for name in shown}, **CLOSE)
    assert len(shown) == 12
    total = number(page, "#comparison tr.total td.num")
    assert total == pytest.approx(e.prediction[1] - e.prediction[0], **CLOSE)
    assert sum(numbers(page, "#comparison tr:not(.total) td.num")) == pytest.approx(total, abs=1e-4)


def test_rows_like_this(open_page, models):
    model, table = models["credit"]
    page = ready(open_page())
    after(page, lambda: page.get_by_label("months, slider").fill("30"))
    page.locator("#ask-like").click()
    page.wait_for_selector("#like table")
    mine = model.explain(one(table, 0, months=30)).values[0]
    distances = np.abs(model.explain(table[:60]).values - mine).sum(axis=1)
    nearest = np.argsort(distances, kind="stable")[:5]
    labels = [line.get_attribute("data-label") for line in page.locator("#like tbody tr").all()]
    assert labels == [str(label) for label in table.index[nearest]]
    assert numbers(page, "#like td.num") == pytest.approx(distances[nearest], abs=1e-4)
    after(page, lambda: page.locator("#like button").first.click())
    check(page, model, table.iloc[[nearest[0]]])


def test_recourse(open_page, models):
    model, table = models["credit"]
    page = ready(open_page())
    scores = model.predict_proba(table[:6])[:, 1]
    worst, score = int(scores.argmax()), scores.max()
    name = f"Use row {table.index[worst]}"
    after(page, lambda: page.get_by_role("button", name=name, exact=True).click())
    threshold = round(float(score) - 0.01, 4)
    page.locator("#threshold").fill(str(threshold))
    for name in ("months", "status", "savings"):
        page.locator(f"#changeable input[value={name}]").check()
    page.get_by_role("button", name="Search").click()
    page.wait_for_selector("#new-score")
    new_score = number(page, "#new-score")
    assert new_score < threshold <= score
    after(page, lambda: page.get_by_role("button", name="Try it").click())
    shown = number(page, "#prediction .big")
    assert 1 / (1 + np.exp(-shown)) == pytest.approx(new_score, **CLOSE)
    page.get_by_role("button", name="Search").click()
    page.get_by_text("on that side already").wait_for()


def test_groups_are_players(open_page, models):
    model, table = models["credit"]
    page = ready(open_page(expected=["422"]))
    assert page.locator("#groups-text").input_value() == "loan: months, credit_amount"
    page.locator("#groups-text").fill("loan: months, credit_amount\nperson: age, employment")
    page.get_by_role("button", name="Explain by groups").click()
    page.wait_for_selector("#groups table")
    groups = {"loan": ["months", "credit_amount"], "person": ["age", "employment"]}
    e = model.explain(table[:1], groups=groups)
    expected = dict(zip(e.feature_names, e.values[0], strict=True))
    shown = by_name(page, "#groups tbody tr")
    assert shown == pytest.approx({n: v for n, v in expected.items() if v}, **CLOSE)
    assert page.locator("#groups tr.group").count() == 2
    page.locator("#groups-text").fill("loan: no_such_column")
    page.get_by_role("button", name="Explain by groups").click()
    wait(page, lambda: "no_such_column" in page.locator("#trouble").inner_text())


def test_refined_values_have_error_bars(open_page, models):
    model, table = models["credit"]
    page = ready(open_page())
    after(page, lambda: page.locator("#refine").click())
    e = model.explain(table[:1], n_orders=64)
    expected = dict(zip(e.feature_names, e.error_std[0], strict=True))
    line = page.locator("#waterfall tr.feature").first
    error = float(line.locator("td.num").get_attribute("data-error"))
    assert error == pytest.approx(expected[line.get_attribute("data-name")], rel=1e-2)
    assert "±" in line.inner_text()
    refined = dict(zip(e.feature_names, e.values[0], strict=True))
    assert float(line.locator("td.num").get_attribute("data-value")) == pytest.approx(
        refined[line.get_attribute("data-name")], abs=1e-4
    )


def test_a_csv_file_comes_back_with_reasons(open_page, models, tmp_path):
    model, table = models["credit"]
    rows = table[5:9].assign(extra=["=1+1", "b", "c", "d"])
    rows.to_csv(tmp_path / "some.csv", index=False)
    page = ready(open_page())
    page.locator("#csv").set_input_files(tmp_path / "some.csv")
    page.get_by_role("button", name="Send it").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Save some_with_reasons.csv").click()
    found = pd.read_csv(download.value.path())
    e = model.explain(table[5:9])
    np.testing.assert_allclose(found["phi_months"], e[:, "months"].values[:, 0], atol=2e-5)
    np.testing.assert_allclose(
        found["probability_1"], model.predict_proba(table[5:9])[:, 1], atol=2e-5
    )
    said = [row[:3] for row in e.all_reasons(3)]
    assert found[["reason_1", "reason_2", "reason_3"]].to_numpy().tolist() == said
    assert found["extra"].tolist() == ["'=1+1", "b", "c", "d"]
    assert found["age"].tolist() == table["age"][5:9].tolist()


def test_a_row_is_pasted_as_json_or_from_a_spreadsheet(open_page, models):
    model, table = models["credit"]
    page = ready(open_page())
    for text in (
        json.dumps({"months": 36, "purpose": "education"}),
        "months\tpurpose\n36\teducation",
    ):
        after(page, lambda: page.locator("#clear").click())
        page.get_by_text("Paste a row").click()
        page.locator("#pasted").fill(text)
        after(page, lambda: page.get_by_role("button", name="Take it").click())
        empty = one(table, 0, **dict.fromkeys(table))
        check(page, model, empty.assign(months=[36], purpose=["education"]))
    page.get_by_text("Paste a row").click()
    page.locator("#pasted").fill("{nothing")
    page.get_by_role("button", name="Take it").click()
    assert "JSON object" in page.locator("#trouble").inner_text()


def test_classes_and_numbers_without_rows(open_page, models):
    page = ready(open_page())
    model, table = models["birds"]
    after(page, lambda: page.locator("#model").select_option("birds"))
    best = int(np.argmax(model.decision_function(table[:1])[0]))
    check(page, model, table[:1], str(model.classes_[best]))
    other = (best + 1) % 3
    after(page, lambda: page.locator("#output").select_option(str(model.classes_[other])))
    check(page, model, table[:1], str(model.classes_[other]))
    model, table = models["mass"]
    after(page, lambda: page.locator("#model").select_option("mass"))
    assert page.locator("#chooser").is_hidden()
    after(page, lambda: page.get_by_label("flipper_length_mm", exact=True).fill("200"))
    check(page, model, one(table, 0, **dict.fromkeys(table)).assign(flipper_length_mm=[200.0]))


def test_drift_shows_what_others_asked_and_not_what_was_tried(open_page):
    page = ready(open_page())
    after(page, lambda: page.locator("#model").select_option("mass"))
    rows = [{"flipper_length_mm": 999, "island": "Crete"}] * 3
    answer = page.request.post(page.url + "models/mass/explain", data=rows)
    assert answer.ok
    page.locator("#ask-drift").click()
    page.wait_for_selector("#drift table")
    assert "3 rows" in page.locator("#drift").inner_text()
    assert numbers(page, "#drift tr[data-name=flipper_length_mm] td.num")[2] == 1
    assert numbers(page, "#drift tr[data-name=island] td.num")[1] == 1


# --- who can use it ------------------------------------------------------------------------------


def test_a_server_with_keys_asks_for_one(open_page, locked, models):
    address, key = locked
    page = open_page(address, expected=["401"])
    page.locator("#key").fill("wrong")
    page.get_by_role("button", name="Use it").click()
    wait(page, lambda: "valid key" in page.locator("#trouble").inner_text())
    assert page.locator("#main").is_hidden()
    page.locator("#key").fill(key)
    page.get_by_role("button", name="Use it").click()
    ready(page)
    model = models["credit"][0]
    assert number(page, "#line-total td.num") == pytest.approx(model.base_value_[0], **CLOSE)
    assert page.locator("#trouble").inner_text() == ""


def test_the_keyboard_alone_changes_a_value_and_switches_a_feature(open_page, models):
    model, table = models["credit"]
    page = ready(open_page())
    page.get_by_label("Use months", exact=True).focus()
    after(page, lambda: page.keyboard.press("Space"))
    assert number(page, "#line-total td.num") == pytest.approx(
        model.decision_function(absent(table, 0, "months"))[0], **CLOSE
    )
    after(page, lambda: page.keyboard.press("Space"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "months, slider"
    after(page, lambda: page.keyboard.press("ArrowRight"))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "cell-1"
    check(page, model, one(table, 0, months=int(table["months"].iloc[0]) + 1))


def test_every_control_has_a_name_and_changes_are_announced(open_page):
    page = ready(open_page())
    unnamed = """[...document.querySelectorAll('input, select, textarea, button')].filter(e =>
        !e.labels?.length && !e.getAttribute('aria-label') && !e.textContent.trim()).length"""
    assert page.evaluate(unnamed) == 0
    for name in ("prediction", "without", "gains", "recourse", "like", "row-name"):
        assert page.locator(f"#{name}").get_attribute("role") == "status"
    assert page.locator("#trouble").get_attribute("role") == "alert"
    bare = "document.querySelectorAll('svg:not([role=img]):not([aria-hidden=true])').length"
    assert (
        page.evaluate(bare.replace("svg:not", "main svg:not")) == page.locator("#gauge svg").count()
    )
    assert page.locator("#gauge").get_attribute("aria-hidden") == "true"


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_it_fits_a_phone_in_both_schemes(open_page, scheme):
    page = ready(open_page(viewport={"width": 360, "height": 740}, color_scheme=scheme))
    page.locator("#keep").click()
    after(page, lambda: page.locator("#all-off").click())
    page.locator("#ask-gains").click()
    page.locator("#ask-like").click()
    page.wait_for_selector("#like table")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    lightness = sum(map(int, paper[4:-1].split(",")))
    assert (lightness < 200) == (scheme == "dark")
    assert page.locator("#mini").is_visible()


def test_nothing_but_its_own_files_may_run(open_page, address):
    page = ready(open_page(expected=["Content Security Policy", "Trusted"]))
    tried = """() => { const one = document.createElement('script');
        try { one.textContent = 'window.broken = 1'; document.body.append(one); } catch {}
        try { document.body.insertAdjacentHTML('beforeend', '<b id=x>'); } catch {}
        return [window.broken === undefined, document.getElementById('x') === null]; }"""
    assert page.evaluate(tried) == [True, True]
    policy = page.request.get(address).headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "nonce" not in policy
