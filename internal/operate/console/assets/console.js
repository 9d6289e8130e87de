// The console's page: figures every second, charts, and confirmations in a
// dialog. Without it the page still shows its figures and all forms work.

import { Chart, charts } from "./chart.js";
import { Series, KEPT } from "./series.js";
import { clockOf, localTimes } from "./clock.js";
import { localFields, setClock, tick } from "./countdown.js";

// STALE is after how many milliseconds without an event figures are called so.
const STALE = 3500;
// HOUR_EVERY is how often the table of the hour is read anew while it is open.
const HOUR_EVERY = 60000;
// TICK_EVERY is how often countdowns are brought up to date.
const TICK_EVERY = 200;
// PARTS of a page are read anew when what they show is another.
const PARTS = ["rows", "event", "next", "steps", "draw", "events", "controls", "networks", "gate", "settings", "page", "record"];

const head = document.querySelector("[data-events]");
const dialog = document.querySelector("#ask");

// began is when the page was made, heard when the stream told its figures last, turn the number of
// the latest question.
const view = { source: null, began: Date.now(), heard: 0, turn: 0, stale: false, state: "", series: null, drawn: [], over: false };

// text sets an element's text if it is another, so that the page is not laid
// out anew every second for nothing.
function text(el, value) {
  if (el && value !== undefined && el.textContent !== value) el.textContent = value;
}

function fill(within, texts, meters) {
  for (const el of within.querySelectorAll("[data-f]")) text(el, texts[el.dataset.f]);
  for (const el of within.querySelectorAll("[data-m]")) {
    const value = meters[el.dataset.m];
    if (value !== undefined && el.value !== value) el.value = value;
  }
}

function showState(el, state) {
  el.dataset.state = state.key;
  text(el.querySelector(".sign"), state.sign);
  text(el.querySelector(".word"), state.word);
}

function announce(words) {
  text(document.querySelector("#announce"), words);
}

// --- The stream ---------------------------------------------------------------

function connect() {
  if (!head || view.source || view.over) return;
  const source = new EventSource(head.dataset.events);
  view.source = source;
  source.addEventListener("figures", (event) => {
    view.heard = Date.now();
    show(JSON.parse(event.data));
    showLive();
  });
  source.addEventListener("gone", () => end(head.dataset.gone));
  source.addEventListener("logout", () => end("Your session has ended. Log in again."));
  source.addEventListener("error", () => {
    // Closed for good is a refusal: too many consoles, or no session any more.
    if (source.readyState === EventSource.CLOSED && view.source === source) {
      view.source = null;
      setTimeout(connect, 5000);
    }
    showLive();
  });
}

function disconnect() {
  view.source?.close();
  view.source = null;
}

function end(words) {
  view.over = true;
  disconnect();
  showLive(words);
  announce(words);
}

// show puts one second's event on the page.
function show(event) {
  setClock(event.clock);
  tick();
  if ("rows" in head.dataset) {
    for (const el of document.querySelectorAll(".figures")) fill(el, event.texts, {});
    for (const { id, texts, meters, state } of event.rows ?? []) {
      const row = document.querySelector(`tr[data-row="${CSS.escape(id)}"]`);
      if (!row) continue;
      fill(row, texts, meters);
      showState(row.querySelector(".state"), state);
    }
  } else {
    fill(document, event.texts, event.meters);
    showState(document.querySelector("#state .state"), event.state);
    text(document.querySelector("[data-s=sentence]"), event.state.sentence);
    if (view.state && view.state !== event.state.word) announce(`${event.state.word}. ${event.state.sentence}`);
    view.state = event.state.word;
  }
  if (view.series && event.at > 0) {
    const before = view.series.newest;
    view.series.push(event.point);
    if (view.series.newest > before) drawAll();
  }
  if (event.stamp !== head.dataset.stamp) {
    head.dataset.stamp = event.stamp;
    refresh(PARTS);
  }
}

// showLive says whether the figures are those of now.
function showLive(over) {
  const el = document.querySelector("#live");
  if (!el) return;
  const age = Date.now() - (view.heard || view.began);
  const stale = Boolean(over) || view.over || age > STALE;
  if (stale && !view.stale) announce("The figures are stale. Trying to connect again.");
  if (!stale && view.stale) announce("The figures are live again.");
  view.stale = stale;
  document.body.toggleAttribute("data-stale", stale);
  if (view.over && !over) return;
  el.dataset.liveState = stale ? "stale" : view.heard ? "live" : "waiting";
  text(el.querySelector(".sign"), stale ? "▲" : view.heard ? "●" : "○");
  text(el.querySelector(".word"), over || (stale ? "Stale:" : view.heard ? "Live" : "Connecting"));
  text(el.querySelector(".detail"), over ? "" : stale ? `last update ${Math.round(age / 1000)} s ago`
    : view.heard ? clockOf(new Date(view.heard), "second") : "");
}

