"""Fits kept on disk, so that long work goes on where it stopped."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy

from psychoeval._version import __version__
from psychoeval.availability import probe
from psychoeval.errors import SettingsError, StoredFileError
from psychoeval.estimators.base import Estimator
from psychoeval.irt.models import ItemModel
from psychoeval.registry import entry
from psychoeval.responses.matrix import Responses
from psychoeval.results.fit_result import FitResult

#: Settings that change where and how long a fit runs, and not what it finds.
_NOT_THE_QUESTION = ("bridge", "timeout", "n_jobs", "progress", "output_dir")


@dataclass(frozen=True, slots=True)
class FitStore:
    """A folder of fits, one file each, found again by data, estimator, settings, model and versions.

    Parameters
    ----------
    folder : Path
        Made where it is missing. Delete files in it to have them fitted again.

    Raises
    ------
    SettingsError
        If the folder cannot be made.
    """

    folder: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"The store {self.folder} cannot be made: {error}.", "Choose another folder.") from None

    def path(self, responses: Responses, estimator: Estimator, model: ItemModel | None) -> Path:
        """Return the file of a fit."""
        settings = {
            f.name: getattr(estimator, f.name)
            for f in dataclasses.fields(estimator)  # type: ignore[arg-type]
            if f.name not in _NOT_THE_QUESTION
        }
        versions = {"psychoeval": __version__, "numpy": np.__version__, "scipy": scipy.__version__}
        engine = entry(estimator.name).engine
        if engine == "r":
            versions |= probe("brms" if estimator.name == "brms" else "mirt").versions
        elif engine == "stan":
            versions |= {**probe("stanli").versions, **probe("cmdstan").versions}
        question = repr((sorted(versions.items()), responses.sha256, estimator.name, sorted(settings.items()), model))
        digest = hashlib.sha256(question.encode("utf-8", "surrogatepass")).hexdigest()
        return self.folder / f"{estimator.name}-{digest[:24]}.fit"

    def find(self, responses: Responses, estimator: Estimator, model: ItemModel | None) -> FitResult | None:
        """Return the kept fit, or None.

        Raises
        ------
        StoredFileError
            If the file is damaged, or holds another fit.
        """
        path = self.path(responses, estimator, model)
        if not path.exists():
            return None
        remedy = "Delete the file to have it fitted again."
        try:
            found = FitResult.load(path)
        except StoredFileError as error:
            raise StoredFileError(error.problem, remedy) from None
        if (found.estimator, found.model, found.provenance.data_sha256) != (estimator.name, model, responses.sha256):
            raise StoredFileError(f"{path} holds another fit than its name says ({found.label}).", remedy)
        return found

    def keep(self, result: FitResult, responses: Responses, estimator: Estimator, model: ItemModel | None) -> None:
        """Keep a fit."""
        result.save(self.path(responses, estimator, model))
