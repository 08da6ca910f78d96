// Charts of two axes: lines, steps, dots, bars and bands over numbers, drawn in the pixels of their place.
//
// A chart is given by `x` and `y` (a label, and perhaps `low`, `high`, `isWhole` and `ticks`, which are pairs of a number
// and words), `series` (`kind`, `name`, `colour`, `x`, `y`, of bands and bars also `y0`), `below` (a histogram below the
// box: edges and counts, and perhaps other numbers of rows), `mark` (a number of the x axis) and `isDiagonal` (whether a line shows where both are alike).
// Dots may have `rows`, the numbers of the rows of the chart's `table`; a series that the legend leaves out may have a
// name in `said`, and `ends`, intervals of its numbers.

// The x axis may have a `scale`: numbers and their places from 0 to 1, between which it is linear.

const HEIGHT = 230;
const STRIP = 34;

const finite = (values) => values.filter((value) => value !== null && Number.isFinite(value));

/** The least and greatest number that a chart shows on an axis. */
function rangeOf(chart, axis) {
  const own = chart.series.flatMap((series) => finite([...series[axis], ...((axis === "y" && series.y0) || []), ...(axis === "x" && series.x1 ? series.x1 : [])]));
  if (chart.isDiagonal) own.push(...chart.series.flatMap((series) => finite([...series.x, ...series.y])));
  if (axis === "x" && chart.below) own.push(chart.below.edges[0], chart.below.edges.at(-1));
  let low = chart[axis].low ?? own.reduce((a, b) => Math.min(a, b), Infinity);
  let high = chart[axis].high ?? own.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!Number.isFinite(low) || !Number.isFinite(high)) [low, high] = [0, 1];
  if (low === high) [low, high] = low === 0 ? [-1, 1] : [low - Math.abs(low) / 10, high + Math.abs(high) / 10];
  return [low, high];
}

/** The ticks of an axis with their words, of which none runs into the next. */
function fittingTicks(axis, low, high, length, isWide) {
  if (axis.ticks) {
    const inside = axis.ticks.filter(([at]) => at >= low && at <= high);
    const widest = Math.max(0, ...inside.map(([, words]) => widthOf(words))) + 14;
    const most = Math.max(1, Math.floor(length / widest));
    const step = Math.ceil(inside.length / most);
    return inside.filter((_, i) => i % step === 0);
  }
  for (let wanted = isWide ? 4 : 6; ; wanted -= 1) {
    const ticks = roundTicks(low, high, wanted, { isWhole: axis.isWhole, isWide });
    const words = tickWords(ticks);
    const widest = Math.max(...words.map((word) => widthOf(word))) + 12;
    if (isWide || wanted <= 1 || widest * ticks.length <= length) return ticks.map((tick, i) => [tick, words[i]]);
  }
}

/** The place of a number on a scale. */
function placeOn([numbers, places], x) {
  const i = Math.min(Math.max(1, numbers.findIndex((number) => number >= x)), numbers.length - 1);
  const last = x >= numbers.at(-1) ? numbers.length - 1 : i;
  const share = (x - numbers[last - 1]) / (numbers[last] - numbers[last - 1]);
  return places[last - 1] + Math.min(Math.max(share, 0), 1) * (places[last] - places[last - 1]);
}

