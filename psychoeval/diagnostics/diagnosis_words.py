"""What stands out among the diagnostics of a fit, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import ndtri

from psychoeval.diagnostics.dimensionality_result import ALPHA, FEW_PERSONS
from psychoeval.diagnostics.fitted import JUDGED
from psychoeval.responses.cells import counted
from psychoeval.wording import some

if TYPE_CHECKING:
    from psychoeval.diagnostics.diagnosis import Diagnosis

#: RMSEA2 up to which a model is close, and adequate (Maydeu-Olivares & Joe 2014, doi:10.1080/00273171.2014.911075).
CLOSE: Final = 0.05
ADEQUATE: Final = 0.089


def findings(found: Diagnosis) -> tuple[str, ...]:
    """Return what stands out, the most important first: trust in the fit, the model, items, pairs, persons, gaps."""
    said = [*_doubts(found), *_model(found), *_dimensions(found), *_scores(found), *_items(found), *_pairs(found),
            *_persons(found)]  # fmt: skip
    if not said:
        said = [f"Nothing stands out: {found.label} gives data like these, as far as the tests below can see."]
    return (*said, *_unknown(found))


def _doubts(found: Diagnosis) -> list[str]:
    if not found.doubts:
        return []
    return [f"Do not read on before the fit is mended: it is not to be believed ({'; '.join(found.doubts)})."]


def _model(found: Diagnosis) -> list[str]:
    m = found.model
    if m is None or m.reason or not m.p < ALPHA:
        return []
    size = ("little: with enough persons M2 rejects every model" if m.rmsea <= CLOSE else
            "somewhat" if m.rmsea <= ADEQUATE else "by much: another model is needed")  # fmt: skip
    return [f"The model misses means and pairs of the items (M2 {m.m2:.1f}, df {m.df}, p = {m.p:.2g}), {size} (RMSEA "
            f"{m.rmsea:.3f}, {m.rmsea_low:.3f} to {m.rmsea_high:.3f})."]  # fmt: skip


def _dimensions(found: Diagnosis) -> list[str]:
    d = found.dimensions
    return [] if d is None or not d.p_first <= ALPHA else [d.verdict]


def _scores(found: Diagnosis) -> list[str]:
    p = found.predictive
    if p is None:
        return []
    table = p.overall_frame()
    # Six statistics share .05; the replications are too few for a ppp as small, so that z has to tell.
    least = float(ndtri(1.0 - 0.025 / len(table)))
    off = table[table["status"].isin(["lower", "higher"]) & (table["z"].abs() > least)]
    words = [f"{name} ({row['observed']:.3g}, expected {row['expected']:.3g})" for name, row in off.iterrows()]
    return [f"The data as a whole are not like those the model gives: {', '.join(words)}."] if words else []


def _items(found: Diagnosis) -> list[str]:
    f, said = found.items, []
    judged = sum(s == JUDGED for s in f.s_x2_status)
    worst = [f.item_ids[j] for j in np.argsort(np.nan_to_num(f.p_adjusted, nan=2.0), kind="stable")
             if f.p_adjusted[j] < ALPHA]  # fmt: skip
    if worst:
        said.append(f"Of {counted(judged, 'item')}, {len(worst)} are not as their curves say (S-X2, p adjusted): "
                    f"{some(worst)}.")  # fmt: skip
    p = found.predictive
    names = () if p is None else p.signals()
    # Shares of successes were fitted and stay near .5: one correlation in twenty is called out by chance.
    by_chance = 0.05 * judged_items(found)
    if len(names) > by_chance + 2 * np.sqrt(by_chance):
        said.append(f"Shares or correlations outside what the model gives: of {counted(len(names), 'item')}, where "
                    f"chance explains {by_chance:.0f} or so: {some(names)}.")  # fmt: skip
    return said


def judged_items(found: Diagnosis) -> int:
    """Return how many items have parameters and responses."""
    return sum(s == JUDGED for s in found.items.residual_status)


def _pairs(found: Diagnosis) -> list[str]:
    if found.pairs is None or not (pairs := found.pairs.signals()):
        return []
    words = [f"{one!r} with {other!r}" for one, other in pairs[:5]]
    more = f" and {len(pairs) - 5} more" if len(pairs) > 5 else ""
    return [f"Beyond the ability {counted(len(pairs), 'pair')} of items go together (Q3 over .2 above its mean): "
            f"{', '.join(words)}{more}. A pair counts as less than two items then."]  # fmt: skip


def _persons(found: Diagnosis) -> list[str]:
    f = found.persons
    worst = [f.person_ids[i] for i in np.argsort(np.nan_to_num(f.p_adjusted, nan=2.0), kind="stable")
             if f.p_adjusted[i] < ALPHA]  # fmt: skip
    if not worst:
        return []
    return [f"Unlikely patterns of right and wrong (lz*, p adjusted) of {counted(len(worst), found.person_label)}: "
            f"{some(worst)}."]  # fmt: skip


def _unknown(found: Diagnosis) -> list[str]:
    said = []
    n = len(found.persons.person_ids)
    if n < FEW_PERSONS:
        said.append(f"{n} {found.person_label}s are few: that an item or a pair does not stand out says little.")
    d = found.dimensions
    if d is not None and d.p_first > ALPHA and d.too_few:
        said.append(d.verdict)
    without = [k for k, s in zip(found.items.item_ids, found.items.s_x2_status, strict=True) if s != JUDGED]
    if without:
        said.append(f"{len(without)} of {len(found.items.item_ids)} items have no S-X2; the table says why.")
    if found.model is not None and found.model.reason:
        said.append(f"There is no M2: {found.model.reason}")
    if found.model is not None and found.model.too_few:
        said.append(f"M2 has no p and no RMSEA: {found.model.too_few}.")
    return said + [f"There is no {name}: {why}" for name, why in found.absent.items()]
