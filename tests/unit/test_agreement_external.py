from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from psychoeval.agreement.comparison import compare
from psychoeval.agreement.external import import_fit
from psychoeval.errors import DataError, ModelError, SettingsError
from psychoeval.irt.parameters import ItemParameters
from psychoeval.results.fit_result import LatentDistribution
from tests.unit.agreement_fits import J, N, made


def test_difficulties_slopes_and_errors() -> None:
    table = pd.DataFrame(
        {"item": ["x", "y"], "a": [2.0, 0.5], "b": [1.0, -2.0], "se_a": [0.2, 0.1], "b_se": [0.3, 0.4]}
    )
    fit = import_fit(table, model="2PL", name="flexMIRT")
    p = fit.item_parameters
    assert p is not None
    assert fit.label == "flexMIRT 2PL"
    assert fit.convergence.status == "imported"
    np.testing.assert_array_equal(p.intercept, [-2.0, 1.0])
    errors = p.standard_errors
    assert errors is not None
    np.testing.assert_allclose(errors["discrimination"], [0.2, 0.1])
    np.testing.assert_allclose(errors["difficulty"], [0.3, 0.4])


def test_slopes_and_intercepts_as_mirt_writes_them() -> None:
    table = pd.DataFrame({"a1": [1.2, 0.8], "d": [0.3, -1.0], "g": [0.2, 0.0], "SE_d": [0.1, 0.2]}, index=["q1", "q2"])
    fit = import_fit(table, model="3PL", parametrization="slope-intercept")
    p = fit.item_parameters
    assert p is not None
    assert p.item_ids == ("q1", "q2")
    np.testing.assert_array_equal(p.intercept, [0.3, -1.0])
    np.testing.assert_array_equal(p.guessing, [0.2, 0.0])
    assert p.standard_errors is not None
    np.testing.assert_allclose(p.standard_errors["intercept"], [0.1, 0.2])


def test_easiness_only_where_the_user_says_so() -> None:
    table = pd.DataFrame({"item": ["x", "y"], "easiness": [0.5, -0.5]})
    fit = import_fit(table, model="Rasch", parametrization="easiness")
    assert fit.item_parameters is not None
    np.testing.assert_array_equal(fit.item_parameters.difficulty, [-0.5, 0.5])
    with pytest.raises(DataError, match=r"no column of difficulty .* it has item, easiness") as caught:
        import_fit(table, model="Rasch")
    assert "parametrization='easiness'" in caught.value.remedy


def test_a_bare_error_column_where_there_is_no_doubt() -> None:
    fit = import_fit(pd.DataFrame({"item": ["x"], "b": [0.5], "se": [0.2]}), model="Rasch")
    assert fit.item_parameters is not None
    assert fit.item_parameters.standard_errors is not None
    assert fit.item_parameters.standard_errors["difficulty"][0] == pytest.approx(0.2)
    with pytest.raises(DataError, match="'se' does not say whose") as caught:
        import_fit(pd.DataFrame({"item": ["x"], "a": [1.0], "b": [0.5], "se": [0.2]}), model="2PL")
    assert "se_a" in caught.value.remedy


def test_abilities_from_a_table_and_a_mapping() -> None:
    frame = pd.DataFrame({"system": ["m", "n"], "theta": [0.3, np.inf], "SE": [0.1, np.inf], "n_items": [5, 5]})
    found = import_fit(abilities=frame).abilities
    assert found is not None
    assert found.person_ids == ("m", "n")
    assert found.status == ("estimated", "ml_infinite")
    assert found.standard_error is not None
    assert found.standard_error[0] == 0.1
    plain = import_fit(abilities={"m": 0.3, "n": 1}, ability_scale="proportion").abilities
    assert plain is not None
    assert (plain.scale, list(plain.estimate)) == ("proportion", [0.3, 1.0])


