"""Language models as rerankers: any text becomes a permutation, sorts ask no more than their bound, contradictions are counted, nothing is asked twice."""
import itertools
import math
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_reader import save_tiny_reader

from lib import rerankers_judge
from lib.reader_spec import ReaderError, answer_group, build_prompt, reader_id
from lib.rerankers import ask
from lib.rerankers_choice import choices
from lib.rerankers_judge import Judge, choice_group, filled, regenerate, template
from lib.rerankers_model import A_B, YES_NO, Listwise, Pairwise, windows, yes_no
from lib.rerankers_reply import parse
from lib.rerankers_sort import bubble, bubble_bound, insertion, insertion_bound
from lib.store import Store, StoreError, entry_key
from lib.weights import WeightsMissing, locate
from tests.rerank_world import Counter, worths

SPEC = {"model": "smollm2-135m", "precision": "bf16"}
SORTS = [(insertion, insertion_bound), (bubble, bubble_bound)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "recorded", tmp_path / "store")


def judge(store, reader=None):
    return Judge(SPEC, store, reader or Counter(), batch_size=4)


# --- prompts and the judge

def test_prompts_fill_their_places_once_and_keep_braces():
    made = filled("pairwise", question="{first}?", first="a {second} b", second="c")
    assert made.endswith("Question: {first}?\nPassage A: a {second} b\nPassage B: c\nAnswer:") and made.startswith("Which passage helps more")
    with pytest.raises(ValueError, match="has places for .*'passage', 'question'.*got \\['question'\\]"):
        filled("yes_no", question="Who?")
    with pytest.raises(ValueError, match="no prompt 'essay'.*listwise.*pairwise.*yes_no"):
        template("essay")


def test_reranking_prompts_are_no_readers_prompts():
    """Else a new one would rename every reader, and every recorded answer with it."""
    assert all("rerank" not in str(p.parent.name) for p in rerankers_judge.PROMPTS.glob("*.txt"))
    assert reader_id({"model": "smollm2-135m"}) and build_prompt("", "Who?", "closed_book")


def test_every_prompt_is_asked_once_ever_and_a_killed_run_resumes(store):
    passages = worths([3, 9, 1, 7, 5, 2])
    killed = Counter(fail_at=1)
    with pytest.raises(KeyboardInterrupt):
        yes_no(judge(store, killed)).rerank("Who?", passages)
    rest = Counter()
    made = yes_no(judge(store, rest)).rerank("Who?", passages)
    assert len(killed.asked[0]) == 4 and [len(b) for b in rest.asked] == [2] and made.order == [1, 3, 4, 0, 5, 2]
    again = yes_no(Judge(SPEC, store)).rerank("Who?", passages)  # no reader is opened
    assert again == made and made.calls == 6 and made.tokens > 6 * 100


def test_what_was_asked_is_what_can_be_recorded(store):
    asked = judge(store)
    yes_no(asked).rerank("Who?", worths([1, 2]))
    Pairwise(asked, top=None).rerank("Who?", worths([1, 2]))
    sizes = {}
    for group, prompts in asked.asked.values():
        path = store.export(group, prompts)
        sizes[tuple(group["decoding"]["words"])] = len(path.read_text().splitlines()) - 1
    assert sizes == {YES_NO: 2, A_B: 2}


def test_model_precision_and_words_decide_the_key_and_no_reader_shares_it():
    groups = [choice_group(s, w) for s in (SPEC, {**SPEC, "precision": "fp32"}, {**SPEC, "model": "qwen2.5-coder-0.5b"}) for w in (YES_NO, A_B)]
    assert len({str(g) for g in groups}) == 6 and answer_group(SPEC)["kind"] != "rerank_choice"


def test_a_damaged_value_is_one_clear_error(store):
    asked, prompt = judge(store), filled("yes_no", question="Who?", passage="worth 3")
    store.put_many(choice_group(SPEC, YES_NO), {entry_key(choice_group(SPEC, YES_NO), prompt): [1.0, "x"]})
    with pytest.raises(StoreError, match="1 of 1 stored values are damaged"):
        asked.choose([prompt], YES_NO)


