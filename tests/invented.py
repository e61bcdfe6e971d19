"""Invented records in each release's schema, and a writer for them. No sentence here comes from a data set."""
import gzip
import json
from pathlib import Path

MARL = ["Marl", ["The Marl is a river in Harrowfen.", " It ends in the Sea of Aumes."]]
SORREL = ["Edda Sorrel", ["Edda Sorrel painted eels.", " She was born beside the Marl."]]
ELMERS = [[f"Elmer {i}", [f"Elmer {i} keeps bees."]] for i in range(8)]


def hotpot(**changes) -> dict:
    """A bridge question of HotpotQA with its ten paragraphs: painter -> river -> sea."""
    return {"_id": "h1", "question": "In which sea ends the river beside which Edda Sorrel was born?", "answer": "the Sea of Aumes",
            "type": "bridge", "level": "hard", "supporting_facts": [["Edda Sorrel", 1], ["Marl", 1]],
            "context": [*ELMERS[:4], MARL, *ELMERS[4:], SORREL]} | changes


def ircot(**changes) -> dict:
    """The same question in IRCoT's form: whole paragraphs, no type."""
    of = hotpot()
    gold = {title for title, _ in of["supporting_facts"]}
    contexts = [{"id": str(i), "title": title, "paragraph_text": " ".join(sentences), "is_supporting": title in gold}
                for i, (title, sentences) in enumerate(of["context"])]
    return {"question_id": of["_id"], "question_text": of["question"], "contexts": contexts,
            "answers_objects": [{"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": [of["answer"]]}]} | changes


def twowiki(**changes) -> dict:
    """The same question as 2WikiMultiHopQA would have it."""
    fields = hotpot(_id="w1", type="compositional")
    del fields["level"]
    return fields | {"evidences": [["Edda Sorrel", "place of birth", "Marl"]], "entity_ids": "Q1_Q2", "evidences_id": [],
                     "answer_id": "Q7"} | changes


def musique(**changes) -> dict:
    """A three-hop question of MuSiQue; two paragraphs share the title "Old Bridge", and the last hop stands before the first."""
    texts = [("Old Bridge", "The Old Bridge of Tollwick was drawn by Isott Vane."), ("Old Bridge", "The Old Bridge of Dravitsa is made of larch."),
             ("Isott Vane", "Isott Vane came from Gedney Hythe."), ("Elmer", "Elmer keeps bees."), ("The Eel Psalter", "The Eel Psalter lies in Tollwick.")]
    supporting = {4, 0, 2}
    return {"id": "3hop1__1_2_3", "question": "Where did the engineer of the bridge in the town of the Eel Psalter come from?",
            "answer": "Gedney Hythe", "answer_aliases": ["Hythe"], "answerable": True,
            "paragraphs": [{"idx": i, "title": t, "paragraph_text": p, "is_supporting": i in supporting} for i, (t, p) in enumerate(texts)],
            "question_decomposition": [{"id": 1, "question": "Where lies the Eel Psalter?", "answer": "Tollwick", "paragraph_support_idx": 4},
                                       {"id": 2, "question": "Old Bridge of #1 >> engineer", "answer": "Isott Vane", "paragraph_support_idx": 0},
                                       {"id": 3, "question": "#2 >> origin", "answer": "Gedney Hythe", "paragraph_support_idx": 2}]} | changes


def ragbench(**changes) -> dict:
    """A question of RAGBench with three documents, of which the first and the last are relevant."""
    documents = ["Title: Marsh fever\nMarsh fever is caught near still water. It lasts nine days.", "Bees sleep in winter.", "Willow bark lowers the fever."]
    return {"id": "407", "question": "How is marsh fever eased?", "documents": documents,
            "documents_sentences": [[["0a", "Title: Marsh fever\nMarsh fever is caught near still water."], ["0b", "It lasts nine days."]],
                                    [["1a", "Bees sleep in winter."]], [["2a", "Willow bark lowers the fever."]]],
            "response": "Marsh fever lasts nine days and is eased by willow bark.", "all_relevant_sentence_keys": ["0b", "2a"],
            "all_utilized_sentence_keys": ["2a"], "generation_model_name": "invented", "relevance_score": float("nan")} | changes


def write(path: Path, *records: dict | str) -> Path:
    """Write records (or raw lines) as JSON lines, gzip'd where the name says so."""
    lines = "".join((r if isinstance(r, str) else json.dumps(r, ensure_ascii=False)) + "\n" for r in records).encode()
    path.write_bytes(gzip.compress(lines) if path.name.endswith(".gz") else lines)
    return path
