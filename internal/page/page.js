
// The page: after each poll it puts what the server has rendered in the place of what is shown, and it leads on when it is the
// visitor's turn. It writes only what no answer says: the countdown, the visitor's own time zone, and that no answer comes.
const data = JSON.parse(document.getElementById('data').textContent);
const texts = data.texts;
const $ = (id) => document.getElementById(id);
const title = document.title.slice(document.title.indexOf(' – ') + 1 || document.title.length);
const number = new Intl.NumberFormat(data.lang, { useGrouping: 'always' });
const inMinutes = new Intl.NumberFormat(data.lang, { style: 'unit', unit: 'minute', unitDisplay: 'long' });
const ago = new Intl.RelativeTimeFormat(data.lang);
const time = new Intl.DateTimeFormat(data.lang, { dateStyle: 'full', timeStyle: 'short' });

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
const duration = (ms) => (ms < MINUTE ? texts.soon : inMinutes.format(Math.ceil(ms / MINUTE)));

function set(id, text) {
  if ($(id).textContent !== text) $(id).textContent = text;
}

// Live regions speak when something matters, not at each poll.
const say = (text) => set('spoken', text);

// What is shown, as the server has said it: see page.html.
const shown = () => $('told').dataset;
const seated = () => shown().seated !== undefined;
// A page that asks again by itself says when the device is offline, unless what it shows stays true without a connection.
const STAYS = ['turn', 'closed', 'announced', 'proving', 'cookieless', 'offline'];
const waits = () => shown().after > 0 && !STAYS.includes(shown().state);
// When the event opens, on the clock of performance.now(), whatever time this device says it is; 0 for no event.
let opens = 0;
// The event whose draw gave the place, once its seed is public.
let drawn = '';
// When the room was last heard of, on that clock, and how much of the wait is shown as over: the bar never goes back.
let heard = performance.now();
let far = $('gone').value;
// How much was left until the opening when the page last looked.
let leftBefore = Infinity;

// head shows another state, or its text.
function head(state, heading, text, whole = `${heading}${title}`) {
  const changed = shown().state !== state;
  shown().state = state;
  set('heading', heading);
  set('text', text);
  $('text').hidden = text === '';
  document.title = whole;
  if (changed) say(`${heading}. ${text}`);
}

// local shows a state that no answer tells.
const local = (state) => head(state, texts[state], texts[`${state}Text`]);

// over shows a state in which there is no place any more.
function over(state) {
  delete shown().seated;
  shown().after = 0;
  ['figures', 'when', 'message', 'keep', 'reference', 'go'].forEach((id) => { $(id).hidden = true; });
  $('rejoin').hidden = state === 'away';
  local(state);
  beside();
}

// beside shows what stands beside what the server has rendered.
function beside() {
  $('options').hidden = !seated();
  drawn = shown().draw || drawn;
  $('check').hidden = !drawn || !seated() && shown().state !== 'turn' || !globalThis.crypto?.subtle;
  if (seated() && !JSON.parse(storage.getItem()).clientId) set('keep', texts.cookies); // without cookies no place is kept
  ['when', 'text'].forEach((id) => set(id, $(id).textContent.replace(
    /(\d{4}-\d\d-\d\d) (\d\d:\d\d) \(UTC(.{6})\)/, (_, day, clock, zone) => time.format(new Date(`${day}T${clock}${zone}`)))));
  const left = Number(shown().opensIn);
  opens = left > 0 ? performance.now() + left : 0;
  tick();
}

// swap takes over what the server has rendered. One template has made both, so each part stays where it is, with focus and selection,
// and only texts that are others are replaced. Whoever has a place keeps its figures while the room cannot answer.
function swap(html, keeps) {
  const page = document.createElement('template');
  page.innerHTML = html;
  const next = page.content.getElementById('told');
  const organiser = () => ['notice', 'near'].filter((id) => !$(id).hidden).map((id) => $(id).textContent).join(' ');
  const notice = organiser();
  const [heading, text] = ['heading', 'text'].map((id) => page.content.getElementById(id).textContent);
  head(next.dataset.state, heading, text, next.dataset.title);
  if (keeps) return;
  morph($('told'), next);
  heard = performance.now();
  far = $('gone').hidden ? 0 : Math.max(far, $('gone').value);
  $('gone').value = far;
  $('spoken').ariaLive = $('message').dataset.severity === 'warning' ? 'assertive' : 'polite';
  if (organiser() !== notice && organiser()) say(`${$('organiser').textContent}: ${organiser()}`);
  beside();
}

