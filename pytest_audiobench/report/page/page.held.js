  // What is held against what: for each data set the evals without a dose, a table for each way of asking.
  const heldCell = ([value, interval]) => [el("strong", {}, visible(value)), interval ? el("div", { class: "small soft" }, interval) : null];

  function heldTable(one, block) {
    const { columns: names, rows } = block;
    const several = new Set(rows.map(([, , scorer]) => scorer)).size > 1;
    const heads = [["Asked"], ...(several ? [["Read by"]] : []), ...names.map((name) => [visible(name === "score" ? one.metric : name), true])];
    return table(heads, rows.map(([, label, scorer, cells]) => el("tr", {}, el("th", { scope: "row" }, visible(label)), several ? el("td", {}, visible(scorer)) : null,
      names.map((name) => el("td", { class: "number" }, cells[name] ? heldCell(cells[name]) : "")))), true);
  }

  function drawHeld() {
    if (!data.held.length) return;
    byId("held").hidden = false;
    byId("held").append(el("p", { class: "soft" }, "The evals without a dose, those together that are held against the same answers. Shares in percent, differences in points, each with its interval; nulls, beyond, missed and changed are counts."));
    const used = new Set(data.held.flatMap((one) => one.blocks.flatMap((block) => block.columns)));
    const words = el("details", {}, el("summary", {}, "What the columns hold"));
    whenOpen(words, () => [facts(Object.entries(data.heldColumns).filter(([name]) => name !== "score" && used.has(name)))]);
    byId("held").append(words);
    for (const [number, one] of data.held.entries()) {
      const box = el("details", { open: number === 0 }, el("summary", {}, visible(named(one.of, one.model))));
      whenOpen(box, () => one.blocks.map((block) => [el("h3", {}, visible(block.about)), heldTable(one, block)]));
      byId("held").append(box);
    }
  }
