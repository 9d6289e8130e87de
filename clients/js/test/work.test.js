import assert from 'node:assert/strict';
import { scryptSync } from 'node:crypto';
import { test } from 'node:test';
import { wait } from '../index.js';
import { worker } from '../work.js';

const parameters = {
  algorithm: 'SCRYPT', cost: 16, memoryCost: 3, parallelism: 1, keyLength: 32, keyPrefix: '0a', nonce: '00112233445566778899aabbccddeeff',
  salt: 'ffeeddccbbaa99887766554433221100', data: { zone: 'Z', visitor: 'AAAAAAAAAAA' },
};

function derive({ cost, memoryCost, parallelism, nonce, salt }, counter) {
  const password = Buffer.concat([Buffer.from(nonce, 'hex'), Buffer.alloc(4)]);
  password.writeUInt32BE(counter, 16);
  return scryptSync(password, Buffer.from(salt, 'hex'), 32, { N: cost, r: memoryCost, p: parallelism }).toString('hex');
}

test('the work finds the first counter that fits, as scrypt says', () => {
  for (const change of [{}, { cost: 128, memoryCost: 11, keyPrefix: '5' }, { cost: 2, memoryCost: 1 }, { parallelism: 2 }, { salt: '00' .repeat(32) }]) {
    const p = { ...parameters, ...change };
    let want = 0;
    while (!derive(p, want).startsWith(p.keyPrefix)) want++;
    assert.equal(worker()(p, 0, 1, Infinity), want, JSON.stringify(change));
  }
});

test('the work goes on where it stopped', () => {
  const never = { ...parameters, keyPrefix: 'x' };
  assert.equal(worker()(never, 7, 2, -1), -1 - 9);
});

const json = (status, body) => new Response(JSON.stringify(body), { status });
const refused = (challenge) => json(403, { type: 'https://rooms.example/problems#challenge_required', code: 'challenge_required', challenge });

test('a challenge is met, and its solution sent until there is a place', async () => {
  const asked = [];
  const answers = [
    () => refused({ kind: 'work', reason: 'required', parameters, signature: 'ab' }),
    () => { throw new TypeError('fetch failed'); },
    () => refused({ kind: 'turnstile', reason: 'required', siteKey: 'key' }),
    () => json(200, { token: 't', canEnter: true, admission: { pass: 'PASS', admittedAt: 1, expiresAt: 2 } }),
  ];
  const { pass } = await wait({
    url: 'https://queue.example', zone: 'Z', clientId: 'me', onChallenge: ({ siteKey }) => `token for ${siteKey}`,
    fetch: async (_, { body }) => { asked.push(JSON.parse(body).challenge); return answers.shift()(); },
  });
  assert.equal(pass, 'PASS');
  assert.equal(asked[0], undefined);
  assert.equal(asked[2], asked[1], 'the same solution after a lost answer');
  assert.equal(asked[3], 'token for key');
  const { challenge, solution } = JSON.parse(atob(asked[1]));
  assert.deepEqual(challenge, { parameters, signature: 'ab' });
  assert.ok(derive(parameters, solution.counter).startsWith('0a'));
});

test('whoever is too slow shows the challenge without a solution, where the zone lets them', async () => {
  const asked = [];
  const slow = { ...parameters, keyPrefix: 'x' };
  const answers = [
    () => refused({ kind: 'work', reason: 'required', parameters: slow, signature: 'ab', unsolvedAfterSeconds: 0.1 }),
    () => json(200, { token: 't', canEnter: true, admission: { pass: 'PASS', admittedAt: 1, expiresAt: 2 } }),
  ];
  await wait({
    url: 'https://queue.example', zone: 'Z', clientId: 'me',
    fetch: async (_, { body }) => { asked.push(JSON.parse(body).challenge); return answers.shift()(); },
  });
  assert.deepEqual(JSON.parse(atob(asked[1])), { challenge: { parameters: slow, signature: 'ab' } });
});

test('who cannot meet a challenge is told so, and a room that asks for ever is left', async () => {
  const base = { url: 'https://queue.example', zone: 'Z', clientId: 'me' };
  await assert.rejects(wait({ ...base, fetch: async () => refused({ kind: 'hcaptcha', reason: 'required' }) }), { code: 'challenge_required' });
  let calls = 0;
  await assert.rejects(wait({ ...base, onChallenge: () => 'x', fetch: async () => { calls++; return refused({ kind: 'hcaptcha', reason: 'wrong' }); } }), { code: 'challenge_required' });
  assert.equal(calls, 6);
});
