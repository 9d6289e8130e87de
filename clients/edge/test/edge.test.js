// What the table of cases does not say: which questions the room is asked, and what becomes of visitors without an answer.
import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';

import { waitingRoom } from '../index.js';
import { clock, KEY, NOW, pass, room, ROOM } from './room.js';

mock.timers.enable({ apis: ['Date', 'setTimeout'], now: NOW });
afterEach(() => clock());

const joins = { newcomers: 'join', sessionSeconds: 1800, sessionRenewal: 'use', bypassCommon: 'on' };
const waits = { ...joins, newcomers: 'wait' };
const page = { Accept: 'text/html' };
const other = { ...page, Cookie: '__Host-waitingroom_key-SHOP=0123456789abcdef0123456789abcdef' };
const inside = (text) => ({ ...page, Cookie: `__Host-waitingroom-SHOP=${text}` });
const value = (response) => response.headers.get('Set-Cookie')?.split(';')[0].replace(/^[^=]*=/, '');

// shop makes a gate with a shop behind it, which counts its visitors, and a function that visits.
function shop(state, what, options) {
  const asks = room(state, what);
  const gate = waitingRoom({ room: ROOM, zone: 'SHOP', key: KEY, fetch: asks.fetch, ...options });
  const site = { ...asks, gate, visited: 0, answer: {} };
  site.visit = (path = '/', headers = page, address = '203.0.113.9') => gate.fetch(
    new Request(`https://shop.example${path}`, { headers }), address, () => {
      site.visited++;
      return new Response('the shop', { headers: site.answer });
    });
  return site;
}

test('who is inside asks the room nothing', async () => {
  const site = shop(joins);
  const session = value(await site.visit());
  assert.deepEqual(site.asked.map(({ path }) => path), ['/traffic/zones/SHOP', '/traffic/wait']);
  site.is.what = 'silent';
  for (let i = 0; i < 5; i++) {
    clock(i * 170);
    assert.equal((await site.visit('/api', { Cookie: `__Host-waitingroom-SHOP=${session}` })).status, 200);
  }
  assert.equal(site.asked.length, 2);
});

test('a crowd in a line costs one question a second, and no join', async () => {
  const site = shop(waits);
  for (let i = 0; i < 300; i++) {
    clock(i / 100);
    assert.equal((await site.visit()).status, 302);
  }
  assert.deepEqual(site.asked.map(({ path }) => path), Array(3).fill('/traffic/zones/SHOP'));
  assert.equal(site.visited, 0);
});

test('after a join that landed in line, the others of that second are led to the page', async () => {
  const site = shop(joins, 'waits');
  for (let i = 0; i < 50; i++) await site.visit();
  assert.deepEqual(site.asked.map(({ path }) => path), ['/traffic/zones/SHOP', '/traffic/wait', '/traffic/leave']);
  assert.equal(site.asked[2].token, 't');
});

test('visitors who go away before the room has answered keep no old rules alive', async () => {
  const asks = room({ ...joins, newcomers: 'enter' });
  let away = false; // the runtime ends the question with the visitor's request
  const gate = waitingRoom({ room: ROOM, zone: 'SHOP', key: KEY, fetch: (...args) => (away ? new Promise(() => {}) : asks.fetch(...args)) });
  const call = () => gate.ask(new Request('https://shop.example/api', { method: 'POST' }), '');
  assert.equal((await call()).response, undefined);
  asks.is.state = waits;
  for (let seconds = 1; seconds < 7; seconds++) {
    clock(seconds);
    away = true;
    call();
    await new Promise((next) => { setImmediate(next); });
    away = false;
    const { response } = await call();
    assert.ok(seconds < 6 || response.status === 429, `${seconds} s`);
  }
});

test('the room is told the visitor\'s address', async () => {
  const site = shop(joins);
  await site.visit('/', { ...page, 'X-Forwarded-For': '198.51.100.1' }, '203.0.113.7');
  assert.equal(site.asked.at(-1).headers['X-Forwarded-For'], '203.0.113.7');
});

