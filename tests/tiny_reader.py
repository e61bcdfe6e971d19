"""A Qwen2 of random weights with a tokenizer of its own, saved as a reader's folder: the real loading path without a download."""
from collections.abc import Iterable
from pathlib import Path


def save_tiny_reader(folder: Path, texts: Iterable[str], vocabulary: int) -> Path:
    """Train a byte-level tokenizer on ``texts``, draw weights with seed 0, write both to ``folder`` and return it."""
    import torch
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(texts, vocab_size=vocabulary, special_tokens=["<end>"])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe._tokenizer, eos_token="<end>")
    torch.manual_seed(0)
    config = Qwen2Config(vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
                         num_key_value_heads=2, initializer_range=0.3, eos_token_id=0, bos_token_id=None)
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
