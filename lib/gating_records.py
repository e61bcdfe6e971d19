"""What gates learn from, of corpora too large for a notebook, made once and kept without any text (document 002).

usage: python -m lib.gating_records --world 1000 --documents 3000 --out FOLDER        1,000 questions at each of 1, 2 and 3 hops
       python -m lib.gating_records --corpus F --questions F --supporting F --dataset 2wiki-corpus --out FOLDER

Some 13 passages a question go through the cross-encoder, 20 to 50 ms each on one core; each batch is stored as soon as it is scored, so a killed run resumes.
FOLDER gets <dataset>-questions.csv.gz (features, target, cost, and the question's vector turned to its first 32 principal directions) and
<dataset>-candidates.csv.gz (lib.gating_lists.CANDIDATES). Titles are keys and no text is quoted: the files may be committed.
"""
from __future__ import annotations

import argparse
import gzip
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from lib import depth_corpus, gating_lists, graph_list, hops, retrieval, worlds
from lib.cross_encoder import CrossEncoderError
from lib.gating_features import NAMES, SCHEMA, feature_table
from lib.gating_models import basis_of
from lib.gating_sets import lists_of, targets_of
from lib.keys import check_ids, check_once, keyed, told_texts
from lib.passages import Passage
from lib.ranking import QUESTION
from lib.records import DataError, Record, read_records
from lib.store import Store, StoreError
from lib.tables import write_atomically
from lib.vectors import CACHE, DIMENSIONS, embed, truncate
from lib.weights import WeightsError
from lib.whole import check_whole

VECTOR = 32  # directions kept: the largest PCA of the grid
DIGITS = {"questions": "%.6g", "candidates": "%.7g"}
TOLD = [*QUESTION, "half", "n_hops", "target", "reranker", "pairs", "tokens", "schema"]
QUESTIONS = [*TOLD, *NAMES, *(f"v{i + 1}" for i in range(VECTOR))]
SPEC = {"method": "cross_encoder", "model": "reranker"}
ENDS = {"questions": "-questions.csv.gz", "candidates": "-candidates.csv.gz"}


def world_tables(n: int, documents: int, seed: int = 7, dataset: str = "world") -> dict[str, pd.DataFrame]:
    """questions, gold and documents of one generated world: ``n`` questions at each of 1, 2 and 3 hops over the same passages."""
    made = {h: worlds.world(n, hops=h, seed=seed, documents=documents, dataset=dataset) for h in (1, 2, 3)}
    joined = {t: pd.concat([w[t].assign(qid=f"h{h}-" + w[t]["qid"]) for h, w in made.items()], ignore_index=True) for t in ("questions", "gold")}
    return joined | {"documents": made[1]["documents"]}


def corpus_tables(corpus: Path, questions: Path, supporting: Path, dataset: str) -> dict[str, pd.DataFrame]:
    """The same of a released corpus (``depth_corpus.read_corpus``), with the last hop where exactly one gold passage holds the answer (``lib.hops``)."""
    tables = depth_corpus.read_corpus(corpus, questions, supporting, dataset)
    told = {r.fields.get("id", r.fields["_id"]): (_answers(r), str(r.fields["type"])) for r in read_records(supporting)}
    text, rows = tables["documents"].set_index("doc_id"), []
    for qid, mine in tables["gold"].groupby("qid"):
        answers, kind = told[qid]
        gold = [Passage(text.at[d, "title"], text.at[d, "text"], None, "release", False) for d in mine["doc_id"]]
        found = hops.order_by_answer(gold, answers, kind, [])
        rows += [(dataset, qid, g.doc_id, 1, g.hop, g.is_last_hop) for g in found]
    gold = pd.DataFrame(rows, columns=[*QUESTION, "doc_id", "grade", "hop", "is_last_hop"])
    hops_of = gold.groupby("qid").size()
    return {**tables, "gold": gold, "questions": tables["questions"].assign(n_hops=tables["questions"]["qid"].map(hops_of))}


