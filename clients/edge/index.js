// The gate of a waiting room at a CDN's edge. It answers as the server's gate does (internal/site): test/cases.json holds both.

import { passVerifier, read, unbase64 } from './pass.js';
import { cut, fits, plain, takeOut, written } from './path.js';

const names = (kind) => [`__Host-waitingroom${kind}-`, `__Secure-waitingroom${kind}-`, `waitingroom${kind || '_session'}-`];
const PASS = 'waiting_room_pass';
const APP = 'X-Waiting-Room-Session';
const NO_CACHE = { 'Cache-Control': 'private, no-store', 'CDN-Cache-Control': 'no-store', 'Surrogate-Control': 'no-store' };
const PAGE = {
  'Content-Type': 'text/html; charset=utf-8', Vary: 'Accept, Accept-Language', 'X-Content-Type-Options': 'nosniff', 'X-Frame-Options': 'DENY',
};
// Browsers ask for a page first; those of before 2011 for XML, and then XHTML.
const HTML = /^ *(text\/html|application\/xhtml\+xml|(application|text)\/xml *(;[^,]*)?,.*application\/xhtml\+xml)/i;
const HMAC = { name: 'HMAC', hash: 'SHA-256' };
// What browsers and machines fetch without cookies, what without a query, and how crawlers call themselves.
const COMMON = new RegExp('^/\\.well-known/.|^/(robots|ads|app-ads|humans|security|llms)\\.txt$|'
  + '^/(browserconfig|crossdomain|opensearch)\\.xml$|^/apple-app-site-association$|^/([^./]+/)*(favicon[^/]*\\.(ico|png|svg)|'
  + 'apple-touch-icon[^/]*\\.png|android-chrome-[^/]*\\.png|mstile-[^/]*\\.png|[^/]+\\.webmanifest|manifest\\.json)$');
const FEED = new RegExp('^/feeds?(/[^./]+)*(/|\\.(xml|json|rss|atom))?$|^/(wp-)?sitemap[^/]*\\.xml(\\.gz)?$|^/([^./]+/)*[^/]+\\.ics$');
const CRAWLERS = new RegExp('(^|[^u])bot([^a-z]|$)|crawler|spider|slurp|\\+ ?https?://|externalhit|facebookcatalog|meta-external|'
  + '^whatsapp/|^viber/|^pinterest/|^java/|preview|embedly|iframely|vkshare|ia_archiver|archive\\.org|'
  + '[a-z]-google\\b|\\bgoogle-|googleother|chrome-lighthouse|validator', 'i');
// The age of the rules for newcomers and for those inside, one page load, and what counts as one for whoever may keep no session, in
// milliseconds.
const [FRESH, STALE, LOAD, RECENT] = [1000, 60_000, 2000, 5000];
const OTHERS = 16; // go on beside the request that was admitted
// The longest session, one of a visitor who is done, and how long one goes on where those inside are counted before the room is asked
// whether it is over, in seconds.
const [MOST, THANKS, ASK] = [43_200, 60, 60];
// How many characters the key of a try has: as many as no browser's that was led to the page. Its join gets the same admission for so many
// seconds.
const [TRY, TRIES] = [40, 60];
const COOKIES = 8; // of a request that are looked at: each costs a signature
const BUSY = ['store_unavailable', 'service_unavailable', 'internal_error', 'too_many_requests']; // the pass stays good

const { subtle } = crypto;
const seconds = () => Math.floor(Date.now() / 1000);
const bytes = (text) => new TextEncoder().encode(text);
const base64 = (raw) => btoa(String.fromCharCode(...new Uint8Array(raw))).replace(/[+/=]/g, (c) => ({ '+': '-', '/': '_' })[c] ?? '');
const hex = (raw) => Array.from(new Uint8Array(raw), (b) => b.toString(16).padStart(2, '0')).join('');

// inLanguage returns the page of a state in the first of the visitor's languages that there is one in.
function inLanguage(pages, state, accepted) {
  for (const one of [...accepted.slice(0, 200).split(','), 'en']) {
    const tag = one.split(';')[0].trim().toLowerCase();
    const code = /^zh-(hant|tw|hk|mo)/.test(tag) ? 'zh-Hant' : /^zh\b/.test(tag) ? 'zh-Hans' : tag.split('-')[0];
    if (pages[`${state}-${code}`]) return pages[`${state}-${code}`];
  }
  return undefined;
}

