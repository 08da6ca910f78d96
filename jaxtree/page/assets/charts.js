// Confusion matrix, ROC curves, and predictions beside targets, of what the sliders leave.

const FEW_CURVES = 7;

/** Rows by class and predicted class. */
function confusionChart(tree, sums, pruned) {
  const table = sums.confusion(pruned).map((line) => [...line]);
  const hasUnknown = table.at(-1).some((rows) => rows > 0);
  const root = new Pruned(tree, { ...NO_PRUNING, depth: 0 });
  const right = sums.quality(pruned).accuracy;
  return {
    kind: "grid",
    label: `Confusion matrix of the ${sums.set.name} rows`,
    names: [...tree.classes, ...(hasUnknown ? ["not seen in fit"] : [])],
    columns: tree.classes,
    cells: hasUnknown ? table : table.slice(0, -1),
    caption: `${percent(right)} of ${inWords(sums.total)} ${sums.set.name} rows are predicted correctly; without any split: ${percent(sums.quality(root).accuracy)}.`,
    value: right,
    table: sums.set.name,
  };
}

/** The ROC curve of a class against the others, and where these are few theirs behind it. */
function rocChart(tree, sums, pruned, chosen) {
  const few = tree.classes.length > 2 && tree.classes.length <= FEW_CURVES;
  const others = few ? tree.classes.map((_, label) => label).filter((label) => label !== chosen) : [];
  const curves = [...others, chosen].map((label) => ({ label, ...sums.roc(pruned, label) }));
  const { area } = curves.at(-1);
  const words = Number.isNaN(area) ? "no area: all rows are of one kind" : `area ${area.toFixed(4)}`;
  const caption = `${tree.classes[chosen]} against the rest, ${sums.set.name} rows: ${words}`;
  const series = curves
    .filter((curve) => !Number.isNaN(curve.area))
    .map(({ label, points }) => ({ kind: "line", name: "", colour: tree.colours[label], said: tree.classes[label], x: points.map(([x]) => x), y: points.map(([, y]) => y), isFaint: label !== chosen }));
  const ends = { low: 0, high: 1 };
  return { kind: "plot", label: `ROC curve of ${caption}`, x: { label: "false positive rate", ...ends }, y: { label: "true positive rate", ...ends }, series, isDiagonal: true, caption, value: area };
}

/** What is predicted of the first rows, by their targets. */
function predictionsChart(tree, sums, pruned) {
  const { end, target } = sums.set.shown;
  const predicted = end.map((node) => tree.nodes.mean[pruned.shown(tree, node)]);
  const rows = sums.set.shown.number ?? end.map((_, i) => i);
  const label = `Predictions against targets; ${scoreWords(sums, sums.quality(pruned))}`;
  return { kind: "plot", label, x: { label: "target" }, y: { label: "prediction" }, series: [{ kind: "dots", name: "", colour: "accent", x: target, y: predicted, rows }], isDiagonal: true, table: sums.set.name };
}
