// Waits in the line of a waiting room, as its server asks. Without dependencies: it
// needs fetch, AbortController and timers, which browsers, Node 18 and later, and
// React Native have.
//
// What each answer asks of a client is the table in /openapi.yaml of a server; the
// function `next` below is that table.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
// How long a call may take before it counts as lost.
const CALL_TIMEOUT = 3 * SECOND;
// The pauses after calls that got no usable answer: 1 s, then 2, 4, 8 and every 16 s.
const LONGEST_BACKOFF = 16 * SECOND;
// How many tickets of a draw's list are read at a time, of so many bytes each; and how often at most.
const TICKETS_READ = 2560;
const TICKET_BYTES = 16;
const MOST_READS = 6;
// The most workers that do the work of a challenge; how long the page's own thread does it at a time; and how many challenges
// in a row are met.
const MOST_WORKERS = 8;
const SLICE = 20;
const MOST_CHALLENGES = 5;
// How often whoever sleeps looks at the wall clock: timers stand still while a device sleeps, and not every device says that it woke.
const LOOK_EVERY = 5 * SECOND;

/** A wait that ended without a pass. See index.d.ts. */
export class WaitError extends Error {
  constructor(problem, status, place) {
    super(problem.detail || problem.title || problem.code || `HTTP ${status}`);
    this.name = 'WaitError';
    this.code = problem.code || 'unknown';
    this.status = status;
    this.token = place.token;
  }
}

/** Joins the line, waits, and resolves with the admission. See index.d.ts. */
export async function wait(options) {
  const { zone, signal, onUpdate = () => {} } = options;
  const place = await open(options);
  const wake = listen(options.onWake || wakeOfPage);
  let failures = 0;
  let challenges = 0;
  let solution; // of the latest challenge: it is sent until there is a place
  try {
    if (options.pollAfter > 0) {
      await sleep(options.pollAfter, signal, wake);
    }
    for (;;) {
      abortIf(signal);
      const join = !place.token;
      const body = join
        ? { zoneId: zone, clientId: place.clientId, clientAgent: options.agent, ticket: options.ticket, challenge: solution }
        : { zoneId: zone, token: place.token };
      const answer = await call(options, join ? '/traffic/wait' : '/traffic/entry', body);
      abortIf(signal);
      failures = answer.lost ? failures + 1 : 0;
      if (join && answer.problem?.code === 'challenge_required' && ++challenges <= MOST_CHALLENGES) {
        solution = await meet(answer.problem.challenge, options);
        abortIf(signal);
        if (solution) {
          continue;
        }
      }
      const step = next(answer, failures, join);
      if (step.token !== undefined) {
        await place.keep(step.token);
      }
      if (step.admission) {
        return { zone, token: place.token, ...step.admission };
      }
      if (step.stop) {
        throw new WaitError(answer.problem, answer.status, place);
      }
      if (step.update.state === 'waiting') {
        await told(options, place, step.update);
      }
      onUpdate({ zone, token: place.token, nextPollAt: Date.now() + step.after, ...step.update });
      await sleep(step.after, signal, wake, answer.lost);
    }
  } finally {
    wake.close();
  }
}

// meet returns what a join has to show for a challenge; undefined where this client cannot meet it.
async function meet(challenge, { onChallenge, loadWork = () => import('./work.js').then(({ worker }) => worker), signal }) {
  return challenge.kind === 'work' ? work(challenge, await loadWork(), signal) : onChallenge?.(challenge);
}

// work does the work of a challenge on all cores, in workers that are made of the text of `worker` in work.js; where there are no
// workers, in this thread. A browser that compiles no scripts is some 50 times as slow as others: where the zone lets it, it shows the
// challenge without a solution after a while.
async function work({ parameters, signature, unsolvedAfterSeconds }, worker, signal) {
  const began = Date.now();
  const text = `const solve = (${worker})(); onmessage = ({ data: [p, i, k] }) => postMessage(solve(p, i, k, Infinity));`;
  const step = Math.max(1, Math.min(MOST_WORKERS, globalThis.navigator?.hardwareConcurrency || 1));
  const within = unsolvedAfterSeconds ? unsolvedAfterSeconds * SECOND : Infinity;
  let workers = [];
  let counter;
  let timer;
  try {
    const url = URL.createObjectURL(new Blob([text]));
    workers = Array.from({ length: step }, () => new Worker(url));
    counter = await new Promise((solved, failed) => {
      signal?.addEventListener('abort', failed);
      if (unsolvedAfterSeconds) timer = setTimeout(solved, within);
      workers.forEach((one, i) => {
        one.onmessage = ({ data }) => solved(data);
        one.onerror = failed;
        one.postMessage([parameters, i, step]);
      });
    });
  } catch {
    if (typeof worker !== 'function') {
      return undefined; // a text, of a page that may not evaluate it
    }
    const solve = worker();
    for (counter = 0; (counter = solve(parameters, counter, 1, SLICE)) < 0; counter = -1 - counter) {
      abortIf(signal);
      if (Date.now() - began >= within) {
        counter = undefined;
        break;
      }
      await new Promise((next) => { setTimeout(next, 0); });
    }
  } finally {
    clearTimeout(timer);
    workers.forEach((one) => one.terminate());
  }
  const solution = counter === undefined ? undefined : { counter, time: Date.now() - began };
  return btoa(JSON.stringify({ challenge: { parameters, signature }, solution }));
}

