  // The first screen: what was measured, the verdict, a row for each suite with its interval, and one plot of all.
  const sentence = (text) => (text ? ` ${text[0].toUpperCase()}${text.slice(1)}.` : "");

  // As a shell reads it, so that it can be copied.
  const shellWord = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
  const listed = (names, most) => `${names.slice(0, most).map(visible).join(", ")}${names.length > most ? ` and ${count(names.length - most)} more` : ""}`;

  const isSkipped = (one) => one.outcome === "skipped" && !one.blocks.length;
  const skipped = data.evals.filter(isSkipped);
  const asked = data.evals.filter((one) => !isSkipped(one));
  const ALARM = /^alarm:\s*/;
  const MOST_ROWS_OPEN = 16;
  const MOST_NAMED = 12;
  const HASH_SIGNS = 12;

  function modelLine(model, number) {
    const { note, grounding } = data.facts[number];
    const [name, version] = Object.entries(model.fingerprint || {}).find(([key]) => ["revision", "weights", "version"].includes(key)) || [];
    const parts = [model.role === "subject" ? "" : model.role, data.facts[number].device || model.device, name ? `${name} ${String(version).slice(0, HASH_SIGNS)}` : ""].filter(Boolean);
    return el("div", {}, el("strong", {}, visible(model.alias)), model.spec === model.alias ? "" : ` ${visible(model.spec)}`,
      el("span", { class: "soft" }, parts.map((text) => ` · ${visible(text)}`)),
      [["audio grounding", grounding], ["note", note]].map(([what, text]) => (text ? el("div", { class: "small soft" }, `${what}: ${visible(text)}`) : null)));
  }

  function lasted() {
    const seconds = Math.round((new Date(data.finished) - new Date(data.started)) / 1000);
    if (!(seconds >= 0)) return "";
    return seconds < 90 ? ` (${seconds} s)` : seconds < 5400 ? ` (${Math.round(seconds / 60)} min)` : ` (${(seconds / 3600).toFixed(1)} h)`;
  }

  // Alarms that say the same of several evals are one box.
  function alarmBoxes() {
    const found = asked.flatMap((one) => one.warnings.filter((text) => ALARM.test(text)).map((text) => ({ name: named(one.name, one.model), text: text.replace(ALARM, "") })));
    return [...Map.groupBy(found, ({ text }) => reasonOf(text)).values()].map((same) => {
      const [{ name, text }] = same;
      if (same.length === 1) return el("p", { class: "banner bad", role: "note" }, SIGNS.bad, "Alarm: ", visible(text), ` (${visible(name)})`);
      const list = el("ul");
      const box = el("details", { class: "banner bad" }, el("summary", {}, SIGNS.bad, `Alarm in ${count(same.length)} evals, such as ${visible(name)}: `, visible(headOf(text))));
      whenOpen(box, () => [longList(same, "evals", (one) => `${one.name} ${one.text}`, (one) => [el("li", {}, el("strong", {}, visible(one.name)), `: ${visible(one.text)}`)], list), list]);
      return box;
    });
  }

  function drawHeading() {
    const { verdict, changes } = data;
    const subjects = data.models.filter((model) => model.role === "subject");
    const suites = [...new Set(asked.map((one) => one.suite))];
    const answers = data.samples.items.reduce((sum, [, total]) => sum + total, 0);
    const versions = data.runtime.packages || {};
    byId("heading").append(
      themeButton(),
      el("h1", {}, listed((subjects.length ? subjects : data.models).map((model) => model.alias), 3) || "No model"),
      facts([
        [data.models.length === 1 ? "Model" : "Models", el("div", {}, data.models.map(modelLine))],
        ["Benchmarks", suites.length ? listed(suites, MOST_NAMED) : "none"],
        ["Samples", `${count(answers)}${data.epochs > 1 ? ` (${data.epochs} epochs)` : ""} in ${count(asked.length)} eval${asked.length === 1 ? "" : "s"} of ${count(suites.length)} suite${suites.length === 1 ? "" : "s"}`],
        ["Date", `${utc(data.started)}${lasted()}`],
        ["Versions", [["pytest-audiobench", versions["pytest-audiobench"]], ["Python", data.runtime.python]].filter(([, text]) => text).map(([name, text]) => `${name} ${visible(text)}`).join(", ")],
        ["Run", visible(data.run)],
        ["Baseline", changes && changes.baseline.length ? el("div", {}, changes.baseline.map(([name, value], number) =>
          [number ? el("span", { class: "soft" }, ` · ${name} `) : null, number ? visible(value) : el("strong", {}, visible(value))])) : null, "wide"],
        ["Command", el("code", {}, data.command.map((word) => [el("span", { class: "word" }, visible(shellWord(word))), " "])), "wide"],
      ]),
      el("p", { class: `overall ${verdict.tone}`, role: "note" }, el("strong", {}, `${verdict.mark}${sentence(verdict.word)}`), sentence(verdict.counts), verdict.advice ? ` ${visible(verdict.advice)}` : ""),
      ...data.banners.map((banner) => el("p", { class: `banner ${banner.tone}`, role: "note" }, SIGNS[banner.tone], banner.text)),
      ...alarmBoxes());
  }

  // The first figure of the first scorer, with the scorer's parse rate.
  function headlineOf(owner) {
    const block = openBlocks(owner).find((one) => one.figures.length);
    return block ? { figure: figureOf(block.figures[0]), block } : null;
  }

  const compares = (row, line) => line.model === row.model && row.headline && !line.group && line.metric === row.headline.figure.metric && line.scorer === row.headline.block.scorer;

  const linesOf = Map.groupBy(data.changes ? data.changes.lines : [], (line) => line.eval);

  function evalRow(one) {
    const row = { name: one.name, model: one.model, evals: [one], headline: headlineOf(one) };
    row.line = (linesOf.get(one.name) || []).find((line) => compares(row, line)) || null;
    return row;
  }

  const suiteKey = ({ suite, model }) => JSON.stringify([suite, model]);
  const pooledOf = new Map(data.suites.map((one) => [suiteKey({ suite: one.name, model: one.model }), one]));
  const averagesOf = Map.groupBy(data.averages, suiteKey);

  // A suite's number is the average that it declares, else what its evals come to when pooled, else that of its one eval.
  function suiteRow(evals) {
    const [{ suite: name, model }] = evals;
    const scored = evals.filter((one) => !one.control && one.blocks.length);
    if (scored.length === 1) return { ...evalRow(scored[0]), name, evals, members: [] };
    const pooled = pooledOf.get(suiteKey(evals[0]));
    const [average] = averagesOf.get(suiteKey(evals[0])) || [];
    const headline = pooled ? headlineOf(pooled) : null;
    if (average) return { name, model, evals, line: null, members: scored, headline: { figure: figureOf(average.figure), block: { scorer: average.scorer, parse_rate: headline ? headline.block.parse_rate : "" } } };
    const clean = scored.filter((one) => ["", "clean"].includes(one.perturbation));
    if (!headline && clean.length === 1) return { ...evalRow(clean[0]), name, evals, members: scored, clean: clean[0].perturbation };
    return { name, model, evals, line: null, members: scored, headline };
  }

  const suiteRows = [...Map.groupBy(asked, suiteKey).values()].map(suiteRow);
  // Where they are few, or failed, the evals of a suite stand below it.
  function shownRows() {
    const isShort = suiteRows.reduce((sum, row) => sum + 1 + row.members.length, 0) <= MOST_ROWS_OPEN;
    return suiteRows.flatMap((row) => [row, ...(isShort ? row.members : row.members.filter((one) => one.tone === "bad").slice(0, MOST_ROWS_OPEN)).map((one) => ({ ...evalRow(one), name: withoutSuite(one), isMember: true }))]);
  }

  const withoutSuite = ({ name, suite }) => (name.startsWith(`${suite}/`) ? name.slice(suite.length + 1) : name);

  // Of a suite whose evals are of different metrics, or of one clip each other's perturbations, what each comes to.
  function spreadText({ members }) {
    const found = Map.groupBy(members.map(evalRow).filter((row) => row.headline), (row) => row.headline.figure.metric);
    const texts = [...found].map(([metric, rows]) => {
      const figures = rows.map((row) => row.headline.figure).filter((figure) => figure.at !== null).sort((one, other) => one.at - other.at);
      const [least, most] = [figures[0], figures.at(-1)];
      return least ? `${visible(metric)}${arrowOf(metric)} ${figures.length > 1 ? `${visible(least.value)} to ${visible(most.value)} in ${figures.length} evals` : visible(least.value)}` : "";
    }).filter(Boolean);
    return texts.length ? listed(texts, 4) : "no score";
  }

  const TONES = ["bad", "warn", "good", "plain"];
  function verdictOf(evals) {
    const judged = evals.filter((one) => !one.control);
    const worst = TONES.map((tone) => judged.find((one) => one.tone === tone)).find(Boolean) || evals[0];
    const same = judged.filter((one) => one.verdict === worst.verdict).length;
    return tag(worst.tone, `${worst.mark} ${same < judged.length ? `${same} of ${judged.length} ` : ""}${worst.verdict}`.trim());
  }

  const arrowOf = (metric) => (data.directions[metric] === "lower" ? " ↓" : data.directions[metric] === "higher" ? " ↑" : "");

  function resultRow(row) {
    const { headline, line } = row;
    const link = el("a", { href: `#eval-${data.evals.indexOf(row.evals[0])}` }, visible(row.name));
    link.addEventListener("click", (event) => {
      event.preventDefault();
      reveal(byId("verdicts"));
      finders.forEach((find) => find(row.evals[0]));
      byId(`eval-${data.evals.indexOf(row.evals[0])}`).scrollIntoView({ block: "center" });
    });
    const figure = headline && headline.figure;
    return el("tr", { class: row.isMember ? "member" : null }, el("th", { scope: "row" }, link),
      data.several ? el("td", { class: "model" }, visible(row.model)) : null,
      figure ? [el("td", { class: "nowrap" }, visible(figure.metric), el("span", { class: "soft" }, `${arrowOf(figure.metric)}${row.clean ? " clean" : ""}`)), el("td", { class: "number value" }, visible(figure.value)), intervalCell(figure), el("td", { class: "number" }, count(figure.n)),
        el("td", { class: "number" }, headline.block.parse_rate)]
        : el("td", { colspan: 5, class: "soft" }, spreadText(row)),
      data.changes ? [el("td", { class: "number" }, line ? visible(line.before) : ""), el("td", { class: "number", title: line ? `${visible(line.change)} (${line.interval || "no interval"})` : null }, line ? visible(line.change) : "")] : null,
      el("td", {}, verdictOf(row.evals)));
  }

  // A plot for each unit; shares and error rates have one.
  function resultPlots(rows) {
    // Of what a suite has no one number for, its evals are drawn, where they are few.
    const shown = new Set(rows.filter((row) => row.isMember).map((row) => row.evals[0]));
    const drawn = rows.flatMap((row) => (row.headline || !row.members || row.members.some((one) => shown.has(one)) || row.members.length > 4 ? [row] : row.members.map(evalRow)));
    const units = Map.groupBy(drawn.filter((row) => row.headline && row.headline.figure.at !== null), (row) => row.headline.figure.unit);
    return [...units].filter(([, own]) => own.length > 1 || own.some((row) => row.line)).map(([unit, own]) => {
      const plotted = [...Map.groupBy(own, (row) => row.name)].map(([name, same]) => ({ label: `${visible(name)}${arrowOf(same[0].headline.figure.metric)}`, marks: same.flatMap((row) => [
        scoreMark(row.headline.figure, row.model, false),
        ...(row.line && row.line.before_at !== null ? [{ series: "baseline", color: "var(--soft)", symbol: "diamond", hollow: true, at: row.line.before_at, low: null, high: null, beside: true,
          cells: [visible(row.line.before), "–", count(row.line.pairs)], about: `baseline: ${visible(row.line.before)}, ${count(row.line.pairs)} pairs` }] : [])]) }));
      const spec = { name: "Scores of all suites with their confidence intervals; the table holds the numbers", axis: unit ? visible(unit) : "score", heads: ["score", "interval", "n"], rows: plotted, compact: true, whole: unit === "%" };
      return plotFigure([el("strong", {}, `Scores${unit ? `, ${visible(unit)}` : ""}`), el("span", { class: "soft" }, ` with 95 % confidence intervals${own.some((row) => row.line) ? "; ◇ baseline" : ""}; ↑ higher, ↓ lower is better`)], spec, models);
    });
  }

  function skippedBox() {
    if (!skipped.length) return null;
    const missing = Map.groupBy(skipped, (one) => (one.message.match(/^(\S+) is not on this machine/) || [])[1] || "");
    const sets = [...missing].filter(([name]) => name);
    const rest = [...Map.groupBy(missing.get("") || [], (one) => one.message)];
    const fetched = sets.filter(([name, own]) => own[0].message.includes(`audiobench fetch ${name}`)).map(([name]) => name);
    const why = [sets.length ? `${count(sets.length)} data set${sets.length === 1 ? " is" : "s are"} not on this machine` : "", rest.length ? `${count(rest.reduce((sum, [, own]) => sum + own.length, 0))} for other reasons` : ""].filter(Boolean).join(", ");
    const box = el("details", { id: "skipped" }, el("summary", {}, tag("warn", "! skipped"), ` ${count(skipped.length)} evals were skipped: ${why}`));
    const lines = [...sets, ...rest.map(([message, own]) => ["", own, message])];
    const rowOf = ([name, own, message]) => [el("tr", {}, el("th", { scope: "row" }, visible(name || "–")), el("td", { class: "number" }, count(own.length)),
      el("td", {}, fetched.includes(name) ? el("code", {}, `audiobench fetch ${shellWord(visible(name))}`) : longText(message || own[0].message, "")),
      el("td", {}, longText(own.map((one) => named(one.name, one.model)).join(", "), "", 120)))];
    whenOpen(box, () => [fetched.length ? el("p", {}, "What can be fetched: ", longText(`audiobench fetch ${fetched.map(shellWord).join(" ")}`, "mono", 400)) : null,
      ...longTable(lines, "data sets", ([name, own, message]) => `${name} ${message || ""} ${own.map((one) => one.name).join(" ")}`, [["Data set"], ["Evals", true], ["What to do, or why"], ["Evals skipped"]], rowOf)]);
    return box;
  }

  // Where to look first, in the page and beyond it.
  function nextSteps() {
    const ways = [["worse", "change", (number) => `Listen to the ${number} that became worse than the baseline`], ["wrong", "answer", (number) => `See the ${number} wrong answers, the worst first`],
      ["unparsed", "answer", (number) => `See the ${number} answers from which no value was parsed`]];
    const steps = ways.map(([value, name, text]) => {
      const number = facets.find((one) => one.name === name).counts.get(value);
      return number ? el("li", {}, sampleLink({ [name]: value }, text(count(number)))) : null;
    });
    return el("ul", { class: "next" }, steps, el("li", {}, "One sample in the terminal: ", el("code", {}, `audiobench inspect ${shellWord(visible(data.run))} --clip SAMPLE`)));
  }

  // A link that narrows the samples to what it names.
  function sampleLink(chosen, text) {
    const link = el("a", { href: `#${new URLSearchParams(chosen)}` }, text);
    link.addEventListener("click", () => setTimeout(() => { follow(); byId("samples").scrollIntoView(); }));
    return link;
  }

  function drawResults(into) {
    const rows = shownRows();
    const heads = [["Suite"], ...(data.several ? [["Model"]] : []), ["Metric"], ["Score", true], ["95 % interval", true], ["n", true], ["Parse rate", true], ...(data.changes ? [["Baseline", true], ["Drop", true]] : []), ["Verdict"]];
    const plots = typeof Plot === "undefined" ? [] : resultPlots(rows);
    const tables = rows.length ? longTable(rows, "suites", (row) => `${named(row.name, row.model)} ${row.evals[0].verdict}`, heads, (row) => [resultRow(row)]) : [el("p", { class: "soft" }, "No eval was measured.")];
    into.append(el("div", { class: plots.length ? "beside" : null }, el("div", {}, tables), plots.length ? el("div", {}, plots) : null), ...[skippedBox(), all.length ? nextSteps() : null].filter(Boolean));
  }

  // Regression lines have a part of their own.
  const regressed = new Set(data.changes ? data.changes.lines.filter((line) => line.tone !== "good").map((line) => JSON.stringify([line.eval, line.model])) : []);
  const failedEvals = asked.filter((one) => one.tone === "bad" && (one.checks.some((check) => check.tone !== "good") || !regressed.has(JSON.stringify([one.name, one.model]))));
  const hasFailed = failedEvals.length > 0;

  function drawFailed(into) {
    const withSamples = new Set(all.map((sample) => sample.eval));
    const rowOf = (one) => {
      const checks = one.checks.filter((check) => check.tone !== "good");
      const why = checks.length ? checkList(checks) : one.message ? longText(one.message, "", 240) : one.outcome === "lost" ? "began and never reported" : "";
      return [el("tr", {}, el("td", {}, tag(one.tone, `${one.mark} ${one.verdict}`.trim())), el("th", { scope: "row" }, visible(named(one.name, one.model))), el("td", {}, why),
        el("td", { class: "nowrap" }, withSamples.has(one) ? sampleLink({ eval: one.name, ...(data.several ? { model: one.model } : {}) }, "its samples") : ""))];
    };
    into.append(...longTable(failedEvals, "evals", evalText, [["Verdict"], ["Eval"], ["Why"], [""]], rowOf));
  }

