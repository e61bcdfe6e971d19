"""Parameters of notebooks 03 and 04, refused early: what is wrong, what was found, where to mend it."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lib import scorers as kinds
from lib.reader_spec import full_spec
from lib.whole import is_number, is_whole

MEND = "mend it in params.yaml or in the parameters cell"
LEAST_RESAMPLES = 100  # fewer draws have no 2.5th percentile worth the name


def check_diagnosis(main_reader: object, read_by: Iterable[str], resamples: object, margin: object) -> None:
    """Raise ValueError unless ``main_reader`` has read, ``resamples`` is a whole number of 100 or more and 0 < ``margin`` < 1.

    >>> check_diagnosis("r", ["r", "none"], 1_000, 0.02)
    """
    there = sorted(set(read_by) - {"none"})
    if not isinstance(main_reader, str) or main_reader.rstrip("/").split("/")[-1] not in there:
        raise ValueError(f"main_reader {main_reader!r} has read nothing; readers of this run are {', '.join(there) or 'none'}; {MEND}")
    if not is_whole(resamples, LEAST_RESAMPLES):
        raise ValueError(f"resamples must be a whole number of {LEAST_RESAMPLES} or more, got {resamples!r}; {MEND}")
    if not is_number(margin) or not 0 < margin < 1:
        raise ValueError(f"margin must be a share between 0 and 1 (0.02 is two points), got {margin!r}; {MEND}")


def check_reading(policies: object, readers: object, ablate: object, scorers: object, live: object, graph_policies: object = ()) -> None:
    """Raise ValueError for a parameter of notebook 03 that is no list of the right things, or names what is not read.

    >>> check_reading(["naive"], [{"model": "smollm2-135m"}], [], [], 0)
    """
    for name, value, of in (("policies", policies, str), ("readers", readers, Mapping), ("ablate", ablate, str), ("scorers", scorers, Mapping),
                            ("graph_policies", graph_policies, str)):
        if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(v, of) for v in value):
            raise ValueError(f"{name} must be a list of {'names' if of is str else 'blocks such as {model: smollm2-135m}'}, got {value!r}; {MEND}")
    if not readers or not policies:
        raise ValueError(f"policies and readers must name at least one each, got {policies!r} and {readers!r}; {MEND}")
    named = [(full_spec(r)["model"], full_spec(r)["precision"]) for r in readers]
    if len(set(named)) < len(named):
        raise ValueError(f"readers names one reader twice: {named}; {MEND}")
    if lost := sorted(set(ablate) - set(policies)):
        raise ValueError(f"ablate names {lost}, which is not among policies {list(policies)}; {MEND}")
    kinds.every_form(scorers)
    if not is_whole(live, 0):
        raise ValueError(f"live must be a whole number of 0 or more, got {live!r}; {MEND}")