// silent visits while the room says nothing, and lets a second pass.
async function silent(site, ...visit) {
  site.is.what = 'silent';
  const before = site.asked.length;
  const answer = site.visit(...visit);
  while (site.asked.length === before) await new Promise((next) => { setImmediate(next); });
  mock.timers.tick(999);
  mock.timers.tick(1);
  return answer;
}

test('without an answer in a second, hold asks to come again', async () => {
  for (const state of [undefined, joins]) {
    const site = shop(state ?? waits);
    if (state) await site.visit('/', { ...page, 'Accept-Language': 'first' });
    const answer = await silent(site);
    assert.deepEqual([answer.status, answer.headers.get('Cache-Control')], [503, state ? 'private, no-store' : 'no-store']);
    assert.match(answer.headers.get('Refresh'), /^([5-9]|1[0-4])$/);
    assert.equal(answer.headers.get('Retry-After'), answer.headers.get('Refresh'));
    assert.equal(value(answer), site.asked.at(-1).clientId); // of the join, where there was one
    assert.equal(site.visited, state ? 1 : 0);
  }
});

test('without an answer, browsers see the page of the zone in their language', async () => {
  const pages = Object.fromEntries(['away', 'busy', 'unsent'].flatMap((state) => ['en', 'de', 'zh-Hans', 'zh-Hant'].map((code) => [`${state}-${code}`, `${state} ${code}`])));
  const post = { method: 'POST', headers: { ...page, Origin: 'https://shop.example' } };
  for (const [accepted, init, want] of [
    ['de-AT,de;q=0.9,en;q=0.8', {}, 'away de'], ['zh-TW, en', {}, 'away zh-Hant'], ['ZH', {}, 'away zh-Hans'], ['xx;q=1,constructor', {}, 'away en'], ['', {}, 'away en'],
    ['de', post, 'unsent de'], ['de', { headers: { Accept: '*/*' } }, 'Very many people are here. Please come again in a few seconds.'],
  ]) {
    const gate = waitingRoom({ room: ROOM, zone: 'SHOP', key: KEY, pages, fetch: async () => { throw new Error('refused'); } });
    const { headers = page, method } = init;
    const answer = await gate.fetch(new Request('https://shop.example/', { method, headers: { ...headers, 'Accept-Language': accepted } }), '203.0.113.9');
    const [html, refresh] = [want.length < 20, headers === page];
    assert.deepEqual([answer.status, await answer.text(), answer.headers.get('Refresh') !== null], [503, want, refresh]);
    assert.deepEqual([answer.headers.get('Vary'), answer.headers.get('Content-Type')], html ? ['Accept, Accept-Language', 'text/html; charset=utf-8'] : [null, 'text/plain;charset=UTF-8']);
    assert.match(answer.headers.get('Retry-After'), /^\d+$/);
  }
  const site = shop(joins, 'away', { pages });
  assert.equal(await (await site.visit(`/?waiting_room_pass=${await pass()}`, { ...other, 'Accept-Language': 'de' })).text(), 'busy de');
});

test('a room that takes 400 ms for each answer admits, and a try whose answer is lost costs no admission', async () => {
  const counts = { ...joins, counted: true };
  const asks = room(counts);
  const [taken, lost] = [[], []];
  const slow = async (...args) => {
    const done = asks.fetch(...args);
    await new Promise((next) => { setImmediate(next); });
    mock.timers.tick(400);
    const { path, clientId } = asks.asked.at(-1);
    if (path === '/traffic/wait') {
      taken.push(clientId);
      if (lost.pop()) throw new Error('aborted');
    }
    return done;
  };
  const site = shop(counts, '', { fetch: slow });
  const first = await site.visit();
  assert.deepEqual([first.status, asks.asked.length], [200, 3]);
  for (const headers of [page, { ...page, 'User-Agent': 'another of the same house' }]) {
    lost.push(true);
    const fails = await site.visit('/', headers);
    assert.equal(fails.status, 503);
    asks.is.state = { ...counts, newcomers: 'wait' }; // the place is the visitor's, whoever waits now
    const again = await site.visit('/', { ...headers, Cookie: `__Host-waitingroom_key-SHOP=${value(fails)}` });
    assert.deepEqual([again.status, taken.at(-1)], [200, taken.at(-2)]);
    asks.is.state = counts;
    clock(taken.length * 70);
  }
  assert.equal(new Set(taken).size, 3);
});

