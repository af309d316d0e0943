"""People and programs that use a service all at once, and write down what it has acknowledged."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from tests.faults.served import Answer, Client, Service, UnreachableError, path

CLASSES = ("normal", "abnormal")
EXPERTS = ("ann", "ben", "cho")
CLASSIFIER = "net"
STUDIES = {"calm": 8 * 3600.0, "hasty": 2.0}
"""Studies by name, and the seconds until a question lapses: in one of them during every restart."""


class Fate(Enum):
    """What became of a request."""

    UNKNOWN = auto()  # no answer, or one that says that the database failed: it happened or not
    DONE = auto()
    REFUSED = auto()


@dataclass
class Attempt:
    """Something that an expert tried to do about a case."""

    verb: str  # vote, amend, withdraw or abstain
    vote: str | None = None
    fate: Fate = Fate.UNKNOWN


class SurpriseError(Exception):
    """The service said something that it never should."""


@dataclass
class Load:
    """Six experts, one who brings cases and one who looks around, in two studies of a service."""

    service: Service
    seed: int
    up: threading.Event = field(default_factory=threading.Event)
    attempts: dict[tuple[str, str, str], list[Attempt]] = field(default_factory=dict)  # by study, case and expert
    openings: dict[tuple[str, str], Fate] = field(default_factory=dict)  # by study and case
    surprises: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def prepare(self) -> None:
        """Make studies and users; the service must run."""
        admin = self.service.issue("root", "admin")
        with self.service.client(admin) as client:
            for study, seconds in STUDIES.items():
                form = {
                    "name": study,
                    "classes": CLASSES,
                    "experts": EXPERTS,
                    "classifiers": [CLASSIFIER],
                    "max_error": 0.1,
                    "audit_share": 0.2,
                    "lease_seconds": seconds,
                    "max_open": 3,
                }
                answer = client("POST", "/api/studies", form)
                assert answer.status == 201, answer.body
        self.admin = admin
        workers: list[tuple[str, Callable[[random.Random, Caller], None]]] = [(admin, self._bring), (admin, self._look)]
        for study in STUDIES:
            for expert in EXPERTS:
                token = self.service.issue(f"{expert} of {study}", "expert", seats={study: expert})
                workers.append((token, Seat(self, study, expert).work))
        for number, (token, work) in enumerate(workers):
            rng = random.Random(f"{self.seed} {number}")  # noqa: S311  # moments, no secrets
            thread = threading.Thread(target=self._run, args=(token, work, rng), name=f"load-{number}", daemon=True)
            self._threads.append(thread)

    def begin(self) -> None:
        """Everybody starts; they rest while `up` is not set and nothing answers."""
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Everybody stops after what they are at."""
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), thread.name

    @property
    def acknowledged(self) -> int:
        """How many votes were acknowledged so far."""
        kept = list(self.attempts.values())
        return sum(one.verb == "vote" and one.fate is Fate.DONE for tried in kept for one in list(tried))

    def _run(self, token: str, work: Callable[[random.Random, Caller], None], rng: random.Random) -> None:
        caller = Caller(self.service, token, self._stop)
        while not self._stop.is_set():
            try:
                work(rng, caller)
            except UnreachableError:
                caller.forget()
                self._stop.wait(0.05)
                while not self._stop.is_set() and not self.up.wait(0.1):
                    pass
            except SurpriseError as surprise:
                self.surprises.append(str(surprise))
        caller.forget()

    def _bring(self, rng: random.Random, call: Caller) -> None:
        """Open a few cases, or those again of which it is not known whether they are open."""
        for study in STUDIES:
            unsure = [key for (where, key), fate in self.openings.items() if where == study and fate is Fate.UNKNOWN]
            keys = unsure or [f"{study}-{len(self.openings) + n}" for n in range(rng.randint(1, 3))]
            for key in keys:
                self.openings[study, key] = Fate.UNKNOWN
            cases = [{"key": key, "probabilities": {CLASSIFIER: probabilities(key)}} for key in keys]
            if call("POST", path(study, "cases"), {"cases": cases}).done:
                for key in keys:
                    self.openings[study, key] = Fate.DONE
        self._stop.wait(rng.uniform(0.05, 0.3))

    def _look(self, rng: random.Random, call: Caller) -> None:
        """Look at lists, reports and cases."""
        study = rng.choice([*STUDIES])
        known = [key for (where, key), fate in list(self.openings.items()) if where == study and fate is Fate.DONE]
        places = [path(study, "cases") + "?limit=50", path(study, "report"), path(study, "export")]
        call("GET", rng.choice([*places, *(path(study, "cases", key) for key in known[-1:])]))
        self._stop.wait(rng.uniform(0.05, 0.3))


