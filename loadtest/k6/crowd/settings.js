// settings: what every scenario is told from outside, and the bounds that all
// of them share.
//
// Environment
//   BASE_URL   public listener, http://127.0.0.1:8080
//   ZONE_ID    zone to join; each scenario has one of its own, LOAD_ and its name
//   SPEED      1    how many times as short as told pauses are, for a rehearsal
//   SIZE       1    the crowd, and the limit of its zone with it, so many
//                   times larger
import http from 'k6/http';
import exec from 'k6/execution';

export const baseURL = (__ENV.BASE_URL || 'http://127.0.0.1:8080').replace(/\/+$/, '');
export const speed = Number(__ENV.SPEED || 1);
export const size = Number(__ENV.SIZE || 1);
if (!(size > 0)) {
  throw new Error(`SIZE=${__ENV.SIZE} is no size; write it like 1 or 2.5`);
}

// crowdOf is how many visitors come, where a crowd of size 1 has n.
export const crowdOf = (n) => Math.max(1, Math.round(n * size));

// inSeconds reads a duration as k6 writes it: 10s, 1m30s, 500ms.
export function inSeconds(duration) {
  const units = { h: 3600, m: 60, s: 1, ms: 0.001 };
  const parts = [...duration.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)];
  if (parts.map((p) => p[0]).join('') !== duration || duration === '') {
    throw new Error(`${duration} is no duration; write it like 90s or 1m30s`);
  }
  return parts.reduce((sum, p) => sum + Number(p[1]) * units[p[2]], 0);
}

// everyone is a scenario in which n visitors come once each and stay until they
// are in, or at most so many seconds.
export function everyone(n, seconds) {
  return {
    executor: 'per-vu-iterations', vus: crowdOf(n), iterations: 1,
    maxDuration: `${seconds}s`, gracefulStop: '20s',
  };
}

// promises are what the judge holds the crowd's story to: what no visitor can
// see alone. Orders are in windows' worth, the rest are shares.
//   overtakenP99, overtakenMost  by how many later arrivals one was overtaken
//                                who polled when told to
//   estimateError                median of |told - real| / real
//   capacityUsed                 least share of the places that were taken while
//                                two windows' worth waited. The slots of the first window
//                                open together and are then taken over four fifths of one:
//                                2.4 s of capacity, once (docs/engineering/decisions/0034), which is
//                                much of the half minute that a short crowd takes
//   firstWindows                 the same of the first two windows after an opening
//   everybodyIn                  nobody may still wait at the end
//   unanswered                   most requests that get no answer, or 503
export const promises = {
  overtakenP99: 0.5, overtakenMost: 2, estimateError: 0.15, capacityUsed: 0.97, everybodyIn: true, unanswered: 0.005,
};

// hopeless is how many wrong answers end a run: what follows adds nothing.
const hopeless = 1000;

// thresholds are what every scenario is held to, and more.
//
// The promises are exact. Latency is not: load generator, server and store share
// a machine with whatever else it does, so that its bounds are far above what a
// quiet one shows (a few milliseconds), and fail what is broken, not what is busy.
export function thresholds(more) {
  return {
    checks: ['rate==1'],
    wrong_answers_total: ['count==0', { threshold: `count<${hopeless}`, abortOnFail: true }],
    // A run in which nobody came, or nobody was admitted, shows nothing.
    wait_requests_total: ['count>0'],
    can_enter_true_count: ['count>0'],
    wait_duration: ['p(95)<1000', 'p(99)<3000'],
    entry_duration: ['p(95)<1000', 'p(99)<3000'],
    unanswered: [`rate<=${promises.unanswered}`],
    ...more,
  };
}

export const summaryTrendStats = ['med', 'p(95)', 'p(99)', 'max', 'count'];

// begin makes sure that the run can mean something, names it, and opens the
// story for the judge. The name makes each clientId new in every run: a repeated
// join would find an old admission.
// opensAt is when an event opens, in Unix milliseconds; 0 for none.
export function begin(scenario, zoneId, held, counters, opensAt = 0) {
  // A counter without a sample is not held against its thresholds.
  counters.forEach((counter) => counter.add(0));
  const answer = http.get(`${baseURL}/traffic/zones/${zoneId}`);
  if (answer.status !== 200) {
    exec.test.abort(`zone ${zoneId} at ${baseURL}: status ${answer.status} ${answer.error || answer.body}`);
  }
  const began = Date.now();
  console.log(JSON.stringify({ scenario, zoneId, began, size, promises: held, opens: opensAt && opensAt - began }));
  return { run: Math.random().toString(36).slice(2, 10), began };
}
