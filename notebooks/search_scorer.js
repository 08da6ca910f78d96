// Guides come first among the pages that have the words of a search, and the changelog last.
var Scorer = {
  score: ([page, title, anchor, descr, score, filename]) =>
    score + (page.startsWith("how_do_i/") ? 6 : 0) - (page === "changelog" ? 6 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