def test_an_endpoint_tells_no_odds_but_may_write(store):
    spec = {"backend": "endpoint", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
    with pytest.raises(ReaderError, match="tells no odds of words"):
        Judge(spec, store).choose(["a"], YES_NO)


def test_missing_weights_are_named_with_the_mend(store, monkeypatch):
    from lib import readers_hf

    def nothing(name):
        raise WeightsMissing(f"weights of {name} are not in data/cache/weights; fetch them with `make weights`")

    monkeypatch.setattr(readers_hf, "locate", nothing)
    with pytest.raises(WeightsMissing, match="fetch them with"):
        yes_no(Judge(SPEC, store)).rerank("Who?", ["eel"])


def test_live_choices_are_compared_with_stored_ones(store):
    prompts = [filled("yes_no", question="Who?", passage=p) for p in worths(range(9))]
    asked = judge(store)
    with pytest.raises(ReaderError, match="none of 9 prompts has a stored choice"):
        regenerate(asked, YES_NO, prompts)
    asked.choose(prompts, YES_NO)
    assert regenerate(asked, YES_NO, prompts, n=5)["agreement"] == 1.0

    class Drifts(Counter):
        def _odds(self, prompt, words):
            return super()._odds(prompt, words) + (1.0 if "worth 3" in prompt.split("\n\n")[-1] else 0.1)

    found = regenerate(judge(store, Drifts()), YES_NO, prompts, n=9)
    assert (found["same"], found["n"], found["largest"]) == (8, 9, pytest.approx(1.0)) and "worth 3" in found["differing"][0][0]


# --- pointwise

def test_yes_no_shuffled_is_the_same_order(store):
    texts, chance = worths([4, 8, 1, 6]), random.Random(0)
    for _ in range(5):
        turned = chance.sample(texts, 4)
        assert [turned[i] for i in yes_no(judge(store)).rerank("Who?", turned).order] == worths([8, 6, 4, 1])


# --- pairwise

@pytest.mark.parametrize("sort, bound", SORTS)
@pytest.mark.parametrize("top", [None, 1, 3, 7, 50])
def test_a_sort_with_a_transitive_oracle_gives_the_true_order_within_its_bound(sort, bound, top):
    chance = random.Random(3)
    for n in [0, 1, 2, 3, 8, 20]:
        for _ in range(20):
            worth, asked = [chance.randrange(6) for _ in range(n)], []

            def before(i, j, worth=worth, asked=asked):
                asked.append((i, j))
                return worth[i] > worth[j]

            order = sort(n, before, top)
            true = sorted(range(n), key=lambda i: (-worth[i], i))
            assert sorted(order) == list(range(n)) and order[:top] == true[:top], "ties stay in first-stage order"
            assert len(asked) <= bound(n, top)


def test_bounds_are_reached():
    for sort, bound in SORTS:
        worst = 0
        for worth in itertools.permutations(range(6)):
            asked = []
            sort(6, lambda i, j, asked=asked, worth=worth: asked.append(1) or worth[i] > worth[j])
            worst = max(worst, len(asked))
        assert worst == bound(6)
    asked = []
    bubble(6, lambda i, j: asked.append(1) or False)
    assert len(asked) == 5, "a list that is in order already costs one pass"


@pytest.mark.parametrize("sort", [insertion, bubble])
def test_a_judge_that_goes_in_circles_still_gives_a_permutation_in_finite_time(sort):
    for n, top in ((3, None), (7, 4), (12, None)):
        order = sort(n, lambda i, j: (i - j) % 3 == 1, top)
        assert sorted(order) == list(range(n))
    chance = random.Random(5)
    for _ in range(50):
        assert sorted(sort(9, lambda i, j: chance.random() < 0.5, 4)) == list(range(9))


@pytest.mark.parametrize("sort", ["insertion", "bubble"])
def test_pairwise_asks_both_orders_and_gives_the_true_top(store, sort):
    reader = Counter()
    made = ask(Pairwise(judge(store, reader), sort, top=3), "Who?", worths([3, 9, 1, 7, 5, 2]))
    assert made.order[:3] == [1, 3, 4] and made.repaired == 0 and all(map(math.isnan, made.scores))
    prompts = [p.split("\n\n")[-1] for batch in reader.asked for p in batch]
    assert made.calls == len(prompts) == 2 * len({frozenset(re.findall(r"worth \d", p)) for p in prompts}), "each pair in both orders, once"


def test_a_liking_for_one_place_is_averaged_away_and_its_contradictions_counted(store):
    reader = Counter(favours_first=3.0)
    fair, biased = judge(store), Judge({**SPEC, "precision": "fp32"}, store, reader)
    texts = worths([3, 9, 1, 7, 5, 2])
    made = ask(Pairwise(biased, top=None), "Who?", texts)
    assert made.order == ask(Pairwise(fair, top=None), "Who?", texts).order == [1, 3, 4, 0, 5, 2]
    compared = {frozenset(map(int, re.findall(r"worth (\d)", p.split("\n\n")[-1]))) for batch in reader.asked for p in batch}
    near = [abs(a - b) < 3 for a, b in compared]
    assert made.repaired == sum(near) and 0 < sum(near) < len(near) == made.calls / 2, "only pairs nearer than the bias contradict themselves"


def test_passages_that_say_the_same_are_not_compared(store):
    reader = Counter()
    made = ask(Pairwise(judge(store, reader), top=None), "Who?", ["This one is worth 3 of it."] * 3)
    assert made == ([0, 1, 2], made.scores, 0, 0, 0) and reader.asked == []


# --- listwise

@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80), st.integers(0, 12))
def test_any_text_becomes_a_permutation(text, n):
    order, repaired = parse(text, n)
    assert sorted(order) == list(range(n))
    assert repaired or [int(d) for d in re.findall(r"[0-9]+", text.split("\n")[0])] == [i + 1 for i in order]


