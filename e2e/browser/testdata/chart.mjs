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
  [null, "–"], [0.04, "0.0 s"], [9.94, "9.9 s"], [9.97, "10 s"], [59.4, "59 s"], [59.6, "1 min 0 s"], [119.4, "1 min 59 s"], [119.6, "2 min 0 s"],
  [3599.6, "1 h 0 min"], [3661, "1 h 1 min"], [7169, "1 h 59 min"], [7175, "2 h 0 min"],
]) assert.equal(options.series[1].value(null, seconds), says, `${seconds} s`);
