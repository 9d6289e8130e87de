// event: people gather for an event, whose draw gives them their places, and are admitted
// from the opening on in that order.
//
// Each visitor comes once, at some moment while people gather, and polls when told to:
// without a number until people have settled, with one from then on. Once in, it works
// its place out from the published seed and its own token, as anybody can, and tells that:
// the judge holds the order of all against it. Nobody may be in before the opening.
//
// Environment: see crowd/settings.js. The zone must have an event with a draw that is
// announced, and gives everybody time to come: make loadtest ONLY=event makes one.
import crypto from 'k6/crypto';
import encoding from 'k6/encoding';
import exec from 'k6/execution';
import http from 'k6/http';
import { sleep } from 'k6';
import { counters, wrongAnswers } from './crowd/room.js';
import { baseURL, begin, everyone, promises, summaryTrendStats, thresholds } from './crowd/settings.js';
import { summarise } from './crowd/summary.js';
import { Visitor } from './crowd/visitor.js';

const zoneId = __ENV.ZONE_ID || 'LOAD_EVENT';
// longest is how many seconds there may be to the opening, and how many it may take.
const longest = 600;
// firstWindows is what the contract asks of the first two windows.
const firstWindows = 0.95;

export const options = {
  scenarios: { event: everyone(1000, longest) },
  thresholds: thresholds({}),
  summaryTrendStats,
};

const zoneURL = `${baseURL}/traffic/zones/${zoneId}`;

export function setup() {
  const state = http.get(zoneURL);
  const event = state.status === 200 ? state.json('event') : null;
  if (!event || event.order !== 'draw' || !(event.settlesAt > Date.now())) {
    exec.test.abort(`zone ${zoneId} at ${baseURL} has no event with a draw for which people gather: ${state.body}`);
  }
  return { ...begin('event', zoneId, { ...promises, firstWindows }, counters, event.opensAt), event };
}

export default function (run) {
  const { event } = run;
  const visitor = new Visitor(run, zoneId, longest * 1000, { settlesBefore: event.opensAt - event.settlesAt });
  // Not in the last moment: a join that is under way when the draw closes has no place in it.
  const from = Math.max(event.preQueueAt - run.began, visitor.now());
  visitor.due = from + Math.random() * Math.max(0, event.settlesAt - run.began - from - 1000);
  visitor.wait();
  if (visitor.in) {
    const drawn = place(event.name, visitor.last.token);
    if (visitor.last.admission.admittedAt < event.opensAt || drawn === 0) {
      wrongAnswers.add(1);
      console.error(`${visitor.name} was let in at ${visitor.last.admission.admittedAt}, place ${drawn}; it opens at ${event.opensAt}`);
    }
    visitor.arrived = drawn;
  }
  visitor.tell();
}

// place is where the draw puts the visitor with a token: the first 52 bits of its HMAC, of
// which no two are alike; 0 where there is no seed.
function place(name, token) {
  // The seed is published within a second of the opening.
  let seed = null;
  for (let tries = 0; !seed && tries < 10; tries++) {
    sleep(tries / 2);
    const draw = http.get(`${zoneURL}/events/${name}/draw`);
    seed = draw.status === 200 ? draw.json('seed') : null;
  }
  if (!seed) {
    return 0;
  }
  const id = new Uint8Array(encoding.b64decode(token, 'rawurl')).slice(2, 10);
  const text = [...`${zoneId}\0${name}\0`].map((c) => c.charCodeAt(0));
  const ticket = crypto.sha256(new Uint8Array([...text, ...id]).buffer, 'binary').slice(0, 16);
  const key = new Uint8Array(seed.match(/../g).map((x) => parseInt(x, 16))).buffer;
  return 1 + parseInt(crypto.hmac('sha256', key, ticket, 'hex').slice(0, 13), 16);
}

export const handleSummary = (data) => summarise('event', zoneId, data);
