import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mock, test } from 'node:test';
import { WaitError, leave, roundRange, wait } from '../index.js';

// A room that answers by a script, on a clock that the test moves.
function room(t, ...script) {
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_800_000_000_000 });
  t.after(() => mock.timers.reset());
  const asked = [];
  const fetch = async (url, { body }) => {
    asked.push({ at: Date.now() - 1_800_000_000_000, path: url.pathname, ...JSON.parse(body) });
    const answer = script.shift();
    assert.ok(answer, `one call too many: ${body}`);
    return answer();
  };
  return { asked, fetch, script, url: 'https://queue.example', zone: 'Z', clientId: 'me' };
}

const json = (status, body, headers) => () => new Response(JSON.stringify(body), { status, headers });
const waiting = (token, pollingPeriod, position = 5) =>
  json(200, { token, canEnter: false, waiting: { position, total: 9, estimatedWait: 5000, pollingPeriod, arrivedAtMicros: 1 } });
const admitted = (token) => json(200, { token, canEnter: true, admission: { pass: 'PASS', admittedAt: 1, expiresAt: 2 } });
const problem = (status, code, retryAfter) =>
  json(status, { type: `https://rooms.example/problems#${code}`, code, detail: `detail of ${code}` }, retryAfter && { 'Retry-After': retryAfter });
const lost = () => { throw new TypeError('fetch failed'); };

// run moves the clock until the promise is settled.
async function run(promise) {
  let settled = false;
  const result = promise.finally(() => { settled = true; });
  result.catch(() => {});
  for (let i = 0; i < 100_000 && !settled; i++) {
    await new Promise(setImmediate);
    if (!settled) {
      mock.timers.tick(100);
    }
  }
  assert.ok(settled, 'it waits for ever');
  return result;
}

test('it polls when told, with the newest token, and resolves with the pass', async (t) => {
  const r = room(t, waiting('t1', 4000), waiting('t2', 2500, 3), admitted('t3'));
  const updates = [];
  const admission = await run(wait({ ...r, onUpdate: (u) => updates.push(u) }));
  assert.deepEqual(admission, { zone: 'Z', token: 't3', pass: 'PASS', admittedAt: 1, expiresAt: 2 });
  assert.deepEqual(r.asked.map((a) => [a.path, a.token ?? a.clientId]),
    [['/traffic/wait', 'me'], ['/traffic/entry', 't1'], ['/traffic/entry', 't2']]);
  assert.ok(r.asked[1].at >= 4000 && r.asked[1].at < 4300, `polled after ${r.asked[1].at} ms`);
  assert.ok(r.asked[2].at - r.asked[1].at >= 2500);
  assert.deepEqual(updates.map((u) => [u.state, u.position, u.token]), [['waiting', 5, 't1'], ['waiting', 3, 't2']]);
});

test('it asks for a place that it has when the room wants to be asked', async (t) => {
  const r = room(t, admitted('t2'));
  await run(wait({ ...r, token: 't1', pollAfter: 3000 }));
  assert.ok(r.asked[0].at >= 3000 && r.asked[0].at < 3300, `asked after ${r.asked[0].at} ms`);
});

test('it keeps its place through refusals, lost answers and answers cut short', async (t) => {
  const cut = () => new Response('{"token":"t9","canEn', { status: 200 });
  const r = room(t, lost, waiting('t1', 1000), problem(429, 'too_many_requests', '7'), problem(503, 'store_unavailable', '2'),
    lost, problem(500, 'internal'), cut, json(200, { token: 't8', canEnter: true }), admitted('t2'));
  const updates = [];
  await run(wait({ ...r, onUpdate: (u) => updates.push(u.state) }));
  assert.deepEqual(r.asked.slice(2).map((a) => a.token), Array(7).fill('t1'));
  const pauses = r.asked.slice(1).map((a, i) => a.at - r.asked[i].at);
  // Told times are kept; the others double from 1 s on, each up to a quarter longer.
  [1000, 1000, 7000, 2000, 1000, 2000, 4000, 8000].forEach((least, i) => {
    assert.ok(pauses[i] >= least && pauses[i] < 1.25 * least + 300, `pause ${i} is ${pauses[i]} ms, not ${least}`);
  });
  assert.deepEqual(updates, ['retrying', 'waiting', 'busy', 'unavailable', 'retrying', 'retrying', 'retrying', 'retrying']);
});

