// Countdowns to the steps of events, by the store's clock: what a server has said last, and the
// time since. And times that are typed into forms, in the browser's own zone.

// KEPT is how many of the latest answers about the clock are looked at.
const KEPT = 30;

const ahead = []; // by how many milliseconds the store's clock was before the browser's

// setClock takes what an event said. An event that was a moment on its way says less than is
// true: the most of the latest is nearest.
export function setClock(millis) {
  if (!millis) return;
  ahead.push(millis - Date.now());
  if (ahead.length > KEPT) ahead.shift();
}

// until writes how long something is away, as the server does.
export function until(millis) {
  const s = Math.ceil(millis / 1000);
  return s <= 0 ? "now" : span(s);
}

// span writes seconds in their two largest units, as setting.Span in Go does.
export function span(s) {
  const two = (n, unit, part, rest) => (part === 0 ? `${n} ${unit}` : `${n} ${unit} ${rest}`);
  const pad = (n) => String(n).padStart(2, "0");
  if (s < 60) return `${s} s`;
  if (s < 3600) return two(Math.floor(s / 60), "min", s % 60, `${pad(s % 60)} s`);
  const minutes = Math.floor((s % 3600) / 60);
  if (s < 86400) return two(Math.floor(s / 3600), "h", minutes, `${pad(minutes)} min`);
  const hours = Math.floor((s % 86400) / 3600);
  return two(Math.floor(s / 86400), "d", hours, `${hours} h`);
}

// tick brings all countdowns of the page up to date.
export function tick() {
  if (ahead.length === 0) return;
  const now = Date.now() + Math.max(...ahead);
  for (const el of document.querySelectorAll("[data-until]")) {
    const left = el.dataset.until - now;
    const text = until(left);
    if (el.textContent !== text) el.textContent = text;
    if (el.parentElement.matches(".countdown")) el.parentElement.toggleAttribute("data-soon", left < 60000);
  }
}

const place = Intl.DateTimeFormat().resolvedOptions().timeZone;

// rfc3339 is a time of a datetime-local field with the offset that the browser's zone has then, and the zone's name: the
// server refuses a time that the clocks skip.
function rfc3339(local) {
  const at = new Date(local);
  if (Number.isNaN(at.getTime())) return local;
  const offset = -at.getTimezoneOffset();
  const two = (n) => String(Math.floor(Math.abs(n))).padStart(2, "0");
  const seconds = local.length === 16 ? `${local}:00` : local.slice(0, 19);
  return `${seconds}${offset < 0 ? "-" : "+"}${two(offset / 60)}:${two(offset % 60)}${place ? `[${place}]` : ""}`;
}

// localOf is a moment as a datetime-local field has it.
function localOf(text) {
  const at = new Date(text.split("[")[0]);
  if (!text || Number.isNaN(at.getTime())) return "";
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60000);
  return shifted.toISOString().slice(0, 19);
}

// localFields puts a field of the browser's own zone in the place of each that takes a time; the
// one that is sent is hidden, and stays as it was while nobody types.
export function localFields(within) {
  for (const sent of within.querySelectorAll("input[data-when]")) {
    const typed = sent.cloneNode();
    typed.setAttribute("value", localOf(sent.value));
    typed.type = "datetime-local";
    typed.step = 1;
    for (const name of ["name", "data-when", "placeholder"]) typed.removeAttribute(name);
    for (const name of ["id", "data-when", "aria-describedby"]) sent.removeAttribute(name);
    sent.type = "hidden";
    typed.addEventListener("input", () => { sent.value = typed.value ? rfc3339(typed.value) : ""; });
    typed.form?.addEventListener("reset", () => { sent.value = sent.defaultValue; });
    sent.after(typed);
    const label = typed.id && within.querySelector(`label[for="${CSS.escape(typed.id)}"]`);
    if (label && place && !label.textContent.endsWith(`(${place})`)) label.append(` (${place})`); // a live page keeps its labels
  }
  for (const el of within.querySelectorAll("[data-timezone]")) {
    el.textContent = place || "your browser";
    el.closest("[data-scripted]").hidden = false;
  }
}
