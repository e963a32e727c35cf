from __future__ import annotations

import dataclasses
import json
import os
import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import psychoeval as pe
from psychoeval.errors import SettingsError, StoredFileError
from psychoeval.irt.models import Beta, ItemModel, LogitNormal, LogNormal, Normal, Priors
from psychoeval.irt.parameters import Abilities, ItemParameters
from psychoeval.results.convergence import Convergence
from psychoeval.results.fit_result import FitResult, ItemStatistics, LatentDistribution
from psychoeval.results.provenance import Provenance
from psychoeval.results.storage import load_fit, save_fit

ODD_IDS = ("plain", "päper 日本語 🧪", "'; DROP TABLE", 'quote"s', "line\nbreak\ttab\0nul", "\ud800 lone", "x" * 10_000)
NAN_WITH_PAYLOAD = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_DEAD_BEEF))[0]


def assert_same(one: Any, two: Any, where: str = "fit") -> None:
    """Equality to the last bit, types included."""
    assert type(one) is type(two) or {type(one), type(two)} == {dict, MappingProxyType}, where
    if dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            assert_same(getattr(one, field.name), getattr(two, field.name), f"{where}.{field.name}")
    elif isinstance(one, (np.ndarray, np.generic)):
        assert one.dtype == two.dtype, where
        assert one.shape == two.shape, where
        assert one.tobytes() == two.tobytes(), where
    elif isinstance(one, Mapping):
        assert list(one) == list(two), where
        for key in one:
            assert_same(one[key], two[key], f"{where}[{key!r}]")
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(two), where
        for k, (x, y) in enumerate(zip(one, two, strict=True)):
            assert_same(x, y, f"{where}[{k}]")
    elif isinstance(one, float):
        assert struct.pack("<d", one) == struct.pack("<d", two), where
    else:
        assert one == two, where


def everything() -> FitResult:
    rng = np.random.default_rng(3)
    j, n = len(ODD_IDS), 3
    slopes = rng.normal(1, 0.3, j)
    slopes[:4] = [np.nan, np.inf, -0.0, 5e-324]
    nodes = np.linspace(-4, 4, 5)
    return FitResult(
        estimator="mirt-em",
        model=ItemModel("3PL", Priors(discrimination=LogNormal(0.1, 0.3), difficulty=Normal(0, 2)), Beta(5, 17)),
        convergence=Convergence(
            "failed_check", 500, float("nan"), 1e-4, float("inf"), failures=("Naïve — no.",), messages=("R: \x1b[1m",)
        ),
        provenance=Provenance(
            "r", {"mirt": "1.48"}, "rpy2", 2**80, {"tolerance": 1e-4, "technical": {"NCYCLES": np.int32(500)},
            "starts": (1, 2.5, None), "flags": [True, np.bool_(False)], "grid": nodes, "cache": Path("/a b"),
            3: "whole-number key", "$": "key like a tag", "prior": LogitNormal(-1.1, 0.5)},
            seconds=0.1 + 0.2, details={"payload": NAN_WITH_PAYLOAD, "minus zero": -0.0, "empty": {}},
        ),
        abilities=Abilities(
            ("s1", "s2", "ß"), np.array([-np.inf, 0.1, np.nan]), np.array([np.inf, 0.3, np.nan]), "ML",
            status=("ml_infinite", "estimated", "no_responses"), covariance=rng.normal(size=(n, n)),
        ),
        item_parameters=ItemParameters(
            ODD_IDS, slopes, rng.normal(size=j), np.full(j, 0.2), rng.normal(size=(j, 3, 3)),
            ("runaway", *("estimated",) * (j - 1)), "", rng.normal(size=(2, 2)), (("", "a"), ("plain", "d")),
        ),
        item_statistics=ItemStatistics(
            ODD_IDS, rng.random(j), rng.normal(size=j), {"proportion_correct": rng.random(j)}, effective_n=rng.random(j)
        ),
        latent_distribution=LatentDistribution(0.1, 1.2, nodes, np.full(5, 0.2), None),
        log_likelihood=float("-inf"),
        log_likelihood_kind="marginal",
        log_likelihood_error=1 / 3,
        n_parameters=21,
        n_persons=3,
        statistics={"alpha": -0.2, "note": "negative", "interval": (0.1, float("nan"))},
    )  # fmt: skip


