"""How often is a claim true that the verdict calls supported, with care, or not supported?

    python benchmarks/verdict_calibration.py [--seeds 15] [--worlds clones ...] [--jobs 1] [--small]

Worlds (`WORLDS`; `_verdict_worlds` says how they are drawn): independent systems, normal and skewed, complete, as a fit
takes them to be; families of systems, cells that were not run, two abilities, and guessing, as they may be. Each is
judged as `assess` does by default, with 20 refits: Rasch below 100 systems, so that its model is wrong there, and 2PL
from 100 on. A claim is judged by what it states, against what is true of these systems on items like these:

- ranking: the share of discordant pairs, (1 - tau) / 2, is at most the largest one that the statement names; beside it
  whether tau is at least .80;
- top 1, top 3: the true best are those named (or tied with them);
- neighbors: every system is truly better than the next one in the list; the part is the share of neighbors that are;
- difficulties, discriminations: they correlate at least .90 with the truth, and at least .90 of the printed 95%
  intervals hold it (the part); beside it the correlation alone. Truth: origin and unit of these systems' abilities;
  where a 2PL is not true, the 2PL curve nearest to the item's. Of 20 independent right intervals fewer than .90 hold by
  chance in .08 of worlds;
- removing items: of the items flagged, the tenth with the lowest printed discriminations, at least .90 (the part) are
  truly in the lowest third;
- pairs: none of those told apart both on these items and on items like these is wrong; beside it those of one, which
  are stated at .95 each (Holm). Where no pair is told apart, nothing is judged.

Printed: for each claim and grade the number of worlds that say it, how many were true, the share with Wilson's 95%
interval, and the mean of the part (of a ranking: discordant pairs); then the same for every world. What a fit says
nothing of, such as discriminations of a Rasch fit, is not judged. Worlds are kept in out/verdict-calibration.jsonl and
not drawn again: delete the file after a change to the verdict.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks._verdict_truth import STATED, judged
from benchmarks._verdict_worlds import Design, draw
from psychoeval._version import __version__
from psychoeval.irt.intervals import wilson_interval
from psychoeval.studies import RowStore, replicate
from psychoeval.studies.store import Row
from psychoeval.trust import assess
from psychoeval.trust.claims import GRADES
from psychoeval.trust.verdict import claims

TOPS = (1, 3)
#: The fewest refits that support a claim.
REPLICATIONS = 20
WORLDS = {
    **{f"{'skewed' if skewed else 'normal'} {n} x {j}": Design(n, j, skewed=skewed)
       for n, j, skewed in product((30, 100), (20, 100, 300), (False, True))},
    "normal 1000 x 50": Design(1000, 50),
    **{f"{name} 120 x {j}": Design(120, j, families=12, shared=shared)
       for (name, shared), j in product((("relatives", 1.0), ("clones", 2.0)), (100, 300))},
    **{f"{kind} {share} missing 100 x 300": Design(100, 300, missing=share, by_ability=kind == "by ability")
       for kind, share in product(("at random", "by ability"), (0.5, 0.7))},
    **{f"two abilities 100 x {j}": Design(100, j, two_abilities=True) for j in (100, 300)},
    **{f"guessing 100 x {j}": Design(100, j, guessing=True) for j in (100, 300)},
}  # fmt: skip
#: A few seconds' worth.
SMALL = ("normal 30 x 20", "normal 100 x 20", "clones 120 x 100", "two abilities 100 x 100", "guessing 100 x 100")


def judge(design: Design, seed: int, replications: int = REPLICATIONS) -> dict[str, float | str | None]:
    """Return a row of one world: of each claim its grade, whether it is true (1, 0 or None), and the part."""
    world = draw(design, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the verdict says it
        found = assess(world.responses, top=TOPS[0], replications=replications, seed=seed)
    tops = {k: next(c for c in claims(found.evidence, k) if c.name == "top") for k in TOPS}
    row: dict[str, float | str | None] = {}
    for one in judged(found, world, tops):
        true = None if one.true is None else float(one.true)
        row |= {f"{one.claim}|grade": one.grade, f"{one.claim}|true": true, f"{one.claim}|part": one.part}
    return row


def long_form(world: str, rows: Sequence[Row]) -> list[dict[str, object]]:
    """Return one entry a world and claim that was judged."""
    out: list[dict[str, object]] = []
    for row in rows:
        for claim in dict.fromkeys(key.split("|")[0] for key in row):
            grade, true, part = (row[f"{claim}|{field}"] for field in ("grade", "true", "part"))
            if true is not None:
                out.append({"world": world, "claim": claim, "grade": grade, "true": true, "part": part})
    return out


def table(entries: list[dict[str, object]], by: Sequence[str] = ("claim", "grade")) -> pd.DataFrame:
    """Return for each claim and grade: worlds, how many were true, their share with its interval, and the mean part."""
    frame = pd.DataFrame(entries)
    for column, order in (("claim", frame["claim"].unique()), ("grade", [*GRADES, STATED])):
        frame[column] = pd.Categorical(frame[column], order, ordered=True)
    grouped = frame.groupby(list(by), observed=True)
    out = grouped["true"].agg(worlds="size", true="sum", share="mean")
    out["low"], out["high"] = wilson_interval(out["share"].to_numpy(), out["worlds"].to_numpy(dtype=np.float64))
    return out.astype({"true": int}).assign(part=grouped["part"].mean())


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=15)
    parser.add_argument("--worlds", nargs="+", default=[""], help="those whose names begin so")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("out/verdict-calibration.jsonl"))
    parser.add_argument("--small", action="store_true", help="one seed of a few worlds")
    options = parser.parse_args(arguments)
    names = [n for n in WORLDS if n.startswith(tuple(options.worlds)) and (n in SMALL or not options.small)]
    store, entries = RowStore(options.keep), []
    for name in names:
        found = replicate(
            partial(judge, WORLDS[name]), 1 if options.small else options.seeds,
            key=f"{__version__} {WORLDS[name]} {REPLICATIONS}", n_jobs=options.jobs, store=store, what=name,
        )  # fmt: skip
        for why in found.failures:
            print(f"{name}: not judged: {why}", file=sys.stderr)
        entries += long_form(name, found.rows)
    if not entries:
        parser.error(f"No world was judged: {names or 'none has such a name'}.")
    for by in (("claim", "grade"), ("world", "claim", "grade")):
        print(table(entries, by).to_string(float_format="{:.2f}".format), end="\n\n")


if __name__ == "__main__":
    main()