function morph(old, next) {
  [...old.attributes].forEach(({ name }) => next.hasAttribute(name) || old.removeAttribute(name));
  [...next.attributes].forEach(({ name, value }) => old.getAttribute(name) === value || old.setAttribute(name, value));
  if (['news', 'notice', 'near'].includes(next.id)) { // they have links
    if (old.innerHTML !== next.innerHTML) old.innerHTML = next.innerHTML;
    return;
  }
  if (next.children.length === 0 && old.textContent !== next.textContent) old.textContent = next.textContent;
  [...next.children].forEach((child, i) => morph(old.children[i], child));
}

// tick counts down, and says how old the place is that is shown.
function tick() {
  const age = Math.round((performance.now() - heard) / SECOND);
  set('heard', age < 2 ? '' : `· ${age < 60 ? ago.format(-age, 'second') : ago.format(-Math.floor(age / 60), 'minute')}`);
  if (!opens) return;
  const left = opens - performance.now();
  const two = (n) => String(Math.floor(n)).padStart(2, '0');
  if (left < 2 * DAY) set('opens', `${Math.floor(left / 60 / MINUTE)}:${two(left / MINUTE % 60)}:${two(left / SECOND % 60)}`);
  $('opens').parentElement.hidden = $('when').hidden = left <= 0;
  const near = [10 * MINUTE, 5 * MINUTE, MINUTE].find((t) => left <= t && leftBefore > t);
  if (near && left > 0) say(`${texts.opensIn}: ${duration(near)}`);
  leftBefore = left;
}
setInterval(tick, SECOND);

// What was said last: half the way, the last minutes, why the wait is another one, and one that is longer than was said.
let said = { position: data.position, wait: data.estimate, high: data.high, why: shown().why };
function speak({ position, estimatedWait: wait, estimatedWaitRange: range }) {
  const { spoken, why } = shown();
  const news = why !== '' && why !== said.why;
  said.why = why;
  if (!spoken) return;
  const near = [MINUTE, 5 * MINUTE].some((t) => wait <= t && said.wait > t);
  if (!said.position || position * 2 <= said.position || near || news || said.high && range?.low > said.high) {
    said = { position, wait, high: range?.high, why };
    say(spoken);
  }
}

// Whether the last answer says what to show.
let answered = true;

// The place of a browser that keeps no cookies, which is gone with this page: it is given up, lest the next page take another beside it.
let unkept = '';
window.addEventListener('pagehide', () => {
  if (unkept) navigator.sendBeacon('/traffic/leave', new Blob([JSON.stringify({ zoneId: data.zone, token: unkept })], { type: 'application/json' }));
});

function update(u) {
  unkept = kept()[0] ? '' : u.token;
  if (u.state === 'waiting') speak(u);
  else if (!answered) local(navigator.onLine === false ? 'offline' : 'away');
}

// What can be said of a number that was drawn, once its visitor asks.
$('now').addEventListener('click', async () => {
  $('now').disabled = true;
  set('checked', texts.away);
  try {
    const { number: n, tickets, seen, told: first } = await checkNumber({ ...room, event: drawn });
    // Far back a position is told a little too high.
    const ahead = first > n + 511 ? ` ${fill(texts.aheadText, { place: number.format(first) })}` : '';
    set('checked', `✓ ${fill(texts.verified, { n: number.format(n), total: number.format(tickets) })} ${seen ? texts.verifiedText : texts.unseenText}${ahead}`);
    $('list').href = `/traffic/zones/${data.zone}/events/${drawn}/draw/list`;
    $('list').parentElement.hidden = false;
  } catch (e) {
    const wrong = { commitment_broken: texts.brokenText, wrong_order: texts.orderText, not_listed: texts.absentText }[e.code];
    set('checked', wrong ? `${texts.doubted} ${wrong} ${texts.doubtedText}` : texts.uncheckedText);
  }
  $('now').disabled = false;
});