def test_a_fit_comes_back_bit_for_bit(tmp_path: Path) -> None:
    fit = everything()
    path = fit.save(tmp_path / "fit.pe")
    assert_same(FitResult.load(path), fit)


def test_the_smallest_fit_comes_back(tmp_path: Path) -> None:
    fit = FitResult("ctt", None, Convergence("not_iterative"), Provenance())
    assert_same(load_fit(save_fit(fit, tmp_path / "f")), fit)


def test_loaded_arrays_cannot_be_written(tmp_path: Path) -> None:
    fit = load_fit(save_fit(everything(), tmp_path / "f"))
    assert fit.item_parameters is not None
    assert fit.latent_distribution is not None
    assert fit.latent_distribution.nodes is not None
    for array in (fit.item_parameters.discrimination, fit.latent_distribution.nodes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_equal_fits_make_equal_bytes_and_no_pickle(tmp_path: Path) -> None:
    one, two = save_fit(everything(), tmp_path / "1"), save_fit(everything(), tmp_path / "2")
    assert one.read_bytes() == two.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1", "2"]
    with zipfile.ZipFile(one) as archive:
        json.loads(archive.read("fit.json"))  # standard JSON
        for name in archive.namelist():
            assert name == "fit.json" or archive.read(name).startswith(b"\x93NUMPY")


def test_what_cannot_be_stored_is_named_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = save_fit(everything(), tmp_path / "f")
    before = path.read_bytes()
    odd = dataclasses.replace(everything(), provenance=Provenance(settings={"hook": print}))
    with pytest.raises(StoredFileError, match=r"result\.provenance\.settings\['hook'\] is a builtin_function"):
        save_fit(odd, path)
    objects = dataclasses.replace(everything(), statistics={"o": np.array([object()])})
    with pytest.raises(StoredFileError, match="statistics"):
        save_fit(objects, path)
    assert path.read_bytes() == before
    with pytest.raises(StoredFileError, match="cannot be written"):
        save_fit(everything(), tmp_path / "nowhere" / "f")
    with pytest.raises(StoredFileError, match="cannot be written"):
        save_fit(everything(), tmp_path / ("x" * 300))


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SettingsError, match="is a pipe"):
        save_fit(everything(), tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 nearly", b"\x80\x04K\x01."])
def test_foreign_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "f"
    path.write_bytes(content)
    with pytest.raises(StoredFileError, match="f is damaged, or no file of psychoeval's"):
        load_fit(path)


def _zip(path: Path, header: Any, name: str = "fit.json") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, header if isinstance(header, (str, bytes)) else json.dumps(header))
    return path


def _stored(fit: Any, version: Any = 4, form: str = "psychoeval-fit") -> dict[str, Any]:
    return {"format": form, "version": version, "fit": fit}


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("{", "damaged"),
        (b"\xff\xfe", "damaged"),
        ([1], "is no stored fit"),
        (_stored(None, form="other"), "is no stored fit"),
        (_stored(None, version=99), r"version 99; this psychoeval reads up to 4\. Update"),
        (_stored(None, version="1"), "version 1"),
        (_stored(3), "holds a int and no fit"),
        (_stored({"$": "class", "name": "Popen", "fields": {"args": "ls"}}), "damaged"),
        (_stored({"$": "class", "name": "FitResult", "fields": {"estimator": "x"}}), "damaged"),
        (_stored({"$": "class", "name": "Normal", "fields": {"mean": 0, "sd": -1}}), "damaged"),
        (_stored({"$": "array", "name": "arrays/7.npy"}), "damaged"),
        (_stored({"$": "call", "name": "print"}), "damaged"),
        (_stored({"$": ["tuple"], "parts": []}), "damaged"),
    ],
)
def test_wrong_content_is_one_typed_error(tmp_path: Path, header: Any, message: str) -> None:
    with pytest.raises(StoredFileError, match=message) as caught:
        load_fit(_zip(tmp_path / "f", header))
    assert caught.value.remedy


