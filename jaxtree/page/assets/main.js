// The parts of the page that show one pruned tree: sliders, scores, outline, map, details and charts.

const tree = new Tree(told);
const sums = told.sets.map((set) => new RowSums(tree, set));
const state = { pruned: new Pruned(tree, NO_PRUNING), node: 0, chart: sums.length - 1, label: tree.classes.length === 2 ? 1 : 0 };

const details = new Details(byId("details"), tree, sums, (set, row) => {
  byId("row-set").value = set;
  byId("row-number").value = row;
  followRow();
});
const map = new TreeMap(byId("map"), tree, visit, (node) => outline.reveal(node));
const outline = new Outline(byId("outline"), tree, visit);

function visit(node) {
  state.node = node;
  details.show(node, state.pruned);
  map.mark(node);
}

function say(words) {
  byId("status").textContent = words;
}

// Sliders.

/** The different prices of nodes, ascending; a slider's steps are "nothing", and each of these. */
const prices = [...new Set(tree.nodes.price.filter((price) => price !== null))].sort((a, b) => a - b);

const SLIDERS = {
  alpha: { most: prices.length, value: 0, words: (step) => (step ? inWords(prices[step - 1]) : "none") },
  depth: { most: tree.deepest, value: tree.deepest, words: (depth) => (depth < tree.deepest ? `${depth}` : `${depth}, all`) },
  p: { most: 1, value: 0, words: (p) => p.toFixed(2) },
  q: { most: 2, value: 0, words: (q) => q.toFixed(2) },
};

function settings() {
  const [alpha, depth, p, q] = Object.keys(SLIDERS).map((name) => Number(byId(`slide-${name}`).value));
  return { alpha: alpha ? prices[alpha - 1] : null, depth: depth < tree.deepest ? depth : null, p, q };
}

function prune() {
  for (const [name, { words }] of Object.entries(SLIDERS)) {
    const slider = byId(`slide-${name}`);
    byId(`told-${name}`).textContent = words(Number(slider.value));
    slider.setAttribute("aria-valuetext", words(Number(slider.value)));
  }
  state.pruned = new Pruned(tree, settings());
  outline.show(state.pruned);
  map.show(state.pruned);
  showScores();
  showCharts();
  visit(state.pruned.shown(tree, state.node));
  tellSoon();
}

let waiting;
/** Says the scores to screen readers when a slider has come to rest. */
function tellSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(() => say(`${state.pruned.numLeaves} leaves. ${sums.map((own) => scoreWords(own, own.quality(state.pruned))).join(". ")}`), 600);
}

const scoreWords = ({ set }, quality) => `${set.name} ${Object.entries(quality).map(([name, value]) => `${name} ${inWords(value)}`).join(", ")}`;

function resetSliders() {
  for (const [name, { value }] of Object.entries(SLIDERS)) byId(`slide-${name}`).value = value;
  prune();
}

const whole = new Pruned(tree, NO_PRUNING);

function showScores() {
  const { numNodes, numLeaves, deepest, settings: set } = state.pruned;
  byId("left").textContent = `${inWords(numLeaves)} of ${inWords(whole.numLeaves)} leaves, ${inWords(numNodes)} nodes, depth ${deepest}`;
  byId("scores").replaceChildren(...sums.flatMap((own) => scoreLines(own, set.p > 0 ? own.expectedQuality(tree, set) : null)));
}

/** A line for every measure, and for its mean over all draws of dropout. */
function scoreLines(own, mean) {
  const before = own.quality(whole);
  return Object.entries(own.quality(state.pruned)).flatMap(([name, value]) => {
    const title = `${own.set.name} ${name}`;
    const change = value - before[name];
    const sign = Math.abs(change) < 5e-5 ? "" : (change > 0 ? "+" : "−") + scoreInWords(Math.abs(change));
    return [scoreLine(title, value, sign), ...(mean ? [scoreLine("mean of all draws", mean[name], "exact", `${title}, mean`)] : [])];
  });
}

const scoreLine = (title, value, note, name = title) =>
  make("tr", { "data-score": name, "data-value": value }, make("th", { scope: "row" }, title), make("td", {}, scoreInWords(value)), make("td", { class: "soft" }, note));

const scoreInWords = (value) => (Number.isFinite(value) && Math.abs(value) <= 1 ? value.toFixed(4).replace("-", "−") : inWords(value));

// Charts.

function showCharts() {
  const own = sums[state.chart];
  if (!own || !(byId("tree-confusion") || byId("tree-predictions"))) return;
  if (tree.isOfClasses) {
    drawInto(byId("tree-confusion"), confusionChart(tree, own, state.pruned));
    drawInto(byId("tree-roc"), rocChart(tree, own, state.pruned, state.label));
  } else if (own.set.shown) drawInto(byId("tree-predictions"), predictionsChart(tree, own, state.pruned));
}

// Search.

