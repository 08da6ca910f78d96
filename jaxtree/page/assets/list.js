// Charts of named lines below one another: bars, dots, and the swarms and steps of Shapley values.
//
// An item has a `name`, and perhaps `words` at its end, `bars` (pairs of ends, with a colour), `dots` (numbers, with a
// colour), a `swarm` (numbers and tones from 0 to 4, or null) and a `share` of the rows, a bar behind its name. The chart's
// `end` says what the words at the ends are. A swarm has the place of its `column`, and the chart the numbers of its `rows`.

const TONES = ["#0072b2", "#6a9fc4", "#9a8fa8", "#d07f6a", "#d55e00"];
const SWARM = 27;
const [BAR, TALL_BAR, FEW_BARS] = [24, 34, 6];
const MARGIN = 0.03;
const MOST_TOGETHER = 8;
const MOST_OF_NAMES = 0.42;

function listRange(chart) {
  const own = chart.items.flatMap((item) => [...(item.bars ?? []).flatMap(([from, to]) => [from, to]), ...(item.dots ?? []).map(([x]) => x), ...(item.swarm ? item.swarm.x : [])]);
  const known = finite(own);
  let low = chart.x?.low ?? known.reduce((a, b) => Math.min(a, b), Infinity);
  let high = chart.x?.high ?? known.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!Number.isFinite(low) || !Number.isFinite(high)) [low, high] = [0, 1];
  if (low === high) return [low - 0.5, high + 0.5];
  const room = (high - low) * MARGIN;
  const isMarked = chart.items.some((item) => item.dots || item.swarm);
  return isMarked ? [low - room, high + room] : [low, high];
}

/** Draws a list in a width. */
function listPicture(chart, width) {
  const names = Math.min(width * MOST_OF_NAMES, Math.max(...chart.items.map((item) => widthOf(item.name)), 20) + 2);
  const ends = Math.max(0, ...chart.items.map((item) => (item.words ? widthOf(item.words) + 10 : 0)));
  const [left, right] = [names + 12, ends + 10];
  const side = Math.max(40, width - left - right);
  const [low, high] = listRange(chart);
  const at = (x) => left + ((x - low) / (high - low)) * side;
  const lines = chart.items.map((item) => wrap(item.name, names, 3));
  const bar = chart.items.length > FEW_BARS ? BAR : TALL_BAR;
  const heights = lines.map((own, i) => Math.max(own.length * LINE + 6, chart.items[i].swarm ? Math.max(SWARM, bar) : bar));
  const head = chart.hasAxis === false ? 2 : 4;
  const body = heights.reduce((sum, own) => sum + own, 0);
  const foot = chart.hasAxis === false ? [] : chart.x?.label ? wrap(chart.x.label, width - 8, 2) : [];
  const height = head + body + (chart.hasAxis === false ? 2 : 20 + foot.length * LINE + 2);
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "plot", role: "img", "aria-label": chart.label ?? "" });
  if (chart.hasAxis !== false) listAxis(picture, chart, { at, low, high, left, side, width, bottom: head + body, foot, top: head });
  let top = head;
  const marks = [];
  chart.items.forEach((item, i) => {
    const middle = top + heights[i] / 2;
    if (item.share !== undefined) picture.append(draw("rect", { class: "strip", x: left - 4 - names * item.share, y: top + 2, width: names * item.share, height: heights[i] - 4, rx: 2 }));
    picture.append(textAt(left - 8, middle - (lines[i].length * LINE) / 2 + 10, lines[i], { anchor: "end", whole: item.name, klass: "tick name" }));
    for (const part of listMarks(item, at, middle)) picture.append(part);
    marks.push(...marksOfItem(chart, item, { at, middle, line: i }));
    if (item.words) picture.append(textAt(width - 2, middle + 3.5, [item.words], { anchor: "end", klass: "tick name" }));
    top += heights[i];
  });
  return readable(picture, marks);
}

