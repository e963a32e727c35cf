"""Concurrent and fixed-anchor calibration: several groups of persons on one scale, in one fit.

A link (`psychoeval.agreement.linking`) takes one finished calibration to the scale of another; here the groups are
calibrated together, or onto items whose values are given.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from psychoeval.agreement.concurrent_assembly import Assembly, n_parameters
from psychoeval.agreement.concurrent_data import (
    GroupsLike,
    check_freedom,
    check_linked,
    check_sizes,
    find_codes,
    find_fixed,
    find_reference,
    taking_part,
)
from psychoeval.agreement.concurrent_result import Concurrent
from psychoeval.errors import SettingsError
from psychoeval.estimators.native.mml_form import Form, make_form
from psychoeval.estimators.native.mml_groups import Multigroup, Where, make_multigroup
from psychoeval.estimators.native.mml_groups_search import maximize_groups
from psychoeval.estimators.native.modeled import Modeled
from psychoeval.estimators.settings import usable_cores
from psychoeval.fitting.one import item_model
from psychoeval.irt.models import Guessing, ItemModel, PriorsLike
from psychoeval.irt.parameters import ItemParameters
from psychoeval.responses.continuous import not_continuous
from psychoeval.responses.matrix import Responses

FloatArray = NDArray[np.float64]


def calibrate_together(
    responses: Responses,
    groups: GroupsLike,
    model: str | ItemModel = "2PL",
    *,
    priors: PriorsLike = "none",
    guessing: Guessing | None = None,
    fixed_items: ItemParameters | None = None,
    reference: str | None = None,
    start: Concurrent | None = None,
    errors: bool = True,
    tolerance: float = 1e-5,
    max_iterations: int = 500,
    n_threads: int | None = None,
) -> Concurrent:
    """Calibrate items on several groups of persons together, each group with its own normal distribution.

    Maximises over items, means mu_g and SDs s_g

        sum_g sum_i in g log int prod_j P_j(theta)^x_ij (1 - P_j(theta))^(n_ij - x_ij) N(theta; mu_g, s_g^2) dtheta
        + log prior(items),

    the marginal likelihood of Bock and Zimowski (1997, multiple group IRT). The items are the same in all groups, and
    a group need not have run all. Either the reference group is N(0, 1) (Rasch: mean 0, its SD is estimated), which is
    concurrent calibration; or `fixed_items` stay at their values and set the frame, and the means and SDs of *all*
    groups are estimated: fixed-anchor calibration, with one group Kim's (2006, doi:10.1111/j.1745-3984.2006.00021.x)
    method of multiple prior updates and EM cycles. Nodes, EM and acceleration are `mml`'s; slopes are positive.

    Standard errors: inverse observed information of items, means and log SDs together (Louis 1982), at the maximum;
    fixed items are taken as known.

    Parameters
    ----------
    responses : Responses
        N persons, J items; binary or counts, cells may be missing.
    groups : str, mapping or sequence of length N
        A column of `responses.persons`, a label by id, or a label each.
    model : str or ItemModel
        A name takes `priors` and `guessing`, as in `psychoeval.fit`.
    priors : Priors or str
        Of the items that are estimated. None by default: likelihoods can then be compared.
    guessing : float, "free", Beta or LogitNormal, optional
    fixed_items : ItemParameters, optional
        Values to hold, by id; items that are not in the data are left out. Their covariance is not used.
    reference : str, optional
        By default the largest group.
    start : Concurrent, optional
        An earlier result to begin at: its items by id, its groups by name. Items it lacks begin as usual.
    errors : bool
        False leaves out the standard errors, which take as long as the search or longer.
    tolerance : float
        Converged when neither the last change of a parameter (log a, d, logit c, mean, log SD) nor the step that EM
        still asks for exceeds it.
    max_iterations : int
    n_threads : int, optional
        None takes all cores that this process may use.

    Returns
    -------
    Concurrent

    Raises
    ------
    DataError
        If labels do not fit the persons, a group has fewer than two, no fixed item is in the data, or no item can be
        estimated.
    DisconnectedDataError
        If groups share no item with the others (and have no fixed one).
    ModelError
        If the model cannot hold a fixed item.
    SettingsError
        For unusable settings.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> theta = np.r_[rng.normal(size=500), rng.normal(1, 0.7, size=500)]
    >>> p = 1 / (1 + np.exp(-(theta[:, None] - np.linspace(-1, 2, 10))))
    >>> data = Responses.from_array((rng.random(p.shape) < p).astype(int))
    >>> found = calibrate_together(data, ["old"] * 500 + ["new"] * 500, "Rasch", reference="old", n_threads=1)
    >>> new = found.group("new")
    >>> abs(new.mean - 1) < 3 * new.mean_standard_error, abs(new.sd - 0.7) < 3 * new.sd_standard_error
    (True, True)
    """
    not_continuous(responses)
    _check(tolerance, max_iterations, n_threads, start, errors)
    built = _built(model, priors, guessing)
    _check_fixed(fixed_items)
    codes, names = find_codes(responses, groups)
    at = np.full(responses.n_items, -1) if fixed_items is None else find_fixed(responses.item_ids, fixed_items, built)
    form = make_form(built, signed=False)
    data = taking_part(responses, at >= 0, constant_items=form.penalty.location is not None)
    check_sizes(names, codes[data.persons], responses.person_label)
    check_linked(data, codes[data.persons], names, (at >= 0)[data.items])
    first = find_reference(names, codes[data.persons], reference, anchored=fixed_items is not None)
    problem = _problem(data, codes[data.persons], form, fixed_items, at[data.items], first, n_threads or usable_cores())
    if not built.is_penalised:
        check_freedom(built, n_parameters(problem, built), data.part, codes[data.persons])
    begin = None if start is None else _started(problem, data, names, start)
    found = maximize_groups(problem, tolerance=tolerance, max_iterations=max_iterations, start=begin)
    return Assembly(data, built, names, codes, problem, found, fixed_items, at, errors, tolerance).result()


def _built(model: str | ItemModel, priors: PriorsLike, guessing: Guessing | None) -> ItemModel:
    if not isinstance(model, ItemModel):
        return item_model(model, priors, guessing)
    if guessing is None and (priors is None or priors == "none"):
        return model
    raise SettingsError(
        "priors or guessing were given beside an ItemModel, which has its own.", "Put them into the ItemModel."
    )


def _check_fixed(fixed: object) -> None:
    if fixed is not None and not isinstance(fixed, ItemParameters):
        raise SettingsError(
            f"fixed_items is a {type(fixed).__name__}.", "Give ItemParameters, such as the item_parameters of a fit."
        )


def _check(tolerance: float, max_iterations: int, n_threads: int | None, start: object, errors: object) -> None:
    if isinstance(tolerance, bool) or not (isinstance(tolerance, (int, float)) and 0 < tolerance < 1):
        raise SettingsError(f"tolerance={tolerance!r}.", "Give a number between 0 and 1, such as 1e-6.")
    for name, value in (("max_iterations", max_iterations), ("n_threads", n_threads)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise SettingsError(f"{name}={value!r}.", "Give a positive whole number.")
    if start is not None and not isinstance(start, Concurrent):
        raise SettingsError(f"start is a {type(start).__name__}.", "Give an earlier result of calibrate_together.")
    if not isinstance(errors, bool):
        raise SettingsError(f"errors={errors!r}.", "Give True or False.")


def _problem(
    data: Modeled, codes: NDArray[np.intp], form: Form, fixed: ItemParameters | None, at: NDArray[np.intp],
    reference: int | None, n_threads: int,
) -> Multigroup:  # fmt: skip
    held = at >= 0
    known = np.zeros((held.size, form.n_columns))
    if fixed is not None:
        known[held] = _point(fixed, at[held], form)
        if form.slopes == "common":
            form = replace(form, slope_is_known=True, penalty=replace(form.penalty, slope=None))
    part = data.part
    return make_multigroup(
        part.successes, part.trials, codes, form, known, ~held, reference=reference, n_threads=n_threads
    )


def _point(items: ItemParameters, at: NDArray[np.intp], form: Form) -> FloatArray:
    columns = [np.log(items.discrimination[at]), items.intercept[at]]
    if form.n_columns == 3:
        with np.errstate(divide="ignore"):
            columns.append(logit(items.guessing[at]))
    return np.column_stack(columns)


def _started(problem: Multigroup, data: Modeled, names: tuple[str, ...], start: Concurrent) -> Where:
    """Return where an earlier result ended, on the scale on which the search's reference group is N(0, 1)."""
    where, form = problem.start(), problem.form
    laws = {g.name: g for g in start.groups}
    mean = np.array([laws[n].mean if n in laws else 0.0 for n in names])
    sd = np.array([laws[n].sd if n in laws else 1.0 for n in names])
    m, s = (0.0, 1.0) if problem.reference is None else (mean[problem.reference], sd[problem.reference])
    place = {i: k for k, i in enumerate(start.items.item_ids)}
    ids = [i for i, f in zip(data.part.item_ids, problem.free, strict=True) if f]
    at = np.array([place.get(i, -1) for i in ids], dtype=np.intp)
    usable = (at >= 0) & (start.items.estimated & (start.items.discrimination > 0))[at]
    items = where.items.copy()
    if usable.any():
        items[usable] = _point(start.items, at[usable], form)
        items[usable, 1] += np.exp(items[usable, 0]) * m
        items[usable, 0] += np.log(s)
        if form.slopes == "common":
            items[:, 0] = where.items[:, 0] if form.slope_is_known else items[np.argmax(usable), 0]
    return problem.where(problem.vector(Where(form.held(items), (mean - m) / s, np.log(np.maximum(sd / s, 1e-12)))))
