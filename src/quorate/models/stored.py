"""What any of the models has learned as bytes, so that a study can go on in another process."""

from __future__ import annotations

from quorate.core.panel import Panel
from quorate.core.protocols import Predictor
from quorate.errors import InputError
from quorate.models.packed import UNLEARNED, facts_of, reading


def predictor_to_npz(predictor: Predictor) -> bytes:
    """A predictor of one of the models as the bytes of an .npz file, without pickle."""
    from quorate.models.evidence.predictor import EvidencePredictor  # loads the compiler, which not all programs need

    if isinstance(predictor, EvidencePredictor):
        from quorate.models.evidence import stored as evidence

        return evidence.predictor_to_npz(predictor)
    from quorate.models.full.predictor import FullPredictor

    if isinstance(predictor, FullPredictor):
        from quorate.models.full import stored as full

        return full.predictor_to_npz(predictor)
    raise InputError(
        f"a {type(predictor).__name__} is not of a model that can be stored; expected the full or evidence"
    )


def predictor_from_npz(content: bytes, panel: Panel) -> Predictor:
    """The predictor that `predictor_to_npz` wrote, for its panel; it goes on to the bit."""
    with reading(UNLEARNED):
        model = facts_of(content)["model"]
    if model == "evidence":
        from quorate.models.evidence import stored as evidence

        return evidence.predictor_from_npz(content, panel)
    from quorate.models.full import stored as full

    return full.predictor_from_npz(content, panel)