// The place is kept in the cookie that the server reads, too.
const cookie = `waitingroom-${data.zone}`;
let draw;
const kept = () => (document.cookie.split('; ').find((c) => c.startsWith(`${cookie}=`)) ?? '').slice(cookie.length + 1).split('.');
function keep(value) {
  document.cookie = `${cookie}=${value}; path=${location.pathname}; max-age=604800; samesite=lax${data.secure ? '; secure' : ''}`;
}
const storage = {
  getItem() {
    const [clientId, token, used] = kept();
    try {
      draw ??= JSON.parse(localStorage.getItem(cookie)) ?? undefined;
    } catch {
      // It is forbidden: what was seen before an opening is kept as long as the page.
    }
    return JSON.stringify({ clientId, token: used === undefined ? token : '', draw });
  },
  setItem(_, value) {
    const { clientId, token, draw: newest } = JSON.parse(value);
    const other = JSON.parse(storage.getItem()).clientId;
    if (!token && other && other !== clientId) return; // another tab has a new place, and only this one's is gone
    try {
      if (newest) localStorage.setItem(cookie, JSON.stringify(newest));
    } catch {
      // As above.
    }
    draw = newest ?? draw;
    keep(`${clientId}.${token}`);
  },
};

// Browsers slow the timers of a page in the background to one a minute, which keeps no
// place. Those of a worker go on.
function onWake(woke) {
  const end = wakeOfPage(woke);
  let clock;
  try {
    clock = new Worker(URL.createObjectURL(new Blob(['setInterval(() => postMessage(0), 1000)'])));
  } catch {
    return end; // Safari before 15.5 reads no worker-src, and has none
  }
  clock.onmessage = woke;
  return () => {
    clock.terminate();
    end();
  };
}

// ask is the fetch of clients/js: joins and polls go to the page's own address, which answers them as the API does, and says
// what to show.
async function ask(url, options) {
  if (!/\/traffic\/(wait|entry)$/.test(url.pathname)) return fetch(url, options);
  const announced = shown().state === 'announced';
  let answer;
  answered = false;
  try {
    answer = await fetch(location.pathname + location.search, { ...options, body: JSON.stringify({ ...JSON.parse(options.body), range: shown().range }) });
    const { html } = await answer.clone().json();
    const busy = [401, 408, 429].includes(answer.status) || answer.status >= 500;
    answered = Boolean(html) && !(announced && busy);
    if (answered) swap(html, busy && seated());
  } catch (e) {
    if (!announced) throw e;
  }
  if (answered || !announced) return answer;
  // A page that waits for people to gather goes on as it is, and looks again after a while.
  shown().after = 30 * (0.75 + Math.random() / 2);
  return new Response('{"type":"#zone_closed","code":"zone_closed"}', { status: 423 });
}

// Where the script of a provider's widget is, and the name under which it offers itself.
const PROVIDERS = {
  turnstile: ['https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit', 'turnstile'],
  hcaptcha: ['https://js.hcaptcha.com/1/api.js?render=explicit', 'hcaptcha'],
  recaptcha: ['https://www.google.com/recaptcha/api.js?render=explicit', 'grecaptcha'],
};

// prove shows a provider's widget, and returns its token.
async function prove({ kind, siteKey, action }) {
  const [src, name] = PROVIDERS[kind];
  while (!window[name]) {
    await new Promise((tried) => {
      document.head.append(Object.assign(document.createElement('script'), { src, onload: tried, onerror: tried }));
    });
    if (!window[name]) {
      local('away');
      await new Promise((later) => { setTimeout(later, 15 * SECOND); });
    }
  }
  head('proving', texts.proving, texts.proofText);
  if (kind === 'recaptcha') await new Promise((ready) => { window[name].ready(ready); });
  return new Promise((callback) => {
    const widget = document.createElement('div');
    $('proof').replaceChildren(widget);
    window[name].render(widget, { sitekey: siteKey, callback, ...(kind === 'turnstile' && { action }) });
  });
}

