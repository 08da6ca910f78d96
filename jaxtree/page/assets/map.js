// The whole tree at a glance: a band a level, a node as wide as its weight. Pointers only; the outline says it all.

const BAND = { tallest: 26, lowest: 5, all: 208 };

class TreeMap {
  /** `visit(node)` is called for the node under the pointer, `choose(node)` for the one that is clicked. */
  constructor(canvas, tree, visit, choose) {
    Object.assign(this, { canvas, tree });
    this.band = Math.max(BAND.lowest, Math.min(BAND.tallest, BAND.all / (tree.deepest + 1)));
    this.start = new Float64Array(tree.size);
    this.levels = Array.from({ length: tree.deepest + 1 }, () => []);
    for (let node = 0; node < tree.size; node++) {
      this.levels[tree.depth[node]].push(node);
      let start = this.start[node];
      for (const child of tree.children(node)) {
        this.start[child] = start;
        start += this.width(child);
      }
    }
    this.path = new Set();
    this.redraw = oncePerFrame(() => this.draw());
    new ResizeObserver(this.redraw).observe(canvas);
    canvas.addEventListener("pointermove", (event) => {
      const node = this.nodeAt(event);
      if (node === null) return hideReadout();
      visit(node);
      showReadout(event.clientX, event.clientY, [tree.branch(node), tree.says(node), `weight ${inWords(tree.nodes.weight[node])}`]);
    });
    canvas.addEventListener("pointerleave", hideReadout);
    canvas.addEventListener("click", (event) => {
      const node = this.nodeAt(event);
      if (node !== null) choose(node);
    });
  }

  /** The share of the root's weight. */
  width(node) {
    return this.tree.nodes.weight[node] / this.tree.nodes.weight[0];
  }

  show(pruned) {
    this.pruned = pruned;
    this.redraw();
  }

  mark(node, path = this.path) {
    this.marked = node;
    this.path = new Set(path);
    this.redraw();
  }

  nodeAt(event) {
    const place = this.canvas.getBoundingClientRect();
    const level = this.levels[Math.floor((event.clientY - place.top) / this.band)] ?? [];
    const x = (event.clientX - place.left) / place.width;
    return level.find((node) => x >= this.start[node] && x < this.start[node] + this.width(node)) ?? null;
  }

  draw() {
    const { canvas, tree, band, pruned } = this;
    const scale = window.devicePixelRatio || 1;
    canvas.style.height = `${band * this.levels.length}px`;
    const wide = canvas.clientWidth;
    canvas.width = wide * scale;
    canvas.height = band * this.levels.length * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const [gone, ink, edge] = ["--gone", "--ink", "--paper"].map(themeColour);
    for (let node = 0; node < tree.size; node++) {
      const [x, y, width] = [this.start[node] * wide, tree.depth[node] * band, this.width(node) * wide];
      if (width < 0.2) continue;
      const [colour, strength] = tree.tint(node);
      pen.fillStyle = pruned.reached[node] ? colour : gone;
      pen.globalAlpha = pruned.reached[node] ? strength : 1;
      pen.fillRect(x, y, Math.max(width - (width > 3 ? 1 : 0), 0.5), band - 1);
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = ink;
    pen.lineWidth = 2;
    for (const node of [...this.path, this.marked ?? 0]) {
      pen.strokeRect(this.start[node] * wide + 1, tree.depth[node] * band + 1, Math.max(this.width(node) * wide - 3, 1), band - 3);
    }
  }
}
