"""What the believed fits conclude, as the report shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from psychoeval.agreement.inference import compare_inference
from psychoeval.errors import NotComparableError

if TYPE_CHECKING:
    from psychoeval.agreement.comparison import Comparison
    from psychoeval.agreement.inference_decisions import ContestedPair
    from psychoeval.agreement.inference_ranks import TopGroup
    from psychoeval.agreement.inference_result import InferenceAgreement, InferencePair

#: With more pairs of fits than this the table is folded.
MANY_PAIRS: Final = 15


@dataclass(frozen=True, slots=True)
class InferenceSection:
    """Conclusions of the fits, those pairs first that differ most; or why there are none."""

    reason: str
    names: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    pairs: tuple[InferencePair, ...] = ()
    tops: tuple[TopGroup, ...] = ()
    contested: tuple[ContestedPair, ...] = ()
    sentences: tuple[str, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether the table of pairs is folded."""
        return len(self.pairs) > MANY_PAIRS


def conclusions(comparison: Comparison) -> InferenceAgreement | str:
    """Return what the fits of a comparison conclude, or why that cannot be compared."""
    try:
        return compare_inference(comparison)
    except NotComparableError as error:
        return f"{error.problem} {error.remedy}"


def inference_section(found: InferenceAgreement | str) -> InferenceSection:
    """Return the section."""
    if isinstance(found, str):
        return InferenceSection(found)
    pairs = sorted(found.pairs, key=lambda p: (-p.decisions.opposite, -p.decisions.lost))
    told = found.sentences[len(found.findings) :]
    return InferenceSection("", found.names, found.findings, tuple(pairs), found.tops, found.contested, told)
