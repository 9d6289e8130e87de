// burst: a crowd comes within seconds of the opening, and waits its turn.
//
// Each virtual user sleeps up to 3 s, joins, then polls its entry at the period
// that it is told until it may enter. Then it comes again as somebody else. At
// the end of the last stage, whoever still waits goes home.
// Every answer is checked against the contract; one wrong answer fails the run.
//
// Environment: see crowd/settings.js, and
//   STAGE1_DURATION, _TARGET     5s     750     the crowd comes
//   STAGE2_DURATION, _TARGET     12s    1500    and grows
//   STAGE3_DURATION, _TARGET     15s    1500    and stays
//   STAGE4_DURATION, _TARGET     5s     0       and goes
// where the targets are those of a crowd of SIZE 1.
//
// Each virtual user holds a connection: both sides need as many open files
// (ulimit -n), and as many free ports between them.
import exec from 'k6/execution';
import { counters } from './crowd/room.js';
import { begin, crowdOf, inSeconds, promises, summaryTrendStats, thresholds } from './crowd/settings.js';
import { summarise } from './crowd/summary.js';
import { Visitor } from './crowd/visitor.js';

const zoneId = __ENV.ZONE_ID || 'LOAD_BURST';
// thinkMillis is the most that a visitor waits before joining.
const thinkMillis = 3000;

function stage(n, duration, target) {
  return {
    duration: __ENV[`STAGE${n}_DURATION`] || duration,
    target: Number(__ENV[`STAGE${n}_TARGET`] || crowdOf(target)),
  };
}

const stages = [stage(1, '5s', 750), stage(2, '12s', 1500), stage(3, '15s', 1500), stage(4, '5s', 0)];
const totalSeconds = stages.reduce((sum, s) => sum + inSeconds(s.duration), 0);

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
  thresholds: thresholds({}),
  summaryTrendStats,
};

// Some go home while they wait, and the line is short at the end.
export const setup = () => begin('burst', zoneId, { ...promises, everybodyIn: false }, counters);

export default function (run) {
  const until = exec.scenario.startTime + totalSeconds * 1000 - run.began;
  const visitor = new Visitor(run, zoneId, until);
  visitor.due += Math.random() * thinkMillis;
  visitor.wait();
  visitor.tell();
}

export const handleSummary = (data) => summarise('burst', zoneId, data);