// --- Charts -------------------------------------------------------------------

async function startCharts() {
  const elements = document.querySelectorAll("[data-plot]");
  if (!head?.dataset.history || elements.length === 0) return;
  for (const el of elements) view.drawn.push(new Chart(el, charts[el.dataset.plot]));
  await catchUp();
}

// catchUp reads what the stream has missed: at the beginning, the whole hour.
async function catchUp() {
  try {
    const res = await fetch(`${head.dataset.history}?after=${Math.floor(view.series?.newest ?? 0)}`);
    if (!res.ok) return;
    const { names, points } = await res.json();
    view.series ??= new Series(names);
    for (const point of points) view.series.push(point);
    drawAll();
  } catch {
    setTimeout(catchUp, 2000); // the network is away; the stream says so
  }
}

function drawAll() {
  if (view.series.columns[0].length === 0) return; // a zone that was made just now
  const to = view.series.newest;
  const first = view.series.columns[0][0] ?? to;
  // At least ten minutes, so that a young zone's line is no noise.
  const span = [Math.max(to - KEPT, Math.min(first, to - 600)), to];
  for (const chart of view.drawn) chart.draw(view.series.pick(chart.lines.map((line) => line.name)), span);
}

// --- Parts of the page, read anew ----------------------------------------------

async function page(url, options) {
  const res = await fetch(url, { headers: { Accept: "text/html" }, ...options });
  const doc = new DOMParser().parseFromString(await res.text(), "text/html");
  return { res, doc };
}

// swap puts parts of a page that was read into this one. A part in which the
// operator is typing stays, but for what comes next.
function swap(doc, names) {
  for (const name of names) {
    const here = document.querySelector(`[data-part="${name}"]`);
    const there = doc.querySelector(`[data-part="${name}"]`);
    if (!here || !there || (name !== "next" && isEdited(here))) continue;
    const open = [...here.querySelectorAll("details")].map((el) => el.open);
    const focused = here.contains(document.activeElement) ? keyOf(document.activeElement) : "";
    here.replaceWith(there);
    there.querySelectorAll("details").forEach((el, i) => { el.open = open[i]; });
    localize(there);
    if (focused) [...there.querySelectorAll("button, input, textarea, select, a, summary")].find((el) => keyOf(el) === focused)?.focus();
  }
}

// localize writes times in the browser's zone, and starts countdowns.
function localize(el) {
  localTimes(el);
  localFields(el);
  tick();
}

function keyOf(el) {
  return `${el.tagName} ${el.name ?? ""} ${el.value ?? ""} ${el.getAttribute("href") ?? ""}`;
}

function isEdited(part) {
  return [...part.querySelectorAll("input:not([type=hidden]), textarea")].some((el) => el.value !== el.defaultValue)
    || [...part.querySelectorAll("option")].some((el) => el.selected !== el.defaultSelected);
}

async function refresh(names) {
  let fresh = false;
  try {
    const { res, doc } = await page(location.pathname + location.search);
    fresh = res.ok;
    if (fresh) {
      swap(doc, names);
      preview();
    } else if (res.status === 404 && head.dataset.gone) {
      end(head.dataset.gone);
      return;
    }
  } catch {
    // The network is away; the stream says so.
  }
  if (!fresh) delete head.dataset.stamp; // the stream's next one comes back here
}

// --- Confirmations --------------------------------------------------------------

