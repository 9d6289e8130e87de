import assert from 'node:assert/strict';
import { createHash, createHmac, randomBytes, webcrypto } from 'node:crypto';
import { test } from 'node:test';
import { checkNumber, wait } from '../index.js';

globalThis.crypto ??= webcrypto;

const GATHERS = 1_800_000_000_000;
const SETTLES = GATHERS + 600_000;
const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts.map((p) => Buffer.from(p)))).digest();

// A token as package token makes it, as far as a client may read it.
function tokenOf(id, arrivedAtMicros) {
  const bytes = Buffer.alloc(42);
  bytes[0] = 2;
  id.copy(bytes, 2);
  bytes.writeBigUInt64BE(BigInt(arrivedAtMicros), 10);
  return bytes.toString('base64url');
}

// A draw into which so many came, as package schedule publishes it.
function drawOf(n, me) {
  const seed = randomBytes(32);
  const [from, upto] = [GATHERS * 1000, SETTLES * 1000];
  const scored = Array.from({ length: n }, (_, i) => {
    const ticket = sha256('Z', '\0', 'noon', '\0', i ? randomBytes(8) : me).subarray(0, 16);
    const h = createHmac('sha256', seed).update(ticket).digest().readBigUInt64BE();
    return { ticket: ticket.toString('hex'), score: BigInt(from) + (h * BigInt(upto - from) >> 64n) };
  });
  const mine = scored[0].ticket;
  const list = scored.sort((a, b) => (a.score < b.score ? -1 : 1)).map((s) => s.ticket);
  const draw = {
    event: 'noon', commitment: sha256(seed).toString('hex'), fromMicros: from, uptoMicros: upto, gathersAt: GATHERS, settlesAt: SETTLES,
    seed: seed.toString('hex'), tickets: n, listHash: sha256(Buffer.from(list.join(''), 'hex')).toString('hex'),
  };
  return { draw, list, mine, number: list.indexOf(mine) + 1 };
}

// A room that has published it; with whole, behind a cache that knows no ranges.
function published(n, whole, me = randomBytes(8)) {
  const d = drawOf(n, me);
  const asked = [];
  const kept = { clientId: 'me', token: tokenOf(me, SETTLES * 1000 - 1), draw: { event: 'noon', arrived: 1, commitment: d.draw.commitment, number: d.number } };
  const fetch = async ({ pathname }, { headers }) => {
    asked.push(pathname);
    if (!pathname.endsWith('/list')) {
      return new Response(JSON.stringify(d.draw));
    }
    const [from, upto] = headers.Range.match(/\d+/g).map(Number);
    const list = Buffer.from(d.list.join(''), 'hex');
    return new Response(whole ? list : list.subarray(from, upto + 1), { status: whole ? 200 : 206 });
  };
  return { ...d, asked, kept, options: { url: 'https://queue.example', zone: 'Z', fetch, storage: { getItem: () => JSON.stringify(kept), setItem() {} } } };
}

for (const [n, whole] of [[1], [2], [2560], [2561], [10_000], [60_000], [10_000, true]]) {
  test(`a number among ${n} is checked, mostly with one ${whole ? 'list' : 'range of the list'}`, async () => {
    const p = published(n, whole);
    const got = await checkNumber(p.options);
    assert.deepEqual(got, { number: p.number, tickets: n, seen: true, told: p.number });
    assert.ok(p.asked.length <= 4, `${p.asked}`);
  });
}

for (const [code, change] of Object.entries({
  commitment_broken: (p) => { p.kept.draw.commitment = 'f'.repeat(64); },
  not_listed: (p) => { p.list.splice(p.list.indexOf(p.mine), 1); },
  wrong_order: (p) => { p.list.reverse(); },
  not_yet: (p) => { delete p.draw.seed; },
  not_drawn: (p) => { p.kept.token = tokenOf(randomBytes(8), SETTLES * 1000); },
})) {
  test(`it says ${code}`, async () => {
    const p = published(1000);
    change(p);
    await assert.rejects(checkNumber(p.options), { name: 'WaitError', code });
  });
}

test('a seed that is not the one of the commitment is found without a commitment that was kept', async () => {
  const p = published(10);
  p.draw.seed = '0'.repeat(64);
  delete p.kept.draw;
  await assert.rejects(checkNumber({ ...p.options, event: 'noon' }), { code: 'commitment_broken' });
});

test('without a list, or an answer, it says so', async () => {
  const p = published(10);
  await assert.rejects(checkNumber({ ...p.options, fetch: () => { throw new TypeError('fetch failed'); } }), { code: 'no_answer' });
  const none = async () => new Response('{"code":"draw_unknown"}', { status: 404 });
  await assert.rejects(checkNumber({ ...p.options, fetch: none }), { code: 'draw_unknown' });
});

test('it tells of an event, and keeps the commitment and the number with the place', async () => {
  let kept = null;
  const storage = { getItem: () => kept, setItem: (_, value) => { kept = value; } };
  const event = { name: 'noon', opensAt: 5, opensIn: 400 };
  const waiting = (position, more) => ({ token: 't', canEnter: false, waiting: { position, total: 9, estimatedWait: 1, pollingPeriod: 1, arrivedAtMicros: 7, ...more } });
  const script = [
    waiting(0, { event }), { event: { commitment: 'first' } }, waiting(0, { event }), waiting(6, { event }), waiting(3),
    { token: 't', canEnter: true, admission: { pass: 'PASS', admittedAt: 1, expiresAt: 2 } },
  ];
  const updates = [];
  await wait({
    url: 'https://queue.example', zone: 'Z', storage, onUpdate: (u) => updates.push([u.position, u.number, u.event]),
    fetch: async () => new Response(JSON.stringify(script.shift())),
  });
  assert.deepEqual(updates, [
    [0, undefined, { ...event, gathering: true }], [0, undefined, { ...event, gathering: true }],
    [6, 6, { ...event, gathering: false }], [3, 6, undefined],
  ]);
  assert.deepEqual(JSON.parse(kept).draw, { event: 'noon', arrived: 7, commitment: 'first', number: 6 });
});
