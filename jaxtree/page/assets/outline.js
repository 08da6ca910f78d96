// The tree as an outline of items that open and close: the tree pattern of WAI-ARIA. Items are made when they are first
// shown, their histograms when they come into view.

const FEW_ITEMS = 24;
const DEEP = 9;

class Outline {
  /** `visit(node)` is called for the node that has the focus or the pointer. */
  constructor(root, tree, visit) {
    Object.assign(this, { root, tree, visit });
    this.items = new Map();
    this.open = new Set();
    this.matches = new Set();
    this.path = new Map();
    this.current = 0;
    this.pruned = new Pruned(tree, NO_PRUNING);
    this.watcher = new IntersectionObserver((entries) => this.fill(entries), { rootMargin: "300px" });
    root.addEventListener("keydown", (event) => this.press(event));
    root.addEventListener("click", (event) => this.click(event));
    root.addEventListener("pointerover", (event) => this.visitAt(event));
    root.addEventListener("pointerleave", () => this.visit(this.current));
    root.addEventListener("focusin", (event) => this.take(event));
    this.openFirst();
    this.rebuild();
  }

  openFirst() {
    const waiting = [0];
    for (let shown = 1; waiting.length && shown < FEW_ITEMS; ) {
      const node = waiting.shift();
      if (this.tree.isLeaf(node)) continue;
      this.open.add(node);
      waiting.push(...this.tree.children(node));
      shown += this.tree.nodes.numChildren[node];
    }
  }

  /** Makes all shown items anew. */
  rebuild() {
    this.watcher.disconnect();
    this.items.clear();
    this.root.replaceChildren(this.item(0));
    this.setCurrent(this.pruned.shown(this.tree, this.current));
  }

  openAll() {
    for (let node = 0; node < this.tree.size; node++) if (!this.tree.isLeaf(node)) this.open.add(node);
    this.rebuild();
  }

  closeAll() {
    this.open.clear();
    this.current = 0;
    this.rebuild();
  }

  /** Shows what a pruning leaves. */
  show(pruned) {
    this.pruned = pruned;
    for (const node of [...this.items.keys()]) if (this.items.has(node)) this.update(node);
    this.setCurrent(pruned.shown(this.tree, this.current));
  }

  /** Marks the nodes that ask for some columns, and opens what is above them. */
  search(isWanted) {
    this.matches.clear();
    for (let node = 0; node < this.tree.size; node++) {
      if (this.tree.isLeaf(node) || !isWanted(this.tree.nodes.column[node])) continue;
      this.matches.add(node);
      for (const above of this.tree.path(node).slice(0, -1)) this.open.add(above);
    }
    this.rebuild();
    return this.matches.size;
  }

  /** Marks a path, with words for what a row has at each of its nodes, and opens it. */
  follow(path) {
    this.path = path;
    for (const node of [...path.keys()].slice(0, -1)) this.open.add(node);
    this.rebuild();
  }

  /** Opens what is above a node, or as far as the tree goes, and brings it into view. */
  reveal(node, { focus = true } = {}) {
    node = this.pruned.shown(this.tree, node);
    for (const above of this.tree.path(node).slice(0, -1)) this.expand(above);
    this.setCurrent(node);
    const item = this.items.get(node);
    if (focus) item.focus({ preventScroll: true });
    item.firstChild.scrollIntoView({ block: "nearest" });
    this.visit(node);
  }

  expand(node) {
    this.open.add(node);
    this.update(node);
  }

  collapse(node) {
    this.open.delete(node);
    this.update(node);
  }

  isOpen(node) {
    return this.open.has(node) && !this.pruned.stops(this.tree, node);
  }

  item(node) {
    const { tree } = this;
    const siblings = node === 0 ? 1 : tree.nodes.numChildren[tree.parent[node]];
    const first = node === 0 ? 0 : tree.nodes.firstChild[tree.parent[node]];
    const item = make("li", {
      role: "treeitem", tabindex: "-1", "data-node": node, "aria-level": tree.depth[node] + 1,
      "aria-setsize": siblings, "aria-posinset": node - first + 1,
    });
    const spark = make("span", { class: "spark", "aria-hidden": "true" });
    item.append(
      make(
        "div", { class: "row" },
        make("span", { class: "twisty", "aria-hidden": "true" }),
        make("span", { class: "what" }, make("span", { class: "branch cut" }, tree.branch(node)), make("span", { class: "asks cut" })),
        spark, shareBar(tree, node),
        make("span", { class: "says cut" }, tree.says(node)),
        make("span", { class: "count" }, inWords(tree.nodes.weight[node])),
      ),
    );
    this.items.set(node, item);
    if (tree.histograms[node]) this.watcher.observe(spark);
    this.update(node);
    return item;
  }

