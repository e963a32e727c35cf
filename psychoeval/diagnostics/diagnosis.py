"""Every diagnostic of a fit at once, and what stands out among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from psychoeval.audit.settings import check_whole
from psychoeval.diagnostics.diagnosis_words import findings
from psychoeval.diagnostics.dimensionality import dimensionality
from psychoeval.diagnostics.dimensionality_result import Dimensionality
from psychoeval.diagnostics.fitted import JUDGED, fitted
from psychoeval.diagnostics.item_fit import ItemFit, item_fit
from psychoeval.diagnostics.local_dependence import LocalDependence, local_dependence
from psychoeval.diagnostics.model_fit import ModelFit, model_fit
from psychoeval.diagnostics.person_fit import PersonFit, person_fit
from psychoeval.diagnostics.posterior_predictive import FEWEST, posterior_predictive
from psychoeval.diagnostics.predictive_result import AS_EXPECTED, PosteriorPredictive
from psychoeval.errors import PsychoevalError
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

if TYPE_CHECKING:
    import pandas as pd

Part = TypeVar("Part")

#: Adjusted p below which an item or a person is called out.
ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """What every diagnostic says of a fit. A part that cannot be has its reason in `absent`.

    Parameters
    ----------
    label : str
        Of the fit.
    person_label : str
    items : ItemFit
    persons : PersonFit
    pairs : LocalDependence, optional
    model : ModelFit, optional
    predictive : PosteriorPredictive, optional
    dimensions : Dimensionality, optional
    absent : dict of str to str
        Why a part is not there, by its name.
    doubts : tuple of str
        Why the fit itself is not to be believed; empty if it is.
    """

    label: str
    person_label: str
    items: ItemFit
    persons: PersonFit
    pairs: LocalDependence | None
    model: ModelFit | None
    predictive: PosteriorPredictive | None
    dimensions: Dimensionality | None
    absent: dict[str, str]
    doubts: tuple[str, ...]

    def __repr__(self) -> str:
        return (f"<Diagnosis of {self.label} on {len(self.items.item_ids)} items; see findings, item_frame(), "
                "person_frame(), pair_frame(), model_frame(), notes>")  # fmt: skip

    @property
    def findings(self) -> tuple[str, ...]:
        """What stands out, in sentences, the most important first."""
        return findings(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of any part, each once."""
        parts = (self.items, self.persons, self.pairs, self.model, self.predictive, self.dimensions)
        said = [note for part in parts if part is not None for note in part.notes]
        return tuple(dict.fromkeys([*said, *(f"No {name}: {why}" for name, why in self.absent.items())]))

    def item_frame(self) -> pd.DataFrame:
        """Return one row an item, in the order of the responses: its status, and why what is missing is not known.

        Misfit: an adjusted p of S-X2 below .05, or a pair called out. Watch: outside what the predictive check gives.
        """
        f, p, d = self.items, self.predictive, self.dimensions
        table = f.to_frame()[["n_persons", "s_x2", "df", "p", "p_adjusted", "rmsea", "infit", "infit_p", "outfit",
                              "outfit_p"]]  # fmt: skip
        table.insert(0, "status", self._item_status())
        if p is not None:
            table["ppp_proportion"], table["ppp_item_rest"] = p.proportion.ppp, p.item_rest.ppp
        if d is not None:
            table["contrast_loading"] = d.loadings
        table["not_known"] = self._item_unknown()
        return table

    def _item_status(self) -> list[str]:
        f, p = self.items, self.predictive
        with_others = [] if self.pairs is None else [name for pair in self.pairs.signals() for name in pair]
        out = []
        for j, name in enumerate(f.item_ids):
            judged, said = f.residual_status[j], ["S-X2"] if f.p_adjusted[j] < ALPHA else []
            said += ["goes with another item"] * (name in with_others)
            seen = "" if p is None or p.status[j] == AS_EXPECTED or judged != JUDGED else p.status[j]
            # Of the predictive check one in twenty is called out by chance: no misfit by itself.
            words = [f"misfit: {'; '.join(said)}"] * bool(said) + [f"watch: {seen}"] * bool(seen)
            out.append("; ".join(words) or ("fits" if judged == JUDGED else judged))
        return out

    def _item_unknown(self) -> list[str]:
        f, p = self.items, self.predictive
        no_p = next((note for note in f.notes if "no p values" in note), "")
        out = []
        for j, own in enumerate(f.residual_status):
            said = [] if f.s_x2_status[j] == JUDGED else [f"S-X2: {f.s_x2_status[j]}"]
            if own != JUDGED:
                said = [own]
            elif np.isnan(f.infit_p[j]):
                said.append(no_p.rstrip("."))
            if own == JUDGED and p is not None and np.isnan(p.item_rest.ppp[j]):
                said.append(p.status[j])
            out.append("; ".join(said))
        return out

    def person_frame(self) -> pd.DataFrame:
        """Return one row a person, in the order of the responses; the most unlikely have the smallest p."""
        f = self.persons
        table = f.to_frame()[["ability", "lz", "lz_star", "p", "p_adjusted", "infit", "outfit"]]
        status = np.where(f.p_adjusted < ALPHA, "unlikely pattern", "fits")
        judged = [s == JUDGED for s in f.status]
        table.insert(0, "status", np.where(judged, status, f.status))
        unknown = [s if s != JUDGED else "" if star == JUDGED else f"lz*: {star}"
                   for s, star in zip(f.status, f.lz_star_status, strict=True)]  # fmt: skip
        return table.assign(not_known=unknown)

    def pair_frame(self, worst: int | None = None) -> pd.DataFrame:
        """Return one row a pair, the worst first, the first `worst` of them if given; empty where there are none."""
        import pandas as pd

        if self.pairs is None:
            return pd.DataFrame()
        table = self.pairs.to_frame(worst)
        called = set(self.pairs.signals())
        pairs = zip(table["first"], table["second"], strict=True)
        words = ["go together" if pair in called else "" for pair in pairs]
        no_x2 = next((n.rstrip(".") for n in self.pairs.notes if "no LD-X2" in n), "")
        reason = table["status"].map({"tested": "", "few_shared": "fewer than 30 saw both",
                                      "constant": "one was answered alike by all who saw both"})  # fmt: skip
        status = [word or ("fits" if s == "tested" else "not tested")
                  for word, s in zip(words, table["status"], strict=True)]  # fmt: skip
        unknown = [why or (no_x2 if np.isnan(x) else "") for why, x in zip(reason, table["x2"], strict=True)]
        return table.assign(status=status, not_known=unknown)

    def model_frame(self) -> pd.DataFrame:
        """Return one row a statistic of the model as a whole: value, p, and a status or why there is no value."""
        import pandas as pd

        return pd.DataFrame(self._model_rows(), columns=["statistic", "value", "p", "status"]).set_index("statistic")

    def _model_rows(self) -> list[tuple[str, float, float, str]]:
        nan, m, p, d, q = float("nan"), self.model, self.predictive, self.dimensions, self.pairs
        rows: list[tuple[str, float, float, str]] = []
        if m is not None:
            why = m.reason or m.too_few
            rows.append(("M2", m.m2, m.p, why or ("misfit" if m.p < ALPHA else "fits")))
            for name, value in (("RMSEA", m.rmsea), ("CFI", m.cfi), ("TLI", m.tli), ("SRMSR", m.srmsr)):
                rows.append((name, value, nan, "described" if not np.isnan(value) else why or "not defined"))
        if q is not None:
            tested = "described" if not np.isnan(q.q3_largest) else "no pair could be tested"
            rows.append(("largest adjusted Q3", q.q3_largest, q.p_largest, tested))
        if p is not None:
            status = p.overall_frame()["status"]
            for name, value, ppp, word in zip(p.measures, p.overall.observed, p.overall.ppp, status, strict=True):
                two_sided = (2 * p.replications * min(ppp, 1 - ppp) + 2) / (p.replications + 2)
                rows.append((f"{p.kind}: {name}", float(value), float(two_sided), word))
        if d is not None:
            word = (
                "not known" if np.isnan(d.p_first) else "a second dimension" if d.p_first <= ALPHA else "one dimension"
            )
            rows.append(("share of the first contrast", d.share, d.p_first, word))
            why = "described" if not np.isnan(d.detect) else "there are no clusters"
            rows.append(("DETECT above chance", d.detect_excess, d.p_detect, why))
        return [*rows, *((name, nan, nan, why) for name, why in self.absent.items())]

    def to_dict(self, worst: int = 200) -> dict[str, Any]:
        """Return everything but pairs beyond the first `worst`, for JSON."""
        frames = {"items": self.item_frame(), "persons": self.person_frame(), "model": self.model_frame()}
        content = {name: frame.reset_index().to_dict("records") for name, frame in frames.items()}
        n_pairs = 0 if self.pairs is None else len(self.pairs.first)
        return {"fit": self.label, "findings": self.findings, **content, "n_pairs": n_pairs,
                "pairs": self.pair_frame(worst).to_dict("records"), "notes": self.notes}  # fmt: skip


