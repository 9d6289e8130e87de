// A room as the edge sees it: the answers of the public listener that a test wants. Package internal/site tests that a real room
// gives these (cases.json); e2e/edge has a real one.
import { mock } from 'node:test';

export const NOW = 1_795_223_373_000;
export const ROOM = 'https://queue.shop.example';
export const KEY = '0123456789abcdef0123456789abcdef';
const TYPE = 'https://github.com/openqueue/waitingroom/blob/main/docs/reference/problems.md#';

const pair = await crypto.subtle.generateKey({ name: 'Ed25519' }, true, ['sign', 'verify']);
const { kty, crv, x } = await crypto.subtle.exportKey('jwk', pair.publicKey);
const base64url = (raw) => Buffer.from(raw).toString('base64url');

/** Returns a pass of a zone. */
export async function pass(zone = 'SHOP', claims = {}, head = {}) {
  const now = Math.floor(Date.now() / 1000);
  const said = { iss: 'waitingroom', aud: zone, zone, exp: now + 60, jti: crypto.randomUUID(), ...claims };
  const signed = [{ alg: 'EdDSA', kid: 'k1', ...head }, said].map((part) => base64url(JSON.stringify(part))).join('.');
  return `${signed}.${base64url(await crypto.subtle.sign({ name: 'Ed25519' }, pair.privateKey, Buffer.from(signed)))}`;
}

const json = (status, body) => new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } });
const problem = (status, code) => json(status, { type: TYPE + code, code, status });

/**
 * Returns a function as fetch, and what it was asked. what says what the room does: '', 'waits', 'refuses', 'used', 'away', 'unknown',
 * 'silent'.
 */
export function room(state, what = '') {
  const asked = [];
  const is = { state, what };
  const answer = async (path, body) => {
    switch (path) {
      case '/.well-known/jwks.json':
        return json(200, { keys: [{ kty, crv, x, alg: 'EdDSA', use: 'sig', kid: 'k1' }] });
      case '/traffic/wait':
        if (is.what === 'refuses') return problem(403, 'challenge_required');
        return is.what === 'waits' ? json(200, { token: 't', canEnter: false, waiting: {} })
          : json(200, { token: 't', canEnter: true, admission: { pass: await pass(body.zoneId) } });
      case '/traffic/leave': case '/traffic/session/end':
        return is.what === 'away' ? problem(503, 'store_unavailable') : new Response(null, { status: 204 });
      case '/traffic/session':
        if (is.what === 'used') return problem(410, 'token_expired');
        return is.what === 'away' ? problem(503, 'store_unavailable') : json(200, { session: `S${asked.length}`, expiresAt: Date.now() + 1_800_000 });
      default:
        return is.what === 'unknown' ? problem(404, 'zone_unknown') : json(200, { mode: 'queue', site: is.state });
    }
  };
  const fetch = (url, { body, headers, signal }) => {
    const path = url.slice(ROOM.length);
    const said = body && JSON.parse(body);
    asked.push({ path, headers, ...said });
    if (is.what !== 'silent') {
      return answer(path, said);
    }
    return new Promise((_, reject) => { signal.addEventListener('abort', () => reject(new Error('aborted'))); });
  };
  return { fetch, asked, is };
}

/** Sets the clock to so many seconds before NOW, or after. */
export const clock = (seconds = 0) => mock.timers.setTime(NOW + seconds * 1000);
