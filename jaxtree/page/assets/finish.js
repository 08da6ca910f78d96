// The start of what all pages have: cards with charts, and rows.

for (const element of document.querySelectorAll("[data-card]")) new Card(element, told.cards[element.dataset.card]);
if (byId("rows")) rowList = new RowList(byId("rows"), told.rows);
if (byId("first-tree")) new ShownOutlines(byId("first-tree"));
if (byId("terms")) new TermList(byId("terms"), told.terms);
if (location.href === "about:srcdoc" && window.frameElement) {
  const fit = () => (window.frameElement.style.maxHeight = `${Math.ceil(document.body.getBoundingClientRect().height)}px`);
  new ResizeObserver(fit).observe(document.body);
}
document.documentElement.dataset.ready = "yes";
