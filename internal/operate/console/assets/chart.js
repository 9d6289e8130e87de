// Charts: uPlot in the page's own colours. Lines differ by dash as well as by
// colour.

/* global uPlot */

import { span } from "./countdown.js";

// Ticks of a wait are round in the clock's own steps.
const clockSteps = [0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800];

const dashes = { full: [], dashed: [6, 4], dotted: [2, 3] };

function number(v) {
  return v === null || v === undefined ? "–" : Math.round(v * 10) % 10 === 0 || v >= 100
    ? Math.round(v).toLocaleString("en") : v.toFixed(1);
}

function wait(v) {
  return v === null || v === undefined ? "–" : span(Math.round(v));
}

function short(v) {
  if (v >= 1e6) return `${+(v / 1e6).toFixed(1)}M`;
  if (v >= 1e4) return `${+(v / 1e3).toFixed(1)}k`;
  return number(v);
}

function shortWait(v) {
  if (v >= 3600) return `${+(v / 3600).toFixed(1)} h`;
  if (v >= 60) return `${+(v / 60).toFixed(1)} min`;
  return `${+v.toFixed(1)} s`;
}

// The charts of a zone: which columns, what they are called, how they are drawn.
export const charts = {
  waiting: [{ name: "waiting", label: "Waiting", color: "--plot-1", dash: "full", fill: true }],
  window: [
    { name: "inWindow", label: "Admitted", color: "--plot-1", dash: "full", fill: true },
    { name: "windowLimit", label: "Limit", color: "--plot-2", dash: "dashed" },
  ],
  wait: [
    { name: "waitP50", label: "Half", color: "--plot-1", dash: "full", wait: true },
    { name: "waitP95", label: "95 %", color: "--plot-3", dash: "dotted", wait: true },
    { name: "estimate", label: "Expected", color: "--plot-2", dash: "dashed", wait: true },
  ],
  inside: [
    { name: "inside", label: "Inside", color: "--plot-1", dash: "full", fill: true },
    { name: "maxInside", label: "Cap", color: "--plot-2", dash: "dashed" },
  ],
  polls: [{ name: "polls", label: "Polls", color: "--plot-1", dash: "full", fill: true }],
};

export class Chart {
  // element is where it goes; lines are some of charts.
  constructor(element, lines) {
    this.element = element;
    this.lines = lines;
    this.plot = null;
  }

  // draw shows columns, time in seconds first. span is the x-axis, [from, to].
  draw(data, span) {
    this.span = span; // uPlot asks for it while it is made
    if (!this.plot) this.make(data);
    this.plot.setData(data);
    // The legend says the newest values, unless a pointer asks for others. It
    // is set once uPlot has drawn, which it does in a task of its own.
    queueMicrotask(() => {
      const pointed = this.plot?.cursor.left >= 0;
      if (this.plot && !pointed) this.plot.setLegend({ idx: data[0].length - 1 }, false);
    });
  }

  make(data) {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    const waits = this.lines.some((line) => line.wait);
    const axis = {
      stroke: color("--soft"), grid: { stroke: color("--grid"), width: 1 }, ticks: { show: false },
      font: `12px ${style.fontFamily || "system-ui"}, sans-serif`,
    };
    this.plot = new uPlot({
      width: this.element.clientWidth, height: 180,
      legend: { live: true, markers: { width: 2, dash: (_, i) => ({ dashed: "dashed", dotted: "dotted" })[this.lines[i - 1]?.dash] ?? "solid" } },
      cursor: { y: false, drag: { setScale: false, x: false, y: false } },
      scales: { x: { range: () => this.span }, y: { range: (_, __, max) => [0, Math.max(max, 1) * 1.1] } },
      axes: [
        { ...axis, space: 70, size: 32, values: (_, ticks) => ticks.map((t) => clock(t, ticks[1] - ticks[0] < 60)) },
        { ...axis, size: 56, ...(waits ? { incrs: clockSteps } : {}), values: (_, ticks) => ticks.map((t) => (waits ? shortWait(t) : short(t))) },
      ],
      series: [
        { label: "Time", value: (_, v) => (v === null ? "–" : clock(v, true)) },
        ...this.lines.map((line) => ({
          label: line.label, stroke: color(line.color), width: 2, dash: dashes[line.dash],
          fill: line.fill ? color("--plot-fill") : undefined, points: { show: false }, spanGaps: false,
          value: (_, v) => (line.wait ? wait(v) : number(v)),
        })),
      ],
    }, data, this.element);
  }

  // fit takes the width that the page has now.
  fit() {
    const width = this.element.clientWidth;
    if (this.plot && width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: 180 });
  }
}

function clock(seconds, precise) {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB", {
    hour: "2-digit", minute: "2-digit", ...(precise ? { second: "2-digit" } : {}), hourCycle: "h23",
  });
}
