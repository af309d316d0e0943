"""Text from outside never becomes part of a page: fifty ways to try, in every field, with the page's policy off.

The policy would stop a script even where a text was put into a page as it is. So it is turned off here, and what is
looked for is any trace: a script that ran, or an element that the text brought with it.
"""

from __future__ import annotations

from itertools import cycle
from urllib.parse import quote

from playwright.sync_api import Dialog, Page

from quorate.assembly import Options
from quorate.core.case import Show
from quorate.core.panel import Panel
from quorate.core.rules import Rules
from quorate.service.arrivals import Arrival
from quorate.service.live import LiveStudy
from quorate.storage.config import ServiceSettings, StudyConfig
from tests.browser.conftest import Open
from tests.browser.server import PASSWORD, Server

RUN = "window.ran=1"
TAGS = (
    "<script data-hit>{}</script>",
    "<script data-hit src=data:,{}></script>",
    "<img data-hit src=x onerror={}>",
    "<img data-hit src=x onerror='{}'>",
    "<svg data-hit onload={}>",
    "<svg data-hit><script>{}</script></svg>",
    "<svg data-hit><animate onbegin={} attributeName=x dur=1s>",
    "<body data-hit onload={}>",
    "<iframe data-hit srcdoc='<script>parent.{}</script>'>",
    "<iframe data-hit src='javascript:parent.{}'>",
    "<details data-hit open ontoggle={}>",
    "<video data-hit><source onerror={}>",
    "<audio data-hit src=x onerror={}>",
    "<input data-hit autofocus onfocus={}>",
    "<select data-hit autofocus onfocus={}>",
    "<textarea data-hit autofocus onfocus={}>",
    "<marquee data-hit onstart={}>",
    "<object data-hit data='javascript:{}'>",
    "<embed data-hit src='javascript:{}'>",
    "<a data-hit href='javascript:{}'>x</a>",
    "<form data-hit><button formaction='javascript:{}'>x",
    "<math data-hit><mtext></form><img src=x onerror={}>",
    "<style data-hit>*{{}}</style><img src=x onerror={}>",
    "<link data-hit rel=stylesheet href=x onerror={}>",
    "<meta data-hit http-equiv=refresh content='0;javascript:{}'>",
    "<base data-hit href='javascript:{}'>",
    "<template data-hit><script>{}</script></template>",
    "<noscript><p title='</noscript><img data-hit src=x onerror={}>'>",
    "<div data-hit hx-get='/x' hx-trigger='load' hx-on::load='{}'>",
    "<div data-hit hx-on:click='{}' hx-trigger=load>",
    "<div data-hit sse-connect='/x' hx-ext=sse>{}",
    "</title><script data-hit>{}</script>",
    "</textarea><script data-hit>{}</script>",
    "</script><script data-hit>{}</script>",
    "</style><script data-hit>{}</script>",
    "--><script data-hit>{}</script>",
    "]]><script data-hit>{}</script>",
    "'><img data-hit src=x onerror={}>",
    '"><img data-hit src=x onerror={}>',
    '" autofocus onfocus={} data-hit="',
    "' autofocus onfocus={} data-hit='",
    "` onmouseover={} data-hit=`",
    "javascript:{}",
    "JaVaScRiPt:{}",
    "data:text/html,<script>{}</script>",
    "{{{{constructor.constructor('{}')()}}}}",
    "{{% if 1 %}}<img data-hit src=x onerror={}>{{% endif %}}",
    "${{{}}}",
    "&lt;img data-hit src=x onerror={}&gt;",
    "<IMG data-hit SRC=x OnErRoR={}//",
)
PAYLOADS = tuple(tag.format(RUN) for tag in TAGS)


def name_of(payload: str, number: int) -> str:
    """A payload as a name may be: short, of its own, and without a slash."""
    return f"{number} {payload.replace('/', '|')}"[:64]


def attacked(server: Server) -> LiveStudy:
    """A study in which every text is a payload."""
    names = cycle(name_of(payload, number) for number, payload in enumerate(PAYLOADS))
    classes = [next(names) for _ in range(10)]
    experts = [next(names) for _ in range(10)]
    classifiers = [next(names) for _ in range(5)]
    panel = Panel(classes, experts, classifiers)
    service = ServiceSettings(max_open=100, about=" ".join(PAYLOADS))
    options = Options(method="majority:1", chooser="panel", rules=Rules(min_votes=1))
    live = server.hall.create("attacked", StudyConfig(panel, options, service=service))
    even = [1 / len(classes)] * len(classes)
    live.open(
        [
            Arrival(
                f"{number} {payload.replace('/', '|')}"[:200],
                {classifiers[number % 5]: even},
                (experts[number % 10],),
                Show(text=payload, image=payload, link=payload),
            )
            for number, payload in enumerate(PAYLOADS)
        ]
    )
    for number, payload in enumerate(PAYLOADS[:20]):  # some settle; the rest stay on the desks
        key = f"{number} {payload.replace('/', '|')}"[:200]
        for expert in live.study.pending(key):
            live.vote(key, expert, classes[number % 10])
    return live


TRACES = """() => {
  const brought = [...document.querySelectorAll("[data-hit]")].map(element => element.outerHTML);
  return [window.ran ? "a script ran" : "", ...brought].filter(Boolean).join("; ");
}"""


def traces(page: Page) -> str:
    """What a payload has left on a page, if anything."""
    found: str = page.evaluate(TRACES)
    return found


def test_fifty_payloads_are_fifty_texts() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS) >= 50


def test_no_text_from_outside_runs_or_adds_to_a_page(server: Server, open_window: Open) -> None:
    live = attacked(server)
    for number, payload in enumerate(PAYLOADS[:10]):
        server.join(name_of(payload, number).strip(), "expert")
        admin = server.hall.access.accounts.named("admin")
        assert admin is not None
        server.hall.access.tokens.issue_api(admin.id, label=payload)
    window = open_window(by="admin", bypass_csp=True)
    dialogs: list[str] = []

    def hear(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    window.page.on("dialog", hear)
    experts = live.study.panel.experts
    keys = list(live.study.state.places)
    pages = ["/", "/studies/attacked", "/studies/attacked/cases", "/studies/attacked/import", "/users"]
    pages += ["/account/tokens", f"/studies/attacked/cases?key={quote(PAYLOADS[2], safe='')}"]
    pages += [f"/studies/attacked/inbox/{quote(expert, safe='')}" for expert in experts]
    pages += [f"/studies/attacked/cases/{quote(key, safe='')}" for key in keys]
    pages += [f"/studies/{quote(payload.replace('/', '|'), safe='')}" for payload in PAYLOADS[:5]]  # errors quote names
    for path in pages:
        page = window.go(path)
        page.wait_for_load_state()
        assert traces(page) == "", path
    assert dialogs == []


def test_forms_give_back_what_was_typed_as_text(open_window: Open) -> None:
    window = open_window(by="admin", bypass_csp=True)
    for payload in PAYLOADS[::7]:
        page = window.go("/studies/new")
        for field in page.locator("main form input[type=text], main form textarea").all():
            field.fill(payload)
        page.locator("main form").first.evaluate("form => form.setAttribute('novalidate', '')")
        page.locator("main form button[type=submit]").first.click()
        page.wait_for_load_state()
        assert traces(page) == "", payload
    page = window.go("/account")
    page.context.clear_cookies()
    page = window.go("/sign-in")
    page.fill("#name", PAYLOADS[38])
    page.fill("#password", PASSWORD)
    page.click("button:has-text('Sign in')")
    page.wait_for_load_state()
    assert traces(page) == ""
