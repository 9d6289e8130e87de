// What the charts draw: columns over time, at most an hour of them, however
// long the page is open. A page that is left open must not grow.

export const KEPT = 3600;
// SLACK is how far a column may overrun before it is cut: cutting moves all of
// it, and need not happen every second.
export const SLACK = 60;
// GAP is how many seconds without a point make a gap in the line.
const GAP = 5;

export class Series {
  constructor(names) {
    this.names = names;
    this.columns = names.map(() => []);
  }

  get length() {
    return this.columns[0].length;
  }

  // newest is the time of the last point in seconds, 0 if there is none.
  get newest() {
    return this.length === 0 ? 0 : this.columns[0][this.length - 1];
  }

  // push adds a point that is newer than all others; another it ignores.
  push(point) {
    if (!(point[0] > this.newest)) return false;
    if (this.length > 0 && point[0] - this.newest > GAP) {
      this.append(point.map((_, i) => (i === 0 ? this.newest + 1 : null)));
    }
    this.append(point);
    if (this.length > KEPT + SLACK) {
      for (const column of this.columns) column.splice(0, column.length - KEPT);
    }
    return true;
  }

  append(point) {
    for (let i = 0; i < this.columns.length; i++) this.columns[i].push(point[i] ?? null);
  }

  // pick returns the columns of these names, time first, as uPlot takes them.
  pick(names) {
    return ["at", ...names].map((name) => this.columns[this.names.indexOf(name)]);
  }
}