test('without an answer in a second, admit lets go on, without a session', async () => {
  const site = shop(waits, '', { onFailure: 'admit' });
  const answer = await silent(site);
  assert.deepEqual([answer.status, answer.headers.get('Set-Cookie'), site.visited], [200, null, 1]);
  // The others of that second are not held up.
  const asked = site.asked.length;
  assert.equal((await site.visit()).status, 200);
  assert.equal((await site.visit('/api', {})).status, 200);
  assert.equal(site.asked.length, asked);
  clock(2);
  site.is.what = '';
  assert.equal((await site.visit()).status, 302);
});

test('a pass without an answer: hold keeps it good, admit takes it', async () => {
  for (const [onFailure, want] of [['hold', 503], ['admit', 302]]) {
    const site = shop(waits, '', { onFailure });
    await site.visit(`/?waiting_room_pass=${await pass()}`, other); // the keys are known from now on
    const answer = await silent(site, `/cart?waiting_room_pass=${await pass()}`, other);
    assert.equal(answer.status, want);
    assert.equal(Boolean(value(answer)), want === 302);
  }
});

test('a room that cannot look keeps the pass good, whatever is configured', async () => {
  for (const onFailure of ['hold', 'admit']) {
    const site = shop(waits, 'away', { onFailure });
    assert.equal((await site.visit(`/?waiting_room_pass=${await pass()}`, other)).status, 503);
    assert.equal((await site.visit('/', { 'X-Waiting-Room-Pass': await pass() })).status, 503);
    assert.equal(site.visited, 0);
  }
});

test('a gate that never had the room\'s keys calls no pass bad', async () => {
  const site = shop(waits);
  await site.visit();
  assert.equal((await silent(site, `/?waiting_room_pass=${await pass()}`, other)).status, 503);
});

test('an answer of something between is none', async () => {
  for (const answer of [new Response('<h1>Bad gateway', { status: 502 }), new Response('{"code":"x"}', { status: 404 })]) {
    const gate = waitingRoom({ room: ROOM, zone: 'SHOP', key: KEY, fetch: async () => answer.clone() });
    const { response } = await gate.ask(new Request('https://shop.example/', { headers: page }), '');
    assert.equal(response.status, 503);
  }
});

test('a path counts as it is written', async () => {
  const site = shop({ ...waits, bypassPaths: ['/assets/*'] });
  for (const [path, bypasses] of [['/assets/x', true], ['/assets/x?a=/..#/y', true], ['/checkout/%2e%2e/assets/x', false], ['/checkout/.%2E/assets/x', false],
    ['/checkout/../assets/x', false], ['\\assets/x', false], ['?/assets/x', false], ['', false]]) {
    const { response } = await site.gate.ask({ url: `https://shop.example${path}`, method: 'POST', headers: new Headers() }, '');
    assert.equal(response?.status, bypasses ? undefined : 429, path);
  }
  const { response } = await site.gate.ask({ url: `https://shop.example/\u4eac\t/?waiting_room_pass=${await pass()}`, method: 'GET', headers: new Headers(other) }, '');
  assert.equal(response.headers.get('Location'), '/%E4%BA%AC%09/');
});

test('a session is renewed for twelve hours', async () => {
  const site = shop(joins);
  let session = value(await site.visit());
  site.is.state = waits;
  let minutes = 0;
  for (; minutes < 24 * 60; minutes += 16) {
    clock(minutes * 60);
    const answer = await site.visit('/', inside(session));
    if (answer.status !== 200) break;
    session = value(answer) ?? session;
  }
  assert.equal(minutes, 12 * 60);
});

