// The workbench: everything here also works without it, but for the live curve and the offers of names.
import { complete, highlight } from "./editor.js";

const SETTLE = 350; // milliseconds of quiet before the exact quote is fetched
const PASSING = new Set([429, 500, 503, 504]); // refusals that have nothing to do with the question: it may be sent again
const id = (name) => document.getElementById(name);
let waiting, asked = 0; // a timer, and how many were sent: only what was sent last is shown
let answering = false, whole = false; // whether an answer is under way, and whether a whole page is

function remember(name, value) { try { sessionStorage.setItem(name, value); } catch { /* a private window */ } }
function recall(name) { try { return sessionStorage.getItem(name); } catch { return null; } }

function say(words) { const place = id("live"); if (place) place.textContent = words; }

function start() {
  const form = id("question");
  if (!form) return;
  const area = id("sql"), spend = id("spend"), slider = id("slider"), place = location.pathname;
  // the nonce makes the key of a question: kept for the tab, so that the same question after a reload, or after a kill,
  // is the same request, is charged once, and gives one answer
  const nonce = recall(`nonce ${place}`) || form.elements.nonce.value;
  form.elements.nonce.value = nonce;
  remember(`nonce ${place}`, nonce);
  if (!area.value && recall(`draft ${place}`)) area.value = recall(`draft ${place}`);

  const price = () => spend.dataset.price.replace("{}", spend.value);
  const light = () => { highlight(area.value, id("light")); id("light").scrollTop = area.scrollTop; };
  id("editor").classList.add("lit");
  area.addEventListener("input", () => { light(); remember(`draft ${place}`, area.value); });
  area.addEventListener("scroll", light);
  complete(area, id("offers"));
  light();

  if (slider && points().length) {
    id("slide").hidden = false;
    slider.value = 1000 * shareOf(numberSaid(spend.value), points());
    slider.addEventListener("input", () => {
      spend.value = String(spendAt(slider.value / 1000, points()));
      moved();
    });
  }
  form.addEventListener("input", (event) => { // the slider stands outside, and is heard above
    const value = numberSaid(spend.value);
    if (event.target !== spend || !(value > 0) || !points().length) return edited();
    slider.value = 1000 * shareOf(value, points());
    moved();
  });
  function moved() {
    const margin = move(numberSaid(spend.value));
    const about = id("about");
    if (about) about.textContent = !margin ? "" : `about ± ${Number(margin.toPrecision(2)).toLocaleString("en")} at ${price()}`;
    slider.setAttribute("aria-valuetext", `${price()}, ${about ? about.textContent : ""}`);
    const ask = id("ask");
    if (ask && ask.value === "ask") { ask.textContent = `Ask for ${price()}`; ask.disabled = true; } // until the exact quote is there
    clearTimeout(waiting);
    if (answering) return;
    asked += 1; // whatever is under way is the price of another spend
    const parts = whole || id("price").classList.contains("stale") ? null : ["exact", "act", "allot"];
    waiting = setTimeout(() => quote(form, parts), SETTLE);
  }
  if (id("currency")) id("currency").addEventListener("change", () => quote(form, null)); // about the same noise in it
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { // quotes, never asks
      event.preventDefault();
      quote(form, null);
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const data = new URLSearchParams(new FormData(form));
    if (event.submitter && event.submitter.name) data.set(event.submitter.name, event.submitter.value);
    send(form, data, null);
  });
}

function quote(form, parts) {
  const data = new URLSearchParams(new FormData(form));
  data.set("do", parts ? "exact" : "price");
  return send(form, data, parts);
}

// What is asked is another question now, which nobody has seen the price of: what is shown is that of the one before.
function edited() {
  const ask = id("ask");
  if (answering) return; // what was typed is put back, and comes here, when the answer is there
  clearTimeout(waiting);
  if (!whole) asked += 1; // of the price of one number: a whole page that comes is compared with what was typed
  id("price").classList.add("stale");
  if (!ask || ask.value !== "ask") return;
  ask.value = "price";
  ask.textContent = "Quote the price";
  ask.disabled = false;
  for (const each of id("act").children) if (each !== ask) each.hidden = true;
}

// Whoever is typing goes on in the same field of the new page, with the same letters chosen.
function goOn(held, from, to) {
  const field = id(held.id) || (held.form && held.form.id === "question" && id("question").elements[held.name]);
  if (!field || !field.focus) return;
  const folded = field.closest("details");
  if (folded) folded.open = true;
  field.focus();
  if (Number.isInteger(from) && field.value.length >= to) field.setSelectionRange(from, to);
}

function typed(form) { // what somebody has filled in, by names
  return [...new FormData(form)].filter(([name]) => !["nonce", "before", "quoted"].includes(name));
}

