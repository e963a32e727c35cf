"""What a test of DIF was asked to do: settings that exist and go together, the method they name, and its anchors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from psychoeval.audit.paired import Correction
from psychoeval.audit.settings import check_level, check_whole
from psychoeval.diagnostics.dif_groups import Groups
from psychoeval.diagnostics.dif_likelihood import LikelihoodMethod
from psychoeval.diagnostics.dif_logistic import Kind, LogisticMethod
from psychoeval.diagnostics.dif_matching import Abilities, Proportions
from psychoeval.diagnostics.dif_result import ItemTests, Method
from psychoeval.diagnostics.dif_wald import wald_method
from psychoeval.errors import SettingsError
from psychoeval.estimators.settings import check_choice, check_flag
from psychoeval.fitting.one import item_model
from psychoeval.irt.linking import LinkingMethod
from psychoeval.irt.models import Guessing, ItemModel
from psychoeval.responses.matrix import Responses
from psychoeval.wording import shorten, some

BoolArray = NDArray[np.bool_]
MatchingName = Literal["proportion", "ability"]

#: Up to as many persons in a group slopes of their own are not fitted by default.
FEW_PERSONS: Final = 100
#: Settings of single methods: their values, None for any, and the methods that have them.
_OF_METHODS: Final = {
    "kind": (get_args(Kind), ("logistic",)),
    "matching": (get_args(MatchingName), ("logistic",)),
    "linking": (get_args(LinkingMethod), ("wald",)),
}


class Procedure(Protocol):
    """One method on given responses and groups."""

    @property
    def how(self) -> str:
        """What is tested, in words."""

    @property
    def usable(self) -> BoolArray:
        """Which items can be anchors, (J,)."""

    def test(self, anchors: BoolArray) -> ItemTests:
        """Test all items with these anchors."""

    def finish(self, tested: ItemTests, anchors: BoolArray) -> ItemTests:
        """Add what is not needed to find the anchors."""


def check_settings(
    method: str, purify: bool, max_rounds: int, correction: str, level: float, given: Mapping[str, object]
) -> None:
    """Refuse settings that do not exist, and settings of another method.

    Parameters
    ----------
    given : mapping
        ``kind``, ``matching``, ``linking``, ``model`` and ``guessing``; None where not given.

    Raises
    ------
    SettingsError
        By name.
    """
    check_choice("method", method, get_args(Method))
    check_choice("correction", correction, get_args(Correction))
    check_flag(purify=purify)
    check_whole("max_rounds", max_rounds, 1)
    check_level(level)
    for name, (choices, methods) in _OF_METHODS.items():
        value = given[name]
        if value is None:
            continue
        check_choice(name, value, choices)  # type: ignore[arg-type]
        if method not in methods:
            raise SettingsError(
                f"{name} is a setting of {' and '.join(methods)}.", f"Leave it out of method={method!r}."
            )
    named = [name for name in ("model", "guessing") if given[name] is not None]
    if named and method == "logistic" and given["matching"] != "ability":
        raise SettingsError(
            f"{named[0]} is a setting of wald, likelihood-ratio, and logistic with abilities: proportions have none.",
            f"Leave it out, or match by abilities (matching='ability'), or take another method than {method!r}.",
        )


def procedure(
    responses: Responses, groups: Groups, method: Method, model: str | ItemModel | None, guessing: Guessing | None,
    level: float, kind: Kind | None, matching: MatchingName | None, linking: LinkingMethod | None,
) -> Procedure:  # fmt: skip
    """Return the method on these responses.

    Raises
    ------
    SettingsError, ModelError
        For what it cannot do.
    """
    if method == "logistic":
        if matching != "ability":
            return LogisticMethod(responses, groups, kind or "both", Proportions(responses), level)
        by = Abilities(responses, groups.comparable, _built(model or "Rasch", guessing))
        return LogisticMethod(responses, groups, kind or "both", by, level)
    if len(groups.names) > 2:
        raise SettingsError(
            f"There are {len(groups.names)} groups ({some(groups.names)}), and {method} compares two.",
            "Use method='logistic', or select the persons of two groups.",
        )
    few = groups.sizes.min() <= FEW_PERSONS
    built = _built(model or ("Rasch" if few else "2PL"), guessing)
    if method == "wald":
        return wald_method(responses, groups, built, linking or "stocking-lord", level)
    return LikelihoodMethod(responses.select(items=groups.comparable), groups, built, level)


def _built(model: str | ItemModel, guessing: Guessing | None) -> ItemModel:
    if isinstance(model, str):
        return item_model(model, "none", guessing)
    if not isinstance(model, ItemModel):
        raise SettingsError(f"model is {shorten(repr(model))}.", "Give Rasch, 1PL, 2PL, 3PL or an ItemModel.")
    if guessing is not None:
        raise SettingsError("guessing was given beside an ItemModel, which has its own.", "Put it into the ItemModel.")
    return model


def candidates(
    responses: Responses, usable: BoolArray, anchors: Sequence[str] | None
) -> tuple[BoolArray, tuple[str, ...]]:
    """Return which items may be anchors, of those asked for the ones that can be tested, and a note on the others.

    Raises
    ------
    SettingsError
        If `anchors` are no ids of items.
    """
    if anchors is None:
        return usable, ()
    if isinstance(anchors, (str, bytes, Mapping)) or not isinstance(anchors, Iterable):
        raise SettingsError(f"anchors is {shorten(repr(anchors))}.", "Give a list of ids.")
    given = list(anchors)
    known = set(responses.item_ids)
    if unknown := [i for i in given if not (isinstance(i, str) and i in known)]:
        raise SettingsError(f"{some(unknown)} cannot be anchors: no such items.", "Name items by their ids.")
    wanted = set(given)
    named = np.array([i in wanted for i in responses.item_ids], dtype=bool)
    lost = [i for i, n in zip(responses.item_ids, named & ~usable, strict=True) if n]
    notes = (f"{len(lost)} of the anchors cannot be tested and are none: {some(lost)}.",) if lost else ()
    return named & usable, notes
