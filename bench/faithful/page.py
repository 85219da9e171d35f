"""Result files in, docs/measured/faithful.md out: every figure on the page comes from a file."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

from bench.accuracy.measure import TEACHERS
from bench.page import spread, table

PAGE = Path(__file__).parents[2] / "docs" / "measured" / "faithful.md"
Found = dict[str, Any]
DRAWN = ("orders", "antithetic orders", "KernelSHAP, paired", "LeverageSHAP")
# The paper's table "RMSE to the real Shapley value": as it is, and under its distribution shift.
PAPER = {
    "higgs_64k": ("0.005", "0.113"),
    "census": ("0.001", "0.001"),
    "creditcard": ("0.033", "0.082"),
}


def write_page(results: Path) -> None:
    """Write the page from what has been measured so far."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    makers = [_self_game, _effort, _speed, _sequence, _known, _outside, _coverage, _estimators]
    sections = [_HEAD, *(make(found) for make in makers)]
    PAGE.write_text("\n".join(part for part in sections if part), encoding="utf-8")


_HEAD = """# Faithfulness

How close the attributions are to the true Shapley values: of the model's own output, and of games
whose truth is known. Written by `make bench-faithful` from `bench/results/faithful/*.json`; two CPU
cores, no GPU. Models are the defaults of `SASANetClassifier` and `SASANetRegressor`; errors are in
log-odds unless stated. The attributions come from the formula ([how it works](../how_it_works.md)),
not from a trained module. The paper's configuration was measured with an older version of its
training loop. What is measured against a model's own game, and the effort and speed of the formula,
are of models whose labels were softened by boosted trees alone, before there was a panel of
teachers, but for the effort of census income and for what is said of refinement, which are of
today's models and formula.
"""


def _of(found: Found, prefix: str) -> dict[str, Any]:
    return {k.removeprefix(prefix): found[k] for k in found if k.startswith(prefix)}


def _cell(finding: Any, digits: int = 4) -> str:
    low, high = finding["low"], finding["high"]
    return f"{finding['value']:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _self_game(found: Found) -> str:
    text = ""
    for prefix, column, title in (
        ("self-game-", 0, "Against the model's own game"),
        ("shifted-", 1, "The same under a shift of the inputs"),
    ):
        rows = []
        for name, run in _of(found, prefix).items():
            of = run["findings"]
            rmse = of["self-game RMSE"]
            rows.append(
                [
                    name,
                    f"{run['rows']:,} × {run['orders']:,}",
                    _cell(of["self-game R²"], 5),
                    _cell(rmse, 4),
                    f"{rmse['noise']:.4f}",
                    f"{100 * of['self-game RMSE share']['value']:.2f} %",
                    f"{of['self-game rank agreement']['value']:.4f}",
                    f"{of['self-game top-3 overlap']['value']:.3f}",
                    PAPER.get(name, ("–", "–"))[column],
                ]
            )
        if rows:
            text += f"\n## {title}\n\n{_EXPLAINED[prefix]}\n\n" + table(
                ["table", "rows × orders", "R²", "RMSE", "noise of the truth",
                 "RMSE / largest of a row", "Spearman", "top-3", "RMSE in the paper"], rows
            )  # fmt: skip
    return text


_EXPLAINED = {
    "self-game-": (
        "φ of test rows against the Shapley values of v(S) = f(x_S), estimated by random orders, "
        "each with its reverse. The sampling noise of these true values is estimated and "
        "subtracted from RMSE and R²; intervals are 95 % over rows. The paper's figures are of "
        "other models, on other rows and scales (its Higgs has 11 million rows): for orientation "
        "only."
    ),
    "shifted-": (
        "A normal shift per number column, in standard deviations of that column, is added to all "
        "test rows, and the levels of categories are permuted. The game changes with the inputs, "
        "and the formula is computed from the same network: nothing was learned that could fail "
        "to generalise."
    ),
}


