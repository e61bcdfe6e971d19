"""What the claim/entity graph shows and where: the finding in words, the entities worth a row, the cards of the claims (SPEC 10)."""
from __future__ import annotations

import textwrap

import pandas as pd

WIDTH, BETWEEN, HEAD = 708, 10, 40  # pixels: the whole, between two columns, above the cards
LINE, LETTERS, LINES = 12, 23, 6  # a card's line in pixels, its letters where there are five columns, its lines


def finding(got: pd.DataFrame, entities: pd.DataFrame, edges: pd.DataFrame) -> str:
    """What, as far as the parser saw, ties the claim with the answer to the other gold passages. A parser misses links, so none found is not none there."""
    holders = got[got["holds_answer"]]
    if holders.empty:
        return "In the claims parsed from the retrieved passages the answer is not found"
    spelt, title = dict(zip(entities["entity"], entities["name"])), dict(zip(got["doc_id"], got["title"]))
    best = holders.sort_values(["is_gold", "doc_rank", "claim"], ascending=[False, True, True]).iloc[0]
    gold = set(got.loc[got["is_gold"], "doc_id"]) - {best["doc_id"]}
    mine = set(edges[(edges["doc_id"] == best["doc_id"]) & (edges["claim"] == best["claim"])]["entity"])
    tied = edges[edges["entity"].isin(mine) & edges["doc_id"].isin(gold)]
    if not gold:
        return "No other gold passage stands beside the claim with the answer"
    if tied.empty:
        return "The parser found no entity that joins the claim with the answer to another gold passage"
    first = tied.iloc[0]
    return f"By the parser, “{spelt[first['entity']]}” joins a claim of “{title[first['doc_id']]}” to the claim with the answer"


def rows_drawn(links: pd.DataFrame, got: pd.DataFrame, most: int) -> list[str]:
    """Entities worth a row, in order of their first claim: ``most`` of them, preferring many documents, then claims with the answer, then many claims."""
    holders = set(got.loc[got["holds_answer"], ["doc_id", "claim"]].itertuples(index=False, name=None))
    order = {key: k for k, key in enumerate(got[["doc_id", "claim"]].itertuples(index=False, name=None))}
    told = []
    for entity, part in links.groupby("entity"):
        here = list(part[["doc_id", "claim"]].itertuples(index=False, name=None))
        if len(here) > 1 or holders & set(here):
            told.append((-part["doc_id"].nunique(), -bool(holders & set(here)), -len(here), min(order[h] for h in here), entity))
    return [t[-1] for t in sorted(sorted(told)[:most], key=lambda t: (t[3], t[-1]))]


def cards(got: pd.DataFrame, shown: list[str], answer: str) -> pd.DataFrame:
    """Each claim's lines and box; a long claim is cut, around the answer where it holds it."""
    letters = round(LETTERS * 5 / len(shown))
    lines = [_lines(t, answer if holds else "", letters) for t, holds in zip(got["text"], got["holds_answer"])]
    out = got.assign(lines=lines, number=range(1, len(got) + 1), column=got["doc_id"].map(shown.index))
    numbers = dict(zip(zip(out["doc_id"], out["claim"]), out["number"]))
    out["after"] = [numbers.get((d, int(by))) if pd.notna(by) else None for d, by in zip(out["doc_id"], out["introduced_by"])]
    tall = 20 + LINE * out["lines"].map(len)
    out["top"] = HEAD + (tall + 6).groupby(out["column"]).cumsum() - tall - 6
    step = (WIDTH + BETWEEN) / len(shown)
    return out.assign(bottom=out["top"] + tall, left=out["column"] * step, right=(out["column"] + 1) * step - BETWEEN)


def _lines(text: str, answer: str, letters: int) -> list[str]:
    cut = textwrap.wrap(text, letters)
    if len(cut) <= LINES:
        return cut
    at = next((k for k in range(len(cut)) if answer.lower() in " ".join(cut[k:k + 2]).lower()), 0) if answer else 0
    start = max(0, min(at - LINES // 2, len(cut) - LINES))
    part = cut[start:start + LINES]
    part[0] = f"… {part[0]}" if start else part[0]
    return part if start + LINES >= len(cut) else [*part[:-1], f"{part[-1]} …"]