const room = {
  url: location.origin, zone: data.zone, ticket: data.ticket, storage, onChallenge: prove,
  loadWork: async () => (await fetch('/traffic/work.js')).text(),
};
const stop = new AbortController();

// use notes that the place is used: who comes back finds the admission while it is good, or a new place.
function use() {
  const [clientId, token] = kept();
  if (token) keep(`${clientId}.${token}.`);
}

// enter leads on. A page that nobody looks at keeps the turn for its visitor instead.
function enter({ admittedAt, expiresAt }) {
  unkept = '';
  if (!$('go').hidden) {
    const link = $('enter');
    link.hash ||= location.hash;
    link.addEventListener('click', use);
    if (document.visibilityState === 'visible') {
      use();
      location.replace(link.href);
      return;
    }
  }
  alertVisitor();
  const end = Date.now() + expiresAt - admittedAt; // this device's clock may say another time than the room's
  const count = () => {
    const left = end - Date.now();
    if (left <= 0) {
      use(); // it may have been used from another tab
      over('lost');
      return;
    }
    set('text', fill(texts.turnText, { duration: duration(left) }));
    setTimeout(count, Math.min(left, 15 * SECOND));
  };
  count();
}

// canNotify reports whether a page may show notifications. Browsers of phones have them for service workers
// alone, and say so only when a page tries: without a permission no other shows anything then.
function canNotify() {
  try {
    return Notification.permission === 'granted' || Boolean(new Notification(''));
  } catch {
    return false;
  }
}

let audio;
function alertVisitor() {
  if ($('notify').checked && Notification.permission === 'granted') {
    try {
      new Notification(texts.turn, { tag: cookie }).onclick = () => window.focus();
    } catch {
      // As in canNotify: the site had the permission before, for a service worker.
    }
  }
  if ($('sound').checked && audio) {
    [0, 0.25, 0.5].forEach((at) => {
      const tone = audio.createOscillator();
      tone.frequency.value = 880;
      tone.connect(audio.destination);
      tone.start(audio.currentTime + at);
      tone.stop(audio.currentTime + at + 0.15);
    });
  }
}

$('sound').addEventListener('change', () => {
  // Browsers let a page sound only after the visitor touched it.
  audio ??= new AudioContext();
  audio.resume();
});
$('notify').addEventListener('change', async () => {
  if ($('notify').checked && await Notification.requestPermission() !== 'granted') $('notify').checked = false;
});
$('options').addEventListener('submit', async (event) => {
  event.preventDefault();
  stop.abort();
  await leave(room);
  over('left');
  $('heading').focus();
});
// Without a connection the page says so, and what it said before when there is one again:
// the room is asked when it wants to be.
let online = ['away', texts.away, texts.awayText];
window.addEventListener('offline', () => {
  if (!waits()) return;
  online = [shown().state, $('heading').textContent, $('text').textContent, document.title];
  local('offline');
});
window.addEventListener('online', () => {
  if (shown().state === 'offline') head(...online);
  online = ['away', texts.away, texts.awayText];
});
document.querySelectorAll('.scripted').forEach((p) => { p.hidden = false; });
$('notify').closest('p').hidden = !canNotify();

function begin(pollAfter) {
  wait({ ...room, fetch: ask, signal: stop.signal, onWake, pollAfter, onUpdate: update }).then(enter, (error) => {
    if (error.name === 'AbortError') return;
    if (error.code === 'zone_closed') begin(SECOND * shown().after);
    else {
      if (error.code === 'challenge_required') head('proving', texts.proving, texts.unprovenText);
      else if (!answered) over('away');
      $('heading').focus();
    }
  });
}

// The commitment is kept as it was told with the place.
if (data.commitment && JSON.parse(storage.getItem()).draw?.arrived !== data.arrived) {
  storage.setItem('', JSON.stringify({ ...JSON.parse(storage.getItem()), draw: { event: data.event, arrived: data.arrived, commitment: data.commitment } }));
}
beside();
// Whoever copies the address does not say that this browser was here.
const address = new URL(location);
if (address.searchParams.has('reloaded')) {
  address.searchParams.delete('reloaded');
  history.replaceState(history.state, '', address);
}
begin(data.pollAfter);
clearTimeout(reload); // see page.html
