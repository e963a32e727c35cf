"""Five questions a passage: the error between items is too small, that between passages is right."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from psychoeval.audit.system_means import average_systems
from psychoeval.errors import DataError, SettingsError
from psychoeval.estimators.native.ctt import CTT
from psychoeval.estimators.native.simple_average import SimpleAverage
from psychoeval.responses.matrix import Responses

DATA = Path(__file__).parent / "data" / "19"
EXPECTED = json.loads((DATA / "expected.json").read_text())
EXACTLY = {"rel": 0, "abs": 1e-14}


@pytest.fixture(scope="module")
def passages() -> Responses:
    table = pd.read_csv(DATA / "one_system.csv").assign(system="the one")
    return Responses.from_long(table, items=["cluster"])


def test_without_clusters_the_error_is_the_naive_one_and_says_so(passages: Responses) -> None:
    found = average_systems(passages)
    assert found.mean[0] == pytest.approx(EXPECTED["mean"], **EXACTLY)
    assert found.standard_error[0] == pytest.approx(EXPECTED["se_naive"], **EXACTLY)
    assert any("independent" in note for note in found.notes)


@pytest.mark.parametrize(("small_sample", "key"), [(False, "se_cluster_cr0"), (True, "se_cluster_cr1")])
def test_error_between_passages(passages: Responses, small_sample: bool, key: str) -> None:
    found = average_systems(passages, cluster="cluster", small_sample=small_sample)
    assert found.standard_error[0] == pytest.approx(EXPECTED[key], **EXACTLY)
    assert found.error_between_items[0] == pytest.approx(EXPECTED["se_naive"], **EXACTLY)
    assert (found.n_items[0], found.n_clusters[0]) == (EXPECTED["n"], EXPECTED["clusters"])
    assert any("12 clusters of items (cluster)" in note for note in found.notes)


def test_the_interval_is_wider_than_the_naive_one(passages: Responses) -> None:
    naive, clustered = average_systems(passages), average_systems(passages, cluster="cluster")
    assert clustered.low[0] < naive.low[0] < naive.high[0] < clustered.high[0]


def test_the_simple_average_takes_the_cluster_column(passages: Responses) -> None:
    plain, clustered = SimpleAverage().fit(passages), SimpleAverage(cluster="cluster").fit(passages)
    assert plain.abilities is not None
    assert clustered.abilities is not None
    assert plain.statistics is not None
    assert clustered.statistics is not None
    assert plain.abilities.standard_error == pytest.approx([EXPECTED["se_naive"]], **EXACTLY)
    assert clustered.abilities.standard_error == pytest.approx([EXPECTED["se_cluster_cr1"]], **EXACTLY)
    assert clustered.statistics["n_clusters"] == EXPECTED["clusters"]
    assert "items independent" in plain.statistics["standard_errors"]


def test_classical_test_theory_takes_the_cluster_column(passages: Responses) -> None:
    plain, clustered = CTT().fit(passages), CTT(cluster="cluster").fit(passages)
    assert plain.statistics is not None
    assert clustered.abilities is not None
    assert clustered.statistics is not None
    assert clustered.abilities.estimate == pytest.approx([EXPECTED["mean"]], **EXACTLY)
    assert clustered.abilities.standard_error == pytest.approx([EXPECTED["se_cluster_cr1"]], **EXACTLY)
    assert clustered.abilities.uncertainty == "items sampled"
    assert clustered.statistics["n_clusters"] == EXPECTED["clusters"]
    assert "items independent" in plain.statistics["standard_errors"]
    assert "between clusters of items (cluster)" in CTT(cluster="cluster").describe()


def test_a_cluster_is_the_name_of_a_column(passages: Responses) -> None:
    with pytest.raises(DataError, match="no covariate 'passage'"):
        CTT(cluster="passage").fit(passages)
    for estimator in (CTT, SimpleAverage):
        with pytest.raises(SettingsError, match="cluster is 3"):
            estimator(cluster=3)  # type: ignore[arg-type]
