"""Votes of a case: how they come, change and go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quorate.core.case import open_case
from quorate.core.panel import Panel

PANEL = Panel(["normal", "abnormal"], ["ann", "ben", "cho"], ["densenet"])
CASE = open_case(PANEL, "c", {"densenet": [0.2, 0.8]})
VOTED = CASE.with_vote(2, 1).with_vote(0, 1).with_vote(1, 0)


def test_an_amended_vote_keeps_its_place() -> None:
    assert VOTED.amended(0, 0).votes == ((2, 1), (0, 0), (1, 0))
    assert VOTED.votes == ((2, 1), (0, 1), (1, 0))  # the case before is another value


def test_a_withdrawn_vote_leaves_the_others_in_order() -> None:
    without = VOTED.without_vote(0)
    assert without.votes == ((2, 1), (1, 0))
    assert without.unasked == (0,)
    assert without.vote_row().tolist() == [-1, 0, 1]
    assert without.with_vote(0, 0).votes == ((2, 1), (1, 0), (0, 0))  # who votes again comes last


def test_a_case_whose_only_vote_is_withdrawn_is_as_it_was_opened() -> None:
    assert CASE.with_vote(1, 1).without_vote(1) == CASE


@given(st.permutations(range(3)), st.lists(st.integers(0, 1), min_size=3, max_size=3), st.integers(0, 2))
def test_amending_is_what_voting_so_at_first_would_have_been(order: list[int], votes: list[int], who: int) -> None:
    first, second = CASE, CASE
    for expert, vote in zip(order, votes, strict=True):
        first = first.with_vote(expert, vote)
        second = second.with_vote(expert, 1 - vote if expert == who else vote)
    before = first.voted(who)
    assert before is not None
    assert first.amended(who, 1 - before) == second


def test_whoever_comes_later_has_no_part_in_a_case() -> None:
    larger = PANEL.with_expert("dee").with_classifier("vit")
    grown = VOTED.grown(larger)
    assert grown.available == (True, True, True, False)
    assert grown.probabilities == ((0.2, 0.8), None)
    assert grown.votes == VOTED.votes
    assert grown.vote_row().tolist() == [1, 0, 1, -1]
    assert grown.grown(larger) == grown
    assert grown.within(PANEL) == VOTED


def test_a_case_of_newcomers_was_not_possible_before() -> None:
    larger = PANEL.with_expert("dee").with_classifier("vit")
    assert open_case(larger, "c", {"densenet": [0.2, 0.8]}).within(PANEL) is None
    assert open_case(larger, "c", {"vit": [0.2, 0.8]}, available=PANEL.experts).within(PANEL) is None
    assert open_case(larger, "c", {"densenet": [0.2, 0.8]}, available=PANEL.experts).within(PANEL) == CASE