ITEMS = pd.DataFrame({"item": ["x", "y"], "a": [1.0, 2.0], "b": [0.0, 1.0]})


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"items": None}, DataError, "Neither items nor abilities"),
        ({"model": None}, ModelError, "without their model"),
        ({"model": "4PL"}, ModelError, "no model '4PL'"),
        ({"model": "Rasch"}, ModelError, "slope of item 'y' is not 1"),
        ({"model": "1PL"}, ModelError, "slopes differ"),
        ({"model": "3PL"}, DataError, "no column of lower asymptotes"),
        ({"parametrization": "guess"}, SettingsError, "parametrization='guess' is unknown"),
        ({"log_likelihood": -3.0}, SettingsError, "log_likelihood_kind=None is unknown"),
        ({"items": ITEMS.drop(columns="item")}, DataError, "item table has no ids"),
        ({"items": ITEMS.drop(columns="a")}, DataError, "no column of slopes"),
        ({"items": ITEMS.assign(slope=1.0)}, DataError, "'a', 'slope' could all be the slope"),
        ({"items": ITEMS.assign(item="x")}, DataError, "'x' occurs more than once"),
        ({"items": ITEMS.assign(b=[0.0, np.nan])}, DataError, "Column 'b', row 'y': nan is not a finite number"),
        ({"items": ITEMS.assign(b=["0", "one"])}, DataError, "row 'y': 'one' is not"),
        ({"items": ITEMS.assign(b=[0.0, np.inf])}, DataError, "row 'y': inf is not"),
        ({"items": ITEMS.assign(se_b=[0.1, -0.1])}, DataError, "row 'y': a standard error of -0.1"),
        ({"items": ITEMS.assign(c=0.2)}, ModelError, "no lower asymptote"),
        ({"items": ITEMS.assign(c=[0.2, 2.0]), "model": "3PL"}, DataError, "asymptote of item 'y' is 2"),
        ({"items": ITEMS.assign(c=[-1.0, 0.2]), "model": "3PL"}, DataError, "asymptote of item 'x' is -1"),
        ({"items": ITEMS.assign(c=[1.0, 0.2]), "model": "3PL"}, DataError, "asymptote of item 'x' is 1"),
        ({"items": ITEMS.iloc[:0]}, DataError, "item table has no rows"),
        ({"items": [1, 2]}, DataError, "items is a list"),
        ({"abilities": [0.1, 0.2]}, DataError, "abilities is a list"),
        ({"abilities": {}}, DataError, "ability table has no rows"),
        ({"abilities": {"m": 1.2}, "ability_scale": "proportion"}, DataError, "'m' is 1.2, which is no proportion"),
        ({"ability_scale": "percent"}, SettingsError, "ability_scale='percent' is unknown"),
        ({"latent_distribution": (0, 1)}, SettingsError, "latent_distribution is a tuple"),
        ({"latent_distribution": LatentDistribution(0.0, -1.0)}, SettingsError, "SD -1.0"),
        ({"name": None}, SettingsError, "name=None"),
        ({"name": " "}, SettingsError, "is no name"),
        ({"log_likelihood": float("nan"), "log_likelihood_kind": "marginal"}, SettingsError, "log_likelihood=nan"),
        ({"log_likelihood": "x", "log_likelihood_kind": "marginal"}, SettingsError, "log_likelihood='x'"),
        ({"log_likelihood": -(10**400), "log_likelihood_kind": "marginal"}, SettingsError, "not a finite"),
        ({"n_parameters": -5}, SettingsError, "n_parameters=-5"),
        ({"n_parameters": 2.5}, SettingsError, "n_parameters=2.5"),
        ({"n_parameters": True}, SettingsError, "n_parameters=True"),
        ({"model": 3}, ModelError, "model is a int"),
        ({"abilities": {"m": float("nan")}}, DataError, "row 'm'"),
        ({"abilities": pd.DataFrame({"person": ["m"], "value": [1.0]})}, DataError, "no column of abilities"),
    ],
)
def test_what_cannot_be_read_is_named(change: dict[str, object], error: type[Exception], message: str) -> None:
    given: dict[str, object] = {"items": ITEMS, "model": "2PL", **change}
    with pytest.raises(error, match=message):
        import_fit(**given)  # type: ignore[arg-type]


def test_ready_item_parameters_are_taken() -> None:
    items = ItemParameters.from_difficulty(("x", "y"), [1.0, 2.0], [0.0, 1.0])
    assert import_fit(items, model="2PL").item_parameters is items
    with pytest.raises(DataError, match="asymptote of item 'y' is 2"):
        import_fit(ItemParameters.from_difficulty(("x", "y"), 1.0, 0.0, [0.1, 2.0]), model="3PL")


def tables(scale: float, shift: float) -> tuple[pd.DataFrame, dict[str, float]]:
    """The tables of `made`, in another program's order and on its scale theta* = scale theta + shift."""
    fit = made()
    assert fit.item_parameters is not None
    assert fit.abilities is not None
    p = fit.item_parameters
    items = pd.DataFrame({"item": p.item_ids, "a": p.discrimination / scale, "b": scale * p.difficulty + shift}).iloc[
        ::-1
    ]
    return items, dict(zip(fit.abilities.person_ids, scale * fit.abilities.estimate + shift, strict=True))


def test_an_imported_table_has_an_open_origin_and_unit() -> None:
    items, abilities = tables(1.7, -0.3)
    found = compare([made(), import_fit(items, abilities, model="2PL", name="other")]).pairs[0]
    assert found.verdict == "agree up to scale and shift"
    assert "open convention" in found.reason
    assert found.alignment.standard == (True, False)
    law = found.alignment.second_onto_first
    assert (law.scale, law.shift) == pytest.approx((1 / 1.7, 0.3 / 1.7))
    assert (found.items.n, found.persons.n) == (J, N)


def test_with_its_latent_law_the_frame_is_known() -> None:
    items, abilities = tables(1.7, -0.3)
    known = import_fit(items, abilities, model="2PL", latent_distribution=LatentDistribution(-0.3, 1.7))
    assert compare([made(), known]).pairs[0].verdict == "agree"
    claimed = import_fit(items, abilities, model="2PL", latent_distribution=LatentDistribution())
    found = compare([made(), claimed]).pairs[0]
    assert found.verdict == "agree up to scale and shift"
    assert "that is a finding" in found.reason
