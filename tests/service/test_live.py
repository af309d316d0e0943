"""A live study and its desks: who is asked when somebody has time, and who is told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from quorate.core.rules import Rules
from quorate.service.desk import Desk, Question
from quorate.service.live import REFILLS
from quorate.storage.database import Database
from quorate.study.events import Leased
from tests.service.desks import EXPERTS, Make


def test_a_slot_that_frees_goes_to_the_case_that_waits_longest(make: Make) -> None:
    table = make()
    table.open(*(f"c{number}" for number in range(6)))
    assert table.desks() == {"ann": ["c0"], "ben": ["c1"], "cho": ["c2"]}
    assert table.live.desk.waiting == 3
    table.live.vote("c1", "ben", "no")  # c1 waits for ann and cho now
    table.live.refill()
    assert table.desk("ben") == ["c3"]
    assert table.live.desk.waiting == 3


def test_a_freed_slot_is_filled_by_the_best_who_has_time(make: Make) -> None:
    table = make(method="bayes", costs={"ann": 9.0, "ben": 5.0, "cho": 1.0}, rules=Rules(max_votes=1))
    live = table.live
    table.open("c1", "c2", "c3")
    for expert in ("ann", "cho"):
        (key,) = table.desk(expert)
        live.vote(key, expert, "yes")
    assert table.desks() == {"ann": [], "ben": table.desk("ben"), "cho": []}, "both settled with their only vote"
    table.open("c4")
    assert table.desk("cho") == ["c4"], "the one who costs least for what the vote tells, though ann comes first"
    (asked,) = [event for event in live.study.journal if isinstance(event, Leased) and event.key == "c4"]
    assert asked.why is not None
    assert asked.expert == max(asked.why.gains, key=lambda one: one[1])[0]


def test_a_vote_brings_the_next_case_with_it_or_neither(make: Make, database: Database) -> None:
    table = make()
    table.open("c1", "c2", "c3", "c4")
    events = len(table.live.study.journal)
    table.live.vote("c1", "ann", "yes")
    assert table.desk("ann") == ["c4"]
    assert not table.live.more, "and there is nothing left to hand out"
    written = list(table.live.study.journal)[events:]
    assert [type(event).__name__ for event in written] == ["Voted", "Leased"]
    table.live.vote("c1", "ann", "yes")
    assert len(table.live.study.journal) == events + 2, "the same vote twice is one vote, and brings nothing"
    assert database.verify() == []


def test_a_case_that_waits_keeps_its_turn() -> None:
    desk = Desk(1)
    desk.wait("old", ("ann", "ben"))
    desk.wait("new", ("ann",))
    desk.wait("old", ("ann",))
    assert desk.next_for("ann") == "old"
    assert desk.standing("old").experts == ("ann",)
    assert desk.next_for("ben") is None
    desk.wait("old", ())
    assert not desk.waits("old")
    assert desk.waiting == 1


def test_who_is_first_choice_is_found_before_who_would_do() -> None:
    desk = Desk(1)
    desk.wait("one", ("ann", "ben"))
    desk.wait("two", ("ben",))
    assert desk.next_for("ben") == "two"
    assert desk.next_for("ann") == "one"


waits = st.tuples(st.sampled_from("abcdef"), st.lists(st.sampled_from(EXPERTS), unique=True, max_size=3).map(tuple))


@given(st.lists(waits, max_size=30))
def test_whoever_has_time_gets_the_same_case_as_by_a_look_at_all_that_wait(
    steps: list[tuple[str, tuple[str, ...]]],
) -> None:
    desk, waiting = Desk(1), dict[str, tuple[str, ...]]()
    for key, experts in steps:
        desk.wait(key, experts)
        waiting[key] = experts  # one that waits already keeps its turn
        waiting = {key: experts for key, experts in waiting.items() if experts}
        for expert in EXPERTS:
            first = [key for key, experts in waiting.items() if experts[0] == expert]
            others = [key for key, experts in waiting.items() if expert in experts]
            assert desk.next_for(expert) == next(iter(first + others), None)


def test_a_desk_lists_its_questions_oldest_first_and_knows_which_have_lapsed(make: Make) -> None:
    table = make(max_open=3, lease_seconds=10)
    table.open("c1")
    table.clock.now += 6
    table.open("c2")
    first = table.live.questions("ann")
    assert first == (Question("c1", "ann", 1010.0), Question("c2", "ann", 1016.0))
    assert table.live.desk.lapsed(1009.9) == []
    assert table.live.desk.lapsed(1010.0) == [first[0]]
    assert table.live.desk.full() == ()
    assert list(table.live.desk.idle(EXPERTS)) == list(EXPERTS)


def test_many_cases_are_handed_out_a_few_at_a_time(make: Make) -> None:
    table = make(max_open=1000)
    keys = [f"c{number}" for number in range(REFILLS + 5)]
    table.open(*keys)
    assert len(table.desk("ann")) == REFILLS
    assert table.live.desk.waiting == 5
    table.live.tick()
    assert table.desk("ann") == keys


def test_nobody_gets_more_questions_than_they_may_when_a_colleague_leaves(make: Make) -> None:
    table = make(experts=("ann", "ben"), max_open=2)
    table.open("c1", "c2", "c3")
    assert table.desks() == {"ann": ["c1", "c2"], "ben": ["c3"]}
    table.live.set_away("ann", away=True)
    assert len(table.desk("ben")) == 2
    assert table.desk("ann") == []
    assert table.live.desk.waiting == 1
    table.live.vote("c3", "ben", "no")
    table.live.refill()
    assert sorted(table.desk("ben")) == ["c1", "c2"]


def test_nothing_is_asked_of_the_absent_until_they_are_back(make: Make) -> None:
    table = make(max_open=5)
    for expert in EXPERTS:
        table.live.set_away(expert, away=True)
    table.open("c1")
    assert table.live.desk.waits("c1")
    table.live.set_away("cho", away=False)
    assert table.desk("cho") == ["c1"]


def test_a_case_that_needs_nobody_waits_for_nobody(make: Make) -> None:
    table = make(method="classifier")
    for expert in EXPERTS:
        table.live.set_away(expert, away=True)
    table.open("c1")
    settled = table.live.study.state.settling("c1")
    assert settled is not None
    assert settled.human_votes == 0
    assert table.live.desk.waiting == 0


def test_a_case_that_needs_somebody_is_looked_at_once(make: Make) -> None:
    table = make()
    for expert in EXPERTS:
        table.live.set_away(expert, away=True)
    table.open("c1")
    assert table.live.desk.standing("c1").experts == EXPERTS
    before = table.live.version
    table.live.refill()
    assert table.live.version == before


def test_a_question_lapses_by_the_clock_and_the_next_is_asked(make: Make) -> None:
    table = make(lease_seconds=10)
    table.open("c1")
    table.clock.now += 9.9
    table.live.tick()
    assert table.desk("ann") == ["c1"]
    table.clock.now += 0.1
    table.live.tick()
    assert table.desks() == {"ann": [], "ben": ["c1"], "cho": []}


def test_a_settled_case_takes_its_questions_back(make: Make) -> None:
    table = make(method="until-determined", in_flight=3)
    table.open("c1")
    assert len(table.live.study.pending("c1")) == 3
    for expert in table.live.study.pending("c1")[:2]:
        table.live.vote("c1", expert, "yes")
    assert table.live.study.state.settling("c1") is not None
    assert all(not keys for keys in table.desks().values())


def test_questions_that_were_taken_back_are_asked_again_once_they_matter(make: Make) -> None:
    table = make(method="until-determined", in_flight=3)
    table.open("c1")
    for expert in ("ann", "ben"):
        table.live.vote("c1", expert, "yes")
    table.live.vote("c1", "ben", "no", amend=True)
    assert table.desks() == {"ann": [], "ben": [], "cho": ["c1"]}, "one to one, and cho was never heard"
    table.live.vote("c1", "cho", "no")
    settled = table.live.study.state.settling("c1")
    assert settled is not None
    assert (settled.outcome, settled.kept) == ("no", True)


def test_who_takes_a_vote_back_is_asked_again_where_they_can_be(make: Make) -> None:
    table = make(max_open=5, rules=Rules(budget=7), costs={"ann": 3.0})
    table.open("c1", "c2")
    for key in ("c1", "c2"):
        table.live.vote(key, "ann", "yes")
    assert table.desk("ann") == []
    table.live.withdraw("c1", "ann", again=True)
    assert table.desk("ann") == [], "another 3 would be more than what is left of 7"
    table.live.vote("c1", "ben", "yes")
    table.live.change_panel(lambda study: study.retire_expert("ben"))
    table.live.withdraw("c1", "ben", again=True)
    assert table.live.study.state.known("c1").votes == ()
    assert "ben" not in table.live.study.pending("c1"), "who has retired"


def test_slips_of_the_hand_fill_no_desk_without_end(make: Make) -> None:
    table = make(max_open=1)
    table.open("c1", "c2", "c3", "c4", "c5", "c6")
    voted = []
    for _ in range(3):
        (key,) = table.desk("ann")
        table.live.vote(key, "ann", "yes")
        voted.append(key)
    for key in voted:
        table.live.withdraw(key, "ann", again=True)
    assert len(table.desk("ann")) == 2, "what is there, and the one that was taken back"
    assert voted[0] in table.desk("ann")


def test_a_retired_expert_leaves_their_cases_to_others(make: Make) -> None:
    table = make(max_open=5)
    table.open("c1", "c2")
    table.live.change_panel(lambda study: study.retire_expert("ann"))
    assert table.desks() == {"ben": ["c1", "c2"], "cho": []}


def test_only_those_whose_desk_has_changed_are_told(make: Make) -> None:
    table = make(in_flight=3)
    table.open("c1")
    assert table.desks() == {"ann": ["c1"], "ben": ["c1"], "cho": ["c1"]}
    table.told.clear()
    table.live.vote("c1", "ben", "yes")
    assert table.told == [frozenset({"ben"})], "ann and cho must not learn that ben has voted"
    table.told.clear()
    table.live.abstain("c1", "cho")
    assert table.told == [frozenset({"cho"})]


def test_a_change_of_the_study_is_told_to_those_who_watch_it(make: Make) -> None:
    table = make()
    before = table.live.version
    table.open("c1")
    assert table.live.version > before
    assert frozenset({"ann"}) in table.told