/** The marks of a line: one for a swarm's every dot and for each of many dots, otherwise one in all. */
function marksOfItem(chart, item, { at, middle, line }) {
  const value = (number) => `${nameOf(chart.x ?? {})} ${inWords(number)}`.trim();
  if (item.swarm) {
    const { x, column } = item.swarm;
    const said = (row, i) => [`row ${row}`, `${item.name} ${cellOf(chart.table, column, row)}`, value(x[i])];
    return swarmPlaces(item.swarm, at, middle).map(([left, y], i) => ({ x: left, y, line, words: said(chart.rows[i], i), act: actOf(chart, chart.rows[i]) })).sort((a, b) => a.x - b.x);
  }
  const named = (colour) => (chart.legend ?? []).find((own) => own.colour === colour)?.name;
  const dots = (item.dots ?? []).filter(([x]) => x !== null);
  const told = dots.map(([x, colour]) => (named(colour) ? `${named(colour)}: ${inWords(x)}` : value(x)));
  const together = chart.legend || dots.length < 2 ? told : [`${value(dots[0][0])}${dots.slice(1).map(([x]) => `, ${inWords(x)}`).join("")}`];
  const end = item.words ? [`${item.words}${chart.end ? ` ${chart.end}` : ""}`] : [];
  if (dots.length > MOST_TOGETHER) return dots.map(([x], i) => ({ x: at(x), y: middle, line, words: [item.name, told[i]] })).sort((a, b) => a.x - b.x);
  const bars = item.bars ?? [];
  const ranges = bars.filter(([from]) => from !== 0).map(([from, to]) => `from ${inWords(Math.min(from, to))} to ${inWords(Math.max(from, to))}`);
  const box = bars.length ? [Math.min(...bars.flat().filter(Number.isFinite).map(at)), middle - 6, 0, 12] : null;
  if (box) box[2] = Math.max(...bars.flat().filter(Number.isFinite).map(at)) - box[0];
  const x = dots.length ? at(dots.at(-1)[0]) : box ? box[0] + box[2] / 2 : at(0);
  return [{ x, y: middle, line, words: [item.name, ...together, ...ranges, ...end], box, isWide: true }];
}

function listAxis(picture, chart, { at, low, high, left, side, width, bottom, foot, top }) {
  for (const [tick, words] of fittingTicks(chart.x ?? {}, low, high, side, false)) {
    const half = widthOf(words) / 2;
    picture.append(draw("line", { class: tick === 0 ? "zero" : "grid", x1: at(tick), x2: at(tick), y1: top, y2: bottom + 4 }));
    picture.append(textAt(Math.min(Math.max(at(tick), half), width - half), bottom + 16, [words]));
  }
  if (!foot.length) return;
  const half = Math.max(...foot.map((line) => widthOf(line))) / 2;
  picture.append(textAt(Math.min(Math.max(left + side / 2, half + 2), width - half - 2), bottom + 18 + LINE, foot, { whole: chart.x.label }));
}

function* listMarks(item, at, middle) {
  for (const [from, to, colour] of item.bars ?? []) {
    const [x0, x1] = [Math.min(at(from), at(to)), Math.max(at(from), at(to))];
    yield draw("rect", { x: x0.toFixed(1), y: middle - 5, width: Math.max(x1 - x0, 1.2).toFixed(1), height: 10, rx: 2, fill: colourOf(colour) });
  }
  for (const [x, colour] of item.dots ?? []) {
    if (x !== null) yield draw("circle", { cx: at(x).toFixed(1), cy: middle, r: 4, fill: colourOf(colour) });
  }
  if (item.swarm) yield* swarmOf(item.swarm, at, middle);
}

/** The places of a swarm's dots: those of one number stand above and below one another. */
function swarmPlaces({ x }, at, middle) {
  const stacks = new Map();
  const places = x.map((value) => {
    const column = Math.round(at(value) / 3);
    const number = stacks.get(column) ?? 0;
    stacks.set(column, number + 1);
    return [column, number];
  });
  const room = SWARM / 2 - 3;
  const step = Math.min(2.6, (2 * room) / Math.max(...stacks.values(), 1));
  return places.map(([column, number]) => [column * 3, middle + step * Math.ceil(number / 2) * (number % 2 ? 1 : -1)]);
}

function swarmOf(swarm, at, middle) {
  const paths = new Map();
  swarmPlaces(swarm, at, middle).forEach(([x, y], i) => {
    const colour = swarm.tone[i] === null ? "var(--soft)" : TONES[swarm.tone[i]];
    paths.set(colour, `${paths.get(colour) ?? ""}M${x.toFixed(0)} ${y.toFixed(1)}h0`);
  });
  return [...paths].map(([colour, d]) => draw("path", { class: "dots", d, stroke: colour, "stroke-width": 3.2 }));
}