  /** Brings an item in line with the pruning, the search, the path, and whether it is open. */
  update(node) {
    const { tree } = this;
    const item = this.items.get(node);
    if (!item) return;
    const stops = this.pruned.stops(tree, node);
    const isOpen = this.isOpen(node);
    const group = item.querySelector(":scope > ul");
    if (group && !isOpen) {
      for (const below of group.querySelectorAll("[data-node]")) this.items.delete(Number(below.dataset.node));
      group.remove();
    }
    if (!group && isOpen) {
      const deep = tree.depth[node] >= DEEP ? "deep" : null;
      item.append(make("ul", { role: "group", class: deep }, ...tree.children(node).map((child) => this.item(child))));
    }
    stops ? item.removeAttribute("aria-expanded") : item.setAttribute("aria-expanded", isOpen);
    item.classList.toggle("is-pruned", this.pruned.collapsed[node] === 1);
    item.classList.toggle("is-match", this.matches.has(node) && !stops);
    item.classList.toggle("on-path", this.path.has(node));
    item.querySelector(".asks").textContent = this.asks(node, stops);
    item.setAttribute("aria-label", this.label(node, stops));
  }

  asks(node, stops) {
    if (this.path.has(node)) return this.path.get(node);
    if (this.pruned.collapsed[node]) return "pruned here";
    return stops ? "" : `${this.tree.columnName(node)}?`;
  }

  label(node, stops) {
    const asks = stops ? (this.pruned.collapsed[node] ? "pruned here" : "leaf") : `splits on ${this.tree.columnName(node)}`;
    const onPath = this.path.has(node) ? `, on the path: ${this.path.get(node)}` : "";
    return `${this.tree.branch(node)}: ${this.tree.says(node)}, weight ${inWords(this.tree.nodes.weight[node])}, ${asks}${onPath}`;
  }

  fill(entries) {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      this.watcher.unobserve(target);
      const picture = histogramPicture(this.tree, nodeAt(target), 80, 22);
      if (picture) target.append(picture);
    }
  }

  setCurrent(node) {
    this.items.get(this.current)?.setAttribute("tabindex", "-1");
    while (!this.items.has(node)) node = this.tree.parent[node];
    this.current = node;
    this.items.get(node).setAttribute("tabindex", "0");
  }

  take(event) {
    const node = nodeAt(event.target);
    if (node === null) return;
    this.setCurrent(node);
    this.visit(node);
  }

  visitAt(event) {
    const node = nodeAt(event.target);
    if (node !== null) this.visit(node);
  }

  click(event) {
    const node = nodeAt(event.target);
    if (node === null) return;
    this.toggle(node);
    this.items.get(node).focus({ preventScroll: true });
  }

  toggle(node) {
    if (this.pruned.stops(this.tree, node)) return;
    this.isOpen(node) ? this.collapse(node) : this.expand(node);
  }

  press(event) {
    const node = nodeAt(event.target);
    const act = OUTLINE_KEYS[event.key];
    if (node === null || !act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = act(this, node);
    if (next === null || next === undefined) return;
    this.items.get(next).focus({ preventScroll: true });
    this.items.get(next).firstChild.scrollIntoView({ block: "nearest" });
  }

  /** The item below one on the screen; null at the end. */
  below(node) {
    if (this.isOpen(node)) return this.tree.nodes.firstChild[node];
    for (let item = this.items.get(node); item; item = item.parentElement.closest("li")) {
      if (item.nextElementSibling) return Number(item.nextElementSibling.dataset.node);
    }
    return null;
  }

  /** The item above one on the screen. */
  above(node) {
    if (node === 0) return null;
    const before = this.items.get(node).previousElementSibling;
    return before ? this.last(Number(before.dataset.node)) : this.tree.parent[node];
  }

  last(node) {
    while (this.isOpen(node)) node = this.tree.children(node).at(-1);
    return node;
  }
}

/** What keys do: they act on the outline at a node, and return the node that is to have the focus. */
const OUTLINE_KEYS = {
  ArrowDown: (outline, node) => outline.below(node),
  ArrowUp: (outline, node) => outline.above(node),
  ArrowRight: (outline, node) => {
    if (outline.isOpen(node)) return outline.tree.nodes.firstChild[node];
    if (!outline.pruned.stops(outline.tree, node)) outline.expand(node);
  },
  ArrowLeft: (outline, node) => {
    if (!outline.isOpen(node)) return node === 0 ? null : outline.tree.parent[node];
    outline.collapse(node);
  },
  Home: () => 0,
  End: (outline) => outline.last(0),
  Enter: (outline, node) => outline.toggle(node),
  " ": (outline, node) => outline.toggle(node),
  "*": (outline, node) => {
    const siblings = node === 0 ? [0] : outline.tree.children(outline.tree.parent[node]);
    for (const sibling of siblings) if (!outline.pruned.stops(outline.tree, sibling)) outline.expand(sibling);
  },
};

function nodeAt(element) {
  const item = element.closest("[data-node]");
  return item ? Number(item.dataset.node) : null;
}

/** A bar of the shares of the classes; of numbers a mark where the mean lies among those of all nodes. */
function shareBar(tree, node) {
  const bar = draw("svg", { class: "shares", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
  if (!tree.isOfClasses) {
    bar.append(draw("rect", { width: Math.max(2, 100 * tree.place(node)), height: 10, fill: tree.colours[0] }));
    return bar;
  }
  const shares = tree.nodes.shares[node];
  let start = 0;
  for (let i = 0; i < shares.length; i += 2) {
    bar.append(draw("rect", { x: start, width: 100 * shares[i + 1], height: 10, fill: tree.colours[shares[i]] }));
    start += 100 * shares[i + 1];
  }
  return bar;
}
