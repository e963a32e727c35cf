"""A published posterior of a hierarchical 2PL, for tests/parity/test_stan_posteriordb.py.

    python tests/golden/make_stan_irt_2pl.py FOLDER     (in the checkout)

FOLDER is benchmarks/irt_2pl of https://github.com/stan-dev/stat_comp_benchmarks: responses of 100 simulated persons to
20 items, and posterior mean and SD of all 144 parameters from 4 chains of 250,000 draws each (Stan 2, HMC,
adapt_delta .9), five digits of each. Copyright 2017, Stan; BSD 3-clause, stan_irt_2pl.LICENSE beside the numbers.
Writes data/stan_irt_2pl.csv and stan_irt_2pl.json, and their entries in manifest.json.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent
DATA, REFERENCE = "data/stan_irt_2pl.csv", "stan_irt_2pl.json"
ORIGIN: dict[str, Any] = {
    "source": "https://github.com/stan-dev/stat_comp_benchmarks, benchmarks/irt_2pl: irt_2pl.params, irt_2pl.data.json",
    "citation": "Stan Development Team (2017). Statistical Computation Benchmarks.",
    "license": "BSD-3-Clause, copyright (c) 2017, Stan; see stan_irt_2pl.LICENSE",
    "model": [
        "y[j, i] ~ bernoulli_logit(a[i] (theta[j] - b[i])), j persons, i items",
        "theta ~ normal(0, sigma_theta), a ~ lognormal(0, sigma_a), b ~ normal(mu_b, sigma_b)",
        "sigma_theta, sigma_a, sigma_b ~ half-cauchy(0, 2), mu_b ~ normal(0, 5)",
    ],
    "chains": 4,
    "draws": 250000,
}


def write_data(folder: Path) -> None:
    """Write the responses, persons in rows."""
    by_item = json.loads((folder / "irt_2pl.data.json").read_text())["y"]
    with (GOLDEN / DATA).open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow([f"item-{i}" for i in range(1, len(by_item) + 1)])
        rows.writerows(zip(*by_item, strict=True))


def write_reference(folder: Path) -> None:
    """Write what is published of each parameter, as it is printed there."""
    rows = [line.split() for line in (folder / "irt_2pl.params").read_text().splitlines() if line.strip()]
    parameters = {name: [float(mean), float(sd)] for name, mean, sd in rows}
    body = ",\n".join(f"    {json.dumps(name)}: {json.dumps(values)}" for name, values in parameters.items())
    head = json.dumps(ORIGIN, indent=2)[:-2]
    (GOLDEN / REFERENCE).write_text(f'{head},\n  "mean_and_sd": {{\n{body}\n  }}\n}}\n')


def update_manifest() -> None:
    """Enter what was written, and this script; leave all else."""
    path = GOLDEN / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["sha256"][DATA] = digest(GOLDEN / DATA)
    manifest["references"][REFERENCE] = digest(GOLDEN / REFERENCE)
    manifest["further_generators"]["tests/golden/make_stan_irt_2pl.py"] = digest(Path(__file__))
    path.write_text(json.dumps(manifest, separators=(",", ":")) + "\n")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    if len(sys.argv) != 2 or not Path(sys.argv[1], "irt_2pl.params").is_file():
        sys.exit(__doc__)
    write_data(Path(sys.argv[1]))
    write_reference(Path(sys.argv[1]))
    update_manifest()


if __name__ == "__main__":
    main()
