// impatient: a crowd that ignores pollingPeriod. Each polls two or three times a
// second, and one in ten some ten times; now and then twice at once. They join again
// while they wait, and ask again after they were admitted. Whatever it repeats, it must be told of one place and one
// admission, and nobody gets in earlier for it.
//
// The server may refuse those who come too often: 429 too_many_requests with
// Retry-After is a right answer here, and the one thing that they do obey.
//
// Environment: see crowd/settings.js.
import { counters } from './crowd/room.js';
import { begin, everyone, promises, summaryTrendStats, thresholds } from './crowd/settings.js';
import { summarise } from './crowd/summary.js';
import { Visitor } from './crowd/visitor.js';

const zoneId = __ENV.ZONE_ID || 'LOAD_IMPATIENT';
const arriveMillis = 3000;
const seconds = 80;
// Between two polls are 200 to 600 ms, and a quarter of that for those who flood.
const leastPauseMillis = 200;
const mostPauseMillis = 600;
const floods = 0.1;
// Of ten requests, one is a join and one is sent twice at once.
const rejoins = 0.1;
const doubles = 0.1;

export const options = {
  scenarios: { impatient: everyone(300, seconds) },
  thresholds: thresholds({}),
  summaryTrendStats,
};

// Order and estimates are promised to those who poll when told to, which nobody does
// here: the nearer the door, the more often they ask, and a window's length, in
// which slots open by fits and starts, is then much of what they still have to wait.
const held = { ...promises, overtakenP99: 0.75, estimateError: 0.25, capacityUsed: 0.82 };

export const setup = () => begin('impatient', zoneId, held, counters);

export default function (run) {
  const visitor = new Visitor(run, zoneId, seconds * 1000, { limit: true });
  visitor.due += Math.random() * arriveMillis;
  const haste = Math.random() < floods ? 0.25 : 1;
  while (visitor.stay() && visitor.step(Math.random() < doubles ? 2 : 1)) {
    if (visitor.last !== null && !visitor.refused && Math.random() < rejoins) {
      visitor.again(true);
    }
    if (visitor.in) {
      break;
    }
    if (!visitor.refused) {
      visitor.due = visitor.now() + haste * (leastPauseMillis + Math.random() * (mostPauseMillis - leastPauseMillis));
    }
  }
  for (const joins of visitor.in ? [false, true, false] : []) {
    visitor.again(joins);
  }
  visitor.tell();
}

export const handleSummary = (data) => summarise('impatient', zoneId, data);
