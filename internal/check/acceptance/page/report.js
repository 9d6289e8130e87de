// The report's charts: uPlot, in the page's own colours. Lines differ by dash as
// well as by colour.
/* global uPlot */
(() => {
  const runs = JSON.parse(document.getElementById("columns").textContent);
  const dashes = { full: [], dashed: [6, 4], dotted: [2, 3] };
  const round = (v) => (v >= 100 || Math.round(v * 10) % 10 === 0 ? Math.round(v).toLocaleString("en") : v.toFixed(1));
  const units = { "": round, ms: (v) => `${round(v)} ms`, "%": (v) => `${round(v)} %` };

  // most is the greatest value that an axis shows: an error of ten times a wait of
  // a second says nothing, and would flatten all others.
  const charts = {
    window: { unit: "", lines: [
      { name: "inWindow", label: "In the window", color: "--plot-1", dash: "full", fill: true },
      { name: "limit", label: "Limit", color: "--plot-2", dash: "dashed" },
      { name: "admitted", label: "In this second", color: "--plot-3", dash: "dotted" },
    ] },
    second: { unit: "", lines: [
      { name: "inSecond", label: "Most in a second", color: "--plot-1", dash: "full", fill: true },
      { name: "secondLimit", label: "Limit in a line", color: "--plot-2", dash: "dashed" },
      { name: "mean", label: "Mean of the limit", color: "--plot-3", dash: "dotted" },
    ] },
    waiting: { unit: "", lines: [{ name: "waiting", label: "Waiting", color: "--plot-1", dash: "full", fill: true }] },
    latency: { unit: "ms", lines: [
      { name: "p50", label: "Half", color: "--plot-1", dash: "full" },
      { name: "p95", label: "95 %", color: "--plot-3", dash: "dotted" },
      { name: "p99", label: "99 %", color: "--plot-2", dash: "dashed" },
    ] },
    error: { unit: "%", most: 100, lines: [
      { name: "errorP50", label: "Half", color: "--plot-1", dash: "full", fill: true },
      { name: "errorP90", label: "90 %", color: "--plot-2", dash: "dashed" },
    ] },
  };

  const height = 180;
  let drawn = [];

  function draw(element) {
    const columns = runs[element.dataset.run];
    const { unit, most, lines } = charts[element.dataset.chart];
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    const show = units[unit];
    const axis = {
      stroke: color("--soft"), grid: { stroke: color("--grid"), width: 1 }, ticks: { show: false },
      font: `12px ${getComputedStyle(document.body).fontFamily}`,
    };
    const plot = new uPlot({
      width: element.clientWidth, height,
      legend: { live: true, markers: { width: 2, dash: (_, i) => ({ dashed: "dashed", dotted: "dotted" })[lines[i - 1]?.dash] ?? "solid" } },
      cursor: { y: false, drag: { setScale: false, x: false, y: false } },
      scales: { x: { time: false }, y: { range: (_, __, max) => [0, Math.min(most ?? Infinity, Math.max(max, 1) * 1.1)] } },
      axes: [
        { ...axis, space: 60, size: 32, values: (_, ticks) => ticks.map((t) => `${t} s`) },
        { ...axis, size: 60, values: (_, ticks) => ticks.map(show) },
      ],
      series: [
        { label: "\u00a0", value: (_, v) => (v === null ? "" : `at ${v} s`) },
        ...lines.map((line) => ({
          label: line.label, stroke: color(line.color), width: 2, dash: dashes[line.dash],
          fill: line.fill ? color("--plot-fill") : undefined, points: { show: false }, spanGaps: true,
          value: (_, v) => (v === null || v === undefined ? "" : show(v)),
        })),
      ],
    }, [columns.at, ...lines.map((line) => columns[line.name])], element);
    const greatest = (line) => columns[line.name].reduce((a, v) => Math.max(a, v ?? 0), 0);
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", `${element.previousElementSibling.textContent}, over ${columns.at.length} seconds; ${
      lines.map((line) => `${line.label} at most ${show(greatest(line))}`).join(", ")}`);
    drawn.push({ element, plot });
  }

  function drawAll() {
    drawn.forEach(({ plot }) => plot.destroy());
    drawn = [];
    document.querySelectorAll(".chart").forEach(draw);
  }

  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  new ResizeObserver(() => drawn.forEach(({ element, plot }) => {
    if (element.clientWidth > 0 && element.clientWidth !== plot.width) plot.setSize({ width: element.clientWidth, height });
  })).observe(document.body);
})();
