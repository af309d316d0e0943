"""A study's dashboard as a page: what was saved, whether the stated error is true, who has how much to do."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from quorate.service.access import Identity, page_holding
from quorate.service.api_studies import TheHall
from quorate.service.drawings import Gallery
from quorate.service.hall import Hall
from quorate.service.rendering import render
from quorate.service.rights import Right
from quorate.service.views import case_lines
from quorate.storage import listing

router = APIRouter(prefix="/studies/{study}", include_in_schema=False)
Manager = Annotated[Identity, Depends(page_holding(Right.SEE_STUDIES))]
Theme = Annotated[str, Query(pattern="^(light|dark)$")]
RECENT = 10
KEPT = 3600
"""Seconds for which browsers keep a plot: its address changes when it does."""


async def gallery_of(request: Request) -> Gallery:
    """The plots of the service that a request came to."""
    gallery: Gallery = request.app.state.gallery
    return gallery


ThePlots = Annotated[Gallery, Depends(gallery_of)]


def _board(hall: Hall, plots: Gallery, study: str) -> dict[str, Any]:
    live = hall.study(study)
    recent = listing.page(live.stored.db, live.stored.id, limit=RECENT, newest_first=True)
    board = plots.board(study)
    return {"board": board, "behind": board.version != live.version, "recent": case_lines(live, recent)}


@router.get("")
def show_board(study: str, request: Request, hall: TheHall, who: Manager, plots: ThePlots) -> Response:
    """The dashboard."""
    shown = {**_board(hall, plots, study), "scene": plots.scene(study), "notes": hall.study(study).stored.notes}
    return render(request, "board.html", shown, who=who)


@router.get("/board")
def show_numbers(study: str, request: Request, hall: TheHall, who: Manager, plots: ThePlots) -> Response:
    """Its numbers and tables, for a page that is open."""
    return render(request, "board_numbers.html", _board(hall, plots, study), who=who)


@router.get("/plots")
def show_plots(study: str, request: Request, hall: TheHall, who: Manager, plots: ThePlots) -> Response:
    """Its plots, for a page that is open."""
    scene = plots.scene(study)
    shown = {"study": study, "scene": scene, "stale": scene.version != hall.study(study).version}
    return render(request, "board_plots.html", shown, who=who)


@router.get("/plots/{name}.svg", dependencies=[Depends(page_holding(Right.SEE_STUDIES))])
def show_plot(study: str, name: str, plots: ThePlots, theme: Theme = "light") -> Response:
    """One plot; drawn when it is first looked at."""
    svg = plots.svg(study, name, dark=theme == "dark")
    return Response(svg, media_type="image/svg+xml", headers={"Cache-Control": f"private, max-age={KEPT}"})
