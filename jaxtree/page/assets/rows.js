// Rows one by one: a list in pages at one side, and what is known of the chosen row at the other.

const ROWS_A_PAGE = 12;
const MOST_STEPS = 10;
const FEW_DIGITS = 3;

/** Decimals that give the greatest of some numbers three digits. */
const placesOf = (numbers) => Math.min(12, Math.max(0, FEW_DIGITS - 1 - Math.floor(Math.log10(Math.max(...numbers.map(Math.abs), 1e-12)))));

const fixed = (number, places) => Math.abs(number).toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
const withSign = (number, places) => `${number < 0 ? "−" : "+"}${fixed(number, places)}`;

/** The listed rows of a table; undefined where the page lists none of them. */
const listedRows = (table) => told.rows?.find((set) => set.name === table);

/** A cell of a listed row, in words. */
function cellOf(table, column, row) {
  const set = listedRows(table);
  return set?.cells[column][set.number.indexOf(row)] ?? "";
}

/** What a mark opens: the row of a number, or the rows of a class that are predicted to be of another; null of rows that are not listed. */
function actOf(chart, of) {
  const set = listedRows(chart.table);
  if (!set) return null;
  if (!Array.isArray(of)) return set.number.includes(of) ? { words: "click to open the row", run: () => rowList.openRow(set, of) } : null;
  const [truth, said] = of;
  const isOne = (i) => set.truth[i] === truth && set.said[i] === said;
  const number = set.number.filter((_, i) => isOne(i)).length;
  return number ? { words: "click to list the rows", run: () => rowList.listOnly(set, `of ${truth} predicted as ${said}`, isOne) } : null;
}

let rowList = null;

class RowList {
  constructor(root, sets) {
    Object.assign(this, { root, sets, set: sets.at(-1), first: 0, row: null });
    this.list = root.querySelector(".row-list");
    this.detail = root.querySelector(".row-detail");
    this.select = root.querySelector(".row-set");
    this.order = root.querySelector(".row-order");
    this.number = root.querySelector(".row-goto");
    this.select.replaceChildren(...sets.map((set, i) => make("option", { value: i }, `${set.name} rows`)));
    this.select.value = sets.length - 1;
    this.select.parentElement.hidden = sets.length < 2;
    this.hint = root.querySelector(".row-hint");
    this.only = null;
    this.select.addEventListener("change", () => this.take(sets[Number(this.select.value)]));
    this.order.addEventListener("change", () => this.take(this.set, this.only));
    this.number.addEventListener("change", () => this.goTo(Number(this.number.value)));
    root.querySelector(".page-before").addEventListener("click", () => this.turn(-1));
    root.querySelector(".page-next").addEventListener("click", () => this.turn(1));
    this.list.addEventListener("keydown", (event) => this.press(event));
    let width = 0;
    new ResizeObserver(() => {
      if (this.detail.clientWidth === width) return;
      width = this.detail.clientWidth;
      this.open(this.row);
    }).observe(this.detail);
    this.take(this.set);
  }

  take(set, only = null) {
    Object.assign(this, { set, only });
    this.select.value = this.sets.indexOf(set);
    const places = set.number.map((_, i) => i).filter((i) => !this.only || this.only.isOne(i));
    this.order.parentElement.hidden = !set.off;
    if (set.off && this.order.value === "off") places.sort((a, b) => Math.abs(set.off[b] ?? 0) - Math.abs(set.off[a] ?? 0) || a - b);
    this.places = places;
    this.first = 0;
    const some = set.number.length < set.size ? `${inWords(set.number.length)} of the ${inWords(set.size)} ${set.name} rows, spread over the table.` : `All ${inWords(set.size)} ${set.name} rows.`;
    const every = make("button", { type: "button", class: "link", click: () => this.take(set) }, "Show all.");
    this.hint.replaceChildren(...(only ? [make("b", {}, `Only the ${inWords(places.length)} ${only.words}. `), every, " "] : []), `${some} ${this.meaning()}`);
    this.show();
    this.open(places[0]);
  }

  /** Opens a row from elsewhere on the page. */
  openRow(set, number) {
    this.take(set);
    this.goTo(number);
    this.root.scrollIntoView({ block: "start" });
    this.list.querySelector('[aria-pressed="true"]')?.focus({ preventScroll: true });
  }

  /** Lists some rows alone, from elsewhere on the page. */
  listOnly(set, words, isOne) {
    this.take(set, { words, isOne });
    this.root.scrollIntoView({ block: "start" });
    this.list.querySelector('[aria-pressed="true"]')?.focus({ preventScroll: true });
  }

  meaning() {
    if (!this.set.values) return "";
    const scale = this.set.isLogOdds ? ", in log odds, shown as probabilities" : "";
    return `The contributions of the columns are Shapley values: they add up from the mean of the training rows to this row${scale}.`;
  }

  turn(step) {
    const last = Math.floor((this.places.length - 1) / ROWS_A_PAGE) * ROWS_A_PAGE;
    this.first = Math.min(Math.max(0, this.first + step * ROWS_A_PAGE), last);
    this.show();
  }

  /** Opens the listed row whose number is the nearest. */
  goTo(number) {
    if (!Number.isFinite(number)) return;
    const { number: all } = this.set;
    const at = this.places.reduce((best, place, i) => (Math.abs(all[place] - number) < Math.abs(all[this.places[best]] - number) ? i : best), 0);
    this.first = Math.floor(at / ROWS_A_PAGE) * ROWS_A_PAGE;
    this.number.value = all[this.places[at]];
    this.show();
    this.open(this.places[at]);
  }