def _effort(found: Found) -> str:
    runs = _of(found, "effort-")
    if not runs:
        return ""
    efforts = list(dict.fromkeys(e for run in runs.values() for e in run["efforts"]))
    rows = []
    for name, run in runs.items():
        tried = run["efforts"]
        cells = [
            f"{tried[e]['r2']:.5f} ({tried[e]['us_per_row']:.0f})" if e in tried else "–"
            for e in efforts
        ]
        rows.append([name, *cells])
    return (
        "\n## R² by effort of the formula\n\n128 test rows, 1,000 orders; in brackets µs per row. "
        "The default pins two cells (four with at most 32 features) and follows 8. The second "
        "look at steep rows is added whatever the effort.\n\n" + table(["table", *efforts], rows)
    )


def _speed(found: Found) -> str:
    if "explain-speed" not in found:
        return ""
    run = found["explain-speed"]
    rows = [
        [name, f"{rate:,.0f}", f"{100 * run['second_looks'][name]:.1f} %"]
        for name, rate in run["rows_per_second"].items()
    ]
    return (
        f"\n## Rows explained per second\n\n{run['rows']:,} test rows, {run['threads']} threads. "
        "Rows whose φ miss much of their value get a second look, which evaluates all pairs: "
        "closer, and slower.\n\n" + table(["table", "rows per second", "looked at twice"], rows)
    )


def _sequence(found: Found) -> str:
    rows = [
        [
            name,
            f"{run['auc']:.4f}",
            f"{run['findings']['self-game R²']['value']:.4f}",
            f"{run['findings']['self-game RMSE']['value']:.4f}",
            f"{run['findings']['distillation RMSE']['value']:.4f}",
            f"{run['findings']['order gap']['value']:.4f}",
        ]
        for name, run in _of(found, "sequence-").items()
    ]
    if not rows:
        return ""
    return (
        '\n## The paper\'s configuration\n\n`network="sequence"`, trained for 120 seconds, 64 test '
        "rows, 200 orders. Its attributions are learned, and its output is their sum: the "
        "distillation error is the paper's measure (φ against the mean of Δ), the self-game error "
        "is what users rely on.\n\n"
        + table(
            ["table", "AUC", "self-game R²", "self-game RMSE", "distillation RMSE", "order gap"],
            rows,
        )
    )


def _is_new(result: Found) -> bool:
    """Tell whether today's panel of teachers softened the labels."""
    return bool(result.get("teachers") == TEACHERS)


def _known(found: Found) -> str:
    rows = []
    for name, result in _of(found, "known-").items():
        kind, rho = name.rsplit("-", 1)
        runs = result["runs"]

        def over(key: str, runs: list[Found] = runs) -> str:
            return spread([run[key] for run in runs], 4)

        rows.append(
            [
                f"{kind}, d = {result['features']}{'' if _is_new(result) else ' †'}",
                rho,
                f"{over('value_rmse')} of {mean(run['value_spread'] for run in runs):.3f}",
                *(over(f"{key}_rmse") for key in ("sasanet", "kernelshap", "treeshap")),
                f"{mean(run['phi_spread'] for run in runs):.3f}",
            ]
        )
    if not rows:
        return ""
    return (
        "\n## Against tables whose truth is known\n\n20,000 training rows, three tables each, 100 "
        "fresh rows. v: RMSE of the predicted E[y | x_S] (a probability for the binary tables) "
        "over all coalitions, and the spread of the truth. φ: RMSE to the exact Shapley values of "
        "the true game, beside KernelSHAP (50 background rows, 512 samples, `l1_reg=False`) and "
        "TreeSHAP (`pred_contrib`) on a LightGBM of 300 trees fitted to the same rows. †: measured "
        "before a kernel machine joined the panel of teachers.\n\n"
        + table(
            [
                "table",
                "correlation",
                "v",
                "φ, SASANet",
                "φ, KernelSHAP",
                "φ, TreeSHAP",
                "spread of φ",
            ],
            rows,
        )
    )


