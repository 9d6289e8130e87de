// <waiting-room zone="SALE">: waits in the page around it. See README.md.
import { leave, roundRange, wait } from './index.js';

const MINUTE = 60_000;
const STYLE = `
:host { display: block; }
:host([hidden]), [hidden] { display: none !important; }
dl { display: flex; flex-wrap: wrap; gap: .5rem 2rem; margin: 1rem 0; }
dd { margin: 0; font-size: 1.5em; font-weight: 600; font-variant-numeric: tabular-nums; }
[part=heading] { outline: 0; font-size: 1.5em; font-weight: 600; margin: 0; }
[part~=button] { font: inherit; min-height: 2.75rem; padding: .5rem 1.25rem; }
[part=spoken] { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
`;
const PARTS = `
<slot name="header"></slot>
<p part="heading" role="heading" tabindex="-1"></p>
<p part="text"></p>
<slot part="state"></slot>
<dl part="figures"><div part="figure"><dt part="label"></dt><dd part="place"></dd></div><div part="figure"><dt part="label"></dt><dd part="wait"></dd></div></dl>
<p part="message" dir="auto"></p>
<p part="reference"></p>
<p part="actions"><button part="button leave" type="button"></button><button part="button again" type="button"></button></p>
<p part="spoken" role="status"></p>
<slot name="footer"></slot>`;

/** The texts in English. Others: the attribute or property `texts`. */
export const TEXTS = {
  joining: 'One moment, please',
  waiting: 'You are in line',
  waitingText: 'You do not have to do anything. Keep this page open.',
  paused: 'The line is paused',
  pausedText: 'You keep your place. It goes on by itself.',
  gathering: 'You are in the waiting room',
  gatheringText: 'You hear your place shortly before the opening.',
  busy: 'Very many people are here',
  busyText: 'This page tries again by itself.',
  unavailable: 'One moment, please',
  unavailableText: 'Your place is kept, and this page tries again by itself.',
  retrying: 'No connection',
  retryingText: 'Your place is kept for a while. This page goes on by itself as soon as you are connected.',
  turn: 'It is your turn',
  left: 'You have left the line',
  gone: 'Your place is gone',
  sold_out: 'Sold out',
  zone_closed: 'The line is closed',
  place: 'Your place',
  wait: 'Expected wait',
  opens: 'Opens in',
  unknown: 'not known at the moment',
  soon: 'less than a minute',
  upTo: 'up to {wait}',
  reference: 'Reference: {id}',
  spoken: 'Place {place}, {wait}.',
  leave: 'Leave the line',
  again: 'Join the line again',
};

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

export class WaitingRoomElement extends (globalThis.HTMLElement ?? class {}) {
  static observedAttributes = ['zone', 'url', 'ticket'];

  #texts;
  #on = false; // it is in a page
  #stop;
  #shown; // the range that is shown
  #said; // position and wait that were said last
  #last = {}; // the latest update
  #notice;
  #message = '';

  constructor() {
    super();
    const root = this.attachShadow({ mode: 'open' });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    root.innerHTML = PARTS;
    if (Object.hasOwn(this, 'texts')) { // set before this module was loaded
      this.#texts = this.texts;
      delete this.texts;
    }
    this.#part('leave').addEventListener('click', () => this.leave());
    this.#part('again').addEventListener('click', () => this.join());
  }

  connectedCallback() {
    this.#on = true;
    this.join();
  }

  disconnectedCallback() {
    this.#on = false;
    this.#stop?.abort();
  }

