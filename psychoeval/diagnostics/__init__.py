"""Where a fit and its responses disagree: items and persons that the model does not describe."""

from psychoeval.diagnostics.item_fit import ItemFit, item_fit
from psychoeval.diagnostics.person_fit import PersonFit, person_fit

__all__ = ["ItemFit", "PersonFit", "item_fit", "person_fit"]
