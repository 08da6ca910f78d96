// Cards with a chart each, and choices of which: of which rows, and of which class.

const PICTURES = { plot: plotPicture, list: listPicture, grid: gridPicture, parallel: parallelPicture };

/** Draws a chart into an element, anew whenever its width changes. */
function drawInto(place, chart) {
  const width = Math.floor(place.clientWidth);
  if (!width) return;
  const series = chart.kind === "plot" ? chart.series.filter((own) => own.name) : (chart.legend ?? []);
  const legend = series.length > 1 || chart.legend ? [make("ul", { class: "legend" }, ...series.map((own) => make("li", {}, swatch(colourOf(own.colour)), breakable(own.name))))] : [];
  const caption = chart.caption ? [make("figcaption", { ...(chart.value === undefined ? {} : { "data-value": chart.value }) }, chart.caption)] : [];
  place.replaceChildren(make("figure", {}, ...legend, PICTURES[chart.kind](chart, width), ...caption));
}

class Card {
  constructor(element, card) {
    Object.assign(this, { card, chosen: card.chosen.slice() });
    this.place = element.querySelector(".place");
    const tools = element.querySelector(".tools");
    card.choices.forEach(([label, options], i) => options.length > 1 && tools.append(this.choice(label, options, i)));
    if (!tools.children.length) tools.remove();
    let width = 0;
    new ResizeObserver(() => {
      if (this.place.clientWidth === width) return;
      width = this.place.clientWidth;
      this.show();
    }).observe(this.place);
    this.show();
  }

  choice(label, options, i) {
    const select = make("select", { "aria-label": `${label}: ${this.card.title}`, change: () => ((this.chosen[i] = Number(select.value)), this.show()) }, ...options.map((name, value) => make("option", { value }, name)));
    select.value = this.chosen[i];
    return make("span", { class: "field" }, select);
  }

  show() {
    const chart = this.card.charts[this.chosen.join(",")];
    if (chart) drawInto(this.place, chart);
  }
}
