// visitor: one phone, which does what the README's app does, and tells at the end
// what it saw: one line of JSON for the judge, who alone sees all visitors.
//
//   {"visitor": "...", "end": "in", "arrived": micros, "admitted": millis,
//    "dark": [from, to], "asked": [[kind, due, sent, took, status, position,
//    estimate, period], ...]}
//
// Times are milliseconds since the run began, on this machine's clock; arrived
// and admitted are the server's; where a draw gave the place, arrived is that. kind is 0 for a join, 1 for a poll, 2 for a
// repeat of either that nobody asked for. Status is 0 where no answer came.
import { b64encode } from 'k6/encoding';
import exec from 'k6/execution';
import { sleep } from 'k6';
import { Trend } from 'k6/metrics';
import { ask, broken, judge, nearer, ofTheRoom, wrongAnswers } from './room.js';
import { speed } from './settings.js';
import { worker } from '../../../clients/js/work.js';

const timeInLine = new Trend('time_in_line', true);
const pollsPerVisitor = new Trend('polls_per_visitor');
// fromIntended is from when a request should have been sent until its answer: the
// tail that a slow server, or a late load generator, would hide.
const fromIntended = new Trend('from_intended', true);

export const JOIN = 0;
export const POLL = 1;
export const REPEAT = 2;

// retrySeconds is when to come back after a refusal that names no time, and the
// longest pause between requests that get no answer.
const retrySeconds = 1;
const mostRetrySeconds = 16;

// stopping are the statuses after which nobody comes back.
const stopping = [400, 403, 404, 405, 410, 413, 423];

export class Visitor {
  // run is what begin returned, until the time in milliseconds since the run
  // began at which the visitor goes home.
  constructor(run, zoneId, until, may) {
    this.run = run;
    this.zoneId = zoneId;
    this.until = until;
    this.may = may || {};
    const n = exec.vu.idInTest;
    this.name = `k6-${run.run}-${n}-${exec.vu.iterationInInstance}`;
    // Of the addresses that are set apart for benchmarks (RFC 2544).
    this.ip = `198.${18 + ((n >> 16) & 1)}.${(n >> 8) & 255}.${n & 255}`;
    this.last = null;
    this.due = this.now();
    this.broke = 0;
    // refused: the last answer was that it comes too often, or that the store is away.
    this.refused = false;
    this.polls = 0;
    this.arrived = 0;
    this.dark = null;
    this.asked = [];
    // end is how the story ends: in, left, waiting or lost.
    this.end = 'waiting';
  }

  now() {
    return Date.now() - this.run.began;
  }

  get in() {
    return this.last !== null && this.last.canEnter;
  }

  // after is when to come back, where that is in so many milliseconds.
  after(millis) {
    return this.now() + millis / speed;
  }

  // stay sleeps until the time is due, and returns false if the visitor goes home
  // before.
  stay() {
    sleep(Math.max(0, Math.min(this.due, this.until) - this.now()) / 1000);
    return this.due < this.until;
  }

  // step joins, or polls, and notes when to come back. It returns false when
  // there is nothing more to do. copies are sent at once.
  step(copies) {
    const joins = this.last === null;
    this.send(joins ? JOIN : POLL, copies || 1);
    if (!joins) {
      this.polls++;
    }
    return !this.in && this.end === 'waiting';
  }

  // again repeats a join, or a poll, that nobody asked for: the answer must be
  // the same place.
  again(joins) {
    const { due, broke } = this;
    this.send(REPEAT, 1, joins);
    [this.due, this.broke] = [due, broke];
  }

  send(kind, copies, joins) {
    const path = kind === JOIN || joins ? '/traffic/wait' : '/traffic/entry';
    const body = path === '/traffic/wait'
      ? { zoneId: this.zoneId, clientIp: this.ip, clientAgent: 'WEB', clientId: this.name, challenge: this.solution }
      : { zoneId: this.zoneId, token: this.last.token };
    const sent = this.now();
    const due = kind === REPEAT ? sent : Math.round(this.due);
    const responses = ask(path, this.ip, Array(copies).fill(body));
    const before = this.last;
    responses.forEach((res, i) => {
      const took = responses.length === 1 ? this.now() - sent : Math.round(res.timings.duration);
      const answer = judge(res, before, this.zoneId, path === '/traffic/wait', this.may);
      this.note(i === 0 ? kind : REPEAT, due, sent, took, res, answer);
      this.take(res, answer);
    });
    if (kind !== REPEAT) {
      fromIntended.add(this.now() - due);
    }
  }

  note(kind, due, sent, took, res, answer) {
    const w = (answer && answer.waiting) || {};
    this.asked.push([kind, due, sent, took, broken(res) ? 0 : res.status,
      w.position || 0, w.estimatedWait || 0, w.pollingPeriod || 0]);
  }

  // take does with a response what the README says.
  take(res, answer) {
    this.refused = answer === null;
    if (answer !== null) {
      if (this.in && answer.canEnter && answer.admission.pass !== this.last.admission.pass) {
        wrongAnswers.add(1); // two answers at once, of two admissions
      }
      // Of two answers at once, the one that is nearer to the door is newer.
      if (this.last === null || answer.canEnter
        || (!this.in && nearer(answer.waiting, this.last.waiting))) {
        this.last = answer;
      }
      if (answer.canEnter) {
        this.end = 'in';
        return;
      }
      this.arrived = this.arrived || answer.waiting.arrivedAtMicros;
      this.broke = 0;
      this.due = this.after(answer.waiting.pollingPeriod);
      return;
    }
    const { code, challenge } = res.status === 403 && ofTheRoom(res) ? res.json() : {};
    if (code === 'challenge_required' && challenge.kind === 'work') {
      const { parameters, signature } = challenge;
      const counter = worker()(parameters, 0, 1, Infinity);
      this.solution = b64encode(JSON.stringify({ challenge: { parameters, signature }, solution: { counter } }));
      [this.broke, this.due] = [0, this.now()];
      return;
    }
    const refusal = [401, 408, 429, 503, ...stopping].includes(res.status) && ofTheRoom(res);
    // No visitor of the crowds may see a 401, or what is in stopping: judge has noted it.
    if (!refusal) {
      this.due = this.after(1000 * Math.min(retrySeconds * 2 ** this.broke++, mostRetrySeconds));
    } else if (stopping.includes(res.status)) {
      this.end = 'lost';
    } else if ([408, 429, 503].includes(res.status)) {
      this.broke = 0;
      this.due = this.after(1000 * (Number(res.headers['Retry-After']) || retrySeconds));
    } else {
      [this.last, this.broke, this.due] = [null, 0, this.now()];
    }
  }

  // wait is the life of an obedient visitor, from the join to the door.
  wait() {
    while (this.stay() && this.step()) { /* until in, or home */ }
  }

  // leave goes away without a word.
  leave() {
    this.end = 'left';
  }

  // tell ends the story.
  tell() {
    if (this.asked.length === 0) {
      return;
    }
    const admitted = this.in ? this.last.admission.admittedAt : 0;
    if (this.in) {
      timeInLine.add(this.now() - this.asked[0][1]);
      pollsPerVisitor.add(this.polls);
    }
    console.log(JSON.stringify({
      visitor: this.name, end: this.end, arrived: this.arrived, admitted, dark: this.dark, asked: this.asked,
    }));
  }
}