  press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = this.places.indexOf(this.row) + step;
    if (at < 0 || at >= this.places.length) return;
    if (at < this.first || at >= this.first + ROWS_A_PAGE) this.turn(step);
    this.open(this.places[at]);
    this.list.querySelector('[aria-pressed="true"]')?.focus();
  }

  show() {
    const { set } = this;
    const shown = this.places.slice(this.first, this.first + ROWS_A_PAGE);
    const head = make("tr", {}, ...["Row", ...(set.truth ? ["Truth"] : []), set.chance || set.unit === "prediction" ? "Predicted" : set.unit[0].toUpperCase() + set.unit.slice(1)].map((name) => make("th", { scope: "col" }, name)));
    const lines = shown.map((i) => {
      const button = make("button", { type: "button", class: "link", "data-row": set.number[i], "aria-label": `Row ${set.number[i]}`, click: () => this.open(i, true) }, `${set.number[i]}`);
      const said = set.chance ? `${set.said[i]} ${percent(set.chance[i])}` : set.said[i];
      return make("tr", { class: set.isWrong?.[i] ? "is-wrong" : null, click: () => this.open(i) }, make("th", { scope: "row" }, button), ...(set.truth ? [make("td", {}, make("span", { class: "cut" }, breakable(set.truth[i])))] : []), make("td", {}, make("span", { class: "cut" }, breakable(said))));
    });
    this.list.replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...lines)));
    const last = Math.min(this.first + ROWS_A_PAGE, this.places.length);
    this.root.querySelector(".page-said").textContent = `${this.first + 1}–${last} of ${this.places.length}`;
    this.mark();
  }

  mark() {
    for (const button of this.list.querySelectorAll("button")) {
      const isOpen = Number(button.dataset.row) === this.set.number[this.row];
      button.setAttribute("aria-pressed", isOpen);
      button.closest("tr").classList.toggle("is-open", isOpen);
    }
  }

  open(row, isFar = false) {
    if (row === null || row === undefined) return;
    this.row = row;
    this.mark();
    const { set } = this;
    const place = make("div", { class: "place" });
    const cells = set.columns.flatMap((name, column) => [make("dt", {}, breakable(name)), make("dd", {}, breakable(set.cells[column][row]))]);
    this.detail.replaceChildren(
      make("h3", {}, `Row ${set.number[row]}: ${set.chance ? `${set.said[row]} with probability ${percent(set.chance[row])}` : `${set.unit} ${set.said[row]}`}`),
      make("p", {}, this.words(row)),
      place,
      ...(set.paths ? [make("p", { class: "soft" }, "The sides of the planes on its path:"), make("ol", { class: "conditions" }, ...set.paths[row].map((words) => make("li", {}, words)))] : []),
      make("details", {}, make("summary", {}, "Values of all columns"), make("dl", { class: "cells" }, ...cells)),
    );
    const chart = this.chart(row);
    if (chart) drawInto(place, chart);
    if (isFar && this.detail.getBoundingClientRect().top > window.innerHeight * 0.8) this.detail.scrollIntoView({ block: "start" });
  }

  /** The name of what the contributions to a row add up to, as it is shown. */
  output(row) {
    const own = this.set.outputs[this.set.of[row]];
    return this.set.isLogOdds ? own.replace("log odds", "probability") : own;
  }

  /** The truth, and the sentence about what speaks for and against the prediction. */
  words(row) {
    const { set } = this;
    const truth = !set.truth ? "" : set.isWrong ? (set.isWrong[row] ? `The true class is ${set.truth[row]}. ` : "The prediction is correct. ") : `The true value is ${set.truth[row]}. `;
    const interval = set.interval ? `90 % prediction interval: ${set.interval[row]}. ` : "";
    return `${truth}${interval}${set.sentences ? `${set.sentences[row]}.` : ""}`;
  }

  chart(row) {
    const { set } = this;
    if (!set.values) return null;
    const values = set.values[row];
    const order = values.map((_, i) => i).filter((i) => values[i]).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
    const base = set.base[set.of[row]];
    // The steps of log odds are shown as those of the probability, one column after the other.
    const chance = (score) => 1 / (1 + Math.exp(-score));
    const shownAt = set.isLogOdds ? chance : (score) => score;
    const places = placesOf([base, ...values]);
    const told = (number) => (set.isLogOdds ? percent(chance(number)) : `${number < 0 ? "−" : ""}${fixed(number, places)}`);
    const items = [{ name: "all training rows, mean", dots: [[shownAt(base), "soft"]], words: told(base) }];
    let at = base;
    const step = (name, size) => {
      const [from, to] = [shownAt(at), shownAt(at + size)];
      items.push({ name, bars: [[from, to, size < 0 ? "#d55e00" : "#0072b2"]], words: set.isLogOdds ? `${to < from ? "−" : "+"}${percent(Math.abs(to - from))}` : withSign(size, places) });
      at += size;
    };
    const shown = order.length > MOST_STEPS + 1 ? order.slice(0, MOST_STEPS) : order;
    for (const i of shown) step(`${set.columns[i]} = ${set.cells[i][row]}`, values[i]);
    const rest = order.slice(shown.length);
    if (rest.length) step(`${rest.length} other columns`, rest.reduce((sum, i) => sum + values[i], 0));
    items.push({ name: "this row", dots: [[shownAt(set.total[row]), "ink"]], words: told(set.total[row]) });
    const output = this.output(row);
    const label = `How the ${output} of row ${set.number[row]} adds up`;
    return { kind: "list", label, x: { label: set.isLogOdds ? `${output}; steps of columns one after the other` : output }, items };
  }
}
