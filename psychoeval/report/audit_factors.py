"""Sections of an audit about structure: factors, clusters of items, outside scores."""

from __future__ import annotations

from typing import Final

import numpy as np

from psychoeval import audit, plots
from psychoeval.audit.clusters import ItemClusters
from psychoeval.audit.factors import Factors, Method, ParallelAnalysis
from psychoeval.errors import SettingsError
from psychoeval.report.audit_parts import AuditSettings, Drawing, Section, Table, number
from psychoeval.responses.ids_and_counts import is_missing
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.log_covariates import item_texts

#: With missing cells: each sweep of the low-rank model goes over all of them, a million in a minute or more.
_MOST_INCOMPLETE: Final = 1_000_000
#: Cells up to which the rank is chosen by held-out likelihood too: each of 5 folds fits every rank.
_MOST_HELD_OUT: Final = 100_000
_REPLICATIONS: Final = 50
_TOP: Final = 8
_TEXTS: Final = ("text", "question", "prompt", "problem", "input", "statement", "problem_statement")
_LONGEST: Final = 200


def structure(r: Responses, settings: AuditSettings) -> tuple[Section, ...]:
    """Count and name factors, group items, and correlate subscores with outside scores."""
    if r.trials.size > _MOST_INCOMPLETE and not r.is_complete:
        why = (
            f"Not computed: {r.trials.size} cells, some of them missing, are more than {_MOST_INCOMPLETE}, and "
            f"the low-rank model would take minutes. Select {r.person_label}s or items; complete data have no limit."
        )
        return (Section("Factors", (why,)),)
    parallel = audit.parallel_analysis(r, replications=_REPLICATIONS, seed=settings.seed)
    number_of = settings.n_factors or parallel.n_factors
    method: Method = "svd" if r.is_complete else "logistic"
    found = audit.analyze_factors(r, number_of, method=method, rotation=settings.rotation, seed=settings.seed)
    clusters = _clusters(found, settings)
    sections = [_factors(r, settings, parallel, found, clusters)]
    if clusters is not None:
        sections.append(_cluster_section(r, settings, clusters))
    if settings.external:
        sections.append(_external(r, settings, found))
    return tuple(sections)


def _clusters(found: Factors, settings: AuditSettings) -> ItemClusters | None:
    """Return clusters where there is more than the general factor, and items enough."""
    if found.loadings.shape[1] < 2:
        return None
    try:
        return audit.cluster_items(found, seed=settings.seed)
    except SettingsError:  # fewer items than clusters
        return None


def _factors(
    r: Responses, settings: AuditSettings, parallel: ParallelAnalysis, found: Factors, clusters: ItemClusters | None
) -> Section:
    k = found.loadings.shape[1]
    sentences = [
        f"Parallel analysis under fixed margins of {r.person_label}s and items finds {parallel.n_factors} "
        f"factor{'s' if parallel.n_factors > 1 else ''}, a general one among them."
    ]
    if settings.n_factors is not None:
        sentences.append(f"{k} were asked for.")
    if r.trials.size <= _MOST_HELD_OUT:
        choice = audit.choose_rank(r, most=min(5, k + 2), seed=settings.seed)
        sentences.append(
            f"Held-out likelihood of a low-rank logistic model: rank {choice.rank} is the smallest within one standard "
            f"error of the best ({choice.best}); 5 folds of {choice.n_held_out} cells."
        )
    shares = ", ".join(f"{s:.1%}" for s in found.share)
    how = "rotation " + found.rotation if k > 1 else "unrotated"
    what = "the items' variance" if found.method == "svd" else "the variance of the logit"
    sentences.append(
        f"{'Factors explain' if k > 1 else 'The first factor explains'} {shares} of {what} in these data ({how})."
    )
    if k > 1 and found.rotation == "oblimin":
        upper = found.correlation[np.triu_indices(k, 1)]
        sentences.append(f"Factors correlate from {number(float(upper.min()))} to {number(float(upper.max()))}.")
    top = found.top_items(_TOP, _texts(r, found)).set_index("item")
    heads = ("factor", "loading", "text") if (top["text"] != "").any() else ("factor", "loading")
    tables = (
        Table("top_items", f"The {_TOP} items of largest loading on each factor", top, heads),
        Table("loadings", "", found.to_frame(), ()),
        Table("scree", "", parallel.to_frame(), ()),
    )
    drawings = [
        Drawing(
            "Scree", "Factors are counted while residuals exceed what margins alone would give.",
            "Singular values and their limits; the values are in the tables beside the report.",
            lambda: plots.scree(parallel),
        )
    ]  # fmt: skip
    if k > 1:
        drawings.append(
            Drawing(
                "Loadings", "Items near an axis belong to one factor; between the axes, to both.",
                "Items by their loadings on the first two factors, and the items of largest loadings.",
                lambda: plots.factor_loadings(found, clusters),
            )
        )  # fmt: skip
    method = "singular value decomposition of item-centered proportions" if found.method == "svd" else (
        "low-rank model with logistic loss, which takes missing cells"
    )  # fmt: skip
    rules = (f"{r.n_persons} {r.person_label}s, {int(np.isfinite(found.loadings[:, 0]).sum())} items; {method}.",)
    return Section("Factors", tuple(sentences), (*rules, *found.notes, *parallel.notes), tables, tuple(drawings))


