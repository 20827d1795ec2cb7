// The charts of the last hour. uPlot draws them; its licence is in its jar.
'use strict';

const CHARTS = [
  { part: 'written', title: 'Rows written/s', show: value => rate(value) },
  { part: 'read', title: 'Rows read/s', show: value => rate(value) },
  { part: 'connections', title: 'Connections, % of the maximum', show: value => value.toFixed(0) + ' %', least: 100 },
  { part: 'lag', title: 'Replication lag', show: value => value < 1 ? (1000 * value).toFixed(0) + ' ms' : value.toFixed(1) + ' s', least: 0.1 },
  { part: 'pauses', title: 'Write pauses of moves', show: value => value.toFixed(0) + ' ms', least: 50 }
];
const HOUR = 3600;
const LEAST = 600;
const HEIGHT = 110;
const charts = new Map();

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const curveColour = i => colour('--curve' + i);

/** The hour until now, or less while less is known. */
function range() {
  const now = consoleNow() / 1000;
  const first = latest.curves.times.length > 0 ? latest.curves.times[0] : now;
  return [Math.max(now - HOUR, Math.min(first, now - LEAST)), now];
}

/** A chart with its heading and, below, the figures at the pointer or else the latest ones. */
function makeChart(chart, names) {
  const figures = make('p', 'quiet');
  const at = make('div', 'canvas');
  const element = make('figure', '', make('figcaption', '', make('h3', '', chart.title), figures), at);
  $('charts').append(element);
  const isPauses = chart.part === 'pauses';
  const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui' };
  const plot = new uPlot({
    width: at.clientWidth, height: HEIGHT, legend: { show: false }, tzDate: seconds => uPlot.tzDate(new Date(1000 * seconds), 'Etc/UTC'),
    cursor: { drag: { setScale: false }, points: { size: 6 } },
    scales: { x: { range }, y: { range: (plot, least, most) => [0, Math.max(1.1 * most, chart.least || 1)] } },
    axes: [{ ...axis, size: 22, space: 60, values: (plot, ticks) => ticks.map(tick => new Date(1000 * tick).toISOString().slice(11, 16)) },
      { ...axis, size: 56, space: 28, values: (plot, ticks) => ticks.map(tick => chart.show(tick)) }],
    series: [{}, ...names.map((name, i) => isPauses
      ? { label: name, stroke: colour('--switched'), paths: () => null, points: { show: true, size: 5, fill: colour('--switched') } }
      : { label: name, stroke: curveColour(i), width: 1.5, points: { show: false } })],
    hooks: { setCursor: [plot => showFigures(chart, plot, figures, element)] }
  }, [[], ...names.map(() => [])], at);
  return { plot, at, figures, element };
}

/** The values at the pointer, or the last ones that are known, in words. */
function showFigures(chart, plot, figures, element) {
  const [times, ...all] = plot.data;
  const index = plot.cursor.idx;
  const isPointed = index !== null && index !== undefined && index < times.length;
  const valueOf = curve => isPointed ? curve[index] : curve.findLast(value => value !== null);
  const values = all.map((curve, i) => [plot.series[i + 1].label, valueOf(curve)]).filter(([, value]) => value !== null && value !== undefined);
  const words = values.map(([name, value]) => (chart.part === 'pauses' ? '' : name + ' ') + chart.show(value)).join(' · ');
  const text = values.length === 0 ? chart.part === 'pauses' ? 'none' : 'nothing measured'
    : (isPointed ? clock(new Date(1000 * times[index]).toISOString()) + ' ' : chart.part === 'pauses' ? 'last ' : '') + words;
  setText(figures, text);
  if (!isPointed) {
    element.querySelector('.canvas').setAttribute('aria-label', chart.title + ' in the last hour: ' + text);
    element.querySelector('.canvas').setAttribute('role', 'img');
  }
}

function dropCharts() {
  for (const { plot, element } of charts.values()) {
    plot.destroy();
    element.remove();
  }
  charts.clear();
}

function drawCurves() {
  const curves = latest.curves;
  const names = curves.servers.join('\n');
  if (drawCurves.names !== names) dropCharts();
  drawCurves.names = names;
  setText($('hour-about'), curves.times.length < 2 ? 'measuring' : 'since ' + clock(new Date(1000 * curves.times[0]).toISOString()) + ' UTC, every 10 s');
  replace($('hour-servers'), curves.servers, () => curves.servers.map((name, i) => make('li', '', make('i', 'curve' + i), name)));
  for (const chart of CHARTS) {
    const isPauses = chart.part === 'pauses';
    if (!charts.has(chart.part)) charts.set(chart.part, makeChart(chart, isPauses ? ['pause'] : curves.servers));
    const { plot, figures, element } = charts.get(chart.part);
    plot.setData(isPauses ? [curves.pauseTimes, curves.pauses] : [curves.times, ...curves[chart.part]]);
    showFigures(chart, plot, figures, element);
  }
}

window.addEventListener('resize', () => {
  for (const { plot, at } of charts.values()) plot.setSize({ width: at.clientWidth, height: HEIGHT });
});
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  dropCharts();
  if (latest.curves) drawCurves();
});
