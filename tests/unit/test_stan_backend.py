"""What the back ends of Stan share, without an engine."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from psychoeval import availability
from psychoeval.availability import EngineState
from psychoeval.errors import EngineFailedError, EngineUnavailableError, SettingsError
from psychoeval.estimators.stan import backend, source, words
from psychoeval.estimators.stan.backend import choose_backend
from psychoeval.estimators.stan.compiled import cache_folder, check_cache, executable, keep, workshop
from tests.stan_programs import job


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """Return the engines that are there, to be changed by a test."""
    there = {"stanli": True, "cmdstan": True}

    def probe(engine: str) -> EngineState:
        return EngineState(engine, there[engine], f"{engine} is missing.", f"Get {engine}.")

    monkeypatch.setattr(backend, "probe", probe)
    monkeypatch.setattr(availability, "probe", probe)
    return there


def test_auto_takes_cmdstan_where_there_is_one(engines: dict[str, bool]) -> None:
    assert choose_backend("auto").name == "cmdstan"
    engines["cmdstan"] = False
    assert choose_backend("auto").name == "stanli"
    engines.update(cmdstan=True, stanli=False)
    assert choose_backend("auto").name == "cmdstan"


def test_no_back_end_is_one_error_with_both_remedies(engines: dict[str, bool]) -> None:
    engines.update(cmdstan=False, stanli=False)
    with pytest.raises(EngineUnavailableError) as caught:
        choose_backend("auto")
    assert "stanli is missing." in caught.value.problem
    assert "cmdstan is missing." in caught.value.problem
    assert "Get stanli." in caught.value.remedy
    assert "Get cmdstan." in caught.value.remedy


@pytest.mark.parametrize("name", ["stanli", "cmdstan"])
def test_a_back_end_that_is_named_is_not_replaced(engines: dict[str, bool], name: str) -> None:
    engines[name] = False
    with pytest.raises(EngineUnavailableError, match=f"{name} is missing"):
        choose_backend(name)  # type: ignore[arg-type]


def test_an_unknown_back_end_is_refused() -> None:
    with pytest.raises(SettingsError, match="pystan"):
        choose_backend("pystan")  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"chains": 0}, {"samples": 0}, {"n_jobs": 0}, {"warmup": -1}, {"max_treedepth": 0}])
def test_counts_that_make_no_sense_are_refused(tmp_path: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match="above 0"):
        job(tmp_path, **wrong)


def test_starts_are_one_a_chain(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="initial values for 1 chains, and 2 chains"):
        job(tmp_path, inits=({"mu": 0.0},))


def test_includes_are_put_in_their_place(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "beside.stan").write_text("  #include inner.stanfunctions\n")
    (tmp_path / "include" / "inner.stanfunctions").write_text("real f() { return 1; }\n")
    program = tmp_path / "program.stan"
    program.write_text('functions {\n#include "beside.stan"\n}\n// #include in a comment\n')
    text = source.program_source(program)
    assert text == "functions {\nreal f() { return 1; }\n}\n// #include in a comment\n"


def test_an_include_that_is_missing_or_endless_is_named(tmp_path: Path) -> None:
    program = tmp_path / "program.stan"
    program.write_text("#include missing.stan\n")
    with pytest.raises(EngineFailedError, match=r"program\.stan includes missing\.stan, which is neither in"):
        source.program_source(program)
    program.write_text("#include program.stan\n")
    with pytest.raises(EngineFailedError, match="includes itself"):
        source.program_source(program)
    with pytest.raises(EngineFailedError, match=r"nowhere\.stan cannot be read"):
        source.program_source(tmp_path / "nowhere.stan")


def test_the_compiled_program_is_known_by_all_that_decides_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    given = {"name": "rasch", "source": "model {}", "cmdstan": "/opt/cmdstan", "version": "2.36.0"}
    one = executable(**given)
    assert one.parent.parent == tmp_path / "a cache" / "psychoeval" / "stan" == cache_folder()
    others = [executable(**(given | {key: "other"})) for key in given]
    monkeypatch.setattr("psychoeval.estimators.stan.compiled.STANC_OPTIONS", {})
    others.append(executable(**given))
    assert len({one, *others}) == 6


def test_the_cache_is_in_the_users_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "psychoeval" / "stan"


def test_whoever_compiles_second_finds_the_first_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "p.stan").touch()
    check_cache()
    target = executable("p", "model {}", "/opt/cmdstan", "2.36.0")
    for text in ("first", "second"):
        (tmp_path / "built").write_text(text)
        keep(tmp_path / "built", tmp_path / "p.stan", target)
    assert target.read_text() == "first"
    assert [path.name for path in cache_folder().iterdir()] == [target.parent.name]


@pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")
def test_a_cache_into_which_others_may_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a cache"))
    check_cache()
    assert cache_folder().stat().st_mode & 0o777 == 0o700
    for mode in (0o777, 0o770):
        cache_folder().chmod(mode)
        with pytest.raises(EngineFailedError, match="others may write there, and what lies in it would be run"):
            check_cache()
    cache_folder().chmod(0o755)
    check_cache()
    monkeypatch.setattr("os.getuid", lambda: cache_folder().stat().st_uid + 1)
    with pytest.raises(EngineFailedError, match="belongs to another user") as caught:
        check_cache()
    assert "XDG_CACHE_HOME" in caught.value.remedy


def test_programs_are_compiled_where_no_path_has_a_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spaced = tmp_path / "a folder"
    spaced.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spaced))
    with workshop() as folder:
        assert " " not in str(folder)
    monkeypatch.setattr("os.access", lambda path, mode: path == str(spaced))
    with pytest.raises(EngineFailedError, match="because of the space"), workshop():
        pass


def test_progress_and_times_are_read() -> None:
    text = (
        "Chain [1] Iteration:    1 / 2000 [  0%]  (Warmup)\nChain [1] Iteration: 1001 / 2000 [ 50%]  (Sampling)\n"
        " Elapsed Time: 0.25 seconds (Warm-up)\n               1e-05 seconds (Sampling)\n"
    )
    assert words.progress_event(text) == "sampling 1001/2000"
    assert words.progress_event("nothing") == ""
    assert words.seconds(text) == (0.25, 1e-05)
    assert all(math.isnan(number) for number in words.seconds("killed"))


#: As stanc, stanli and CmdStan print them.
SYNTAX = """Syntax error in 'string', line 1, column 10 to column 11, parsing error:
   -------------------------------------------------
     1:  data{int N} model{}
                   ^
   -------------------------------------------------