test('a session of a zone that was deleted and made again is no good', async () => {
  const site = shop(joins);
  const session = value(await site.visit());
  assert.equal((await site.visit('/api', inside(session))).status, 200);
  const made = shop({ ...joins, newcomers: 'wait', revokedUpTo: 2 ** 48 }); // a test's admissions have any time
  await made.visit(); // the gate has heard of the zone
  assert.equal((await made.visit('/api', inside(session))).status, 302);
  const young = shop({ ...joins, newcomers: 'wait', revokedUpTo: 1 });
  await young.visit();
  assert.equal((await young.visit('/api', inside(session))).status, 200);
});

test('keys of sessions can be replaced', async () => {
  const session = value(await shop(joins).visit());
  const newer = 'f'.repeat(32);
  assert.equal((await shop(waits, '', { key: [newer, KEY] }).visit('/', inside(session))).status, 200);
  assert.equal((await shop(waits, '', { key: newer }).visit('/', inside(session))).status, 302);
  assert.throws(() => waitingRoom({ room: ROOM, zone: 'SHOP', key: 'short' }), /key/);
});

test('no cache keeps an answer with a session; others stay as the shop says', async () => {
  const site = shop(joins);
  site.answer = { 'Cache-Control': 'public, max-age=600', 'CDN-Cache-Control': 'max-age=600', 'Set-Cookie': 'cart=1' };
  const first = await site.visit();
  assert.deepEqual([first.headers.get('Cache-Control'), first.headers.get('CDN-Cache-Control'), first.headers.get('Surrogate-Control')],
    ['private, no-store', 'no-store', 'no-store']);
  assert.equal(first.headers.getSetCookie().length, 2);
  const next = await site.visit('/', { Cookie: first.headers.getSetCookie()[1].split(';')[0] });
  assert.deepEqual([next.headers.get('Cache-Control'), next.headers.getSetCookie()], ['public, max-age=600', ['cart=1']]);
});

test('a logout of the shop takes no session', async () => {
  const site = shop(joins);
  for (const [said, want] of [['"cache", "cookies"', '"cache", "storage"'], ['"*"', '"cache", "storage"'], ['"storage"', '"storage"']]) {
    site.answer = { 'Clear-Site-Data': said };
    assert.equal((await site.visit()).headers.get('Clear-Site-Data'), want);
  }
});

test('passes that are none', async () => {
  const good = await pass();
  const [head, claims, signature] = good.split('.');
  const recode = (part) => Buffer.from(JSON.stringify(part)).toString('base64url');
  for (const [name, bad] of Object.entries({
    unsigned: `${head}.${claims}.`, none: `${recode({ alg: 'none', kid: 'k1' })}.${claims}.`, 'another key': await pass('SHOP', {}, { kid: 'k2' }),
    'another algorithm': await pass('SHOP', {}, { alg: 'ES256' }), critical: await pass('SHOP', {}, { crit: ['x'] }), longer: `${good}.x`,
    'another issuer': await pass('SHOP', { iss: 'other' }), changed: `${head}.${recode({ iss: 'waitingroom', aud: 'SHOP', zone: 'SHOP', exp: 1e10, jti: 'x' })}.${signature}`,
    'another audience': await pass('SHOP', { aud: 'OTHER' }), garbage: 'x',
  })) {
    const site = shop(waits);
    const answer = await site.visit(`/?waiting_room_pass=${bad}`, other);
    assert.match(answer.headers.get('Location'), /refused=/, name);
    assert.ok(!site.asked.some(({ path }) => path === '/traffic/session'), name);
  }
});

