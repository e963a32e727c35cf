"""Clusters of items against covariates of the items, and which pairs of systems are compared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from psychoeval.audit import associate, associate_covariates, rank_neighbors
from psychoeval.audit.clusters import ItemClusters
from psychoeval.errors import DataError
from psychoeval.irt.paired import holm
from psychoeval.responses.matrix import Responses


def clustered(seed: int = 0, **columns: object) -> tuple[ItemClusters, Responses]:
    cluster = np.repeat([0, 1, 2], 20)
    cells = np.random.default_rng(seed).integers(0, 2, (8, 60))
    items = pd.DataFrame({"topic": [f"t{c}" for c in cluster], "line": range(60), **columns})
    return ItemClusters(cluster, 0.5, ((3, 0.5),)), Responses.from_array(cells, items=items)


def test_each_covariate_is_tested_once_and_for_all_by_holm() -> None:
    letters = np.random.default_rng(1).choice(list("ABCD"), 60)
    clusters, responses = clustered(key=letters, same="x", id_of=[f"q{k}" for k in range(60)])
    found = associate_covariates(clusters, responses, replications=199, seed=3)
    assert found.covariates == ("topic", "key")  # a place in a log is no property
    assert found.associations[1] == associate(clusters, letters, replications=199, seed=3)
    assert found.associations[0].cramers_v == pytest.approx(1)
    assert found.associations[0].p_value == 1 / 200
    assert found.p_adjusted == pytest.approx(holm(np.array([a.p_value for a in found.associations])))
    assert found.notes == ("Left out, with one category or too many: 'same', 'id_of'.",)
    assert found.to_frame()["levels"].tolist() == [3, 4]


def test_missing_values_and_no_covariates() -> None:
    clusters, responses = clustered(half=[None] * 30 + ["a", "b"] * 15)
    assert associate_covariates(clusters, responses).associations[1].n_items == 30
    bare = Responses.from_array(responses.successes.astype(int))
    assert associate_covariates(clusters, bare).covariates == ()
    assert associate_covariates(clusters, bare).to_frame().empty


def test_p_values_of_unrelated_covariates_are_uniform() -> None:
    rng = np.random.default_rng(5)
    p = []
    for seed in range(60):
        clusters, responses = clustered(seed, key=rng.choice(list("AB"), 60))
        p.append(associate_covariates(clusters, responses, replications=99, seed=seed).associations[1].p_value)
    # Binomial(60, .2): 99.8 % of it lies between 4 and 22.
    assert 4 <= sum(v <= 0.2 for v in p) <= 22


def test_few_systems_make_all_pairs_and_many_neighbors() -> None:
    cells = np.tril(np.ones((9, 9), int))
    responses = Responses.from_array(cells, person_ids=[f"s{k}" for k in range(9)], person_label="system")
    pairs, rule = rank_neighbors(responses)
    assert pairs == tuple((f"s{k}", f"s{k - 1}") for k in range(8, 0, -1))
    assert rule.startswith("Neighbors in rank by mean score, 8 of 36 pairs")
    few, rule = rank_neighbors(responses.select(persons=np.array([0, 1, 2])))
    assert few == (("s2", "s1"), ("s2", "s0"), ("s1", "s0"))
    assert rule == "All pairs of 3 systems."


def test_who_has_no_responses_is_no_neighbor() -> None:
    cells = np.array([[1, 0], [np.nan, np.nan], [1, 1]])
    assert rank_neighbors(Responses.from_array(cells))[0] == (("person-3", "person-1"),)
    with pytest.raises(DataError, match="1 persons have responses"):
        rank_neighbors(Responses.from_array(cells[:2]))
