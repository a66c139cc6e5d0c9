  // Compared with the baseline: the verdict in a line, the drops with their margins, a row for each regression line.
  const TONE_LOOKS = {
    regressed: { color: "var(--bad)", symbol: "square" },
    inconclusive: { color: "var(--warn)", symbol: "triangle" },
    "not comparable": { color: "var(--soft)", symbol: "cross" },
    pass: { color: "var(--good)", symbol: "circle" },
    improved: { color: "var(--good)", symbol: "star" },
  };

  const MOST_NAMES = 20;
  const MOST_LINES = 20;

  function lineName(line) {
    const metrics = new Set(data.changes.lines.map((one) => one.metric));
    return [named(line.eval, line.model), metrics.size > 1 ? line.metric : "", line.group].filter(Boolean).map(visible).join(" · ");
  }

  function changePlot(axis, lines) {
    const rows = lines.map((line) => {
      const shown = TONE_LOOKS[line.status];
      const verdict = `${line.mark} ${line.status}`;
      return { label: lineName(line), marks: [{ ...shown, at: line.at, low: line.low, high: line.high, most: line.most, limit: line.limit, hollow: line.low === null,
        cells: [visible(line.change), line.interval || "–", verdict], tones: [null, null, shown.color],
        about: `${lineName(line)}: ${visible(line.change)} (${line.interval || "no interval"})\n${visible(line.detail)}` }] };
    });
    const spec = { name: "Changes from the baseline with intervals and margins; the table holds the numbers", axis: visible(axis),
      heads: ["change", "interval", "verdict"], rows, zero: true };
    return plotFigure(["Change by line: sign and interval, ", el("span", { class: "key" }, "|"), " the most that it is worse by (one-sided ", data.changes.certainty, "), ", el("span", { class: "key bad" }, "┆"), " the margin"], spec);
  }

  const leftOutText = (one) => `${count(one.count)} ${one.reason}: ${one.names.map(visible).join(", ")}${one.count > one.names.length ? ", …" : ""}`;

  // How many answers changed, as a link to them where the samples of the page can be narrowed to just these.
  function flipsOf(line, change) {
    const text = `${count(line[change])} ${change}`;
    if (!line[change] || line.group || !all.some((one) => one.change === change && one.eval.name === line.eval && one.eval.model === line.model)) return text;
    return sampleLink({ change }, text, { name: line.eval, model: line.model });
  }

  // What became of an eval's answers stands at the first of its lines.
  const ownerOf = ({ eval: name, model }) => JSON.stringify([name, model]);
  const firstLines = new Map((data.changes ? data.changes.lines : []).toReversed().map((line) => [ownerOf(line), line]));
  const countsOf = new Map(data.changedCounts.map(([name, model, text]) => [JSON.stringify([name, model]), text]));

  function changeRows(line) {
    const name = [visible(line.metric), line.group ? ` · ${visible(line.group)}` : "", scorers.size > 1 ? ` · ${visible(line.scorer)}` : ""].join("");
    const counts = line === firstLines.get(ownerOf(line)) ? countsOf.get(ownerOf(line)) : "";
    const details = [el("div", {}, visible(line.detail)), counts ? el("div", {}, `Changed counts: ${visible(counts)}`) : null, line.detail.includes(line.method.replace(/^no test: /, "")) ? null : el("div", { class: "soft" }, visible(line.method)),
      line.left_out.map((one) => el("div", { class: "soft" }, `In no pair: ${leftOutText(one)}`))];
    const flips = line.worse + line.better ? [flipsOf(line, "worse"), el("br"), flipsOf(line, "better")] : line.at === null ? "–" : "none";
    const pairs = [`of ${count(line.pairs)} pairs`, ...(line.clusters === null ? [] : [el("br"), `${count(line.clusters)} clusters`])];
    return [
      el("tr", { class: "joined" },
        el("td", {}, tag(line.tone, `${line.mark} ${line.status}`)),
        el("th", { scope: "row" }, visible(named(line.eval, line.model)), el("div", { class: "small soft" }, name)),
        el("td", { class: "number" }, visible(line.before), " → ", el("strong", {}, visible(line.now))),
        el("td", { class: "number" }, el("strong", {}, visible(line.change)), el("div", { class: "small soft" }, line.interval)),
        el("td", { class: "number" }, visible(line.bound), el("div", { class: "small soft" }, `margin ${visible(line.margin)}`)),
        line.p_better ? el("td", { class: "number" }, line.p_better, el("div", { class: "small soft" }, ["of no gain", el("br"), `Holm ${line.q_better}`])) : el("td", { class: "number" }, line.p, el("div", { class: "small soft" }, [`level ${line.level}`, line.p_holm ? [el("br"), `Holm ${line.p_holm}`] : null])),
        el("td", { class: "number" }, flips, el("div", { class: "small soft" }, pairs)),
        el("td", { class: "number" }, visible(line.detectable))),
      el("tr", { class: "details" }, el("td"), el("td", { colspan: 7 }, details)),
    ];
  }

  function drawChanges(into) {
    const { changes } = data;
    const drawn = new Map();
    for (const line of changes.lines) drawn.set(line.axis, [...(drawn.get(line.axis) || []), line]);
    const mostWorse = ["At most worse by", true, null, `one-sided ${changes.certainty}`];
    const detectable = ["MDE", true, "minimum detectable effect: the smallest drop that this comparison would call regressed four times in five"];
    const heads = [["Verdict"], ["Eval and metric"], ["Baseline → now", true], ["Change", true], mostWorse, ["p", true], ["Flips", true], detectable];
    into.append(
      changes.detectable ? el("p", {}, changes.detectable) : "",
      ...[...drawn].filter(([, lines]) => lines.some((one) => one.at !== null)).map(([axis, lines]) => changePlot(axis, lines)));
    // Where there are many lines, those that pass are shown when asked for.
    const folded = changes.lines.length > MOST_LINES ? changes.lines.filter((line) => line.status === "pass") : [];
    const lines = changes.lines.filter((line) => !folded.includes(line));
    const linesTable = (some) => longTable(some, "lines", (line) => `${lineName(line)} ${line.status}`, heads, changeRows);
    if (lines.length) into.append(...linesTable(lines));
    if (folded.length) {
      const box = el("details", {}, el("summary", {}, `${count(folded.length)} lines pass`));
      whenOpen(box, () => linesTable(folded));
      into.append(box);
    }
    if (changes.without_line.length) {
      const names = changes.without_line.slice(0, MOST_NAMES).map(([name, model]) => visible(named(name, model)));
      const more = changes.without_line.length - names.length;
      into.append(el("p", { class: "small" }, "Measured, not compared with the baseline: ", names.join(", "), more ? ` and ${count(more)} more.` : "."));
    }
    into.append(el("p", { class: "small soft" }, "Change: this run minus the baseline, on the same samples. At most worse by: the upper confidence bound of the drop. Pass: it is below the margin. Regressed: p, the p value of “the drop is at most the margin”, is at most its level. ",
      "Improved: a pass whose p of no gain, the p value of “it is no better”, is at most alpha when adjusted for all comparisons (Holm); a regression elsewhere still fails. ",
      "MDE (minimum detectable effect): the drop that this comparison would call regressed four times in five; none on lines that improved or regressed."));
  }
