"""What stands out in responses before any model is fitted."""

from psychoeval.responses.screening.checks import screen
from psychoeval.responses.screening.findings import Finding, Screening
from psychoeval.responses.screening.status import item_status, person_status
from psychoeval.responses.screening.unreached import trailing_failures

__all__ = ["Finding", "Screening", "item_status", "person_status", "screen", "trailing_failures"]
