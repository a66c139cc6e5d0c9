  // Beside each score: how many answers were parsed, why the others were not, and how else answers failed.
  function parseRateCell(block, owner) {
    const statuses = new Set(["unparsed", "refused", "empty", "out_of_range", "truncated"]);
    const classes = owner.failures && block === owner.blocks[0] ? owner.failures.filter((one) => !statuses.has(one.name)) : [];
    return el("td", { class: "number parse-rate" }, block.parse_rate, block.unparsed ? el("div", { class: "small soft" }, block.unparsed) : null,
      classes.length ? el("div", { class: "small" }, toFailures(owner, classes.map((one) => `${count(one.answers)} ${one.name}`).join(", "))) : null);
  }

  function toFailures(owner, text) {
    const link = el("a", { href: "#failures" }, text);
    link.addEventListener("click", () => openBox("failures", failuresId(owner), owner));
    return link;
  }

  // A name or a signature may be broken after each of its parts, and only there while there is room.
  const NAME_PARTS = /(?<=[|_/,([])|(?=[[(])/;
  const breakable = (name) => visible(name).split(NAME_PARTS).map((part) => [part, el("wbr")]);

  function checkList(checks) {
    return el("ul", {}, checks.map((check) => el("li", {},
      el("span", { class: check.tone }, `${check.mark} ${check.status}`), " ", el("code", {}, visible(check.threshold)),
      check.tone !== "good" && check.detail ? el("div", { class: "small soft" }, visible(check.detail)) : null)));
  }

  // With one scorer only, its name beside every number would say nothing.
  const scorers = new Set(data.evals.flatMap((one) => one.blocks.map((block) => block.scorer)).filter(Boolean));
  const FIGURE_HEADS = [["Metric"], ["Value", true], ["Interval", true], ["n", true]];

  const figureOf = ([metric, value, interval, n, at, low, high, unit, method]) =>
    ({ metric: data.words[metric], value, interval, n, at, low, high, unit: data.words[unit], method: visible(data.words[method]) });

  // Where there is no interval, the reason stands in its place.
  function intervalCell({ interval, method, at }) {
    if (interval) return el("td", { class: "number", title: method }, interval);
    return el("td", { class: "small soft reason" }, at === null ? "" : method.replace(/^no interval: /, "none: "));
  }

  function figureCells(figure, scorer) {
    return [
      el("td", { class: "nowrap" }, visible(figure.metric),
        scorer && scorers.size > 1 ? el("div", { class: "small soft" }, visible(scorer)) : null),
      el("td", { class: "number value" }, visible(figure.value)),
      intervalCell(figure),
      el("td", { class: "number" }, count(figure.n)),
    ];
  }

  // One row for each figure that is not folded; the leading and trailing cells of the owner stand in its first row only.
  // Where scorers are folded, the last row says how far they lie apart, and leads to their table.
  function figureRows(owner, leading, trailing) {
    const shown = owner.blocks.filter((block) => !block.folded);
    const figures = shown.flatMap((block) => block.figures.map((figure, number) => ({ block, figure, first: number === 0 })));
    if (!figures.length) {
      return [el("tr", {}, leading(true), el("td", { colspan: 5, class: "soft" }, "no figure"), trailing(true), el("td"))];
    }
    const folded = shown.length < owner.blocks.length && owner.comparisons.length;
    const rows = figures.map(({ block, figure, first }, number) =>
      el("tr", { class: folded || number < figures.length - 1 ? "joined" : null }, leading(number === 0, first ? block : null),
        figureCells(figureOf(figure), first ? block.scorer : ""), first ? parseRateCell(block, owner) : el("td"), trailing(number === 0),
        first ? el("td", { class: "signature mono", rowspan: block.figures.length }, breakable(block.signature)) : null));
    if (folded) rows.push(el("tr", { class: "spread" }, leading(false), el("td", { colspan: trailing(false) ? 7 : 6 }, owner.comparisons.filter((one) => one.leading).map((one) => toScorers(owner, one)))));
    return rows;
  }

  function toScorers(owner, one) {
    const link = el("a", { href: `#${scorersId(owner)}` }, visible(one.sentence));
    link.addEventListener("click", () => openBox("scorers", scorersId(owner), owner));
    return el("div", {}, link);
  }

  function drawVerdicts(into) {
    const evals = data.evals.filter((one) => one.outcome !== "skipped" || one.blocks.length);
    const checked = evals.some((one) => one.checks.length);
    const heads = [["Eval"], ...(data.several ? [["Model"]] : []), ["Verdict"], ...FIGURE_HEADS, ["Parse rate", true],
      ...(checked ? [["Checks"]] : []), ["Scorer"]];
    const rowsOf = (one) => figureRows(one,
      (first) => first
        ? [el("th", { scope: "row", id: `eval-${data.evals.indexOf(one)}` }, visible(one.name)), data.several ? el("td", { class: "model" }, visible(one.model)) : null,
          el("td", {}, tag(one.tone, `${one.mark} ${one.verdict}`.trim()))]
        : [el("td"), data.several ? el("td") : null, el("td")],
      (first) => (checked ? el("td", { class: "checks" }, first && one.checks.length ? checkList(one.checks) : null) : null));
    into.append(...(evals.length ? longTable(worstFirst(evals), "evals", evalText, heads, rowsOf) : [el("p", { class: "soft" }, "No eval was measured.")]));
  }

  // What a suite's file declares its number to be: it stands before the evals that it is made of.
  function drawAverages(into) {
    const heads = [["Average"], ...(data.several ? [["Model"]] : []), ...FIGURE_HEADS];
    into.append(table(heads, data.averages.map(({ name, model, scorer, figure }) =>
      el("tr", {}, el("th", { scope: "row" }, visible(name)), data.several ? el("td", { class: "model" }, visible(model)) : null, figureCells(figureOf(figure), scorer))), true));
  }

  function drawSuites(into) {
    const heads = [["Suite"], ...(data.several ? [["Model"]] : []), ["Evals", true], ...FIGURE_HEADS, ["Parse rate", true], ["Scorer"]];
    const rowsOf = (suite) => figureRows(suite,
      (first, block) => [first ? el("th", { scope: "row" }, visible(suite.name)) : el("td"), data.several ? el("td", { class: "model" }, first ? visible(suite.model) : "") : null,
        el("td", { class: "number" }, block ? block.evals || suite.evals : "")],
      () => null);
    into.append(...longTable(data.suites, "suites", (suite) => named(suite.name, suite.model), heads, rowsOf));
    drawGroups(into, "suites", data.suites, false);
  }

  function groups(blocks) {
    const some = blocks.filter((block) => block.groups.length);
    const rows = (block) => block.groups.map(([group, ...figure]) =>
      el("tr", {}, el("th", { scope: "row" }, visible(data.words[group])), figureCells(figureOf(figure), block.scorer)));
    const heads = [["Group"], ...FIGURE_HEADS];
    const open = some.filter((block) => !block.folded).flatMap(rows);
    const folded = some.filter((block) => block.folded).map((block) =>
      el("details", { class: "inner" }, el("summary", {}, "by group, ", visible(block.scorer)), table(heads, rows(block))));
    return open.length || folded.length ? [open.length ? table(heads, open) : null, folded] : null;
  }

  // Texts that differ in their numbers, their quotations, what stands in parentheses or behind a colon have one reason.
  const headOf = (text) => text.split(/: |; /)[0];
  const reasonOf = (text) => headOf(text).replace(/“[^”]*”|\([^()]*\)|[\d.,]+/g, "");

  // What went wrong, or was remarked: {kind, tone, name, text}, those of one reason together.
  function troubles() {
    const found = data.notes.map((note) => ({ kind: "note", tone: "warn", mark: "! ", name: "", text: note }));
    for (const one of data.evals) {
      const name = named(one.name, one.model);
      if (one.message && one.outcome !== "skipped") found.push({ kind: one.outcome, tone: one.tone, mark: "", name, text: one.message });
      for (const error of one.errors) found.push({ kind: "error", tone: "bad", mark: "✗ ", name: `${name} ${error.sample_id}`, text: error.message });
      for (const warning of one.warnings) found.push({ kind: "warning", tone: "warn", mark: "! ", name, text: warning });
    }
    return [...Map.groupBy(found, (one) => `${one.kind} ${reasonOf(one.text)}`).values()];
  }

  const troubleLine = ({ name, text }) => [name ? el("strong", {}, visible(name), ": ") : null, longText(text, "inline")];

  function troubleBox(same) {
    const [first] = same;
    const sign = [tag(first.tone, `${first.mark}${first.kind}`), " "];
    if (same.length === 1) return el("li", {}, sign, troubleLine(first));
    const box = el("details", {}, el("summary", {}, sign, `${count(same.length)} of one reason, such as `, visible(first.name), ": ", el("span", { class: "small" }, visible(headOf(first.text)))));
    const list = el("ul");
    whenOpen(box, () => [longList(same, "entries", ({ name, text }) => `${name} ${text}`, (one) => [el("li", {}, troubleLine(one))], list), list]);
    return el("li", {}, box);
  }

  function drawTroubles(into) {
    const list = el("ul", { class: "troubles" });
    into.append(...[longList(troubles(), "entries", (same) => same.map(({ name, text }) => `${name} ${text}`).join(" "), (same) => [troubleBox(same)], list), list].filter(Boolean));
  }

  function drawDetails(into) {
    const factsOf = (one) => {
      const methods = new Map();
      for (const block of one.blocks) {
        for (const { metric, method } of block.figures.map(figureOf)) {
          methods.set(method, [...(methods.get(method) || []), `${metric}${block.scorer ? ` (${block.scorer})` : ""}`]);
        }
      }
      const asking = Object.entries(one.asking).filter(([, count]) => count).map(([name, count]) => `${count} ${name.replaceAll("_", " ")}`);
      return facts([
        ["Intervals", el("div", {}, [...methods].map(([method, names]) => el("div", {}, visible(`${names.join(", ")}: ${method}`))))],
        ["Asking", asking.join(", ")],
        ["Agreement", one.agreement ? Object.entries(one.agreement).map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(", ") : value}`).join(" · ") : ""],
        ...Object.entries(one.hashes).map(([name, hash]) => [name.replaceAll("_", " "), el("span", { class: "mono" }, visible(String(hash)))]),
      ]);
    };
    into.append(...longBoxes(data.evals, "evals", evalText, (one) => {
      const box = el("details", {}, el("summary", {}, visible(named(one.name, one.model))));
      whenOpen(box, () => [factsOf(one)]);
      return box;
    }));
    const runtime = Object.entries(data.runtime).map(([name, value]) =>
      [name, typeof value === "object" && value !== null ? Object.entries(value).map(([key, one]) => `${key} ${one}`).join(", ") : String(value)]);
    const models = data.models.flatMap((model, number) => [
      [model.alias, [model.spec, data.facts[number].device || model.device, `batches: ${model.batching}`].join(" · ")],
      ...["grounding", "speed", "time", "judging"].filter((name) => data.facts[number][name]).map((name) => [`${model.alias} ${name}`, data.facts[number][name]]),
      ...Object.entries(model.fingerprint || {}).map(([name, value]) => [`${model.alias} ${name}`, el("span", { class: "mono" }, visible(String(value)))])]);
    into.append(el("details", { open: true }, el("summary", {}, "The run, its models and versions"), facts([
      ...(data.changes && data.changes.digest ? [["baseline", el("span", { class: "mono" }, visible(data.changes.digest))]] : []),
      ...Object.entries(data.hashes).map(([name, hash]) => [name.replaceAll("_", " "), el("span", { class: "mono" }, hash || "none")]),
      ...models, ...runtime].map(([name, value]) => [visible(name), value instanceof Node ? value : visible(value)]))));
  }

