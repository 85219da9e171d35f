"""The README's table is what the result files say."""

from bench import readme_table


def test_the_readmes_figures_are_those_of_the_result_files():
    text = readme_table.README.read_text("utf-8")
    assert readme_table.replaced(text) == text
    assert "| SASANet |" in text


def test_an_edited_figure_would_be_noticed():
    text = readme_table.README.read_text("utf-8")
    edited = text.replace("area under the ROC curve | 0.", "area under the ROC curve | 1.")
    assert readme_table.replaced(edited) != edited