Ill-formed declaration. Expected ";" after variable declaration.
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            SYNTAX,
            "Syntax error in rasch.stan, line 1, column 10 to column 11: "
            'Ill-formed declaration. Expected ";" after variable declaration.',
        ),
        ("stanli MIR check: s is -1, but must be greater than 0", "s is -1, but must be greater than 0."),
        ("1 of 1 chains failed; first: chain 3: initialization failed: always", "initialization failed: always."),
    ],
)
def test_an_error_becomes_one_sentence(text: str, said: str) -> None:
    assert words.sentence(text, "rasch") == said


NO_START = """Chain [1] Rejecting initial value:
Chain [1]   Error evaluating the log probability at the initial value.
Chain [1] Exception: lognormal_lpdf: Scale parameter is 0, but must be positive! (in 'rasch.stan', line 9)
Chain [1] Initialization between (-2, 2) failed after 100 attempts.
Chain [1]  Try specifying initial values, reducing ranges of constrained values, or reparameterizing the model.
"""
NO_DENSITY = """Rejecting initial value:
  Log probability evaluates to log(0), i.e. negative infinity.
  Stan can't start sampling from this initial value.
Initialization between (-2, 2) failed after 100 attempts.
"""
REJECTED = """\
Informational Message: The current Metropolis proposal is about to be rejected because of the following issue:
Exception: normal_lpdf: Scale parameter is 0, but must be positive! (in 'rasch.stan', line 9)
If this warning occurs sporadically, such as for highly constrained variable types, then the sampler is fine,
Iteration:  200 / 2000 [ 10%]  (Warmup)
"""


def test_the_reason_is_found_in_what_cmdstan_prints() -> None:
    assert words.reason(NO_START) == (
        "Initialization between (-2, 2) failed after 100 attempts. Exception: lognormal_lpdf: Scale parameter is 0, "
        "but must be positive! (in 'rasch.stan', line 9)"
    )
    assert words.reason(NO_DENSITY) == (
        "Initialization between (-2, 2) failed after 100 attempts. Log probability evaluates to log(0), i.e. negative "
        "infinity."
    )
    assert words.reason(REJECTED + "terminate called after throwing an instance of 'std::bad_alloc'\n") == (
        "terminate called after throwing an instance of 'std::bad_alloc'"
    )
    assert words.reason(REJECTED).endswith("(Warmup)")
    assert words.reason("") == ""


@pytest.mark.parametrize(
    ("why", "stage"),
    [
        ("Exception: variable does not exist; processing stage=data initialization; variable name=s", "data"),
        ("Exception: p_model_namespace::p_model: s is -1, but must be greater than or equal to 0", "data"),
        ("Initialization between (-2, 2) failed after 100 attempts.", "start"),
        ("Unrecoverable error evaluating the log probability at the initial value.", "start"),
        ("Exception: something else", "sampling"),
        ("terminate called: write failed: No space left on device", "writing"),
    ],
)
def test_the_stage_is_told_from_what_cmdstan_says(why: str, stage: str) -> None:
    assert words.stage_of(why) == stage