// ask shows in the dialog what a change will do. What is no dialog's content,
// such as the log in, is gone to as a page.
function ask(doc, url) {
  const content = doc.querySelector("[data-dialog]");
  if (!content || !dialog) {
    location.assign(url);
    return;
  }
  const heading = content.querySelector("h1");
  const title = doc.createElement("h2");
  title.id = heading.id;
  title.append(...heading.childNodes);
  heading.replaceWith(title);
  dialog.replaceChildren(content);
  localize(dialog);
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("input:not([type=hidden]), button, a")?.focus();
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (event.submitter?.matches("[data-preview]")) return; // goes into its frame
  if (!dialog || !(form.matches("[data-ask]") || form.matches("[data-swap]"))) return;
  event.preventDefault();
  const fields = new URLSearchParams(new FormData(form, event.submitter));
  const post = form.method === "post";
  const url = post ? form.action : `${form.action}?${fields}`;
  const busy = event.submitter;
  const asks = form.matches("[data-ask]");
  const turn = ++view.turn;
  // A slow answer must not take the place of a later one, whose button is about to be pressed.
  const overtaken = () => asks && turn !== view.turn;
  try {
    if (busy) busy.disabled = true;
    const { res, doc } = await page(url, post ? { method: "POST", body: fields } : {});
    if (overtaken()) return;
    if (asks || !res.ok) ask(doc, url);
    else done(res, doc);
  } catch {
    if (overtaken()) return;
    // The network is away: as a plain form, the browser says so itself.
    dialog.close();
    announce("The request did not reach the server. Nothing is known to have changed.");
    showTrouble();
  } finally {
    if (busy?.isConnected) busy.disabled = false;
  }
});

// done shows what a change has made of the zone or policy.
function done(res, doc) {
  dialog.close();
  const there = doc.querySelector("[data-events]");
  if (there?.id !== head?.id || there?.dataset.events !== head?.dataset.events) {
    location.assign(res.url);
    return;
  }
  for (const form of document.querySelectorAll("[data-part=controls] form, [data-part=settings] form, [data-part=next] form, [data-part=steps] form, form[data-part=page]")) form.reset();
  head.dataset.stamp = there.dataset.stamp;
  swap(doc, ["done", ...PARTS]);
  preview();
  const part = (where, name) => where.querySelector(`[data-part="${name}"]`);
  if (PARTS.some((name) => part(document, name) && !part(doc, name))) refresh(PARTS); // the answer is another tab
  document.querySelector("[data-part=done] button")?.focus({ preventScroll: false });
}

function showTrouble() {
  const part = document.querySelector("[data-part=done]");
  const banner = document.createElement("div");
  banner.className = "banner bad";
  banner.textContent = "✕ The request did not reach the server. Check the figures before you try again.";
  part?.replaceChildren(banner);
}

document.addEventListener("click", async (event) => {
  const close = event.target.closest("[data-close]");
  if (close && dialog?.open) {
    event.preventDefault();
    dialog.close();
    return;
  }
  const link = event.target.closest("a[data-ask]");
  if (link && dialog && !(event.ctrlKey || event.metaKey || event.shiftKey)) {
    event.preventDefault();
    const turn = ++view.turn;
    try {
      const { doc } = await page(link.href);
      if (turn === view.turn) ask(doc, link.href);
    } catch {
      if (turn === view.turn) location.assign(link.href); // the browser says that the network is away
    }
  }
});

// --- The waiting page -------------------------------------------------------------

// PREVIEW_AFTER is how many milliseconds after the last key the preview follows.
const PREVIEW_AFTER = 400;

// preview shows the waiting page with what is in the form.
function preview() {
  const button = document.querySelector("[data-preview]");
  for (const el of button?.form.querySelectorAll("[data-scripted]") ?? []) el.hidden = false;
  if (button) button.form.requestSubmit(button);
}

document.addEventListener("input", (event) => {
  if (!event.target.closest("form[data-part=page]")) return;
  clearTimeout(view.preview);
  view.preview = setTimeout(preview, PREVIEW_AFTER);
});

// A file becomes the text of the field.
document.addEventListener("change", (event) => {
  const file = event.target.id === "logo-file" && event.target.files[0];
  if (!file) return;
  const reader = new FileReader();
  reader.addEventListener("load", () => {
    event.target.form.elements.pageLogo.value = reader.result;
    preview();
  });
  reader.readAsDataURL(file);
});

// --- Start --------------------------------------------------------------------------

setClock(Number(head?.dataset.now));
localize(document);
if (head) {
  connect();
  setInterval(tick, TICK_EVERY);
  setInterval(showLive, 1000);
  // A page that nobody sees holds no connection: browsers have few to a server.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      disconnect();
    } else {
      connect();
      if (view.series) catchUp();
    }
  });
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", () => connect());
  startCharts();
  preview();
  const hour = document.querySelector("#hour-table");
  const readHour = () => { if (hour?.open && !document.hidden) refresh(["hour"]); };
  hour?.addEventListener("toggle", readHour);
  setInterval(readHour, HOUR_EVERY);
}
new ResizeObserver(() => { for (const chart of view.drawn) chart.fit(); }).observe(document.querySelector("main"));
