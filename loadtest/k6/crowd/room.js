// room: the waiting room's contract, as a visitor can check it alone: the shape
// of every answer, and that no answer takes back what an earlier one said.
import http from 'k6/http';
import { check } from 'k6';
import { Counter, Rate, Trend } from 'k6/metrics';
import { baseURL } from './settings.js';

// requestTimeout is far beyond any right answer: a poll takes milliseconds.
const requestTimeout = '10s';

export const waitRequests = new Counter('wait_requests_total');
export const entryRequests = new Counter('entry_requests_total');
export const entered = new Counter('can_enter_true_count');
export const mustWait = new Counter('can_enter_false_count');
export const wrongAnswers = new Counter('wrong_answers_total');
// tooMany are refusals for coming too often, noAnswers requests that broke off.
export const tooMany = new Counter('too_many_requests_total');
export const noAnswers = new Counter('no_answers_total');
// unanswered is the share of requests that broke off, or were told that the store
// did not answer in time. The place is kept, and a machine that stalls for a moment
// causes some: they are no wrong answers, but there must be few.
export const unanswered = new Rate('unanswered');
// told: this virtual user has told of a wrong answer. The next tell no more.
let told = false;
const waitDuration = new Trend('wait_duration', true);
const entryDuration = new Trend('entry_duration', true);

// counters are those that thresholds may name.
export const counters = [waitRequests, entryRequests, entered, mustWait, wrongAnswers, tooMany, noAnswers];

// request makes what http.batch takes. A server that trusts this machine as a proxy
// takes ip for the visitor's address; any other ignores it.
function request(path, ip, body) {
  return ['POST', baseURL + path, JSON.stringify(body), {
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': ip },
    tags: { name: path },
    timeout: requestTimeout,
  }];
}

// ask sends requests to one path at once, and returns their responses.
export function ask(path, ip, bodies) {
  const responses = bodies.length === 1
    ? [http.request(...request(path, ip, bodies[0]))]
    : http.batch(bodies.map((body) => request(path, ip, body)));
  responses.forEach((res) => {
    const joins = path === '/traffic/wait';
    (joins ? waitRequests : entryRequests).add(1);
    if (!broken(res)) {
      (joins ? waitDuration : entryDuration).add(res.timings.duration);
    }
  });
  return responses;
}

// broken reports whether a request got no answer, or only a part of one.
export const broken = (res) => res.status === 0 || res.error_code !== 0 && res.status === 200;

// ofTheRoom reports whether a refusal is the room's, and not of something in between.
export function ofTheRoom(res) {
  const problem = parse(res.body);
  return problem !== null && String(problem.type).endsWith(`#${problem.code}`);
}

// refused reports whether an answer is that refusal, in the form of the contract.
function refused(res, status, code) {
  const problem = res.status === status ? parse(res.body) : null;
  return problem !== null && problem.code === code && Number(res.headers['Retry-After']) >= 1;
}

// judge checks a response against the contract and against the visitor's last
// answer (null for the first join). It returns the answer, or null for what
// cannot be used. joins says that the request was a join, may which failures the
// scenario brings about.
export function judge(res, last, zoneId, joins, may) {
  const none = broken(res);
  const away = !none && refused(res, 503, 'store_unavailable');
  unanswered.add(none || away);
  if (none || away) {
    noAnswers.add(none ? 1 : 0);
    return null;
  }
  if (may.limit && refused(res, 429, 'too_many_requests')) {
    tooMany.add(1);
    return null;
  }
  if (joins && res.status === 403 && parse(res.body)?.code === 'challenge_required') {
    return null; // the zone asks for work: see visitor.js
  }
  const answer = res.status === 200 ? parse(res.body) : null;
  const right = check(answer, {
    'status is 200': () => res.status === 200,
    'shape is the contract\'s': (a) => a === null ? res.status !== 200 : hasShape(a, zoneId),
    'a number comes when people have settled': (a) => !isWaiting(a) || !may.settlesBefore || numbered(a.waiting, may.settlesBefore),
    'Retry-After is the polling period': (a) => !isWaiting(a) || retryAfterFits(res, a),
    'place is the same': (a) => !a || !last || samePlace(last, a),
    'position never rises': (a) => !isWaiting(a) || !isWaiting(last) || nearer(a.waiting, last.waiting),
    'entry comes with a pass': (a) => !a || a.canEnter !== true || hasPass(a),
    'once in, always the same admission': (a) => !a || !last || last.canEnter !== true || sameAdmission(last, a),
  });
  if (!right) {
    wrongAnswers.add(1);
    if (!told) {
      told = true;
      console.error(`wrong answer: ${res.status} ${res.error || res.body}${last ? ` after ${JSON.stringify(last)}` : ''}`);
    }
  }
  if (!answer || !hasShape(answer, zoneId)) {
    return null;
  }
  (answer.canEnter ? entered : mustWait).add(1);
  return answer;
}

function parse(body) {
  try {
    return JSON.parse(body);
  } catch (notJSON) {
    return null;
  }
}

function isWaiting(a) {
  return a !== null && a.canEnter === false && typeof a.waiting === 'object' && a.waiting !== null;
}

function hasShape(a, zoneId) {
  if (a === null || a.zoneId !== zoneId || typeof a.token !== 'string' || a.token === '') {
    return false;
  }
  if (a.canEnter === true) {
    return a.waiting === undefined
      && whole(a.admission && a.admission.admittedAt, 1)
      && whole(a.admission.expiresAt, a.admission.admittedAt + 1);
  }
  const w = a.waiting;
  // While people gather for an event nobody has a number.
  return a.canEnter === false && a.admission === undefined && typeof w === 'object' && w !== null
    && whole(w.position, w.event ? 0 : 1) && whole(w.total, w.position)
    && whole(w.estimatedWait, 0) && whole(w.pollingPeriod, 1) && whole(w.arrivedAtMicros, 1);
}

function whole(value, least) {
  return Number.isSafeInteger(value) && value >= least;
}

// nearer reports whether one waiting is told to stand where it stood, or before that.
// One who had no number yet may get any.
export function nearer(w, last) {
  return last.position === 0 || w.position <= last.position && w.position > 0;
}

// numbered reports whether who waits for an event has a number if, and only if, people have
// settled, so many milliseconds before the opening. At that moment itself the clocks of
// server and store may differ.
function numbered(w, settlesBefore) {
  const left = w.event ? w.event.opensIn : 0;
  return Math.abs(left - settlesBefore) < 1000 || (w.position > 0) === (left < settlesBefore);
}

function retryAfterFits(res, a) {
  return Number(res.headers['Retry-After']) === Math.ceil(a.waiting.pollingPeriod / 1000);
}

// samePlace: each answer renews the token; the arrival stays.
function samePlace(last, a) {
  return !isWaiting(a) || !isWaiting(last) || a.waiting.arrivedAtMicros === last.waiting.arrivedAtMicros;
}

function sameAdmission(last, a) {
  return a.canEnter === true && ['admittedAt', 'expiresAt', 'pass'].every((k) => a.admission[k] === last.admission[k]);
}

function hasPass(a) {
  return typeof a.admission === 'object' && a.admission !== null
    && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(a.admission.pass);
}
