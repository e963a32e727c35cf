from __future__ import annotations

import numpy as np
import pytest

from psychoeval.agreement.differences import Estimates, compare_term, differences
from psychoeval.agreement.scores import expected_scores
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult
from psychoeval.results.provenance import Provenance
from tests.unit.agreement_fits import ids

NAN, INF = np.nan, np.inf


def estimates(value: list[float], error: float | list[float] = NAN) -> Estimates:
    return Estimates(np.array(value), np.broadcast_to(np.asarray(error, float), (len(value),)))


def test_figures_by_hand() -> None:
    found = differences(estimates([1.0, 2.0, 4.0], 0.3), estimates([1.1, 2.0, 3.5], 0.4))
    unit = np.sqrt((0.3**2 + 0.4**2) / 2)
    assert found.n == 3
    assert found.mean == pytest.approx((-0.1 + 0.5) / 3)
    assert found.mean_absolute == pytest.approx(0.2)
    assert found.largest == pytest.approx(0.5)
    assert found.rmsd == pytest.approx(np.sqrt((0.01 + 0.25) / 3))
    assert found.mean_in_errors == pytest.approx(0.2 / unit)
    assert found.largest_in_errors == pytest.approx(0.5 / unit)
    # By hand: sums of squares and products about the means 7/3 and 2.2.
    sxx, syy, sxy = 14 / 3, 2.94, 3.7
    assert found.correlation == pytest.approx(sxy / np.sqrt(sxx * syy))


def test_the_largest_difference_keeps_its_sign() -> None:
    assert differences(estimates([0.0, 0.0]), estimates([2.0, -1.0])).largest == -2.0


def test_one_fit_without_errors_lends_none_and_zero_is_none() -> None:
    found = differences(estimates([1.0, 2.0], [0.5, 0.0]), estimates([1.1, 2.2], NAN))
    assert (found.n, found.n_in_errors) == (2, 1)
    assert found.largest_in_errors == pytest.approx(0.2)


def test_unlike_errors_are_not_set_side_by_side() -> None:
    one, two = estimates([1.0, 2.0], 0.1), estimates([1.5, 2.5], 0.2)
    term = compare_term("ability", ("a", "b"), (one, two), (one, two), errors_alike=False)
    assert term.aligned.mean_in_errors is None
    assert term.error_ratio is None
    assert all(w.in_errors is None for w in term.worst)
    alike = compare_term("ability", ("a", "b"), (one, two), (one, two))
    assert alike.error_ratio == pytest.approx(2.0)


def test_a_constant_parameter_has_no_correlation() -> None:
    found = differences(estimates([1.2] * 4), estimates([1.3] * 4))
    assert found.correlation is None
    assert found.common
    assert found.spread == pytest.approx(1.2)
    assert not differences(estimates([1.2, 1.2, 1.2]), estimates([1.2, 1.3, 1.2])).common


def test_what_only_one_fit_has_is_listed_and_infinities_are_no_differences() -> None:
    one = estimates([1.0, NAN, INF, -INF, INF, 2.0])
    two = estimates([1.5, 1.0, INF, -INF, 3.0, NAN])
    term = compare_term("ability", ids("p", 6), (one, two), (one, two))
    assert term.aligned.n == 1
    assert term.aligned.largest == -0.5
    assert term.only_first == ("p5",)
    assert term.only_second == ("p1",)
    assert term.infinite_in_both == 2
    assert term.infinite_in_one == ("p4",)


def test_nothing_common_is_not_zero() -> None:
    found = differences(estimates([NAN]), estimates([1.0]))
    assert found.n == 0
    assert np.isnan(found.largest)
    assert np.isnan(found.rmsd)


def test_the_worst_are_ordered_in_errors() -> None:
    one, two = estimates([1.0, 1.0, 1.0], [1.0, 0.1, 0.1]), estimates([3.0, 1.3, 1.0], [1.0, 0.1, 0.1])
    term = compare_term("intercept", ("a", "b", "c"), (one, two), (one, two))
    assert [w.id for w in term.worst] == ["b", "a"]
    assert term.worst[0].in_errors == pytest.approx(3.0)


def test_expected_scores_by_hand() -> None:
    items = ItemParameters(
        ("x", "zero", "one", "y"),
        np.array([1.0, NAN, NAN, 2.0]),
        np.array([0.0, NAN, NAN, 1.0]),
        np.array([0.2, NAN, NAN, 0.0]),
        status=("estimated", "constant_all_0", "constant_all_1", "estimated"),
    )
    abilities = Abilities(("p", "inf", "none", "minus"), np.array([0.5, INF, NAN, -INF]), None, "ML")
    fit = FitResult("mml", None, Convergence("converged"), Provenance(), abilities, items)
    found = expected_scores(fit, ("y", "one", "zero", "x"), ("none", "p", "inf", "minus"))
    assert found is not None
    x, y = 0.2 + 0.8 / (1 + np.exp(-0.5)), 1 / (1 + np.exp(-2.0))
    np.testing.assert_allclose(found[0], [NAN, (x + y + 1) / 4, 0.75, (0.2 + 1) / 4], atol=1e-15)
    np.testing.assert_allclose(found[1], [(y + 1) / 3, 1, 0, (x + 1 + 0.2) / 3], atol=1e-15)


def test_expected_scores_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    from psychoeval.agreement import scores
    from tests.unit.agreement_fits import J, N, made

    whole = expected_scores(made(), ids("i", J), ids("p", N))
    monkeypatch.setattr(scores, "BLOCK_CELLS", 7 * J)
    parts = expected_scores(made(), ids("i", J), ids("p", N))
    assert whole is not None
    assert parts is not None
    np.testing.assert_allclose(parts[0], whole[0], rtol=1e-14)
    np.testing.assert_allclose(parts[1], whole[1], rtol=1e-14)
