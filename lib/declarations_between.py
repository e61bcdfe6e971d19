"""The tables between stages, Parquet under data/derived/<tier>/, and the columns that many tables share (form: see ``lib.declarations``)."""
QUESTION = {"dataset": ("str", "data set the question belongs to"), "qid": ("str", "question id, unique within the data set")}
PACK = {"pack_id": ("str", "candidate pool, snippet settings, budget tokenizer and order (table settings)"),
        "policy": ("str", "packing rule"), "budget": ("int", "tokens the evidence may use")}
READER = {"reader": ("str", "reader model's short name"), "precision": ("str", "number format of the weights: fp32, bf16, fp16, nf4")}
DOC = {"doc_id": ("str", "retrieval unit: one passage")}
INTERVAL = {"estimate": ("float?", "point estimate"), "ci_low": ("float?", "lower end of the 95 % interval"),
            "ci_high": ("float?", "upper end of the 95 % interval"), "n": ("int", "rows"), "clusters": ("int", "distinct questions")}
SURVIVAL = {
    "answer_in_context": ("int", "1: an answer stands in one packed snippet; undefined counts 0 (the published convention)"),
    "answer_in_context_spaced": ("int", "the same with Unicode punctuation read as space"),
    "answer_defined": ("bool", "whether the question has a span to look for"), "undefined_reason": ("str", "empty where defined"),
    "answer_in_pool": ("int", "the same on all candidate snippets"), "answer_in_corpus": ("int", "the same on all passages of the scope"),
    "gold_coverage": ("float?", "share of gold passages packed"), "all_gold_in_context": ("float?", "1: all of them"),
    "gold_density": ("float?", "share of tokens from gold passages"), "n_tokens": ("int", "budget tokens packed"), "n_snippets": ("int", "snippets packed")}