test('a 503 that does not say when to come again is not of the room, and counts as no answer', async (t) => {
  const others = Array(5).fill(problem(503)).concat(problem(503, 'busy', 'Wed, 21 Oct 2027 07:28:00 GMT'));
  const r = room(t, ...others, admitted('t1'));
  await run(wait(r));
  const pauses = r.asked.slice(1).map((a, i) => a.at - r.asked[i].at);
  assert.ok(pauses[2] >= 4000 && pauses.slice(4).every((p) => p >= 16_000), `${pauses}`);
});

test('a refusal of something between counts as no answer, and ends no wait', async (t) => {
  const blocked = { code: 'ACCESS_DENIED', message: 'Blocked by the firewall.' };
  const r = room(t, waiting('t1', 1000), json(403, blocked), json(401, { code: 'login', type: 'about:blank' }), json(410, blocked),
    json(429, { code: 'limited' }), admitted('t2'));
  await run(wait(r));
  assert.deepEqual(r.asked.slice(1).map((a) => a.token), Array(5).fill('t1'));
  const pauses = r.asked.slice(2).map((a, i) => a.at - r.asked[i + 1].at);
  assert.ok([1000, 2000, 4000, 8000].every((least, i) => pauses[i] >= least), `${pauses}`);
});

test('it never waits longer than 20 s after a lost answer', async (t) => {
  const r = room(t, ...Array(9).fill(lost), admitted('t1'));
  await run(wait(r));
  const pauses = r.asked.slice(1).map((a, i) => a.at - r.asked[i].at);
  assert.ok(pauses.slice(4).every((p) => p >= 16_000 && p <= 20_300), `${pauses}`);
});

test('it joins again when its token is of another room', async (t) => {
  const r = room(t, problem(401, 'token_invalid'), waiting('t1', 1000), admitted('t2'));
  await run(wait({ ...r, token: 'old' }));
  assert.deepEqual(r.asked.map((a) => a.path), ['/traffic/entry', '/traffic/wait', '/traffic/entry']);
});

for (const [status, code] of [[400, 'invalid_request'], [403, 'cross_origin'], [404, 'zone_unknown'], [410, 'token_expired'], [410, 'sold_out'], [423, 'zone_closed']]) {
  test(`it stops at ${code}, and says so`, async (t) => {
    const r = room(t, problem(status, code));
    await assert.rejects(run(wait({ ...r, token: 'old' })), (e) =>
      e instanceof WaitError && e.code === code && e.status === status && e.message === `detail of ${code}`
      && e.token === (status === 410 ? '' : 'old'));
  });
}

test('it joins with the ticket, and polls without', async (t) => {
  const r = room(t, waiting('t1', 1000), admitted('t2'));
  await run(wait({ ...r, ticket: 'e.y.J' }));
  assert.deepEqual(r.asked.map((a) => a.ticket), ['e.y.J', undefined]);
});

test('the place is kept in the storage, before the first answer too', async (t) => {
  const kept = new Map();
  const storage = { getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, v) };
  const r = room(t, () => {
    assert.match(JSON.parse(kept.get('waitingroom:Z')).clientId, /^[0-9a-f]{32}$/);
    return waiting('t1', 1000)();
  });
  const stop = new AbortController();
  await assert.rejects(run(wait({ ...r, clientId: undefined, storage, signal: stop.signal, onUpdate: () => stop.abort() })),
    { name: 'AbortError' });
  const { clientId } = JSON.parse(kept.get('waitingroom:Z'));
  r.script.push(admitted('t2'));
  await run(wait({ ...r, clientId: undefined, storage }));
  assert.deepEqual([r.asked[0].clientId, r.asked[1].token], [clientId, 't1']);
  assert.deepEqual(JSON.parse(kept.get('waitingroom:Z')), { clientId, token: 't2' });
});