def _answers(record: Record) -> list[str]:
    told = record.fields.get("answer")
    answers = list(told) if isinstance(told, (list, tuple)) else [told]
    if not answers or not all(isinstance(a, str) for a in answers):
        raise record.error("answer", f"is {str(told)[:40]!r}", "give a text, or a list of texts")
    return answers


def recorded(tables: dict[str, pd.DataFrame], store: Store | None = None, cache: Path | None = CACHE,
             progress: bool = True) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(QUESTIONS, gating_lists.CANDIDATES) of the questions of one data set that have a text and a last hop: graph and dense lists, their union reranked.

    Raises ValueError for tables of several data sets, rows given twice, a question with two last hops, and where none is left; WeightsError where the reranker
    cannot order the unions.
    """
    asked, documents = told_texts(keyed(tables["questions"], "questions"), ["question"], "questions"), tables["documents"]
    check_ids(asked, "questions", ["half", "n_hops"])
    check_once(asked, QUESTION, "questions")
    check_once(documents, ["dataset", "doc_id"], "documents")
    if asked["dataset"].nunique() > 1:
        raise ValueError(f"questions of the data sets {sorted(set(asked['dataset']))}; record one at a time")
    targets = targets_of(keyed(tables["gold"], "gold"), documents)
    check_once(targets, QUESTION, "last hops", "a chain ends in one passage")
    targets = targets[[*QUESTION, "doc_id"]].rename(columns={"doc_id": "target"})
    questions = asked[asked["question"].str.strip() != ""].merge(targets, on=QUESTION, validate="one_to_one").sort_values(QUESTION, ignore_index=True)
    if questions.empty:
        raise ValueError(f"none of {len(asked)} questions has a text and a last hop, so there is nothing to record; give questions whose chain ends "
                         "in one passage")
    encoder = retrieval.encoder("minilm")
    none = pd.DataFrame({c: pd.Series(dtype=object) for c in ("dataset", "qid", "doc_id")})
    graph = graph_list.rank_sets(questions, documents, encoder, 50, DIMENSIONS, cache)
    dense = retrieval.rank(questions, documents, none, encoder, scopes=("pooled",), depth=50, cache=cache)
    rankings = pd.concat([graph, dense[dense["ranker"] == "dense"]], ignore_index=True)
    made = gating_lists.made(rankings, questions, documents, SPEC, store=store, progress=progress)
    if made.left_out:
        raise WeightsError("; ".join(f"{name}: {reason}" for name, reason in made.left_out.items()))
    if lost := len(questions) - len(made.usage):
        raise ValueError(f"of {lost} of {len(questions)} questions no candidate could be read; the corpus holds {len(documents)} passages: give their texts")
    vectors = truncate(embed(questions["question"].tolist(), encoder, cache), DIMENSIONS).astype(float)
    basis = basis_of(vectors, VECTOR)
    turned = np.zeros((len(questions), VECTOR))
    turned[:, :basis.directions.shape[1]] = (vectors - basis.centre) @ basis.directions
    rows = questions.reindex(columns=[*QUESTION, "half", "n_hops", "target"]).merge(made.usage, on=QUESTION, how="left",
                                                                                                 validate="one_to_one").assign(schema=SCHEMA)
    rows = rows.merge(feature_table(lists_of(made.candidates), questions), on=QUESTION, validate="one_to_one")
    return rows.join(pd.DataFrame(turned, columns=[f"v{i + 1}" for i in range(VECTOR)]))[QUESTIONS], made.candidates


def write(questions: pd.DataFrame, candidates: pd.DataFrame, folder: Path) -> list[Path]:
    """Write both tables, of one data set, as gzipped CSV, the same bytes for the same rows; the paths. Raises ValueError for several data sets or none."""
    if len(names := sorted(set(questions["dataset"]) | set(candidates["dataset"]))) != 1:
        raise ValueError(f"a pair of files holds one data set, got {names}; write each one by itself")
    contents = {}
    for path, (name, rows) in zip(file_names(names[0]), (("questions", questions), ("candidates", candidates)), strict=True):
        contents[Path(folder) / path] = gzip.compress(rows.to_csv(index=False, float_format=DIGITS[name], lineterminator="\n").encode(), mtime=0)
    for path, content in reversed(contents.items()):  # questions last: a pair is found by them
        write_atomically(path, lambda p, content=content: Path(p).write_bytes(content))
    return list(contents)


def file_names(dataset: str) -> list[str]:
    """The names of the two files of a data set; raises ValueError for a name that no file can bear.

    >>> file_names("world")
    ['world-questions.csv.gz', 'world-candidates.csv.gz']
    """
    if not dataset.strip() or dataset.startswith(".") or len(dataset.encode()) > 200 or any(c in "/\\" or not c.isprintable() for c in dataset):
        raise ValueError(f"the data set is called {dataset[:60]!r}, and its files would be, too; name it without slashes, a leading dot and control characters "
                         "(--dataset)")
    return [dataset + end for end in ENDS.values()]


def check_absent(folder: str | Path, names: Sequence[str], replace: bool) -> None:
    """Raise ValueError where a file of one of ``names`` is there already, unless it may be replaced."""
    if not replace and (there := [n for n in names if (Path(folder) / n).exists()]):
        raise ValueError(f"{there[0]} is there already; name the data set otherwise (--dataset), or ask for --replace")


def run(given: argparse.Namespace) -> str:
    """Read or generate, rank, rerank, write; what was done, in a sentence."""
    _, tables = asked_of(given, file_names, "question set")  # refused before hours of scoring
    questions, candidates = recorded(tables(), Store(), given.vectors)
    names = write(questions, candidates, given.out)
    return f"{len(questions)} questions, {len(candidates)} candidates in {' and '.join(p.name for p in names)}"


def asked_of(given: argparse.Namespace, files_of: Callable[[str], Sequence[str]], what: str) -> tuple[str, Callable[[], dict[str, pd.DataFrame]]]:
    """(the data set's name, what reads or generates its tables) of the arguments of ``parser_of``; ``files_of``: the files that will be written, by name.

    Raises ValueError for arguments that ask for nothing or for two things, a folder that cannot be written to, and files that are there.
    """
    from lib.viability_run import check_folder  # it takes a second

    for name in ("world", "documents"):
        check_whole(f"--{name}", getattr(given, name), 0 if name == "world" else 1)
    files = [given.corpus, given.questions, given.supporting]
    if bool(given.world) == any(files) or any(files) and not all(files):
        raise ValueError("name a corpus by --corpus, --questions and --supporting, or ask for a generated one by --world N")
    name = given.dataset if given.dataset is not None else "world" if given.world else "corpus"
    check_folder(given.out, files, files_of(name), what)
    check_absent(given.out, files_of(name), given.replace)
    return name, lambda: world_tables(given.world, given.documents, dataset=name) if given.world else corpus_tables(*files, name)


def parser_of(module: str, about: str, out: str) -> argparse.ArgumentParser:
    """The arguments that name a corpus or a world, and the folder (``out`` says of what) to write to."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=about)
    told = {"corpus": "JSON or JSON lines: title, text", "questions": "id or _id, question", "supporting": "_id, type, supporting_facts, answer"}
    for name, fields in told.items():
        parser.add_argument(f"--{name}", type=Path, help=fields)
    parser.add_argument("--replace", action="store_true", help="write over files of this data set that are there")
    parser.add_argument("--dataset", help="its name in every table and in the file names (default world or corpus)")
    parser.add_argument("--world", type=int, default=0, help="questions at each of 1, 2 and 3 hops of a generated world")
    parser.add_argument("--documents", type=int, default=3000, help="passages of the world, a multiple of 6 (default 3000)")
    parser.add_argument("--vectors", type=Path, default=CACHE)
    parser.add_argument("--out", required=True, help=out)
    return parser


def main(arguments: list[str]) -> int:
    given = parser_of("lib.gating_records", __doc__.split("\n")[0], "folder of the two files").parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        print(run(given))
    except (ValueError, OSError, DataError, WeightsError, StoreError, CrossEncoderError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
