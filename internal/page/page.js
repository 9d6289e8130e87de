
// The page: it shows what the client is told, and leads on when it is the visitor's turn.
const data = JSON.parse(document.getElementById('data').textContent);
const texts = data.texts;
const $ = (id) => document.getElementById(id);
const title = document.title.slice(document.title.indexOf(' – ') + 1 || document.title.length);
const plural = new Intl.PluralRules(data.lang);
const number = new Intl.NumberFormat(data.lang, { useGrouping: 'always' });

const MINUTE = 60 * SECOND;
const DAY = 1440 * MINUTE;
const fill = (text, values) => text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
const count = (forms, n) => fill(forms[plural.select(n)] ?? forms.other, { n: number.format(n) });

// duration writes a time to wait as locale.go does.
function duration(ms) {
  if (ms >= DAY) return texts.long;
  if (ms < MINUTE) return texts.soon;
  return ms < 90 * MINUTE ? count(texts.minutes, Math.ceil(ms / MINUTE)) : count(texts.hours, Math.round(ms / MINUTE / 60));
}

const expected = (ms) => (ms < MINUTE || ms >= DAY ? duration(ms) : fill(texts.about, { duration: duration(ms) }));

function set(id, text) {
  if ($(id).textContent !== text) $(id).textContent = text;
}

// The operator's message: answers have its number, and its text is asked for when that is
// another one.
let notice = data.notice;

async function readMessage(wanted, again = true) {
  if (wanted === notice) return;
  let told = {};
  try {
    if (wanted) told = await (await fetch(`/traffic/zones/${data.zone}`)).json();
  } catch {
    return; // the next answer has the number, too
  }
  notice = told.notice ?? 0;
  set('notice', told.message ?? '');
  $('message').hidden = !told.message;
  if (told.message) say(`${$('organiser').textContent}: ${told.message}`);
  // What is told may be a second old.
  if (notice !== wanted && again) setTimeout(readMessage, 1.1 * SECOND, wanted, false);
}

let state = data.state;
// What was said last: the live region speaks when something matters, not at each poll.
let said = { position: data.position, wait: data.estimate };

function show(next, text = texts[`${next}Text`] ?? '') {
  const changed = next !== state;
  state = next;
  const waits = ['inLine', 'paused', 'away', 'offline', 'full'].includes(next);
  $('main').dataset.state = next;
  set('heading', texts[next]);
  set('text', text);
  $('text').hidden = text === '';
  $('figures').hidden = !waits || $('place').textContent === '';
  $('keep').hidden = $('figures').hidden;
  $('options').hidden = $('figures').hidden;
  $('go').hidden = next !== 'turn';
  $('rejoin').hidden = next !== 'lost' && next !== 'left';
  document.title = `${next === 'turn' ? '★ ' : ''}${texts[next]}${title}`;
  if (changed) say(`${texts[next]}. ${text}`);
}

const say = (text) => set('spoken', text);

function update(u) {
  if (u.state !== 'waiting') {
    const without = u.state === 'retrying' && navigator.onLine === false;
    show(u.code === 'line_full' ? 'full' : without ? 'offline' : 'away');
    return;
  }
  const { position, estimatedWait: wait } = u;
  readMessage(u.notice ?? 0);
  // Before an event settles nobody has a number.
  const place = position ? number.format(position) : '–';
  set('place', place);
  set('wait', expected(wait));
  show(wait >= DAY ? 'paused' : 'inLine');
  if (state === 'inLine' && position) document.title = `(${place}) ${texts.inLine}${title}`;
  // Half the way, and the last minutes.
  const near = [MINUTE, 5 * MINUTE].some((t) => wait <= t && said.wait > t);
  if (position && (!said.position || position * 2 <= said.position || near)) {
    said = { position, wait };
    say(fill(texts.spoken, { place, wait: expected(wait) }));
  }
}

// The place is kept in the cookie that the server reads, too.
const cookie = `waitingroom-${data.zone}`;
const storage = {
  getItem() {
    const found = document.cookie.split('; ').find((c) => c.startsWith(`${cookie}=`));
    const [clientId, token] = (found ?? '=').slice(cookie.length + 1).split('.');
    return JSON.stringify({ clientId, token });
  },
  setItem(_, value) {
    const { clientId, token } = JSON.parse(value);
    document.cookie = `${cookie}=${clientId}.${token}; path=${location.pathname}; max-age=604800; samesite=lax${data.secure ? '; secure' : ''}`;
  },
};

// Browsers slow the timers of a page in the background to one a minute, which keeps no
// place. Those of a worker go on.
function onWake(woke) {
  const end = wakeOfPage(woke);
  const clock = new Worker(URL.createObjectURL(new Blob(['setInterval(() => postMessage(0), 1000)'])));
  clock.onmessage = woke;
  return () => {
    clock.terminate();
    end();
  };
}

const room = { url: location.origin, zone: data.zone, ticket: data.ticket, storage };
const stop = new AbortController();

// forget lets the place go, once it is used: who comes back finds the admission by the
// clientId while it is good, or a new place.
const forget = () => storage.setItem('', JSON.stringify({ clientId: JSON.parse(storage.getItem()).clientId, token: '' }));

// enter leads on. A page that nobody looks at keeps the turn for its visitor instead.
function enter({ pass, expiresAt }) {
  if (data.reload) {
    location.reload();
    return;
  }
  const to = data.target && new URL(data.target, location.origin);
  if (to) {
    to.search += `${to.search ? '&' : '?'}${data.passParameter}=${encodeURIComponent(pass)}`;
    to.hash ||= location.hash;
    $('enter').addEventListener('click', forget);
    if (document.visibilityState === 'visible') {
      forget();
      location.replace(to);
      return;
    }
    $('enter').href = to;
  }
  show('turn', '');
  $('go').hidden = !to;
  alertVisitor();
  const tick = () => {
    const left = expiresAt - Date.now();
    if (left <= 0) {
      show('lost');
      return;
    }
    show('turn', fill(texts.turnText, { duration: duration(left) }));
    setTimeout(tick, Math.min(left, 15 * SECOND));
  };
  tick();
}

let audio;
function alertVisitor() {
  if ($('notify').checked && globalThis.Notification?.permission === 'granted') {
    const n = new Notification(texts.turn, { tag: cookie });
    n.onclick = () => window.focus();
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
let before = state;
window.addEventListener('offline', () => {
  if (!['inLine', 'paused', 'away', 'full'].includes(state)) return;
  before = state;
  show('offline');
});
window.addEventListener('online', () => { if (state === 'offline') show(before); });
document.querySelectorAll('.scripted').forEach((p) => { p.hidden = false; });
$('notify').closest('p').hidden = !('Notification' in window);

// CLOSED_AFTER is when a line that was closed is asked for again.
const CLOSED_AFTER = 30 * SECOND;

function begin(pollAfter) {
  wait({ ...room, agent: 'PAGE', signal: stop.signal, onWake, pollAfter, onUpdate: update }).then(enter, (error) => {
    if (error.name === 'AbortError') return;
    const known = {
      token_expired: 'lost', zone_closed: 'closed', zone_unknown: 'unknown', sold_out: 'soldOut',
      ticket_missing: 'invited', ticket_invalid: 'invited', ticket_used: 'invited',
    };
    const again = state === 'closed';
    show(known[error.code] ?? 'away', ...(error.code === 'sold_out' ? [error.message] : []));
    if (state === 'closed') begin(CLOSED_AFTER);
    if (!again) $('heading').focus();
  });
}

begin(data.pollAfter);