/** Draws a chart in a width. */
function plotPicture(chart, width) {
  const [yLow, yHigh] = rangeOf(chart, "y");
  const up = fittingTicks(chart.y, yLow, yHigh, HEIGHT, chart.y.low === undefined || chart.y.high === undefined);
  const [low, high] = [Math.min(yLow, up[0][0]), Math.max(yHigh, up.at(-1)[0])];
  const [xLow, xHigh] = rangeOf(chart, "x");
  const left = Math.ceil(Math.max(...up.map(([, words]) => widthOf(words)))) + 9;
  const right = 12;
  const side = Math.max(60, width - left - right);
  const head = chart.y.label ? wrap(chart.y.label, width - 4, 2) : [];
  const top = head.length * LINE + 8;
  const strip = chart.below ? STRIP : 0;
  const foot = chart.x.label ? wrap(chart.x.label, side, 2) : [];
  const height = top + HEIGHT + strip + 20 + foot.length * LINE + 2;
  const at = (x) => left + (chart.x.scale ? placeOn(chart.x.scale, x) : (x - xLow) / (xHigh - xLow)) * side;
  const above = (y) => top + HEIGHT - ((y - low) / (high - low)) * HEIGHT;
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "plot", role: "img", "aria-label": chart.label ?? "" });
  if (head.length) picture.append(textAt(0, 10, head, { anchor: "start", whole: chart.y.label }));
  for (const [tick, words] of up) {
    const y = above(tick);
    picture.append(draw("line", { class: "grid", x1: left, x2: left + side, y1: y, y2: y }), textAt(left - 6, y + 3.5, [words], { anchor: "end" }));
  }
  const base = top + HEIGHT + strip;
  for (const [tick, words] of fittingTicks(chart.x, xLow, xHigh, side, false)) {
    const half = widthOf(words) / 2;
    const x = Math.min(Math.max(at(tick), half), width - half);
    picture.append(draw("line", { class: "grid", x1: at(tick), x2: at(tick), y1: top, y2: base + 4 }), textAt(x, base + 16, [words]));
  }
  if (foot.length) picture.append(textAt(left + side / 2, base + 18 + LINE, foot, { whole: chart.x.label }));
  if (strip) picture.append(stripOf(chart.below, at, base));
  if (chart.isDiagonal) {
    const [from, to] = [Math.max(xLow, low), Math.min(xHigh, high)];
    picture.append(draw("line", { class: "chance", x1: at(from), x2: at(to), y1: above(from), y2: above(to) }));
  }
  for (const series of chart.series) picture.append(SHAPES[series.kind](series, at, above, { base: above(Math.max(low, Math.min(0, high))) }));
  if (chart.mark !== undefined && chart.mark !== null) picture.append(draw("line", { class: "mark", x1: at(chart.mark), x2: at(chart.mark), y1: top, y2: top + HEIGHT }));
  return readable(picture, plotMarks(chart, at, above, above(Math.max(low, Math.min(0, high)))));
}

/** The marks of all series: lines over the same numbers have theirs together. */
function plotMarks(chart, at, above, base) {
  const shown = chart.series.filter((own) => !(own.isDashed && !own.name && own.x.length === 2));
  const groups = new Map();
  for (const own of shown) {
    const key = own.kind === "bars" || own.rows ? own : JSON.stringify(own.x);
    groups.set(key, [...(groups.get(key) ?? []), own]);
  }
  return [...groups.values()].flatMap((group, line) => group[0].x.flatMap((_, i) => markOf(chart, group, i, { at, above, base, line }) ?? []));
}

/** The mark at a place of series over the same numbers; null where none of them has a number. */
function markOf(chart, group, i, { at, above, base, line }) {
  const known = group.filter((own) => own.x[i] !== null && own.y[i] !== null && !(own.kind === "dots" && group.some((other) => other.kind !== "dots" && String(other.y) === String(own.y))));
  if (!known.length) return null;
  const own = known.find((other) => other.kind !== "band") ?? known[0];
  const { kind, x, x1 } = own;
  const isStep = kind === "steps" && i + 1 < x.length && !chart.x.isWhole;
  const [from, to] = [x[i], kind === "bars" ? x1[i] : isStep ? x[i + 1] : x[i]];
  const range = from === to ? onAxis(chart.x, from) : `${onAxis(chart.x, from)} to ${onAxis(chart.x, to)}`;
  const values = known.filter((other) => other.kind !== "band").map((other) => {
    const ends = other.ends ? `; interval ${onAxis(chart.y, other.ends[0][i])} to ${onAxis(chart.y, other.ends[1][i])}` : "";
    return `${other.said || other.name || nameOf(chart.y)} ${onAxis(chart.y, other.y[i])}${ends}`;
  });
  const bands = known.filter((other) => other.kind === "band" && !own.ends).map((other) => `between ${onAxis(chart.y, other.y0[i])} and ${onAxis(chart.y, other.y[i])}`);
  const words = [`${nameOf(chart.x)} ${range}`, ...values, ...bands, ...rowsBelow(chart, (from + to) / 2)];
  const row = own.rows?.[i];
  if (row !== undefined) words.unshift(`row ${row}`);
  const mark = { x: at((from + to) / 2), y: above(own.y[i]), line, words, isTall: kind !== "dots" };
  if (kind === "bars") return { ...mark, box: [at(from), Math.min(mark.y, base), at(to) - at(from), Math.abs(base - mark.y)] };
  return { ...mark, dots: known.filter((other) => other.kind !== "band").map((other) => above(other.y[i])), act: row === undefined ? null : actOf(chart, row) };
}