CHANGES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "field unknown": (lambda h: h["fit"]["fields"].update(colour="red"), "FitResult has unknown fields: colour"),
    "field missing": (lambda h: h["fit"]["fields"].pop("log_likelihood"), "FitResult lacks the fields: log_likelihood"),
    "inner field missing": (
        lambda h: h["fit"]["fields"]["convergence"]["fields"].pop("messages"),
        "Convergence lacks the fields: messages",
    ),
    "key beside a class": (lambda h: h["fit"].update(more=1), "kind class has unknown fields: more"),
    "key beside the fit": (lambda h: h.update(extra=1), "unknown or missing: extra"),
    "no fit": (lambda h: h.pop("fit"), "unknown or missing: fit"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_fields_unknown_or_missing_are_refused(tmp_path: Path, change: str) -> None:
    path = save_fit(everything(), tmp_path / "f")
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(content["fit.json"])
    edit, message = CHANGES[change]
    edit(header)
    content["fit.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    with pytest.raises(StoredFileError, match=message):
        load_fit(path)


@pytest.mark.parametrize(
    ("version", "without", "lacking"),
    [(1, ("sampling", "draws", "components"), "draws, sampling"), (2, ("components",), "components")],
)
def test_a_file_from_before_a_field_is_read(
    tmp_path: Path, version: int, without: tuple[str, ...], lacking: str
) -> None:
    path = save_fit(everything(), tmp_path / "f")
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(content["fit.json"])
    for name in without:
        assert header["fit"]["fields"].pop(name) is None
    for given, read in ((version, True), (version + 1, False)):
        header["version"] = given
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in (content | {"fit.json": json.dumps(header).encode()}).items():
                archive.writestr(name, data)
        if read:
            assert_same(load_fit(path), everything())
        else:
            with pytest.raises(StoredFileError, match=f"FitResult lacks the fields: {lacking}"):
                load_fit(path)


def test_a_file_from_before_units_has_none_and_the_errors_name_of_today(tmp_path: Path) -> None:
    fit = pe.fit(pe.Responses.from_array([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 0]]), "map", model="Rasch")
    path = save_fit(fit, tmp_path / "f")
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(content["fit.json"])
    abilities = header["fit"]["fields"]["abilities"]["fields"]
    abilities["uncertainty"] = "items sampled"
    del abilities["n_units"]
    for version in (3, 4):
        header["version"] = version
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in (content | {"fit.json": json.dumps(header).encode()}).items():
                archive.writestr(name, data)
        if version == 3:
            assert_same(load_fit(path), fit)
        else:
            with pytest.raises(StoredFileError, match="Abilities lacks the fields: n_units"):
                load_fit(path)


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "f"
    np.save(tmp_path / "o.npy", np.array([print], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("fit.json", json.dumps(_stored({"$": "array", "name": "arrays/0.npy"})))
        archive.write(tmp_path / "o.npy", "arrays/0.npy")
    with pytest.raises(StoredFileError, match="damaged"):
        load_fit(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(StoredFileError, match="cannot be read"):
            load_fit(path)


def test_every_flipped_byte_is_seen_or_harmless(tmp_path: Path) -> None:
    fit = everything()
    good = save_fit(fit, tmp_path / "f").read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for at in rng.choice(len(good), 300, replace=False):
        path = tmp_path / "bad"
        path.write_bytes(good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :])
        try:
            loaded = load_fit(path)
        except StoredFileError:  # any other error fails the test
            refused += 1
        else:
            assert_same(loaded, fit)  # bytes of the archive that carry nothing: times, attributes
    assert refused > 200


def test_every_truncation_is_seen(tmp_path: Path) -> None:
    good = save_fit(everything(), tmp_path / "f").read_bytes()
    for size in range(0, len(good), 211):
        (tmp_path / "bad").write_bytes(good[:size])
        with pytest.raises(StoredFileError):
            load_fit(tmp_path / "bad")


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="no devices here")
def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for a writer
    for path in (tmp_path / "pipe", Path("/dev/null")):  # of /dev/full or /dev/zero there is no end
        with pytest.raises(StoredFileError, match="cannot be read: it is no plain file"):
            load_fit(path)
