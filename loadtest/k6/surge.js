// surge: visitors come at a rate that no slow server can hold up: first slowly,
// then three times as fast as the door admits, then slowly again.
//
// The arrival-rate executor starts each visitor at its time whether the others
// have been answered or not, and latency counts from when a request should have
// been sent: a join at its place in the schedule, a poll when it was told to come.
// An arrival that k6 had no virtual user for is dropped, and fails the run.
//
// Environment: see crowd/settings.js.
import exec from 'k6/execution';
import { Trend } from 'k6/metrics';
import { counters } from './crowd/room.js';
import { begin, crowdOf, inSeconds, promises, summaryTrendStats, thresholds } from './crowd/settings.js';
import { summarise } from './crowd/summary.js';
import { Visitor } from './crowd/visitor.js';

const zoneId = __ENV.ZONE_ID || 'LOAD_SURGE';
// The rates are of arrivals a second, of which the zone lets 30 in.
const startRate = crowdOf(10);
const stages = [
  { duration: '5s', target: crowdOf(10) },
  { duration: '3s', target: crowdOf(90) },
  { duration: '12s', target: crowdOf(90) },
  { duration: '2s', target: crowdOf(10) },
  { duration: '13s', target: crowdOf(10) },
];
// The line is over before that many seconds.
const seconds = 100;

const joinFromIntended = new Trend('join_from_intended', true);

export const options = {
  scenarios: {
    surge: {
      executor: 'ramping-arrival-rate', startRate, timeUnit: '1s', stages,
      // As many as ever wait at once, and more.
      preAllocatedVUs: crowdOf(1300), gracefulStop: `${seconds}s`,
    },
  },
  thresholds: thresholds({
    dropped_iterations: ['count==0'],
    join_from_intended: ['p(95)<1000', 'p(99)<3000'],
    from_intended: ['p(95)<1000', 'p(99)<3000'],
  }),
  summaryTrendStats,
};

// intended is when the n-th visitor (from 0) should come, in milliseconds since
// the scenario began: where the integral of the rate reaches n.
export function intended(n) {
  let rate = startRate;
  let from = 0;
  let left = n;
  for (const { duration, target } of stages) {
    const span = inSeconds(duration);
    const slope = (target - rate) / span;
    const come = (rate + target) / 2 * span;
    if (left <= come) {
      // slope/2 t^2 + rate t = left, in the form that bears a slope of 0.
      const t = 2 * left / (rate + Math.sqrt(rate * rate + 2 * slope * left));
      return 1000 * (from + t);
    }
    left -= come;
    from += span;
    rate = target;
  }
  return 1000 * from;
}

// The crowd is in its tail for most of the time: the capacity that counts is that
// of the surge itself.
export const setup = () => begin('surge', zoneId, { ...promises, capacityUsed: 0.96 }, counters);

export default function (run) {
  const visitor = new Visitor(run, zoneId, seconds * 1000);
  visitor.due = exec.scenario.startTime + intended(exec.scenario.iterationInTest) - run.began;
  const due = visitor.due;
  const on = visitor.step();
  joinFromIntended.add(visitor.now() - due);
  if (on) {
    visitor.wait();
  }
  visitor.tell();
}

export const handleSummary = (data) => summarise('surge', zoneId, data);