test('keys that are not known are asked for once a minute', async () => {
  const site = shop(waits);
  const unknown = await pass('SHOP', {}, { kid: 'k2' });
  for (let i = 0; i < 10; i++) await site.visit(`/?waiting_room_pass=${unknown}`, other);
  assert.equal(site.asked.filter(({ path }) => path.endsWith('jwks.json')).length, 1);
  clock(61);
  await site.visit(`/?waiting_room_pass=${unknown}`, other);
  assert.equal(site.asked.filter(({ path }) => path.endsWith('jwks.json')).length, 2);
});

test('what comes at once for a page is one admission, and the first answer has the session', async () => {
  const site = shop(joins);
  const call = { 'User-Agent': 'a', 'Sec-Fetch-Site': 'same-origin' };
  const gate = (headers, address = '203.0.113.9') => site.gate.ask({ url: 'https://shop.example/api', method: 'GET', headers: new Map(Object.entries(headers)) }, address);
  const ids = () => site.asked.filter(({ path }) => path === '/traffic/wait').map(({ clientId }) => clientId);
  for (const header of [call, { 'User-Agent': 'curl/8.14.1' }]) {
    const before = new Set(ids()).size;
    const all = await Promise.all(Array.from({ length: 60 }, () => gate(header)));
    assert.equal(all.filter(({ headers }) => headers?.['Set-Cookie']).length, 4); // 17 go on by each
    assert.equal(new Set(ids()).size, before + 4);
  }
  const before = ids().length;
  await gate(call);
  assert.equal(ids().length, before);
  await gate(call, '203.0.113.10');
  await gate({ ...call, 'User-Agent': 'b' });
  await gate({ ...call, Referer: 'https://shop.example/other' });
  clock(2);
  await gate(call);
  assert.equal(ids().length, before + 4);
});

test('where those inside are counted, who may keep no session takes none', async () => {
  const site = shop({ ...joins, counted: true });
  assert.equal((await site.visit('/', { 'User-Agent': 'kube-probe/1.34' })).headers.get('Set-Cookie'), null);
  assert.deepEqual(site.asked.map(({ path }) => path), ['/traffic/zones/SHOP', '/traffic/wait']);
});

test('where those inside are counted, the room is told of sessions and of the end', async () => {
  const counts = { ...joins, counted: true, donePaths: ['/thanks*'] };
  const site = shop(counts);
  const told = (from) => site.asked.slice(from).map(({ path, session }) => `${path} ${session ?? ''}`);
  let session = value(await site.visit());
  assert.deepEqual(told(2), ['/traffic/session ']);
  clock(1000); // half of it is over
  let at = site.asked.length;
  session = value(await site.visit('/', inside(session)));
  assert.match(told(at).at(-1), /^\/traffic\/session S/);
  at = site.asked.length;
  const own = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Site': 'same-origin' };
  for (const [headers, method] of [
    [{ 'Sec-Fetch-Mode': 'cors', 'Sec-Fetch-Site': 'same-origin' }], [{ ...own, 'Sec-Purpose': 'prefetch' }], [{ ...own, 'X-Moz': 'prefetch' }],
    [{ ...own, 'Sec-Fetch-Site': 'cross-site' }], [{ ...own, 'Sec-Fetch-Site': 'none' }], [{ ...own, 'Sec-Fetch-Dest': 'iframe' }],
    [{ Accept: 'text/html' }], [{ Accept: 'text/html', Referer: 'https://other.example/' }], [own, 'HEAD'],
  ]) {
    const request = { url: 'https://shop.example/thanks', method: method ?? 'GET', headers: new Map(Object.entries({ ...inside(session), ...headers })) };
    await site.gate.ask(request, '203.0.113.9');
  }
  assert.equal(told(at).some((t) => t.startsWith('/traffic/session/end')), false);
  const last = value(await site.visit('/thanks?order=7', { ...inside(session), ...own }));
  assert.match(told(at).at(-1), /^\/traffic\/session\/end S/);
  site.is.state = { ...counts, newcomers: 'wait' };
  clock(1050);
  assert.equal((await site.visit('/style', inside(last))).status, 200);
  clock(1061);
  assert.equal((await site.visit('/', inside(last))).status, 302);
  // One that was revoked ends when it would be renewed.
  clock(2500);
  site.is.what = 'used';
  assert.equal((await site.visit('/', inside(session))).status, 302);
});

