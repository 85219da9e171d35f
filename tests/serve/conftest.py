"""Three small models in folders, and a client of a server that has them all."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from sasanet import Architecture, SASANetClassifier, SASANetRegressor
from sasanet.datasets import load_german_credit, load_penguins
from sasanet.serve import Limits, make_app

SMALL = Architecture(width=32, marginal_layers=(16,))
SHORT = {"network": SMALL, "random_state": 0, "max_epochs": 2, "teacher_weight": 0}


@pytest.fixture(scope="session")
def models():
    """Return a binary classifier, one of three classes and a regressor, with rows for each."""
    credit, bad = load_german_credit()
    birds, species = load_penguins()
    known = birds["body_mass_g"].notna()
    mass = birds.loc[known, "body_mass_g"]
    lighter = birds[known].drop(columns="body_mass_g")
    return {
        "credit": (SASANetClassifier(**SHORT).fit(credit[:300], bad[:300]), credit[300:]),
        "birds": (SASANetClassifier(**SHORT).fit(birds, species), birds),
        "mass": (SASANetRegressor(**SHORT).fit(lighter, mass), lighter),
    }


@pytest.fixture(scope="session")
def folders(models, tmp_path_factory):
    """Return where the three models are saved."""
    place = tmp_path_factory.mktemp("served")
    for name, (model, _) in models.items():
        model.save(place / name)
    return [place / name for name in models]


@pytest.fixture(scope="session")
def client(folders):
    """Return a client of a server with small limits."""
    limits = Limits(body_bytes=200_000, rows=50, text_length=100, orders=8)
    with TestClient(make_app(folders, limits=limits)) as found:
        yield found


def records(table):
    """Return rows as JSON has them: missing cells are null."""
    return table.astype(object).where(table.notna(), None).to_dict("records")


@pytest.fixture(scope="session")
def to_records():
    """Return the function that makes records of rows."""
    return records