/** Returns what the answer of a shop is to say as Clear-Site-Data if it would have the browser clear the gate's cookies, else undefined. */
export function clearing(said) {
  return /cookies|\*/.test(said) ? '"cache", "storage"' : undefined;
}

/** Makes the gate of a zone. See index.d.ts. */
export function waitingRoom({ room, visitors = room, zone, key, onFailure = 'hold', timeout = 1000, issuer = 'waitingroom', pages = {}, ...by }) {
  if (![key].flat().every((k) => k?.length >= 32)) throw new Error('key must be a random text of at least 32 characters');
  const load = by.fetch ?? ((...args) => fetch(...args));
  // Requests share values, and no promises: on Workers a request must not wait for what another has begun.
  let [macs, rules, state, looked, heard, lined] = [undefined, undefined, '', 0, 0, 0];
  const verify = passVerifier({ zone, issuer, load: () => call('/.well-known/jwks.json') });
  const recent = new Map(); // page loads of the last seconds, by the browser; and which admissions go on, by the jti
  const remember = (name, is) => {
    if (recent.size > 5000) recent.clear();
    recent.set(name, { ...is, at: Date.now() });
    return recent.get(name);
  };
  const lately = (name, age = RECENT) => (Date.now() - recent.get(name)?.at < age ? recent.get(name) : undefined);

  // call returns the room's answer; undefined if none comes in time.
  async function call(path, body, address = '') {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), timeout);
    try {
      const headers = { 'Content-Type': 'application/json', 'X-Forwarded-For': address };
      const post = body && { method: 'POST', headers, body: JSON.stringify({ zoneId: zone, ...body }) };
      const answer = await load(room + path, { signal: limit.signal, ...post });
      const said = answer.status === 204 ? {} : await answer.json();
      return answer.ok || String(said.type).endsWith(`#${said.code}`) ? { ...said, ok: answer.ok } : undefined;
    } catch {
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  // look has the rules be younger than age, in milliseconds. While one request asks, others go by those that are known, for some
  // seconds: on Workers a visitor who goes away ends the question that the visitor's request has begun.
  async function look(age) {
    const now = Date.now();
    if (state && now - looked < age && now - heard < age + RECENT) return;
    looked = now;
    const said = await call(`/traffic/zones/${zone}`);
    heard = Date.now();
    if (!said) looked = heard; // the next question comes after a while
    rules = said?.site ?? rules;
    state = !said ? 'away' : said.code === 'zone_unknown' ? 'unknown' : 'known';
  }

  async function secrets() {
    macs ??= await Promise.all([key].flat().map((k) => subtle.importKey('raw', bytes(k), HMAC, false, ['sign', 'verify'])));
    return macs;
  }

  async function sign(text) {
    return base64(await subtle.sign('HMAC', (await secrets())[0], bytes(text)));
  }

  // revoked reports whether an admission was revoked with all up to its time, also as those of a zone that was deleted and made again.
  const revoked = (jti) => parseInt(jti.replace('-', '').slice(0, 12), 16) <= rules?.revokedUpTo;

  // check returns a session: [begun, issued, length, admission, the room's session where those inside are counted].
  async function check(text) {
    const [code, ...fields] = text.split('.');
    if (!(+fields[1] + +fields[2] > seconds())) return undefined;
    try {
      for (const secret of await secrets()) {
        if (await subtle.verify('HMAC', secret, unbase64(code), bytes(`${zone}\n${fields.join('.')}`))) {
          return revoked(fields[3]) ? undefined : fields;
        }
      }
    } catch {
      // It is no base64.
    }
    return undefined;
  }

  // ask has everybody go on where the gate only observes.
  async function ask(...request) {
    const { held, ...what } = await decide(...request);
    return held && rules?.gate === 'observe' ? { headers: {} } : what;
  }

  async function decide(request, address, raw) {
    const { method } = request;
    const url = new URL(request.url);
    const header = (name) => request.headers.get(name) ?? '';
    const [origin, mode, site, agent] = ['Origin', 'Sec-Fetch-Mode', 'Sec-Fetch-Site', 'User-Agent'].map(header);
    const reads = method === 'GET' || method === 'HEAD';
    const referer = URL.canParse(header('Referer')) ? new URL(header('Referer')) : {};
    const own = referer.host === url.host;
    const framed = !['', 'document', 'empty'].includes(header('Sec-Fetch-Dest'));
    const sameHost = origin.toLowerCase().endsWith(`//${url.host}`);
    const form = method === 'POST' && !mode && HTML.test(header('Accept'));
    const navigates = method !== 'HEAD'
      && (mode ? mode === 'navigate' && !framed : form && (own || sameHost) || method === 'GET' && HTML.test(header('Accept')));
    const speculative = ['Sec-Purpose', 'Purpose', 'X-Purpose', 'X-Moz'].some((name) => /prefetch|preview/i.test(header(name)));
    // An app may end a visit, and a browser that opens a page from the site itself: no link, image or frame of another site.
    const ends = ['GET', 'POST'].includes(method) && !speculative
      && (site ? /^same-(origin|site)$/.test(site) && navigates : (own || sameHost) && navigates || header(APP));
    let [uri, shown] = [raw ?? written(request.url)];
    if (reads && navigates) [uri, shown] = takeOut(uri, PASS);

    const all = header('Cookie').split(';').map((c) => c.trim());
    // Those come first that only the site itself can set.
    const cookies = (kind) => names(kind).map((n) => `${n}${zone}=`)
      .flatMap((n) => all.filter((c) => c.startsWith(n)).map((c) => c.slice(n.length)));
    const browser = cookies('_key').find((k) => k.length === 32);
    const tried = cookies('_key').find((k) => k.length === TRY); // when the room did not answer
    let session; // the first good one

    const named = () => rules?.corsOrigins?.includes(origin);
    const cookie = (kind, text, length) => {
      const [secure, domain] = [url.protocol === 'https:', rules?.cookieDomain];
      const shared = domain && `.${url.hostname}`.endsWith(`.${domain}`);
      return { ...NO_CACHE, 'Set-Cookie': `${names(kind)[secure ? +!!shared : 2]}${zone}=${text}; Path=/; Max-Age=${length}; HttpOnly; SameSite=Lax`
        + (secure ? '; Secure' : '') + (shared ? `; Domain=${domain}` : '') };
    };
    const keep = async (app, ...fields) => {
      const text = `${await sign(`${zone}\n${fields.join('.')}`)}.${fields.join('.')}`;
      if (!app) return cookie('', text, fields[2]);
      return { ...NO_CACHE, [APP]: text, ...(named() && { 'Access-Control-Expose-Headers': APP }) };
    };
    // Where those inside are counted, the room says until when a session lasts.
    const begin = (app, jti, is = {}) => {
      const inside = !rules || rules.counted ? is.session ?? '' : '';
      return keep(app, seconds(), seconds(), inside ? Math.floor(is.expiresAt / 1000) - seconds() : rules?.sessionSeconds ?? 1800, jti, inside);
    };
    const goOn = (headers = {}) => ({ headers });
    const answer = (status, headers, body, held = true) => ({
      held,
      response: new Response(method === 'HEAD' ? null : body, { status, headers: { 'Cache-Control': 'no-store', ...headers } }),
    });
    const lead = (to, headers, held = false) => answer(302, { ...headers, Location: to }, null, held);
    const random = (length) => hex(crypto.getRandomValues(new Uint8Array(length / 2)));
    const newKey = () => cookie('_key', random(32), 86_400);
    const allow = () => named() && {
      'Access-Control-Allow-Origin': origin, 'Access-Control-Allow-Credentials': 'true', 'Access-Control-Expose-Headers': 'Retry-After',
    };
    const comeAgain = (state, more) => {
      const after = String(5 + Math.floor(Math.random() * 10)); // a crowd does not come back at once
      const again = { 'Retry-After': after, ...(reads && navigates && { Refresh: after }), ...allow(), ...more };
      const said = navigates && inLanguage(pages, reads ? state : 'unsent', header('Accept-Language'));
      return said ? answer(503, { ...again, ...PAGE }, said) : answer(503, again, 'Very many people are here. Please come again in a few seconds.');
    };
    const fails = (more) => (onFailure === 'admit' ? goOn(more) : comeAgain('away', more));
    const bypassed = () => reads && rules?.bypassCommon !== 'off' && (COMMON.test(plain(cut(uri, '?')[0])) || uri.length <= 200 && FEED.test(plain(uri)))
      || rules?.bypassPaths?.some((pattern) => fits(uri, pattern));
    const here = () => uri.replace(/^\/(?=[/\\])/, '/./');
    const toPage = (more = '', headers = browser ? {} : newKey()) => {
      const [rest, ticket = ''] = takeOut(uri, 'waiting_room_ticket');
      uri = reads ? rest : own ? referer.pathname + referer.search : '/';
      let to = here();
      if (to.length > 2048) [to] = cut(to, '?');
      if (to.length > 2048 || /[\0- \\\x7f]/.test(to)) to = '/';
      if (visitors && !(rules?.sites && !rules.sites.some((s) => s.toLowerCase() === url.origin))) to = url.origin + to;
      const invited = ticket && ticket.length <= 2048 ? `&ticket=${ticket}` : '';
      return lead(`${visitors}/wait/${zone}?to=${encodeURIComponent(to)}${invited}${more}`, headers, true);
    };

    // stays is for a visitor inside, whose session may be renewed or end; undefined if it is done or was revoked.
    const stays = async ([begun, issued, length, jti, inside]) => {
      const due = seconds() >= +issued + (inside ? Math.min(ASK, length / 2) : length / 2);
      const waited = browser && navigates;
      if (!due && !waited && !inside) return goOn();
      await look(STALE);
      if (revoked(jti)) return undefined;
      if (inside && ends && rules?.donePaths?.some((pattern) => fits(uri, pattern))) {
        // The session goes on for a minute: for the page that thanks.
        const told = await call('/traffic/session/end', { session: inside });
        return goOn(told?.ok ? await keep(header(APP), seconds() - MOST + THANKS, seconds(), THANKS, jti, '') : {});
      }
      if (bypassed()) return goOn(); // caches may keep it
      const left = Math.min(rules?.sessionSeconds, +begun + MOST - seconds());
      // Where those inside are counted, a session of which the room does not know ends in its time.
      const renews = rules?.sessionRenewal === 'use' && !rules.counted && left >= 1;
      if (!due || !inside && !renews) return goOn(waited ? cookie('_key', '', 0) : {});
      if (!inside) return goOn(await keep(header(APP), begun, seconds(), left, jti, ''));
      const known = lately(jti); // by another request of the same page
      if (known) return known.ok ? goOn() : undefined;
      remember(jti, { ok: true });
      const again = await call('/traffic/session', { session: inside });
      if (!again || BUSY.includes(again.code)) return goOn();
      remember(jti, { ok: again.ok });
      // The room decides until when, and so whether the session is renewed.
      const lasts = Math.floor(again.expiresAt / 1000) - seconds();
      return again.ok ? goOn(await keep(header(APP), begun, seconds(), lasts, jti, again.session)) : undefined;
    };

    // exchange is for a browser that shows a pass in its address. The pass is good for this browser alone, which has a key.
    const exchange = async () => {
      const again = shown.startsWith('.');
      const pass = again ? shown.slice(1) : shown;
      const key = browser ?? session?.[3];
      const claims = await verify(pass);
      const withPass = (value) => `${uri}${uri.includes('?') ? '&' : '?'}${PASS}=${value}`;
      if (claims && !key) {
        uri = withPass(again ? pass : `.${pass}`);
        return again ? toPage('&cookieless=1', {}) : lead(here(), newKey());
      }
      const is = claims === undefined ? { code: 'no pass' } : claims && await call('/traffic/session', { pass, key });
      if (is?.ok) return lead(here(), await begin('', claims.jti, is));
      if (session) return lead(here());
      if (is && !BUSY.includes(is.code)) return toPage(`&refused=${hex(await subtle.digest('SHA-256', bytes(pass))).slice(0, 16)}&again=1`);
      return onFailure === 'admit' && !is ? lead(here(), claims ? await begin('', claims.jti) : {}) : comeAgain(is ? 'busy' : 'away');
    };

    // app is for one that shows a pass in a header; undefined if it shows none that is good.
    const app = async () => {
      const pass = header('X-Waiting-Room-Pass') || /^bearer (.+)/i.exec(header('Authorization'))?.[1];
      const claims = pass && await verify(pass);
      if (!claims) return claims === null ? fails() : undefined;
      const is = await call('/traffic/session', { pass, token: header('X-Waiting-Room-Token') });
      const inHeader = site !== 'same-origin';
      if (is?.ok) return goOn(await begin(inHeader, claims.jti, is));
      if (!is && onFailure === 'admit') return goOn(await begin(inHeader, claims.jti));
      return !is || BUSY.includes(is.code) ? comeAgain(is ? 'busy' : 'away') : undefined;
    };

    // newcomer is for all others.
    const newcomer = async () => {
      const crawls = CRAWLERS.test(agent);
      const refuse = () => {
        const status = crawls ? 503 : 429;
        return answer(status, { 'Content-Type': 'application/problem+json', 'Retry-After': crawls ? '600' : '60', ...allow() }, JSON.stringify({
          type: 'https://github.com/openqueue/waitingroom/blob/main/docs/reference/problems.md#admission_required',
          title: 'The site has a waiting room', status, detail: 'Join at the address in join, and send the pass as X-Waiting-Room-Pass.',
          code: 'admission_required', zoneId: zone, join: `${visitors}/traffic/wait`, page: `${visitors}/wait/${zone}`,
        }));
      };
      if (speculative) return refuse();
      if (state === 'away') return fails();
      const enters = rules?.newcomers === 'enter';
      const waits = rules?.newcomers === 'wait' || Date.now() - lined < FRESH;
      if (navigates && !crawls) {
        if (!enters && !tried && (waits || browser)) return toPage();
        // A repeated try gets what an earlier one has got, whose answer was lost.
        const name = tried ?? random(TRY);
        const is = await join(address, name);
        if (is === undefined) return fails(tried ? {} : cookie('_key', name, TRIES));
        return is ? goOn(await begin('', ...is)) : enters ? goOn() : toPage();
      }
      if (enters) return goOn();
      if (rules?.newcomers === 'wait') return refuse();
      // A browser that keeps the session: for a page of the site, or for a form.
      const keeps = !crawls && (site ? site === 'same-origin' || site === 'same-site' && mode === 'navigate' || named() : form);
      // What one browser sends for a page, or a program within some seconds, is one admission. The first answer has the session.
      const name = await sign(['browser', zone, address, agent, header('Accept-Language'), header('Referer')].join('\n'));
      let load = lately(name, keeps ? LOAD : RECENT);
      if (!load || load.count > OTHERS) load = remember(name, { id: random(TRY), count: 0 });
      load.count += 1;
      if (!load.given && waits) return refuse();
      const is = load.given || await join(address, load.id, keeps);
      if (!is) return is === undefined ? fails() : refuse();
      // Where those inside are counted, a session would take a slot for as long as it lasts, though nobody may keep it.
      const gets = !load.given && (keeps || !rules?.counted);
      load.given = true;
      return goOn(gets ? await begin('', ...is) : {});
    };

    // A browser may have several sessions: one that is done or revoked does not hide another.
    for (const text of [...cookies('').slice(0, COOKIES), header(APP)]) {
      const is = (!session || !shown) && await check(text);
      const stayed = is && !shown && await stays(is);
      if (stayed) return stayed;
      session ||= is;
    }
    await look(FRESH);
    if (state === 'unknown') return goOn();
    if (shown) return exchange();
    if (bypassed() || method === 'OPTIONS' && header('Access-Control-Request-Method')) return goOn();
    return await app() ?? newcomer();
  }

  // join returns the admission, and the room's session where those inside are counted; false if there is no room, undefined if the
  // room did not answer.
  async function join(address, clientId, keeps = true) {
    const is = await call('/traffic/wait', { clientId, clientAgent: 'SITE' }, address);
    if (!is?.ok) return is && false;
    if (!is.canEnter) {
      lined = Date.now();
      await call('/traffic/leave', { token: is.token });
      return false;
    }
    const { pass } = is.admission;
    const inside = rules?.counted && keeps ? await call('/traffic/session', { pass, token: is.token }) : {};
    return inside && inside.ok !== false && [read(pass.split('.')[1]).jti, inside];
  }

  // add returns the shop's answer with what the visitor is to keep.
  function add(response, headers) {
    const names = Object.entries(headers);
    const clears = clearing(response.headers.get('Clear-Site-Data'));
    if (clears) names.push(['Clear-Site-Data', clears]);
    if (!names.length) return response;
    const changed = new Response(response.body, response);
    names.forEach(([name, value]) => changed.headers[name === 'Set-Cookie' ? 'append' : 'set'](name, value));
    return changed;
  }

  return {
    ask,
    async fetch(request, address, forward = (asked) => fetch(asked)) {
      const { response, headers } = await ask(request, address);
      return response ?? add(await forward(request), headers);
    },
  };
}