BETWEEN = {
    "questions": dict(format="parquet", key=["dataset", "qid"], meaning="one row a question", columns={
        **QUESTION, "question": ("str", "the question as asked"), "answers": ("list", "accepted answers, the canonical one first"),
        "question_type": ("str", "bridge, comparison_yesno, comparison_choice, compositional, single, paraphrased, free_form, ..."),
        "slice": ("str", "what results are grouped by: data set and split"), "n_hops": ("int?", "gold passages to combine"),
        "half": ("int", "0: settings are chosen here; 1: confirmed here"), "seeds": ("list", "which seeds draw this question")}),
    "gold": dict(format="parquet", key=["dataset", "qid", "doc_id"], meaning="the passages that support the answer", columns={
        **QUESTION, **DOC, "grade": ("int", "relevance grade, 1 or more"), "hop": ("int?", "place in the chain, from 1"),
        "is_last_hop": ("bool?", "the passage the chain ends in; missing where undefined")}),
    "documents": dict(format="parquet", key=["dataset", "doc_id"], meaning="one row a passage of the corpus", columns={
        "dataset": QUESTION["dataset"], **DOC, "title": ("str", "title, not unique"), "text": ("str", "text without line breaks"),
        "sentences": ("list", "[start, end] character offsets of each sentence"), "split_by": ("str", "who split the sentences"),
        "source_type": ("str?", "kind of source"), "authority": ("str?", "who stands behind it"),
        "effective_from": ("str?", "first day of validity"), "effective_to": ("str?", "last day of validity"),
        "jurisdiction": ("str?", "where it holds"), "entitlement": ("str?", "who may read it"),
        "superseded_by": ("str?", "doc_id of the version that replaces it")}),
    "pools": dict(format="parquet", key=["dataset", "qid", "doc_id"], meaning="the question's own paragraphs", columns={**QUESTION, **DOC}),
    "rankings": dict(format="parquet", key=["dataset", "qid", "scope", "ranker", "rank"], meaning="a ranker's ordered list", columns={
        **QUESTION, "scope": ("str", "own: the question's paragraphs; pooled: all paragraphs"), "ranker": ("str", "dense, bm25, hybrid, ..."),
        "rank": ("int", "place, 1 first"), **DOC, "score": ("float", "the ranker's score, not comparable between rankers")}),
    "reranked": dict(format="parquet", key=["dataset", "qid", "scope", "ranker", "rank"], meaning="a list made of others: reranked, fused, or retrieved again",
                     columns={
        **QUESTION, "scope": ("str", "own: the question's paragraphs; pooled: all paragraphs"), "ranker": ("str", "first stage + reranker, or a second retrieval"),
        "rank": ("int", "place, 1 first"), **DOC, "score": ("float", "falls along the list; below what a reranker read it only keeps the order")}),
    "snippets": dict(format="parquet", key=["dataset", "qid", "pool_id", "representation", "snippet_id"], meaning="packing candidates", columns={
        **QUESTION, "pool_id": ("str", "scope, ranker and depth the candidates come from"), "representation": ("str", "chunk or ace"),
        "snippet_id": ("str", "packing unit"), **DOC, "doc_rank": ("int", "first-stage rank of its document"),
        "position": ("int", "place within its document, from 0"), "start": ("int", "first character in the document"),
        "end": ("int", "one past the last character"), "text": ("str", "the snippet"), "n_tokens": ("int", "budget tokens of snippet + line break"),
        "relevance": ("float", "relevance to the question, [0, 1]")}),
    "packs": dict(format="parquet", key=["dataset", "qid", "pack_id", "policy", "budget", "position"], meaning="what each packer kept", columns={
        **QUESTION, **PACK, "position": ("int", "reading order, from 0"), "snippet_id": ("str", "packing unit"), **DOC,
        "n_tokens": ("int", "budget tokens charged"), "marginal_gain": ("float?", "what the pick added to the packer's own objective")}),
    "contexts": dict(format="parquet", key=["dataset", "qid", "pack_id", "policy", "budget"], meaning="the packed text a reader sees", columns={
        **QUESTION, **PACK, "context": ("str", "snippets joined by line breaks; may be empty"), "context_hash": ("str", "sha256 of the context"),
        "n_tokens": ("int", "budget tokens charged: of the joined text and its last line break"),
        "n_tokens_alone": ("int", "the snippets' tokens one by one, without line breaks"), "n_snippets": ("int", "snippets packed"),
        "certificate": ("float?", "F over an upper bound of the optimum under the budget alone; submod only")}),
    "ace_spans": dict(format="parquet", key=["dataset", "snippet_id", "part"], meaning="where every character of a graph snippet comes from", columns={
        "dataset": QUESTION["dataset"], "snippet_id": ("str", "packing unit: document and claim"), "part": ("int", "place in the snippet, from 0"),
        "role": ("str", "claim, or the introduction that says who it speaks of"), **DOC, "start": ("int", "first character in the document"),
        "end": ("int", "one past the last character"), "n_tokens": ("int", "budget tokens of the part alone")}),
    "ace_sources": dict(format="parquet", key=["dataset", "qid", "pool_id", "source_id"], meaning="claims that another claim of the pool stands for", columns={
        **QUESTION, "pool_id": ("str", "scope, ranker and depth the candidates come from"), "snippet_id": ("str", "the claim that is shown"),
        "source_id": ("str", "the near-duplicate it stands for"), **DOC, "start": ("int", "first character of the source in its document"),
        "end": ("int", "one past the last character")}),
    "readings": dict(format="parquet", key=["dataset", "qid", "pack_id", "policy", "budget"],
                     meaning="which contexts were put before the readers, closed book (pack none, budget 0) included", columns={
        **QUESTION, **PACK, "context_hash": ("str", "sha256 of the context, or closed_book")}),
    "answers": dict(format="parquet", key=["dataset", "qid", "context_hash", "reader", "precision"], meaning="what the reader said", columns={
        **QUESTION, "context_hash": ("str", "sha256 of the context"), **READER, "reader_id": ("str", "model, revision, decoding, prompt"),
        "prompt_hash": ("str", "sha256 of the whole prompt"), "prediction": ("str?", "answer after extraction; missing where only scores are kept"),
        "raw_text": ("str?", "what the model generated"), "em": ("float", "exact match"), "f1": ("float", "token F1"),
        "em_raw": ("float", "exact match before extraction"), "f1_raw": ("float", "token F1 before extraction"),
        "n_prompt_tokens": ("int?", "the reader's own tokens in the prompt"), "n_new_tokens": ("int?", "tokens generated")}),
    "survival": dict(format="parquet", key=["dataset", "qid", "pack_id", "policy", "budget"], meaning="what survived into each packed context", columns={
        **QUESTION, **PACK, **SURVIVAL}),
    "holders": dict(format="parquet", key=["dataset", "qid", "doc_id"], meaning="pool and gold passages, and which of them hold the answer", columns={
        **QUESTION, **DOC, "rank": ("int?", "place in the main pool's ranking; missing where the pool lacks the passage"),
        "is_gold": ("bool", "supports the answer"),
        "holds_answer": ("int", "1: an accepted answer stands verbatim in its text; undefined counts 0")}),
    "support": dict(format="parquet", key=["dataset", "qid", "context_hash", "scorer"],
                    meaning="how strongly a context that was read, whole or ablated, supports the accepted answer, judged without a span", columns={
        **QUESTION, "context_hash": ("str", "sha256 of the context"),
        "scorer": ("str", "what judged (lib.scorers): log-probability of a reader, similarity, cross-encoder"),
        "score": ("float?", "the scorer's own scale, higher is more support; missing: the context is empty, or a yes or no that only a reader can judge")}),
    "ablations": dict(format="parquet", key=["dataset", "qid", "pack_id", "policy", "budget", "removed"],
                      meaning="packed contexts that hold the answer, and the same with snippets taken out", columns={
        **QUESTION, **PACK, "removed": ("str", "answer: the snippets that hold it; other: as many that do not, the control"),
        "context_hash": ("str", "sha256 of the whole context"), "ablated_hash": ("str", "sha256 of what is left"),
        "n_removed": ("int", "snippets taken out"), "n_left": ("int", "snippets left")}),
    "outcomes": dict(format="parquet", key=["dataset", "qid", "pack_id", "policy", "budget", "reader", "precision"],
                     meaning="one row a question, policy, budget and reader: everything measured", columns={
        **QUESTION, **PACK, **READER, "slice": ("str", "grouping"), "half": ("int", "0 or 1"), "question_type": ("str", "kind of question"),
        "em": ("float?", "exact match"), "f1": ("float?", "token F1"), "f1_raw": ("float?", "token F1 before extraction"), **SURVIVAL,
        "recall_at_5": ("float?", "share of gold in the pool's ranking, top 5"), "all_gold_at_5": ("float?", "1: all gold in its top 5"),
        "chosen": ("str?", "oracle rows: the policy the oracle took")}),
}