// The service is busy: what was typed and what was quoted stay, with its words beside them, and may be sent again.
function sentAway(form, page) {
  const told = page.querySelector(".state[data-cause]"), title = document.createElement("b");
  title.textContent = page.querySelector("h1").textContent;
  told.prepend(title);
  for (const each of document.querySelectorAll(".state[data-cause]")) each.remove();
  id("offline").after(told);
  for (const each of form.querySelectorAll("button")) each.disabled = false;
  say("");
}

async function send(form, data, parts) {
  if (answering) return; // an answer that may be charged already is shown first
  clearTimeout(waiting); // of a price that nobody wants any more
  const number = ++asked, asking = data.get("do") === "ask", sent = new Map(typed(form));
  answering = asking;
  whole = !parts;
  say(asking ? "Asking…" : "Quoting…");
  if (asking) for (const each of form.querySelectorAll("button")) each.disabled = true;
  let page, response;
  try {
    response = await fetch(form.action, { method: "POST", body: data, credentials: "same-origin" });
    page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (!page.querySelector("main")) throw new Error("the page of a proxy");
  } catch {
    if (number !== asked) return; // a later one is under way
    answering = whole = false;
    for (const each of form.querySelectorAll("button")) each.disabled = false;
    id("offline").hidden = false;
    say("Offline: nothing was lost.");
    return;
  }
  if (number !== asked) return;
  answering = whole = false;
  id("offline").hidden = true;
  if (!page.getElementById("question")) { // logged out, or refused as a whole
    if (response.redirected) location.assign(response.url);
    else if (PASSING.has(response.status) && page.querySelector(".state[data-cause]")) sentAway(form, page);
    else document.querySelector("main").replaceWith(page.querySelector("main"));
    return;
  }
  if (parts && parts.every((part) => id(part) && page.getElementById(part))) {
    for (const part of parts) id(part).replaceWith(page.getElementById(part));
    say("");
    return;
  }
  const held = document.activeElement, kept = held && [held.selectionStart, held.selectionEnd];
  const later = typed(form).filter(([name, value]) => value !== sent.get(name)); // what was typed meanwhile
  document.querySelector("main").replaceWith(page.querySelector("main"));
  for (const [name, value] of later) if (id("question").elements[name]) id("question").elements[name].value = value;
  if (response.redirected) history.pushState(null, "", response.url);
  start();
  if (later.length) edited();
  if (asking && id("answer")) id("answer").focus();
  else if (held) goOn(held, ...kept);
  const price = document.querySelector("#exact .row"); // a refusal speaks for itself
  say(asking ? (id("answer") ? "The answer is here." : "") : price ? "The price is here." : "");
}

// The slider moves a mark along a curve that was fetched once; both scales are logarithmic, as on the server.
function points() {
  const chart = document.getElementById("curve");
  return chart ? JSON.parse(chart.dataset.points) : [];
}

function numberSaid(text) { // "0.1", or "1/3"
  const [above, below] = text.split("/").map(Number);
  return below === undefined ? above : above / below;
}

function spendAt(share, curve) {
  const low = curve[0][0], high = curve[curve.length - 1][0];
  return Number((low * (high / low) ** share).toPrecision(3));
}

function shareOf(spend, curve) {
  const low = curve[0][0], high = curve[curve.length - 1][0];
  return Math.min(1, Math.max(0, Math.log(spend / low) / Math.log(high / low)));
}

function marginAt(spend, curve) {
  if (spend <= curve[0][0]) return curve[0][1];
  for (let i = 1; i < curve.length; i++) {
    if (spend <= curve[i][0]) {
      const t = Math.log(spend / curve[i - 1][0]) / Math.log(curve[i][0] / curve[i - 1][0]);
      return curve[i - 1][1] ** (1 - t) * curve[i][1] ** t;
    }
  }
  return curve[curve.length - 1][1];
}

function move(spend) {
  const curve = points(), mark = document.getElementById("curve-mark");
  if (!curve.length || !mark) return;
  const outside = spend < curve[0][0] || spend > curve[curve.length - 1][0];
  mark.toggleAttribute("hidden", outside); // a spend that is not on the curve has no place there
  if (outside) return;
  const margins = curve.map((each) => each[1]);
  const low = Math.min(...margins) / 1.15, high = Math.max(...margins) * 1.15;
  const margin = marginAt(spend, curve);
  const x = `${100 * shareOf(spend, curve)}%`;
  const y = `${100 * (1 - Math.log(margin / low) / Math.log(high / low))}%`;
  const [down, across, dot] = mark.children;
  for (const [line, places] of [[down, { x1: x, x2: x, y1: y }], [across, { x2: x, y1: y, y2: y }], [dot, { cx: x, cy: y }]]) {
    for (const [name, value] of Object.entries(places)) line.setAttribute(name, value);
  }
  return margin;
}

addEventListener("popstate", () => location.reload());
start();
