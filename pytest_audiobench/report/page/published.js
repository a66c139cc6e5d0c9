  // What others published of the same samples, beside what this run has by their rule, or by its own.
  function publishedTable(values) {
    const rows = values.map((one) => el("tr", {},
      el("th", { scope: "row" }, visible(one.system), el("div", { class: "small soft" }, visible(one.metric))),
      el("td", { class: "number value" }, visible(one.value)),
      el("td", { class: "nowrap" }, visible(one.rule)),
      el("td", { class: "number value" }, visible(one.here)),
      el("td", { class: "number" }, visible(one.interval)),
      el("td", {}, visible(one.scorer), one.rule === one.scorer ? null : el("div", { class: "small soft" }, "another rule")),
      el("td", { class: "small about" }, visible(one.conditions), el("div", { class: "soft" }, visible(one.source)))));
    return table([["Published"], ["Value", true], ["By"], ["Here", true], ["Interval", true], ["By"], ["Conditions and source"]], rows, true);
  }

  function drawPublished(into) {
    const boxes = el("div");
    const things = [...Map.groupBy(data.published, (one) => named(one.eval, one.model))];
    into.append(...[longList(things, "evals", ([name]) => name, ([name, values]) => [el("h3", {}, visible(name)), publishedTable(values)], boxes), boxes].filter(Boolean));
  }
