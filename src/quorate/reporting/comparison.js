"use strict";
(() => {
  const data = JSON.parse(document.getElementById("allowed-errors").textContent);
  const slider = document.getElementById("allowed");
  const value = document.getElementById("allowed-value");

  const show = (at) => {
    const chosen = data.allowed[at];
    slider.value = at;
    slider.setAttribute("aria-valuetext", chosen.text);
    value.textContent = chosen.text;
    for (const name of document.querySelectorAll(".allowed")) name.textContent = chosen.text;
    for (const part of document.querySelectorAll("[data-at]")) {
      const now = Number(part.dataset.at) === at;
      part.classList.toggle("now", now);
      if (part.tagName === "DETAILS") part.open = now;
    }
  };

  const remember = () => {
    try {
      history.replaceState(null, "", "#e=" + data.allowed[Number(slider.value)].error);
    } catch {
      // a page opened from a message or a sandbox may have no history; the slider works all the same
    }
  };

  // The page can be linked at an allowed error, such as comparison.html#e=0.05.
  const fromAddress = () => {
    const wanted = Number(new URLSearchParams(location.hash.slice(1)).get("e") ?? NaN);
    if (Number.isNaN(wanted)) return data.at;
    const distance = data.allowed.map((one) => Math.abs(one.error - wanted));
    return distance.indexOf(Math.min(...distance));
  };

  document.documentElement.classList.add("js");
  slider.addEventListener("input", () => show(Number(slider.value)));
  slider.addEventListener("change", remember);
  addEventListener("hashchange", () => show(fromAddress()));
  show(fromAddress());
})();
