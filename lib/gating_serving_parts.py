"""What a gate's file holds beside the gate: the length of its question vectors, and the student of list D, as plain values and back (document 002)."""
from __future__ import annotations

import numpy as np

from lib.graph_list_distilled import FEATURES, Student
from lib.whole import is_whole

NORM = 1e-3  # vectors whose lengths differ by less are all of one length


def norm_of(vectors: np.ndarray) -> float | None:
    """The length of every row, to a thousandth; None where they differ or there are none."""
    lengths = np.linalg.norm(vectors, axis=1) if vectors.size else np.zeros(0)
    return round(float(lengths.mean()), 6) if len(lengths) and np.ptp(lengths) < NORM else None


def taught(student: Student | None) -> dict | None:
    """The student as plain values, None where there is none."""
    told = {"features": list(FEATURES), "questions": int(student.questions)} if student else None
    return told and told | {"weights": student.weights.tolist(), "scale": student.scale.tolist()}


def student_in(told: object) -> Student | None:
    """The student read back; raises ValueError for one of other features, or numbers that are none."""
    if told is None:
        return None
    if not isinstance(told, dict) or told.get("features") != list(FEATURES) or not is_whole(told.get("questions"), 1):
        raise ValueError("student: its features are not those of lib.graph_list_distilled")
    weights, scale = (np.array(told[name], float) for name in ("weights", "scale"))
    if weights.shape != (len(FEATURES),) or scale.shape != weights.shape or not np.isfinite([weights, scale]).all() or not (scale > 0).all():
        raise ValueError(f"student: weights and scale must be {len(FEATURES)} numbers each, and scale positive")
    return Student(weights, scale, int(told["questions"]))
