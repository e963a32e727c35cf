import numpy as np
import pytest

from psychoeval.errors import DataError
from psychoeval.irt.parameters import Abilities, ItemParameters, readonly

IDS = ("x", "y", "z")


def _covariance():
    block = np.array([[0.04, 0.01, 0.001], [0.01, 0.09, -0.002], [0.001, -0.002, 0.0016]])
    return np.stack([block, 2 * block, np.zeros((3, 3))])


def _parameters(**changes):
    given = {"discrimination": [0.8, -1.5, 1.0], "intercept": [0.4, 3.0, 0.0], "guessing": [0.0, 0.2, 0.0]}
    return ItemParameters(IDS, **{**given, **changes})


def test_difficulty_is_minus_intercept_over_slope():
    assert _parameters().difficulty == pytest.approx([-0.5, 2.0, 0.0])


def test_difficulty_form_and_slope_form_are_inverse():
    p = ItemParameters.from_difficulty(IDS, [0.8, 1.5, -1.0], [-0.5, 2.0, 0.3], 0.1)
    again = ItemParameters.from_slope_intercept(IDS, p.discrimination, p.intercept, p.guessing)
    assert again.difficulty == pytest.approx([-0.5, 2.0, 0.3])
    assert (again.guessing == 0.1).all()


def test_error_of_the_difficulty_is_the_delta_method_with_the_covariance():
    p = _parameters(covariance=_covariance())
    for j in range(3):
        a, d, h = p.discrimination[j], p.intercept[j], 1e-6
        gradient = np.array([-d / (a + h) + d / (a - h), -(d + h) / a + (d - h) / a, 0.0]) / (2 * h)
        expected = np.sqrt(gradient @ _covariance()[j] @ gradient)
        assert p.standard_errors["difficulty"][j] == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_errors_of_a_b_c_round_trip_through_the_covariance():
    errors = {"discrimination": [0.1, 0.2, 0.3], "difficulty": [0.3, 0.2, 0.1], "guessing": 0.05}
    p = ItemParameters.from_difficulty(IDS, [0.8, 1.5, 1.0], [-0.5, 2.0, 0.3], 0.1, standard_errors=errors)
    for name, value in errors.items():
        assert p.standard_errors[name] == pytest.approx(np.broadcast_to(value, 3))


def test_no_covariance_no_errors():
    p = _parameters(no_errors_because="the information matrix is singular")
    assert p.standard_errors is None
    assert p.no_errors_because == "the information matrix is singular"


def test_zero_slope_gives_no_warning_and_is_marked():
    p = _parameters(discrimination=[0.0, 0.02, 0.05], intercept=[1.0, 1.1, 1.0])
    assert p.difficulty[0] == -np.inf
    assert p.difficulty[1] == pytest.approx(-55.0)
    assert p.difficulty_is_stable.tolist() == [False, False, True]


def test_items_without_estimates_stay_in_place():
    p = _parameters(
        discrimination=[1.0, np.nan, 1.0],
        intercept=[0.0, np.nan, 1.0],
        status=("estimated", "constant_all_1", "runaway"),
    )
    assert p.estimated.tolist() == [True, False, True]
    chosen = p.select(np.array([2, 1]))
    assert chosen.item_ids == ("z", "y")
    assert chosen.status == ("runaway", "constant_all_1")
    assert np.isnan(chosen.intercept[1])


def test_arrays_are_read_only_copies():
    given = np.ones(3)
    p = _parameters(discrimination=given, covariance=_covariance())
    given[0] = 7.0
    assert p.discrimination[0] == 1.0
    for array in (p.discrimination, p.intercept, p.guessing, p.covariance):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


@pytest.mark.parametrize(
    "changes",
    [
        {"discrimination": [1.0, 2.0]},
        {"covariance": np.zeros((3, 2, 2))},
        {"status": ("estimated",)},
        {"joint_covariance": np.eye(2), "joint_labels": (("x", "a"),)},
    ],
)
def test_shapes_that_do_not_fit_are_refused(changes):
    with pytest.raises(DataError):
        _parameters(**changes)


def test_ids_that_repeat_are_refused():
    with pytest.raises(DataError, match="repeat"):
        ItemParameters(("x", "x"), [1, 1], [0, 0], [0, 0])
    with pytest.raises(DataError, match="repeat"):
        Abilities(("p", "p"), np.zeros(2), None, "EAP")


def test_abilities_carry_a_status_each():
    found = Abilities(("p", "q"), [0.0, np.inf], [0.3, np.inf], "ML", status=("estimated", "ml_infinite"))
    assert found.n_persons == 2
    with pytest.raises(DataError):
        Abilities(("p", "q"), [0.0, 1.0], None, "EAP", status=("estimated",))
    with pytest.raises(DataError):
        Abilities(("p", "q"), [0.0, 1.0], [1.0], "EAP")


def test_readonly_names_what_has_the_wrong_shape():
    with pytest.raises(DataError, match=r"slopes has shape \(2,\), not \(3,\)"):
        readonly([1, 2], (3,), "slopes")
