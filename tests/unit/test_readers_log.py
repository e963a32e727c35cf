"""The long table of logs, and the responses that are chosen from it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from psychoeval.errors import DataError, SettingsError
from psychoeval.fitting import fit
from psychoeval.responses.continuous import ContinuousResponses
from psychoeval.responses.matrix import Responses
from psychoeval.responses.readers.log import ANY_METRIC, EvaluationLog, LogBuilder, Record, Scale, records
from psychoeval.responses.readers.selection import select


def log_of(*rows: Record, scales: dict[str, Scale] | None = None) -> EvaluationLog:
    builder = LogBuilder()
    for metric, scale in (scales or {}).items():
        builder.scale(metric, scale, "here")
    for row in rows:
        builder.add(row._replace(file=row.file or "log.json"))
    return builder.build()


def row(person: str, item: str, score: float = 1.0, **more: object) -> Record:
    return Record(person, item, str(more.pop("metric", "acc")), score, **more)  # type: ignore[arg-type]


def failed(person: str, item: str, outcome: str = "errored", **more: object) -> Record:
    return row(person, item, math.nan, outcome=outcome, **more)


def counts(log: EvaluationLog, **options: object) -> Responses:
    found = select(log, **options).responses  # type: ignore[arg-type]
    assert isinstance(found, Responses)
    return found


def test_rows_come_back_as_they_went_in() -> None:
    given = (row("A", "q1", 0.5, tokens=7.0, line=3), failed("B", "q2", error="crash", trial="2"))
    got = list(records(log_of(*given)))
    assert [r.person for r in got] == ["A", "B"]
    assert got[0].score == 0.5
    assert got[0].tokens == 7.0
    assert got[0].line == 3
    assert math.isnan(got[1].score)
    assert got[1].outcome == "errored"
    assert got[1].error == "crash"
    assert got[1].trial == "2"


@pytest.mark.parametrize(
    ("bad", "named"),
    [(row(" ", "q1"), "a system"), (row("A", ""), "an item"), (row("A", "q1", math.nan), "not a finite number"),
     (row("A", "q1", math.inf), "not a finite number")],
)  # fmt: skip
def test_a_row_that_cannot_be_a_response_is_refused_with_its_place(bad: Record, named: str) -> None:
    with pytest.raises(DataError, match=rf"log\.json.*{named}"):
        log_of(bad._replace(file="log.json", line=4))


def test_epochs_are_trials() -> None:
    log = log_of(*(row("A", "q1", s, trial=str(t)) for t, s in enumerate((1, 0, 1))), row("B", "q1", 0))
    found = counts(log)
    assert found.successes.tolist() == [[2], [0]]
    assert found.trials.tolist() == [[3], [1]]
    assert found.person_label == "system"


def test_errors_are_missing_or_wrong_as_the_user_says_and_are_counted_apart() -> None:
    log = log_of(row("A", "q1"), failed("A", "q2"), failed("A", "q3", "refused"), row("A", "q4", 0))
    missing, wrong = counts(log), counts(log, errors="wrong")
    assert missing.trials.tolist() == [[1, 0, 0, 1]]
    assert wrong.trials.tolist() == [[1, 1, 1, 1]]
    assert wrong.successes.tolist() == missing.successes.tolist() == [[1, 0, 0, 0]]
    assert any("1 right, 1 wrong, 1 errored, 1 refused" in n for n in missing.notes)
    assert any('not administered (errors="missing")' in n for n in missing.notes)
    assert any('count as wrong (errors="wrong")' in n for n in wrong.notes)


def test_every_row_is_accounted_for() -> None:
    builder = LogBuilder()
    for r in (row("A", "q1"), row("A", "q1", metric="f1"), row("A", "q1", 0), failed("A", "q2"), row("B", "q2", 0)):
        builder.add(r)
    builder.drop("no id", "log.json, line 9", 2)
    summary = select(builder.build(), metric="acc", duplicates="first").summary
    assert (summary.n_read, summary.used, summary.repeated, summary.missing) == (7, 2, 1, 1)
    assert summary.other == {"metric 'f1'": 1}
    assert summary.dropped[0].n == 2
    assert summary.adds_up
    assert any("2 rows left out: no id (log.json, line 9" in s for s in summary.sentences())


def test_one_metric_a_benchmark_is_chosen_by_name() -> None:
    two = log_of(row("A", "q1"), row("A", "q1", 0, metric="f1"))
    with pytest.raises(DataError, match=r"2 metrics: 'acc' \(1 rows\), 'f1' \(1 rows\)") as refused:
        select(two)
    assert "metric=" in refused.value.remedy
    assert counts(two, metric="f1").successes.tolist() == [[0]]
    with pytest.raises(DataError, match=r"no metric 'bleu'; the logs have 'acc', 'f1'"):
        select(two, metric="bleu")
    apart = log_of(row("A", "q1", benchmark="x"), row("A", "q1", 0, metric="f1", benchmark="y"))
    assert counts(apart).item_ids == ("x/q1", "y/q1")


def test_a_response_that_was_not_judged_goes_with_every_metric_of_its_benchmark() -> None:
    log = log_of(row("A", "q1"), failed("A", "q2", metric=ANY_METRIC))
    assert counts(log).trials.tolist() == [[1, 0]] == counts(log, metric="acc").trials.tolist()


def test_exact_and_conflicting_repeats_are_told_apart_and_never_averaged() -> None:
    log = log_of(row("A", "q1"), row("A", "q1", file="again.json"), row("A", "q2"), row("A", "q2", 0), row("B", "q1"))
    with pytest.raises(DataError, match=r"1 rows repeating another exactly and 1 contradicting") as refused:
        select(log)
    assert "log.json and again.json" in str(refused.value)
    assert counts(log, duplicates="first").successes.tolist() == [[1, 1], [1, 0]]
    assert counts(log, duplicates="last").successes.tolist() == [[1, 0], [1, 0]]
    assert counts(log, duplicates="trials").trials.tolist() == [[2, 2], [1, 0]]


def test_positions_that_moved_are_joined_by_content() -> None:
    log = log_of(
        row("A", "0", content="apple", file="a"), row("A", "1", 0, content="pear", file="a"),
        row("B", "1", content="apple", file="b"), row("B", "0", 0, content="pear", file="b"),
    )  # fmt: skip
    found = counts(log)
    assert found.successes.tolist() == [[1, 0], [1, 0]]
    assert found.item_ids == ("0#apple", "1#pear")
    assert any("positions that moved" in n for n in found.notes)
    assert any("equal content" in n for n in found.notes)


def test_a_question_asked_twice_in_one_file_stays_two_items() -> None:
    log = log_of(row("A", "q1", content="same"), row("A", "q2", 0, content="same"))
    assert counts(log).successes.tolist() == [[1, 0]]


def test_partial_scores_are_bounded_scores_or_get_a_threshold() -> None:
    log = log_of(row("A", "q1", 0.5), row("A", "q2"), row("B", "q1", 0.25), row("B", "q2", 0))
    found = select(log).responses
    assert isinstance(found, ContinuousResponses)
    assert (found.lower, found.upper) == (0, 1)
    assert found.scores.tolist() == [[0.5, 1], [0.25, 0]]
    assert any("0 to 1 is assumed" in n for n in found.notes)
    assert counts(log, threshold=0.5).successes.tolist() == [[1, 1], [0, 0]]
    with pytest.raises(DataError, match="scores between 0 and 1; the estimators take right and wrong"):
        fit(found, "simple-average")  # type: ignore[arg-type]


def test_the_threshold_that_keeps_the_mean() -> None:
    # The mean is .44: of the shares above .1, .2, .3, .6 and 1 (1, .8, .6, .4, .2) .4 is nearest.
    log = log_of(*(row("A", f"q{k}", s) for k, s in enumerate((0.1, 0.2, 0.3, 0.6, 1.0))))
    found = counts(log, threshold="keep-mean")
    assert found.successes.tolist() == [[0, 0, 0, 1, 1]]
    assert any("0.6" in n for n in found.notes)


def test_scores_without_known_bounds_ask_for_them() -> None:
    log = log_of(row("A", "q1", 40), row("A", "q2", 75))
    with pytest.raises(DataError, match=r"run from 40 to 75.*does not say") as refused:
        select(log)
    assert "bounds=" in refused.value.remedy
    found = select(log, bounds=(0, 100)).responses
    assert isinstance(found, ContinuousResponses)
    assert found.upper == 100
    with pytest.raises(DataError, match=r"run from 40 to 75 \('A', item 'q2': 75\), outside their bounds 0 to 50"):
        select(log, bounds=(0, 50))
    with pytest.raises(DataError, match=r"\('A', item 'q1': 40\), outside their bounds 50 to 90"):
        select(log, bounds=(50, 90))


@pytest.mark.parametrize("errors", ["missing", "wrong"])
def test_bounds_of_responses_none_of_which_has_a_score(errors: str) -> None:
    found = select(log_of(failed("A", "q1"), failed("B", "q1")), bounds=(10, 20), errors=errors).responses  # type: ignore[arg-type]
    assert isinstance(found, ContinuousResponses)
    assert (found.lower, found.upper) == (10, 20)
    assert np.isnan(found.scores).all() if errors == "missing" else (found.scores == 10).all()


def test_lower_is_better_is_turned_round_and_recorded() -> None:
    scales = {"wer": Scale(0, 100, higher_is_better=False)}
    bounded = select(
        log_of(row("A", "q1", 30, metric="wer"), row("B", "q1", 90, metric="wer"), scales=scales)
    ).responses
    assert isinstance(bounded, ContinuousResponses)
    assert bounded.scores.tolist() == [[70], [10]]
    assert any("turned round" in n for n in bounded.notes)
    binary = log_of(row("A", "q1", 0, metric="wer"), row("B", "q1", 1, metric="wer"), scales=scales)
    assert counts(binary).successes.tolist() == [[1], [0]]
    assert counts(binary, threshold=0.5).successes.tolist() == [[1], [0]]


def test_one_metric_with_two_scales_is_refused() -> None:
    builder = LogBuilder()
    builder.scale("acc", Scale(0, 1), "a.json")
    builder.scale("acc", Scale(0, 1), "b.json")
    with pytest.raises(DataError, match=r"c\.json: metric 'acc' has bounds 0 to 100.*before it had bounds 0 to 1"):
        builder.scale("acc", Scale(0, 100), "c.json")


def test_one_system_under_two_names_is_a_suspicion_and_not_merged() -> None:
    found = counts(log_of(row("openai/gpt-4o", "q1"), row("GPT_4o", "q1", 0), row("claude", "q1")))
    assert found.n_persons == 3
    assert any("one system under several names: 'openai/gpt-4o', 'GPT_4o'" in n for n in found.notes)


def test_a_system_whose_every_response_failed_stays() -> None:
    found = counts(log_of(row("A", "q1"), failed("B", "q1")))
    assert found.person_ids == ("A", "B")
    assert found.trials.tolist() == [[1], [0]]


def test_unknown_choices_and_an_empty_log_are_refused() -> None:
    for options in ({"errors": "drop"}, {"duplicates": "mean"}):
        with pytest.raises(SettingsError):
            select(log_of(row("A", "q1")), **options)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no response"):
        select(LogBuilder().build())


def test_the_table_as_a_frame() -> None:
    frame = log_of(row("A", "q1"), failed("B", "q1")).to_frame()
    assert frame["person"].tolist() == ["A", "B"]
    assert frame["outcome"].tolist() == ["scored", "errored"]
    assert np.isnan(frame["score"].iloc[1])


@pytest.mark.parametrize(
    "options",
    [{"threshold": math.nan}, {"threshold": math.inf}, {"threshold": "high"}, {"bounds": (0, math.inf)},
     {"bounds": (math.nan, 1)}, {"bounds": (1, 0)}, {"bounds": (0,)}, {"metric": 5}, {"filter": [1]}, {"metric": ()}],
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        select(log_of(row("A", "q1")), **options)  # type: ignore[arg-type]


def test_bounds_given_for_right_and_wrong_answers_are_kept() -> None:
    found = select(log_of(row("A", "q1"), row("A", "q2", 0)), bounds=(0, 10)).responses
    assert isinstance(found, ContinuousResponses)
    assert found.upper == 10


def test_no_score_keeps_no_mean_and_gigantic_ones_are_refused() -> None:
    with pytest.raises(DataError, match="No response has a score"):
        select(log_of(failed("A", "q1")), threshold="keep-mean")
    with pytest.raises(DataError, match=r"not a finite number of at most 1e\+100"):
        log_of(row("A", "q1", 1e308))


def test_half_a_surrogate_pair_is_refused_in_names_and_escaped_in_messages() -> None:
    with pytest.raises(DataError, match=r"log.json, line 3: the item 'q\\ud800' is no Unicode text"):
        log_of(row("A", "q1"), row("A", "q\ud800", line=3))
    log = log_of(failed("A", "q1", error="cut \ud83d"), row("A", "q2 \u00e9"))
    assert set(log.levels("error")) == {"cut \\ud83d", ""}
    assert log.to_frame()["error"].iloc[0] == "cut \\ud83d"
