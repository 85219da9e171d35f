"""``make picture``: the picture of a report in the README, from a real browser.

German credit is fitted, its report written and opened in Chromium; one applicant is clicked and two
features are switched off.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from sklearn.model_selection import train_test_split

from bench.browser import new_tab
from sasanet import SASANetClassifier
from sasanet.datasets import load_german_credit
from sasanet.report import write_report

PICTURE = Path(__file__).parent.parent / "docs" / "figures" / "report.png"


def main() -> None:
    """Draw the picture."""
    X, y = load_german_credit()
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    model = SASANetClassifier(random_state=0).fit(X_train, y_train)
    with tempfile.TemporaryDirectory() as folder:
        page = write_report(model, X_test, Path(folder) / "report.html", y_test)
        _photograph(page)


def _photograph(path: Path) -> None:
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    with new_tab() as page:
        page.goto(path.resolve().as_uri())
        page.click("#rows tbody tr:nth-child(3) button, #rows tbody tr:nth-child(3)")
        for box in page.query_selector_all("#waterfall input[type=checkbox]")[1:3]:
            box.click()
        page.locator("#by-row").screenshot(path=str(PICTURE))


if __name__ == "__main__":
    main()