@pytest.mark.parametrize("text, order, repaired", [
    ("2 > 3 > 1", [1, 2, 0], False), (" [2] > [3] > [1].\n[9]", [1, 2, 0], False), ("2, 3, 1", [1, 2, 0], False), ("1", [0, 1, 2], True),
    ("2 > 2 > 1", [1, 0, 2], True), ("7 > 3 > 0", [2, 0, 1], True), ("The order is 3 > 2 > 1", [2, 1, 0], True), ("", [0, 1, 2], True),
    ("9" * 5000, [0, 1, 2], True), ("3\u00b2 > 1", [2, 0, 1], True), ("-1 > 2 > 3", [0, 1, 2], True), ("1 > 2 > 3 > 3", [0, 1, 2], True)])
def test_what_is_malformed_is_repaired_and_said_so(text, order, repaired):
    assert parse(text, 3) == (order, repaired)


def test_windows_cover_every_place_and_end_at_the_top():
    for n, window, stride in itertools.product(range(25), (2, 4, 10), (1, 2, 4, 10)):
        if stride > window:
            continue
        made = windows(n, window, stride)
        assert {i for a, b in made for i in range(a, b)} == (set(range(n)) if n > 1 else set())
        assert not made or (made[0][1], made[-1][0]) == (n, 0)
        assert all(b - a <= window for a, b in made) and all(later[1] >= a for (a, _), later in itertools.pairwise(made)), "no gap between two windows"


def test_a_perfect_listwise_judge_brings_the_best_to_the_top_from_anywhere(store):
    values = list(range(20))
    made = ask(Listwise(judge(store), window=4, stride=2), "Who?", worths(values))
    assert made.order[:2] == [19, 18] and made.repaired == 0 and made.calls == len(windows(20, 4, 2)) == 9
    whole = ask(Listwise(judge(store), window=20, stride=10), "Who?", worths(values))
    assert whole.order == values[::-1] and whole.calls == 1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=9), st.integers(0, 11), st.integers(2, 5))
def test_a_listwise_model_may_write_anything(texts, n, window):
    said = itertools.cycle(texts)

    class Forgets(Store):
        """Keeps nothing, so that each example is asked anew."""

        def get_sound(self, group, keys, sound):
            return {}

        def get_many(self, keys):
            return {}

        def put_many(self, group, values):
            pass

    listwise = Listwise(Judge(SPEC, Forgets(), Counter(says=lambda _: next(said))), window, 1)
    made = ask(listwise, "Who?", worths(range(n)))
    assert sorted(made.order) == list(range(n)) and made.calls == len(windows(n, window, 1))


def test_malformed_texts_are_counted_and_kept_as_they_are(store):
    listwise = Listwise(judge(store, Counter(says=lambda _: " 2 > 2, I think\n")), window=3, stride=2)
    made = ask(listwise, "Who?", worths([1, 2, 3, 4, 5]))
    replies = listwise.replies("Who?", worths([1, 2, 3, 4, 5]))
    assert made.repaired == made.calls == len(replies) == 2 and {r.raw for r in replies} == {" 2 > 2, I think\n"}
    assert made.order == [1, 0, 3, 2, 4] and replies[0].ordered == [3, 2, 4]


