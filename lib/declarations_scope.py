"""The tables of results on when principled packing helps, CSV under data/results/<tier>/; form: see ``lib.declarations``."""
SCOPE: dict[str, dict] = {}
