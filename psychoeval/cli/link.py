"""The command `psychoeval link`: the scale of one fit taken to that of another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from psychoeval.cli.console import print_json, print_rows, print_table, say, show
from psychoeval.cli.inputs import FormatOption
from psychoeval.cli.paths import given_path, path_option
from psychoeval.errors import SettingsError
from psychoeval.irt.linking import LinkingMethod
from psychoeval.irt.linking_curves import Direction

if TYPE_CHECKING:
    from psychoeval.agreement.linking_result import Link


def link_fits(
    given: Annotated[
        Path, typer.Argument(parser=given_path, metavar="A", help="A fit that `psychoeval fit --save` wrote.")
    ],
    onto: Annotated[Path, typer.Argument(parser=given_path, metavar="B", help="The fit on whose scale A is wanted.")],
    method: Annotated[
        LinkingMethod | None, typer.Option(help="By default stocking-lord, by persons mean-sigma.")
    ] = None,
    on: Annotated[
        Literal["items", "persons"] | None, typer.Option(help="What is common; by default items if any is.")
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(help="A: a number, or free; by default estimated, but from the slopes of Rasch models and 1PLs."),
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="An anchor that takes no part in A and B. May be repeated.")
    ] = None,
    direction: Annotated[
        Direction, typer.Option(help="Compare curves on the scale of B (forward), of A (backward), or on each.")
    ] = "forward",
    save: Annotated[Path | None, path_option("Save A on the scale of B to a file.")] = None,
    output: FormatOption = "table",
) -> None:
    """Link two calibrations: theta* = A theta + B takes the scale of fit A to that of fit B.

    Prints A and B with standard errors, and the anchors with a drift test each.
    """
    from psychoeval.agreement.linking import link
    from psychoeval.results.fit_result import FitResult

    if save is not None and save.resolve() in (given.resolve(), onto.resolve()):
        raise SettingsError(f"{save} is read, and would be replaced.", "Save elsewhere.")
    fits = FitResult.load(given), FitResult.load(onto)
    found = link(
        *fits, method=method, on=on, scale=_scale(scale), exclude=exclude or (), direction=direction,
        names=(str(given), str(onto)),
    )  # fmt: skip
    try:
        if save is not None:
            say(f"Saved to {found.transformation.fit(fits[0]).save(save)}; errors there take A and B as known.")
    finally:  # neither the file nor the output is lost by a failure of the other
        print_link(found, output)


def print_link(found: Link, output: Literal["table", "csv", "json"]) -> None:
    """Print constants, notes and anchors; as CSV the anchors."""
    if output == "json":
        print_json(found.to_dict())
        return
    if output == "csv":
        print_table(found.to_frame(), output)
        return
    common = f"{len(found.anchors.used)} common {found.on}"
    show(f"{found.given} onto {found.onto}, by {found.method} on {common}: {found.how}.")
    constants = [
        {"constant": "A", "estimate": found.scale, "std_error": found.scale_error},
        {"constant": "B", "estimate": found.shift, "std_error": found.shift_error},
    ]
    print_rows(constants, output, "theta* = A theta + B, a* = a / A, b* = A b + B, d* = d - (B / A) a", _DIGITS)
    table = found.to_frame()
    shown = [c for c in table.columns if c not in ("df", "p")]
    print_table(table[shown], output, f"Anchors: {found.on} on both sides")
    for note in found.notes:
        show(f"Note: {note}")
    taken = dict(zip(found.anchors.ids, found.anchors.used, strict=True))
    drifted = [name for name in found.anchors.drifted if taken[name]]
    apart = [name for name in found.anchors.drifted if not taken[name]]
    if drifted:
        show(f"Drifted: {', '.join(drifted)}. They move A and B: --exclude them and link again.")
    if apart:
        show(f"Drifted, and excluded already: {', '.join(apart)}.")


_DIGITS = {"estimate": 4, "std_error": 4}


def _scale(text: str | None) -> float | Literal["free"] | None:
    if text is None or text == "free":
        return text  # type: ignore[return-value]
    try:
        return float(text)
    except ValueError:
        raise SettingsError(f"--scale {text} is unknown.", "Give a number, or free.") from None
