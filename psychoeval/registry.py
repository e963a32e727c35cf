"""One table: every estimator, its engine, its models, what it provides. Imports nothing heavy."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Literal, cast

from psychoeval.errors import SettingsError
from psychoeval.estimators.base import Estimator

Engine = Literal["numpy", "r", "stan", "torch"]
Target = Literal["posterior-average", "frequentist", "none"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One estimator.

    Parameters
    ----------
    target : str
        ``"module:class"``, imported when used.
    engine : str
    models : tuple of str
        Models it fits; empty if it needs none.
    accepts : tuple of str
        Kinds of data: ``binary``, ``counts``.
    provides : frozenset of str
        Of ``item_parameters``, ``item_statistics``, ``abilities``, ``standard_errors``, ``log_likelihood``, ``draws``.
    default_priors : {"none", "weak", "hierarchical", "published", "population"}
        The priors taken when the user names none; priors whose means are estimated only where items have slopes of
        their own (2PL, 3PL), because the Rasch model and the 1PL need none.
    coverage_target : str
        What its intervals promise: ``posterior-average``, ``frequentist`` or ``none``.
    summary : str
        One line for ``psychoeval estimators``.
    estimates_prior_means : bool
        Whether it takes priors whose means are estimated (``priors="hierarchical"``).
    takes_population : bool
        Whether it takes a population of items with densities of its means and SDs (``priors="population"``).
    estimates_population : bool
        Whether it estimates a population of items, which holds free slopes on few persons as a prior does.
    slow : bool
        Whether it takes minutes where the others take seconds: fitted only where it is named.
    """

    target: str
    engine: Engine
    models: tuple[str, ...]
    accepts: tuple[str, ...]
    provides: frozenset[str]
    default_priors: Literal["none", "weak", "hierarchical", "published", "population"]
    coverage_target: Target
    summary: str
    estimates_prior_means: bool = False
    takes_population: bool = False
    estimates_population: bool = False
    slow: bool = False

    def priors_of(self, model: str) -> str:
        """Return the default priors of a model."""
        return "none" if self.default_priors == "hierarchical" and model in ("Rasch", "1PL") else self.default_priors


_SCORES = frozenset({"abilities", "standard_errors"})
_IRT = frozenset({"item_parameters", "abilities", "standard_errors", "log_likelihood"})
_DRAWN = frozenset({"item_parameters", "abilities", "standard_errors", "draws"})

REGISTRY: Final[dict[str, Entry]] = {
    "simple-average": Entry(
        "psychoeval.estimators.native.simple_average:SimpleAverage", "numpy", (), ("binary", "counts"),
        _SCORES, "none", "frequentist",
        "mean over the items a system saw; misleads when systems saw different items",
    ),
    "additive": Entry(
        "psychoeval.estimators.native.additive:Additive", "numpy", (), ("binary", "counts"),
        _SCORES | {"item_statistics"}, "none", "frequentist",
        "score = system + item by least squares over the observed cells; intervals too narrow where cells are missing "
        "by difficulty",
    ),
    "ctt": Entry(
        "psychoeval.estimators.native.ctt:CTT", "numpy", (), ("binary", "counts"),
        _SCORES | {"item_statistics"}, "none", "frequentist",
        "classical test theory: proportion correct, item-rest correlation, alpha, SEM",
    ),
    "map": Entry(
        "psychoeval.estimators.native.map:MAP", "numpy", ("Rasch", "1PL", "2PL"), ("binary", "counts"),
        _IRT, "published", "none",
        "joint maximum a posteriori of abilities and items (penalised joint likelihood)",
    ),
    "cml": Entry(
        "psychoeval.estimators.native.cml:CML", "numpy", ("Rasch",), ("binary", "counts"),
        _IRT, "none", "frequentist",
        "conditional maximum likelihood given raw scores: Rasch difficulties without a distribution of abilities",
    ),
    "mml": Entry(
        "psychoeval.estimators.native.mml:MML", "numpy", ("Rasch", "1PL", "2PL", "3PL"), ("binary", "counts"),
        _IRT, "hierarchical", "posterior-average",
        "marginal maximum likelihood (EM), on a grid that follows the posteriors; thousands of items in seconds",
        estimates_prior_means=True,
    ),
    "random-item": Entry(
        "psychoeval.estimators.native.random_item:RandomItem", "numpy", ("Rasch", "2PL", "3PL"), ("binary", "counts"),
        _IRT, "none", "posterior-average",
        "empirical Bayes for few systems and many items: items integrated out over a population, itself estimated with "
        "abilities integrated out",
        estimates_population=True,
    ),
    "vi": Entry(
        "psychoeval.estimators.native.variational:VI", "numpy", ("1PL", "2PL", "3PL"), ("binary", "counts"),
        _IRT, "weak", "none",
        "mean-field variational posterior, deterministic; fast, its standard errors too small",
    ),
    "mirt-em": Entry(
        "psychoeval.estimators.mirt.estimator:MirtEM", "r", ("Rasch", "1PL", "2PL", "3PL"), ("binary", "counts"),
        _IRT, "none", "posterior-average",
        "R mirt, marginal maximum likelihood by EM, its answer judged before it is believed",
    ),
    "mirt-mhrm": Entry(
        "psychoeval.estimators.mirt.estimator:MirtMHRM", "r", ("Rasch", "1PL", "2PL", "3PL"), ("binary", "counts"),
        _IRT, "none", "posterior-average",
        "R mirt, marginal maximum likelihood by Metropolis-Hastings Robbins-Monro; no prior on the 1PL's slope",
    ),
    "stan-hmc": Entry(
        "psychoeval.estimators.stan.estimator:StanHMC", "stan", ("Rasch", "1PL", "2PL", "3PL"), ("binary", "counts"),
        _DRAWN, "population", "posterior-average",
        "the full posterior by Stan's HMC (CmdStan or stanli), every chain diagnosed before it is believed",
        takes_population=True,
        slow=True,
    ),
    "brms": Entry(
        "psychoeval.estimators.brms.estimator:Brms", "r", ("Rasch", "1PL", "2PL", "3PL"), ("binary", "counts"),
        _DRAWN, "population", "posterior-average",
        "R brms, the same posterior from a formula, the published reference; builds a C++ program first",
        takes_population=True,
        slow=True,
    ),
}  # fmt: skip


def entry(name: str) -> Entry:
    """Return the row of an estimator.

    Raises
    ------
    SettingsError
        If there is none; the message lists those there are.
    """
    try:
        return REGISTRY[name]
    except KeyError:
        raise SettingsError(f"There is no estimator {name!r}.", f"Choose one of {', '.join(REGISTRY)}.") from None


def default_names() -> list[str]:
    """Return the estimators that a comparison takes where none is named: all but the slow ones."""
    return [name for name, row in REGISTRY.items() if not row.slow]


def make_estimator(name: str, /, **settings: Any) -> Estimator:
    """Return the settings object of an estimator.

    Raises
    ------
    SettingsError
        If the estimator or a setting is unknown, or a value cannot be taken.
    """
    module, _, class_name = entry(name).target.partition(":")
    factory = getattr(import_module(module), class_name)
    known = [f.name for f in dataclasses.fields(factory)]
    for key in settings:
        if key not in known:
            raise SettingsError(f"{name} has no setting {key!r}.", f"It has {', '.join(known) or 'none'}.")
    return cast(Estimator, factory(**settings))
