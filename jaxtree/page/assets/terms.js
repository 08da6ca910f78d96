// The terms of an additive model: a list to search, the chosen one with the row's own place, and the row's sum.

const MOST_PARTS = 12;
const [ADDS, TAKES] = ["adds", "takes"];

/** A range of numbers at a tick: its lower end. */
const shortRange = (words) => (words.startsWith("up to ") ? words : words.split(" to ")[0]);

class TermList {
  constructor(root, terms) {
    Object.assign(this, { root, terms, chosen: 0, score: 0, row: null });
    this.codes = (terms.rows.length ? terms.rows.at(-1).codes[0] : terms.typical).slice();
    this.search = root.querySelector(".term-search");
    this.order = root.querySelector(".term-order");
    this.of = root.querySelector(".term-score");
    this.from = root.querySelector(".term-row");
    this.of.replaceChildren(...terms.labels.map((label, i) => make("option", { value: i }, label)));
    this.of.parentElement.hidden = terms.labels.length < 2;
    const starts = terms.rows.flatMap((own, set) => own.number.map((number, i) => [`${own.name} row ${number}`, set, i]));
    this.from.replaceChildren(make("option", { value: -1 }, "a typical row"), ...starts.map(([words], i) => make("option", { value: i }, words)));
    this.from.value = terms.rows.length ? starts.findIndex(([, set]) => set === terms.rows.length - 1) : -1;
    this.search.addEventListener("input", () => this.list());
    this.order.addEventListener("change", () => this.list());
    this.of.addEventListener("change", () => ((this.score = Number(this.of.value)), this.show()));
    this.from.addEventListener("change", () => {
      const start = starts[Number(this.from.value)];
      this.codes = (start ? terms.rows[start[1]].codes[start[2]] : terms.typical).slice();
      this.choose(this.chosen);
    });
    this.place = root.querySelector(".term-place");
    this.sum = root.querySelector(".term-sum");
    let width = 0;
    new ResizeObserver(() => {
      if (this.place.clientWidth === width) return;
      width = this.place.clientWidth;
      this.show();
    }).observe(this.place);
    this.redraw = oncePerFrame(() => this.show());
    this.choose(0);
  }

  /** The bins of the row in a term, one or two. */
  binsOf(term) {
    return term.columns.map((column, side) => (term.bins[side] ? term.bins[side][this.codes[column]] : this.codes[column]));
  }

  /** What a term adds to a score of the row. */
  adds(term, score = this.score) {
    const [first, second] = this.binsOf(term);
    return term.values[score][second === undefined ? first : first * term.labels[1].length + second];
  }

  total(score = this.score) {
    return this.terms.terms.reduce((sum, term) => sum + this.adds(term, score), this.terms.intercept[score]);
  }

  choose(place) {
    this.chosen = place;
    const term = this.terms.terms[place];
    this.root.querySelector(".term-name").textContent = term.name;
    this.root.querySelector(".term-controls").replaceChildren(...term.columns.map((column) => this.control(column)));
    this.show();
  }

  /** What changes the row's value of a column: a slider over numbers, or a choice of words. */
  control(column) {
    const { name, labels, isNumber } = this.terms.columns[column];
    const missing = labels.length - 1;
    const id = `value-of-${column}`;
    const take = (code) => {
      this.codes[column] = code;
      this.redraw();
    };
    if (!isNumber) {
      const select = make("select", { id, "data-column": column, change: () => take(Number(select.value)) }, ...labels.map((label, code) => make("option", { value: code }, label)));
      select.value = this.codes[column];
      return make("p", { class: "term-control" }, make("label", { for: id }, breakable(name)), select);
    }
    const said = make("output", { for: id }, labels[this.codes[column]]);
    const slider = make("input", { id, type: "range", min: 0, max: Math.max(missing - 1, 0), step: 1, "data-column": column, "aria-valuetext": labels[this.codes[column]] });
    const box = make("input", { type: "checkbox", "data-missing": column });
    const change = () => {
      const code = box.checked || !missing ? missing : Number(slider.value);
      said.textContent = labels[code];
      slider.setAttribute("aria-valuetext", labels[code]);
      take(code);
    };
    slider.value = Math.min(this.codes[column], Math.max(missing - 1, 0));
    box.checked = this.codes[column] === missing;
    slider.addEventListener("input", () => ((box.checked = !missing), change()));
    box.addEventListener("change", change);
    return make("p", { class: "term-control" }, make("label", { for: id }, breakable(name)), slider, said, make("label", { class: "soft" }, box, " missing"));
  }

