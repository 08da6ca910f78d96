// How right a pruned tree is on a set of rows, from their sums at the nodes of the whole tree.
// For classes a node's sums are the rows of every class, and of classes that the tree does not know; for numbers the
// number of rows, and the sums of d and of d^2 of the targets' distances d from the middle of the set's first node.

class RowSums {
  constructor(tree, set) {
    this.tree = tree;
    this.set = set;
    this.width = tree.isOfClasses ? tree.classes.length + 1 : 3;
    this.ended = new Float64Array(tree.size * this.width);
    set.ended.forEach((entries, node) => {
      for (let i = 0; i < entries.length; i += 2) this.ended[node * this.width + entries[i]] = entries[i + 1];
    });
    this.passed = this.ended.slice();
    for (let node = tree.size - 1; node > 0; node--) {
      const above = tree.parent[node] * this.width;
      for (let i = 0; i < this.width; i++) this.passed[above + i] += this.passed[node * this.width + i];
    }
    this.total = this.rowsIn(this.passed, 0);
  }

  rowsIn(sums, node) {
    const start = node * this.width;
    if (!this.tree.isOfClasses) return sums[start];
    let rows = 0;
    for (let i = 0; i < this.width; i++) rows += sums[start + i];
    return rows;
  }

  /** What a node's prediction is worth for the rows of some sums: those predicted right, or less their squared errors. */
  worth(sums, of, node) {
    const start = of * this.width;
    if (this.tree.isOfClasses) return sums[start + this.tree.nodes.label[node]];
    const mean = this.tree.nodes.mean[node] - this.set.middle;
    return -(sums[start + 2] - 2 * mean * sums[start + 1] + mean * mean * sums[start]);
  }

  /** Every node where rows stop, with sums of these: all that pass it, or those for which its split has no branch. */
  *stops(pruned) {
    for (let node = 0; node < this.tree.size; node++) {
      if (!pruned.reached[node]) continue;
      yield [node, pruned.stops(this.tree, node) ? this.passed : this.ended];
    }
  }

  quality(pruned) {
    let worth = 0;
    for (const [node, sums] of this.stops(pruned)) worth += this.worth(sums, node, node);
    return this.scores(worth);
  }

  /** The mean over all draws of dropout of what the other sliders leave: the root, and what every kept split changes. */
  expectedQuality(tree, settings) {
    const others = new Pruned(tree, { ...settings, p: 0 });
    const kept = new Float64Array(tree.size);
    let worth = this.worth(this.passed, 0, 0);
    for (let node = 0; node < tree.size; node++) {
      if (others.stops(tree, node) || !others.reached[node]) continue;
      kept[node] = node === 0 ? 1 : kept[tree.parent[node]] * (1 - dropoutRate(tree.depth[node], settings.p, settings.q));
      for (const child of tree.children(node)) {
        worth += kept[node] * (this.worth(this.passed, child, child) - this.worth(this.passed, child, node));
      }
    }
    return this.scores(worth);
  }

  /** Measures by their names. */
  scores(worth) {
    if (this.tree.isOfClasses) return { accuracy: worth / this.total };
    const [rows, sum, squares] = this.passed;
    const spread = squares - (sum * sum) / rows;
    return { "R²": spread > 0 ? 1 + worth / spread : NaN, "mean squared error": Math.max(0, -worth / rows) };
  }

  /** Rows by their class and the one that is predicted; rows of unknown classes in the last line. */
  confusion(pruned) {
    const table = Array.from({ length: this.width }, () => new Float64Array(this.width - 1));
    for (const [node, sums] of this.stops(pruned)) {
      const predicted = this.tree.nodes.label[node];
      for (let i = 0; i < this.width; i++) table[i][predicted] += sums[node * this.width + i];
    }
    return table;
  }

  /** The ROC curve of one class against the others: false and true positive rates from (0, 0) on, and its area. */
  roc(pruned, label) {
    const groups = [...this.stops(pruned)].map(([node, sums]) => {
      const right = sums[node * this.width + label];
      return [this.tree.share(node, label), right, this.rowsIn(sums, node) - right];
    });
    groups.sort((a, b) => b[0] - a[0]);
    const positive = groups.reduce((sum, group) => sum + group[1], 0);
    const negative = groups.reduce((sum, group) => sum + group[2], 0);
    const points = [[0, 0]];
    let [right, wrong, area] = [0, 0, 0];
    groups.forEach(([share, more, others], i) => {
      right += more;
      wrong += others;
      if (i + 1 < groups.length && groups[i + 1][0] === share) return;
      const [x, y] = points.at(-1);
      points.push([wrong / negative, right / positive]);
      area += ((wrong / negative - x) * (right / positive + y)) / 2;
    });
    return { points, area: positive > 0 && negative > 0 ? area : NaN };
  }
}
