"""Diagnostics of a sampler's run: whether its chains may be believed, and what to do where they may not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from psychoeval.results.chain_checks import suspect_chains
from psychoeval.results.draws import Draws
from psychoeval.results.sampling_figures import Figures, array_stats, convergence_figures
from psychoeval.results.sampling_findings import findings
from psychoeval.results.sampling_thresholds import ESS_GOOD, RHAT_GOOD

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
Grade: TypeAlias = Literal["good", "usable with care", "do not use"]

_GRADES: Final[tuple[Grade, ...]] = ("good", "usable with care", "do not use")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Sampling:
    """How far the draws of a run may be believed.

    Parameters
    ----------
    grade : {"good", "usable with care", "do not use"}
    reasons : tuple of str
        Why it is not ``good``, the worst first.
    remedies : tuple of str
        What to do, one for each reason, each once.
    n_chains, n_draws : int
        Chains, and draws of each.
    person_ids, item_ids : tuple of str
    rhat, ess_bulk, ess_tail : mapping of str to array
        By quantity, (N,), (J,) or (); NaN for constants and for parameters with draws that are not finite.
    mcse_mean : mapping of str to array
        Monte Carlo standard error of the posterior mean, in the unit of the draws that were judged; 0 for constants.
    divergences, treedepth_hits : tuple of int
        By chain; empty where the sampler does not say.
    ebfmi : tuple of float
        Estimated Bayesian fraction of missing information, by chain; empty where there is no energy.
    suspect_chains : mapping of int to str
        Numbers of the chains that stand still, stay elsewhere or are mirrored, and why.
    """

    grade: Grade
    reasons: tuple[str, ...]
    remedies: tuple[str, ...]
    n_chains: int
    n_draws: int
    person_ids: tuple[str, ...]
    item_ids: tuple[str, ...]
    rhat: Mapping[str, FloatArray]
    ess_bulk: Mapping[str, FloatArray]
    ess_tail: Mapping[str, FloatArray]
    mcse_mean: Mapping[str, FloatArray]
    divergences: tuple[int, ...] = ()
    treedepth_hits: tuple[int, ...] = ()
    ebfmi: tuple[float, ...] = ()
    suspect_chains: Mapping[int, str]

    def __post_init__(self) -> None:
        for figure in Figures._fields:
            for array in getattr(self, figure).values():
                array.flags.writeable = False

    def __repr__(self) -> str:
        why = "".join(f"\n  {reason}" for reason in self.reasons)
        return f"<Sampling of {self.n_chains} chains x {self.n_draws}: {self.grade}; see table(), remedies>{why}"

    def labels(self, name: str) -> tuple[str, ...]:
        """Return what the parameters of a quantity are called: ``ability['ann']``, ..., or the name alone."""
        dims = Draws.dims(name)
        if not dims:
            return (name,)
        ids = self.person_ids if dims == ("person",) else self.item_ids
        return tuple(f"{name}[{i[:60]!r}]" for i in ids)

    def worst(self, count: int = 5) -> tuple[Parameter, ...]:
        """Return the parameters that are farthest from good, the worst first: by R-hat over its bound and ESS under.

        Parameters
        ----------
        count : int
        """
        with np.errstate(divide="ignore"):
            badness = {
                n: np.fmax((np.atleast_1d(self.rhat[n]) - 1) / (RHAT_GOOD.value - 1),
                           ESS_GOOD.value / np.fmin(self.ess_bulk[n], self.ess_tail[n]))
                for n in self.rhat
            }  # fmt: skip
        places = [(name, k) for name, values in badness.items() for k in range(values.size)]
        every = np.concatenate([v.ravel() for v in badness.values()])
        # What cannot be computed although it moves is the worst; a constant has Monte Carlo error 0 and is none.
        errors = np.concatenate([np.ravel(v) for v in self.mcse_mean.values()])
        every = np.where(np.isnan(errors), np.inf, np.where(np.isnan(every), -np.inf, every))
        order = [i for i in np.argsort(-every, kind="stable")[:count] if every[i] > -np.inf]
        return tuple(self.parameter(*places[i]) for i in order)

    def parameter(self, name: str, place: int = 0) -> Parameter:
        """Return the figures of one parameter by its quantity and place in it."""
        figures = (float(np.atleast_1d(getattr(self, f)[name])[place]) for f in Figures._fields)
        return Parameter(self.labels(name)[place], name, place, *figures)

    def table(self) -> pd.DataFrame:
        """Return one row for each parameter: ``parameter, id, rhat, ess_bulk, ess_tail, mcse_mean``."""
        import pandas as pd

        frames = []
        for name in self.rhat:
            ids = {("person",): self.person_ids, ("item",): self.item_ids, (): ("",)}[Draws.dims(name)]
            columns = {f: np.atleast_1d(getattr(self, f)[name]) for f in Figures._fields}
            frames.append(pd.DataFrame({"parameter": name, "id": ids, **columns}))
        return pd.concat(frames, ignore_index=True)


class Parameter(NamedTuple):
    """The figures of one parameter: its label, quantity and place in it."""

    label: str
    quantity: str
    place: int
    rhat: float
    ess_bulk: float
    ess_tail: float
    mcse_mean: float


def diagnose(draws: Draws) -> Sampling:
    """Judge the chains of a run: R-hat, ESS, Monte Carlo error, divergences, tree depth, energy, single chains.

    Parameters
    ----------
    draws : Draws

    Returns
    -------
    Sampling
        The grade is that of the worst finding; the bounds, with their reasons, are in `sampling_thresholds`.

    Raises
    ------
    EngineUnavailableError
        Without arviz-stats.
    """
    figures = {name: _figures_of(draws, name) for name in draws.values}
    stats = draws.sample_stats
    divergences = tuple(int(n) for n in np.count_nonzero(stats["diverging"], axis=1)) if "diverging" in stats else ()
    hits = stats["tree_depth"] >= draws.max_treedepth if "tree_depth" in stats else np.empty((0, 0))
    suspects = suspect_chains(draws, figures["ability"].rhat if "ability" in figures else None)
    run = Sampling(
        grade="good", reasons=(), remedies=(), n_chains=draws.n_chains, n_draws=draws.n_draws,
        person_ids=draws.person_ids, item_ids=draws.item_ids, divergences=divergences,
        treedepth_hits=tuple(int(n) for n in hits.sum(axis=1)), ebfmi=_ebfmi(draws), suspect_chains=suspects,
        **{f: {name: getattr(found, f) for name, found in figures.items()} for f in Figures._fields},
    )  # fmt: skip
    found = findings(run, draws)
    return replace(
        run,
        grade=_GRADES[max((f.weight for f in found), default=0)],
        reasons=tuple(f.reason for f in found),
        remedies=tuple(dict.fromkeys(f.remedy for f in found)),
    )


def _figures_of(draws: Draws, name: str) -> Figures:
    """Return the figures of one quantity in its own shape: (N,), (J,) or ()."""
    values = draws.values[name]
    flat = values.reshape(draws.n_chains, draws.n_draws, -1)
    one = flat[:, :, :1]
    common = flat.shape[2] > 1 and bool((flat == one).all())  # the slope of a 1PL stands there once for each item
    found = convergence_figures(one if common else flat)
    return Figures(*(np.broadcast_to(f, flat.shape[2:]).reshape(values.shape[2:]).copy() for f in found))


def _ebfmi(draws: Draws) -> tuple[float, ...]:
    energy = draws.sample_stats.get("energy")
    if energy is None or draws.n_draws < 2 or not np.isfinite(energy).all():
        return ()
    with np.errstate(divide="ignore", invalid="ignore"):
        return tuple(float(e) for e in array_stats().bfmi(energy))
