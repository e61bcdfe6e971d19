"""Every table of the compendium, declared once: meaning, key, columns (type and what it holds).

A type ends in ``?`` where a value may be missing; missing means undefined or unknown, never zero. ``declarations_between`` holds
the tables that notebooks hand to each other, the other modules those that are results.
"""
from lib.declarations_between import BETWEEN
from lib.declarations_depth import DEPTH
from lib.declarations_downstream import DOWNSTREAM
from lib.declarations_gating import GATING
from lib.declarations_gating_more import GATING_MORE
from lib.declarations_gating_published import GATING_PUBLISHED
from lib.declarations_gating_study import GATING_STUDY
from lib.declarations_graph import GRAPH
from lib.declarations_judgements import JUDGEMENTS
from lib.declarations_policy_search import POLICY_SEARCH
from lib.declarations_rerankers import RERANKERS
from lib.declarations_results import RESULTS
from lib.declarations_rollout import ROLLOUT
from lib.declarations_scope import SCOPE
from lib.declarations_targets import TARGETS
from lib.declarations_viability import VIABILITY

DECLARATIONS = BETWEEN | RESULTS | SCOPE | VIABILITY | RERANKERS | DEPTH | DOWNSTREAM | JUDGEMENTS | POLICY_SEARCH | ROLLOUT | TARGETS | GRAPH | GATING | GATING_MORE | GATING_STUDY | GATING_PUBLISHED
