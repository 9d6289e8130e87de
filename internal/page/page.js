
// The page: it shows what the client is told, and leads on when it is the visitor's turn.
const data = JSON.parse(document.getElementById('data').textContent);
const texts = data.texts;
const $ = (id) => document.getElementById(id);
const title = document.title.slice(document.title.indexOf(' – ') + 1 || document.title.length);
const plural = new Intl.PluralRules(data.lang);
const number = new Intl.NumberFormat(data.lang, { useGrouping: 'always' });

const fill = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
function count(forms, n, beside = false) {
  const form = forms[plural.select(n)] ?? forms.other;
  // A form without a figure, such as Arabic's of two, cannot stand beside another figure.
  return fill(beside && !form.includes('{n}') ? forms.other : form, { n: number.format(n) });
}

// duration writes a time as locale.go does.
function duration(ms) {
  if (ms < MINUTE) return texts.soon;
  if (ms < 90 * MINUTE) return count(texts.minutes, Math.ceil(ms / MINUTE));
  return ms < 2 * DAY ? count(texts.hours, Math.round(ms / MINUTE / 60)) : count(texts.days, Math.round(ms / DAY));
}

// expected writes a wait: the range, or the estimate where there is none.
function expected(ms, range) {
  if (range) return ranged(range);
  if (ms >= DAY) return texts.overDay;
  return ms < MINUTE ? texts.soon : fill(texts.about, { duration: duration(ms) });
}

// ranged writes what roundRange returns.
function ranged({ low, high, unit }) {
  const forms = texts[`${unit}s`];
  if (low && low < high) return fill(texts.range, { low: number.format(low), high: count(forms, high, true) });
  return !low && high === 1 ? texts.soon : fill(low ? texts.about : texts.upTo, { duration: count(forms, high) });
}

function set(id, text) {
  if ($(id).textContent !== text) $(id).textContent = text;
}

// figure shows a figure with its name, or hides both.
function figure(id, text) {
  set(id, text);
  $(id).parentElement.hidden = text === '';
}

// readZone returns the zone's state, undefined where none came in time.
const readZone = async () => (await call(room, `/traffic/zones/${data.zone}`)).body;

// letter shows something from the organiser.
function letter(id, text) {
  set(id, text);
  $(id).hidden = text === '';
  $('message').hidden = $('news').hidden && $('notice').hidden;
}

// The operator's message: answers have its number, and its text is asked for when that is
// another one.
let notice = data.notice;

async function readMessage(wanted, again = true) {
  if (wanted === notice) return;
  const told = wanted ? await readZone() : {};
  if (!told) return; // the next answer has the number, too
  notice = told.notice ?? 0;
  letter('notice', told.message ?? '');
  if (told.message) say(`${$('organiser').textContent}: ${told.message}`);
  // What is told may be a second old.
  if (notice !== wanted && again) setTimeout(readMessage, 1.1 * SECOND, wanted, false);
}

// The event that is next or under way, as the zone's state has it; {} for none. Its times are
// those of the store's clock, which goes on from when it was told, whatever this device's says.
let event = data.event ?? {};
let store = { now: event.now, at: performance.now() };
const storeNow = () => store.now + performance.now() - store.at;
const untilOpening = () => (event.opensAt ? event.opensAt - storeNow() : 0);

// take takes over what the zone's state says of its event.
function take(told = {}) {
  const { before, during, after } = event.name === told.name ? event : { before: told.text };
  event = { ...told, before, during, after };
  store = { now: event.now, at: performance.now() };
  const at = (millis) => new Intl.DateTimeFormat(data.lang, { dateStyle: 'full', timeStyle: 'short' }).format(millis);
  event.opens = event.opensAt ? fill(texts.opensAt, { time: at(event.opensAt) }) : '';
  event.gathers = event.preQueueAt ? fill(texts.announcedText, { time: at(event.preQueueAt) }) : texts.held;
}
take(data.event);

let state = data.state;
// Whether there is a place, whether it waits for an opening, and whether it was drawn.
let seated = !$('options').hidden;
let awaits = $('opens').textContent !== '';
let drawn = false;
// What is shown of the range.
let shown = data.range && roundRange(data.range);
// What was said last: the live region speaks when something matters, not at each poll.
let said = { position: data.position, wait: data.estimate, opens: untilOpening(), why: $('text').textContent, high: data.range?.high };
const WAITS = ['inLine', 'paused', 'away', 'offline', 'full', 'gathering', 'drawn'];

function show(next, text = texts[`${next}Text`] ?? '') {
  const changed = next !== state;
  state = next;
  const waits = seated && WAITS.includes(next);
  $('main').dataset.state = next;
  set('heading', texts[next]);
  set('text', text);
  $('text').hidden = text === '';
  $('figures').hidden = !waits && next !== 'announced';
  $('keep').hidden = !waits;
  sayWithoutCookies();
  $('options').hidden = !waits;
  $('go').hidden = next !== 'turn';
  $('rejoin').hidden = next !== 'lost' && next !== 'left';
  if (!waits && next !== 'turn') $('check').hidden = true;
  document.title = `${next === 'turn' ? '★ ' : ''}${texts[next]}${title}`;
  if (changed) say(`${texts[next]}. ${text}`);
  tick();
}

