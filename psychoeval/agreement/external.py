"""Results of other programs, as fits that can be compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np

from psychoeval.agreement.columns import Columns, FloatArray, find, ids_of, numbers
from psychoeval.agreement.external_checks import check_guessing, check_options, check_proportions, check_tables
from psychoeval.errors import DataError, ModelError, SettingsError
from psychoeval.fitting import item_model
from psychoeval.irt.models import ItemModel
from psychoeval.irt.parameters import Abilities, AbilityScale, ItemParameters, PersonStatus
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult, LatentDistribution, LikelihoodKind
from psychoeval.results.provenance import Provenance

if TYPE_CHECKING:
    import pandas as pd

Parametrization = Literal["difficulty", "slope-intercept", "easiness"]

_SLOPE: Final = Columns("slope", ("a", "a1", "slope", "discrimination", "alpha"))
_LOCATION: Final[dict[str, Columns]] = {
    "difficulty": Columns("difficulty", ("b", "difficulty", "beta", "location")),
    "slope-intercept": Columns("intercept", ("d", "intercept")),
    "easiness": Columns("easiness", ("e", "easiness", "b", "beta", "eta")),
}
_GUESSING: Final = Columns("guessing", ("c", "g", "guessing", "gamma", "lower_asymptote"))
_ABILITY: Final = Columns("ability", ("ability", "theta", "estimate", "f1", "eap", "map", "ml", "wle", "score"))


def import_fit(
    items: pd.DataFrame | ItemParameters | None = None,
    abilities: pd.DataFrame | Mapping[str, float] | None = None,
    *,
    model: str | ItemModel | None = None,
    name: str = "program",
    parametrization: Parametrization = "difficulty",
    latent_distribution: LatentDistribution | None = None,
    ability_scale: AbilityScale = "logit",
    log_likelihood: float | None = None,
    log_likelihood_kind: LikelihoodKind | None = None,
    n_parameters: int | None = None,
) -> FitResult:
    """Make a fit of another program's tables.

    Parameters
    ----------
    items : DataFrame or ItemParameters, optional
        One row an item: the id in a column ``item``, ``item_id``, ``id`` or ``name``, or in the index; a location as
        `parametrization` says; a slope (``a``, ``a1``, ``slope``, ``discrimination``, ``alpha``), not needed for the
        Rasch model; a lower asymptote (``c``, ``g``, ``guessing``, ``gamma``) for the 3PL. Standard errors in
        ``se_<column>``, ``<column>_se`` or ``SE_<column>``. Logits with D = 1.
    abilities : DataFrame or mapping of id to value, optional
        The id in ``person``, ``system``, ``person_id``, ``id`` or the index; ``ability``, ``theta``, ``estimate``,
        ``F1`` or ``score``. Infinite values are allowed.
    model : str or ItemModel, optional
        Needed with items. A name stands for the model without priors.
    name : str
        Of the program.
    parametrization : {"difficulty", "slope-intercept", "easiness"}
        What the location is: b in a (theta - b); d in a theta + d; e = -b in a (theta + e). Easiness is never guessed:
        without the word, a table of easiness values is read as difficulties.
    latent_distribution : LatentDistribution, optional
        Mean and SD of the abilities' distribution on the tables' scale, if the program states them. Without it origin
        and unit are an open convention, and a comparison estimates them.
    ability_scale : {"logit", "proportion"}
    log_likelihood : float, optional
    log_likelihood_kind : str, optional
        Needed with a log-likelihood: kinds never compare.
    n_parameters : int, optional

    Returns
    -------
    FitResult
        With the status ``imported``: it is not judged.

    Raises
    ------
    DataError
        If a table is empty or none, a column is missing, a cell is no number, a lower asymptote lies outside [0, 1) or
        a proportion outside [0, 1]; by column and id.
    ModelError
        If the model is missing or contradicts the table.
    SettingsError
        If an option is unknown or is not what it must be.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": ["q1", "q2"], "b": [-0.5, 0.5]})
    >>> import_fit(table, {"s1": 0.2}, model="Rasch", name="dexter").label
    'dexter Rasch'
    """
    if items is None and abilities is None:
        raise DataError("Neither items nor abilities were given.", "Give at least one table.")
    check_tables(items, abilities)
    _check_choice("parametrization", parametrization, get_args(Parametrization))
    _check_choice("ability_scale", ability_scale, get_args(AbilityScale))
    if log_likelihood is not None:
        _check_choice("log_likelihood_kind", log_likelihood_kind, get_args(LikelihoodKind))
    check_options(name, latent_distribution, log_likelihood, n_parameters)
    built = _model(model, items is not None)
    parameters = items
    if items is not None and not isinstance(items, ItemParameters):
        parameters = items_from_table(items, parametrization, built)
    if isinstance(parameters, ItemParameters) and built is not None:
        _check_slopes(parameters, built)
        check_guessing(parameters)
    return FitResult(
        estimator=name,
        model=built,
        convergence=Convergence("imported"),
        provenance=Provenance(engine=name, settings={"parametrization": parametrization}),
        abilities=None if abilities is None else _abilities(abilities, ability_scale),
        item_parameters=parameters if isinstance(parameters, ItemParameters) else None,
        latent_distribution=latent_distribution,
        log_likelihood=None if log_likelihood is None else float(log_likelihood),
        log_likelihood_kind=log_likelihood_kind,
        n_parameters=None if n_parameters is None else int(n_parameters),
    )


def _check_choice(what: str, given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        raise SettingsError(f"{what}={given!r} is unknown.", f"Choose one of {', '.join(known)}.")


def _model(model: str | ItemModel | None, needed: bool) -> ItemModel | None:
    if model is None and needed:
        raise ModelError("Item parameters were given without their model.", "Give model=, for example 'Rasch'.")
    if model is not None and not isinstance(model, (str, ItemModel)):
        raise ModelError(f"model is a {type(model).__name__}.", "Give a name, for example 'Rasch', or an ItemModel.")
    return item_model(model, "none") if isinstance(model, str) else model


def items_from_table(
    table: pd.DataFrame, parametrization: Parametrization, model: ItemModel | None = None
) -> ItemParameters:
    """Return the items of a table; columns are those of `import_fit`.

    Without a model slopes are 1 where the table has none.

    Raises
    ------
    DataError
        If a column is missing, or a cell is no number; by column and id.
    """
    item_ids = ids_of(table, ("item", "item_id", "id", "name"), "item")
    wanted = _LOCATION[parametrization]
    location = find(table, wanted)
    if location is None:
        others = [f"parametrization={p!r}" for p, c in _LOCATION.items() if p != parametrization and find(table, c)]
        raise DataError(
            f"The item table has no column of {wanted.what} ({', '.join(wanted.names)}); "
            f"it has {', '.join(map(str, table.columns))}.",
            f"If its location is of another kind, say so: {' or '.join(others)}." if others else "Rename the column.",
        )
    slope, guessing = find(table, _SLOPE), find(table, _GUESSING)
    if slope is None and model is not None and model.name != "Rasch":
        raise DataError(
            f"The item table has no column of slopes ({', '.join(_SLOPE.names)}) for the {model.name}.",
            "Add it, or give model='Rasch' if all slopes are 1.",
        )
    n = len(item_ids)
    a, a_error = numbers(table, slope, item_ids) if slope is not None else (np.ones(n), None)
    place, place_error = numbers(table, location, item_ids)
    c, c_error = numbers(table, guessing, item_ids) if guessing is not None else (_fixed_guessing(model, n), None)
    given = (a_error, place_error, c_error)
    # 0 stands for "fixed, or not given": such an error is no yardstick in a comparison.
    errors = [np.zeros(n) if e is None else e for e in given]
    without = all(e is None for e in given)
    if parametrization == "slope-intercept":
        names = ("slope", "intercept", "guessing")
        made = ItemParameters.from_slope_intercept(
            item_ids, a, place, c, standard_errors=dict(zip(names, errors, strict=True))
        )
    else:
        b = -place if parametrization == "easiness" else place
        names = ("discrimination", "difficulty", "guessing")
        made = ItemParameters.from_difficulty(
            item_ids, a, b, c, standard_errors=dict(zip(names, errors, strict=True))
        )  # fmt: skip
    return dataclasses.replace(made, covariance=None, no_errors_because=_NO_ERRORS) if without else made


_NO_ERRORS: Final = "The imported table has no standard errors."


def _fixed_guessing(model: ItemModel | None, n: int) -> FloatArray:
    if model is None or model.name != "3PL":
        return np.zeros(n)
    if isinstance(model.guessing, (int, float)):
        return np.full(n, float(model.guessing))
    raise DataError(
        f"The item table has no column of lower asymptotes ({', '.join(_GUESSING.names)}) for the 3PL.", "Add it."
    )


def _check_slopes(items: ItemParameters, model: ItemModel) -> None:
    a = items.discrimination
    if model.name == "Rasch" and np.any(a[items.estimated] != 1.0):
        odd = items.item_ids[int(np.argmax(items.estimated & (a != 1.0)))]
        raise ModelError(
            f"The slope of item {odd!r} is not 1, as the Rasch model has it.",
            "Give model='1PL' for a common slope on the scale of a latent N(0, 1), or model='2PL'.",
        )
    if model.name == "1PL" and np.ptp(a[items.estimated]) > 1e-6 * max(1.0, float(np.abs(a[items.estimated]).max())):
        raise ModelError("The slopes differ from item to item; the 1PL has one.", "Give model='2PL'.")
    if model.name != "3PL" and np.any(items.guessing[items.estimated] != 0):
        raise ModelError(f"The {model.name} has no lower asymptote, and the table's is not 0.", "Give model='3PL'.")


def _abilities(given: pd.DataFrame | Mapping[str, float], scale: AbilityScale) -> Abilities:
    import pandas as pd

    table = given if isinstance(given, pd.DataFrame) else pd.DataFrame(
        {"person": list(given.keys()), "ability": list(given.values())}
    )  # fmt: skip
    person_ids = ids_of(table, ("person", "system", "person_id", "id", "model"), "person")
    column = find(table, _ABILITY)
    if column is None:
        raise DataError(
            f"The ability table has no column of abilities ({', '.join(_ABILITY.names)}); "
            f"it has {', '.join(map(str, table.columns))}.",
            "Rename the column.",
        )
    estimate, error = numbers(table, column, person_ids, infinite=scale == "logit", bare_errors=True)
    if scale == "proportion":
        check_proportions(person_ids, estimate)
    status: tuple[PersonStatus, ...] = tuple("ml_infinite" if np.isinf(v) else "estimated" for v in estimate)
    return Abilities(person_ids, estimate, error, method="imported", scale=scale, status=status)
