// The node table, and what prunings leave of it. Parents stand before their children, which stand side by side.

class Tree {
  constructor(data) {
    this.nodes = data.nodes;
    this.columns = data.columns;
    this.classes = data.classes;
    this.colours = data.colours;
    this.histograms = data.histograms;
    this.size = data.nodes.firstChild.length;
    this.parent = new Int32Array(this.size);
    this.depth = new Int32Array(this.size);
    for (let node = 0; node < this.size; node++) {
      for (const child of this.children(node)) {
        this.parent[child] = node;
        this.depth[child] = this.depth[node] + 1;
      }
    }
    this.deepest = this.depth.reduce((most, depth) => Math.max(most, depth), 0);
    const means = data.nodes.mean ?? [];
    this.lowest = means.reduce((a, b) => Math.min(a, b), Infinity);
    this.highest = means.reduce((a, b) => Math.max(a, b), -Infinity);
    this.digits = digitsBetween(this.lowest, this.highest);
  }

  get isOfClasses() {
    return this.classes.length > 0;
  }

  isLeaf(node) {
    return this.nodes.numChildren[node] === 0;
  }

  children(node) {
    const first = this.nodes.firstChild[node];
    return Array.from({ length: this.nodes.numChildren[node] }, (_, branch) => first + branch);
  }

  /** The nodes from the root to a node. */
  path(node) {
    const path = [node];
    while (node > 0) path.push((node = this.parent[node]));
    return path.reverse();
  }

  /** What the parent's split asks of the rows of a node. */
  branch(node) {
    return node === 0 ? "all rows" : this.nodes.branch[node];
  }

  columnName(node) {
    return this.columns[this.nodes.column[node]].name;
  }

  /** The share of a class, or all [class, share, class, share, ...] that are not 0. */
  share(node, label) {
    const shares = this.nodes.shares[node];
    for (let i = 0; i < shares.length; i += 2) if (shares[i] === label) return shares[i + 1];
    return 0;
  }

  /** What a node predicts, in words. */
  says(node) {
    if (!this.isOfClasses) return inWords(this.nodes.mean[node], this.digits);
    const label = this.nodes.label[node];
    return `${this.classes[label]} ${percent(this.share(node, label))}`;
  }

  /** Where the mean of a node lies among all: from 0 to 1. */
  place(node) {
    return this.highest > this.lowest ? (this.nodes.mean[node] - this.lowest) / (this.highest - this.lowest) : 0;
  }

  /** The colour of a node, and how strong it is: the purer, or the greater the mean, the stronger. */
  tint(node) {
    if (!this.isOfClasses) return [this.colours[0], 0.15 + 0.85 * this.place(node)];
    const label = this.nodes.label[node];
    const least = 1 / this.classes.length;
    const purity = least < 1 ? (this.share(node, label) - least) / (1 - least) : 1;
    return [this.colours[label], 0.25 + 0.75 * Math.max(0, purity)];
  }
}

const NO_PRUNING = { alpha: null, depth: null, p: 0, q: 0 };
const LARGEST_GROWTH = Math.fround(1e30);

/** The chance that dropout collapses a node at a depth, in the float32 arithmetic of jaxtree: min(1, p (1 + q)^(depth - 1)). */
function dropoutRate(depth, p, q) {
  const single = Math.fround;
  let growth = 1;
  let power = single(1 + single(q));
  for (let level = depth - 1; level > 0; level >>= 1) {
    if (level & 1) growth = Math.min(single(growth * power), LARGEST_GROWTH);
    power = Math.min(single(power * power), LARGEST_GROWTH);
  }
  return Math.min(1, single(single(p) * growth));
}

/** What is left of a tree under the settings of the sliders. */
class Pruned {
  constructor(tree, settings) {
    const { price, number } = tree.nodes;
    this.settings = settings;
    this.collapsed = new Uint8Array(tree.size);
    this.reached = new Uint8Array(tree.size);
    this.reached[0] = 1;
    this.numNodes = this.numLeaves = this.deepest = 0;
    const limits = Array.from({ length: tree.deepest + 1 }, (_, depth) =>
      depth === 0 ? 0 : Math.ceil(dropoutRate(depth, settings.p, settings.q) * 2 ** 31),
    );
    for (let node = 0; node < tree.size; node++) {
      if (tree.isLeaf(node)) continue;
      this.collapsed[node] =
        (settings.alpha !== null && price[node] !== null && price[node] <= settings.alpha) ||
        (settings.depth !== null && tree.depth[node] >= settings.depth) ||
        number[node] < limits[tree.depth[node]];
    }
    for (let node = 0; node < tree.size; node++) {
      if (node > 0) this.reached[node] = this.reached[tree.parent[node]] && !this.collapsed[tree.parent[node]];
      if (!this.reached[node]) continue;
      this.numNodes += 1;
      this.deepest = Math.max(this.deepest, tree.depth[node]);
      if (this.stops(tree, node)) this.numLeaves += 1;
    }
  }

  /** Whether walks that come to a node end there. */
  stops(tree, node) {
    return tree.isLeaf(node) || this.collapsed[node] === 1;
  }

  /** The last node on the path to a node that is left. */
  shown(tree, node) {
    while (!this.reached[node]) node = tree.parent[node];
    return node;
  }
}
