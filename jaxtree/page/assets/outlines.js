// Trees in words, of which some are shown at once, from a number that is chosen.

class ShownOutlines {
  constructor(input) {
    this.input = input;
    this.trees = [...byId("trees").children];
    this.most = this.trees.filter((tree) => !tree.hidden).length;
    this.lowest = Number(input.min);
    input.addEventListener("change", () => this.show(Number(input.value) - this.lowest));
    byId("trees-before").addEventListener("click", () => this.show(this.first - this.most));
    byId("trees-next").addEventListener("click", () => this.show(this.first + this.most));
    this.first = 0;
  }

  /** Shows trees from a place on; so many that the last of all is among them. */
  show(place) {
    this.first = Math.min(Math.max(0, Math.trunc(place) || 0), this.trees.length - this.most);
    this.trees.forEach((tree, i) => (tree.hidden = i < this.first || i >= this.first + this.most));
    this.input.value = this.lowest + this.first;
  }
}