def diagnose(fit: FitResult, responses: Responses, *, replications: int = 100, seed: int = 0) -> Diagnosis:
    """Judge items, persons, pairs of items and the model of a fit, and say what stands out.

    Parameters
    ----------
    fit : FitResult
        With item parameters.
    responses : Responses
        Those of the fit.
    replications : int
        Data sets drawn from the fit for p values of infit and outfit and the predictive check, at least 40; half as
        many for the number of dimensions.
    seed : int

    Returns
    -------
    Diagnosis

    Raises
    ------
    DataError, NotComparableError
        For a fit and responses that cannot be used, as `psychoeval.diagnostics.item_fit`.
    SettingsError
        If there are too few replications.

    Examples
    --------
    >>> import psychoeval as pe
    >>> data = pe.load_dataset("lsat7")
    >>> found = diagnose(pe.fit(data, "mml", model="2PL", priors="none"), data, replications=40)
    >>> found.item_frame()["status"].tolist()
    ['fits', 'misfit: S-X2', 'fits', 'fits', 'fits']
    """
    check_whole("replications", replications, FEWEST)
    check_whole("seed", seed, 0)
    known = fitted(fit, responses)
    absent: dict[str, str] = {}

    def part(name: str, make: Callable[[], Part]) -> Part | None:
        try:
            return make()
        except PsychoevalError as error:
            absent[name] = error.problem
            return None

    simulated = 0 if known.latent is None else replications
    return Diagnosis(
        fit.label, responses.person_label,
        item_fit(fit, responses, replications=simulated, seed=seed), person_fit(fit, responses),
        part("pairs of items", lambda: local_dependence(fit, responses)),
        part("fit of the model", lambda: model_fit(fit, responses)),
        part("predictive check", lambda: posterior_predictive(fit, responses, replications=replications, seed=seed)),
        part("number of dimensions",
             lambda: dimensionality(fit, responses, replications=max(20, replications // 2), seed=seed)),
        absent, () if fit.convergence.believed else (fit.convergence.status, *fit.convergence.failures),
    )  # fmt: skip
