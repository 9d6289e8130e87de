// Passes are JSON Web Tokens: docs/integrate/pass.md says which are good.

const ALGORITHMS = {
  EdDSA: { name: 'Ed25519' },
  ES256: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
};
// How old the room's keys may be, and how long no others are asked for when a pass names one that is not known, in milliseconds.
const KEYS = 300_000;
const NEW_KEYS = 60_000;

const { subtle } = crypto;
export const unbase64 = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0));
export const read = (part) => JSON.parse(new TextDecoder().decode(unbase64(part)));

// passVerifier returns a function that returns the claims of a good pass; undefined for any other, and null while no keys are
// known. load() gets the room's key set; a failure leaves those that are known.
export function passVerifier({ zone, issuer, load }) {
  let keys = new Map(); // by kid: the algorithm, and the key, if this runtime has the algorithm
  let loaded = 0;
  return async function verify(pass) {
    try {
      const [head, claims, signature, more] = pass.split('.');
      const { alg, kid, crit } = read(head);
      if (!keys.size || Date.now() - loaded > (keys.has(kid) ? KEYS : NEW_KEYS)) {
        loaded = Date.now();
        const set = await load();
        const all = new Map(); // without the keys that the room has taken back, and whole before it is used
        for (const { alg: of, kid: name, use, ...jwk } of set?.keys ?? []) {
          all.set(name, [of, await subtle.importKey('jwk', jwk, ALGORITHMS[of], false, ['verify']).catch(() => undefined)]);
        }
        if (all.size) keys = all;
      }
      if (!keys.size) return null;
      const [of, key] = keys.get(kid);
      const said = read(claims);
      const ours = of === alg && !crit && more === undefined && said.iss === issuer && said.aud === zone && said.zone === zone;
      const signed = new TextEncoder().encode(`${head}.${claims}`);
      return ours && said.exp > Date.now() / 1000 && await subtle.verify(ALGORITHMS[of], key, unbase64(signature), signed) ? said : undefined;
    } catch {
      return undefined;
    }
  };
}
