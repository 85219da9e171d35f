from sasanet.datasets import load_german_credit, load_penguins


def test_german_credit_is_complete_and_in_words():
    X, y = load_german_credit()
    assert X.shape == (1_000, 20)
    assert not X.isna().any().any()
    assert y.value_counts().to_dict() == {0: 700, 1: 300}
    assert "no checking account" in set(X["status"])
    assert "none" in set(X["other_debtors"])  # a level, not a missing cell


def test_penguins_have_missing_cells_and_three_species():
    X, y = load_penguins()
    assert X.isna().sum().sum() == 19
    assert y.nunique() == 3
