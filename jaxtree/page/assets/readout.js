// Values under the mouse, the finger and the keys: every drawing registers its marks, and one place shows their words.
//
// A mark has `x` and `y` (its place in the drawing), `words` (lines, the first of which names it) and `line`: marks of a
// line follow one another, and the keys up and down lead from line to line. It may have a `box` (x, y, width and height,
// which are outlined), `dots` (the heights at which it is marked in place of `y`), a `trace` (the path of the line that it
// is on), `isTall` and `isWide` (whether a pointer above or below it, or beside it, counts as near) and `act` (`words`, and
// what they `run` when it is chosen).

const REACH = 48;
const GAP = 14;

/** The marks of the drawing that is read; null where none is. */
let reading = null;

const readout = make("div", { class: "readout", hidden: "" });
const heard = make("p", { class: "unseen", role: "status" });
document.body.append(readout, heard);

/** Shows words beside a place of the window. */
function showReadout(x, y, words) {
  readout.replaceChildren(...words.map((line, i) => make(i ? "span" : "b", {}, line)));
  readout.hidden = false;
  const { width, height } = readout.getBoundingClientRect();
  const top = y - height - GAP;
  readout.style.left = `${Math.max(4, Math.min(x - width / 2, document.documentElement.clientWidth - width - 4))}px`;
  readout.style.top = `${top >= 4 ? top : y + GAP}px`;
}

function hideReadout() {
  reading = null;
  readout.hidden = true;
}

// Words follow their mark; a drawing that is made anew has none.
window.addEventListener("scroll", () => (reading?.picture.isConnected ? reading.show(reading.chosen) : hideReadout()), { passive: true, capture: true });

class Marks {
  constructor(picture, marks) {
    Object.assign(this, { picture, marks, chosen: 0 });
    this.light = draw("g", { class: "light", "aria-hidden": "true" });
    picture.append(this.light);
    furnish(picture, {
      tabindex: 0,
      role: "application",
      "aria-roledescription": "chart",
      pointermove: (event) => this.point(event),
      pointerdown: (event) => this.point(event),
      pointerleave: (event) => event.pointerType === "mouse" && this.leave(),
      click: (event) => this.nearest(event) === this.chosen && this.act(),
      keydown: (event) => this.press(event),
      focus: () => picture.matches(":focus-visible") && this.say(this.chosen),
      blur: () => this.leave(),
    }, []);
  }

  /** The mark that a pointer means; null where none is near. */
  nearest({ clientX, clientY }) {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(this.picture.getScreenCTM().inverse());
    let [best, least] = [null, Infinity];
    this.marks.forEach((mark, i) => {
      const [left, top, width, height] = mark.box ?? [mark.x, mark.y, 0, 0];
      const [across, up] = [mark.isWide ? 0 : Math.max(left - x, 0, x - left - width), mark.isTall ? 0 : Math.max(top - y, 0, y - top - height)];
      const away = across ** 2 + up ** 2 + 1e-6 * ((mark.x - x) ** 2 + (mark.y - y) ** 2);
      if (away < least && (mark.isTall || away < REACH ** 2)) [best, least] = [i, away];
    });
    return best;
  }

  point(event) {
    const found = this.nearest(event);
    found === null ? this.leave() : this.show(found);
    if (event.pointerType === "touch" && found !== null) heard.textContent = this.marks[found].words.join(", ");
  }

  show(place) {
    reading = this;
    this.chosen = place;
    const mark = this.marks[place];
    const lights = mark.box
      ? [draw("rect", { x: mark.box[0], y: mark.box[1], width: Math.max(mark.box[2], 1), height: Math.max(mark.box[3], 1), rx: 2 })]
      : (mark.dots ?? [mark.y]).map((y) => draw("circle", { cx: mark.x.toFixed(1), cy: y.toFixed(1), r: 5 }));
    if (mark.trace) lights.push(draw("path", { d: mark.trace }));
    this.light.replaceChildren(...lights);
    this.picture.classList.toggle("has-act", Boolean(mark.act));
    const high = mark.box ? mark.box[1] : Math.min(...(mark.dots ?? [mark.y]));
    const at = new DOMPoint(mark.x, high).matrixTransform(this.picture.getScreenCTM());
    showReadout(at.x, at.y, [...mark.words, ...(mark.act ? [mark.act.words] : [])]);
  }

  /** Shows a mark, and says it to screen readers. */
  say(place) {
    this.show(place);
    heard.textContent = this.marks[place].words.join(", ");
  }

  leave() {
    this.light.replaceChildren();
    hideReadout();
  }

  act() {
    this.marks[this.chosen].act?.run();
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") return this.leave();
    if (event.key === "Enter") return this.act();
    const next = MARK_KEYS[event.key]?.(this.marks, this.chosen);
    if (next === undefined) return;
    event.preventDefault();
    if (this.marks[next]) this.say(next);
  }
}

/** The mark of another line that is the nearest to one. */
function inLine(marks, from, step) {
  const lines = [...new Set(marks.map((mark) => mark.line))];
  const line = lines[lines.indexOf(marks[from].line) + step];
  if (line === undefined) return from;
  const away = (i) => (marks[i].line === line ? Math.abs(marks[i].x - marks[from].x) : Infinity);
  return marks.reduce((best, _, i) => (away(i) < away(best) ? i : best), marks.findIndex((mark) => mark.line === line));
}

/** The places of the marks to which keys lead from one. */
const MARK_KEYS = {
  ArrowRight: (marks, from) => Math.min(from + 1, marks.length - 1),
  ArrowLeft: (_, from) => Math.max(from - 1, 0),
  ArrowDown: (marks, from) => inLine(marks, from, 1),
  ArrowUp: (marks, from) => inLine(marks, from, -1),
  Home: () => 0,
  End: (marks) => marks.length - 1,
};

/** Makes a drawing say its marks. */
function readable(picture, marks) {
  if (marks.length) new Marks(picture, marks);
  return picture;
}

/** The name of an axis: its label up to what it says of other things. */
const nameOf = (axis) => (axis.label ?? "").split(";")[0];

/** A number of an axis in words: a date where the ticks are dates, and the number itself where they are its powers. */
function onAxis(axis, number, digits = 4) {
  if (axis.isLog) return inWords(Number((10 ** number).toPrecision(3)));
  const dates = (axis.ticks ?? []).map(([at, words]) => [at, Date.parse(`${words.replace(" ", "T")}${words.includes(":") ? "Z" : ""}`)]);
  if (dates.length > 1 && axis.isTime) {
    const [[first, start], [last, end]] = [dates[0], dates.at(-1)];
    return new Date(start + ((number - first) / (last - first)) * (end - start)).toISOString().slice(0, 10);
  }
  return inWords(number, digits);
}
