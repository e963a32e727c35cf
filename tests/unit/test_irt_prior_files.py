from __future__ import annotations

from pathlib import Path

import pytest

from psychoeval.errors import ModelError
from psychoeval.irt.models import HalfNormal, ItemPopulation, LogNormal, Normal, Priors
from psychoeval.irt.prior_files import read_priors


def test_priors_come_from_their_keys(tmp_path: Path) -> None:
    path = tmp_path / "priors.json"
    path.write_text('{"discrimination": [0, 0.5], "difficulty": [1.5, 3]}', encoding="utf-8")
    assert read_priors(path) == Priors(discrimination=LogNormal(0, 0.5), difficulty=Normal(1.5, 3))


def test_a_population_comes_with_the_densities_named_and_the_others_default(tmp_path: Path) -> None:
    path = tmp_path / "priors.json"
    path.write_text('{"population": {"mean_difficulty": [0.5, 2], "sd_log_discrimination": 0.7}}', encoding="utf-8")
    expected = ItemPopulation(mean_difficulty=Normal(0.5, 2), sd_log_discrimination=HalfNormal(0.7))
    assert read_priors(path) == Priors(population=expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"intercept": [NaN, 1]}', "NaN is no number"),
        ('{"intercept": [0, Infinity]}', "Infinity is no number"),
        ('{"intercept": [1e400, 1]}', "intercept: The mean of a normal prior is inf"),
        ('{"intercept": [0, 1e200]}', "intercept: The SD of a normal prior is 1e\\+200"),
        ('{"intercept": [0, 1], "intercept": [0, 2]}', "'intercept' occurs more than once"),
        (f'{{"intercept": [{"9" * 400}, 1]}}', "intercept: The mean of a normal prior is 9999"),
        (f'{{"intercept": [{"9" * 5000}, 1]}}', "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ('{"intercept": ' + "[" * 200 + "]" * 200 + "}", "gives"),
        ('{"intercept": [true, 1]}', r"gives \[True, 1\]"),
        ('{"intercept": ["0", 1]}', "gives"),
        ('{"slope": [0, 1]}', "has the key 'slope'"),
        ('{"population": true}', "gives True for population"),
        ('{"population": {"sd_difficulty": [0, 1]}}', r"gives \[0, 1\] for sd_difficulty"),
        ('{"population": {"sd_difficulty": -1}}', "The SD of a half-normal prior is -1"),
        ('{"population": {"intercept": [0, 1]}}', "has the key 'intercept'"),
        ('{"population": {}, "intercept": [0, 1]}', "beside other densities"),
        ("{}", "without any density"),
        ("[0, 1]", "no JSON object"),
        ("", "cannot be read"),
    ],
)
def test_what_is_no_prior_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "priors.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=message):
        read_priors(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.json"):
        read_priors(tmp_path / "none.json")
