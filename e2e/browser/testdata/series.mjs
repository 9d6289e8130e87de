// A long history through the charts' columns. The argument is the URL of the script.
import assert from "node:assert/strict";

const { Series, KEPT, SLACK } = await import(process.argv[2]);
const s = new Series(["at", "a", "b"]);
for (let i = 1; i <= 100_000; i++) { // a day and more
  s.push([i, i, null]);
  s.push([i, i, 0]); // once more, as after a reconnection
  assert.ok(s.columns.every((column) => column.length === s.length && s.length <= KEPT + SLACK));
}
s.push([200_000, 1, 1]); // after a gap
assert.equal(s.newest, 200_000);
assert.equal(s.columns[1][s.length - 2], null);