/** Rounds a range to figures that people read. See index.d.ts. */
export function roundRange({ low, high }, shown) {
  if (!(high < DAY)) {
    return undefined;
  }
  if (high <= 1.5 * MINUTE) {
    return { low: high > MINUTE ? 1 : 0, high: 1, unit: 'minute' };
  }
  const unit = high > (shown?.unit === 'hour' ? 80 : 90) * MINUTE ? 'hour' : 'minute';
  const [one, fine, coarse, border] = unit === 'hour' ? [HOUR, 0.5, 1, 6] : [MINUTE, 1, 5, 10];
  // An end is rounded outward, which is up or down, if it is a tenth of a step beyond a figure. It
  // stays as it is shown until it is a quarter of a step beyond that, or the next figure.
  const end = (outward, millis, was) => {
    const n = millis / one;
    const step = n < border ? fine : coarse;
    const kept = outward * (was - n) / step;
    return kept >= -0.25 && kept <= 1.25 ? was : outward * Math.ceil(outward * n / step - 0.1) * step;
  };
  const last = shown?.unit === unit ? shown : {};
  return { low: end(-1, low, last.low), high: end(1, high, last.high), unit };
}

/** Gives the place up. See index.d.ts. */
export async function leave(options) {
  const place = await open(options);
  if (place.token) {
    await call(options, '/traffic/leave', { zoneId: options.zone, token: place.token });
  }
  await place.keep('');
}

