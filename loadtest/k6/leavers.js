// leavers: of a crowd, 35 % go away without a word while they wait.
//
// They leave at a moment drawn evenly over the wait that those who stay have from
// the same place: the position over the limit, less the share that leaves. The line
// finds out when their polls do not come.
// Their places must not be wasted, and the others' estimates must take them into
// account.
//
// Environment: see crowd/settings.js, and
//   PER_MINUTE   the zone's limit, 1000 at SIZE 1
import { counters } from './crowd/room.js';
import { begin, crowdOf, everyone, promises, summaryTrendStats, thresholds } from './crowd/settings.js';
import { summarise } from './crowd/summary.js';
import { Visitor } from './crowd/visitor.js';

const zoneId = __ENV.ZONE_ID || 'LOAD_LEAVERS';
const perMinute = Number(__ENV.PER_MINUTE || crowdOf(1000));
const share = 0.35;
// The crowd comes within arriveMillis, and is in within seconds.
const arriveMillis = 15000;
const seconds = 110;

export const options = {
  scenarios: { leavers: everyone(1600, seconds) },
  thresholds: thresholds({}),
  summaryTrendStats,
};

// A new zone learns of leavers as their polls do not come, and this line is over after a minute.
const held = { ...promises, estimateError: 0.2, capacityUsed: 0.94 };

export const setup = () => begin('leavers', zoneId, held, counters);

export default function (run) {
  const visitor = new Visitor(run, zoneId, seconds * 1000);
  visitor.due += Math.random() * arriveMillis;
  const leaves = Math.random() < share;
  let leavesAt = Infinity;
  while (visitor.stay() && visitor.step()) {
    if (visitor.last === null) {
      continue; // no answer yet
    }
    if (leaves && leavesAt === Infinity) {
      leavesAt = visitor.now() + Math.random() * (1 - share) * 60000 * visitor.last.waiting.position / perMinute;
    }
    if (visitor.due > leavesAt) {
      visitor.leave();
      break;
    }
  }
  visitor.tell();
}

export const handleSummary = (data) => summarise('leavers', zoneId, data);
