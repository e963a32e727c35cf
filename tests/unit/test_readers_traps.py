"""Every known trap of the log formats, and the test that falls into it: the table of what reading must survive."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

import pytest

#: (module without test_readers_, or whole; trap; test)
TRAPS: Final = (
    ("lm_eval", "one row a filter: rows double", "test_two_filters_are_asked_about"),
    ("lm_eval", "older files lack filter and metrics", "test_older_rows_have_no_filter_and_no_list_of_metrics"),
    ("lm_eval", "repeats keep K responses in resps, and one score", "test_repeats_of_a_document_are_judged_together"),
    ("lm_eval", "doc_id is a position: join on doc_hash", "test_documents_are_joined_by_hash_and_not_by_position"),
    ("lm_eval", "a metric may be a list", "test_a_metric_over_the_whole_task_is_refused_with_its_line"),
    ("inspect", "members packed with Zstandard, method 93", "test_members_packed_with_zstandard"),
    ("inspect", "no Zstandard below Python 3.14", "test_without_zstandard_the_error_says_what_to_install"),
    ("inspect", "C, I, N mean 1, 0, 0", "test_letters_are_scores"),
    ("inspect", "P means .5", "test_partial_credit_is_half"),
    ("inspect", "values may be objects", "test_a_value_that_is_an_object_holds_several_metrics"),
    ("inspect", "values may be lists", "test_a_value_that_is_a_list_holds_several_metrics"),
    ("inspect", "samples may be missing", "test_no_samples_is_an_error_alone_and_a_note_in_a_folder"),
    ("inspect", "members may be missing", "test_samples_that_are_not_there_are_told"),
    ("inspect", "a run may be cancelled", "test_a_cancelled_run_says_so"),
    ("inspect", "an errored sample is no wrong answer", "test_an_errored_sample_is_not_a_wrong_answer"),
    ("inspect", "epochs are trials", "test_epochs_are_trials"),
    ("helm", "rows are keyed by train trial and perturbation too",
     "test_perturbations_are_filters_and_train_trials_are_trials"),
    ("helm", "a stat of count 0 has no mean", "test_a_stat_that_counted_nothing_was_not_judged"),
    ("helm", "ids are per scenario", "test_ids_of_two_scenarios_are_different_items"),
    ("helm", "many metrics, one to choose", "test_metrics_are_asked_about_without_the_bookkeeping"),
    ("every_eval_ever", "bounds and direction are in the aggregate", "test_bounds_levels_and_direction"),
    ("every_eval_ever", "one row a metric", "test_one_row_a_metric_asks_for_the_metric"),
    ("every_eval_ever", "converters hash differently",
     "test_samples_are_told_by_what_was_asked_and_not_by_their_hashes"),
    ("swebench", "never attempted is not failed", "test_failed_errored_and_never_attempted_are_three_things"),
    ("swebench", "lists of what was resolved do not name failures",
     "test_a_list_of_what_was_resolved_does_not_say_what_failed"),
    ("swebench", "nor do they name the items", "test_items_in_no_list_failed_where_nothing_says_what_was_tried"),
    ("terminal_bench", "is_resolved may be null", "test_no_verdict_is_no_failure"),
    ("tau_bench", "a reward a trial", "test_trials_of_a_task_are_counted"),
    ("tau_bench", "a broken run has reward 0", "test_a_run_that_broke_off_is_no_failure"),
    ("tau2_bench", "another layout than tau-bench's",
     "test_trials_of_a_task_are_counted_and_the_model_is_the_system"),
    ("tau2_bench", "a broken run has reward 0", "test_what_broke_a_run_off_is_no_failure_and_what_the_agent_did_is"),
    ("py_irt", "lines name only the items that were given", "test_items_that_a_line_does_not_name_were_not_given"),
    ("leaderboards", "IRW's id, item, resp and cov_*", "test_irw_is_recognized_by_its_columns"),
    ("test_responses_files", "blank cells are missing", "test_the_same_table_in_many_spellings"),
    ("test_headers", "no header: the first row would be lost", "test_a_first_line_of_data_is_refused"),
    ("leaderboards", "cells such as 94.2/92.3", "test_cells_of_two_scores_are_two_items"),
    ("leaderboards", "a system in two rows", "test_a_system_in_two_rows_is_asked_about_with_both_lines"),
    ("name_spellings", "a system under two names", "test_names_that_differ_by_spelling"),
    ("sources", "pickles run what they hold", "test_pickles_are_refused_and_not_run"),
    ("openeval", "lists of structs arrive as objects of lists", "test_released_tables_give_what_the_nested_items_do"),
    ("openeval", "responses lack the item's id, and slugs are ambiguous",
     "test_the_item_of_a_response_is_told_from_its_id"),
    ("openeval", "replicates show in the last number alone", "test_replicates_are_trials"),
    ("openeval", "source is a bare text in the table of items",
     "test_released_tables_give_what_the_nested_items_do"),
    ("openeval_write", "keys beyond the schema",
     "test_unknown_keys_and_odd_ids_are_warnings_and_repeated_ids_are_not"),
    ("openeval", "texts are 98 % of the bytes", "test_texts_of_responses_are_not_read"),
)  # fmt: skip


@pytest.mark.parametrize(("module", "test"), [(module, test) for module, _, test in TRAPS])
def test_the_test_of_a_trap_is_there(module: str, test: str) -> None:
    name = module if module.startswith("test_") else f"test_readers_{module}"
    tree = ast.parse((Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8"))
    assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
