  // All columns of scenes: those that are published beside our own, each with what it tells; then those by type.
  function columnsOf(block) {
    return new Map(block.columns.map(figureOf).map((figure) => [figure.metric, figure]));
  }

  // The unit below the number, where it is words.
  function valueCell(figure, className) {
    if (!figure) return el("td", { class: "number" }, "–");
    const [, number, unit] = figure.value.match(/^(.*?)(?: ([a-z].*))?$/s);
    return el("td", { class: className }, visible(number), unit ? el("div", { class: "small soft unit" }, visible(unit)) : null);
  }

  function numberCells(name, by) {
    return by.flatMap((figures, number) => {
      const figure = figures.get(name);
      const value = valueCell(figure, number ? "number" : "number value");
      return number ? [value] : [value, el("td", { class: "number small soft", title: figure ? figure.method : null }, figure ? figure.interval : "")];
    });
  }

  function columnsTable(title, own, blocks, by) {
    if (!own.length) return null;
    const [first, ...others] = blocks.map((block) => [visible(block.scorer), true]);
    const rows = own.map(([metric, published, about]) => el("tr", {}, el("th", { scope: "row" }, published || metric,
      published && published !== metric ? el("div", { class: "small soft" }, metric) : null), numberCells(metric, by), el("td", { class: "small about" }, visible(about))));
    return el("div", {}, el("h3", {}, title), table([["Column"], first, ["interval", true], ...others, ["What it tells"]], rows, true));
  }

  function typedTable(figures) {
    const rows = data.columns.typed.map(([name, about]) => el("tr", {}, el("th", { scope: "row" }, name),
      data.columns.types.map((type) => valueCell(figures.get(`${name}_${type}`), "number")),
      el("td", { class: "small about" }, visible(about))));
    return el("div", {}, el("h3", {}, "By type"), table([["Column"], ...data.columns.types.map((type) => [type.replaceAll("_", " "), true]), ["What it tells"]], rows, true));
  }

  const withColumns = data.evals.filter((one) => one.blocks.some((block) => block.columns));

  function drawColumns(into) {
    const owners = withColumns;
    into.append(el("p", { class: "soft" }, "The published columns under their published names, and additional metrics. The first scorer's numbers have intervals."));
    into.append(...longBoxes(owners, "evals", evalText, (owner) => {
      const box = el("details", { open: owner === owners[0] }, el("summary", {}, visible(named(owner.name, owner.model))));
      whenOpen(box, () => {
        const blocks = owner.blocks.filter((block) => block.columns);
        const by = blocks.map(columnsOf);
        return [el("div", { class: "column-tables" },
          columnsTable("As published", data.columns.all.filter(([, published]) => published), blocks, by),
          columnsTable("Additional metrics", data.columns.all.filter(([, published]) => !published), blocks, by)),
        data.columns.typed.length ? el("div", { class: "column-tables" }, typedTable(by[0])) : null];
      });
      return box;
    }));
  }

