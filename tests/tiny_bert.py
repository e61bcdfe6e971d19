"""A random BERT of two layers in MiniLM's place, and a rule that it can learn in a second: what tests of the cross-encoder share."""
import random

import pandas as pd

from lib import train_cross_encoder
from lib.cross_encoder_fit import Fit, train
from lib.cross_encoder_model import CrossEncoder, load_model, load_tokenizer, quiet

WORDS = "who what river mill bees eels marl good bad old brown slow near keeps holds painted in the of ends sea far town red blue".split()
QUICK = Fit(epochs=3, batch_size=8, learning_rate=5e-3, max_length=40, checkpoint_steps=4)


def tiny_base(folder):
    """A folder as MiniLM's: a random BERT of two layers and 32 numbers, and a tokenizer that knows thirty words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel

    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(8)  # as MiniLM's own file does; the loader must switch it off
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(0)
    with quiet():
        config = BertConfig(vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
        BertModel(config).save_pretrained(folder)
    return folder


def planted(n=240, seed=0):
    """Pairs with one rule: a passage is right when it says "good"."""
    chance, rows = random.Random(seed), []
    for _ in range(n):
        label = chance.random() < 0.5
        filler = [w for w in WORDS if w not in ("good", "bad")]
        body = chance.choices(filler, k=chance.randint(2, 20)) + ["good" if label else "bad"]
        chance.shuffle(body)
        rows.append((" ".join(chance.choices(filler, k=4)), " ".join(body), int(label)))
    return pd.DataFrame(rows, columns=["text_a", "text_b", "label"])


def taught_in(folder, base):
    """A model trained on the planted rule, under ``taught`` in a folder of trained models, with its card: (what ``train`` returned, folder)."""
    made = train(planted(), base, folder / "taught", QUICK, {"name": "taught", "recipe": {"target": "rerank"}, "base": "sha256:toy", "files": {}})
    train_cross_encoder.write_card("taught", made, {"counts": {}}, folder / "cards")
    return made, folder


def scorer_of(made):
    return CrossEncoder(load_model(made.folder), load_tokenizer(made.folder), made.told["training"]["max_length"])
