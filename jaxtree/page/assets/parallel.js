// Parallel coordinates: an axis a parameter and one of scores, and a line a setting through its values.
//
// A chart has `axes` (as those of a plot), `lines` (a place `at` every axis, or null, a `colour` and `words`) and `legend`.
// A narrow page has the first axes and the last one. A line that is read comes out.

const [PARALLEL_HEIGHT, NARROWEST_AXIS] = [300, 92];

/** The numbers of the axes that have room. */
function fittingAxes(number, width) {
  const most = Math.max(2, Math.floor(width / NARROWEST_AXIS));
  const every = Array.from({ length: number }, (_, i) => i);
  return number <= most ? every : [...every.slice(0, most - 1), number - 1];
}

/** Draws parallel coordinates in a width. */
function parallelPicture(chart, width) {
  const shown = fittingAxes(chart.axes.length, width);
  const step = width / shown.length;
  const names = shown.map((place) => wrap(chart.axes[place].label, step - 10, 3));
  const top = Math.max(...names.map((own) => own.length)) * LINE + 12;
  const height = top + PARALLEL_HEIGHT + 14 + LINE;
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "plot", role: "img", "aria-label": chart.label });
  const xs = shown.map((_, i) => i * step + 14);
  const scales = shown.map((place) => heightsOf(chart, place, top));
  const lines = draw("g", {});
  const marks = [];
  picture.append(lines);
  shown.forEach((place, i) => {
    picture.append(draw("line", { class: "zero", x1: xs[i], x2: xs[i], y1: top, y2: top + PARALLEL_HEIGHT }));
    picture.append(textAt(xs[i] - 12, 10, names[i], { anchor: "start", whole: chart.axes[place].label, klass: "tick name" }));
    for (const [at, word] of scales[i].ticks) picture.append(textAt(xs[i] + 5, scales[i].above(at) + 3.5, wrap(word, step - 12, 1), { anchor: "start", whole: word }));
  });
  chart.lines.forEach((own, line) => {
    const heights = shown.map((place, i) => (own.at[place] === null ? null : scales[i].above(own.at[place])));
    const d = linePath(xs, heights, (x) => x, (y) => y, false);
    const isSoft = own.colour === "soft";
    lines.append(draw("path", { class: `curve ${isSoft ? "faint" : "chosen"}`, d, stroke: colourOf(own.colour), "stroke-opacity": isSoft ? 0.35 : 1 }));
    heights.forEach((y, i) => y !== null && marks.push({ x: xs[i], y, line, trace: d, words: own.words.split("; ") }));
  });
  const left = chart.axes.length - shown.length;
  if (left) picture.append(textAt(0, height - 4, [`${left} less important parameter${left > 1 ? "s are" : " is"} not shown.`], { anchor: "start" }));
  return readable(picture, marks);
}

/** The ticks of an axis, and the height of a number on it. */
function heightsOf(chart, place, top) {
  const axis = chart.axes[place];
  const own = finite(chart.lines.map((line) => line.at[place]));
  let low = axis.low ?? own.reduce((a, b) => Math.min(a, b), Infinity);
  let high = axis.high ?? own.reduce((a, b) => Math.max(a, b), -Infinity);
  if (!(high > low)) [low, high] = [low - 0.5, low + 0.5];
  const ticks = axis.ticks ? axis.ticks.filter(([at]) => at >= low - 1e-9 && at <= high + 1e-9) : roundTicks(low, high, 5, { isWhole: axis.isWhole });
  const every = Math.ceil(ticks.length / Math.floor(PARALLEL_HEIGHT / (2 * LINE)));
  const kept = ticks.filter((_, i) => i % every === 0);
  const words = axis.ticks ? [] : tickWords(kept);
  return { ticks: axis.ticks ? kept : kept.map((tick, i) => [tick, words[i]]), above: (y) => top + PARALLEL_HEIGHT - ((y - low) / (high - low)) * PARALLEL_HEIGHT };
}
