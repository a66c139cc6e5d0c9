  // Scores side by side: one plot for each metric, a row for each eval or group, a colour and a sign for each model.
  const models = [...new Set(data.evals.map((one) => one.model))];

  function scoreMark(figure, model) {
    const number = models.indexOf(model);
    const interval = figure.interval || "no interval";
    return { series: models.length > 1 ? model : "", ...look(number), at: figure.at, low: figure.low, high: figure.high, hollow: figure.low === null,
      cells: [visible(figure.value), figure.interval || "–", count(figure.n)],
      about: `${models.length > 1 ? `${visible(model)}: ` : ""}${visible(figure.value)}, ${interval}, n ${count(figure.n)}\n${figure.method}` };
  }

  // Rows are {label, model, scorer, figure}; those of one label share a row. Gives [metric, unit, rows] for each metric that has several marks.
  function byMetric(entries) {
    const metrics = new Map();
    for (const { label, model, scorer, figure } of entries) {
      const key = JSON.stringify([figure.metric, scorer, figure.unit]);
      if (!metrics.has(key)) metrics.set(key, { metric: figure.metric, scorer, unit: figure.unit, rows: new Map() });
      const { rows } = metrics.get(key);
      if (!rows.has(label)) rows.set(label, { label: visible(label), marks: [] });
      rows.get(label).marks.push(scoreMark(figure, model));
    }
    return [...metrics.values()].map((one) => ({ ...one, rows: [...one.rows.values()].filter((row) => row.marks.some((mark) => mark.at !== null)) }))
      .filter(({ rows }) => rows.reduce((sum, row) => sum + row.marks.length, 0) > 1);
  }

  function scorePlot({ metric, scorer, unit, rows }, what) {
    const title = [el("strong", {}, visible(metric)), scorer && scorers.size > 1 ? el("span", { class: "soft" }, ` by ${visible(scorer)}`) : null];
    const axis = unit ? `${visible(metric)}, ${visible(unit)}` : visible(metric);
    return plotFigure(title, { name: `${visible(metric)} ${what}; the table holds the numbers`, axis, heads: ["value", "interval", "n"], rows }, models);
  }

  const MOST_PLOTS = 4;
  const openBlocks = (owner) => owner.blocks.filter((block) => !block.folded);

  function scoreEntries() {
    const entries = (owners, pooled) => owners.flatMap((owner) => openBlocks(owner).flatMap((block) => block.figures.map((figure) =>
      ({ label: owner.name + (pooled ? " (pooled)" : ""), model: owner.model, scorer: block.scorer, figure: figureOf(figure) }))));
    return byMetric([...entries(data.evals, false), ...entries(data.suites, true)]);
  }

  function drawScores(into) {
    const found = scoreEntries();
    const first = new Set(data.evals.flatMap((one) => openBlocks(one).slice(0, 1).flatMap((block) => block.figures.slice(0, 1).map((figure) => figureOf(figure).metric))));
    const leading = found.filter(({ metric }) => first.has(metric));
    const others = found.filter(({ metric }) => !first.has(metric));
    into.append(
      el("p", { class: "soft" }, "Lines are confidence intervals; a hollow marker has none, and the table gives the reason."),
      el("div", { class: "plots" }, leading.map((one) => scorePlot(one, "by eval"))),
      others.length ? el("details", {}, el("summary", {}, "Other metrics: ", [...new Set(others.map(({ metric }) => visible(metric)))].join(", ")),
        el("div", { class: "plots" }, others.map((one) => scorePlot(one, "by eval")))) : "");
  }

  // The groups of evals (or suites) of one name, whichever model did them, in one place that is filled when it is opened.
  function drawGroups(into, id, owners, open) {
    const names = new Map();
    for (const owner of owners.filter((one) => one.blocks.some((block) => block.groups.length))) names.set(owner.name, [...(names.get(owner.name) || []), owner]);
    if (!names.size) return;
    const things = [...names].map(([name, own], number) => ({ name, own, number }));
    into.append(...longBoxes(things, id === "suites" ? id : "evals", ({ name }) => name, ({ name, own, number }) => {
      const entries = () => own.flatMap((owner) => openBlocks(owner).flatMap((block) => block.groups.map(([group, ...figure]) =>
        ({ label: data.words[group], model: owner.model, scorer: block.scorer, figure: figureOf(figure) }))));
      const box = el("details", { open: open && number === 0 }, el("summary", {}, visible(name), id === "suites" ? " by group" : ""));
      whenOpen(box, () => {
        const plots = byMetric(entries()).slice(0, MOST_PLOTS).map((one) => scorePlot(one, `of ${visible(name)} by group`));
        const tables = own.map((owner) => [own.length > 1 ? el("h3", {}, visible(owner.model)) : null, groups(owner.blocks)]);
        return plots.length ? [el("div", { class: "plots" }, plots), el("details", { class: "inner" }, el("summary", {}, "The numbers as a table"), tables)] : tables;
      });
      return box;
    }));
  }
