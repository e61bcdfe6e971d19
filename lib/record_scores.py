"""Scores of a tier's answers and contexts, and forms of answers, written without their text (SPEC 5): ``python -m lib.record --scores T``."""
from __future__ import annotations

import pandas as pd
import yaml

from lib import downstream_reading, downstream_record, ladder_forms, ladder_rungs, reading, scores, support, tables
from lib.record import asked, climbed_rows
from lib.scorers import scorer_name
from lib.store import Store
from lib.tables import ROOT


def export_scores(tier: str) -> list[str]:
    """Write the scores of a tier's answers and contexts, and scores and forms of what its ladder has read; the files, relative to the root.

    A score that stands in a file and is not made anew stays there, so that an answer that was read once need not be read again. No model is run: of an
    unfinished rung the part that is answered is written.
    """
    answers, judged, want = tables.read("answers", tier), tables.read("support", tier), asked(tier)
    hashes = [want.judged[support.KEY].assign(scorer=scorer_name(s), support_hash=support.keys(want.judged, s)) for s in want.scorers]
    rows = judged.merge(pd.concat(hashes), on=[*support.KEY, "scorer"], validate="one_to_one") if hashes else judged.assign(support_hash="")
    climbed = ladder_answers(tier)
    every = pd.concat([t for t in (answers, climbed, handed_answers(tier), kept_scores(tier)) if len(t)]).drop_duplicates(scores.KEY)  # the first wins: what was just scored
    formed = [ladder_forms.export(climbed, tier)] if len(climbed) else []
    return [str(path.relative_to(ROOT)) for paths in (scores.export(every, tier), *formed, scores.export_support(rows, tier)) for path in paths]


def ladder_answers(tier: str) -> pd.DataFrame:
    """Answers that the rungs of a tier's ladder have given already, with their forms; empty where the tier has no ladder."""
    block = (yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))[tier].get("reader_ladder") or {})
    if not block.get("rungs"):
        return pd.DataFrame()
    (questions, contexts), store, known = tables.read_all(tier, "questions", "contexts"), Store(), scores.committed()
    rows, had = climbed_rows(block, questions, contexts), ladder_forms.committed()
    made = [reading.read_all(rows[ladder_rungs.answered(rows, spec, store, known)], [spec], store, known=known) for spec in block["rungs"]]
    return ladder_forms.with_forms(pd.concat(made, ignore_index=True), questions, had)


def handed_answers(tier: str) -> pd.DataFrame:
    """Answers to the packed lists of notebook 07 and to what its gates hand on, as far as the tier has read them; no model is run."""
    block = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))[tier].get("gating") or {}
    made, store, known = [], Store(), scores.committed()
    for table, reader in downstream_record.readers_of(block).items():
        rows = downstream_reading.asked(tables.read(table, tier), tables.read("questions", tier))
        made.append(reading.read_all(rows, [{**reader, "backend": "replay"}], store, known=known))
    return pd.concat(made, ignore_index=True) if made else pd.DataFrame()


def kept_scores(tier: str) -> pd.DataFrame:
    """The scores that stand in the files of a tier, with their reader and precision."""
    paths = sorted(scores.FOLDER.glob(f"{tier}-*.csv"))
    return pd.concat([scores.read_file(p, scores.TYPES, [*scores.KEY, *scores.VALUES[:4]]) for p in paths]) if paths else pd.DataFrame()