function search(query) {
  const wanted = query.trim().toLowerCase();
  const found = outline.search((column) => wanted !== "" && tree.columns[column].name.toLowerCase().includes(wanted));
  const splits = found === 1 ? "1 split uses" : `${inWords(found)} splits use`;
  byId("found").textContent = wanted === "" ? "" : `${splits} it`;
}

function goToMatch(step) {
  const matches = [...outline.matches].filter((node) => state.pruned.reached[node] && !state.pruned.stops(tree, node));
  if (!matches.length) return;
  state.match = ((state.match ?? (step > 0 ? -1 : 0)) + step + matches.length) % matches.length;
  outline.reveal(matches[state.match]);
}

// Rows.

function shownRows() {
  return told.sets[Number(byId("row-set").value)].shown;
}

function cellWords(column, cell) {
  if (cell === null) return "missing";
  const { categories } = tree.columns[column];
  return categories ? categories[cell] : inWords(cell, 17);
}

function followRow() {
  const rows = shownRows();
  const input = byId("row-number");
  if (input.value === "" || !rows) return stopFollowing();
  input.max = rows.end.length - 1;
  const row = Math.min(Math.max(0, Math.trunc(Number(input.value))), rows.end.length - 1);
  input.value = row;
  const nodes = tree.path(rows.end[row]);
  const words = (node) => (tree.isLeaf(node) ? "ends here" : `${tree.columnName(node)}: ${cellWords(tree.nodes.column[node], rows.cells[tree.nodes.column[node]][row])}`);
  outline.follow(new Map(nodes.map((node) => [node, words(node)])));
  map.mark(state.node, nodes);
  outline.reveal(nodes.at(-1), { focus: false });
  const end = state.pruned.shown(tree, nodes.at(-1));
  const target = rows.target[row];
  const truth = tree.isOfClasses ? (target < 0 ? "a class not seen in fit" : tree.classes[target]) : inWords(target, tree.digits);
  const stays = state.pruned.stops(tree, end) ? "" : ` It has no single branch from there: ${words(end)}.`;
  say(`Row ${row}: predicted ${tree.says(end)}, truth ${truth}, after ${tree.depth[end]} splits.${stays}`);
  byId("followed").textContent = byId("status").textContent;
}

function stopFollowing() {
  byId("row-number").value = "";
  byId("followed").textContent = "";
  outline.follow(new Map());
  map.mark(state.node, []);
}

function stepRow(step) {
  const input = byId("row-number");
  input.value = input.value === "" ? 0 : Number(input.value) + step;
  followRow();
}

// Wiring.

function listen(id, event, act) {
  byId(id)?.addEventListener(event, act);
}

if (told.canPrune) {
  const pruneSoon = oncePerFrame(prune);
  for (const [name, { most, value }] of Object.entries(SLIDERS)) {
    const slider = byId(`slide-${name}`);
    Object.assign(slider, { max: most, value, disabled: most === 0 });
    slider.addEventListener("input", pruneSoon);
  }
  listen("reset", "click", resetSliders);
}
listen("open-all", "click", () => outline.openAll());
listen("close-all", "click", () => outline.closeAll());
listen("search", "input", (event) => {
  state.match = undefined;
  search(event.target.value);
});
listen("search", "keydown", (event) => event.key === "Enter" && goToMatch(event.shiftKey ? -1 : 1));
listen("row-number", "change", followRow);
listen("row-set", "change", followRow);
listen("row-next", "click", () => stepRow(1));
listen("row-before", "click", () => stepRow(-1));
listen("row-none", "click", stopFollowing);
for (const button of document.querySelectorAll("[data-column]")) {
  button.addEventListener("click", () => {
    byId("search").value = button.dataset.column;
    state.match = undefined;
    search(button.dataset.column);
    goToMatch(1);
  });
}

const withRows = told.sets.map((set, place) => [set, place]);
byId("row-set")?.replaceChildren(...withRows.filter(([set]) => set.shown).map(([set, place]) => make("option", { value: place }, `${set.name} row`)));
const chartSets = withRows.filter(([set]) => tree.isOfClasses || set.shown);
byId("chart-set")?.replaceChildren(...chartSets.map(([set, place]) => make("option", { value: place }, `${set.name} rows`)));
byId("roc-class")?.replaceChildren(...tree.classes.map((name, label) => make("option", { value: label }, name)));
for (const [id, key] of [["chart-set", "chart"], ["roc-class", "label"]]) {
  if (byId(id)) byId(id).value = state[key];
  listen(id, "change", (event) => {
    state[key] = Number(event.target.value);
    showCharts();
  });
}
byId("columns").replaceChildren(...[...new Set(tree.nodes.column)].filter((column) => column >= 0).map((column) => make("option", { value: tree.columns[column].name })));
byId("legend").replaceChildren(...tree.classes.slice(0, 12).map((name, label) => make("li", { class: "cut" }, swatch(tree.colours[label]), name)));

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (map.redraw(), showCharts()));
window.addEventListener("resize", oncePerFrame(showCharts));

if (told.canPrune) prune();
else {
  map.show(state.pruned);
  showScores();
  showCharts();
  visit(0);
}
