  const sentence = (text) => (text ? ` ${text[0].toUpperCase()}${text.slice(1)}.` : "");
  const overallText = ({ mark }, word, counts, advice) => [el("strong", {}, `${mark}${sentence(word)}`), sentence(counts), advice ? ` ${advice}` : ""];

  // As a shell reads it, so that it can be copied.
  const shellWord = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

  function drawHeading() {
    const models = data.models.map((model, number) =>
      el("div", {}, el("strong", {}, visible(model.alias)), model.spec === model.alias ? "" : ` ${visible(model.spec)}`,
        el("span", { class: "soft" }, [data.facts[number].device || model.device, model.batching].filter(Boolean).map((text) => ` · ${visible(text)}`).join("")),
        ["note", "judging", "speed", "time", "grounding"].filter((name) => data.facts[number][name]).map((name) =>
          el("div", { class: "small soft" }, `${name === "grounding" ? "audio grounding" : name}: `, visible(data.facts[number][name])))));
    const { verdict, changes } = data;
    // What follows from the regression lines alone stands above their table.
    const isBelow = changes && changes.verdict === verdict.word && changes.counts === verdict.counts;
    byId("heading").append(
      themeButton(),
      el("h1", {}, visible(data.run), " ", tag(verdict.tone, `${verdict.mark} ${verdict.word}`.trim())),
      facts([
        ["Run", `${utc(data.started)} to ${utc(data.finished)}`],
        [data.models.length === 1 ? "Model" : "Models", el("div", {}, models)],
        ["Baseline", data.changes && data.changes.baseline.length ? el("div", {}, data.changes.baseline.map(([name, value], number) =>
          [number ? el("span", { class: "soft" }, ` · ${name} `) : null, number ? visible(value) : el("strong", {}, visible(value))])) : null],
        ["Command", el("code", {}, visible(data.command.map(shellWord).join(" ")))],
      ]),
      isBelow || ["good", "plain"].includes(verdict.tone) ? "" : el("p", { class: `banner ${verdict.tone}`, role: "note" }, overallText(verdict, verdict.word, verdict.counts, verdict.advice)),
      ...data.banners.map((banner) => el("p", { class: `banner ${banner.tone}`, role: "note" }, SIGNS[banner.tone], banner.text)));
  }

  // Beside each score: how many answers were parsed, why the others were not, and how else answers failed.
  function parseRateCell(block, owner) {
    const statuses = new Set(["unparsed", "refused", "empty", "out_of_range", "truncated"]);
    const classes = owner.failures && block === owner.blocks[0] ? owner.failures.filter((one) => !statuses.has(one.name)) : [];
    return el("td", { class: "number parse-rate" }, block.parse_rate, block.unparsed ? el("div", { class: "small soft" }, block.unparsed) : null,
      classes.length ? el("div", { class: "small" }, toFailures(owner, classes.map((one) => `${count(one.answers)} ${one.name}`).join(", "))) : null);
  }

  function toFailures(owner, text) {
    const link = el("a", { href: "#failures" }, text);
    link.addEventListener("click", () => openBox(failuresId(owner), owner));
    return link;
  }

  // A signature may be broken after each of its fields, and only there while there is room.
  const breakable = (signature) => visible(signature).split(/(?<=\|)/).map((field) => [field, el("wbr")]);

  function checkList(checks) {
    return el("ul", {}, checks.map((check) => el("li", {},
      el("span", { class: check.tone }, `${check.mark} ${check.status}`), " ", el("code", {}, visible(check.threshold)),
      check.tone !== "good" && check.detail ? el("div", { class: "small soft" }, visible(check.detail)) : null)));
  }

  // With one scorer only, its name beside every number would say nothing.
  const scorers = new Set(data.evals.flatMap((one) => one.blocks.map((block) => block.scorer)).filter(Boolean));
  const FIGURE_HEADS = [["Metric"], ["Value", true], ["Interval", true], ["n", true]];

  const figureOf = ([metric, value, interval, n, at, low, high, unit, method]) =>
    ({ metric, value, interval, n, at, low, high, unit: data.words[unit], method: visible(data.words[method]) });

  // Where there is no interval, the reason stands in its place.
  function intervalCell({ interval, method, at }) {
    if (interval) return el("td", { class: "number", title: method }, interval);
    return el("td", { class: "small soft reason" }, at === null ? "" : method.replace(/^no interval: /, ""));
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
      el("tr", { class: folded || number < figures.length - 1 ? "joined" : null }, leading(number === 0),
        figureCells(figureOf(figure), first ? block.scorer : ""), first ? parseRateCell(block, owner) : el("td"), trailing(number === 0),
        first ? el("td", { class: "signature mono", rowspan: block.figures.length }, breakable(block.signature)) : null));
    if (folded) rows.push(el("tr", { class: "spread" }, leading(false), el("td", { colspan: trailing(false) ? 7 : 6 }, owner.comparisons.filter((one) => one.leading).map((one) => toScorers(owner, one)))));
    return rows;
  }

  function toScorers(owner, one) {
    const link = el("a", { href: `#${scorersId(owner)}` }, visible(one.sentence));
    link.addEventListener("click", () => openBox(scorersId(owner), owner));
    return el("div", {}, link);
  }

  function drawVerdicts() {
    const checked = data.evals.some((one) => one.checks.length);
    const heads = [["Eval"], ...(data.several ? [["Model"]] : []), ["Verdict"], ...FIGURE_HEADS, ["Parse rate", true],
      ...(checked ? [["Checks"]] : []), ["Scorer"]];
    const rowsOf = (one) => figureRows(one,
      (first) => first
        ? [el("th", { scope: "row" }, visible(one.name)), data.several ? el("td", { class: "model" }, visible(one.model)) : null,
          el("td", {}, tag(one.tone, `${one.mark} ${one.verdict}`.trim()))]
        : [el("td"), data.several ? el("td") : null, el("td")],
      (first) => (checked ? el("td", { class: "checks" }, first && one.checks.length ? checkList(one.checks) : null) : null));
    const evals = () => longTable(worstFirst(data.evals), "evals", evalText, heads, rowsOf);
    if (!data.evals.length) byId("verdicts").append(el("p", { class: "soft" }, "No eval was run."));
    else if (data.averages.length) byId("verdicts").append(el("details", { open: data.evals.some((one) => one.tone === "bad") }, el("summary", {}, `${data.evals.length} evals, with those of the averages`), evals()));
    else byId("verdicts").append(...evals());
  }

  // What a suite's file declares its number to be: it stands before the evals that it is made of.
  function drawAverages() {
    if (!data.averages.length) return;
    byId("averages").hidden = false;
    const heads = [["Average"], ...(data.several ? [["Model"]] : []), ...FIGURE_HEADS];
    byId("averages").append(table(heads, data.averages.map(({ name, model, scorer, figure }) =>
      el("tr", {}, el("th", { scope: "row" }, visible(name)), data.several ? el("td", { class: "model" }, visible(model)) : null, figureCells(figureOf(figure), scorer))), true));
  }

  function drawSuites() {
    if (!data.suites.length) return;
    byId("suites").hidden = false;
    const heads = [["Suite"], ...(data.several ? [["Model"]] : []), ["Evals", true], ...FIGURE_HEADS, ["Parse rate", true], ["Scorer"]];
    const rowsOf = (suite) => figureRows(suite,
      (first) => [first ? el("th", { scope: "row" }, visible(suite.name)) : el("td"), data.several ? el("td", { class: "model" }, first ? visible(suite.model) : "") : null,
        el("td", { class: "number" }, first ? suite.evals : "")],
      () => null);
    byId("suites").append(...longTable(data.suites, "suites", (suite) => named(suite.name, suite.model), heads, rowsOf));
    drawGroups("suites", data.suites, false);
  }

  function groups(blocks) {
    const some = blocks.filter((block) => block.groups.length);
    const rows = (block) => block.groups.map(([group, ...figure]) =>
      el("tr", {}, el("th", { scope: "row" }, visible(group)), figureCells(figureOf(figure), block.scorer)));
    const heads = [["Group"], ...FIGURE_HEADS];
    const open = some.filter((block) => !block.folded).flatMap(rows);
    const folded = some.filter((block) => block.folded).map((block) =>
      el("details", { class: "inner" }, el("summary", {}, "by group, ", visible(block.scorer)), table(heads, rows(block))));
    return open.length || folded.length ? [open.length ? table(heads, open) : null, folded] : null;
  }

  function drawTroubles() {
    const found = [];
    const add = (text, ...children) => found.push({ text, make: () => [el("li", {}, children)] });
    for (const note of data.notes) add(note, tag("warn", "! note"), " ", visible(note));
    const skips = new Map();
    for (const one of data.evals.filter((one) => one.outcome === "skipped" && one.message)) {
      skips.set(one.message, [...(skips.get(one.message) || []), named(one.name, one.model)]);
    }
    for (const [message, names] of skips) {
      add(`${names.join(", ")} ${message}`, tag("warn", "skipped"), " ", el("strong", {}, visible(names.join(", ")), ": "), longText(message, ""));
    }
    for (const one of data.evals) {
      const name = named(one.name, one.model);
      const title = () => el("strong", {}, visible(name), ": ");
      if (one.message && one.outcome !== "skipped") add(`${name} ${one.message}`, tag(one.tone, one.outcome), " ", title(), longText(one.message, ""));
      for (const error of one.errors) {
        add(`${name} ${error.sample_id} ${error.message}`, tag("bad", "✗ error"), " ", title(), el("code", {}, visible(error.sample_id)), " ", visible(error.message));
      }
      for (const warning of one.warnings) add(`${name} ${warning}`, tag("warn", "! warning"), " ", title(), visible(warning));
    }
    if (!found.length) return;
    byId("troubles").hidden = false;
    const list = el("ul");
    byId("troubles").append(...[longList(found, "entries", ({ text }) => text, ({ make }) => make(), list), list].filter(Boolean));
  }

  function drawDetails() {
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
    byId("details").append(...longBoxes(data.evals, "evals", evalText, (one) => {
      const box = el("details", {}, el("summary", {}, visible(named(one.name, one.model))));
      whenOpen(box, () => [factsOf(one)]);
      return box;
    }));
    const runtime = Object.entries(data.runtime).map(([name, value]) =>
      [name, typeof value === "object" && value !== null ? Object.entries(value).map(([key, one]) => `${key} ${one}`).join(", ") : String(value)]);
    const models = data.models.flatMap((model) => Object.entries(model.fingerprint || {}).map(([name, value]) =>
      [`${model.alias} ${name}`, el("span", { class: "mono" }, visible(String(value)))]));
    byId("details").append(el("details", {}, el("summary", {}, "The run"), facts([
      ...(data.changes && data.changes.digest ? [["baseline", el("span", { class: "mono" }, visible(data.changes.digest))]] : []),
      ...Object.entries(data.hashes).map(([name, hash]) => [name.replaceAll("_", " "), el("span", { class: "mono" }, hash || "none")]),
      ...models, ...runtime].map(([name, value]) => [visible(name), value instanceof Node ? value : visible(value)]))));
  }

