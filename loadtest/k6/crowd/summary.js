// summary: what happened, in one short table. What no visitor can see alone, and
// the page for a manager, come from the judge.
import { baseURL } from './settings.js';

// k6 2 may hand over another form of the same (--new-machine-readable-summary in k6 1), in which lists stand for maps, p95 for p(95), and
// counts of trends and thresholds are missing: k6 itself names the thresholds that were crossed.
export function summarise(scenario, zoneId, data) {
  const metrics = data.metrics || Object.fromEntries(data.results.metrics.map((m) => [m.name, m]));
  const checks = data.metrics ? data.root_group.checks : (data.results.checks || {}).results;
  const values = (name) => (metrics[name] ? metrics[name].values : {});
  const seconds = data.metrics ? data.state.testRunDurationMs / 1000 : data.config.duration;
  const times = (name, unit) => {
    const v = values(name);
    if (!v.count && !v.max) {
      return '';
    }
    const show = (x) => {
      if (x === undefined) return '';
      if (unit === 'ms') return `${x.toFixed(x < 10 ? 2 : 0)} ms`;
      return unit === 's' ? `${(x / 1000).toFixed(1)} s` : x.toFixed(0);
    };
    return ['med', 'p(95)', 'p(99)', 'max'].map((s) => show(v[s] ?? v[s.replace(/[()]/g, '')]).padStart(11)).join('');
  };
  const row = (label, count, trend, unit) => {
    const shown = count === undefined ? '' : String(count);
    const rate = count === undefined ? '' : `${(count / seconds).toFixed(1)}/s`;
    return `  ${label.padEnd(16)}${shown.padStart(9)}${rate.padStart(11)}${trend ? times(trend, unit) : ''}`;
  };
  const count = (name) => values(name).count || 0;

  const lines = [
    '',
    `${scenario}: ${seconds.toFixed(0)} s, at most ${values('vus_max').max || 0} virtual users, zone ${zoneId} at ${baseURL}`,
    '',
    `${' '.repeat(38)}${['median', 'p95', 'p99', 'max'].map((s) => s.padStart(11)).join('')}`,
    row('wait requests', count('wait_requests_total'), 'wait_duration', 'ms'),
    row('entry requests', count('entry_requests_total'), 'entry_duration', 'ms'),
    row('from when due', undefined, 'from_intended', 'ms'),
    row('may enter', count('can_enter_true_count')),
    row('must wait', count('can_enter_false_count')),
    row('time in line', undefined, 'time_in_line', 's'),
    row('polls a visitor', undefined, 'polls_per_visitor', ''),
    row('too many', count('too_many_requests_total')),
    row('no answer', count('no_answers_total')),
    row('wrong answers', count('wrong_answers_total')),
    '',
  ];
  (checks || []).filter((c) => c.fails > 0).forEach((c) => {
    lines.push(`  FAILED  ${c.name}: ${c.fails} of ${c.fails + c.passes}`);
  });
  Object.keys(metrics).forEach((name) => {
    const held = metrics[name].thresholds || {};
    Object.keys(held).filter((t) => !held[t].ok).forEach((t) => {
      lines.push(`  FAILED  threshold ${name} ${t}`);
    });
  });
  return { stdout: `${lines.join('\n')}\n` };
}
