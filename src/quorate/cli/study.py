"""`quorate study`: the verbs of a study on a database; a service may run on the same one."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quorate.cli.accounts import DatabaseUrl as Db
from quorate.cli.options import AsJson, Budget, Costs, InFlight, Loss, MaxVotes, MinVotes, Require, names, number_pairs
from quorate.cli.options import about as about_option
from quorate.cli.stored import changed, database, loaded, say

if TYPE_CHECKING:
    from quorate.core.case import Show
    from quorate.core.rules import Guard
    from quorate.study.study import Study

app = typer.Typer(name="study", help="Create studies in a database, and work with them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="STUDY", help="The study's name.")]
CaseKey = Annotated[str, typer.Argument(metavar="CASE", help="The case's key.")]
Expert = Annotated[str, typer.Argument(metavar="EXPERT", help="The expert's name.")]
Vote = Annotated[str, typer.Argument(metavar="CLASS", help="The class that the expert votes for.")]


@app.command()
def create(
    name: Name,
    db: Db,
    classes: Annotated[str, typer.Option(metavar="A,B", help="Names of the classes.")],
    experts: Annotated[str, typer.Option(metavar="A,B", help="Names of the experts.")],
    classifiers: Annotated[str, typer.Option(metavar="A,B", help="Names of the classifiers.")] = "classifier",
    max_error: Annotated[float, typer.Option(metavar="E", help="Settle once the stated error is at most this.")] = 0.01,
    target: Annotated[str, typer.Option(metavar="NAME", help="consensus, any:CLASS, ...")] = "consensus",
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="quorate (if not given) or paper.")] = None,
    costs: Costs = None,
    loss: Loss = None,
    min_votes: MinVotes = 1,
    max_votes: MaxVotes = None,
    require: Require = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLASS:ABOVE:VOTES",
            help="So many votes at least where a classifier gives a class more than this; may be given again.",
        ),
    ] = None,
    budget: Budget = None,
    no_human_accepted: Annotated[
        bool,
        typer.Option(
            "--no-human-accepted",
            help="Cases may settle that no person has seen: needed with --min-votes 0, and with a budget.",
        ),
    ] = False,
    in_flight: InFlight = 1,
    audit_share: Annotated[
        float, typer.Option(metavar="P", help="Share of cases, drawn at random, that everyone is asked about.")
    ] = 0.05,
    lease_seconds: Annotated[
        float, typer.Option(metavar="S", help="How long the service waits for an answer before it asks another.")
    ] = 8 * 3600.0,
    max_open: Annotated[int, typer.Option(metavar="N", min=1, help="Questions on one expert's desk at most.")] = 5,
    about: Annotated[str, typer.Option(metavar="TEXT", help="What experts are told of the study.")] = "",
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The same seed gives the same answers.")] = 0,
) -> None:
    """Create a study."""
    from quorate.assembly import Options
    from quorate.core.panel import Panel
    from quorate.core.rules import Rules

    if not no_human_accepted:
        _check_seen(min_votes, budget)
    with database(db, create=True) as found:
        from quorate.storage import studies
        from quorate.storage.config import ServiceSettings, StudyConfig

        panel = Panel(
            names(classes, "--classes") or (),
            names(experts, "--experts") or (),
            names(classifiers, "--classifiers") or (),
            number_pairs(costs, "--costs") or None,
        )
        options = Options(
            max_error=max_error,
            preset=preset,
            rules=Rules(min_votes, names(require, "--require") or (), max_votes, budget, [*map(_guard, guard or ())]),
            loss=number_pairs(loss, "--loss") or None,
            in_flight=in_flight,
        )
        service = ServiceSettings(lease_seconds, max_open, audit_share, about)
        studies.create(found, name, StudyConfig(panel, options, target, seed, service))
    typer.echo(f"created study {name}")


def _check_seen(min_votes: int, budget: float | None) -> None:
    """Refuse what lets cases settle that no person has seen."""
    if min_votes == 0:
        raise typer.BadParameter(
            "with 0, cases may settle that no person has seen; add --no-human-accepted if that is meant, "
            "or expect at least 1 vote",
            param_hint="--min-votes",
        )
    if budget is not None:
        raise typer.BadParameter(
            f"once {budget:g} is spent nobody can be asked, and cases settle that no person has seen; add "
            "--no-human-accepted if that is meant, or give no budget",
            param_hint="--budget",
        )


def _guard(text: str) -> Guard:
    from quorate.core.rules import Guard

    try:
        name, above, votes = text.rsplit(":", 2)
        share, count = float(above), int(votes)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r}: expected CLASS:ABOVE:VOTES with a probability and a whole number, such as abnormal:.3:2",
            param_hint="--guard",
        ) from None
    with about_option("--guard"):
        return Guard(name.strip(), share, count)


@app.command("list")
def list_(db: Db, as_json: AsJson = False) -> None:
    """List the studies of a database."""
    with database(db) as found:
        from quorate.storage import studies

        known = studies.names(found)
    typer.echo(json.dumps(known) if as_json else "\n".join(known) or "no studies")


@app.command()
def show(name: Name, db: Db, as_json: AsJson = False) -> None:
    """Show a study: its panel, its cases and what was spent."""
    from quorate.storage import listing

    with loaded(db, name) as stored:
        study, config = stored.study, stored.config
        told = {
            "study": name,
            "classes": study.panel.classes,
            "experts": study.experts,
            "classifiers": study.classifiers,
            "target": study.target.name,
            "max_error": config.options.max_error,
            "min_votes": config.options.rules.min_votes,
            "audit_share": config.service.audit_share,
            "cases": listing.counts(stored.db, stored.id),
            "spent": study.spent,
            "fits": study.state.fits,
            "healthy": study.predictor.health.healthy,
            "events": study.state.events,
        }
    say(told, as_json=as_json)


@app.command("import")
def import_(
    name: Name, table: Annotated[Path, typer.Argument(metavar="TABLE", help="Past cases with their votes.")], db: Db
) -> None:
    """Import past cases with their votes, so that the study does not start from nothing: every row, or none."""
    from quorate.service.importing import past_cases

    def bring_in(study: Study) -> int:
        cases = past_cases(study, table)
        for case in cases:
            study.import_case(case.key, case.probabilities, case.votes)
        return len(cases)

    typer.echo(f"imported {changed(db, name, bring_in)} cases into study {name}")


@app.command("open")
def open_(
    name: Name,
    case: CaseKey,
    db: Db,
    p: Annotated[
        list[str] | None,
        typer.Option("--p", metavar="CLASSIFIER=P,P", help="A classifier's probabilities, in the order of classes."),
    ] = None,
    available: Annotated[str | None, typer.Option(metavar="A,B", help="Who can be asked; all if not given.")] = None,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="What experts are shown.")] = None,
    image: Annotated[str | None, typer.Option(metavar="URL", help="An image that experts are shown.")] = None,
    link: Annotated[str | None, typer.Option(metavar="URL", help="Where experts can see the case whole.")] = None,
    audit: Annotated[bool, typer.Option("--audit", help="Ask everyone once it would have settled.")] = False,
) -> None:
    """Open a case."""
    rows = dict(map(_row, p or []))
    changed(
        db,
        name,
        lambda study: study.open(
            case, rows, available=names(available, "--available"), audit=audit, show=_show(text, image, link)
        ),
    )
    typer.echo(f"opened case {case}")


def _row(text: str) -> tuple[str, list[float]]:
    classifier, equals, values = text.partition("=")
    try:
        return classifier.strip(), [float(value) for value in values.split(",")]
    except ValueError:
        equals = ""
    if not equals:
        raise typer.BadParameter(f"{text!r}: expected CLASSIFIER=P,P with a number a class", param_hint="--p")
    return classifier, []


def _show(text: str | None, image: str | None, link: str | None) -> Show | None:
    from quorate.core.case import Show

    return None if (text, image, link) == (None, None, None) else Show(text, image, link)


@app.command()
def ask(name: Name, case: CaseKey, db: Db, as_json: AsJson = False) -> None:
    """Say whom to ask next about a case, or that it can settle; only reads."""
    from quorate.service.views import forecast_view, next_view

    with loaded(db, name) as stored:
        step = stored.study.ask(case)
    say({"case": case, **asdict(next_view(step)), "forecast": asdict(forecast_view(step.forecast))}, as_json=as_json)


@app.command()
def forecast(name: Name, case: CaseKey, db: Db, as_json: AsJson = False) -> None:
    """Say what the panel is expected to decide on an open case."""
    from quorate.service.views import forecast_view

    with loaded(db, name) as stored:
        found = stored.study.forecast(case)
    say({"case": case, **asdict(forecast_view(found))}, as_json=as_json)


@app.command()
def tell(name: Name, case: CaseKey, expert: Expert, vote: Vote, db: Db) -> None:
    """Record an expert's vote; the same vote twice is one."""
    changed(db, name, lambda study: study.tell(case, expert, vote))
    typer.echo(f"{expert} voted {vote} on case {case}")


