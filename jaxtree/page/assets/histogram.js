// Histograms of the column that a node asks for.

/** As many categories have their names below their bars. */
const FEW_CATEGORIES = 5;

/** A drawing of bars, a stack of classes for each, and a line at the threshold; null where no row comes. */
function histogramPicture(tree, node, width, height) {
  const histogram = tree.histograms[node];
  if (!histogram) return null;
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const { bars } = histogram;
  const tallest = Math.max(...bars.map((bar) => bar.reduce((sum, rows) => sum + rows, 0)), 1);
  const step = width / bars.length;
  const gap = step > 4 ? 1 : 0;
  const stacks = bars[0].map(() => "");
  bars.forEach((bar, i) => {
    let top = height;
    bar.forEach((rows, stack) => {
      if (!rows) return;
      const tall = (rows / tallest) * (height - 1);
      top -= tall;
      stacks[stack] += `M${(i * step).toFixed(2)} ${top.toFixed(2)}h${(step - gap).toFixed(2)}v${tall.toFixed(2)}h${(gap - step).toFixed(2)}z`;
    });
  });
  stacks.forEach((d, stack) => d && picture.append(draw("path", { d, fill: tree.colours[stack] })));
  const threshold = tree.nodes.threshold[node];
  if (threshold !== null && histogram.high > histogram.low) {
    const x = (width * (threshold - histogram.low)) / (histogram.high - histogram.low);
    picture.append(draw("line", { x1: x, x2: x, y1: 0, y2: height, class: "threshold", "vector-effect": "non-scaling-stroke" }));
  }
  return picture;
}

/** The marks of a drawing of 300 by 90: the rows of every bar, by class. */
function histogramMarks(tree, node, end) {
  const { bars, low, high } = tree.histograms[node];
  const { name, categories } = tree.columns[tree.nodes.column[node]];
  const edge = (i) => low + ((high - low) * i) / bars.length;
  return bars.map((bar, i) => {
    const of = categories ? `${name} ${end(edge(i), 0.5)}` : `${name} ${end(edge(i), 0)} to ${end(edge(i + 1), 0)}`;
    const counts = bar.flatMap((rows, stack) => (rows && tree.isOfClasses ? [`${inWords(rows)} of ${stack === bar.length - 1 && tree.classes.length > bar.length ? "other classes" : tree.classes[stack] ?? "unknown classes"}`] : []));
    const all = inRows(bar.reduce((sum, rows) => sum + rows, 0));
    return { x: (300 * (i + 0.5)) / bars.length, y: 45, box: [(300 * i) / bars.length, 0, 300 / bars.length, 90], line: 0, isTall: true, words: [of, all, ...counts] };
  });
}

/** The same with a caption and the ends of its axis. */
function histogramFigure(tree, node) {
  const histogram = tree.histograms[node];
  const picture = histogram && histogramPicture(tree, node, 300, 90);
  if (!picture) return null;
  const { categories } = tree.columns[tree.nodes.column[node]];
  const names = categories && histogram.bars.length === categories.length && categories.length <= FEW_CATEGORIES ? categories : null;
  const digits = digitsBetween(histogram.low, histogram.high);
  const end = (value, shift) => (categories ? categories[Math.round(value + shift)] : inWords(value, digits));
  const limit = tree.nodes.limit[node];
  readable(picture, histogramMarks(tree, node, end));
  const ends = [end(histogram.low, 0.5), end(histogram.high, -0.5)];
  const middle = limit === null ? "" : `split at ${limit}`;
  const missing = histogram.missing ? ` ${inWords(histogram.missing)} missing.` : "";
  return make(
    "figure", { class: "histogram" },
    picture,
    make("div", { class: names ? "axis of-categories" : "axis", "aria-hidden": "true" }, ...(names ?? [ends[0], middle, ends[1]]).map((words) => make("span", { class: "cut" }, words))),
    make("figcaption", { class: "cut" }, `${tree.columnName(node)} of the rows here: ${names ? names.join(", ") : `from ${ends[0]} to ${ends[1]}`}${middle && `, ${middle}`}.${missing}`),
  );
}