def _outside(found: Found) -> str:
    if "outside" not in found:
        return ""
    run = found["outside"]
    rows = [[name, f"{gap:.1e}"] for name, gap in run["largest_difference"].items()]
    return (
        "\n## Against other implementations\n\nThe game of a ten-feature model, "
        f"{run['rows']} rows, fed by `model.value`: largest difference to "
        "`sasanet.shapley.exact_shapley`, log-odds. The formula's own largest error on these rows "
        f"is {run['model_explain']:.4f}, at a spread of φ of {run['spread']:.3f}.\n\n"
        + table(["implementation", "largest difference"], rows)
    )


def _coverage(found: Found) -> str:
    if "coverage" not in found:
        return ""
    rows = [
        [
            name,
            f"{run['pairs']:,}",
            f"{100 * run['coverage']:.1f} %",
            f"{run['rmse']:.4f}",
            f"{run['mean_error_std']:.4f}",
            f"{run['largest_error_std']:.4f}",
        ]
        for name, run in found["coverage"].items()
        if isinstance(run, dict)
    ]
    return (
        "\n## Refinement: are its intervals honest?\n\nHow often φ ± 1.96 `error_std` holds the "
        "exact value (all coalitions of twelve features).\n\n"
        + table(
            ["setting", "(row, feature) pairs", "coverage", "RMSE", "mean error_std", "largest"],
            rows,
        )
    )


def _estimators(found: Found) -> str:
    drawn, refined, costs = [], [], []
    for name, run in _of(found, "estimators-").items():
        if "refine" not in run:
            continue
        plain = run["closed_form"]
        for effort in ("8", "32"):
            one = run[effort]
            drawn.append([name, f"{one['evaluations']:,}", *(f"{one[k]:.4f}" for k in DRAWN)])
        refined.append([name, "0", f"{plain:.5f}", "1", "–", "–"])
        for one in run["refine"].values():
            as_long = one["us_per_row"] / run["us_per_evaluation"]
            refined.append(
                [
                    name,
                    f"{one['evaluations']:,}",
                    f"{one['rmse']:.5f}",
                    f"{(one['rmse'] / plain) ** 2:.3f}",
                    f"{100 * one['coverage']:.1f} %",
                    f"{as_long:,.0f}",
                ]
            )
        one = run["32"]  # the error of draws falls with the root of the evaluations
        needed = [one["evaluations"] * (2 * one[key] / plain) ** 2 for key in DRAWN]
        ours = [one for one in run["refine"].values() if one["rmse"] <= plain / 2]
        least = ["–", "–"]
        if ours:
            as_long = ours[0]["us_per_row"] / run["us_per_evaluation"]
            least = [f"{ours[0]['evaluations']:,}", f"{as_long:,.0f}"]
        costs.append([name, f"{plain:.4f}", *(f"{n:,.0f}" for n in needed), *least])
    if not refined:
        return ""
    return (
        "\n## Refinement: what does an evaluation buy?\n\nErrors on the games of 40 test rows by "
        "the number of evaluations of v per row; the noise of the true values is subtracted. "
        "*Of the plain*: the squared error as a share of that of the plain attributions. "
        "*Coverage*: how often φ ± 1.96 standard errors (`error_std` and the noise of the true "
        "values together) holds the true value. *As long as*: evaluations of v that take as long "
        "as the whole call, closer formula and all, where v is evaluated thousands of times at "
        "once.\n\n"
        + table(["table", "evaluations", "RMSE", "of the plain", "coverage", "as long as"], refined)
        + "\nOthers, without the formula. KernelSHAP and LeverageSHAP are drawn with complements "
        "and without replacement, and give no standard errors.\n\n"
        + table(["table", "evaluations", *DRAWN], drawn)
        + "\nEvaluations per row to reach half the error of the unrefined attributions (of draws "
        "by the square-root law from the larger effort; of `refine` the first effort tried that "
        "does):\n\n"
        + table(["table", "RMSE unrefined", *DRAWN, "refine", "refine, as long as"], costs)
    )
