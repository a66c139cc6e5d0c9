  // The first screen: what was measured, the verdict, a row for each suite with its interval, and one plot of all.
  const sentence = (text) => (text ? ` ${text[0].toUpperCase()}${text.slice(1)}.` : "");

  // As a shell reads it, so that it can be copied.
  const shellWord = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
  const listed = (names, most) => `${names.slice(0, most).map(visible).join(", ")}${names.length > most ? ` and ${count(names.length - most)} more` : ""}`;

  const isSkipped = (one) => one.outcome === "skipped" && !one.blocks.length;
  const skipped = data.evals.filter(isSkipped);
  const asked = data.evals.filter((one) => !isSkipped(one));
  const ALARM = /^alarm:\s*/;
  const MOST_NAMED = 12;
  const HASH_SIGNS = 12;

  // What the tensors are called stands with the methods.
  const plainGrounding = (text) => text.replace(/^one second of audio adds (\d+) tokens to the prompt(, and [^;]*)?/, "$1 tokens a second");

  function modelLine(model, number) {
    const { note, hearing, grounding } = data.facts[number];
    const [name, version] = Object.entries(model.fingerprint || {}).find(([key]) => ["revision", "weights", "version"].includes(key)) || [];
    const parts = [model.role === "subject" ? "" : model.role, data.facts[number].device || model.device, name ? `${name} ${String(version).slice(0, HASH_SIGNS)}` : ""].filter(Boolean);
    return el("div", {}, el("strong", {}, visible(model.alias)), model.spec === model.alias ? "" : ` ${visible(model.spec)}`,
      el("span", { class: "soft" }, parts.map((text) => ` · ${visible(text)}`)),
      [[`${hearing} the model`, plainGrounding(grounding)], ["note", note]].map(([what, text]) => (text ? el("div", { class: "small soft" }, `${what}: ${visible(text)}`) : null)));
  }

  function lasted() {
    const seconds = Math.round((new Date(data.finished) - new Date(data.started)) / 1000);
    if (!(seconds >= 0)) return "";
    return seconds < 90 ? ` (${seconds} s)` : seconds < 5400 ? ` (${Math.round(seconds / 60)} min)` : ` (${(seconds / 3600).toFixed(1)} h)`;
  }

  // Alarms that say the same of several evals are one line, which opens.
  const alarmsOf = (one) => one.warnings.filter((text) => ALARM.test(text)).map((text) => text.replace(ALARM, ""));
  const alarmed = asked.filter((one) => alarmsOf(one).length);
  function alarmBoxes() {
    const found = alarmed.flatMap((one) => alarmsOf(one).map((text) => ({ name: named(one.name, one.model), text })));
    return [...Map.groupBy(found, ({ text }) => reasonOf(text)).values()].map((same) => {
      const [{ name, text }] = same;
      const where = same.length === 1 ? `in ${visible(name)}` : `in ${count(same.length)} of ${count(asked.length)} evals, such as ${visible(name)}`;
      const list = el("ul");
      const box = el("details", { class: "banner bad" }, el("summary", {}, SIGNS.bad, `Alarm ${where}: `, visible(headOf(text).split(/ \(|, so /)[0])));
      whenOpen(box, () => [longList(same, "evals", (one) => `${one.name} ${one.text}`, (one) => [el("li", {}, el("strong", {}, visible(one.name)), `: ${visible(one.text)}`)], list), list]);
      return box;
    });
  }

  function runFacts() {
    const { changes } = data;
    const suites = [...new Set(asked.map((one) => one.suite))];
    const answersOf = (isBeside) => data.samples.items.reduce((sum, [item, total]) => sum + (data.evals[item].control === isBeside ? total : 0), 0);
    const own = asked.filter((one) => !one.control).length;
    const beside = asked.length - own;
    const samples = `${count(answersOf(false))}${data.epochs > 1 ? ` (${data.epochs} epochs)` : ""} in ${count(own)} eval${own === 1 ? "" : "s"} of ${count(suites.length)} suite${suites.length === 1 ? "" : "s"}${beside ? `, and ${count(answersOf(true))} more in ${count(beside)} eval${beside === 1 ? "" : "s"} beside (controls, perturbations)` : ""}`;
    const versions = data.runtime.packages || {};
    return el("details", { id: "facts", open: !window.matchMedia("(max-width: 40rem)").matches }, el("summary", {}, "What was measured", el("span", { class: "small soft" }, ` ${samples.replace(/(?= in )/, " samples")}, ${utc(data.started).slice(0, 10)}`)), facts([
      [data.models.length === 1 ? "Model" : "Models", el("div", {}, data.models.map(modelLine))],
      ["Benchmarks", suites.length ? listed(suites, MOST_NAMED) : "none"],
      ["Samples", samples],
      ["Date", `${utc(data.started)}${lasted()}`],
      ["Versions", [["pytest-audiobench", versions["pytest-audiobench"]], ["Python", data.runtime.python]].filter(([, text]) => text).map(([name, text]) => `${name} ${visible(text)}`).join(", ")],
      ["Run", visible(data.run)],
      ["Baseline", changes && changes.baseline.length ? el("div", {}, changes.baseline.map(([name, value], number) =>
        [number ? el("span", { class: "soft" }, ` · ${name} `) : null, number ? visible(value) : el("strong", {}, visible(value))])) : null, "wide"],
      ["Command", [el("code", {}, data.command.map((word) => [el("span", { class: "word" }, visible(shellWord(word))), " "])), data.commit ? el("span", { class: "small soft" }, ` in a repository at commit ${visible(data.commit.slice(0, HASH_SIGNS))}`) : null], "wide"],
    ]));
  }

  function drawHeading() {
    const { verdict } = data;
    // What a reader of the verdict asks for first: which samples changed.
    const ways = verdict.tone === "good" ? ["better", "worse"] : ["worse", "better"];
    const change = ways.find((way) => all.some((sample) => sample.change === way));
    const counts = sentence(visible(verdict.counts)).trim();
    byId("heading").append(
      themeButton(),
      el("h1", {}, breakable(data.title), el("span", { class: "soft" }, ` · ${visible(data.run)}`)),
      el("p", { class: `overall ${verdict.tone}`, role: "note" }, el("strong", {}, `${verdict.mark}${sentence(verdict.word)}`), verdict.counts && change ? [" ", sampleLink({ change }, counts)] : ` ${counts}`, verdict.advice ? ` ${visible(verdict.advice)}` : ""),
      ...data.banners.map((banner) => el("p", { class: `banner ${banner.tone}`, role: "note" }, SIGNS[banner.tone], banner.text)),
      ...alarmBoxes(), runFacts());
  }

  const arrowOf = (metric) => (data.directions[metric] === "lower" ? " ↓" : data.directions[metric] === "higher" ? " ↑" : "");
  const shownName = ({ name, suite, member }) => (member && name.startsWith(`${suite}/`) ? name.slice(suite.length + 1) : name);
  const plotName = (row) => `${row.under ? `${shownName({ ...row, name: row.under })}, ` : ""}${shownName(row)}`;
  const chanceText = (row) => (row.chance === null ? "" : `${Number(row.chance.toFixed(1))} %`);

  // Which numbers stand here is decided where the page is written, for the terminal too.
  const resultRows = data.results.map((row) => ({ ...row, figure: row.figure && figureOf(row.figure) }));

  const hasChance = resultRows.some((row) => row.chance !== null);

  function leadTo(row) {
    const one = data.evals[row.eval];
    const link = el("a", { href: `#eval-${row.eval}` }, visible(shownName(row)));
    link.addEventListener("click", (event) => {
      event.preventDefault();
      reveal(byId("verdicts"));
      finders.forEach((find) => find(one));
      byId(`eval-${row.eval}`).scrollIntoView({ block: "center" });
    });
    return link;
  }

  const parsedCell = ({ parseRate, parsedBefore }) => el("td", { class: "number", title: parsedBefore ? `in the baseline ${parsedBefore} of the same samples` : null },
    parsedBefore ? el("span", { class: "soft" }, `${plainNumber(parsedBefore)} → `) : null, parseRate);

  function resultRow(row) {
    const { figure, before, sign: verdict, alarms } = row;
    const first = verdict !== null;
    const metric = [visible(row.metric), el("span", { class: "soft" }, `${arrowOf(row.metric)}${row.of ? ` ${visible(row.of)}` : ""}`)];
    const numbers = !row.metric ? [el("td", { colspan: hasChance ? 6 : 5, class: "soft" }, "no score")] : [el("td", { class: "nowrap metric" }, metric),
      figure ? [el("td", { class: "number value", title: row.chance === null ? null : `chance ${chanceText(row)}` }, visible(figure.value)), intervalCell(figure)] : [el("td", {}), el("td", { class: "number", title: "the least and the highest of its evals" }, visible(row.spread))],
      el("td", { class: "number" }, row.n ? count(row.n) : ""), parsedCell(row), hasChance ? el("td", { class: "number soft", title: "what guessing one of the options comes to" }, chanceText(row)) : null];
    return el("tr", { class: [row.member ? "member" : "", row.under ? "under" : "", first ? "" : "more"].filter(Boolean).join(" ") || null }, el("th", { scope: "row" }, first ? leadTo(row) : el("span", { class: "only-stacked" }, visible(shownName(row)))),
      data.several ? el("td", { class: "model" }, visible(row.model)) : null, numbers,
      data.changes ? [el("td", { class: "number", title: before && before.about }, before ? visible(before.value) : ""), el("td", { class: "number", title: before && before.about }, before ? visible(before.change) : "")] : null,
      el("td", {}, first ? [el("span", { class: `tag ${verdict[1]}`, title: row.evals > 1 ? `of its ${count(row.evals)} evals` : null }, `${verdict[0]} ${verdict[2]}`.trim()),
        alarms ? [" ", el("span", { class: "tag bad", title: row.evals > 1 ? `in ${count(alarms)} of ${count(row.evals)} evals` : alarmsOf(data.evals[row.eval]).join("; ") }, "! alarm")] : null] : null));
  }

  // A plot for each unit; shares and error rates have one.
  function resultPlots(rows) {
    const metricsOf = Map.groupBy(rows.filter((row) => !row.member && !row.under), (row) => JSON.stringify([row.suite, row.model]));
    const label = (row) => {
      const several = !row.member && !row.under && new Set(metricsOf.get(JSON.stringify([row.suite, row.model])).map((one) => one.metric)).size > 1;
      return [visible(plotName(row)), several ? visible(row.metric) : "", row.of ? `(${visible(row.of)})` : ""].filter(Boolean).join(" ") + arrowOf(row.metric);
    };
    const units = Map.groupBy(rows.filter((row) => row.figure && row.figure.at !== null), (row) => row.figure.unit);
    return [...units].filter(([, own]) => own.length > 1 || own.some((row) => row.before || row.chance !== null)).map(([unit, own]) => {
      const plotted = [...Map.groupBy(own, (row) => JSON.stringify([row.suite, row.member, label(row)])).values()].map((same) => ({ label: label(same[0]), marks: same.flatMap((row) => [
        { ...scoreMark(row.figure, row.model), ...(row.chance === null || unit !== "%" ? {} : { chance: row.chance }) },
        ...(row.before && row.before.at !== null ? [{ series: "baseline", color: "var(--soft)", symbol: "diamond", hollow: true, at: row.before.at, low: null, high: null, beside: true,
          cells: [visible(row.before.value), "–", ""], about: `baseline: ${visible(row.before.value)}\n${visible(row.before.about)}` }] : [])]) }));
      const spec = { name: "Scores of all suites with their confidence intervals; the table holds the numbers", axis: unit ? visible(unit) : "score", heads: ["score", "interval", "n"], rows: plotted, compact: true, whole: unit === "%" };
      const signs = [own.some((row) => row.before) ? "◇ baseline" : "", own.some((row) => row.chance !== null) ? "┊ chance" : "", "↑ higher, ↓ lower is better"].filter(Boolean).join("; ");
      return plotFigure([el("strong", {}, `Scores${unit ? `, ${visible(unit)}` : ""}`), el("span", { class: "soft" }, ` with 95 % confidence intervals; ${signs}`)], spec, models);
    });
  }

  function skippedBox() {
    if (!skipped.length) return null;
    const missing = Map.groupBy(skipped, (one) => one.absent);
    const sets = [...missing].filter(([name]) => name);
    const rest = [...Map.groupBy(missing.get("") || [], (one) => one.message)];
    const fetched = sets.filter(([name, own]) => own[0].message.includes(`audiobench fetch ${name}`)).map(([name]) => name);
    const why = [sets.length ? `${count(sets.length)} data set${sets.length === 1 ? " is" : "s are"} not on this machine` : "", rest.length ? `${count(rest.reduce((sum, [, own]) => sum + own.length, 0))} for other reasons` : ""].filter(Boolean).join(", ");
    const box = el("details", { id: "skipped" }, el("summary", {}, tag("warn", "! skipped"), ` ${count(skipped.length)} ${skipped.length === 1 ? "eval was" : "evals were"} skipped: ${why}`));
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
    const heard = !alarmed.length && all.some((sample) => sample.change === "worse" && sample.sounds.length);
    const ways = [["worse", "change", (number) => (heard ? `Listen to the ${number} that became worse than the baseline` : `See the ${number} answers that became worse than the baseline`)],
      ["better", "change", (number) => `See the ${number} answers that became better than the baseline`],
      ["wrong", "answer", (number) => `See the ${number} wrong answers, the worst first`], ["unparsed", "answer", (number) => `See the ${number} answers from which no value was parsed`]];
    const steps = ways.map(([value, name, text]) => {
      const number = facets.find((one) => one.name === name).counts.get(value);
      return number ? el("li", {}, sampleLink({ [name]: value }, text(count(number)))) : null;
    });
    return el("ul", { class: "next" }, steps, el("li", {}, "One sample in the terminal: ", el("code", {}, `audiobench inspect ${shellWord(visible(data.run))} --clip SAMPLE`)));
  }

  // A link that narrows the samples to what it names, and to those of an eval where one is given.
  function sampleLink(chosen, text, one = null) {
    const own = one ? { eval: one.name, ...(data.several ? { model: one.model } : {}) } : {};
    const link = el("a", { href: `#${new URLSearchParams({ ...chosen, ...own })}` }, text);
    link.addEventListener("click", () => setTimeout(() => { follow(); byId("samples").scrollIntoView(); byId("list").focus({ preventScroll: true }); }));
    return link;
  }

  // Of each suite what is folded is one row, which says how many evals it stands for, and opens.
  function withFolds(rows) {
    const found = [];
    for (const row of rows) {
      const { folded } = found.at(-1) || {};
      if (row.isFolded && folded) folded.push(row);
      else found.push(row.isFolded ? { folded: [row] } : row);
    }
    return found;
  }

  function foldedRows(folded, heads) {
    const isRest = resultRows.some((row) => row.member && !row.isFolded && row.suite === folded[0].suite && row.model === folded[0].model);
    const verdicts = Map.groupBy(folded.filter((row) => row.sign && !row.under), (row) => row.sign[2]);
    const number = [...verdicts.values()].reduce((sum, own) => sum + own.length, 0);
    const counts = [...verdicts].map(([word, own]) => (verdicts.size > 1 ? `${count(own.length)} ${word}` : word));
    const button = el("button", { type: "button", "aria-expanded": "false" }, `${count(number)} ${isRest ? "more" : "evals"}: ${counts.join(", ")}`);
    const line = el("tr", { class: "rest" }, el("th", { scope: "row", colspan: heads.length }, button));
    let rows = [];
    button.addEventListener("click", () => {
      rows.forEach((row) => row.remove());
      rows = rows.length ? [] : withLabels(heads, folded.map(resultRow));
      button.setAttribute("aria-expanded", String(rows.length > 0));
      line.after(...rows);
    });
    return [line];
  }

  function drawResults(into) {
    const rows = resultRows.filter((row) => !row.isFolded);
    const heads = [["Suite"], ...(data.several ? [["Model"]] : []), ["Metric"], ["Score", true], ["95 % interval", true], ["n", true], ["Parsed", true], ...(hasChance ? [["Chance", true]] : []), ...(data.changes ? [["Baseline", true], ["Change", true]] : []), ["Verdict"]];
    const plots = typeof Plot === "undefined" ? [] : resultPlots(rows);
    const rowsOf = (row) => (row.folded ? foldedRows(row.folded, heads) : [resultRow(row)]);
    const text = (row) => (row.folded || [row]).map((one) => `${named(one.name, one.model)} ${one.sign ? one.sign[2] : ""}`).join(" ");
    const tables = rows.length ? longTable(withFolds(resultRows), "suites", text, heads, rowsOf) : [el("p", { class: "soft" }, asked.length ? "The evals are only compared with each other: see All numbers." : "No eval was measured.")];
    into.append(el("div", { class: plots.length ? "beside" : null }, el("div", {}, tables), plots.length ? el("div", {}, plots) : null), ...[skippedBox(), all.length ? nextSteps() : null].filter(Boolean));
  }

  // Regression lines have a part of their own.
  const regressed = new Set(data.changes ? data.changes.lines.filter((line) => line.tone !== "good").map((line) => JSON.stringify([line.eval, line.model])) : []);
  const failedEvals = asked.filter((one) => one.tone === "bad" && (one.checks.some((check) => check.tone !== "good") || !regressed.has(JSON.stringify([one.name, one.model]))));
  const hasFailed = failedEvals.length > 0;

  function drawFailed(into) {
    const rowOf = (one) => {
      const checks = one.checks.filter((check) => check.tone !== "good");
      const why = checks.length ? checkList(checks) : one.message ? longText(one.message, "", 240) : one.outcome === "lost" ? "began and never reported" : "";
      return [el("tr", {}, el("td", {}, tag(one.tone, `${one.mark} ${one.verdict}`.trim())), el("th", { scope: "row" }, visible(named(one.name, one.model))), el("td", {}, why),
        el("td", { class: "nowrap" }, evalsOnPage.has(one) ? sampleLink({}, "its samples", one) : ""))];
    };
    into.append(...longTable(failedEvals, "evals", evalText, [["Verdict"], ["Eval"], ["Why"], [""]], rowOf));
  }

