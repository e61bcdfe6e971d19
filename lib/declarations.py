"""Every table of the compendium, declared once: meaning, key, columns (type and what it holds).

A type ends in ``?`` where a value may be missing; missing means undefined or unknown, never zero.
"""
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

DECLARATIONS = {
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
        "certificate": ("float?", "value over an upper bound of the optimum, without the snippet cap; submod only")}),
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
    "outcomes": dict(format="parquet", key=["dataset", "qid", "pack_id", "policy", "budget", "reader", "precision"],
                     meaning="one row a question, policy, budget and reader: everything measured", columns={
        **QUESTION, **PACK, **READER, "slice": ("str", "grouping"), "half": ("int", "0 or 1"), "question_type": ("str", "kind of question"),
        "em": ("float?", "exact match"), "f1": ("float?", "token F1"), "f1_raw": ("float?", "token F1 before extraction"), **SURVIVAL,
        "recall_at_5": ("float?", "share of gold in the pool's ranking, top 5"), "all_gold_at_5": ("float?", "1: all gold in its top 5"),
        "chosen": ("str?", "oracle rows: the policy the oracle took")}),
    "settings": dict(format="csv", key=["id"], meaning="what each pool_id and pack_id stands for", columns={
        "id": ("str", "pool_id or pack_id"), "kind": ("str", "pool or pack"), "settings": ("str", "all settings as JSON")}),
    "retrieval": dict(format="csv", key=["tier", "dataset", "scope", "ranker", "measure"], meaning="ranking measures, mean over questions", columns={
        "tier": ("str", "sample, real or paper"), "dataset": QUESTION["dataset"], "scope": ("str", "own or pooled"), "ranker": ("str", "ranker"),
        "measure": ("str", "name with cutoff"), **INTERVAL, "undefined": ("int", "questions left out and counted")}),
    "policies": dict(format="csv", key=["tier", "dataset", "pack_id", "policy", "budget", "reader", "precision", "half", "measure"],
                     meaning="each measure of each policy, mean over questions", columns={
        "tier": ("str", "tier"), "dataset": QUESTION["dataset"], **PACK, **READER, "half": ("str", "0, 1 or all"),
        "measure": ("str", "column of outcomes"), **INTERVAL, "undefined": ("int", "questions left out and counted")}),
    "packing": dict(format="csv", key=["tier", "dataset", "pack_id", "policy", "budget", "half", "measure"],
                    meaning="what survives into the packed context, mean over questions; no reader involved", columns={
        "tier": ("str", "tier"), "dataset": QUESTION["dataset"], **PACK, "half": ("str", "0, 1 or all"), "measure": ("str", "column of survival"),
        **INTERVAL, "undefined": ("int", "questions left out and counted")}),
    "choices": dict(format="csv", key=["tier", "dataset", "pack_id", "half", "policy", "measure"],
                    meaning="every packing setting tried, beside the published column and the main setting", columns={
        "tier": ("str", "tier"), "dataset": QUESTION["dataset"], "pack_id": PACK["pack_id"], "half": ("str", "0 (choose), 1 (confirm) or all"),
        "policy": PACK["policy"], "measure": ("str", "column of survival"), "ours": ("float?", "mean over questions"), "ci_low": INTERVAL["ci_low"],
        "ci_high": INTERVAL["ci_high"], "published": ("float?", "document 000, Table 6; HotpotQA only"), "difference": ("float?", "ours - published"),
        "moved": ("float?", "ours - the main setting's"), "n": INTERVAL["n"]}),
    "correlations": dict(format="csv", key=["tier", "dataset", "reader", "precision", "predictor", "outcome"],
                         meaning="Pearson correlation over question rows of the four published policies pooled; undefined answer-in-context counts 0 unless _defined", columns={
        "tier": ("str", "tier"), "dataset": ("str", "data set, or all"), **READER, "predictor": ("str", "diagnostic"), "outcome": ("str", "f1 or em"),
        **INTERVAL}),
    "conditional": dict(format="csv", key=["tier", "dataset", "reader", "precision", "condition", "holds", "measure"],
                        meaning="mean answer quality where a condition holds and where it does not; questions with a defined answer, four published policies", columns={
        "tier": ("str", "tier"), "dataset": QUESTION["dataset"], **READER, "condition": ("str", "indicator column"), "holds": ("int", "1 or 0"),
        "measure": ("str", "f1 or em"), **INTERVAL}),
    "contrasts": dict(format="csv", key=["tier", "dataset", "pack_id", "budget", "reader", "precision", "half", "treatment", "control", "metric"],
                      meaning="paired differences, treatment - control", columns={
        "tier": ("str", "tier"), "dataset": QUESTION["dataset"], "pack_id": PACK["pack_id"], "budget": PACK["budget"], **READER,
        "half": ("str", "0, 1 or all"), "treatment": ("str", "policy"), "control": ("str", "policy"), "metric": ("str", "column of outcomes"),
        "delta": ("float", "mean of treatment - control"), "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"],
        "p_value": ("float?", "two-sided, paired cluster bootstrap"), "p_holm": ("float?", "Holm over the pairs and metrics of one data set, pack, budget, reader and half"),
        "mde": ("float?", "minimum detectable effect at 80 % power"), "n": INTERVAL["n"], "clusters": INTERVAL["clusters"]}),
    "waterfall": dict(format="csv", key=["tier", "dataset", "pack_id", "policy", "budget", "reader", "precision", "stage"],
                      meaning="where answers are lost, stage by stage, over questions with a defined answer", columns={
        "tier": ("str", "tier"), "dataset": QUESTION["dataset"], **PACK, **READER, "stage": ("str", "corpus, pool, context, read"),
        "order": ("int", "place in the chain"), "share": ("float", "share of defined questions still alive"), "lost": ("float", "share lost here"),
        "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"], "n": INTERVAL["n"], "undefined": ("int", "questions without a defined answer")}),
    "claims": dict(format="csv", key=["claim", "tier"], meaning="published beside ours (data/published/README.md)", columns={
        "claim": ("str", "name"), "tier": ("str", "tier"), "source": ("str", "document and place"), "dataset": ("str", "published data set"),
        "compared_with": ("str?", "our data set: the published one, or the corpus that stands in for it"),
        "reader_needed": ("str?", "published reader and number format; missing where none is involved"), "reader": ("str?", "ours"),
        "headline": ("bool", "drawn in the figure"), "published": ("float?", "published value"),
        "published_low": ("float?", "published interval, lower end"), "published_high": ("float?", "published interval, upper end"),
        "published_p": ("str?", "published p, as printed"), "effect": ("float?", "published effect: our half-width may be as large"),
        "ours": ("float?", "our value"), "ci_low": INTERVAL["ci_low"], "ci_high": INTERVAL["ci_high"], "difference": ("float?", "ours - published"),
        "n": ("int?", "questions or rows"), "verdict": ("str", "reproduced, differs, inconclusive, not run"), "note": ("str?", "what differs in the set-up, or why not run")}),
}
