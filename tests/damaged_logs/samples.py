"""One small valid log of each format, written by us, in pieces that know which record they belong to."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import pyarrow as arrow
import pyarrow.parquet as parquet

Kind = Literal["lines", "json", "yaml", "cells", "zip", "parquet"]
#: A piece of a file, and the records that damage to it may change; None: all.
Piece = tuple[str, tuple[int, ...] | None]

DATE: Final = "2026-01-02T03-04-05.678"
TIME: Final = "20260220T224823Z"
N: Final = 6


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A valid log.

    Parameters
    ----------
    name : str
    kind : str
        How its records are written: JSON lines, one JSON value, YAML, delimited cells, members, or rows of Parquet.
    file : str
        The file that is damaged, its name below the folder.
    records : tuple
        JSON values, lists of cells, or (of YAML) objects.
    frame : callable
        Puts the texts of records into pieces of a file.
    right : float
        The sum of all scores.
    read : dict
        Options of `psychoeval.read`.
    beside : dict
        Other files, of which damage may change everything.
    where : str
        How errors name the k-th record, from 1.
    whole : bool
        Read by the folder, not by the file.
    pack : callable, optional
        Makes bytes of the file from the texts of its records, where it is binary; `safe` where check sums guard them.
    """

    name: str
    kind: Kind
    file: str
    records: tuple[Any, ...]
    frame: Callable[[Sequence[str]], list[Piece]] | None = None
    right: float = 3.0
    read: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    whole: bool = False
    pack: Callable[[Sequence[str]], bytes] | None = None
    safe: bool = True

    @property
    def packed(self) -> bool:
        """Whether the file's bytes are not its text."""
        return self.pack is not None or self.file.endswith(".gz")

    def text(self, record: Any) -> str:
        """Return a record as it is written."""
        if self.kind == "cells":
            return ("\t" if ".tsv" in self.file else ",").join(record)
        if self.kind == "yaml" and isinstance(record, dict):
            return "- " + "\n  ".join(f"{key}: {value}" for key, value in record.items())
        text = json.dumps(record, ensure_ascii=False)
        text = f"- {text}" if self.kind == "yaml" else text
        return text if text.isprintable() else json.dumps(record)

    def texts(self) -> list[str]:
        """Return all records as they are written."""
        return [self.text(record) for record in self.records]

    def pieces(self, texts: Sequence[str]) -> list[Piece]:
        """Return the file in pieces."""
        assert self.frame is not None
        return self.frame(texts)

    def content(self, texts: Sequence[str]) -> bytes:
        """Return the file with these records."""
        if self.pack is not None:
            return self.pack(texts)
        return self.compressed("".join(text for text, _ in self.pieces(texts)).encode())

    def compressed(self, raw: bytes) -> bytes:
        """Return `raw` packed as the file's ending says."""
        return gzip.compress(raw, mtime=0) if self.file.endswith(".gz") else raw


def between(head: str, joint: str, tail: str) -> Callable[[Sequence[str]], list[Piece]]:
    """Return a frame: damage to a joint may change the records beside it, to head and tail all."""

    def frame(texts: Sequence[str]) -> list[Piece]:
        pieces: list[Piece] = [(head, None)] if head else []
        for k, text in enumerate(texts):
            pieces += [(joint, (k - 1, k))] if k and joint else []
            pieces.append((text, (k,)))
        return [*pieces, (tail, None)] if tail else pieces

    return frame


def lined(texts: Sequence[str]) -> list[Piece]:
    """Frame lines, each with its end."""
    return [piece for k, t in enumerate(texts) for piece in ((t, (k,)), ("\n", (k, k + 1)))]


def under(header: str) -> Callable[[Sequence[str]], list[Piece]]:
    """Return a frame of lines under a header."""
    return lambda texts: [(f"{header}\n", None), *lined(texts)]


def _listed(texts: Sequence[str]) -> list[Piece]:
    """Frame the lists of SWE-bench: three resolved, then two that failed, then an error."""
    cut = (0, 3, 5, len(texts))
    pieces: list[Piece] = []
    for k, name in enumerate(("resolved_ids", "unresolved_ids", "error_ids")):
        start, stop = cut[k], max(cut[k + 1], cut[k])
        pieces.append((f'{"], " if k else "{"}"{name}": [', None))
        inner = between("", ", ", "")(texts[start:stop])
        pieces += [(text, tuple(i + start for i in owners or ())) for text, owners in inner]
    return [*pieces, ("]}", None)]


