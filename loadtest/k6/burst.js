// burst: a crowd comes within seconds of the opening, and waits its turn.
//
// Each virtual user sleeps up to 3 s, joins, then polls its entry at the period
// that it is told until it may enter. Then it comes again as somebody else. At
// the end of the last stage, whoever still waits goes away.
// Every answer is checked against the contract; one wrong answer fails the run.
//
// Environment
//   BASE_URL                     public listener, http://127.0.0.1:8080
//   ZONE_ID                      zone to join, TEST_ZONE; its limit must let
//                                somebody in before the run ends
//   STAGE1_DURATION, _TARGET     10s    10000   the crowd comes
//   STAGE2_DURATION, _TARGET     110s   20000   and grows
//   STAGE3_DURATION, _TARGET     30s    20000   and stays
//   STAGE4_DURATION, _TARGET     10s    0       and goes
//
// Each virtual user holds a connection: at the defaults both sides need more
// than 20,000 open files (ulimit -n) and as many free ports between them.
import http from 'k6/http';
import exec from 'k6/execution';
import { check, sleep } from 'k6';
import { Counter, Trend } from 'k6/metrics';

const baseURL = (__ENV.BASE_URL || 'http://127.0.0.1:8080').replace(/\/+$/, '');
const zoneId = __ENV.ZONE_ID || 'TEST_ZONE';

// thinkSeconds is the most that a visitor waits before joining.
const thinkSeconds = 3;
// retrySeconds is when to come back after a refusal that names no time.
const retrySeconds = 1;
// requestTimeout is far beyond any right answer: a poll takes milliseconds.
const requestTimeout = '10s';
// hopeless is how many wrong answers end the run: what follows adds nothing.
const hopeless = 1000;

const waitRequests = new Counter('wait_requests_total');
const entryRequests = new Counter('entry_requests_total');
const entered = new Counter('can_enter_true_count');
const mustWait = new Counter('can_enter_false_count');
const wrongAnswers = new Counter('wrong_answers_total');
const waitDuration = new Trend('wait_duration', true);
const entryDuration = new Trend('entry_duration', true);
const timeInLine = new Trend('time_in_line', true);
const pollsPerVisitor = new Trend('polls_per_visitor');

function stage(n, duration, target) {
  return {
    duration: __ENV[`STAGE${n}_DURATION`] || duration,
    target: Number(__ENV[`STAGE${n}_TARGET`] || target),
  };
}

const stages = [
  stage(1, '10s', 10000),
  stage(2, '110s', 20000),
  stage(3, '30s', 20000),
  stage(4, '10s', 0),
];
const totalSeconds = stages.reduce((sum, s) => sum + inSeconds(s.duration), 0);

// inSeconds reads a duration as k6 writes it: 10s, 1m30s, 500ms.
function inSeconds(duration) {
  const units = { h: 3600, m: 60, s: 1, ms: 0.001 };
  const parts = [...duration.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)];
  if (parts.map((p) => p[0]).join('') !== duration || duration === '') {
    throw new Error(`${duration} is no duration; write it like 90s or 1m30s`);
  }
  return parts.reduce((sum, p) => sum + Number(p[1]) * units[p[2]], 0);
}

export const options = {
  scenarios: {
    burst: {
      executor: 'ramping-vus',
      startVUs: 0,
      stages,
      // k6 cuts nobody off, which would look like a wrong answer: a visitor is
      // not replaced when it ends, and ends by itself when the stages are over.
      gracefulRampDown: `${Math.ceil(totalSeconds)}s`,
      gracefulStop: '15s',
    },
  },
  thresholds: {
    checks: ['rate==1'],
    wrong_answers_total: [
      'count==0',
      { threshold: `count<${hopeless}`, abortOnFail: true },
    ],
    // A run in which nobody came, or nobody was let in, shows nothing.
    wait_requests_total: ['count>0'],
    can_enter_true_count: ['count>0'],
  },
  summaryTrendStats: ['med', 'p(95)', 'p(99)', 'max', 'count'],
};

// setup makes sure that the run can mean something, and names it: a clientId
// must be new in every run, or a repeated join would find an old admission.
export function setup() {
  // A counter without a sample is not held against its thresholds.
  [wrongAnswers, waitRequests, entered].forEach((counter) => counter.add(0));
  const answer = http.get(`${baseURL}/traffic/zones/${zoneId}`);
  if (answer.status !== 200) {
    exec.test.abort(`zone ${zoneId} at ${baseURL}: status ${answer.status} ${answer.error || answer.body}`);
  }
  return { run: Math.random().toString(36).slice(2, 10) };
}

export default function (data) {
  if (!stayFor(Math.random() * thinkSeconds)) {
    return;
  }
  const joined = Date.now();
  const first = join(data.run);
  if (first === null) {
    return;
  }
  let answer = first;
  let polls = 0;
  while (!answer.canEnter) {
    if (!stayFor(answer.waiting.pollingPeriod / 1000)) {
      return;
    }
    const next = poll(answer);
    polls++;
    if (next === null) {
      return;
    }
    answer = next;
  }
  timeInLine.add(Date.now() - joined);
  pollsPerVisitor.add(polls);
}

// stayFor sleeps, and returns false if the stages were over before.
function stayFor(seconds) {
  const left = totalSeconds - (Date.now() - exec.scenario.startTime) / 1000;
  sleep(Math.max(0, Math.min(seconds, left)));
  return seconds < left;
}

// join takes a place. It returns the answer, or null if there is no use going on.
function join(run) {
  const visitor = exec.vu.idInTest;
  const res = post('/traffic/wait', {
    zoneId,
    clientIp: `10.${(visitor >> 16) & 255}.${(visitor >> 8) & 255}.${visitor & 255}`,
    clientAgent: 'WEB',
    clientId: `k6-${run}-${visitor}-${exec.vu.iterationInInstance}`,
  });
  waitRequests.add(1);
  waitDuration.add(res.timings.duration);
  return judge(res, null);
}

