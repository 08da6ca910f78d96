// The details of one node.

const MOST_CLASSES = 8;
const MOST_ROWS_HERE = 10;

class Details {
  /** `follow(set, row)` is called for a row that is chosen. */
  constructor(root, tree, sums, follow) {
    Object.assign(this, { root, tree, sums, follow });
  }

  show(node, pruned) {
    const { tree } = this;
    const { nodes } = tree;
    const isLeaf = tree.isLeaf(node);
    const facts = [
      ["predicts", tree.says(node)],
      ["weight", inWords(nodes.weight[node])],
      ["training rows", inWords(nodes.rows[node])],
      ["impurity", inWords(nodes.impurity[node])],
      ...(isLeaf ? [] : [["gain of the split", inWords(nodes.gain[node])]]),
      ...(nodes.price[node] === null ? [] : [["pruned from α", inWords(nodes.price[node])]]),
      ...this.sums.flatMap((sums) => this.quality(sums, node)),
    ];
    this.root.replaceChildren(
      make("h3", { class: "cut" }, isLeaf ? "Leaf" : pruned.collapsed[node] ? "Pruned split" : `${tree.columnName(node)}?`),
      this.conditions(node),
      make("dl", {}, ...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, make("span", { class: "cut" }, value))])),
      ...[tree.isOfClasses ? this.classes(node) : null, isLeaf ? null : histogramFigure(tree, node), this.rows(node)].filter(Boolean),
    );
  }

  conditions(node) {
    const path = this.tree.path(node).slice(1);
    if (!path.length) return make("p", { class: "soft" }, "The root: all rows.");
    return make("ol", { class: "conditions" }, ...path.map((above) => make("li", {}, make("span", { class: "cut" }, this.tree.branch(above)))));
  }

  quality(sums, node) {
    const rows = sums.rowsIn(sums.passed, node);
    if (!rows) return [[`${sums.set.name} rows`, "0"]];
    const worth = sums.worth(sums.passed, node, node);
    const told = this.tree.isOfClasses ? `${percent(worth / rows)} right` : `mse ${inWords(Math.max(0, -worth / rows))}`;
    return [[`${sums.set.name} rows`, `${inWords(rows)}, ${told}`]];
  }

  classes(node) {
    const counts = this.tree.nodes.counts[node];
    const weight = this.tree.nodes.weight[node] || 1;
    const pairs = [];
    for (let i = 0; i < counts.length; i += 2) pairs.push([counts[i], counts[i + 1]]);
    pairs.sort((a, b) => b[1] - a[1]);
    const lines = pairs.slice(0, MOST_CLASSES).map(([label, count]) =>
      make(
        "tr", {},
        make("th", { scope: "row" }, make("span", { class: "cut" }, swatch(this.tree.colours[label]), this.tree.classes[label])),
        make("td", {}, bar(count / weight, this.tree.colours[label])),
        make("td", {}, inWords(count)),
      ),
    );
    const more = pairs.length - lines.length;
    const rest = more > 0 ? [make("p", { class: "soft" }, `and ${more} more classes`)] : [];
    const head = make("caption", {}, "Training weight of the classes");
    return make("div", {}, make("table", { class: "bars" }, head, make("tbody", {}, ...lines)), ...rest);
  }

  /** The first rows that end at a node when nothing is pruned. */
  rows(node) {
    const links = this.sums.flatMap(({ set }, place) => {
      if (!set.shown) return [];
      const here = [];
      for (let row = 0; row < set.shown.end.length && here.length < MOST_ROWS_HERE; row++) if (set.shown.end[row] === node) here.push(row);
      if (!here.length) return [];
      const buttons = here.map((row) => make("button", { type: "button", class: "link", click: () => this.follow(place, row) }, `${row}`));
      return [make("p", { class: "rows" }, `Follow ${set.name} row `, ...buttons.flatMap((button) => [button, " "]))];
    });
    return links.length ? make("div", {}, ...links) : null;
  }
}

const bar = (share, colour) =>
  draw("svg", { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, draw("rect", { width: 100 * share, height: 8, fill: colour }));
