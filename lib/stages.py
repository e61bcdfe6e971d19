"""The chain as DVC sees it: one stage a notebook, and exactly the lib modules that the notebook reaches.

usage: python -m lib.stages           says where dvc.yaml disagrees (exit 1)
       python -m lib.stages --write   rewrites dvc.yaml
"""
from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

from lib.declarations import DECLARATIONS
from lib.tables import ROOT

# notebook: (other dependencies, tables read, tables written, figures drawn); ${item.input} is the tier's corpus
STAGES = {
    "01_retrieve": (["${item.input}", "data/sample/recorded", "data/results/models", "data/results/gating", "lib/prompts"], [],
                    ["questions", "gold", "documents", "pools", "rankings", "retrieval", "reranked", "rerank_costs", "reranked_left_out",
                     "gate_candidates", "gate_usage", "gate_pools", "graph_lists", "graph_hops", "graph_ablations"], ["retrieval", "graph_lists"]),
    "02_pack": (["data/published", "data/sample/recorded", "data/results/models"], ["questions", "gold", "documents", "pools", "rankings"],
                ["snippets", "packs", "contexts", "survival", "holders", "ace_spans", "ace_sources", "compression", "objective_ablations",
                 "optimality", "packer_contest", "settings", "packing", "choices"],
                ["worked_example", "survival_curve", "claim_graph", "objective_ablations", "packer_contest"]),
    "03_read": (["data/sample/recorded", "data/results/scores", "data/results/models", "lib/prompts"], ["questions", "contexts", "packs", "snippets"],
                ["answers", "readings", "ablations", "support"], ["f1_by_policy"]),
    "04_diagnose": (["data/published", "data/sample/hand_checked.csv"],
                    ["questions", "gold", "rankings", "retrieval", "holders", "snippets", "packs", "survival", "packing", "settings", "answers", "readings",
                     "ablations", "support"],
                    ["outcomes", "policies", "contrasts", "waterfall", "waterfall_marks", "correlations", "conditional", "validity", "retrieval_perfect",
                     "intervention", "mechanism", "transitions", "assembly", "headroom", "mediation", "scoring_rules", "variants", "faithfulness", "claims"],
                    ["waterfall", "waterfall_f1", "waterfall_slices", "waterfall_budgets", "conditional_means", "correlations", "r2_ladder", "kept_or_dropped",
                     "intervention", "transitions", "headroom", "mediation", "contrasts", "support_scores", "hand_checked", "faithful", "claims"]),
    "05_scope_map": (["data/published", "data/sample/recorded", "data/results/scores", "data/results/models", "lib/prompts"],
                     ["questions", "gold", "documents", "pools", "rankings", "snippets", "packs", "contexts", "survival", "outcomes", "settings", "claims"],
                     ["scope", "unlock", "budget_shape", "order", "factorial", "embedders", "policy_table", "policy_contrasts", "when", "scope_partners", "dials"],
                     ["unlock", "budget_gap", "order", "dials", "dials_levels", "scope_map", "embedders"]),
    "06_reader_ladder": (["data/sample/recorded", "data/results/scores", "data/published", "lib/prompts"], ["questions", "contexts", "survival", "packing"],
                         ["ladder", "ladder_partners"], ["reader_ladder", "rung_scores", "answer_forms"]),
    "07_gating": (["data/sample/recorded", "data/sample/service_times.json", "data/results/models", "data/results/targets", "data/results/deep", "data/results/scores", "data/sample/policy", "lib/recipes/release_gates.yaml",
                   "lib/prompts", "data/results/gating", "data/published"],
                  ["questions", "gold", "documents", "rankings", "reranked", "rerank_costs", "reranked_left_out", "gate_candidates", "gate_usage", "gate_pools"],
                  ["audit", "audit_slices", "audit_verdicts", "audit_missing", "audit_causes", "audit_units", "audit_controls", "rerankers",
                   "cascade", "depth", "depth_entered", "depth_sufficient", "depth_falls", "depth_cost", "latency", "fallback", "probes", "score_scale",
                   "reliability", "downstream_outcomes", "downstream_contexts", "downstream", "downstream_contrasts", "downstream_signs",
                   "downstream_agreement", "targets", "judgements", "judgement_unjudged", "judgement_pooling", "judgement_reversals", "judgement_audit",
                   "judgement_agreement", "judgement_effect", "judgement_draws", "judgement_splits", "policy_outcomes", "policy_steps", "policy_routes",
                   "policy_choices", "policy_router", "policy_stale", "policy_filters", "release_gates", "release_decisions", "release_residual",
                   "release_gains", "release_canary", "release_split", "release_fates", "release_moves", "gate_features", "gate_contexts", "gating_decisions",
                   "gating_left_out", "gating_choices", "gating_tried", "gating_always", "gating_cells", "gating_harm", "gating_reliability",
                   "gating_rules", "gating_leaks", "gating_lossless", "gating_optimism", "gating_truth", "gating_cost", "gating_drift",
                   "gating_rivals", "gating_baselines", "gating_curves", "gating_areas", "gating_lasthop", "gating_levels", "gating_replayed",
                   "gating_pools", "gating_promises", "gating_calibration_sizes", "gating_conformal", "gating_published", "gating_counterparts"],
                  ["two_error_plane", "regressions_by_slice", "rerankers", "depth_curves", "latency_tails", "gains_on_the_way", "policy_steps", "policy_routes",
                   "unjudged", "gate_board", "gate_board_policy", "passage_fates", "targets", "gate_held_out", "gate_reliability", "gate_optimism", "gate_decision_curves"]),
}