def _zip(method: int, head: Mapping[str, Any]) -> Callable[[Sequence[str]], bytes]:
    def pack(texts: Sequence[str]) -> bytes:
        module: Any = zipfile
        if method == ZSTANDARD:
            from backports.zstd import zipfile as module
        out = io.BytesIO()
        with module.ZipFile(out, "w", method) as archive:
            archive.writestr("header.json", json.dumps(head))
            for k, text in enumerate(texts, 1):
                archive.writestr(f"samples/q{k}_epoch_1.json", text)
        return out.getvalue()

    return pack


def _parquet(**options: Any) -> Callable[[Sequence[str]], bytes]:
    def pack(texts: Sequence[str]) -> bytes:
        rows = [json.loads(t) for t in texts]
        out = io.BytesIO()
        parquet.write_table(arrow.Table.from_pylist(rows), out, **options)
        return out.getvalue()

    return pack


ZSTANDARD: Final = 93
_HEAD: Final = {
    "status": "success",
    "eval": {"model": "m", "task": "t"},
    "plan": {},
    "results": {"total_samples": N, "scores": [{"name": "match", "scorer": "match"}]},
}
_RESULTS: Final = {"results": {"t": {"acc": 0.5}}, "configs": {}, "model_name": "org/m"}


def _lm_eval(k: int) -> dict[str, Any]:
    return {
        "doc_id": k, "doc": {"q": f"é {k}", "choices": ["a", "b"]}, "target": "b", "arguments": [["p", {"until": []}]],
        "resps": [["y"]], "filtered_resps": ["y"], "filter": "none", "metrics": ["acc"], "doc_hash": f"{k:x}" * 8,
        "acc": float(k % 2),
    }  # fmt: skip


def _old_lm_eval(k: int) -> dict[str, Any]:
    return {key: v for key, v in _lm_eval(k).items() if key not in ("filter", "metrics", "doc_hash")}


def _inspect(k: int) -> dict[str, Any]:
    return {
        "id": f"q{k}", "epoch": 1, "input": f"question {k}", "choices": ["x"], "target": "x",
        "model_usage": {"m": {"total_tokens": 7}}, "scores": {"match": {"value": "IC"[k % 2], "answer": "x"}},
    }  # fmt: skip


def _helm(k: int) -> dict[str, Any]:
    stats = [
        {"name": {"name": name, "split": "test"}, "count": 1, "sum": value, "mean": value}
        for name, value in (("num_prompt_tokens", 30.0), ("exact_match", float(k % 2)))
    ]
    return {"instance_id": f"id{k}", "train_trial_index": 0, "stats": stats}


def _every(k: int) -> dict[str, Any]:
    return {
        "schema_version": "0.3.0", "evaluation_id": "run/1", "model_id": "org/m", "evaluation_name": "quiz",
        "evaluation_result_id": "quiz.acc", "sample_id": f"s{k}", "input": {"raw": f"What {k}?", "reference": ["x"]},
        "evaluation": {"score": float(k % 2), "is_correct": k % 2 == 1}, "token_usage": {"total_tokens": 3},
    }  # fmt: skip


def _terminal(k: int) -> dict[str, Any]:
    return {
        "id": f"x{k}", "trial_name": f"task{k}.1-of-1.r", "task_id": f"task{k}", "is_resolved": k % 2 == 1,
        "failure_mode": "unset", "total_input_tokens": 5, "total_output_tokens": 2,
    }  # fmt: skip


def _tau(k: int) -> dict[str, Any]:
    task = {"user_id": "u", "instruction": f"do {k}"}
    return {"task_id": k, "reward": float(k % 2), "trial": 0, "traj": [], "info": {"task": task}}


def _tau2(k: int) -> dict[str, Any]:
    return {
        "id": f"r{k}", "task_id": f"{k}", "trial": 0, "termination_reason": "user_stop", "agent_cost": 0.25,
        "timestamp": "2026-01-02T03:04:05", "reward_info": {"reward": float(k % 2), "info": None},
    }  # fmt: skip


