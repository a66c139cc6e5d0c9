  // Where one domain fails more often than all others: the uplift of each with its interval, on discovery and holdout; then the numbers.
  const HALVES = ["discovery", "holdout"];

  function findingPlot(one) {
    const rows = one.rows.map((row) => ({
      label: visible(row.part),
      marks: HALVES.map((half, number) => ({ series: half, ...look(number), at: row[half].at, low: row[half].low, high: row[half].high, hollow: row.status !== "validated",
        cells: [row[half].uplift, row[half].interval || "–", number ? row.status : ""],
        about: `${visible(row.part)}, ${half}: ${row[half].uplift} pp (${row[half].interval || "no interval"})\n${visible(row.why)}` })),
    }));
    const spec = { name: `Uplift of ${visible(one.metric)} by ${visible(one.by)}; the table holds the numbers`, axis: "uplift over all others, pp", heads: ["uplift", "interval", "status"], rows, zero: true };
    return plotFigure([el("strong", {}, `Uplift of ${visible(one.metric)}`), el("span", { class: "soft" }, ` by ${visible(one.by)}; a filled sign is validated`)], spec, HALVES);
  }

  const halfCells = (half, level) => [
    el("td", { class: "number" }, el("strong", {}, half.uplift), el("div", { class: "small soft" }, half.interval)),
    el("td", { class: "number" }, half.rates, el("div", { class: "small soft" }, `${half.clips} clips`)),
    el("td", { class: "number" }, level),
  ];

  // What the model does at all stands beside how it differs: a model that fails everywhere alike differs nowhere.
  const rateCell = ([value, interval, n]) => el("td", { class: "number" }, el("strong", {}, value), el("div", { class: "small soft" }, interval), n ? el("div", { class: "small soft" }, `of ${n}`) : null);

  function findingTable(one) {
    const heads = [[one.by], ["Status"], ["Rate", true], ["Uplift, pp", true], ["Rate here and elsewhere", true], ["q", true], ["Uplift on holdout", true], ["Rate here and elsewhere", true], ["p", true]];
    const rows = one.rows.map((row) => el("tr", {},
      el("th", { scope: "row" }, visible(row.part)),
      el("td", {}, tag(row.tone, `${row.mark} ${row.status}`), row.status === "untested" ? el("div", { class: "small soft" }, visible(row.why)) : null),
      rateCell(row.rate), halfCells(row.discovery, row.q), halfCells(row.holdout, row.holdout.p)));
    return table(heads, rows, true);
  }

  function phraseTable(one) {
    const rows = one.phrases.map((phrase) => el("tr", {}, el("th", { scope: "row" }, longText(phrase.text, "answer")), el("td", { class: "number" }, count(phrase.count)), el("td", {}, visible(phrase.where))));
    return [el("h3", {}, "Most frequent phrases"), table([["Words"], ["Times", true], ["Where"]], rows)];
  }

  function drawFindings(into) {
    for (const [number, one] of data.findings.entries()) {
      const box = el("details", { open: number === 0 }, el("summary", {}, visible(named(one.eval, one.model)), el("span", { class: "small soft" }, ` ${visible(one.metric)} ${one.rate[0]}${one.rate[1] ? ` (${one.rate[1]})` : ""}${one.rate[2] ? ` of ${one.rate[2]}` : ""}; ${one.summary}`)));
      whenOpen(box, () => [findingPlot(one), findingTable(one), el("p", { class: "small soft" }, visible(one.rule), "."), one.phrases.length ? phraseTable(one) : null]);
      into.append(box);
    }
  }
