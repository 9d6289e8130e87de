// What the charts' legend says of a wait. The argument is the URL of the script.
import assert from "node:assert/strict";

let options;
Object.assign(globalThis, {
  document: {}, getComputedStyle: () => ({ getPropertyValue: () => "" }),
  uPlot: class { cursor = {}; constructor(o) { options = o; } setData() {} setLegend() {} },
});
const { Chart, charts } = await import(process.argv[2]);
new Chart({ clientWidth: 300 }, charts.wait).draw([[0], [0], [0], [0]], [0, 1]);

for (const [seconds, says] of [
  [null, "–"], [0.04, "0 s"], [9.94, "10 s"], [59.4, "59 s"], [59.6, "1 min"], [119.4, "1 min 59 s"], [119.6, "2 min"],
  [3599.6, "1 h"], [3661, "1 h 01 min"], [7169, "1 h 59 min"], [7175, "1 h 59 min"], [90000, "1 d 1 h"],
]) assert.equal(options.series[1].value(null, seconds), says, `${seconds} s`);