@app.command()
def amend(name: Name, case: CaseKey, expert: Expert, vote: Vote, db: Db) -> None:
    """Change an expert's vote; a case that has settled with it is open again."""
    changed(db, name, lambda study: study.correct(case, expert, vote))
    typer.echo(f"{expert} now votes {vote} on case {case}")


@app.command()
def withdraw(name: Name, case: CaseKey, expert: Expert, db: Db) -> None:
    """Take an expert's vote back; a case that has settled with it is open again."""
    changed(db, name, lambda study: study.correct(case, expert, None))
    typer.echo(f"the vote of {expert} on case {case} was taken back")


@app.command()
def abstain(name: Name, case: CaseKey, expert: Expert, db: Db) -> None:
    """Record that an expert cannot tell."""
    changed(db, name, lambda study: study.abstain(case, expert))
    typer.echo(f"{expert} abstains on case {case}")


@app.command()
def expire(name: Name, case: CaseKey, expert: Expert, db: Db) -> None:
    """Take a question back that an expert has not answered; the next best is asked."""
    changed(db, name, lambda study: study.expire(case, expert))
    typer.echo(f"the question to {expert} about case {case} was taken back")


@app.command()
def away(name: Name, expert: Expert, db: Db) -> None:
    """Ask an expert nothing for now; what they were asked goes to others."""

    def leave(study: Study) -> None:
        study.away(expert)
        for key in [key for key, asked in study.state.asked.items() if expert in asked.pending]:
            study.expire(key, expert)

    changed(db, name, leave)
    typer.echo(f"{expert} is away")