  show() {
    this.list();
    drawInto(this.place, this.chart(this.terms.terms[this.chosen]));
    drawInto(this.sum, this.chartOfSum());
    this.root.querySelector(".term-said").replaceChildren(...this.said());
  }

  list() {
    const { terms } = this.terms;
    const asked = this.search.value.trim().toLowerCase();
    const found = terms.map((_, i) => i).filter((i) => terms[i].name.toLowerCase().includes(asked));
    if (this.order.value === "row") found.sort((a, b) => Math.abs(this.adds(terms[b])) - Math.abs(this.adds(terms[a])));
    if (this.order.value === "name") found.sort((a, b) => terms[a].name.localeCompare(terms[b].name));
    const most = Math.max(...terms.map((term) => term.importance), 1e-300);
    const places = placesOf(terms.map((term) => this.adds(term)));
    const lines = found.map((i) => {
      const { name, importance } = terms[i];
      const button = make("button", { type: "button", class: "link", "data-term": i, "aria-pressed": i === this.chosen, click: () => this.choose(i) }, breakable(name));
      const bar = make("span", { class: "term-bar", style: null });
      bar.style.width = `${(100 * importance) / most}%`;
      return make("tr", { class: i === this.chosen ? "is-open" : null, click: () => this.choose(i) }, make("th", { scope: "row" }, button), make("td", { title: inWords(importance) }, bar), make("td", { class: "count" }, this.adds(terms[i]) ? withSign(this.adds(terms[i]), places) : "0"));
    });
    const head = ["Term", "Importance", "This row"].map((words) => make("th", { scope: "col" }, words));
    const focused = document.activeElement?.dataset?.term;
    const box = this.root.querySelector(".term-list");
    box.replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...lines)));
    if (focused !== undefined) box.querySelector(`[data-term="${focused}"]`)?.focus({ preventScroll: true });
    this.root.querySelector(".term-count").textContent = `${found.length === terms.length ? "" : `${found.length} of `}${terms.length} ${terms.length === 1 ? "term" : "terms"}`;
  }

  /** What the score of the row is, and what follows from it. */
  said() {
    const { labels, unit, link, classes } = this.terms;
    const score = this.total();
    const of = labels[this.score] ? `${unit} of ${labels[this.score]}` : unit;
    const parts = [`${of[0].toUpperCase()}${of.slice(1)}: `, make("b", { "data-total": score }, inWords(score))];
    let chance = null;
    if (link === "logistic") chance = 1 / (1 + Math.exp(-score));
    if (link === "softmax") {
      const all = labels.map((_, i) => this.total(i));
      const top = Math.max(...all);
      chance = Math.exp(score - top) / all.reduce((sum, own) => sum + Math.exp(own - top), 0);
    }
    if (chance !== null && classes.length) parts.push(`, a probability of ${labels[this.score]} of `, make("b", { "data-chance": chance }, percent(chance)));
    if (link === "exp") parts.push(", a prediction of ", make("b", { "data-chance": Math.exp(score) }, inWords(Math.exp(score))));
    return [...parts, "."];
  }

  chartOfSum() {
    const { terms, columns, intercept, labels, unit } = this.terms;
    const order = terms.map((_, i) => i).filter((i) => this.adds(terms[i])).sort((a, b) => Math.abs(this.adds(terms[b])) - Math.abs(this.adds(terms[a])));
    const base = intercept[this.score];
    const places = placesOf([base, ...terms.map((term) => this.adds(term))]);
    const told = (number) => `${number < 0 ? "−" : ""}${fixed(number, places)}`;
    const items = [{ name: "all training rows, mean", dots: [[base, "soft"]], words: told(base) }];
    let at = base;
    const step = (name, size) => {
      items.push({ name, bars: [[at, at + size, size < 0 ? TAKES : ADDS]], words: withSign(size, places) });
      at += size;
    };
    const shown = order.length > MOST_PARTS + 1 ? order.slice(0, MOST_PARTS) : order;
    for (const i of shown) step(`${terms[i].name} = ${terms[i].columns.map((column) => columns[column].labels[this.codes[column]]).join(" & ")}`, this.adds(terms[i]));
    const rest = order.slice(shown.length);
    if (rest.length) step(`${rest.length} other terms`, rest.reduce((sum, i) => sum + this.adds(terms[i]), 0));
    items.push({ name: "this row", dots: [[this.total(), "ink"]], words: told(this.total()) });
    const what = labels[this.score] ? `${unit} of ${labels[this.score]}` : unit;
    return { kind: "list", label: "How the score of the row adds up", x: { label: what }, items };
  }

  chart(term) {
    const what = `adds to ${this.terms.unit}${this.terms.labels[this.score] ? ` of ${this.terms.labels[this.score]}` : ""}`;
    const own = this.adds(term) ? withSign(this.adds(term), placesOf([this.adds(term)])) : "0";
    const caption = `This row: ${own}.`;
    if (term.columns.length === 2) {
      const [x, y] = term.columns.map((column, side) => ({ label: this.terms.columns[column].name, whole: term.labels[side], words: term.labels[side].map((words) => (this.terms.columns[column].isNumber ? shortRange(words) : words)) }));
      const most = Math.max(...term.values[this.score].map(Math.abs));
      const legend = [{ name: `adds, to +${inWords(most, 3)}`, colour: ADDS }, { name: `takes, to −${inWords(most, 3)}`, colour: TAKES }];
      return { kind: "surface", label: `${term.name}: ${what}`, x, y, values: term.values[this.score], weight: term.weight, mark: this.binsOf(term), legend, caption: `${caption} Cells without training rows are pale.` };
    }
    const interval = term.low ? ` ${term.edges ? "Band" : "Lines"}: ${this.terms.ends}, for each bin alone.` : "";
    return term.edges ? this.curve(term, what, caption + interval) : this.points(term, what, caption + interval);
  }

  curve(term, what, caption) {
    const [values, edges] = [term.values[this.score], term.edges];
    const levels = (numbers) => [...numbers.slice(0, edges.length - 1), numbers[edges.length - 2]];
    const [bin] = this.binsOf(term);
    const missing = values[values.length - 1];
    const isMissing = bin === values.length - 1;
    const ends = term.low ? [levels(term.low[this.score]), levels(term.high[this.score])] : null;
    const series = [];
    if (ends) series.push({ kind: "band", isSteps: true, name: "", colour: "accent", x: edges, y: ends[1], y0: ends[0] });
    series.push({ kind: "steps", name: "", colour: "accent", x: edges, y: levels(values), ends });
    if (term.weight.at(-1) > 0 || isMissing) series.push({ kind: "line", name: "", colour: isMissing ? "ink" : "soft", x: [edges[0], edges.at(-1)], y: [missing, missing], isDashed: true });
    if (!isMissing) series.push({ kind: "dots", name: "", colour: "ink", x: [term.at[bin]], y: [values[bin]] });
    const dashed = term.weight.at(-1) > 0 || isMissing ? " Dashed: missing values." : "";
    const x = { label: term.name, ...(term.ticks ? { ticks: term.ticks, isTime: true } : {}) };
    return { kind: "plot", label: `${term.name}: ${what}`, x, y: { label: what }, series, below: { edges, counts: term.density, rows: term.weight }, mark: isMissing ? null : term.at[bin], caption: caption + dashed };
  }

  points(term, what, caption) {
    const values = term.values[this.score];
    const all = term.weight.reduce((sum, own) => sum + own, 0) || 1;
    const [bin] = this.binsOf(term);
    const items = values.map((value, i) => ({
      name: term.labels[0][i],
      share: term.weight[i] / all,
      bars: term.low ? [[term.low[this.score][i], term.high[this.score][i], "line"]] : [],
      dots: [[value, i === bin ? "ink" : "accent"]],
      words: i === bin ? "this row" : percent(term.weight[i] / all),
    })).filter((_, i) => term.weight[i] > 0 || i === bin);
    return { kind: "list", label: `${term.name}: ${what}`, x: { label: what }, items, caption };
  }
}