def _texts(r: Responses, found: Factors) -> dict[str, str]:
    """Return texts of the items that load most, from a column of the items or from the logs."""
    ids = list(dict.fromkeys(found.top_items(_TOP)["item"].tolist()))
    columns = () if r.items is None else tuple(str(c) for c in r.items.columns)
    column = next((name for name in _TEXTS if name in columns), None)
    if column is None or r.items is None:
        return item_texts(r, ids, _LONGEST)
    wanted, values = set(ids), r.items[column].tolist()
    return {i: str(v)[:_LONGEST] for i, v in zip(r.item_ids, values, strict=True) if i in wanted and not is_missing(v)}


def _cluster_section(r: Responses, settings: AuditSettings, clusters: ItemClusters) -> Section:
    import pandas as pd

    sizes = np.bincount(clusters.cluster[clusters.cluster >= 0])
    sentences = [
        f"K-means on the loadings, best silhouette {number(clusters.silhouette)} with {sizes.size} clusters of "
        f"{', '.join(map(str, sizes.tolist()))} items (2 to {clusters.tried[-1][0]} were tried)."
    ]
    found = audit.associate_covariates(clusters, r, seed=settings.seed)
    linked = [
        f"{name} (V {number(a.cramers_v, 2)}, {number(a.expected, 2)} by chance)"
        for name, a, p in zip(found.covariates, found.associations, found.p_adjusted, strict=True)
        if p < 0.05
    ]
    if found.covariates:
        which = f"go with {', '.join(linked)}" if linked else "go with none beyond chance"
        sentences.append(f"Of {len(found.covariates)} covariates of the items, clusters {which}.")
    else:
        sentences.append("No covariate of the items is known to compare clusters with (--items FILE).")
    frame = found.to_frame()
    of_items = pd.DataFrame({"cluster": clusters.cluster + 1}, index=pd.Index(r.item_ids, name="item"))
    silhouettes = clusters.to_frame()
    tables = [
        Table("silhouettes", "Silhouette by number of clusters", silhouettes, tuple(silhouettes.columns)),
        Table("clusters", "", of_items, ()),
    ]
    if found.covariates:
        tables.insert(0, Table("covariates", "Clusters against covariates of items", frame, tuple(frame.columns)))
    rule = (
        f"Silhouettes below .25 mean no clear clusters. V: Cramer's, p by {found.replications} permutations of the "
        "covariate over items, adjusted by Holm; expected: mean V under permutation."
    )
    return Section("Clusters of items", tuple(sentences), (rule, *found.notes), tuple(tables))


def _external(r: Responses, settings: AuditSettings, found: Factors) -> Section:
    import pandas as pd

    rows = audit.correlate_subscores(found, r, dict(settings.external))
    frame = pd.DataFrame(
        [(c.factor, c.correlation, c.low, c.high, c.n_persons) for c in rows],
        columns=["factor", "correlation", "low", "high", "n_persons"],
        index=pd.Index([c.external for c in rows], name="outside_score"),
    )
    known = [c for c in rows if np.isfinite(c.correlation)]
    sentences = []
    for name in settings.external:
        of = sorted((c for c in known if c.external == name), key=lambda c: -c.correlation)
        if of:
            best = of[0]
            sentences.append(
                f"{name} correlates most with factor {best.factor}: {number(best.correlation)} (95% interval "
                f"{number(best.low)} to {number(best.high)}, {best.n_persons} {r.person_label}s)."
            )
    rules = (
        "A factor's subscore is the mean score of the items that load most on it; Pearson correlations over "
        f"{r.person_label}s, Fisher's intervals, each on its own. Convergent where a subscore should agree with the "
        "outside score, discriminant where it should not.",
        *settings.external_notes,
    )
    table = Table("outside_scores", "Subscores and outside scores", frame, tuple(frame.columns))
    return Section("Outside scores", tuple(sentences), rules, (table,))
