// The gate before a server of Node, and as triggers of Lambda@Edge.
import assert from 'node:assert/strict';
import { createServer, request as ask } from 'node:http';
import { after, test } from 'node:test';

import { waitingRoom } from '../index.js';
import { triggers } from '../lambda.js';
import { middleware } from '../node.js';
import { KEY, room, ROOM } from './room.js';

const joins = { newcomers: 'join', sessionSeconds: 1800, sessionRenewal: 'use', bypassCommon: 'on', bypassPaths: ['/assets/*'] };
const asks = room(joins);
const gate = waitingRoom({ room: ROOM, zone: 'SHOP', key: KEY, fetch: asks.fetch });
const page = { Accept: 'text/html' };

const admit = middleware(gate);
const server = createServer((request, response) => admit(request, response, () => {
  response.setHeader('Set-Cookie', 'cart=1');
  if (request.url === '/logout') response.setHeader('Clear-Site-Data', '"cookies"');
  if (request.url === '/explicit') {
    response.writeHead(201, { 'Cache-Control': 'public, max-age=600' });
  } else if (request.url === '/reason') {
    response.writeHead(202, 'Taken');
  } else if (request.url === '/pairs') {
    response.writeHead(203, 'Other', ['Cache-Control', 'public, max-age=600', 'Set-Cookie', 'a=1', 'Set-Cookie', 'cart=1']);
  }
  response.end(`the shop: ${request.url}`);
}));

// listen starts a server, and returns how to visit it: fetch would say Sec-Fetch-Mode: cors.
async function listen(one) {
  await new Promise((listens) => { one.listen(0, '127.0.0.1', listens); });
  after(() => one.close());
  const { port } = one.address();
  return (path, headers = page, method = 'GET') => new Promise((done, failed) => {
    ask({ port, path, headers, method, agent: false }, async (answer) => {
      let text = '';
      for await (const part of answer) text += part;
      done({ status: answer.statusCode, reason: answer.statusMessage, text, headers: answer.headers, cookies: answer.headers['set-cookie'] });
    }).on('error', failed).end();
  });
}
const visit = await listen(server);

test('Node: a newcomer goes on with a session, which no cache keeps', async () => {
  for (const [path, status] of [['/cart', 200], ['/explicit', 201]]) {
    const answer = await visit(path);
    assert.deepEqual([answer.status, answer.text, answer.headers['cache-control']], [status, `the shop: ${path}`, 'private, no-store']);
    const { cookies } = answer;
    assert.match(cookies[1], /^waitingroom_session-SHOP=/);
    assert.equal(cookies[0], 'cart=1');
    const again = await visit('/api', { Cookie: cookies[1].split(';')[0] });
    assert.deepEqual([again.status, again.cookies], [200, ['cart=1']]);
  }
  assert.equal(asks.asked.at(-1).headers['X-Forwarded-For'], '127.0.0.1');
});

test('Node: a logout leaves the session', async () => {
  const cookie = (await visit('/cart')).cookies[1].split(';')[0];
  assert.equal((await visit('/logout', { Cookie: cookie })).headers['clear-site-data'], '"cache", "storage"');
});

test('Node: all forms of writeHead', async () => {
  for (const [path, reason, cookies] of [['/reason', 'Taken', 1], ['/pairs', 'Other', 2]]) {
    const answer = await visit(path);
    assert.deepEqual([answer.reason, answer.headers['cache-control'], answer.headers[0], answer.cookies.length], [reason, 'private, no-store', undefined, cookies + 1]);
  }
});

test('Node: in a line a page is led to the room, and a call is refused', async () => {
  const full = waitingRoom({ room: ROOM, zone: 'SHOP', key: KEY, fetch: room({ ...joins, newcomers: 'wait' }).fetch });
  const seen = [];
  const holds = middleware(full);
  const held = createServer((request, response) => holds(request, response, () => { seen.push(request.url); response.end(); }));
  const come = await listen(held);
  const led = await come('/cart');
  assert.match(led.headers.location, /^https:\/\/queue\.shop\.example\/wait\/SHOP\?to=http%3A%2F%2F/);
  const refused = await come('/api', {}, 'POST');
  assert.deepEqual([refused.status, JSON.parse(refused.text).code], [429, 'admission_required']);
  await come('/assets/a.js', {});
  assert.deepEqual(seen, ['/assets/a.js']);
});

test('Node: a path counts as the shop sees it', async () => {
  for (const [url, want] of [['/checkout/../assets/x', 302], ['/assets/../checkout', 302], ['http://evil.example/', 400], ['/assets/x', 200]]) {
    const full = waitingRoom({ room: ROOM, zone: 'SHOP', key: KEY, fetch: room({ ...joins, newcomers: 'wait' }).fetch });
    let status = 200;
    const response = { writeHead: (s) => { status = s; return response; }, end() {} };
    await middleware(full)({ url, method: 'GET', headers: { host: 'shop.example', accept: 'text/html' }, socket: {} }, response, () => {});
    assert.equal(status, want, url);
  }
});

// Events as CloudFront writes them, as far as the gate reads them.
const event = (uri, headers, response) => ({ Records: [{ cf: { response, request: {
  clientIp: '203.0.113.9', method: 'GET', uri, querystring: '',
  headers: Object.fromEntries(Object.entries({ Host: 'shop.example', ...headers }).map(([key, value]) => [key.toLowerCase(), [{ key, value }]])),
} } }] });

test('Lambda@Edge: a session goes from one trigger to the other, and never from the visitor', async () => {
  const { viewerRequest, viewerResponse } = triggers(gate);
  const request = await viewerRequest(event('/', { ...page, 'X-Waiting-Room-Keep': '{"Set-Cookie":"forged=1"}' }));
  const answer = { status: '200', headers: { 'cache-control': [{ key: 'Cache-Control', value: 'max-age=600' }] } };
  const { headers } = await viewerResponse({ Records: [{ cf: { request, response: answer } }] });
  const cookies = headers['set-cookie'].map(({ value }) => value);
  assert.equal(cookies.length, 1);
  assert.match(cookies[0], /^__Host-waitingroom-SHOP=.*; Secure$/);
  assert.equal(headers['cache-control'][0].value, 'private, no-store');
  const inside = await viewerRequest(event('/', { Cookie: cookies[0].split(';')[0], 'X-Waiting-Room-Keep': '{"Set-Cookie":"forged=1"}' }));
  assert.equal(inside.headers['x-waiting-room-keep'], undefined);
});

test('Lambda@Edge: a logout leaves the session', async () => {
  for (const [said, want] of [['"cookies"', '"cache", "storage"'], ['"storage"', '"storage"']]) {
    const answer = { status: '200', headers: { 'clear-site-data': [{ key: 'Clear-Site-Data', value: said }] } };
    const { headers } = await triggers(gate).viewerResponse(event('/', {}, answer));
    assert.equal(headers['clear-site-data'][0].value, want);
  }
});

test('Lambda@Edge: in a line a page is led to the room', async () => {
  const full = waitingRoom({ room: ROOM, zone: 'SHOP', key: KEY, fetch: room({ ...joins, newcomers: 'wait' }).fetch });
  const led = await triggers(full).viewerRequest(event('/', page));
  assert.equal(led.status, '302');
  assert.match(led.headers.location[0].value, /\/wait\/SHOP/);
});
