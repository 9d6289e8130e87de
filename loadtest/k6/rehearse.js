// rehearse: one visitor for each act of a rehearsal (docs/integrate/clients.md), who does what those
// of the crowds do.
//
// Environment: see crowd/settings.js, and
//   ACTS       the zones to wait in, separated by commas
import http from 'k6/http';
import exec from 'k6/execution';
import { baseURL } from './crowd/settings.js';
import { Visitor } from './crowd/visitor.js';

const acts = __ENV.ACTS.split(',');
// seconds is more than an act takes.
const seconds = 300;

export const options = {
  scenarios: { rehearse: { executor: 'per-vu-iterations', vus: acts.length, iterations: 1, maxDuration: `${seconds}s` } },
};

export default function () {
  const run = { run: 'rehearsal', began: Date.now() };
  const visitor = new Visitor(run, acts[exec.vu.idInTest - 1], seconds * 1000);
  visitor.wait();
  if (visitor.in) {
    http.get(`${baseURL}/service`, { headers: { Authorization: `Bearer ${visitor.last.admission.pass}` } });
  }
}
