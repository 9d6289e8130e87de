// The console's script in a page that is there only as far as it asks for it, with answers
// that come when they are told to. The argument is the URL of the script.
import assert from "node:assert/strict";

const listeners = {}, timers = [], answers = [];
let now = 1_000_000;
const nothing = () => [];
const bare = () => ({ dataset: {}, textContent: "", querySelectorAll: nothing, querySelector: () => null, toggleAttribute() {}, append() {}, replaceWith() {} });
const dialog = { ...bare(), open: false, shown: null, showModal() { this.open = true; }, close() { this.open = false; }, replaceChildren(content) { this.shown = content.name; } };
const parts = { ".sign": bare(), ".word": bare(), ".detail": bare() };
const live = { ...bare(), querySelector: (what) => parts[what] };
const page = { "#ask": dialog, "#live": live, "[data-events]": { ...bare(), dataset: { events: "/events", rows: "", stamp: "1" } }, "#announce": bare(), main: bare() };
let stream;

Object.assign(globalThis, {
  document: {
    ...bare(), hidden: false, body: bare(), querySelector: (what) => page[what] ?? null, createElement: bare,
    addEventListener: (what, f) => (listeners[what] ??= []).push(f),
  },
  location: { pathname: "/console/", assign(url) { throw new Error(`the page was left for ${url}`); } },
  addEventListener() {},
  ResizeObserver: class { observe() {} },
  EventSource: class {
    constructor() { stream = this; this.on = {}; }
    addEventListener(what, f) { this.on[what] = f; }
    close() {}
  },
  DOMParser: class {
    parseFromString(name) { // a page with a dialog of that name
      const content = { ...bare(), name, querySelector: (what) => (what === "h1" ? { ...bare(), id: "ask-title", childNodes: [] } : null) };
      return { ...bare(), createElement: bare, querySelector: (what) => (what === "[data-dialog]" ? content : null) };
    }
  },
  FormData: class { *[Symbol.iterator]() {} },
  setInterval: (f) => timers.push(f),
  fetch: (url) => new Promise((resolve, reject) => answers.push({
    url: String(url), reject, answer: (status, text) => resolve({ ok: status === 200, status, url, text: async () => text }),
  })),
});
Date.now = () => now;

await import(process.argv[2]);

const settle = () => new Promise((done) => setImmediate(done));
const form = (action, kind, method) => ({ action, method, matches: (what) => what === kind });
const submit = (f) => { for (const hear of listeners.submit) hear({ target: f, submitter: null, preventDefault() {} }); };
const click = (href) => {
  const link = { href };
  for (const hear of listeners.click) hear({ target: { closest: (what) => (what === "a[data-ask]" ? link : null) }, preventDefault() {} });
};
const second = () => { now += 1000; for (const f of timers) f(); };

// What was asked last is in the dialog, whichever answer comes last.
submit(form("/pause", "[data-ask]", "get"));
submit(form("/limit", "[data-ask]", "get"));
click("/delete");
const [pause, limit, remove] = answers;
remove.answer(200, "Delete?");
await settle();
assert.equal(dialog.shown, "Delete?");
pause.answer(200, "Pause?");
limit.reject(new TypeError("no network"));
await settle();
assert.equal(dialog.shown, "Delete?", "an earlier question came late");
assert.equal(dialog.open, true, "an earlier question failed late");

// The answer to what was confirmed is shown in any case.
click("/slow");
submit(form("/change", "[data-swap]", "post"));
const [slow, change] = answers.slice(3);
click("/another");
change.answer(409, "Not changed");
await settle();
assert.equal(dialog.shown, "Not changed");
slow.answer(200, "Slow?");
await settle();
assert.equal(dialog.shown, "Not changed", "an earlier question came late");

// A stream that delivers nothing is not waited for as if it were about to.
second();
assert.equal(live.dataset.liveState, "waiting");
for (let i = 0; i < 3; i++) second();
assert.equal(live.dataset.liveState, "stale", "4 s without a figure");
assert.equal(parts[".detail"].textContent, "last update 4 s ago");
stream.on.figures({ data: JSON.stringify({ at: 0, stamp: "1", texts: {}, rows: [] }) });
assert.equal(live.dataset.liveState, "live");
