// The work of a challenge: scrypt, as altcha-lib does it. `worker` becomes the text of a Web Worker, so it names nothing that
// is outside of it.

/** Returns a function that looks for the counter of a solution. See index.js. */
export function worker() {
  const bytesOf = (text) => Uint8Array.from(text.match(/../g), (byte) => parseInt(byte, 16));
  const rotl = (x, n) => x << n | x >>> 32 - n;

  // SHA-256 (FIPS 180-4): its constants are the first bits of roots of primes.
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const bits = (x) => (x - Math.floor(x)) * 2 ** 32 | 0;
  const K = primes.map((p) => bits(Math.cbrt(p)));
  const START = primes.slice(0, 8).map((p) => bits(Math.sqrt(p)));
  const w = new Int32Array(64);

  // compress takes 16 words into a state of eight.
  function compress(state, words, from) {
    for (let i = 0; i < 64; i++) {
      if (i < 16) { w[i] = words[from + i]; continue; }
      const x = w[i - 15];
      const y = w[i - 2];
      w[i] = w[i - 16] + (rotl(x, 25) ^ rotl(x, 14) ^ x >>> 3) + w[i - 7] + (rotl(y, 15) ^ rotl(y, 13) ^ y >>> 10);
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const t = h + (rotl(e, 26) ^ rotl(e, 21) ^ rotl(e, 7)) + (e & f ^ ~e & g) + K[i] + w[i] | 0;
      const u = (rotl(a, 30) ^ rotl(a, 19) ^ rotl(a, 10)) + (a & b ^ a & c ^ b & c) | 0;
      h = g; g = f; f = e; e = d + t | 0; d = c; c = b; b = a; a = t + u | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((v, i) => { state[i] += v; });
  }

  // hash goes on from a state that has seen `before` words, over more words, to the end.
  function hash(state, words, before) {
    const s = Int32Array.from(state);
    const all = new Int32Array(Math.ceil((words.length + 3) / 16) * 16);
    all.set(words);
    all[words.length] = 1 << 31;
    all[all.length - 1] = (before + words.length) * 32;
    for (let i = 0; i < all.length; i += 16) compress(s, all, i);
    return s;
  }

  // hmac returns HMAC-SHA256 with a key of at most 16 words, as a function of words.
  function hmac(key) {
    const [inner, outer] = [0x36363636, 0x5c5c5c5c].map((pad) => {
      const s = Int32Array.from(START);
      compress(s, Int32Array.from({ length: 16 }, (_, i) => key[i] ^ pad), 0);
      return s;
    });
    return (words) => hash(outer, hash(inner, words, 16), 16);
  }

  // wordsOf reads bytes, four at a time, big-endian.
  const wordsOf = (bytes) => Int32Array.from({ length: bytes.length / 4 }, (_, i) => new DataView(bytes.buffer).getInt32(4 * i));

  // stretch is PBKDF2 with one round, for so many words.
  function stretch(mac, salt, words) {
    const out = new Int32Array(Math.ceil(words / 8) * 8);
    const block = new Int32Array(salt.length + 1);
    block.set(salt);
    for (let i = 0; i < out.length; i += 8) {
      block[salt.length] = i / 8 + 1;
      out.set(mac(block), i);
    }
    return out.subarray(0, words);
  }

  const swap = (x) => rotl(x, 8) & 0x00ff00ff | rotl(x, 24) & 0xff00ff00;
  // mix is scryptBlockMix (RFC 7914, section 4) with Salsa20/8: from `from` in one array into another array's beginning.
  function mix(r, input, from, output) {
    const last = from + (2 * r - 1) * 16;
    let a = input[last], b = input[last + 1], c = input[last + 2], d = input[last + 3], e = input[last + 4], f = input[last + 5], g = input[last + 6], h = input[last + 7], i = input[last + 8], j = input[last + 9], k = input[last + 10], l = input[last + 11], m = input[last + 12], n = input[last + 13], o = input[last + 14], p = input[last + 15];
    for (let block = 0; block < 2 * r; block++) {
      const at = from + block * 16;
      const to = (block >> 1) * 16 + (block & 1) * r * 16;
      a ^= input[at]; b ^= input[at + 1]; c ^= input[at + 2]; d ^= input[at + 3]; e ^= input[at + 4]; f ^= input[at + 5]; g ^= input[at + 6]; h ^= input[at + 7];
      i ^= input[at + 8]; j ^= input[at + 9]; k ^= input[at + 10]; l ^= input[at + 11]; m ^= input[at + 12]; n ^= input[at + 13]; o ^= input[at + 14]; p ^= input[at + 15];
      output[to] = a; output[to + 1] = b; output[to + 2] = c; output[to + 3] = d; output[to + 4] = e; output[to + 5] = f; output[to + 6] = g; output[to + 7] = h;
      output[to + 8] = i; output[to + 9] = j; output[to + 10] = k; output[to + 11] = l; output[to + 12] = m; output[to + 13] = n; output[to + 14] = o; output[to + 15] = p;
      for (let round = 0; round < 4; round++) {
        e ^= rotl(a + m, 7); i ^= rotl(e + a, 9); m ^= rotl(i + e, 13); a ^= rotl(m + i, 18);
        j ^= rotl(f + b, 7); n ^= rotl(j + f, 9); b ^= rotl(n + j, 13); f ^= rotl(b + n, 18);
        o ^= rotl(k + g, 7); c ^= rotl(o + k, 9); g ^= rotl(c + o, 13); k ^= rotl(g + c, 18);
        d ^= rotl(p + l, 7); h ^= rotl(d + p, 9); l ^= rotl(h + d, 13); p ^= rotl(l + h, 18);
        b ^= rotl(a + d, 7); c ^= rotl(b + a, 9); d ^= rotl(c + b, 13); a ^= rotl(d + c, 18);
        g ^= rotl(f + e, 7); h ^= rotl(g + f, 9); e ^= rotl(h + g, 13); f ^= rotl(e + h, 18);
        l ^= rotl(k + j, 7); i ^= rotl(l + k, 9); j ^= rotl(i + l, 13); k ^= rotl(j + i, 18);
        m ^= rotl(p + o, 7); n ^= rotl(m + p, 9); o ^= rotl(n + m, 13); p ^= rotl(o + n, 18);
      }
      output[to] = a = a + output[to] | 0; output[to + 1] = b = b + output[to + 1] | 0; output[to + 2] = c = c + output[to + 2] | 0; output[to + 3] = d = d + output[to + 3] | 0;
      output[to + 4] = e = e + output[to + 4] | 0; output[to + 5] = f = f + output[to + 5] | 0; output[to + 6] = g = g + output[to + 6] | 0; output[to + 7] = h = h + output[to + 7] | 0;
      output[to + 8] = i = i + output[to + 8] | 0; output[to + 9] = j = j + output[to + 9] | 0; output[to + 10] = k = k + output[to + 10] | 0; output[to + 11] = l = l + output[to + 11] | 0;
      output[to + 12] = m = m + output[to + 12] | 0; output[to + 13] = n = n + output[to + 13] | 0; output[to + 14] = o = o + output[to + 14] | 0; output[to + 15] = p = p + output[to + 15] | 0;
    }
  }

  // romix is scryptROMix of b, in place; v has room for n times as much.
  function romix(n, r, b, v, other) {
    const size = 32 * r;
    let [now, next] = [b, other];
    for (let i = 0; i < n; i++) {
      v.set(now, i * size);
      mix(r, now, 0, next);
      [now, next] = [next, now];
    }
    for (let i = 0; i < n; i++) {
      const at = (now[size - 16] & n - 1) * size;
      for (let k = 0; k < size; k++) now[k] ^= v[at + k];
      mix(r, now, 0, next);
      [now, next] = [next, now];
    }
    if (now !== b) b.set(now);
  }

  // solve tries counters from `start` on, `step` apart, and returns the one that fits; or -1 - n after so many milliseconds,
  // where n is the next to be tried.
  return (parameters, start, step, within) => {
    const { cost: n, memoryCost: r, parallelism = 1, keyPrefix, nonce, salt } = parameters;
    const saltWords = wordsOf(bytesOf(salt));
    const password = wordsOf(bytesOf(`${nonce}00000000`));
    const size = 32 * r;
    const v = new Int32Array(n * size);
    const other = new Int32Array(size);
    const end = Date.now() + within;
    for (let counter = start; ; counter += step) {
      password[password.length - 1] = counter;
      const mac = hmac(password);
      const b = stretch(mac, saltWords, size * parallelism).map(swap);
      for (let i = 0; i < parallelism; i++) romix(n, r, b.subarray(i * size, (i + 1) * size), v, other);
      const key = stretch(mac, b.map(swap), 8);
      const text = Array.from(key.subarray(0, 2), (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
      if (text.startsWith(keyPrefix)) return counter;
      if (Date.now() > end) return -1 - counter - step;
    }
  };
}