FILES = {"07_gating": ["gate.json"]}  # what a stage leaves beside its tables, in data/derived/<tier>
QUOTING = ("worked_example", "claim_graph")  # figures that quote their data set: committed for the sample alone (.gitignore)


def code_of(path: Path) -> str:
    """The Python source of a module or of a notebook's code cells."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return text
    return "\n".join("".join(c["source"]) for c in json.loads(text)["cells"] if c["cell_type"] == "code")


def imports(path: Path, seen: set[str] | None = None) -> set[str]:
    """Every lib module that ``path`` reaches, also through imports inside functions, as paths relative to the root."""
    seen = set() if seen is None else seen
    for node in ast.walk(ast.parse(code_of(path))):
        names = []
        if isinstance(node, ast.ImportFrom):
            module = ".".join(filter(None, ["lib" if node.level else "", node.module]))  # from . import x means lib.x
            names = [module, *(f"{module}.{a.name}" for a in node.names)]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names]
        for name in names:
            file = ROOT / (name.replace(".", "/") + ".py")
            relative = name.replace(".", "/") + ".py"
            if name.startswith("lib.") and file.is_file() and relative not in seen:
                seen.add(relative)
                imports(file, seen)
    return seen


def _table_file(name: str) -> str:
    form = DECLARATIONS[name]["format"]
    return f"data/{'derived' if form == 'parquet' else 'results'}/${{key}}/{name}.{form}"


def stage(notebook: str) -> dict:
    """The dvc.yaml entry of one notebook."""
    other, reads, writes, figures = STAGES[notebook]
    name = notebook.split("_", 1)[1]
    modules = imports(ROOT / "notebooks" / f"{notebook}.ipynb") | imports(ROOT / "lib" / "nbrun.py") | {"lib/nbrun.py"}
    outs: list = [_table_file(w) for w in writes if DECLARATIONS[w]["format"] == "parquet"]
    outs += [{_table_file(w): {"cache": False}} for w in writes if DECLARATIONS[w]["format"] == "csv"]
    outs += [{f"figures/${{key}}/{f}.{end}": {"cache": False}} for f in figures for end in ("vl.json", "svg")]
    outs += [f"data/derived/${{key}}/{file}" for file in FILES.get(notebook, [])]
    outs.append({f"${{item.executed}}/{notebook}.ipynb": {"cache": False}})
    deps = [f"notebooks/{notebook}.ipynb", *other, *map(_table_file, reads), *sorted(modules)]
    return {"foreach": "${tiers}", "do": {"cmd": f"python -m lib.nbrun {notebook} ${{key}} ${{item.executed}}",
                                          "params": [f"${{key}}.{name}"], "deps": deps, "outs": outs}}


def dvc_yaml() -> str:
    """The whole of dvc.yaml."""
    import yaml

    text = yaml.safe_dump({"stages": {n.split("_", 1)[1]: stage(n) for n in STAGES}}, sort_keys=False, width=160)
    return "# one stage a notebook; written by 'python -m lib.stages --write', which finds the lib modules each notebook reaches\n" + text


def main(arguments: list[str]) -> int:
    path, wanted = ROOT / "dvc.yaml", dvc_yaml()
    if "--write" in arguments:
        path.write_text(wanted, encoding="utf-8")
        return 0
    have = path.read_text(encoding="utf-8") if path.exists() else ""
    for line in sorted(set(re.findall(r"^ +- .*$", wanted, re.M)) ^ set(re.findall(r"^ +- .*$", have, re.M))):
        print(f"{'missing in' if line in wanted else 'no longer in'} dvc.yaml: {line.strip()}")
    if have != wanted:
        print("dvc.yaml is not what the notebooks and lib/stages.py ask for; mend it with: python -m lib.stages --write")
    return int(have != wanted)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
