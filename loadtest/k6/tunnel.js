// tunnel: of a crowd, 20 % go dark once for 5 to 50 s, as a phone in a tunnel
// does, and come back: to the same place, or to the door if it was their turn
// meanwhile.
//
// Environment: see crowd/settings.js.
import { Counter, Rate } from 'k6/metrics';
import { counters } from './crowd/room.js';
import { begin, everyone, promises, summaryTrendStats, thresholds } from './crowd/settings.js';
import { summarise } from './crowd/summary.js';
import { Visitor } from './crowd/visitor.js';

const zoneId = __ENV.ZONE_ID || 'LOAD_TUNNEL';
const share = 0.2;
const leastDarkMillis = 5000;
const mostDarkMillis = 50000;
// The tunnel begins within the first fifth of the wait, so that the last are back
// before the line is over.
const darkWithin = 0.2;
const arriveMillis = 5000;
const seconds = 110;

const darknesses = new Counter('darknesses_total');
const samePlace = new Rate('same_place_after_darkness');

export const options = {
  scenarios: { tunnel: everyone(1200, seconds) },
  thresholds: thresholds({ darknesses_total: ['count>0'], same_place_after_darkness: ['rate==1'] }),
  summaryTrendStats,
};

// The room cannot know that those who miss their polls will be back: it tells the
// others of a line without them, and looks for the next among fewer. So estimates
// are held to nine twentieths here, and order to one window's worth.
const held = { ...promises, estimateError: 0.45, overtakenP99: 1, capacityUsed: 0.94 };

export const setup = () => begin('tunnel', zoneId, held, counters);

export default function (run) {
  const visitor = new Visitor(run, zoneId, seconds * 1000);
  visitor.due += Math.random() * arriveMillis;
  let darkAt = Math.random() < share ? -1 : Infinity;
  while (visitor.stay() && visitor.step()) {
    if (visitor.last === null) {
      continue; // no answer yet
    }
    if (darkAt < 0) {
      darkAt = visitor.now() + Math.random() * darkWithin * visitor.last.waiting.estimatedWait;
    }
    if (visitor.due > darkAt && visitor.dark === null && !goDark(visitor)) {
      break;
    }
  }
  visitor.tell();
}

// goDark is silent for a while, comes back, and compares. It returns what step
// returns.
function goDark(visitor) {
  const before = visitor.last;
  const back = visitor.now() + leastDarkMillis + Math.random() * (mostDarkMillis - leastDarkMillis);
  visitor.dark = [visitor.now(), Math.round(back)];
  visitor.due = back;
  darknesses.add(1);
  const on = visitor.stay() && visitor.step();
  const { last } = visitor;
  samePlace.add(visitor.end !== 'lost' && (last.canEnter
    || last.waiting.arrivedAtMicros === before.waiting.arrivedAtMicros
    && last.waiting.position <= before.waiting.position));
  return on;
}

export const handleSummary = (data) => summarise('tunnel', zoneId, data);
