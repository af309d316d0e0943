"""Text from outside never becomes part of a page: fifty ways to try, in every field, with the page's policy off.

The policy would stop a script even where a text was put into a page as it is. So it is turned off here, and what is
looked for is any trace: a script that ran, or an element that the text brought with it.
"""

from __future__ import annotations

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


NAMES = tuple(tag.format("ran=1").replace("/", "|").strip()[:64] for tag in TAGS)
"""The same as names may be: short, and without a slash."""
EACH = 10
STUDIES = tuple(f"attacked-{number}" for number in range(len(TAGS) // EACH))


def key_of(number: int) -> str:
    """A payload as the key of a case."""
    return f"{number} {PAYLOADS[number].replace('/', '|')}"[:200]


def attacked(server: Server, number: int) -> LiveStudy:
    """A study in which every text is a payload; several of them have all payloads in every field."""
    mine = range(number * EACH, (number + 1) * EACH)
    names = [NAMES[one] for one in mine]
    service = ServiceSettings(max_open=100, about=" ".join(PAYLOADS))
    options = Options(method="majority:1", chooser="panel", rules=Rules(min_votes=1))
    live = server.hall.create(STUDIES[number], StudyConfig(Panel(names, names, names), options, service=service))
    live.open(
        [
            Arrival(
                key_of(one),
                {NAMES[one]: [1 / EACH] * EACH},
                (NAMES[one],),
                Show(text=PAYLOADS[one], image=PAYLOADS[one], link=PAYLOADS[one]),
            )
            for one in mine
        ]
    )
    for one in mine[: EACH // 2]:  # some settle; the rest stay on the desks
        live.vote(key_of(one), NAMES[one], NAMES[one])
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
    assert len(set(PAYLOADS)) == len(set(NAMES)) == len(TAGS) == EACH * len(STUDIES) >= 50


def test_no_text_from_outside_runs_or_adds_to_a_page(server: Server, open_window: Open) -> None:
    admin = server.hall.access.accounts.named("admin")
    assert admin is not None
    for number, (name, payload) in enumerate(zip(NAMES, PAYLOADS, strict=True)):  # users are the same in any case
        server.hall.access.accounts.create_user(f"{name[:60]} {number}", "expert")
        server.hall.access.tokens.issue_api(admin.id, label=payload[:100])
    window = open_window(by="admin", bypass_csp=True)
    dialogs: list[str] = []

    def hear(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    window.page.on("dialog", hear)
    pages = ["/", "/users", "/account/tokens"]
    for number, study in enumerate(STUDIES):
        live = attacked(server, number)
        pages += [f"/studies/{study}{below}" for below in ("", "/cases", "/import")]
        pages += [f"/studies/{study}/inbox/{quote(expert, safe='')}" for expert in live.study.panel.experts]
        pages += [f"/studies/{study}/cases/{quote(key, safe='')}" for key in live.study.state.places]
    for payload in PAYLOADS[::7]:  # searches and errors quote what was asked for
        pages += [f"/studies/{STUDIES[0]}/cases?key={quote(payload, safe='')}"]
        pages += [f"/studies/{quote(payload.replace('/', '|'), safe='')}"]
    for path in pages:
        page = window.go(path)
        page.wait_for_load_state()
        assert traces(page) == "", path
    assert dialogs == []


def test_forms_give_back_what_was_typed_as_text(open_window: Open) -> None:
    window = open_window(by="admin", bypass_csp=True)
    page = window.go("/studies/new")
    for payload in PAYLOADS:
        fields = page.locator("main form").first.locator("input:not([type]), input[type=text], textarea").all()
        assert len(fields) > 5
        for field in fields:
            field.evaluate("(field, text) => { field.value = text; }", payload)
        page.locator("main form").first.evaluate("form => form.setAttribute('novalidate', '')")
        page.locator("main form button[type=submit]").first.click()
        page.wait_for_load_state()
        assert page.get_by_role("alert").count() or page.locator(".bad, [aria-invalid=true]").count(), payload
        assert traces(page) == "", payload
    page = window.go("/account")
    page.context.clear_cookies()
    page = window.go("/sign-in")
    page.fill("#name", PAYLOADS[38])
    page.fill("#password", PASSWORD)
    page.click("button:has-text('Sign in')")
    page.wait_for_load_state()
    assert traces(page) == ""