// poll asks whether it is the visitor's turn. A refusal that asks for patience
// is a wrong answer here, but the visitor keeps the place and asks again.
function poll(last) {
  const res = post('/traffic/entry', { zoneId, token: last.token });
  entryRequests.add(1);
  entryDuration.add(res.timings.duration);
  const answer = judge(res, last);
  if (answer === null && (res.status === 0 || res.status === 429 || res.status === 503)) {
    return stayFor(Number(res.headers['Retry-After']) || retrySeconds) ? last : null;
  }
  return answer;
}

function post(path, body) {
  return http.post(baseURL + path, JSON.stringify(body), {
    headers: { 'Content-Type': 'application/json' },
    tags: { name: path },
    timeout: requestTimeout,
  });
}

// judge checks an answer against the contract and against the visitor's last
// one (null for a join). It returns null for what cannot be used.
function judge(res, last) {
  const answer = res.status === 200 ? parse(res.body) : null;
  const right = check(answer, {
    'status is 200': () => res.status === 200,
    'shape is the contract\'s': (a) => res.status !== 200 || hasShape(a),
    'Retry-After is the polling period': (a) => !isWaiting(a) || retryAfterFits(res, a),
    'token and place are the same': (a) => !a || !last || samePlace(last, a),
    'position never rises': (a) => !isWaiting(a) || !last || a.waiting.position <= last.waiting.position,
    'entry comes with a pass': (a) => !a || a.canEnter !== true || hasPass(a),
  });
  if (!right) {
    wrongAnswers.add(1);
    // The tenth wrong answer tells no more than the first nine.
    if (exec.vu.idInTest < 10) {
      console.error(`wrong answer: ${res.status} ${res.error || res.body}${last ? ` after ${JSON.stringify(last)}` : ''}`);
    }
  }
  if (!answer || !hasShape(answer)) {
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

function hasShape(a) {
  if (a === null || a.zoneId !== zoneId || typeof a.token !== 'string' || a.token === '') {
    return false;
  }
  if (a.canEnter === true) {
    return a.waiting === undefined
      && whole(a.admission && a.admission.admittedAt, 1)
      && whole(a.admission.expiresAt, a.admission.admittedAt + 1);
  }
  const w = a.waiting;
  return a.canEnter === false && a.admission === undefined && typeof w === 'object' && w !== null
    && whole(w.position, 1) && whole(w.total, w.position)
    && whole(w.estimatedWait, 0) && whole(w.pollingPeriod, 1) && whole(w.arrivedAtMicros, 1);
}

function whole(value, least) {
  return Number.isSafeInteger(value) && value >= least;
}

function retryAfterFits(res, a) {
  return Number(res.headers['Retry-After']) === Math.ceil(a.waiting.pollingPeriod / 1000);
}

function samePlace(last, a) {
  return a.token === last.token
    && (!isWaiting(a) || a.waiting.arrivedAtMicros === last.waiting.arrivedAtMicros);
}

function hasPass(a) {
  return typeof a.admission === 'object' && a.admission !== null
    && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(a.admission.pass);
}

// handleSummary prints what happened in one short table.
export function handleSummary(data) {
  const values = (name) => (data.metrics[name] ? data.metrics[name].values : {});
  const seconds = data.state.testRunDurationMs / 1000;
  const times = (name, unit) => {
    const v = values(name);
    if (!v.count) {
      return '';
    }
    const show = (x) => {
      if (unit === 'ms') return `${x.toFixed(x < 10 ? 2 : 0)} ms`;
      return unit === 's' ? `${(x / 1000).toFixed(1)} s` : x.toFixed(0);
    };
    return ['med', 'p(95)', 'p(99)', 'max'].map((s) => show(v[s]).padStart(11)).join('');
  };
  const row = (label, count, trend, unit) => {
    const shown = count === undefined ? '' : String(count);
    const rate = count === undefined ? '' : `${(count / seconds).toFixed(1)}/s`;
    return `  ${label.padEnd(16)}${shown.padStart(9)}${rate.padStart(11)}${trend ? times(trend, unit) : ''}`;
  };
  const count = (name) => values(name).count || 0;

  const lines = [
    '',
    `burst: ${seconds.toFixed(0)} s, at most ${values('vus_max').max || 0} virtual users, zone ${zoneId} at ${baseURL}`,
    '',
    `${' '.repeat(38)}${['median', 'p95', 'p99', 'max'].map((s) => s.padStart(11)).join('')}`,
    row('wait requests', count('wait_requests_total'), 'wait_duration', 'ms'),
    row('entry requests', count('entry_requests_total'), 'entry_duration', 'ms'),
    row('may enter', count('can_enter_true_count')),
    row('must wait', count('can_enter_false_count')),
    row('time in line', undefined, 'time_in_line', 's'),
    row('polls a visitor', undefined, 'polls_per_visitor', ''),
    row('wrong answers', count('wrong_answers_total')),
    '',
  ];
  (data.root_group.checks || []).filter((c) => c.fails > 0).forEach((c) => {
    lines.push(`  FAILED  ${c.name}: ${c.fails} of ${c.fails + c.passes}`);
  });
  Object.keys(data.metrics).forEach((name) => {
    const thresholds = data.metrics[name].thresholds || {};
    Object.keys(thresholds).filter((t) => !thresholds[t].ok).forEach((t) => {
      lines.push(`  FAILED  threshold ${name} ${t}`);
    });
  });
  return { stdout: `${lines.join('\n')}\n` };
}
