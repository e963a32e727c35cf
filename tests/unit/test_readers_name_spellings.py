"""Which names of systems may be one system."""

from __future__ import annotations

import pytest

from psychoeval.responses.readers.name_spellings import spelled_alike


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("openai/gpt-4o", "GPT_4o"),
        ("gpt-4o-2024-05-13", "GPT-4o 2024-05-13"),
        ("Llama-3-8B", "llama3_8b"),
        ("meta-llama/Llama-3-8B", "Llama-3-8B"),
        ("qwen2.5-7b", "qwen25-7b"),
        ("gpt-3.5-turbo", "gpt-35-turbo"),
        ("claude-3.5", "claude-3-5"),
        ("anthropic/claude-3-5-sonnet-20241022", "Claude 3.5 Sonnet 20241022"),
        ("opt-1.3b", "facebook/OPT_1.3B"),
        ("Mixtral-8x7B", "mixtral_8x7b"),
    ],
)
def test_names_that_differ_by_spelling(one: str, two: str) -> None:
    assert spelled_alike([one, "another", two]) == [(one, two)]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("opt-1.3b", "opt-13b"),
        ("pythia-1.4b", "pythia-14m"),
        ("gpt-4o-2024-05-13", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
        ("gpt-4o", "gpt-4o-mini"),
        ("Llama-3-8B", "meta-llama/Llama-3-8B-Instruct"),
        ("Llama-3-8B", "Llama-3-80B"),
        ("Llama-3.1-8B", "Llama-3-18B"),
        ("llama-3-8b", "llama-38b"),
        ("qwen2.5-7b", "qwen2.5-72b"),
        ("claude-3.5", "claude-3.7"),
        ("agent-1-12", "agent-11-2"),
        ("agent-1-1", "agent-11"),
        ("model", "model+tools"),
        ("model+", "model"),
    ],
)
def test_names_of_different_systems(one: str, two: str) -> None:
    assert spelled_alike([one, two]) == []


def test_three_spellings_are_one_group() -> None:
    names = ["Llama-3-8B", "llama3_8b", "meta-llama/Llama 3 8b", "meta-llama/Llama-3-8B-Instruct"]
    assert spelled_alike(names) == [tuple(names[:3])]
