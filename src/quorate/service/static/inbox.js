/* The expert's desk: one case at a time, the others ready behind it; a vote is one key. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const { say, send, localTimes } = window.quorate;
  const desk = document.getElementById("desk");
  const { api, expert } = desk.dataset;
  const place = document.getElementById("questions");
  const empty = document.getElementById("empty");
  const trouble = document.getElementById("trouble");
  const last = document.getElementById("last");
  const waiting = document.getElementById("waiting");
  const shortcuts = document.getElementById("shortcuts");
  const away = document.getElementById("away");
  const title = document.title.replace(/^\(\d+\) /, "");
  const TOO_SOON = 200; /* milliseconds in which nobody can have looked at a case */
  const UNDO = 20000; /* milliseconds in which a vote can be taken back by one key */
  const leaving = new Map(); /* answers on their way, by case */
  let undoable = null;
  let undoTimer = 0;
  let since = 0;

  const all = () => [...place.children];
  const current = () => all().find((one) => !one.hidden);
  const caseAddress = (key) => `${api}/cases/${encodeURIComponent(key)}`;

  function count() {
    const number = all().length;
    waiting.textContent = `${number} waiting`;
    document.title = number ? `(${number}) ${title}` : title;
    for (const skip of place.querySelectorAll("[data-skip]")) skip.hidden = number < 2;
  }

  function show(one, { focus = true } = {}) {
    for (const other of all()) other.hidden = other !== one;
    empty.hidden = Boolean(one);
    count();
    since = performance.now();
    if (!one) {
      if (focus) empty.querySelector("h2").focus();
      return;
    }
    one.classList.remove("fresh");
    void one.offsetWidth;
    one.classList.add("fresh");
    if (focus) {
      one.querySelector("h2").focus({ preventScroll: true });
      window.scrollTo({ top: 0 });
    }
  }

  function complain(message) {
    trouble.textContent = message;
    trouble.hidden = !message;
  }

  function next(words) {
    const one = all()[0];
    show(one);
    const left = all().length;
    say(one ? `${words} Next: ${one.dataset.case}. ${left} waiting.` : `${words} Nothing is waiting.`);
  }

  function forget() {
    window.clearTimeout(undoTimer);
    undoable = null;
    last.hidden = true;
  }

  function remember(one, vote) {
    forget();
    undoable = { one, vote };
    last.querySelector("span").textContent = `You voted ${vote} on ${one.dataset.case}.`;
    last.hidden = false;
    undoTimer = window.setTimeout(forget, UNDO);
  }

  /* The case leaves the desk at once; should the service refuse, it comes back with the reason. */
  async function answer(one, button) {
    const key = one.dataset.case;
    if (leaving.has(key)) return;
    complain("");
    const vote = button.name === "vote" ? button.value : null;
    one.remove();
    if (vote === null) forget(); else remember(one, vote);
    next(vote === null ? `You cannot tell on ${key}.` : `Voted ${vote} on ${key}.`);
    const sent = vote === null
      ? send("POST", `${caseAddress(key)}/abstentions`, { expert })
      : send("POST", `${caseAddress(key)}/votes`, { expert, vote });
    leaving.set(key, sent);
    try {
      await sent;
    } catch (error) {
      if (undoable?.one === one) forget();
      place.prepend(one);
      complain(error.unknown ? `${key}: ${error.message}` : `${key} was not recorded: ${error.message}`);
      show(one);
      await refresh();
      return;
    } finally {
      leaving.delete(key);
    }
    if (!all().length) refresh();
  }

  function skip(one) {
    if (all().length < 2) return;
    complain("");
    place.append(one);
    next(`Skipped ${one.dataset.case} for now.`);
  }

  async function undo() {
    if (!undoable) return;
    const { one, vote } = undoable;
    const key = one.dataset.case;
    forget();
    complain("");
    try {
      await leaving.get(key);
      await send("DELETE", `${caseAddress(key)}/votes/${encodeURIComponent(expert)}`);
    } catch (error) {
      complain(`The vote on ${key} was not taken back: ${error.message}`);
      return;
    }
    all().find((other) => other.dataset.case === key)?.remove();
    one.dataset.kept = "";
    place.prepend(one);
    show(one);
    say(`Your vote ${vote} on ${key} was taken back. Vote again.`);
  }

  /* What is new is added behind, what was answered or lapsed elsewhere goes; what one looks at stays as it is. */
  let looking = false;
  let again = false;
  async function refresh() {
    if (looking) { again = true; return; }
    looking = true;
    try {
      const answer = await fetch(desk.dataset.desk, { headers: { Accept: "text/html" } });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const found = new Map([...page.querySelectorAll("article")].map((one) => [one.dataset.case, one]));
      const before = current();
      for (const one of all()) {
        const key = one.dataset.case;
        if (found.delete(key)) { delete one.dataset.kept; continue; }
        if (!("kept" in one.dataset) && !leaving.has(key)) one.remove();
      }
      const fresh = [...found.values()].filter((one) => !leaving.has(one.dataset.case));
      for (const one of fresh) {
        one.hidden = true;
        localTimes(one);
        place.append(document.adoptNode(one));
      }
      const now = current() ?? all()[0];
      if (now !== before) {
        const typing = before === undefined || before.contains(document.activeElement);
        show(now, { focus: typing && document.activeElement !== document.body });
        if (before) say(`${before.dataset.case} is not needed from you any more.`);
        else if (now) say(`A new question: ${now.dataset.case}.`);
      } else {
        count();
      }
    } finally {
      looking = false;
      if (again) { again = false; refresh(); }
    }
  }

  place.addEventListener("submit", (event) => {
    event.preventDefault();
    answer(event.target.closest("article"), event.submitter);
  });
  place.addEventListener("click", (event) => {
    const button = event.target.closest("[data-skip]");
    if (button) skip(button.closest("article"));
  });
  document.getElementById("undo").addEventListener("click", undo);

  document.addEventListener("keydown", (event) => {
    if (!shortcuts?.checked || event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.matches("input:not([type=checkbox]), select, textarea")) return;
    const key = event.key.toLowerCase();
    if (key === "u") { undo(); return; }
    const one = current();
    const button = one && [...one.querySelectorAll("[data-key]")].find((other) => other.dataset.key === key);
    if (!button || button.hidden || performance.now() - since < TOO_SOON) return;
    event.preventDefault();
    button.click();
  });

  if (shortcuts) {
    shortcuts.checked = localStorage.getItem("shortcuts") !== "off";
    shortcuts.addEventListener("change", () => localStorage.setItem("shortcuts", shortcuts.checked ? "on" : "off"));
  }

  away?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const leave = away.elements.away.value === "yes";
    try {
      await send("PUT", `${api}/experts/${encodeURIComponent(expert)}/away`, { away: leave });
    } catch (error) {
      complain(error.message);
      return;
    }
    away.elements.away.value = leave ? "no" : "yes";
    const button = away.querySelector("button");
    button.setAttribute("aria-pressed", String(leave));
    button.textContent = leave ? "I am back" : "I am away";
    document.getElementById("gone").hidden = !leave;
    say(leave ? "You are away." : "You are back.");
    refresh();
  });

  const source = new EventSource(`${api}/experts/${encodeURIComponent(expert)}/events`);
  source.addEventListener("changed", refresh);
  let opened = false;
  source.addEventListener("open", () => { if (opened) refresh(); opened = true; });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
  window.addEventListener("beforeunload", (event) => { if (leaving.size) event.preventDefault(); });
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (event) => { if (event.persisted) window.location.reload(); });

  count();
});