test('where those inside are counted, who is done or revoked goes on for a minute at most', async () => {
  for (const sessionRenewal of ['use', 'off']) {
    const site = shop({ ...joins, counted: true, donePaths: ['/thanks'], sessionRenewal });
    const session = value(await site.visit());
    site.is.state = { ...site.is.state, newcomers: 'wait' };
    await site.visit('/thanks', { ...inside(session), 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Site': 'same-origin' }); // a visitor who keeps the session of before
    site.is.what = 'used';
    clock(59);
    assert.equal((await site.visit('/', inside(session))).status, 200);
    clock(60);
    for (let i = 0; i < 3; i++) assert.equal((await site.visit('/', inside(session))).status, 302, sessionRenewal);
    assert.equal(site.asked.filter((a) => a.path === '/traffic/session' && a.session).length, 1, 'asked once in some seconds');
    clock();
  }
});

test('a session that is done or revoked does not hide another', async () => {
  const site = shop({ ...joins, counted: true });
  const over = value(await site.visit());
  clock(30);
  const good = value(await site.visit('/', page, '203.0.113.10'));
  site.is.state = { ...site.is.state, newcomers: 'wait' };
  site.is.what = 'used';
  clock(61); // the room is asked about the first alone
  const both = { ...page, Cookie: `__Host-waitingroom-SHOP=${over}; waitingroom_session-SHOP=${good}` };
  assert.equal((await site.visit('/', both)).status, 200);
  assert.equal((await site.visit('/', inside(over))).status, 302);
});

test('where those inside are counted, the room is asked once a minute, and its answer says until when', async () => {
  const site = shop({ ...joins, counted: true, sessionRenewal: 'off' });
  let session = value(await site.visit());
  const asks = () => site.asked.filter((a) => a.path === '/traffic/session' && a.session).length;
  clock(60);
  const all = await Promise.all(Array.from({ length: 8 }, () => site.visit('/', inside(session))));
  assert.deepEqual([asks(), all.filter(value).length], [1, 1]);
  session = value(all.find(value));
  clock(119);
  assert.equal(value(await site.visit('/', inside(session))), undefined);
  assert.equal(session.split('.')[3], '1800');
});

test('where those inside are counted, a session of which the room does not know is not renewed', async () => {
  const site = shop({ ...joins, counted: true }, '', { onFailure: 'admit' });
  await site.visit(`/?waiting_room_pass=${await pass()}`, other); // the keys are known from now on
  const session = value(await silent(site, `/?waiting_room_pass=${await pass()}`, other));
  site.is.what = '';
  for (const seconds of [1000, 1799]) {
    clock(seconds);
    const answer = await site.visit('/', inside(session));
    assert.deepEqual([answer.status, answer.headers.get('Set-Cookie')], [200, null]);
  }
});

test('a room that cannot look ends no session', async () => {
  const site = shop({ ...joins, counted: true, donePaths: ['/thanks'] });
  const session = value(await site.visit());
  site.is.what = 'away';
  for (const path of ['/', '/thanks']) {
    clock(1000);
    const answer = await site.visit(path, inside(session));
    assert.deepEqual([answer.status, answer.headers.get('Set-Cookie')], [200, null], path);
  }
});

test('a call whose join is not answered is as configured', async () => {
  for (const [onFailure, want] of [['hold', 503], ['admit', 200]]) {
    const site = shop(joins, '', { onFailure });
    await site.visit();
    assert.equal((await silent(site, '/api', { 'Sec-Fetch-Site': 'same-origin' })).status, want);
  }
});

test('of very many cookies some are looked at', async (t) => {
  const site = shop(joins);
  const session = value(await site.visit());
  const verify = t.mock.method(crypto.subtle, 'verify');
  const forged = Array(300).fill('__Host-waitingroom-SHOP=AAAA.1.9999999999.1').join('; ');
  assert.equal((await site.visit('/', { Cookie: forged, 'X-Waiting-Room-Session': session })).status, 200);
  assert.ok(verify.mock.callCount() < 10, `${verify.mock.callCount()} signatures`);
  const tossed = Array(300).fill('waitingroom_session-SHOP=AAAA.1.9999999999.1').join('; '); // by another host of the domain
  assert.equal((await site.visit('/', { Cookie: `${tossed}; __Host-waitingroom-SHOP=${session}` })).status, 200);
});

test('a key that the room has taken back is good for five minutes at most', async () => {
  let keys = [];
  const asks = room(waits);
  const gate = waitingRoom({ room: ROOM, zone: 'SHOP', key: KEY, fetch: (url, init) => {
    const now = keys;
    return url.endsWith('jwks.json') ? Promise.resolve(Response.json({ keys: now })) : asks.fetch(url, init);
  } });
  const { keys: [first] } = await (await asks.fetch(`${ROOM}/.well-known/jwks.json`, {})).json();
  const visit = async () => (await gate.ask(new Request(`https://shop.example/?waiting_room_pass=${await pass()}`, { headers: other }), '')).response.headers.get('Location');
  keys = [first];
  assert.equal(await visit(), '/');
  keys = [{ ...first, kid: 'k2' }];
  clock(301);
  assert.match(await visit(), /refused=/);
});

test('where the waiting page is on the site itself, it is led to by a path', async () => {
  const site = shop(waits, '', { visitors: '' });
  assert.equal((await site.visit('/cart?a=1')).headers.get('Location'), '/wait/SHOP?to=%2Fcart%3Fa%3D1');
});

test('passes of all algorithms of the room', async () => {
  const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const RSA = { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' };
  for (const [alg, algorithm] of [['ES256', P256], ['RS256', RSA]]) {
    const { publicKey, privateKey } = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const { key_ops: ops, ext, ...jwk } = await crypto.subtle.exportKey('jwk', publicKey);
    const site = room(waits);
    const fetch = (url, init) => (url.endsWith('jwks.json') ? Promise.resolve(Response.json({ keys: [{ ...jwk, alg, use: 'sig', kid: 'k2' }] })) : site.fetch(url, init));
    const gate = waitingRoom({ room: ROOM, zone: 'SHOP', key: KEY, fetch });
    const [head, claims] = (await pass('SHOP', {}, { alg, kid: 'k2' })).split('.');
    const signature = Buffer.from(await crypto.subtle.sign(algorithm, privateKey, Buffer.from(`${head}.${claims}`))).toString('base64url');
    const ask = async (shown) => (await gate.ask(new Request(`https://shop.example/?waiting_room_pass=${shown}`, { headers: other }), '')).response.headers.get('Location');
    assert.equal(await ask(`${head}.${claims}.${signature}`), '/', alg);
    assert.match(await ask(await pass('SHOP', {}, { kid: 'k2' })), /refused=/, 'EdDSA with a key of another algorithm');
  }
});

test('the shop is asked by the runtime\'s own fetch, not by the one for the room', async (t) => {
  const asked = [];
  t.mock.method(globalThis, 'fetch', async (request) => {
    asked.push(request.url);
    return new Response('the shop');
  });
  const gate = waitingRoom({ room: ROOM, zone: 'SHOP', key: KEY, fetch: room(joins).fetch });
  assert.equal(await (await gate.fetch(new Request('https://shop.example/a', { headers: page }), '')).text(), 'the shop');
  assert.deepEqual(asked, ['https://shop.example/a']);
});

test('the package has what it names', async () => {
  for (const [name, makes] of [['@openqueue/edge', 'waitingRoom'], ['@openqueue/edge/node', 'middleware'], ['@openqueue/edge/lambda', 'triggers']]) {
    assert.equal(typeof (await import(name))[makes], 'function');
  }
});