@app.command()
def back(name: Name, expert: Expert, db: Db) -> None:
    """Ask an expert again who was away."""
    changed(db, name, lambda study: study.back(expert))
    typer.echo(f"{expert} is back")


@app.command()
def settle(name: Name, case: CaseKey, db: Db, as_json: AsJson = False) -> None:
    """Settle a case that `ask` says can be settled."""
    found = changed(db, name, lambda study: study.settle(case))
    say({"event": type(found).__name__.lower(), **asdict(found)}, as_json=as_json)


@app.command()
def reopen(
    name: Name,
    case: CaseKey,
    db: Db,
    whole: Annotated[bool, typer.Option("--whole", help="Ask on until everyone has voted.")] = False,
) -> None:
    """Ask about a settled case again."""
    changed(db, name, lambda study: study.reopen(case, whole=whole))
    typer.echo(f"opened case {case} again")


@app.command()
def export(
    name: Name,
    db: Db,
    kind: Annotated[str, typer.Option("--format", metavar="NAME", help="csv or jsonl.")] = "csv",
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="To a file, not the screen.")] = None,
) -> None:
    """Export every case: outcome, probability, interval, who was asked in which order and why it stopped."""
    from quorate.errors import InputError
    from quorate.service.exporting import FORMATS, rows

    if kind not in FORMATS:
        raise typer.BadParameter(f"{kind!r}: expected {' or '.join(FORMATS)}", param_hint="--format")
    with loaded(db, name) as stored:
        lines = FORMATS[kind][0](rows(stored))
        if out is None:
            sys.stdout.writelines(lines)
            return
        try:
            with out.open("w", encoding="utf-8", newline="") as file:
                file.writelines(lines)
        except OSError as error:
            raise InputError(f"{out}: cannot be written ({error.strerror}); name another file") from None
    typer.echo(f"wrote {out}")


@app.command()
def delete(
    name: Name, db: Db, yes: Annotated[bool, typer.Option("--yes", help="Really delete, without asking.")] = False
) -> None:
    """Delete a study with all its votes."""
    if not yes:
        typer.confirm(f"Delete study {name} with all its votes?", abort=True)
    with database(db) as found:
        from quorate.storage import studies

        studies.delete(found, name)
    typer.echo(f"deleted study {name}")


@app.command("add-expert")
def add_expert(
    name: Name,
    expert: Expert,
    db: Db,
    cost: Annotated[float | None, typer.Option(metavar="X", min=0, help="What a vote of theirs costs.")] = None,
) -> None:
    """Let an expert join, or one who retired return."""
    changed(db, name, lambda study: study.add_expert(expert, cost=cost))
    typer.echo(f"{expert} belongs to study {name}")


@app.command("retire-expert")
def retire_expert(name: Name, expert: Expert, db: Db) -> None:
    """Ask an expert no more."""
    changed(db, name, lambda study: study.retire_expert(expert))
    typer.echo(f"{expert} has retired from study {name}")


@app.command("replace-classifier")
def replace_classifier(
    name: Name,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The classifier that goes.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The classifier that comes.")],
    db: Db,
) -> None:
    """Let a classifier give way to another."""
    changed(db, name, lambda study: study.replace_classifier(old, new))
    typer.echo(f"{new} replaces {old} in study {name}")
