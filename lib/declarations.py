"""Every table of the compendium, declared once: meaning, key, columns (type and what it holds).

A type ends in ``?`` where a value may be missing; missing means undefined or unknown, never zero. ``declarations_between`` holds
the tables that notebooks hand to each other, ``declarations_results`` and ``declarations_scope`` those that are results.
"""
from lib.declarations_between import BETWEEN
from lib.declarations_results import RESULTS
from lib.declarations_scope import SCOPE

DECLARATIONS = BETWEEN | RESULTS | SCOPE