  attributeChangedCallback(_, was, is) {
    if (this.#on && was !== is) this.join();
  }

  /** Texts in the place of TEXTS; what is left out is English. */
  get texts() {
    let written;
    try {
      written = JSON.parse(this.getAttribute('texts'));
    } catch {
      // React writes an object as text before this module is loaded.
    }
    return { ...TEXTS, ...written, ...this.#texts };
  }

  set texts(texts) {
    this.#texts = texts;
    if (this.#on) this.#show(this.getAttribute('state'));
  }

  get #room() {
    let storage;
    try {
      storage = localStorage;
    } catch {
      // forbidden: the place is kept as long as the page
    }
    return {
      storage, onChallenge: this.onChallenge,
      url: this.getAttribute('url') ?? location.origin, zone: this.getAttribute('zone'), ticket: this.getAttribute('ticket') ?? undefined,
    };
  }

  async join() {
    this.#stop?.abort();
    if (!this.getAttribute('zone')) return;
    const stop = new AbortController();
    this.#stop = stop;
    this.#last = {};
    this.#said = undefined;
    this.#show('joining');
    try {
      const admission = await wait({ ...this.#room, signal: stop.signal, onUpdate: (u) => { if (!stop.signal.aborted) this.#update(u); } });
      this.#show('turn');
      const to = this.getAttribute('to');
      if (!this.#tell('turn', admission) || to === null) return;
      const url = new URL(to, location.href);
      url.searchParams.set('waiting_room_pass', admission.pass);
      location.assign(url);
    } catch (e) {
      if (stop.signal.aborted) return;
      this.#show('gone', e);
      this.#tell('gone', { code: e.code, message: e.message });
    }
  }

  async leave() {
    this.#stop?.abort();
    await leave(this.#room).catch(() => {});
    this.#show('left');
    this.#part('heading').focus();
    this.#tell('gone', { code: 'left' });
  }

  #part(name) {
    return this.shadowRoot.querySelector(`[part~=${name}]`);
  }

  // #tell returns whether what the event stands for may go on.
  #tell(name, detail) {
    return this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true, cancelable: true }));
  }

  #update(u) {
    const before = this.#last;
    this.#last = u.state === 'waiting' ? u : before;
    if (u.state !== 'waiting') {
      this.#show(u.state);
      return;
    }
    this.#show(u.event ? 'gathering' : u.paused || u.reason === 'on_hold' ? 'paused' : 'waiting');
    if (!before.placeId) this.#tell('placed', u);
    else if (before.position !== u.position) this.#tell('moved', u);
    if (u.notice !== this.#notice) this.#read(u.notice);
  }

  // #read gets the operator's message.
  async #read(notice) {
    this.#notice = notice;
    this.#message = '';
    if (notice !== undefined) {
      try {
        const { url, zone } = this.#room;
        const answer = await fetch(new URL(`/traffic/zones/${zone}`, url), { headers: { 'Accept-Language': this.#lang } });
        this.#message = (await answer.json()).message ?? '';
      } catch {
        this.#notice = undefined; // with the next update
      }
    }
    this.#set('message', this.#message);
    if (this.#message) this.#set('spoken', this.#message);
  }

  get #lang() {
    return this.closest('[lang]')?.lang || navigator.language;
  }

  #set(part, text) {
    const el = this.#part(part);
    if (el.textContent !== text) el.textContent = text;
    if (part !== 'spoken') el.hidden = text === '';
  }

  // #long writes how long somebody waits.
  #long({ estimatedWaitRange: range, paused, reason }, texts) {
    this.#shown = range && roundRange(range, this.#shown);
    if (!this.#shown || paused || reason === 'on_hold') return texts.unknown;
    const { low, high, unit } = this.#shown;
    if (low === 0 && high === 1 && unit === 'minute') return texts.soon;
    const number = new Intl.NumberFormat(this.#lang, { style: 'unit', unit, unitDisplay: 'long' });
    if (low === 0) return fill(texts.upTo, { wait: number.format(high) });
    return low === high ? number.format(high) : number.formatRange(low, high);
  }

  // #show shows a state, with the figures of the latest update.
  #show(state, problem) {
    const texts = this.texts;
    const seated = ['waiting', 'paused', 'gathering', 'busy', 'unavailable', 'retrying'].includes(state) && this.#last.placeId;
    const changed = this.getAttribute('state') !== state;
    this.setAttribute('state', state);
    this.#part('state').name = state;
    this.#part('heading').ariaLevel = this.getAttribute('level') ?? '2';
    const heading = texts[problem?.code] ?? texts[state];
    const text = problem ? problem.message : texts[`${state}Text`] ?? '';
    this.#set('heading', heading);
    this.#set('text', text);
    const { position = 0, event, estimatedWait = 0, placeId } = this.#last;
    const place = new Intl.NumberFormat(this.#lang).format(position);
    const minutes = new Intl.NumberFormat(this.#lang, { style: 'unit', unit: 'minute', unitDisplay: 'long' });
    const long = event ? minutes.format(Math.ceil((event.opensIn ?? 0) / MINUTE)) : seated ? this.#long(this.#last, texts) : '';
    const [first, second] = this.shadowRoot.querySelectorAll('dt');
    [first.textContent, second.textContent] = [texts.place, event ? texts.opens : texts.wait];
    this.#set('place', place);
    this.#set('wait', long);
    first.parentElement.hidden = !position;
    this.#part('figures').hidden = !seated;
    this.#set('reference', seated ? fill(texts.reference, { id: placeId }) : '');
    this.#set('message', seated ? this.#message : '');
    this.#set('leave', texts.leave);
    this.#set('again', texts.again);
    this.#part('leave').hidden = !seated;
    this.#part('again').hidden = !['gone', 'left'].includes(state);
    // A live region speaks when something matters: another state, half of the way, the last minutes.
    const near = [MINUTE, 5 * MINUTE].some((t) => estimatedWait <= t && this.#said?.wait > t);
    if (changed) this.#set('spoken', `${heading}. ${text}`);
    else if (seated && position && (!this.#said || position * 2 <= this.#said.position || near)) this.#set('spoken', fill(texts.spoken, { place, wait: long }));
    else return;
    this.#said = { position, wait: estimatedWait };
  }
}

if (globalThis.customElements && !customElements.get('waiting-room')) customElements.define('waiting-room', WaitingRoomElement);