test('who ends the wait while an answer is told ends it at once', async (t) => {
  const r = room(t, waiting('t1', 20_000));
  const stop = new AbortController();
  const began = Date.now();
  await assert.rejects(run(wait({ ...r, signal: stop.signal, onUpdate: () => stop.abort() })), { name: 'AbortError' });
  assert.ok(Date.now() - began < 1000, `after ${Date.now() - began} ms`);
});

test('a storage that fails costs nobody the place', async (t) => {
  const fails = () => { throw new Error('forbidden'); };
  const r = room(t, waiting('t1', 1000), admitted('t2'));
  assert.equal((await run(wait({ ...r, storage: { getItem: fails, setItem: fails } }))).pass, 'PASS');
});

test('whoever wakes late polls at once, and nobody early', async (t) => {
  const r = room(t, waiting('t1', 60_000), admitted('t2'));
  let woke;
  const done = wait({ ...r, onWake: (f) => { woke = f; return () => { woke = null; }; } });
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  woke();
  await new Promise(setImmediate);
  assert.equal(r.asked.length, 1, 'it polled before it was told to');
  // The device slept: the wall clock went on, the timers did not.
  mock.timers.setTime(1_800_000_000_000 + 90_000);
  woke?.();
  assert.equal((await run(done)).pass, 'PASS');
  assert.equal(r.asked[1].at, 90_000);
  assert.equal(woke, null, 'it still listens');
});

test('whoever sleeps and is not told that the device woke polls within seconds', async (t) => {
  const r = room(t, waiting('t1', 60_000), admitted('t2'));
  const done = wait(r);
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  mock.timers.setTime(1_800_000_000_000 + 300_000);
  assert.equal((await run(done)).pass, 'PASS');
  assert.ok(r.asked[1].at <= 305_000, `it polled after ${r.asked[1].at} ms`);
});

test('a call without an answer is repeated at once when the network is back', async (t) => {
  const r = room(t, waiting('t1', 1000), lost, lost, lost, lost, lost, admitted('t2'));
  let woke;
  const done = wait({ ...r, onWake: (f) => { woke = f; } });
  for (let i = 0; r.asked.length < 6; i++) {
    await new Promise(setImmediate);
    mock.timers.tick(100);
  }
  const at = r.asked[5].at;
  await new Promise(setImmediate);
  woke({ type: 'visibilitychange' });
  assert.equal(r.asked.length, 6, 'it went on early');
  woke({ type: 'online' });
  assert.equal((await run(done)).pass, 'PASS');
  assert.ok(r.asked[6].at <= at + 200, `it waited for ${r.asked[6].at - at} ms`);
});

test('a clock that was set back makes nobody wait longer', async (t) => {
  const r = room(t, waiting('t1', 5000), admitted('t2'));
  let woke;
  const done = wait({ ...r, onWake: (f) => { woke = f; } });
  await new Promise(setImmediate);
  await new Promise(setImmediate);
  const now = Date.now();
  const set = mock.method(Date, 'now', () => now - 3_600_000);
  woke();
  set.mock.restore();
  assert.equal((await run(done)).pass, 'PASS');
  assert.ok(r.asked[1].at <= 10_500, `it polled after ${r.asked[1].at} ms`);
});

test('leave gives the place up and forgets it', async (t) => {
  const kept = new Map([['waitingroom:Z', '{"clientId":"me","token":"t7"}']]);
  const r = room(t, () => new Response(null, { status: 204 }));
  await run(leave({ ...r, storage: { getItem: (k) => kept.get(k), setItem: (k, v) => kept.set(k, v) } }));
  assert.deepEqual([r.asked[0].path, r.asked[0].token], ['/traffic/leave', 't7']);
  assert.equal(JSON.parse(kept.get('waitingroom:Z')).token, '');
});

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

test('updates have the range, and why it moved', async (t) => {
  const told = { position: 3, total: 9, estimatedWait: 5, estimatedWaitRange: { low: 4, high: 6 }, reason: 'faster', pollingPeriod: 1000, arrivedAtMicros: 1 };
  const r = room(t, json(200, { token: 't1', canEnter: false, waiting: told }), admitted('t2'));
  const updates = [];
  await run(wait({ ...r, onUpdate: (u) => updates.push([u.estimatedWaitRange, u.reason]) }));
  assert.deepEqual(updates, [[{ low: 4, high: 6 }, 'faster']]);
});

