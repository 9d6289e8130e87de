// fault: 5 % of requests are cut, some before the server sees them, some when it
// has answered, some in the middle of the answer. Whoever gets no answer asks
// again after 1 s, then 2, 4, 8 and 16, as the README's app does, and must be told
// of one place and one admission.
//
// The cutting is a proxy's, not this script's: make loadtest starts one
// before the server, and BASE_URL names it. Without one, the run fails.
//
// Environment: see crowd/settings.js.
import { counters } from './crowd/room.js';
import { begin, everyone, promises, summaryTrendStats, thresholds } from './crowd/settings.js';
import { summarise } from './crowd/summary.js';
import { Visitor } from './crowd/visitor.js';

const zoneId = __ENV.ZONE_ID || 'LOAD_FAULT';
const arriveMillis = 5000;
const seconds = 90;

// About one in twenty: many more, and it is not the proxy alone that cuts.
const mostUnanswered = 0.07;
const leastUnanswered = 0.03;

export const options = {
  scenarios: { fault: everyone(800, seconds) },
  thresholds: thresholds({ unanswered: [`rate>=${leastUnanswered}`, `rate<=${mostUnanswered}`] }),
  summaryTrendStats,
};

export const setup = () => begin('fault', zoneId, { ...promises, capacityUsed: 0.87, unanswered: mostUnanswered }, counters);

export default function (run) {
  const visitor = new Visitor(run, zoneId, seconds * 1000);
  visitor.due += Math.random() * arriveMillis;
  visitor.wait();
  visitor.tell();
}

export const handleSummary = (data) => summarise('fault', zoneId, data);