def test_one_passage_is_no_window_and_blank_ones_go_last(store):
    reader = Counter()
    for make in (lambda: Listwise(judge(store, reader)), lambda: Pairwise(judge(store, reader))):
        assert ask(make(), "Who?", ["eel"])[0] == [0] and ask(make(), "Who?", ["", "worth 1", " "]).order == [1, 0, 2] and ask(make(), "Who?", []).order == []
    assert reader.asked == []


# --- real arithmetic, on a tiny model and on the small ones where they are at hand

@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Folder of a random two-layer Qwen2 whose tokenizer knows " yes" and " no"."""
    pytest.importorskip("torch")
    texts = [template(name) for name in ("yes_no", "pairwise", "listwise")]
    return save_tiny_reader(tmp_path_factory.mktemp("tiny"), [*texts * 3, *[" yes no A B"] * 40], 420)


def test_odds_and_mass_are_those_of_a_plain_forward_pass_with_and_without_a_shared_beginning(tiny):
    import torch

    from lib.readers import open_reader

    prompts = [filled("yes_no", question="Who built it?", passage=p) for p in ("the old mill burned", "no", "the old mill burned" * 4)]
    with open_reader({"model": str(tiny)}) as reader:
        yes, no = (reader.tokenizer(w, add_special_tokens=False)["input_ids"][0] for w in YES_NO)
        plain = [reader.model(torch.tensor([reader.tokenizer(p)["input_ids"]])).logits[0, -1].detach() for p in prompts]
        expected = [(float(v[yes] - v[no]), float(v.softmax(0)[[yes, no]].sum()), len(reader.tokenizer(p)["input_ids"])) for v, p in zip(plain, prompts)]
        for prepare in (lambda: None, lambda: rerankers_judge.share(reader)):
            prepare()
            for found, (odds, mass, n) in zip(choices(reader, prompts, YES_NO), expected):
                assert found.log_odds == pytest.approx(odds, rel=1e-3, abs=1e-4) and found.mass == pytest.approx(mass, rel=1e-2) and found.n_tokens == n
        assert reader._shared(prompts[0], reader.tokenizer(prompts[0])["input_ids"]) > 100, "the beginning is shared"
        with pytest.raises(ValueError, match=r"\[1, \d+\] tokens of this model"):
            choices(reader, prompts, (" yes", " quite improbable"))
    with pytest.raises(ReaderError, match="was closed"):
        choices(reader, prompts, YES_NO)


def test_a_tiny_model_reranks_by_all_three_methods_and_is_not_asked_again(tiny, store):
    made = Judge({"model": str(tiny)}, store)
    passages = ["the old mill burned", "bees sleep", "eels were painted", "the sea"]
    rerankers = [yes_no(made), Pairwise(made, top=2), Listwise(made, window=3, stride=2)]
    first = [ask(r, "Who built it?", passages) for r in rerankers]
    made.close()
    replay = Judge({"model": str(tiny), "backend": "replay"}, store)
    assert all(sorted(f.order) == [0, 1, 2, 3] for f in first)
    again = [ask(r, "Who built it?", passages) for r in (yes_no(replay), Pairwise(replay, top=2), Listwise(replay, window=3, stride=2))]
    assert [(a.order, a.calls, a.tokens, a.repaired) for a in again] == [(f.order, f.calls, f.tokens, f.repaired) for f in first]
    assert regenerate(made, YES_NO, [filled("yes_no", question="Who built it?", passage=p) for p in passages])["agreement"] == 1.0
    made.close()


@pytest.mark.live
def test_the_small_model_prefers_the_passage_that_answers(store):
    try:
        locate("qwen2.5-coder-0.5b")
    except WeightsMissing as error:
        pytest.skip(str(error))
    made = Judge({"model": "qwen2.5-coder-0.5b", "precision": "bf16"}, store)
    passages = ["Bees sleep in winter.", "The Old Bridge of Tollwick was drawn by Isott Vane."]
    ordered = ask(yes_no(made), "Who drew the Old Bridge of Tollwick?", passages)
    made.close()
    assert ordered.order == [1, 0]
