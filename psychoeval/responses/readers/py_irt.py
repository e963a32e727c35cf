"""py-irt: JSONL, one line a system: ``{"subject_id": ..., "responses": {item: 0 or 1}}``.

Items that a line does not name were not given. Item ids may be the items' texts.
"""

from __future__ import annotations

from psychoeval.responses.readers.fields import number
from psychoeval.responses.readers.log import LogBuilder, Record
from psychoeval.responses.readers.options import ReadOptions
from psychoeval.responses.readers.shape import Shape
from psychoeval.responses.readers.sources import Source, need, read_json_lines


def is_responses(source: Source, shape: Shape) -> bool:
    """Whether a file holds such lines."""
    return shape.kind in ("lines", "object") and shape.has("subject_id", "responses")


def read_responses(source: Source, log: LogBuilder, options: ReadOptions) -> None:
    """Read responses.

    Raises
    ------
    DataError
        If a line names no system, or a response is no number; with the line.
    """
    for line, given in read_json_lines(source):
        place = f"{source.place}, line {line}"
        row = need(given, dict, place, "the line")
        person = str(need(row.get("subject_id"), (str, int), place, "subject_id"))
        responses = need(row.get("responses"), dict, place, "responses")
        common = Record(person=person, item="", metric="response", file=source.place, line=line)
        if not responses:
            log.drop("systems without a response", place)
        for item, value in responses.items():
            if value is None:
                log.add(common._replace(item=item, outcome="unscored"))
            else:
                log.add(common._replace(item=item, score=number(value, place, f"the response to {item[:60]!r}")))