for (const [low, high, wants] of [
  [4 * MINUTE, 6 * MINUTE, [4, 6, 'minute']], [4.9 * MINUTE, 5.1 * MINUTE, [5, 5, 'minute']], [4.85 * MINUTE, 5.15 * MINUTE, [4, 6, 'minute']],
  [0, 60_000, [0, 1, 'minute']], [59_000, 90_000, [1, 1, 'minute']], [20_000, 140_000, [0, 3, 'minute']],
  [9.5 * MINUTE, 12 * MINUTE, [9, 15, 'minute']], [10 * MINUTE, 90 * MINUTE, [10, 90, 'minute']], [70 * MINUTE, 91 * MINUTE, [1, 1.5, 'hour']],
  [5.8 * HOUR, 6.5 * HOUR, [5.5, 7, 'hour']],
]) {
  test(`from ${low / 1000} to ${high / 1000} s are ${wants.join()}`, () => assert.deepEqual(Object.values(roundRange({ low, high })), wants));
}

test('a wait of a day has no figures', () => {
  assert.equal(roundRange({ low: HOUR, high: 24 * HOUR }), undefined);
});

test('a range that trembles is shown as it is, and one that moves follows', () => {
  const begun = roundRange({ low: 4 * MINUTE, high: 6 * MINUTE });
  for (const by of [-14_000, 14_000]) {
    assert.deepEqual(roundRange({ low: 4 * MINUTE + by, high: 6 * MINUTE + by }, begun), begun);
  }
  assert.deepEqual(roundRange({ low: 3.7 * MINUTE, high: 6.3 * MINUTE }, begun), { low: 3, high: 7, unit: 'minute' });
  assert.deepEqual(roundRange({ low: 5.3 * MINUTE, high: 5.8 * MINUTE }, begun), { low: 5, high: 6, unit: 'minute' });
  const hours = roundRange({ low: 60 * MINUTE, high: 91 * MINUTE });
  assert.equal(roundRange({ low: 60 * MINUTE, high: 85 * MINUTE }, hours).unit, 'hour');
  assert.equal(roundRange({ low: 60 * MINUTE, high: 79 * MINUTE }, hours).unit, 'minute');
});

test('what is shown holds the range, but for a quarter of a step, whatever was shown before', () => {
  let shown;
  let seed = 1;
  const random = () => { seed = seed * 48_271 % 2_147_483_647; return seed / 2_147_483_647; };
  let wait = 8 * HOUR;
  for (let i = 0; i < 100_000; i++) {
    wait = Math.min(Math.max(wait * (0.9 + 0.2 * random()), 1000), 23 * HOUR);
    const [low, high] = [wait * random(), wait];
    const before = shown;
    shown = roundRange({ low, high }, before);
    const one = shown.unit === 'hour' ? HOUR : MINUTE;
    const steps = shown.unit === 'hour' ? [0.5, 1, 6] : [1, 5, 10];
    const slack = (ms) => (ms / one < steps[2] ? steps[0] : steps[1]) * 0.2500001;
    assert.ok(shown.low <= shown.high && shown.high > 0, JSON.stringify({ low, high, before, shown }));
    if (high > 1.5 * MINUTE) {
      assert.ok(shown.low <= low / one + slack(low) && shown.high >= high / one - slack(high), JSON.stringify({ low, high, before, shown }));
    }
  }
});

test('the README says how to write it', () => {
  const [, body] = readFileSync(new URL('../README.md', import.meta.url), 'utf8').match(/\n(const why = [^]*?\n})\ntry/);
  const text = new Function('roundRange', `${body}\nreturn text;`)(roundRange);
  const says = body.match(/\/\/ (.*)\n}$/)[1];
  const u = { state: 'waiting', position: 13, total: 40, estimatedWaitRange: { low: 4 * MINUTE, high: 6 * MINUTE }, reason: 'faster' };
  assert.equal(text(u), says);
  assert.equal(text({ ...u, reason: 'on_hold' }), '13 of 40. The line is paused.');
  assert.equal(text({ ...u, reason: 'moon' }).trim(), '13 of 40, 4–6 minutes.');
});
