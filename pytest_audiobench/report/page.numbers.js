  function drawHeading() {
    const models = data.models.map((model, number) =>
      el("div", {}, el("strong", {}, visible(model.alias)), model.spec === model.alias ? "" : ` ${visible(model.spec)}`,
        el("span", { class: "soft" }, [data.facts[number].device || model.device, model.batching].filter(Boolean).map((text) => ` · ${visible(text)}`).join("")),
        ["judging", "speed", "hearing"].filter((name) => data.facts[number][name]).map((name) =>
          el("div", { class: "small soft" }, `${name}: `, visible(data.facts[number][name])))));
    byId("heading").append(
      el("h1", {}, visible(data.run), " ", tag(data.failed ? "bad" : "good", (data.failed ? "✗ " : "✓ ") + data.exit)),
      facts([
        ["Run", `${utc(data.started)} to ${utc(data.finished)}`],
        [data.models.length === 1 ? "Model" : "Models", el("div", {}, models)],
        ["Command", el("code", {}, visible(data.command.join(" ")))],
      ]),
      ...data.banners.map((banner) => el("p", { class: `banner ${banner.tone}`, role: "note" }, SIGNS[banner.tone], banner.text)));
  }

  function answeredCell(block) {
    return el("td", { class: "number" }, block.answered, block.unanswered ? el("div", { class: "small soft" }, block.unanswered) : null);
  }

  // A signature may be broken after each of its fields, and only there while there is room.
  const breakable = (signature) => visible(signature).split(/(?<=\|)/).map((field) => [field, el("wbr")]);

  function checkList(checks) {
    return el("ul", {}, checks.map((check) => el("li", {},
      el("span", { class: check.tone }, `${check.mark} ${check.status}`), " ", el("code", {}, visible(check.threshold)),
      check.tone !== "good" && check.detail ? el("div", { class: "small soft" }, visible(check.detail)) : null)));
  }

  // With one protocol only, its name beside every number would say nothing.
  const protocols = new Set(data.evals.flatMap((one) => one.blocks.map((block) => block.reading)).filter(Boolean));
  const FIGURE_HEADS = [["Metric"], ["Value", true], ["Interval", true], ["n", true]];

  function figureCells([metric, value, interval, n], reading) {
    return [
      el("td", { class: "nowrap" }, visible(metric),
        reading && protocols.size > 1 ? el("div", { class: "small soft" }, visible(reading)) : null),
      el("td", { class: "number value" }, value),
      el("td", { class: "number" }, interval),
      el("td", { class: "number" }, count(n)),
    ];
  }

  // One row for each figure that is not folded; the leading and trailing cells of the owner stand in its first row only.
  // Where protocols are folded, the last row says how far they lie apart, and leads to their table.
  function figureRows(owner, leading, trailing) {
    const shown = owner.blocks.filter((block) => !block.folded);
    const figures = shown.flatMap((block) => block.figures.map((figure, number) => ({ block, figure, first: number === 0 })));
    if (!figures.length) {
      return [el("tr", {}, leading(true), el("td", { colspan: 5, class: "soft" }, "no figure"), trailing(true), el("td"))];
    }
    const folded = shown.length < owner.blocks.length && owner.sides.length;
    const rows = figures.map(({ block, figure, first }, number) =>
      el("tr", { class: folded || number < figures.length - 1 ? "joined" : null }, leading(number === 0),
        figureCells(figure, first ? block.reading : ""), first ? answeredCell(block) : el("td"), trailing(number === 0),
        el("td", { class: "signature mono" }, first ? breakable(block.signature) : "")));
    if (folded) rows.push(el("tr", { class: "spread" }, leading(false), el("td", { colspan: trailing(false) ? 7 : 6 }, owner.sides.filter((one) => one.leading).map((one) => toSides(owner, one)))));
    return rows;
  }

  function toSides(owner, one) {
    const link = el("a", { href: `#${sidesId(owner)}` }, visible(one.sentence));
    link.addEventListener("click", () => { byId(sidesId(owner)).open = true; });
    return el("div", {}, link);
  }

  function drawVerdicts() {
    const checked = data.evals.some((one) => one.checks.length);
    const heads = [["Eval"], ...(data.several ? [["Model"]] : []), ["Verdict"], ...FIGURE_HEADS, ["Answered", true],
      ...(checked ? [["Checks"]] : []), ["Protocol"]];
    const rows = data.evals.flatMap((one) => figureRows(one,
      (first) => first
        ? [el("th", { scope: "row" }, visible(one.name)), data.several ? el("td", {}, visible(one.model)) : null,
          el("td", {}, tag(one.tone, SIGNS[one.tone] + one.verdict))]
        : [el("td"), data.several ? el("td") : null, el("td")],
      (first) => (checked ? el("td", { class: "checks" }, first && one.checks.length ? checkList(one.checks) : null) : null)));
    byId("verdicts").append(data.evals.length ? table(heads, rows) : el("p", { class: "soft" }, "No eval was run."));
  }

  function drawSuites() {
    if (!data.suites.length) return;
    byId("suites").hidden = false;
    const heads = [["Suite"], ...(data.several ? [["Model"]] : []), ["Evals", true], ...FIGURE_HEADS, ["Answered", true], ["Protocol"]];
    const rows = data.suites.flatMap((suite) => figureRows(suite,
      (first) => [first ? el("th", { scope: "row" }, visible(suite.name)) : el("td"), data.several ? el("td", {}, first ? visible(suite.model) : "") : null,
        el("td", { class: "number" }, first ? suite.evals : "")],
      () => null));
    byId("suites").append(table(heads, rows));
    for (const suite of data.suites) {
      const own = groups(suite.blocks);
      if (own) byId("suites").append(el("details", {}, el("summary", {}, visible(named(suite.name, suite.model)), " by group"), own));
    }
  }

  function groups(blocks) {
    const some = blocks.filter((block) => block.groups.length);
    const rows = (block) => block.groups.map(([group, ...figure]) =>
      el("tr", {}, el("th", { scope: "row" }, visible(group)), figureCells(figure, block.reading)));
    const heads = [["Group"], ...FIGURE_HEADS];
    const open = some.filter((block) => !block.folded).flatMap(rows);
    const folded = some.filter((block) => block.folded).map((block) =>
      el("details", { class: "inner" }, el("summary", {}, "by group, ", visible(block.reading)), table(heads, rows(block))));
    return open.length || folded.length ? [open.length ? table(heads, open) : null, folded] : null;
  }

  // One set of answers by several protocols: a table for each metric, with every number drawn on one axis.
  const PLOT = { width: 230, height: 26, edge: 14 };

  function axis(rows) {
    const known = rows.flatMap((row) => [row.at, row.low, row.high]).filter((value) => value !== null);
    let [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
    if (low === high) [low, high] = [low - (Math.abs(low) / 10 || 1), high + (Math.abs(high) / 10 || 1)];
    const rough = (high - low) / 3;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough);
    const from = Math.floor(low / step) * step;
    const steps = Math.ceil((high - from) / step - 1e-9);
    const x = (value) => PLOT.edge + (value - from) / (steps * step) * (PLOT.width - 2 * PLOT.edge);
    return { x, ticks: Array.from({ length: steps + 1 }, (_, number) => Number((from + number * step).toPrecision(12))) };
  }

  const picture = (...children) =>
    svg("svg", { class: "plot", width: PLOT.width, height: PLOT.height, viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, "aria-hidden": "true" }, children);
  const upright = (x, className) => svg("line", { class: className, x1: x, x2: x, y1: 0, y2: PLOT.height });

  function scale({ x, ticks }) {
    return picture(ticks.map((tick) => svg("text", { x: x(tick), y: PLOT.height - 6, "text-anchor": "middle" }, String(tick))));
  }

  function dot(row, compared, { x, ticks }) {
    const middle = PLOT.height / 2;
    const mark = row.at === null ? null
      : row === compared ? svg("rect", { class: "dot", x: x(row.at) - 4.5, y: middle - 4.5, width: 9, height: 9, transform: `rotate(45 ${x(row.at)} ${middle})` })
      : svg("circle", { class: "dot", cx: x(row.at), cy: middle, r: 4 });
    return picture(ticks.map((tick) => upright(x(tick), "grid")),
      compared && compared.at !== null ? upright(x(compared.at), "compared") : null,
      row.low === null || row.high === null ? null : svg("line", { class: "range", x1: x(row.low), x2: x(row.high), y1: middle, y2: middle }), mark);
  }

  function protocolCell(row) {
    const told = [row.why ? el("div", {}, `not read: ${row.why}`) : null,
      el("div", { class: "mono" }, breakable(row.signature)),
      el("div", {}, "The rule: ", el("code", {}, `audiobench protocols ${visible(row.protocol)}`), ", or docs/protocols.md")];
    return el("th", { scope: "row" }, el("details", {}, el("summary", { title: visible(row.signature) }, visible(row.protocol),
      row.headline ? [" ", tag("plain", "headline")] : null), el("div", { class: "small soft" }, told)));
  }

  function sidesTable(one) {
    const line = axis(one.rows);
    const compared = one.rows.find((row) => row.protocol === one.compared && row.difference === "");
    const heads = [["Protocol"], [visible(one.metric), true], ["Interval", true], [scale(line)], ["n\u00a0scored", true], ["Skipped", true], ["Unanswered", true],
      [["Difference to ", visible(one.compared)], true]];
    const rows = one.rows.map((row) => el("tr", { class: row === compared ? "compared" : null }, protocolCell(row),
      el("td", { class: "number value" }, row.value), el("td", { class: "number" }, row.interval), el("td", { class: "drawn" }, dot(row, compared, line)),
      [row.n, row.skipped, row.unanswered].map((number) => el("td", { class: "number" }, count(number))),
      el("td", { class: "number" }, row.difference)));
    return el("div", { class: "sides" }, table(heads, rows));
  }

  const compared = [...data.suites, ...data.evals].filter((owner) => owner.sides.length);
  const sidesId = (owner) => `sides-${compared.indexOf(owner)}`;

  function drawSides() {
    if (!compared.length) return;
    byId("sides").hidden = false;
    byId("sides").append(el("p", { class: "soft" }, "One set of answers, read by several protocols: what differs between two rows is the protocol alone. ",
      "Lines are intervals; the diamond and the dashed line are the protocol that the others are compared with."));
    for (const [number, owner] of compared.entries()) {
      const name = named(owner.name, owner.model) + (data.evals.includes(owner) ? "" : " (pooled)");
      byId("sides").append(el("details", { id: sidesId(owner), open: number === 0 },
        el("summary", {}, visible(name), owner.sides.filter((one) => one.leading).map((one) => el("div", { class: "small soft" }, visible(one.sentence)))),
        owner.sides.filter((one) => one.leading).map((one, _, leading) => [leading.length > 1 ? el("p", {}, visible(one.sentence)) : null, sidesTable(one)]),
        owner.sides.filter((one) => !one.leading).map((one) => el("details", { class: "inner" }, el("summary", { class: "small" }, visible(one.sentence)), sidesTable(one)))));
    }
  }

  // What went wrong, beside the score: the classes of an eval's failed answers, the score without each, examples.
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

  function failureExamples(item, failure) {
    const own = all.filter((sample) => sample.item === item && failuresOf(sample, sample.readings[0]).includes(failure.name));
    const button = el("button", { type: "button", class: "expand" }, own.length === 1 ? "Show it among the samples" : `Show the ${count(own.length)} among the samples`);
    button.addEventListener("click", () => showFailures(item, failure.name));
    return el("div", { class: "failure" }, el("h3", {}, el("span", { class: "mono" }, failure.name)), el("p", { class: "small soft" }, failure.about),
      own.slice(0, 3).map((sample) => el("dl", { class: "example" },
        el("dt", {}, el("span", { class: "mono" }, visible(sample.id))),
        el("dd", {}, sample.stages.filter(([, , , role]) => !role).slice(-1).map(([, text]) => answerText(text, "answer", 240)),
          plainText(sample.reference) ? el("div", { class: "small soft" }, "reference: ", longText(sample.reference, "inline", 240)) : null))),
      own.length ? button : el("p", { class: "small soft" }, "None of them is on this page: see predictions.jsonl."));
  }

  function drawFailures() {
    const some = data.evals.map((one, item) => ({ one, item })).filter(({ one }) => one.failures.length);
    if (!some.length) return;
    byId("failures").hidden = false;
    byId("failures").append(el("p", { class: "soft" }, "How answers failed, whatever the score makes of it, and the headline's numbers without each class. ",
      "An answer may fall into several."));
    for (const { one, item } of some) {
      const box = el("details", { open: some.length === 1 }, el("summary", {}, visible(named(one.name, one.model)), el("div", { class: "small soft" }, visible(one.wrong))));
      // Drawn when it is opened: the examples of a hundred evals are many texts.
      const draw = () => { if (box.open && box.children.length === 1) box.append(failureTable(one.failures), ...one.failures.map((failure) => failureExamples(item, failure))); };
      box.addEventListener("toggle", draw);
      draw();
      byId("failures").append(box);
    }
  }

  function drawTroubles() {
    const found = data.notes.map((note) => el("li", {}, tag("warn", "! note"), " ", visible(note)));
    const skips = new Map();
    for (const one of data.evals.filter((one) => one.outcome === "skipped" && one.message)) {
      skips.set(one.message, [...(skips.get(one.message) || []), named(one.name, one.model)]);
    }
    for (const [message, names] of skips) {
      found.push(el("li", {}, tag("warn", "skipped"), " ", el("strong", {}, visible(names.join(", ")), ": "), longText(message, "")));
    }
    for (const one of data.evals) {
      const name = el("strong", {}, visible(named(one.name, one.model)), ": ");
      if (one.message && one.outcome !== "skipped") found.push(el("li", {}, tag(one.tone, one.outcome), " ", name.cloneNode(true), longText(one.message, "")));
      for (const error of one.errors) {
        found.push(el("li", {}, tag("bad", "✗ error"), " ", name.cloneNode(true), el("code", {}, visible(error.sample_id)), " ", visible(error.message)));
      }
      for (const warning of one.warnings) found.push(el("li", {}, tag("warn", "! warning"), " ", name.cloneNode(true), visible(warning)));
    }
    if (!found.length) return;
    byId("troubles").hidden = false;
    byId("troubles").append(el("ul", {}, found));
  }

  function drawDetails() {
    for (const one of data.evals) {
      const methods = new Map();
      for (const block of one.blocks) {
        for (const [metric, , , , method] of block.figures) {
          methods.set(method, [...(methods.get(method) || []), `${metric}${block.reading ? ` (${block.reading})` : ""}`]);
        }
      }
      const asking = Object.entries(one.asking).filter(([, count]) => count).map(([name, count]) => `${count} ${name.replaceAll("_", " ")}`);
      byId("details").append(el("details", {}, el("summary", {}, visible(named(one.name, one.model))), groups(one.blocks),
        facts([
          ["Intervals", el("div", {}, [...methods].map(([method, names]) => el("div", {}, visible(`${names.join(", ")}: ${method}`))))],
          ["Asking", asking.join(", ")],
          ["Agreement", one.agreement ? Object.entries(one.agreement).map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(", ") : value}`).join(" · ") : ""],
          ...Object.entries(one.hashes).map(([name, hash]) => [name.replaceAll("_", " "), el("span", { class: "mono" }, visible(String(hash)))]),
        ])));
    }
    const runtime = Object.entries(data.runtime).map(([name, value]) =>
      [name, typeof value === "object" && value !== null ? Object.entries(value).map(([key, one]) => `${key} ${one}`).join(", ") : String(value)]);
    const models = data.models.flatMap((model) => Object.entries(model.fingerprint || {}).map(([name, value]) =>
      [`${model.alias} ${name}`, el("span", { class: "mono" }, visible(String(value)))]));
    byId("details").append(el("details", {}, el("summary", {}, "The run"), facts([
      ...Object.entries(data.hashes).map(([name, hash]) => [name.replaceAll("_", " "), el("span", { class: "mono" }, hash || "none")]),
      ...models, ...runtime].map(([name, value]) => [visible(name), value instanceof Node ? value : visible(value)]))));
  }

