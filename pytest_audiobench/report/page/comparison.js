  // Comparison with the clean answers: for each data set the evals without a dose, a table for each way of asking.
  const comparisonCell = ([value, interval]) => [el("strong", {}, visible(value)), interval ? el("div", { class: "small soft" }, interval) : null];

  // The field's words for the columns, which a terminal has no room for.
  const COLUMN_WORDS = { nulls: "unparsed or refused", beyond: "out of range", missed: "without reasoning", same: "consistency, %", flips: "flip rate, %", changed: "predictions changed",
    drop: "accuracy drop", reliance: "audio reliance", followed: "follow rate, %", swayed: "swayed, %" };
  const columnWord = (name) => COLUMN_WORDS[name] || name;
  const comparedWith = (text) => text.replace(/^asked, and compared with nothing$/, "the answers that the others are compared with").replace(/^as it is, /, "reasoning unchanged, ");

  function comparisonTable(comparison, block) {
    const { columns: names, rows } = block;
    const several = new Set(rows.map(([, , scorer]) => scorer)).size > 1;
    const heads = [["Eval"], ...(several ? [["Scorer"]] : []), ...names.map((name) => [visible(name === "score" ? comparison.metric : columnWord(name)), true])];
    return table(heads, rows.map(([, label, scorer, cells]) => el("tr", {}, el("th", { scope: "row" }, visible(label)), several ? el("td", {}, visible(scorer)) : null,
      names.map((name) => el("td", { class: "number" }, cells[name] ? comparisonCell(cells[name]) : "")))), true);
  }

  function drawComparisons(into) {
    into.append(el("p", { class: "soft" }, "Evals without a dose, grouped by the answers that they are compared with. Shares in percent, differences in pp, each with its interval; unparsed, out of range, without reasoning and changed are counts."));
    const used = new Set(data.comparisons.flatMap((comparison) => comparison.blocks.flatMap((block) => block.columns)));
    const words = el("details", {}, el("summary", {}, "What the columns hold"));
    whenOpen(words, () => [facts(Object.entries(data.comparisonColumns).filter(([name]) => name !== "score" && used.has(name)).map(([name, text]) => [columnWord(name), text]))]);
    into.append(words);
    for (const [number, comparison] of data.comparisons.entries()) {
      const box = el("details", { open: number === 0 }, el("summary", {}, visible(named(comparison.of, comparison.model))));
      whenOpen(box, () => comparison.blocks.map((block) => [el("h3", {}, visible(comparedWith(block.about))), comparisonTable(comparison, block)]));
      into.append(box);
    }
  }
