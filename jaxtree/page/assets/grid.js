// A table of counts as a drawing: rows by their class and the one that is predicted, each cell shaded by its share.

const MOST_CELL = 150;
const MOST_TALL = 44;

/** Draws it in a width; where names have no room above the columns, numbers stand there and before the names. */
function gridPicture(chart, width) {
  const { names, columns } = chart;
  const sums = chart.cells.map((row) => row.reduce((sum, count) => sum + count, 0));
  const recall = widthOf("100.0%") + 10;
  const longest = Math.max(...names.map((name) => widthOf(name)));
  const room = Math.min(longest + 4, Math.max(width * 0.34, 60));
  const wide = Math.min(MOST_CELL, (width - room - recall - 14) / columns.length);
  const heads = columns.map((name) => wrap(name, wide - 6, 3));
  const isNumbered = columns.some((name, i) => piecesOf(name).some((piece) => widthOf(piece.trim()) > wide - 6) || heads[i].join("").replaceAll(" ", "") !== name.replaceAll(" ", ""));
  const prefix = (i) => (isNumbered && i < columns.length ? `${i + 1} ` : "");
  const indent = isNumbered ? widthOf(`${columns.length} `) : 0;
  const left = Math.max(room + indent, widthOf("truth") + 8);
  const cell = Math.min(MOST_CELL, (width - left - recall - 14) / columns.length);
  const every = isNumbered ? Math.ceil((widthOf(String(columns.length)) + 4) / cell) : 1;
  const shown = isNumbered ? columns.map((_, i) => (i % every ? [] : [String(i + 1)])) : columns.map((name) => wrap(name, cell - 6, 3));
  const lines = names.map((name, i) => wrap(name, left - indent, 2).map((line, at) => (at ? line : prefix(i) + line)));
  const tall = lines.map((line) => Math.max(line.length * LINE + 3, Math.min(cell, 260 / lines.length, MOST_TALL), 15));
  const head = LINE + 6 + Math.max(...shown.map((line) => line.length), 1) * LINE + 4;
  const height = head + tall.reduce((sum, part) => sum + part, 0) + 4;
  const start = left + 10;
  const edge = Math.min(width - 1, start + cell * columns.length + recall);
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "plot", role: "img", "aria-label": chart.label });
  const above = wrap("predicted", Math.max(cell * columns.length, 60), 1);
  picture.append(textAt(0, 10, ["truth"], { anchor: "start" }), textAt(start, 10, above, { anchor: "start" }), textAt(edge, 10, ["right"], { anchor: "end" }));
  shown.forEach((line, i) => line.length && picture.append(textAt(start + cell * (i + 0.5), head - 8 - (line.length - 1) * LINE, line, { whole: columns[i] })));
  let top = head;
  const marks = [];
  chart.cells.forEach((row, i) => {
    picture.append(textAt(left, top + tall[i] / 2 - (lines[i].length * LINE) / 2 + 10, lines[i], { anchor: "end", whole: prefix(i) + names[i], klass: "tick name" }));
    row.forEach((count, j) => {
      const share = sums[i] ? count / sums[i] : 0;
      const box = draw("rect", { "data-rows": count, class: i === j ? "cell right" : "cell wrong", style: `--share: ${share.toFixed(3)}`, x: (start + cell * j).toFixed(1), y: top.toFixed(1), width: Math.max(cell - 1.5, 1).toFixed(1), height: (tall[i] - 1.5).toFixed(1), rx: Math.min(4, cell / 5) });
      const words = [`truth ${names[i]}, predicted ${columns[j]}`, `${inRows(count)}, ${percent(share)} of ${names[i]}`];
      const corner = [start + cell * j, top, Math.max(cell - 1.5, 1), tall[i] - 1.5];
      marks.push({ x: start + cell * (j + 0.5), y: top + tall[i] / 2, box: corner, line: i, words, act: count ? actOf(chart, [names[i], columns[j]]) : null });
      picture.append(box);
      const number = inWords(count);
      if (count && widthOf(number) + 4 < cell) picture.append(textAt(start + cell * (j + 0.5) - 0.75, top + tall[i] / 2 + 3, [number], { klass: "tick count" }));
    });
    if (sums[i] && i < columns.length) picture.append(textAt(edge, top + tall[i] / 2 + 3, [percent(row[i] / sums[i])], { anchor: "end" }));
    top += tall[i];
  });
  return readable(picture, marks);
}
