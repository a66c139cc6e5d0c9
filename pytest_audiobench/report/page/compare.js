  // Runs beside the first of them: what differs in sentences, as a plot of the drops, and in a table.
  const VERDICTS = { improved: "good", pass: "good", regressed: "bad", inconclusive: "warn", "not comparable": "plain" };
  const [first, ...others] = data.contenders;
  const letters = others.map((one) => one.letter);

  function drawHeading() {
    byId("heading").append(
      themeButton(),
      el("h1", {}, others.length === 1 ? `${others[0].source} compared with ${first.source}` : `${others.length} runs compared with ${first.source}`),
      facts(data.contenders.map((one) => [one.letter, [one.source, el("span", { class: "soft" }, ` · ${one.model} · `), el("code", {}, one.spec)]])),
      ...data.answers.map((text) => el("p", { class: `overall ${data.tone}` }, el("strong", {}, text))),
      ...data.warnings.map((text) => el("p", { class: "banner warn" }, text)),
      el("p", { class: "small soft" }, data.rules));
  }

  function show(id, ...content) {
    byId(id).hidden = false;
    byId(id).append(...content);
  }

  // A plot for each metric and unit: shares and counts have no axis in common.
  function drawDifferences() {
    const plots = new Map();
    for (const line of data.lines) {
      for (const side of line.sides.filter((one) => one.test && one.test.at.change !== null)) {
        const { test } = side;
        const key = JSON.stringify([line.metric, line.scorer, test.unit]);
        if (!plots.has(key)) plots.set(key, { metric: line.metric, scorer: line.scorer, unit: test.unit, rows: new Map() });
        const { rows } = plots.get(key);
        const label = line.group ? `${line.owner} [${line.group}]` : line.owner;
        if (!rows.has(label)) rows.set(label, { label: visible(label), marks: [] });
        rows.get(label).marks.push({ ...look(letters.indexOf(side.letter)), at: test.at.change, low: test.at.lower, high: test.at.upper, limit: test.at.margin, hollow: test.at.lower === null,
          cells: [visible(test.change), visible(test.interval || "–"), `${test.mark} ${test.status}`], about: visible(`${side.letter}: ${test.detail}`) });
      }
    }
    if (!plots.size) return;
    show("differences",
      el("p", { class: "soft" }, `Change from ${first.letter} on the same samples. Beyond the dashed line, the margin, it is worse than allowed.`),
      el("div", { class: "plots" }, [...plots.values()].map(({ metric, scorer, unit, rows }) => plotFigure(
        [el("strong", {}, metric), el("span", { class: "soft" }, ` by ${scorer}`)],
        { name: `${visible(metric)} by ${visible(scorer)}: changes; the table holds the numbers`, axis: unit ? `change, ${visible(unit)}` : "change", heads: ["change", "interval", "verdict"], rows: [...rows.values()], zero: true },
        letters))));
  }

  const HEADS = [["Eval and metric"], [""], ["Value", true], ["Interval", true], ["n", true], ["Parse rate", true], ["Change", true], ["Interval", true], ["Worse / better", true], ["Pairs", true], ["MDE", true], ["Verdict"]];

  function lineRows(line) {
    return line.sides.map((side, place) => {
      const { test } = side;
      const number = (text) => el("td", { class: "number" }, text);
      return el("tr", { class: place < line.sides.length - 1 ? "joined" : null },
        el("th", { scope: "row" }, place ? "" : [line.owner, el("div", { class: "small soft" }, `${line.metric} by ${line.scorer}${line.group ? `, ${line.group}` : ""}`)]),
        el("td", {}, el("strong", {}, side.letter)), el("td", { class: "number value" }, side.value), el("td", { class: "number" }, side.interval || el("span", { class: "small soft" }, side.method)), number(count(side.n)), number(side.parseRate),
        ...(test ? [number(test.change), number(test.interval), number(test.flips), number(count(test.pairs)), number(test.sees),
          el("td", { class: "verdict" }, tag(VERDICTS[test.status] || "plain", `${test.mark} ${test.status}`), el("div", { class: "small soft" }, test.detail))] : ["", "", "", "", "", ""].map(() => el("td", {}))));
    });
  }

  function drawTable(id, [heads, ...rows]) {
    if (!heads) return;
    show(id, table(heads.map((text, place) => [text, place > 1]), rows.map(([name, ...cells]) =>
      el("tr", {}, el("th", { scope: "row" }, name), cells.map((text, place) => el("td", { class: place ? "number" : null }, text.trim())))), true));
  }

  drawHeading();
  if (data.sentences.length) show("verdicts", el("ul", { class: "sentences" }, data.sentences.map((text) => el("li", {}, text))));
  if (data.flips) show("verdicts", el("p", {}, "See the samples that changed, with sound: ", el("code", {}, data.flips), " asks nothing again."));
  drawDifferences();
  byId("numbers").append(table(HEADS, data.lines.flatMap(lineRows), true));
  drawTable("curves", data.curves);
  drawTable("findings", data.findings);
  if (data.notes.length) show("notes", el("ul", { class: "sentences small" }, data.notes.map((text) => el("li", {}, text.startsWith("!") ? el("strong", {}, text) : text))));
  byId("contents").append(el("ul", {}, [...document.querySelectorAll("main > section:not([hidden])")].map((one) =>
    el("li", {}, el("a", { href: `#${one.id}` }, one.querySelector("h2").textContent)))));
  byId("footer").append("Written by pytest-audiobench. A change is a run minus the first one, of shares in percentage points (pp), on the samples both answered.");
