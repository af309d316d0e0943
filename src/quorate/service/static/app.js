/* What all pages share: times in the reader's own clock, plots that renew themselves, words for screen readers. */
"use strict";

window.quorate = (() => {
  const said = () => document.getElementById("said");

  /* Tell a screen reader what happened; the same words twice are two messages. */
  function say(text) {
    const place = said();
    if (!place) return;
    place.textContent = "";
    window.setTimeout(() => { place.textContent = text; }, 50);
  }

  function localTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
      const at = new Date(time.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      time.dataset.local = "";
      time.title = time.textContent;
      const sameDay = at.toDateString() === new Date().toDateString();
      time.textContent = at.toLocaleString([], sameDay ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
    }
  }

  /* The value of a header that proves that a request comes from our own page. */
  const csrf = () => document.querySelector("meta[name=csrf]")?.content ?? "";

  async function send(method, address, body) {
    const headers = { "X-CSRF-Token": csrf(), Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let answer;
    try {
      /* keepalive: what is on its way when the page is left arrives all the same */
      answer = await fetch(address, { method, headers, keepalive: true, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch {
      const error = new Error("The service does not answer. Whether this was recorded is not known; try again, the same twice counts once.");
      error.unknown = true;
      throw error;
    }
    if (answer.ok) return answer;
    if (answer.status === 401) throw new Error("You are signed out. Load the page again and sign in.");
    let message = `The service answered with ${answer.status}.`;
    try { message = (await answer.json()).error.message; } catch { /* no words came with it */ }
    throw new Error(message);
  }

  /* New plots are loaded before they take the place of the old ones, so that nothing flickers. */
  async function renewPlots(place) {
    const answer = await fetch(place.dataset.plots, { headers: { Accept: "text/html" } });
    if (!answer.ok) return false;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector(".contents");
    const sources = (root) => [...root.querySelectorAll("img")].map((image) => image.getAttribute("src")).join();
    if (sources(fresh) !== sources(place)) {
      const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
      for (const picture of fresh.querySelectorAll("picture")) {
        const ahead = new Image();
        ahead.src = dark ? picture.querySelector("source").srcset : picture.querySelector("img").getAttribute("src");
        await ahead.decode().catch(() => undefined);
      }
      place.replaceChildren(document.adoptNode(fresh));
    }
    return "stale" in fresh.dataset;
  }

  function keepPlots(place) {
    let due = 0;
    const later = () => {
      due ||= window.setTimeout(async () => {
        const stale = await renewPlots(place).catch(() => false);
        due = 0;
        if (stale) later();
      }, 5000);
    };
    document.body.addEventListener("htmx:afterRequest", later);
  }

  function start() {
    localTimes(document);
    const plots = document.querySelector("[data-plots]");
    if (plots) keepPlots(plots);
    for (const name of ["htmx:afterSwap", "htmx:oobAfterSwap"]) {
      document.body.addEventListener(name, (event) => localTimes(event.target));
    }
    /* what somebody is at is not taken from under their hands; the next change tries again */
    const at = (target) => {
      const busy = document.activeElement;
      return busy !== target && target.contains(busy) && busy.matches("a, input, select, textarea, button, summary, [tabindex='0']");
    };
    document.body.addEventListener("htmx:oobBeforeSwap", (event) => { if (at(event.detail.target)) event.detail.shouldSwap = false; });
    document.body.addEventListener("htmx:beforeSwap", (event) => {
      if (event.detail.target.matches("[data-quiet]") && at(event.detail.target)) event.detail.shouldSwap = false;
    });
    for (const button of document.querySelectorAll("[data-copy]")) {
      button.hidden = false;
      button.addEventListener("click", async () => {
        const source = document.getElementById(button.dataset.copy);
        source.select();
        try { await navigator.clipboard.writeText(source.value); } catch { document.execCommand("copy"); }
        button.textContent = "Copied";
        say("Copied");
      });
    }
    document.addEventListener("submit", (event) => { /* whichever forms are on the page by then */
      const question = event.target.dataset.sure;
      if (question && !window.confirm(question)) event.preventDefault();
    });
    const least = document.querySelector("[data-least]");
    if (least) {
      const warning = document.getElementById("no-human");
      const budget = document.getElementById("budget");
      const look = () => { warning.hidden = least.value.trim() !== "0" && budget.value.trim() === ""; };
      least.addEventListener("input", look);
      budget.addEventListener("input", look);
      look();
    }
  }

  document.addEventListener("DOMContentLoaded", start);
  return { say, send, localTimes };
})();
