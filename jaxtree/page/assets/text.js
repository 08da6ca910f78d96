// Texts in drawings: their widths, lines that break at words, and numbers as axes have them.

const LETTERS = 11;
const LINE = 13;
const ruler = document.createElement("canvas").getContext("2d");

/** The width of a text in pixels. */
function widthOf(text, size = LETTERS) {
  ruler.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

/** Pieces that a line may end behind: words, and the parts of names that are joined by signs. */
const piecesOf = (text) => text.match(/[^\s_\-/.,;:]*[\s_\-/.,;:]+|[^\s_\-/.,;:]+/gu) ?? [text];

/** A piece in parts that are no wider than a line; only a word that has no room in a line of its own is broken. */
function partsOf(piece, width) {
  if (widthOf(piece.trimEnd()) <= width) return [piece];
  const parts = [""];
  for (const letter of piece) {
    if (parts.at(-1) && widthOf(parts.at(-1) + letter) > width) parts.push("");
    parts[parts.length - 1] += letter;
  }
  return parts;
}

/** A text in lines; what is left when there are as many as may be is "…". */
function wrap(text, width, most = 2) {
  const lines = [""];
  for (const part of piecesOf(String(text)).flatMap((piece) => partsOf(piece, width))) {
    if (lines.at(-1) && widthOf((lines.at(-1) + part).trimEnd()) > width) lines.push("");
    lines[lines.length - 1] += part;
  }
  const shown = lines.map((line) => line.trim());
  if (shown.length <= most) return shown;
  const kept = shown.slice(0, most);
  let last = piecesOf(kept[most - 1]);
  while (last.length > 1 && widthOf(`${last.join("").trimEnd()} …`) > width) last = last.slice(0, -1);
  let words = last.join("").trimEnd();
  while (words.length > 1 && widthOf(`${words} …`) > width) words = words.slice(0, -1);
  kept[most - 1] = `${words} …`;
  return kept;
}

/** Lines of text around or below a height, with the whole text as a title where something is left out. */
function textAt(x, y, lines, { anchor = "middle", whole = null, klass = "tick" } = {}) {
  const text = draw("text", { x: x.toFixed(1), class: klass, "text-anchor": anchor });
  lines.forEach((line, i) => text.append(draw("tspan", { x: x.toFixed(1), y: (y + i * LINE).toFixed(1) }, line)));
  if (whole !== null && lines.join("").replaceAll(" ", "") !== String(whole).replaceAll(" ", "")) text.append(draw("title", {}, whole));
  return text;
}

/** Round numbers from a low to a high one, about as many as are wanted. */
function roundTicks(low, high, wanted, { isWhole = false, isWide = false } = {}) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = power * ([1, 2, 2.5, 5].find((part) => part * power >= rough * 0.999) ?? 10);
  if (isWhole) step = Math.max(1, Math.round(step));
  const first = isWide ? Math.floor(low / step + 1e-9) : Math.ceil(low / step - 1e-9);
  const last = isWide ? Math.ceil(high / step - 1e-9) : Math.floor(high / step + 1e-9);
  const places = Math.max(0, Math.min(20, Math.ceil(-Math.log10(step) - 1e-9) + (Math.abs(step / power - 2.5) < 1e-9 ? 1 : 0)));
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toFixed(places)));
}

/** Ticks in words: all with as many places, those of millions or of thousandths short. */
function tickWords(ticks) {
  const most = Math.max(...ticks.map(Math.abs));
  if (most >= 1e7) return ticks.map((tick) => tick.toLocaleString("en", { notation: "compact", maximumSignificantDigits: 4 }).replace("-", "−"));
  if (most > 0 && most < 1e-3) return ticks.map((tick) => (tick === 0 ? "0" : tick.toExponential().replace("-", "−").replace("e-", "e−")));
  const places = Math.max(...ticks.map((tick) => (String(tick).split(".")[1] ?? "").length));
  return ticks.map((tick) => tick.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places }).replace("-", "−"));
}