/** How many rows the bar below a number has. */
function rowsBelow(chart, x) {
  if (!chart.below) return [];
  const { edges, counts, rows = counts } = chart.below;
  const bin = edges.findIndex((edge, i) => i < counts.length && x >= edge && (x < edges[i + 1] || i === counts.length - 1));
  return bin < 0 ? [] : [`${inRows(rows[bin])} from ${onAxis(chart.x, edges[bin])} to ${onAxis(chart.x, edges[bin + 1])}`];
}

/** The histogram below the box. */
function stripOf({ edges, counts }, at, base) {
  const tallest = Math.max(...counts, 1);
  const d = counts.map((count, i) => barPath(at(edges[i]) + 0.5, at(edges[i + 1]) - 0.5, base, base - (count / tallest) * (STRIP - 6))).join("");
  return draw("path", { class: "strip", d });
}

const barPath = (x0, x1, y0, y1) => (Math.abs(y1 - y0) < 0.05 ? "" : `M${x0.toFixed(1)} ${y0.toFixed(1)}V${y1.toFixed(1)}H${Math.max(x1, x0 + 0.5).toFixed(1)}V${y0.toFixed(1)}z`);

/** The path through points, which begins anew behind a gap. */
function linePath(xs, ys, at, above, isSteps) {
  let d = "";
  let isOpen = false;
  xs.forEach((x, i) => {
    const y = ys[i];
    if (x === null || y === null) {
      isOpen = false;
      return;
    }
    const [px, py] = [at(x).toFixed(1), above(y).toFixed(1)];
    d += !isOpen ? `M${px} ${py}h0` : isSteps ? `H${px}V${py}` : `L${px} ${py}`;
    isOpen = true;
  });
  return d;
}

const strokeOf = (series) => ({ class: `curve ${series.isFaint ? "faint" : "chosen"}`, stroke: colourOf(series.colour), "stroke-dasharray": series.isDashed ? "5 4" : null });

/** Colours of the theme have names: "accent", "ink", "soft", "adds", "takes". */
const colourOf = (colour) => (colour.startsWith("#") ? colour : `var(--${colour})`);

const SHAPES = {
  line: (series, at, above) => draw("path", { ...strokeOf(series), d: linePath(series.x, series.y, at, above, false) }),
  steps: (series, at, above) => draw("path", { ...strokeOf(series), d: linePath(series.x, series.y, at, above, true) }),
  dots: (series, at, above) => {
    const d = series.x.map((x, i) => (x === null || series.y[i] === null ? "" : `M${at(x).toFixed(1)} ${above(series.y[i]).toFixed(1)}h0`)).join("");
    const opacity = series.x.length > 500 ? 0.25 : series.x.length > 60 ? 0.5 : 1;
    return draw("path", { class: "dots", d, stroke: colourOf(series.colour), "stroke-opacity": opacity, "stroke-width": series.x.length > 60 ? 5 : 7 });
  },
  bars: (series, at, above, { base }) => {
    const d = series.x.map((x, i) => barPath(at(x) + 0.5, at(series.x1[i]) - 0.5, base, above(series.y[i]))).join("");
    return draw("path", { d, fill: colourOf(series.colour), "fill-opacity": 0.8 });
  },
  band: (series, at, above) => {
    const point = (x, y) => `L${at(x).toFixed(1)} ${above(y).toFixed(1)}`;
    const step = (x, i) => (series.isSteps && i ? point(x, series.y0[i - 1]) : "");
    const back = series.x.map((x, i) => point(x, series.y0[i]) + step(x, i)).reverse();
    return draw("path", { d: `${linePath(series.x, series.y, at, above, series.isSteps)}${back.join("")}z`, fill: colourOf(series.colour), "fill-opacity": 0.15 });
  },
};