/** Checks the number that a draw gave. See index.d.ts. */
export async function checkNumber(options) {
  const { zone } = options;
  const place = await open(options);
  const event = options.event || place.draw?.event;
  const fail = (code, detail) => { throw new WaitError({ code, detail }, 0, place); };
  const path = `/traffic/zones/${zone}/events/${event}/draw`;
  const { subtle } = globalThis.crypto || {};
  if (!subtle) {
    fail('no_crypto', 'This device has no WebCrypto: it is there on pages with TLS.');
  }
  const { status, body: draw, problem } = await call(options, path);
  if (status !== 200) {
    fail(problem.code, problem.detail);
  }
  if (!draw.seed || !draw.listHash) {
    fail('not_yet', 'The seed is public from the opening on, the list shortly before.');
  }
  const digest = async (bytes) => new Uint8Array(await subtle.digest('SHA-256', bytes));
  const seen = place.draw?.event === event ? place.draw.commitment : undefined;
  if (seen && seen !== draw.commitment || hex(await digest(bytesOf(draw.seed))) !== draw.commitment) {
    fail('commitment_broken', 'The seed is not the one that was committed to.');
  }
  const token = Uint8Array.from(atob(place.token.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
  const arrivedAt = Number(new DataView(token.buffer).getBigUint64(10)) / 1000;
  if (arrivedAt < draw.gathersAt || arrivedAt >= draw.settlesAt) {
    fail('not_drawn', 'Who came before people gathered, or after the draw, stands by arrival.');
  }
  const salt = new TextEncoder().encode(`${zone}\0${event}\0`);
  const ticket = hex(await digest(new Uint8Array([...salt, ...token.slice(2, 10)]))).slice(0, 32);
  const key = await subtle.importKey('raw', bytesOf(draw.seed), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const drawn = async (t) => BigInt(`0x${hex(await subtle.sign('HMAC', key, bytesOf(t))).slice(0, 16)}`);
  // Where a ticket stands, from the beginning of the draw's range.
  const scoreOf = async (t) => await drawn(t) * BigInt(draw.uptoMicros - draw.fromMicros) >> 64n;
  const mine = await scoreOf(ticket);
  if (!draw.tickets) {
    fail('not_listed', 'The list does not have this number.');
  }
  // The tickets are spread evenly, so it is known about where this one is.
  const guess = Math.floor(Number(await drawn(ticket)) / 2 ** 64 * draw.tickets);
  let from = Math.max(0, Math.min(guess - TICKETS_READ / 2, draw.tickets - TICKETS_READ));
  for (let reads = 0; reads < MOST_READS; reads++) {
    const { status: answered, list, first, problem: why } = await readList(options, `${path}/list`, from);
    if (answered > 206 || !list) {
      fail(why.code, why.detail);
    }
    const tickets = Array.from({ length: list.length / TICKET_BYTES }, (_, i) => hex(list.subarray(i * TICKET_BYTES, (i + 1) * TICKET_BYTES)));
    const scores = await Promise.all(tickets.map(scoreOf));
    if (scores.some((s, i) => i > 0 && s < scores[i - 1])) {
      fail('wrong_order', 'The list is not in the order that the seed gives.');
    }
    const at = tickets.indexOf(ticket);
    if (at >= 0) {
      return { number: first + at + 1, tickets: draw.tickets, seen: Boolean(seen), told: place.draw?.number };
    }
    const before = mine <= scores[0];
    if (before ? first === 0 : first + tickets.length >= draw.tickets) {
      break;
    }
    // One ticket is read twice, so that the order is known where two reads meet.
    from = before ? Math.max(0, first - TICKETS_READ + 1) : first + tickets.length - 1;
  }
  return fail('not_listed', 'The list does not have this number.');
}

// readList reads some tickets of a list, from one on. A cache between may send the whole list: then first is 0.
async function readList(options, path, from) {
  const range = `bytes=${from * TICKET_BYTES}-${(from + TICKETS_READ) * TICKET_BYTES - 1}`;
  const { status, body, problem } = await call(options, path, undefined, { Range: range });
  return { status, list: body, first: status === 206 ? from : 0, problem };
}

// told notes what a draw is held against later: the commitment as it was before the opening,
// and the number that was told first.
async function told(options, place, update) {
  const { event, position, arrivedAtMicros: arrived } = update;
  if (event && (place.draw?.arrived !== arrived || place.draw.event !== event.name)) {
    const { status, body } = await call(options, `/traffic/zones/${options.zone}`);
    if (status === 200) {
      await place.keep(place.token, { event: event.name, arrived, commitment: body.event?.commitment });
    }
  }
  if (event) {
    update.event = { ...event, gathering: position === 0 };
  }
  if (place.draw?.arrived === arrived) {
    if (position > 0 && !place.draw.number) {
      await place.keep(place.token, { ...place.draw, number: position });
    }
    update.number = place.draw.number;
  }
}

// next is what an answer asks for: `admission`, `stop`, or `after`: in how many
// milliseconds to ask again. A `token` is to be kept; '' forgets the one there was.
function next(answer, failures, join) {
  const { status, body, problem, retryAfter } = answer;
  if (status === 200) {
    return body.canEnter
      ? { token: body.token, admission: body.admission }
      : { token: body.token, after: body.waiting.pollingPeriod, update: { state: 'waiting', placeId: body.placeId, ...body.waiting } };
  }
  if (answer.lost) {
    // No answer, a 500, or one that cannot be read. The place is kept.
    const pause = Math.min(SECOND * 2 ** (failures - 1), LONGEST_BACKOFF);
    return { after: pause * (1 + Math.random() / 4), update: { state: 'retrying', code: problem.code } };
  }
  switch (status) {
    case 408: case 429: case 503:
      return { after: retryAfter, update: { state: status === 503 ? 'unavailable' : 'busy', code: problem.code } };
    case 401:
      // The token is not of this room: a new place is taken, once.
      return join ? { stop: true } : { token: '', after: 0, update: { state: 'joining', code: problem.code } };
    case 410:
      return { token: '', stop: true };
    default:
      return { stop: true };
  }
}

const bytesOf = (text) => Uint8Array.from(text.match(/../g), (byte) => parseInt(byte, 16));
const hex = (bytes) => Array.from(new Uint8Array(bytes), (b) => b.toString(16).padStart(2, '0')).join('');

// call sends one request, without a body a GET, and returns what is known of its answer.
// `lost` says that none came that can be used: whether the server has done it is not known.
async function call({ url, fetch = globalThis.fetch, signal, timeout = CALL_TIMEOUT }, path, body, headers) {
  const limit = new AbortController();
  const end = () => limit.abort();
  const timer = setTimeout(end, timeout);
  signal?.addEventListener('abort', end);
  try {
    const response = await fetch(new URL(path, url), {
      ...(body && { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), cache: 'no-store' }),
      ...(headers && { headers }),
      credentials: 'omit',
      signal: limit.signal,
    });
    if (response.status === 204) {
      return { status: 204, problem: {} };
    }
    // A body that was cut short throws here.
    if (headers && response.ok) {
      return { status: response.status, body: new Uint8Array(await response.arrayBuffer()) };
    }
    return read(response, await response.json(), body);
  } catch {
    return { lost: true, problem: { code: 'no_answer' } };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', end);
  }
}

// read holds an answer against what the API promises of it.
function read({ status, headers }, body, asked) {
  if (status === 200 && !asked) {
    return { status, body };
  }
  if (status === 200) {
    const { token, canEnter, waiting, admission } = body;
    const whole = typeof token === 'string' && token !== ''
      && (canEnter ? typeof admission?.pass === 'string' : waiting?.pollingPeriod > 0);
    return whole ? { status, body } : { lost: true, problem: { code: 'no_answer' } };
  }
  const retryAfter = SECOND * Number(headers.get('Retry-After'));
  // The room's problems have a type that ends with their code, and its 503 says when to come again. Others are of
  // something between.
  const refused = status >= 400 && status < 500 && String(body.type).endsWith(`#${body.code}`);
  if (refused || status === 503 && retryAfter > 0) {
    return { status, problem: body, retryAfter: retryAfter > 0 ? retryAfter : SECOND };
  }
  return { status, lost: true, problem: body };
}

// open reads the place that is kept, and says how to keep it.
async function open({ zone, clientId, token = '', storage }) {
  const key = `waitingroom:${zone}`;
  let kept = {};
  try {
    kept = JSON.parse(await storage?.getItem(key)) || {};
  } catch {
    // What is kept cannot be read: the room knows the place by the clientId.
  }
  const place = { clientId: clientId || kept.clientId || randomId(), token: token || kept.token || '', draw: kept.draw };
  place.keep = async (newest, draw = place.draw) => {
    place.token = newest;
    place.draw = draw;
    try {
      await storage?.setItem(key, JSON.stringify({ clientId: place.clientId, token: newest, draw }));
    } catch {
      // A storage that is full or forbidden: the place holds as long as the page.
    }
  };
  if (storage && !kept.clientId) {
    // Kept before the first call: if its answer is lost, the next one finds the place.
    await place.keep(place.token);
  }
  return place;
}

// randomId is one that nobody guesses; or none, where there is nothing to make it of.
// crypto.randomUUID is missing on pages without TLS.
function randomId() {
  const bytes = globalThis.crypto?.getRandomValues(new Uint8Array(16));
  return bytes && hex(bytes);
}

// listen tells whoever sleeps that the device woke or the network came back.
function listen(subscribe) {
  let sleeper;
  const end = subscribe((event) => sleeper?.(event));
  return {
    set sleeper(f) { sleeper = f; },
    close: () => end?.(),
  };
}

// wakeOfPage subscribes to what a page hears when it may have slept.
function wakeOfPage(woke) {
  const heard = [
    [globalThis.document, 'visibilitychange'], [globalThis.document, 'resume'],
    [globalThis.window, 'pageshow'], [globalThis.window, 'online'],
  ].filter(([target]) => target?.addEventListener);
  heard.forEach(([target, event]) => target.addEventListener(event, woke));
  return () => heard.forEach(([target, event]) => target.removeEventListener(event, woke));
}

// sleep waits until the time is due, on the wall clock: timers stand still while a
// device sleeps, and pages in the background have slow ones. Whoever wakes late goes on
// at once. Nobody goes on early, except after a call without an answer when the network is back.
function sleep(millis, signal, wake, unanswered) {
  let began = Date.now();
  let left = millis;
  return new Promise((resolve, reject) => {
    let timer;
    const end = (finish, value) => {
      clearTimeout(timer);
      wake.sleeper = undefined;
      signal?.removeEventListener('abort', aborted);
      finish(value);
    };
    const aborted = () => end(reject, reasonOf(signal));
    const look = (event) => {
      const now = Date.now();
      if (unanswered && event?.type === 'online') {
        left = 0;
      }
      // A wall clock that was set back must not make anybody wait longer than told.
      left = Math.min(left - Math.max(0, now - began), millis);
      began = now;
      if (left <= 0) {
        end(resolve);
        return;
      }
      clearTimeout(timer);
      timer = setTimeout(look, Math.min(left, LOOK_EVERY));
    };
    wake.sleeper = look;
    signal?.addEventListener('abort', aborted);
    if (signal?.aborted) {
      aborted();
      return;
    }
    look();
  });
}

function abortIf(signal) {
  if (signal?.aborted) {
    throw reasonOf(signal);
  }
}

// reasonOf is why it was aborted; React Native's signals do not say.
function reasonOf(signal) {
  return signal.reason ?? Object.assign(new Error('The wait was aborted.'), { name: 'AbortError' });
}
