// The table of cases that the server's own gate is held to as well (internal/site/cases_test.go).
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { mock, test } from 'node:test';

import { waitingRoom } from '../index.js';
import { clock, KEY, NOW, pass, room, ROOM } from './room.js';

mock.timers.enable({ apis: ['Date'], now: NOW });
const cases = JSON.parse(await readFile(new URL('cases.json', import.meta.url)));
const quiet = { newcomers: 'join', sessionSeconds: 1800, sessionRenewal: 'use', bypassCommon: 'on' };

// session makes one at the edge, so many seconds before now.
async function session(zone, before) {
  clock(-before);
  const gate = waitingRoom({ room: ROOM, zone, key: KEY, fetch: room(quiet).fetch });
  const { headers } = await gate.ask(new Request('https://shop.example/', { headers: { Accept: 'text/html' } }), '203.0.113.9');
  clock();
  return headers['Set-Cookie'].split(';')[0].replace(/^[^=]*=/, '');
}

const placeholders = async () => {
  const refused = (text) => createHash('sha256').update(text).digest('hex').slice(0, 16);
  const [good, other, over] = [await pass(), await pass('OTHER'), await pass('SHOP', { exp: NOW / 1000 - 60 })];
  return {
    session: await session('SHOP', 0), sessionOfOther: await session('OTHER', 0), sessionOver: await session('SHOP', 3600),
    sessionHalfOver: await session('SHOP', 960),
    pass: good, passOfOther: other, passOver: over, key: randomBytes(16).toString('hex'),
    refused: refused(good), refusedOther: refused(other), refusedOver: refused(over),
  };
};
const held = await placeholders();
const fill = (text) => text?.replace(/\{(\w+)\}/g, (all, name) => held[name] ?? all);

// seen is an answer in the words of a case.
async function seen(response, forwarded, want) {
  const get = (name) => response.headers.get(name) ?? undefined;
  const text = await response.text();
  const code = get('Content-Type') === 'application/problem+json' ? JSON.parse(text || '{"code": "admission_required"}').code : undefined; // HEAD has no body
  if (response.status === 503 && code !== 'admission_required') return { status: 503 };
  assert.equal(forwarded, response.status === 200);
  return JSON.parse(JSON.stringify({
    status: response.status, location: get('Location'), setCookie: get('Set-Cookie')?.replace(/^([^=]+=)[^;]+/, '$1*'),
    sessionHeader: get('X-Waiting-Room-Session') ? true : undefined, cacheControl: get('Cache-Control'), retryAfter: get('Retry-After'), code,
    cors: get('Access-Control-Allow-Origin'), expose: want.expose && get('Access-Control-Expose-Headers'),
  }));
}

for (const { name, state, room: what, request: { method, path, headers }, plain, want } of cases) {
  test(name, async () => {
    const gate = waitingRoom({ room: ROOM, zone: 'SHOP', key: KEY, fetch: room(state, what).fetch });
    let forwarded = false;
    const shop = () => {
      forwarded = true;
      return new Response('the shop');
    };
    const filled = Object.fromEntries(Object.entries(headers).map(([n, v]) => [n, fill(v)]));
    const request = new Request(`http${plain ? '' : 's'}://shop.example${fill(path)}`, { method });
    // Request refuses headers that only browsers may set.
    const asked = new Proxy(request, { get: (r, p) => (p === 'headers' ? new Headers(filled) : typeof r[p] === 'function' ? r[p].bind(r) : r[p]) });
    const response = await gate.fetch(asked, '203.0.113.9', shop);
    assert.deepEqual(await seen(response, forwarded, want), { ...want, ...(want.location && { location: fill(want.location) }) });
  });
}
