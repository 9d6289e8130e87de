// Prints what the ranges of Journey.java are rounded to.
import { roundRange } from '../../../clients/js/index.js';

const figure = (n) => (Number.isInteger(n) ? `${n}.0` : `${n}`);
let shown;
for (let at = 1; at < 100_000_000; at += Math.floor(at / 7) + 1) {
  shown = roundRange({ low: Math.floor(at / 2), high: at }, shown);
  console.log(shown ? `${figure(shown.low)} ${figure(shown.high)} ${shown.unit.toUpperCase()}` : 'null');
}
