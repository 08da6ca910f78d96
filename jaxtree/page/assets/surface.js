// Surfaces of two columns: a cell a pair of bins, blue where it adds and orange where it takes, and one that is marked.
//
// A chart is given by `x` and `y` (a label and the words of the bins), `values` and `weight` (by the bins of x, within
// them those of y) and `mark` (a pair of bins).

const SHADES = 12;
const PALE = 0.4;
const TALLEST = 300;

/** The places of some bins whose words have room. */
function fewPlaces(number, most) {
  const step = Math.max(1, Math.ceil(number / Math.max(1, most)));
  return Array.from({ length: Math.ceil(number / step) }, (_, i) => i * step);
}

function surfacePicture(chart, width) {
  const [across, up] = [chart.x.words.length, chart.y.words.length];
  const upPlaces = fewPlaces(up, TALLEST / 22);
  const left = Math.ceil(Math.min(width * 0.3, Math.max(...upPlaces.map((i) => widthOf(chart.y.words[i]))))) + 10;
  const side = Math.max(60, width - left - 8);
  const head = wrap(chart.y.label, width - 4, 2);
  const foot = wrap(chart.x.label, side, 2);
  const top = head.length * LINE + 8;
  const tall = Math.min(TALLEST, Math.max(90, up * 26));
  const picture = draw("svg", { viewBox: `0 0 ${width} ${top + tall + 20 + foot.length * LINE + 2}`, width, height: top + tall + 20 + foot.length * LINE + 2, class: "plot", role: "img", "aria-label": chart.label });
  picture.append(textAt(0, 10, head, { anchor: "start", whole: chart.y.label }));
  const [wide, high] = [side / across, tall / up];
  const corner = (i, j) => [left + i * wide, top + tall - (j + 1) * high];
  const most = Math.max(...chart.values.map(Math.abs), 1e-300);
  const paths = new Map();
  chart.values.forEach((value, cell) => {
    const shade = Math.round((value / most) * SHADES);
    if (!shade) return;
    const [x, y] = corner(Math.floor(cell / up), cell % up);
    const key = `${shade},${chart.weight[cell] > 0 ? 1 : 0}`;
    paths.set(key, `${paths.get(key) ?? ""}M${x.toFixed(2)} ${y.toFixed(2)}h${wide.toFixed(2)}v${high.toFixed(2)}h-${wide.toFixed(2)}z`);
  });
  picture.append(draw("rect", { class: "ground", x: left, y: top, width: side, height: tall }));
  for (const [key, d] of paths) {
    const [shade, hasRows] = key.split(",").map(Number);
    picture.append(draw("path", { d, fill: colourOf(shade < 0 ? "takes" : "adds"), "fill-opacity": ((Math.abs(shade) / SHADES) * (hasRows ? 1 : PALE)).toFixed(3) }));
  }
  for (const j of upPlaces) picture.append(textAt(left - 6, corner(0, j)[1] + high / 2 + 3.5, wrap(chart.y.words[j], left - 10, 1), { anchor: "end", whole: chart.y.words[j] }));
  const widest = Math.min(90, Math.max(...chart.x.words.map((words) => widthOf(words)))) + 12;
  let end = -Infinity;
  for (const i of fewPlaces(across, side / widest)) {
    const words = wrap(chart.x.words[i], Math.max(widest, wide) - 6, 1);
    const half = widthOf(words[0]) / 2;
    const x = Math.min(Math.max(corner(i, 0)[0] + wide / 2, half), width - half);
    if (x - half < end + 4) continue;
    end = x + half;
    picture.append(textAt(x, top + tall + 15, words, { whole: chart.x.words[i] }));
  }
  picture.append(textAt(left + side / 2, top + tall + 17 + LINE, foot, { whole: chart.x.label }));
  const [x, y] = corner(...chart.mark);
  picture.append(draw("rect", { class: "here", x, y, width: Math.max(wide, 4), height: Math.max(high, 4) }));
  return readable(picture, chart.values.map((value, cell) => {
    const [i, j] = [Math.floor(cell / up), cell % up];
    const [left, above] = corner(i, j);
    const words = [`${chart.x.label} ${chart.x.whole[i]}, ${chart.y.label} ${chart.y.whole[j]}`, `adds ${inWords(value)}`, inRows(chart.weight[cell])];
    return { x: left + wide / 2, y: above + high / 2, box: [left, above, wide, high], line: j, words };
  }).sort((a, b) => b.line - a.line || a.x - b.x));
}

PICTURES.surface = surfacePicture;
