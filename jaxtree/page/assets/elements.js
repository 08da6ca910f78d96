// Elements and words. Words from a table are set as text, never as markup.

const byId = (id) => document.getElementById(id);
const SVG_SPACE = byId("space").namespaceURI;
const told = JSON.parse(byId("told").textContent);

/** Makes an element with attributes (of a function: a listener) and children, which are elements or texts. */
function make(name, attributes = {}, ...children) {
  return furnish(document.createElement(name), attributes, children);
}

/** The same in a drawing. */
function draw(name, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG_SPACE, name), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** A name in a span that may also break behind the signs that join its parts. */
const breakable = (text) => make("span", {}, ...String(text).split(/(?<=[_./])/).flatMap((part, i) => (i ? [make("wbr"), part] : [part])));

/** A small field of a colour. */
const swatch = (colour) => draw("svg", { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" }, draw("rect", { width: 10, height: 10, rx: 2.5, fill: colour }));

/** The whole of a text that the style has cut, where the pointer rests on it. */
document.addEventListener("pointerover", ({ target }) => {
  const cut = target.closest(".cut");
  if (!cut) return;
  const isCut = cut.scrollWidth > cut.clientWidth || cut.scrollHeight > cut.clientHeight;
  isCut ? cut.setAttribute("title", cut.textContent) : cut.removeAttribute("title");
});

/** A number in words: thousands apart, and no more digits than one reads. */
function inWords(number, digits = 4) {
  if (number === null || !Number.isFinite(number)) return "–";
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 1e21)) return number.toExponential(Math.max(2, digits - 1)).replace("-", "−");
  const options = Number.isInteger(number) ? {} : { maximumSignificantDigits: Math.max(digits, Math.ceil(Math.log10(size + 1))) };
  return number.toLocaleString("en", options).replace("-", "−");
}

/** A number of rows. */
const inRows = (number) => `${inWords(number, 3)} ${number === 1 ? "row" : "rows"}`;

/** How many digits tell numbers between two ends apart, if these are enough where one end is 0. */
function digitsBetween(low, high, digits = 4) {
  const size = Math.max(Math.abs(low), Math.abs(high));
  return high > low ? Math.min(17, digits + Math.max(0, Math.floor(Math.log10(size / (high - low))))) : digits;
}

const percent = (share) => `${(100 * share).toFixed(share > 0.9995 || share < 0.0005 ? 0 : 1)}%`;

/** The colour of a theme, for canvases. */
const themeColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Calls a function once before the next picture, however often it is asked for. */
function oncePerFrame(work) {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      work();
    });
  };
}
