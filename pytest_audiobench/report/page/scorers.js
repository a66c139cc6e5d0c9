  // One set of answers by several scorers: a plot and a table for each metric.
  function scorerCell(row) {
    const about = [row.why ? el("div", {}, `not parsed: ${row.why}`) : null,
      el("div", { class: "mono" }, breakable(row.signature)),
      el("div", {}, "The rule: ", el("code", {}, `audiobench describe ${visible(row.scorer)}`), ", or docs/scorers")];
    return el("th", { scope: "row" }, el("details", {}, el("summary", { title: visible(row.signature) }, visible(row.scorer),
      row.headline ? [" ", tag("plain", "headline scorer")] : null,
      row.wording ? el("div", { class: "small soft" }, visible(row.wording)) : null), el("div", { class: "small soft" }, about)));
  }

  const scorerRow = ([scorer, signature, wording, why, n, skipped, unparsed, at, low, high, value, interval, difference, headline]) =>
    ({ scorer: data.words[scorer], signature: data.words[signature], wording: data.words[wording], why: data.words[why], n, skipped, unparsed, at, low, high, value, interval, difference, headline });

  function scorerTable(one) {
    const read = one.rows.map(scorerRow);
    const compared = read.find((row) => row.scorer === one.reference && row.difference === "");
    const heads = [["Scorer"], [visible(one.metric), true], ["Interval", true], ["n\u00a0scored", true], ["Skipped", true], ["Unparsed", true],
      [["Difference to ", visible(one.reference)], true]];
    const rows = read.map((row) => el("tr", { class: row === compared ? "compared" : null }, scorerCell(row),
      el("td", { class: "number value" }, row.value), el("td", { class: "number" }, row.interval),
      [row.n, row.skipped, row.unparsed].map((number) => el("td", { class: "number" }, count(number))),
      el("td", { class: "number" }, row.difference)));
    const marks = read.map((row) => ({
      label: visible(row.scorer),
      marks: [{ ...look(0), ...(row === compared ? { symbol: "square" } : {}), at: row.at, low: row.low, high: row.high, hollow: row.low === null,
        cells: [visible(row.value), row.interval, count(row.n)], about: `${visible(row.scorer)}: ${visible(row.value)}, ${row.interval || "no interval"}, n ${row.n}` }],
    }));
    const plot = { name: `${visible(one.metric)} by scorer`, axis: visible(one.metric), heads: ["value", "interval", "n"], rows: marks };
    return el("div", { class: "scorers" }, plotFigure(visible(one.metric), plot), table(heads, rows));
  }

  const compared = [...data.suites, ...data.evals].filter((owner) => owner.comparisons.length);
  const scorersId = (owner) => `scorers-${compared.indexOf(owner)}`;

  function drawScorers(into) {
    into.append(el("p", { class: "soft" }, "The same answers, parsed by several scorers: rows differ only in the scorer. ",
      "Lines are intervals; the square is the scorer that the others are compared with."));
    const nameOf = (owner) => named(owner.name, owner.model) + (data.suites.includes(owner) ? " (pooled)" : "");
    into.append(...longBoxes(compared, "evals and suites", nameOf, (owner) => {
      const box = el("details", { id: scorersId(owner), open: owner === compared[0] },
        el("summary", {}, visible(nameOf(owner)), owner.comparisons.filter((one) => one.leading).map((one) => el("div", { class: "small soft" }, visible(one.sentence)))));
      whenOpen(box, () => [
        ...owner.comparisons.filter((one) => one.leading).map((one, _, leading) => [leading.length > 1 ? el("p", {}, visible(one.sentence)) : null, scorerTable(one)]),
        ...owner.comparisons.filter((one) => !one.leading).map((one) => el("details", { class: "inner" }, el("summary", { class: "small" }, visible(one.sentence)), scorerTable(one)))]);
      return box;
    }));
  }

  // Failures beside the score: the classes of an eval's failed answers, the score without each, examples.
  function failureTable(classes) {
    const heads = [["Class"], ["Answers", true], ["Share", true], ["Metric"], ["With them", true], ["Without them", true], ["Interval", true], ["n", true], ["Change", true]];
    return table(heads, classes.flatMap((one) => (one.moved.length ? one.moved : [null]).map((moved, number, all) =>
      el("tr", { class: number < all.length - 1 ? "joined" : null },
        number ? [el("td"), el("td"), el("td")] : [el("th", { scope: "row", class: "mono" }, one.name),
          el("td", { class: "number" }, count(one.answers)), el("td", { class: "number" }, one.share)],
        moved ? [el("td", { class: "nowrap" }, visible(moved.metric)), el("td", { class: "number" }, moved.value), el("td", { class: "number value" }, moved.without),
          el("td", { class: "number" }, moved.interval), el("td", { class: "number" }, count(moved.n)), el("td", { class: "number" }, moved.difference)]
          : el("td", { colspan: 6 })))));
  }

  const failuresId = (one) => `failures-${data.evals.indexOf(one)}`;

  function failureExamples(item, failure) {
    const own = all.filter((sample) => sample.item === item && failuresOf(sample, sample.scorers[0]).includes(failure.name));
    const link = sampleLink({ failure: failure.name }, own.length === 1 ? "Show it among the samples" : `Show the ${count(own.length)} among the samples`, data.evals[item]);
    return el("div", { class: "failure" }, el("h3", {}, el("span", { class: "mono" }, failure.name)), el("p", { class: "small soft" }, failure.about),
      own.slice(0, 3).map((sample) => el("dl", { class: "example" },
        el("dt", {}, el("span", { class: "mono" }, visible(sample.id))),
        el("dd", {}, sample.stages.filter(([, , , role]) => !role).slice(-1).map(([, text]) => answerText(text, "answer", 240)),
          plainText(sample.reference) ? el("div", { class: "small soft" }, "reference: ", longText(sample.reference, "inline", 240)) : null))),
      own.length ? link : el("p", { class: "small soft" }, "None of them is on this page: see predictions.jsonl."));
  }

  function drawFailures(into) {
    const some = data.evals.map((one, item) => ({ one, item })).filter(({ one }) => one.failures.length);
    into.append(el("p", { class: "soft" }, "Classes of failed answers, and the headline metric without each class. ",
      "An answer may fall into several."));
    const things = new Map(some.map(({ one, item }) => [one, item]));
    into.append(...longBoxes([...things.keys()], "evals", (one) => `${evalText(one)} ${one.failureSentence}`, (one) => {
      const box = el("details", { id: failuresId(one), open: some.length === 1 }, el("summary", {}, visible(named(one.name, one.model)), el("div", { class: "small soft" }, visible(one.failureSentence))));
      // Drawn when it is opened: the examples of a hundred evals are many texts.
      whenOpen(box, () => [failureTable(one.failures), ...one.failures.map((failure) => failureExamples(things.get(one), failure))]);
      return box;
    }));
  }
