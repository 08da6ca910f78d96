// Confusion matrix, ROC curves, and predictions beside targets, of what the sliders leave.

const MOST_CLASSES_OF_MATRIX = 40;

/** Rows by class and predicted class, as a table whose cells are the darker the greater their share of a line. */
function confusionTable(tree, sums, pruned) {
  if (tree.classes.length > MOST_CLASSES_OF_MATRIX) return make("p", { class: "soft" }, `Left out: ${tree.classes.length} classes are too many for a table.`);
  const table = sums.confusion(pruned);
  const names = [...tree.classes, "not seen in fit"];
  const lines = table.flatMap((line, truth) => {
    const whole = line.reduce((sum, rows) => sum + rows, 0);
    if (truth === tree.classes.length && !whole) return [];
    const cells = [...line].map((rows, predicted) => {
      const cell = make("td", { class: truth === predicted ? "right" : "wrong" }, inWords(rows));
      cell.style.setProperty("--share", whole ? rows / whole : 0);
      return cell;
    });
    return [make("tr", {}, make("th", { scope: "row", class: "cut" }, names[truth]), ...cells, make("td", { class: "recall" }, whole ? percent((line[truth] ?? 0) / whole) : "–"))];
  });
  const head = make("tr", {}, make("th", { scope: "col" }, "class"), ...tree.classes.map((name) => make("th", { scope: "col", class: "cut" }, name)), make("th", { scope: "col" }, "recall"));
  const caption = make("caption", {}, `${sums.set.name} rows, by class and by prediction`);
  return make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Confusion matrix, may be scrolled sideways" }, make("table", { class: "confusion" }, caption, make("thead", {}, head), make("tbody", {}, ...lines)));
}

/** The ROC curve of every class against the others, one of them told apart. */
function rocPicture(tree, sums, pruned, chosen) {
  const size = 260;
  const labels = tree.classes.length === 2 ? [chosen] : tree.classes.map((_, label) => label);
  const picture = draw("svg", { viewBox: `-46 -8 ${size + 58} ${size + 44}`, class: "chart", role: "img" });
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const [x, y] = [part * size, size - part * size];
    picture.append(draw("line", { x1: x, x2: x, y1: 0, y2: size, class: "grid" }), draw("line", { x1: 0, x2: size, y1: y, y2: y, class: "grid" }));
    picture.append(draw("text", { x, y: size + 14, class: "tick", "text-anchor": "middle" }, `${part}`));
    if (part) picture.append(draw("text", { x: -5, y: y + 3.5, class: "tick", "text-anchor": "end" }, `${part}`));
  }
  picture.append(draw("line", { x1: 0, y1: size, x2: size, y2: 0, class: "chance" }));
  const curve = (label) => {
    const { points, area } = sums.roc(pruned, label);
    const isChosen = label === chosen;
    const d = points.map(([x, y], i) => `${i ? "L" : "M"}${(x * size).toFixed(1)} ${((1 - y) * size).toFixed(1)}`).join("");
    if (!Number.isNaN(area)) picture.append(draw("path", { d, class: isChosen ? "curve chosen" : "curve", stroke: tree.colours[label] }));
    return area;
  };
  const areas = new Map(labels.filter((label) => label !== chosen).map((label) => [label, curve(label)]));
  areas.set(chosen, curve(chosen));
  const area = areas.get(chosen);
  picture.append(draw("text", { x: size / 2, y: size + 30, class: "tick", "text-anchor": "middle" }, "false positive rate"));
  picture.append(draw("text", { x: -36, y: size / 2, class: "tick", "text-anchor": "middle", transform: `rotate(-90 -36 ${size / 2})` }, "true positive rate"));
  const words = Number.isNaN(area) ? "no area: all rows are of one kind" : `area ${area.toFixed(4)}`;
  picture.setAttribute("aria-label", `ROC curve of ${tree.classes[chosen]} on ${sums.set.name} rows, ${words}`);
  return make("figure", {}, picture, make("figcaption", { "data-area": area, class: "cut" }, `${tree.classes[chosen]} against the rest, ${sums.set.name} rows: ${words}`));
}

/** Draws what is predicted of the first rows against their targets. */
function drawPredictions(canvas, tree, set, pruned) {
  const { end, target } = set.shown;
  const predicted = end.map((node) => tree.nodes.mean[pruned.shown(tree, node)]);
  const low = Math.min(...target, ...predicted);
  const high = Math.max(...target, ...predicted);
  const scale = window.devicePixelRatio || 1;
  const size = canvas.clientWidth;
  const left = 46;
  const bottom = 34;
  canvas.width = size * scale;
  canvas.height = size * scale;
  canvas.style.height = `${size}px`;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const side = size - left - 10;
  const place = (value) => (high > low ? ((value - low) / (high - low)) * side : side / 2);
  pen.strokeStyle = themeColour("--line");
  pen.fillStyle = themeColour("--soft");
  pen.font = "11px system-ui, sans-serif";
  for (const part of [0, 0.25, 0.5, 0.75, 1]) {
    const at = part * side;
    pen.beginPath();
    pen.moveTo(left + at, 10);
    pen.lineTo(left + at, 10 + side);
    pen.moveTo(left, 10 + side - at);
    pen.lineTo(left + side, 10 + side - at);
    pen.stroke();
    pen.textAlign = "center";
    pen.fillText(inWords(low + part * (high - low), digitsBetween(low, high, 3)), left + at, 24 + side);
    pen.textAlign = "right";
    pen.fillText(inWords(low + part * (high - low), digitsBetween(low, high, 3)), left - 5, 14 + side - at);
  }
  pen.strokeStyle = themeColour("--soft");
  pen.beginPath();
  pen.moveTo(left, 10 + side);
  pen.lineTo(left + side, 10);
  pen.stroke();
  pen.textAlign = "center";
  pen.fillText("target", left + side / 2, size - bottom + 28);
  pen.save();
  pen.translate(9, 10 + side / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText("predicted", 0, 0);
  pen.restore();
  pen.fillStyle = themeColour("--accent");
  pen.globalAlpha = target.length > 500 ? 0.25 : 0.5;
  target.forEach((truth, row) => {
    pen.beginPath();
    pen.arc(left + place(truth), 10 + side - place(predicted[row]), 2.6, 0, 2 * Math.PI);
    pen.fill();
  });
}