const say = (text) => set('spoken', text);

// tick counts down.
function tick() {
  const left = untilOpening();
  const counts = left > 0 && ['announced', 'gathering', 'drawn', 'inLine', 'paused'].includes(state) && (state !== 'inLine' || awaits);
  const two = (n) => String(Math.floor(n)).padStart(2, '0');
  const clock = `${Math.floor(left / 60 / MINUTE)}:${two(left / MINUTE % 60)}:${two(left / SECOND % 60)}`;
  figure('opens', counts ? (left >= 2 * DAY ? duration(left) : clock) : '');
  set('when', counts ? event.opens : '');
  $('when').hidden = !counts;
  const near = [10 * MINUTE, 5 * MINUTE, MINUTE].find((t) => left <= t && said.opens > t);
  if (counts && near) say(`${texts.opensIn}: ${duration(near)}`);
  said.opens = left;
}
setInterval(tick, SECOND);

// hear takes in what an answer says of an event that is not open yet.
async function hear({ name, opensAt, opensIn }) {
  if (opensIn !== undefined) store = { now: opensAt - opensIn, at: performance.now() };
  if (name === event.name && opensAt === event.opensAt) return;
  const told = await readZone();
  if (told?.event?.name === name) take(told.event);
}

const opened = () => event.opensAt > 0 && untilOpening() <= 0;

// offer has the number checked of one who was drawn.
function offer(arrivedAtMicros) {
  const arrived = arrivedAtMicros / 1000;
  drawn = event.order === 'draw' && arrived >= event.preQueueAt && arrived < event.settlesAt;
  $('check').hidden = awaits || !drawn || !opened() || !globalThis.crypto?.subtle;
}

function update(u) {
  if (u.state !== 'waiting') {
    const without = u.state === 'retrying' && navigator.onLine === false;
    show(u.code === 'line_full' ? 'full' : without ? 'offline' : 'away');
    return;
  }
  seated = true;
  const { position, total, estimatedWait: wait, estimatedWaitRange: range, arrivedAtMicros } = u;
  readMessage(u.notice ?? 0);
  if (u.event) hear(u.event);
  awaits = Boolean(u.event);
  offer(arrivedAtMicros);
  // Before an event settles nobody has a number.
  const place = position ? number.format(position) : '';
  figure('place', place);
  const held = u.reason === 'on_hold';
  const why = texts.reasons[u.reason] ?? '';
  shown = range && roundRange(range, shown);
  const about = held ? texts.long : expected(wait, shown);
  figure('wait', u.event ? '' : about);
  figure('there', u.event ? number.format(total) : '');
  letter('news', (opened() ? (storeNow() < (event.closesAt ?? Infinity) ? event.during : event.after) : u.event || held ? event.before : '') ?? '');
  if (!u.event) {
    show(held ? 'paused' : 'inLine', why || undefined);
  } else if (u.event.gathering) {
    show('gathering', !u.event.opensAt ? texts.held : event.order === 'draw' ? texts.gatherDraw : texts.gatherArrival);
  } else {
    show(drawn ? 'drawn' : 'inLine', u.event.opensAt ? texts.settledText : texts.held);
  }
  if (!place) return;
  if (state === 'inLine') document.title = `(${place}) ${texts.inLine}${title}`;
  // Half the way, the last minutes, why the wait is another one, and one that is longer than was said.
  const near = [MINUTE, 5 * MINUTE].some((t) => wait <= t && said.wait > t);
  const news = why !== said.why ? why : '';
  said.why = why;
  if (!said.position || position * 2 <= said.position || near || news || range?.low > said.high) {
    said = { ...said, position, wait, high: range?.high };
    say(`${news} ${fill(texts.spoken, { place, wait: about })}`.trim());
  }
}

