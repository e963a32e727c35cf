"""Models and priors in brms's words, and the script made of them."""

from __future__ import annotations

import numpy as np
import pytest

from psychoeval.errors import ModelError, SettingsError
from psychoeval.estimators.brms.estimator import Brms
from psychoeval.estimators.brms.syntax import Density, Program, check_model, make_program
from psychoeval.irt.models import Beta, ItemModel, LogitNormal, LogNormal, Normal, Priors, resolve_priors
from psychoeval.responses.matrix import Responses

ITEMS = "1 + (1 | item)"


def program(name: str, priors: str | Priors, *, trials: bool = False, guessing: object = None) -> Program:
    model = ItemModel(name, resolve_priors(priors), guessing)  # type: ignore[arg-type]
    return make_program(*check_model(model, "brms"), trials=trials)


def densities(of: Program, part: str) -> list[tuple[str, str]]:
    return [(d.kind, d.prior) for d in of.densities if d.nlpar == part]


@pytest.mark.parametrize(
    ("name", "priors", "formula", "parts"),
    [
        ("Rasch", "population", "y ~ theta - b", {"b": ITEMS}),
        ("Rasch", "weak", "y ~ theta + d", {"d": ITEMS}),
        ("1PL", "population", "y ~ exp(loga) * (theta - b)", {"loga": "1", "b": ITEMS}),
        ("2PL", "population", "y ~ exp(loga) * (theta - b)", {"loga": ITEMS, "b": ITEMS}),
        ("2PL", "published", "y ~ exp(loga) * (theta - b)", {"loga": ITEMS, "b": ITEMS}),
        ("2PL", "weak", "y ~ exp(loga) * theta + d", {"loga": ITEMS, "d": ITEMS}),
    ],
)
def test_formulas(name: str, priors: str, formula: str, parts: dict[str, str]) -> None:
    found = program(name, priors)
    assert found.formula == formula
    assert dict(found.parts) == {"theta": "0 + (1 | person)", **parts}
    assert (found.link, found.trials) == ("logit", False)


@pytest.mark.parametrize(
    ("guessing", "c", "parts"),
    [
        (0.25, "0.25", {}),
        (Beta(5.0, 17.0), "c", {"c": "0 + item"}),
        (LogitNormal(-1.1, 0.5), "inv_logit(logitc)", {"logitc": ITEMS}),
    ],
)
def test_guessing(guessing: object, c: str, parts: dict[str, str]) -> None:
    found = program("3PL", "population", guessing=guessing, trials=True)
    assert found.formula == f"y | trials(n) ~ {c} + (1 - {c}) * inv_logit(exp(loga) * (theta - b))"
    assert {k: v for k, v in found.parts.items() if k not in ("theta", "loga", "b")} == parts
    assert found.link == "identity"
    if isinstance(guessing, Beta):
        assert found.densities[-1] == Density("beta(5.0, 17.0)", "c", "b", lb="0", ub="1")


def test_a_population_has_densities_of_its_means_and_sds() -> None:
    found = program("2PL", "population")
    assert densities(found, "b") == [("b", "normal(0.0, 3.0)"), ("sd", "normal(0, 3.0)")]
    assert densities(found, "loga") == [("b", "normal(0.0, 1.0)"), ("sd", "normal(0, 1.0)")]
    assert densities(found, "theta") == [("sd", "constant(1)")]
    assert set(found.scalars) == {
        "mean_difficulty",
        "sd_difficulty",
        "mean_log_discrimination",
        "sd_log_discrimination",
    }


def test_stated_densities_are_held_constant() -> None:
    found = program("2PL", "published")
    assert densities(found, "b") == [("b", "constant(0.0)"), ("sd", "constant(2.0)")]
    assert densities(found, "loga") == [("b", "constant(0.0)"), ("sd", "constant(0.5)")]
    assert dict(found.scalars) == {}


def test_a_common_slope_has_one_density_and_the_rasch_model_a_latent_sd() -> None:
    assert densities(program("1PL", "weak"), "loga") == [("b", "normal(0.0, 0.5)")]
    assert densities(program("1PL", "population"), "loga") == [("b", "normal(0.0, 1.0)")]
    for priors in ("weak", "population"):
        rasch = program("Rasch", priors)
        assert densities(rasch, "theta") == [("sd", "normal(0, 3.0)")]
        assert rasch.scalars["latent_sd"] == ("theta", "sd")


def test_as_a_law_lognormal_on_a_is_normal_on_log_a() -> None:
    priors = Priors(discrimination=LogNormal(0.2, 0.4), difficulty=Normal(0.5, 2.0))
    assert densities(program("2PL", priors), "loga") == [("b", "constant(0.2)"), ("sd", "constant(0.4)")]


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (None, "brms needs a model"),
        (ItemModel("2PL"), "has no priors"),
        (ItemModel("2PL", resolve_priors("hierarchical")), "does not estimate the means"),
        (ItemModel("2PL", Priors(difficulty=Normal(0, 1))), "needs a density for slopes"),
        (ItemModel("2PL", Priors(log_discrimination=Normal(0, 1))), "density for difficulties or intercepts"),
        (ItemModel("3PL", resolve_priors("weak"), "free"), r"guessing.*Beta\(1, 1\)"),
    ],
)
def test_what_has_no_density_is_refused(model: ItemModel | None, what: str) -> None:
    with pytest.raises(ModelError, match=what):
        check_model(model, "brms")


def test_the_script_holds_data_formula_and_densities_and_nothing_of_a_name_is_code() -> None:
    x = np.array([[1, 0, np.nan], [np.nan, 1, 1], [np.nan] * 3])
    given = Responses.from_array(x, item_ids=["p", 'q\nq()"', "r"], name="a\nsystem('x')")
    text = Brms(seed=7, warmup=100, samples=50).describe(given, ItemModel("2PL", resolve_priors("population")))
    assert '  "1 0 -",\n  "- 1 1"\n' in text
    assert 'set_prior("constant(1)", class = "sd", group = "person", nlpar = "theta")' in text
    assert "iter = 150, warmup = 100, seed = 7" in text
    assert "exp(loga) * (theta - b)" in text
    assert "0 items, 1 persons" in text
    code = [line for line in text.splitlines() if not line.startswith("#")]
    assert not [line for line in code if "system" in line or "q()" in line]


def test_the_script_of_counts_has_successes_over_trials() -> None:
    given = Responses.from_array(np.array([[1, 0], [3, 2]]), np.array([[2, 0], [3, 4]]))
    text = Brms().describe(given, ItemModel("Rasch", resolve_priors("weak")))
    assert '  "1/2 -",\n  "3/3 2/4"\n' in text
    assert 'family = binomial(link = "logit")' in text
    assert "y | trials(n) ~ theta + d" in text


def test_without_responses_the_settings_are_described() -> None:
    assert "chains=3" in Brms(chains=3).describe()


def test_options_that_r_cannot_write_are_refused() -> None:
    given = Responses.from_array(np.array([[1, 0], [0, 1]]))
    with pytest.raises(SettingsError, match="cannot be written in R"):
        Brms(engine_options={"control": {"x y": 1}}).describe(given, ItemModel("Rasch", resolve_priors("weak")))