def _openeval(k: int) -> dict[str, Any]:
    item = f"bench_{TIME}_{k}"
    return {
        "item_id": item, "item_metadata": {"source": {"benchmark_name": "Bench"}},
        "item_content": {"input": [f"question {k}"], "references": []}, "responses": [_response(k)],
    }  # fmt: skip


def _response(k: int) -> dict[str, Any]:
    return {
        "response_id": f"bench_{TIME}_{k}_gpt-4_0", "model": {"name": "GPT 4", "size": "big"},
        "response_content": ["a"], "scores": [{"metric": {"name": "em", "models": ["j"]}, "value": float(k % 2)}],
    }  # fmt: skip


def _entry(k: int) -> dict[str, Any]:
    details = {f"i{k}{j}": {"resolved": j == 0, "cost": 1.0} for j in range(2)}
    return {"name": f"system {k}", "date": "2026-01-01", "tags": ["Org: X"], "per_instance_details": details}


def of(make: Callable[[int], Any]) -> tuple[Any, ...]:
    return tuple(make(k) for k in range(N))


def cell(i: int, j: int) -> str:
    return str((i + j) % 2)


_LM: Final = {"file": f"samples_t_{DATE}.jsonl", "frame": lined, "beside": {f"results_{DATE}.json": _RESULTS}}
_RUN: Final = {"name": "quiz:x,model=org_m", "adapter_spec": {"model": "org/m"}, "scenario_spec": {}}
_STATE: Final = {
    "adapter_spec": {"model": "org/m"},
    "request_states": [
        {"instance": {"input": {"text": f"q {k}"}, "references": [{"output": {"text": "a"}}], "id": f"id{k}"},
         "train_trial_index": 0, "result": {"success": True}} for k in range(N)
    ],
}  # fmt: skip
_AGGREGATE: Final = {
    "schema_version": "0.3.0", "evaluation_id": "run/1", "evaluation_timestamp": "1750000000",
    "model_info": {"name": "m", "developer": "Org"},
    "evaluation_results": [{"evaluation_result_id": "quiz.acc", "evaluation_name": "quiz", "metric_config": {
        "metric_id": "accuracy", "score_type": "continuous", "min_score": 0, "max_score": 1}}],
}  # fmt: skip
_TAU2: Final = {
    "info": {"user_info": {}, "agent_info": {"llm": "m"}, "environment_info": {"domain_name": "airline"}},
    "tasks": [{"id": f"{k}", "user_scenario": {"instructions": f"do {k}"}} for k in range(N)],
}
_BOARD: Final = {"columns": ("MMLU", "ARC"), "bounds": (0, 100)}
_LONG: Final = of(lambda k: ["AB"[k // 3], f"q{k % 3}", str(k % 2)])
_WIDE: Final = of(lambda i: [f"s{i}", *(cell(i, j) for j in range(4))])
_LEADERS: Final = of(lambda k: {"model": f"sys {k}", "MMLU": f"{50 + k}", "ARC": f"{40 + k}.5", "Rank": f"{k}"})
_SUM: Final = sum(90.5 + 2 * k for k in range(N))


SAMPLES: Final[tuple[Sample, ...]] = (
    Sample(name="lm-eval", kind="lines", records=of(_lm_eval), where="line {}", **_LM),
    Sample(name="lm-eval old", kind="lines", records=of(_old_lm_eval), where="line {}", **_LM),
    Sample(name="lm-eval gzip", kind="lines", records=of(_lm_eval), where="line {}",
           **_LM | {"file": _LM["file"] + ".gz", "whole": True}),
    Sample(name="inspect json", kind="json", file="log.json", records=of(_inspect), where="sample {}",
           frame=between(json.dumps(_HEAD)[:-1] + ', "samples": [', ", ", "]}")),
    Sample(name="inspect deflate", kind="zip", file="log.eval", records=of(_inspect), where="samples/q{}_epoch_1.json",
           pack=_zip(zipfile.ZIP_DEFLATED, _HEAD)),
    Sample(name="inspect zstandard", kind="zip", file="log.eval", records=of(_inspect), whole=True,
           where="samples/q{}_epoch_1.json", pack=_zip(ZSTANDARD, _HEAD)),
    Sample(name="helm", kind="json", file="run/per_instance_stats.json", records=of(_helm), whole=True,
           frame=between("[", ", ", "]"), where="entry {}",
           beside={"run/run_spec.json": _RUN, "run/scenario_state.json": _STATE}),
    Sample(name="every-eval-ever", kind="lines", file="a_samples.jsonl", records=of(_every), frame=lined, whole=True,
           where="line {}", beside={"a.json": _AGGREGATE}),
    Sample(name="swe-bench", kind="json", file="sys.json", records=of(lambda k: f"lib__lib-{k * 1117 + 1000}"),
           frame=_listed),
    Sample(name="swe-bench leaders", kind="json", file="boards.json", records=of(_entry), right=6.0,
           frame=between('{"leaderboards": [{"name": "Verified", "results": [', ", ", "]}]}")),
    Sample(name="terminal-bench", kind="json", file="sys/results.json", records=of(_terminal), where="result {}",
           frame=between('{"id": "r", "results": [', ", ", '], "n_resolved": 3}'), whole=True,
           beside={"sys/run_metadata.json": {"run_id": "r", "agent_name": "a", "model_name": "m"}}),
    Sample(name="tau-bench", kind="json", file="gpt-airline.json", records=of(_tau), where="entry {}",
           frame=between("[", ", ", "]")),
    Sample(name="tau2-bench", kind="json", file="results.json", records=of(_tau2), where="simulations {}",
           frame=between(json.dumps(_TAU2)[:-1] + ', "simulations": [', ", ", "]}")),
    Sample(name="py-irt", kind="lines", file="data.jsonlines", right=9.0, frame=lined, where="line {}",
           records=of(lambda i: {"subject_id": f"s{i}", "responses": {f"q{j}": (i + j) % 2 for j in range(3)}})),
    Sample(name="openeval json", kind="json", file="items.json", records=of(_openeval), where="entry {}",
           frame=between("[", ", ", "]")),
    Sample(name="openeval lines", kind="lines", file="items.jsonl", records=of(_openeval), where="line {}",
           frame=lined, whole=True),
    Sample(name="openeval parquet", kind="parquet", file="response.parquet", records=of(_response),
           pack=_parquet(write_page_checksum=True)),
    Sample(name="irw", kind="cells", file="set.csv", records=_LONG, where="line {}", frame=under("id,item,resp")),
    Sample(name="long csv", kind="cells", file="long.csv", records=_LONG, where="line {}",
           frame=under("system,item,score")),
    Sample(name="long tsv gzip", kind="cells", file="long.tsv.gz", records=_LONG, where="line {}",
           frame=under("system\titem\tscore")),
    Sample(name="wide csv", kind="cells", file="wide.csv", records=_WIDE, right=12.0, where="line {}",
           frame=under("system,q0,q1,q2,q3")),
    Sample(name="wide tsv", kind="cells", file="wide.tsv", records=_WIDE, right=12.0, where="line {}",
           frame=under("\tq0\tq1\tq2\tq3")),
    Sample(name="wide parquet", kind="parquet", file="wide.parquet", right=12.0,
           pack=_parquet(write_page_checksum=True),
           records=of(lambda i: {"system": f"s{i}", **{f"q{j}": (i + j) % 2 for j in range(4)}})),
    Sample(name="long parquet", kind="parquet", file="long.parquet", pack=_parquet(), safe=False,
           records=tuple(dict(zip(("system", "item", "score"), (a, b, int(c)), strict=True)) for a, b, c in _LONG)),
    Sample(name="scores csv", kind="cells", file="scores.csv", right=4.5, where="line {}",
           records=tuple([a, b, f"{0.25 + int(c) / 2}"] for a, b, c in _LONG), frame=under("system,item,score"),
           read={"format": "long scores", "bounds": (0, 1)}),
    Sample(name="leaderboard yaml", kind="yaml", file="board.yml", records=_LEADERS, right=_SUM, read=_BOARD,
           frame=lined),
    Sample(name="leaderboard csv", kind="cells", file="board.csv", right=_SUM, where="line {}",
           records=tuple(list(r.values()) for r in _LEADERS), frame=under("model,MMLU,ARC,Rank"),
           read={"format": "leaderboard", **_BOARD}),
)  # fmt: skip
