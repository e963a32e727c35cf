"""The pictures as images inside the file, each with its words."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from psychoeval import plots
from psychoeval.errors import DataError, NotComparableError
from psychoeval.plots.rank_claims import rank_claims
from psychoeval.report.frame import in_standard_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from psychoeval.agreement.comparison import Comparison
    from psychoeval.agreement.inference_result import InferenceAgreement
    from psychoeval.responses.matrix import Responses

#: A vector picture larger than this is stored as pixels.
LARGEST_SVG: Final = 450_000
#: Dots per inch of pixels, fine enough for print.
DPI: Final = 170


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as a data URI, or why there is none."""

    title: str
    reading: str
    alt: str
    uri: str
    missing: str


def pictures(comparison: Comparison, responses: Responses, concluded: InferenceAgreement | str = "") -> list[Picture]:
    """Return the pictures of a comparison, drawn from fits on one scale; `concluded` as `report.inference` says."""
    names, fits = comparison.names, [in_standard_frame(f)[0] for f in comparison.fits]
    noun = responses.person_label
    labels = ", ".join(names)
    wanted: list[tuple[str, str, str, Callable[[], Figure]]] = [
        (
            f"Every {noun} by every estimator",
            "Estimates with intervals; logits and proportions on axes of their own.",
            f"Forest plot: one row a {noun}, estimates and 95% intervals of {labels}. "
            f"The numbers are in the table of {noun}s side by side.",
            lambda: plots.ability_forest(fits, names=names, noun=noun),
        ),
        (
            "Abilities in logits, estimator against estimator",
            "On the line two estimators say the same; a bend or tilt is a difference of scale, scatter one of order.",
            "Scatter matrix of abilities in logits; the correlations it shows are printed in it and in the pairs "
            "of section 4.",
            lambda: plots.ability_scatter(fits, names=names, scale="logit", noun=noun),
        ),
        (
            "Abilities as proportions, estimator against estimator",
            "Proportions are compared with proportions only; with logits, compare ranks.",
            "Scatter matrix of abilities on the proportion scale; the correlations are printed in it.",
            lambda: plots.ability_scatter(fits, names=names, scale="proportion", noun=noun),
        ),
        (
            "Item difficulties, estimator against estimator",
            "A straight band off the line is a difference of scale or origin, a bend the pull of priors, scatter a "
            "difference about single items.",
            "Scatter matrix of item difficulties in logits; the values are in the item tables.",
            lambda: plots.item_scatter(fits, names=names, term="difficulty"),
        ),
        (
            "Item discriminations, estimator against estimator",
            "Fits in which all items share one slope are left out.",
            "Scatter matrix of item discriminations; the values are in the item tables.",
            lambda: plots.item_scatter(fits, names=names, term="discrimination"),
        ),
        (
            "Item curves against the data",
            "A few items: those on which believed fits differ most and which fit the data worst, and the extremes of "
            "difficulty and slope; the title of each panel says why it is shown.",
            "Curves of the probability of success over ability by every fit, with observed proportions of groups.",
            lambda: plots.item_curves(fits, responses, names=names),
        ),
        (
            "Difficulty and discrimination",
            "Hard items are on the right, items that tell strong from weak are high; below 0 the strong fail.",
            "Items in the plane of difficulty and discrimination, one panel a fit; the values are in the item tables.",
            lambda: plots.item_plane(fits, names=names),
        ),
        (
            "How ranks move",
            "Ranks need no common scale, so all estimators stand on one axis.",
            f"Bump chart of the rank of each {noun} by {labels}. The ranks are in the table of {noun}s side by side.",
            lambda: plots.rank_bump(fits, names=names, noun=noun),
        ),
    ]
    if not isinstance(concluded, str):
        wanted.append(
            (
                "Which ranks the conclusions leave open",
                f"Equal bars: two estimators conclude the same. A longer bar tells fewer {noun}s apart; bars of one "
                f"{noun} that do not meet mean opposite claims.",
                f"Ranks of the best {noun}s with the ranks that each believed fit leaves open; the counts are in the "
                "table of conclusions in section 4.",
                lambda: rank_claims(concluded, names=names),
            )
        )
    return [picture(*w) for w in wanted]


def picture(title: str, reading: str, alt: str, draw: Callable[[], Figure]) -> Picture:
    """Return a picture with its words, or why it could not be drawn."""
    try:
        figure = draw()
    except (NotComparableError, DataError) as error:
        return Picture(title, reading, alt, "", f"{error.problem} {error.remedy}")
    return Picture(title, reading, alt, image_uri(figure), "")


def image_uri(figure: Figure) -> str:
    """Return a figure as a data URI: SVG, or PNG where that is too large."""
    kind, mime = "svg", "svg+xml"
    content = _saved(figure, kind)
    if len(content) > LARGEST_SVG:
        kind = mime = "png"
        content = _saved(figure, kind)
    return f"data:image/{mime};base64,{base64.b64encode(content).decode('ascii')}"


def _saved(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=DPI, metadata={"Date": None} if kind == "svg" else None)
    return buffer.getvalue()