def probabilities(key: str) -> list[float]:
    """What the classifier says of a case."""
    p = round(random.Random(key).uniform(0.05, 0.95), 3)  # noqa: S311  # as above
    return [p, round(1 - p, 3)]


@dataclass
class Caller:
    """A client of the service wherever it is by now; answers that must never come are told."""

    service: Service
    token: str
    stop: threading.Event
    _client: Client | None = None

    def __call__(self, method: str, place: str, body: object = None) -> Answer:
        """Ask; a database that fails is as good as no answer."""
        if self._client is None:
            self._client = self.service.client(self.token)
        answer = self._client(method, place, body)
        if answer.status == 503:
            check_shape(answer, "storage")
            self.stop.wait(0.05)
            raise UnreachableError(f"{method} {place}: {answer.body}")
        if answer.status >= 500:
            raise SurpriseError(f"{method} {place}: {answer.status} {answer.body}")
        return answer

    def forget(self) -> None:
        """The service may be elsewhere next time."""
        if self._client is not None:
            self._client.close()
            self._client = None


def check_shape(answer: Answer, code: str) -> None:
    """Errors have one shape."""
    error = answer.body["error"] if isinstance(answer.body, dict) else {}
    if error.get("code") != code or not error.get("message"):
        raise SurpriseError(f"an error without its shape: {answer.status} {answer.body}")


@dataclass
class Seat:
    """An expert who votes, and sometimes votes again, changes the vote, takes it back or cannot tell."""

    load: Load
    study: str
    expert: str
    votes: dict[str, str | None] = field(default_factory=dict)  # as acknowledged, by case; None: abstained
    unsure: list[str] = field(default_factory=list)  # cases whose last attempt has no known fate

    def work(self, rng: random.Random, call: Caller) -> None:
        """Do one thing."""
        if self.unsure:
            self._again(call, self.unsure[-1])
            return
        answer = call("GET", path(self.study, "experts", self.expert, "inbox"))
        if not answer.done:
            raise SurpriseError(f"the inbox of {self.expert}: {answer.status} {answer.body}")
        asked = [question["case"] for question in answer.body["questions"]]
        for case in asked:
            if case in self.votes:
                raise SurpriseError(f"{self.expert} has answered case {case} of {self.study}, and is asked again")
        cast = [case for case, vote in self.votes.items() if vote is not None]
        if cast and rng.random() < 0.2:
            self._reconsider(rng, call, rng.choice(cast[-10:]))
        elif asked:
            case = rng.choice(asked)
            verb = "abstain" if rng.random() < 0.1 else "vote"
            self._try(call, case, verb, rng.choice(CLASSES) if verb == "vote" else None)
        else:
            self.load._stop.wait(0.05)

    def _reconsider(self, rng: random.Random, call: Caller, case: str) -> None:
        before = self.votes[case]
        verb = rng.choice(("vote", "amend", "withdraw"))
        other = next(one for one in CLASSES if one != before)
        self._try(call, case, verb, {"vote": before, "amend": other, "withdraw": None}[verb])

    def _again(self, call: Caller, case: str) -> None:
        """Repeat what may have happened or not, as a person does whose page did not answer."""
        last = self.load.attempts[self.study, case, self.expert][-1]
        self._try(call, case, last.verb, last.vote)

    def _try(self, call: Caller, case: str, verb: str, vote: str | None) -> None:
        attempt = Attempt(verb, vote)
        self.load.attempts.setdefault((self.study, case, self.expert), []).append(attempt)
        if case not in self.unsure:
            self.unsure.append(case)
        answer = self._sent(call, case, verb, vote)
        self.unsure.remove(case)
        if answer.done:
            attempt.fate = Fate.DONE
            self._note(case, verb, vote)
            return
        attempt.fate = Fate.REFUSED
        repeated = len(self.load.attempts[self.study, case, self.expert]) > 1
        if not repeated and answer.status != 403:  # the question lapsed between being seen and being answered
            raise SurpriseError(f"{verb} of {self.expert} on {case}: {answer.status} {answer.body}")
        if verb == "withdraw":  # it had been taken back by the request that got no answer
            self.votes.pop(case, None)

    def _note(self, case: str, verb: str, vote: str | None) -> None:
        if verb == "withdraw":
            self.votes.pop(case, None)
        else:
            self.votes[case] = vote

    def _sent(self, call: Caller, case: str, verb: str, vote: str | None) -> Answer:
        place = (self.study, "cases", case)
        match verb:
            case "withdraw":
                return call("DELETE", path(*place, "votes", self.expert))
            case "abstain":
                return call("POST", path(*place, "abstentions"), {"expert": self.expert})
            case _:
                body = {"expert": self.expert, "vote": vote, "amend": verb == "amend"}
                return call("POST", path(*place, "votes"), body)