// What can be said of a number that was drawn, once its visitor asks.
$('now').addEventListener('click', async () => {
  $('now').disabled = true;
  set('checked', texts.away);
  try {
    const { number: n, tickets, seen, told } = await checkNumber({ ...room, event: event.name });
    // Far back a position is told a little too high.
    const ahead = told > n + 511 ? ` ${fill(texts.aheadText, { place: number.format(told) })}` : '';
    set('checked', `✓ ${fill(texts.verified, { n: number.format(n), total: number.format(tickets) })} ${seen ? texts.verifiedText : texts.unseenText}${ahead}`);
    $('list').href = `/traffic/zones/${data.zone}/events/${event.name}/draw/list`;
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

// Without cookies no place is kept.
function sayWithoutCookies() {
  if (seated && !JSON.parse(storage.getItem()).clientId) set('keep', texts.cookies);
}

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

const room = { url: location.origin, zone: data.zone, ticket: data.ticket, storage };
const stop = new AbortController();

// use notes that the place is used: who comes back finds the admission while it is good, or a new place.
function use() {
  const [clientId, token] = kept();
  if (token) keep(`${clientId}.${token}.`);
}

// enter leads on. A page that nobody looks at keeps the turn for its visitor instead.
function enter({ pass, admittedAt, expiresAt }) {
  if (data.reload) {
    location.reload();
    return;
  }
  const to = data.target && new URL(data.target, location.origin);
  if (to) {
    to.search += `${to.search ? '&' : '?'}${data.passParameter}=${encodeURIComponent(pass)}`;
    to.hash ||= location.hash;
    $('enter').addEventListener('click', use);
    if (document.visibilityState === 'visible') {
      use();
      location.replace(to);
      return;
    }
    $('enter').href = to;
  }
  show('turn', '');
  $('go').hidden = !to;
  alertVisitor();
  const end = Date.now() + expiresAt - admittedAt; // this device's clock may say another time than the room's
  const tick = () => {
    const left = end - Date.now();
    if (left <= 0) {
      use(); // it may have been used from another tab
      show('lost');
      return;
    }
    show('turn', fill(texts.turnText, { duration: duration(left) }));
    setTimeout(tick, Math.min(left, 15 * SECOND));
  };
  tick();
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
  show('left');
  $('heading').focus();
});
// Without a connection the page says so, and what it said before when there is one again:
// the room is asked when it wants to be.
let before = ['away'];
window.addEventListener('offline', () => {
  if (!WAITS.includes(state) || state === 'offline') return;
  before = [state, $('text').textContent];
  show('offline');
});
window.addEventListener('online', () => {
  if (state === 'offline') show(...before);
  before = ['away'];
});
document.querySelectorAll('.scripted').forEach((p) => { p.hidden = false; });
$('notify').closest('p').hidden = !canNotify();

// CLOSED_AFTER is when a line that was closed is asked for again.
const CLOSED_AFTER = 30 * SECOND;

const pause = async (millis) => {
  const wake = listen(onWake);
  await sleep(millis, stop.signal, wake).finally(() => wake.close());
};

// look is when a page that waits for people to gather looks again, and whether it can join
// then: event.go does the same, and says why.
function look() {
  const left = event.preQueueAt - storeNow();
  const spread = Math.min(event.order === 'draw' ? MINUTE : 5 * SECOND, (event.settlesAt - event.preQueueAt) / 2);
  const random = Math.random();
  const due = Math.max(left, 0) + random * Math.max(spread || 0, SECOND);
  const after = Math.min(Math.max(left / 4 || 0, 30 * SECOND), 5 * MINUTE) * (0.75 + random / 2);
  return due <= after ? [due, true] : [after, false];
}

// shut says why nobody may join, and goes on when that may be another.
async function shut() {
  letter('news', event.text ?? (event.phase === 'announced' ? event.before : event.after) ?? '');
  if (event.phase === 'announced') {
    show('announced', event.gathers);
    const [after, joins] = look();
    await pause(after);
    if (joins) return begin(0);
  } else {
    const ended = event.phase === 'ended';
    show(ended ? 'ended' : 'closed');
    await pause(ended ? 5 * MINUTE * (0.75 + Math.random() / 2) : CLOSED_AFTER);
    return begin(0);
  }
  return again();
}

// again asks what the zone's state says now.
async function again() {
  const told = await readZone();
  if (told) take(told.event);
  return shut();
}

function begin(pollAfter) {
  wait({ ...room, agent: 'PAGE', signal: stop.signal, onWake, pollAfter, onUpdate: update }).then(enter, (error) => {
    if (error.name === 'AbortError') return;
    const known = {
      token_expired: 'lost', zone_closed: 'closed', zone_unknown: 'unknown', sold_out: 'soldOut',
      ticket_missing: 'invited', ticket_invalid: 'invited', ticket_used: 'invited',
    };
    if (error.code === 'zone_closed') {
      again().catch(() => {});
      return;
    }
    seated = false;
    show(known[error.code] ?? 'away', ...(error.code === 'sold_out' ? [error.message] : []));
    $('heading').focus();
  });
}

// The commitment is kept as it was told with the place.
if (event.commitment && ['gathering', 'drawn'].includes(state) && JSON.parse(storage.getItem()).draw?.arrived !== data.arrived) {
  storage.setItem('', JSON.stringify({ ...JSON.parse(storage.getItem()), draw: { event: event.name, arrived: data.arrived, commitment: event.commitment } }));
}
if (seated) offer(data.arrived);
sayWithoutCookies();
if (['announced', 'closed', 'ended'].includes(state)) shut().catch(() => {});
else begin(data.pollAfter);
clearTimeout(reload); // see page.html

