  // Perturbations at a glance: a table whose cells are shaded by their value, by perturbation and data set, one metric at a time.
  const CELL = ["value", "interval", "n", "parseRate", "fewer", "drop", "dropInterval", "p", "against", "at", "eval"];
  const cellOf = (values) => (values === null ? null : Object.fromEntries(CELL.map((name, place) => [name, values[place]])));
  const withoutUnit = (text) => visible(text).replace(/ (%|pp)$/, "");

  function gridCell(sheet, cell) {
    if (cell === null) return el("td", { class: "none", role: "gridcell", tabindex: -1 }, "");
    const box = el("td", { class: "heat", role: "gridcell", tabindex: -1 }, cell.fewer ? el("span", { class: "few", title: cell.fewer }, "! ") : null, withoutUnit(cell.value));
    const width = sheet.high - sheet.low;
    box.style.setProperty("--share", `${cell.at === null ? 0 : width > 0 ? (100 * (cell.at - sheet.low) / width).toFixed(1) : 50}%`);
    return box;
  }

  // What a cell stands for, in full.
  function cellText(grid, sheet, row, column) {
    const [perturbation] = grid.rows[row];
    const cell = cellOf(sheet.cells[row][column]);
    const where = [el("strong", {}, visible(perturbation)), ` · ${visible(grid.columns[column])}: `];
    if (cell === null) return [where, `${visible(sheet.metric)} was not measured`];
    return [where, `${visible(sheet.metric)} `, el("strong", {}, visible(cell.value)), cell.interval ? ` [${cell.interval}]` : ", no interval", `, n ${count(cell.n)}, parse rate ${cell.parseRate}`,
      baselineOf(sheet, cell) ? `; baseline ${visible(baselineOf(sheet, cell).before)}` : "",
      cell.drop ? `; drop from ${visible(cell.against)} ${visible(cell.drop)}${cell.dropInterval ? ` [${cell.dropInterval}]` : ""}, p (Holm) ${cell.p}` : "",
      cell.fewer ? [" ", tag("warn", `! ${visible(cell.fewer)}`)] : ""];
  }

  function gridTable(grid, sheet, tell) {
    const head = el("tr", {}, el("th", { scope: "col" }, "perturbation"), grid.columns.map((name) => el("th", { scope: "col", title: name }, el("span", {}, breakable(name)))));
    const body = el("tbody");
    const heads = grid.rows.map(([, family, unit]) => (unit ? `${visible(family)}, ${visible(unit)}` : visible(family)));
    for (const [number, [perturbation, , , label]] of grid.rows.entries()) {
      const isAlone = heads.filter((one) => one === heads[number]).length === 1;
      if (heads[number] !== heads[number - 1] && !isAlone) body.append(el("tr", { class: "family" }, el("th", { scope: "rowgroup", colspan: grid.columns.length + 1 }, heads[number])));
      body.append(el("tr", {}, el("th", { scope: "row", title: perturbation, class: isAlone ? null : "dose" }, visible(isAlone ? perturbation : label)),
        sheet.cells[number].map((cell, column) => {
          const box = gridCell(sheet, cellOf(cell));
          Object.assign(box.dataset, { row: number, column });
          return box;
        })));
    }
    const name = `${visible(sheet.metric)} by perturbation and data set; arrow keys move from cell to cell`;
    const box = el("table", { class: "grid", role: "grid", "aria-label": name }, el("thead", {}, head), body);
    box.style.setProperty("--columns", grid.columns.length);
    walk(box, tell);
    return box;
  }

  // One stop for the keyboard in the whole table; arrow keys go on from there.
  const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -Infinity], End: [0, Infinity] };
  function walk(box, tell) {
    const cells = [...box.querySelectorAll("td")];
    const at = (row, column) => cells.find((one) => Number(one.dataset.row) === row && Number(one.dataset.column) === column);
    const [rows, columns] = ["row", "column"].map((name) => Math.max(...cells.map((one) => Number(one.dataset[name]))));
    const within = (value, most) => Math.min(Math.max(value, 0), most);
    if (cells.length) cells[0].tabIndex = 0;
    box.addEventListener("focusin", ({ target }) => {
      for (const one of cells) one.tabIndex = one === target ? 0 : -1;
      tell(target);
    });
    box.addEventListener("mouseover", ({ target }) => { const cell = target.closest("td"); if (cell) tell(cell); });
    box.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      const { row, column } = event.target.dataset;
      at(within(Number(row) + step[0], rows), within(Number(column) + step[1], columns)).focus();
    });
  }

  function chooser(name, values, texts) {
    const box = el("select", {}, values.map((value, place) => el("option", { value: place }, visible(texts[place]))));
    return { box, label: values.length > 1 ? el("label", {}, `${name} `, box) : null, get value() { return values[Number(box.value)]; } };
  }

  function scaleSign({ low, high, unit }) {
    if (low === null) return null;
    const end = (value) => `${Number(value.toPrecision(3))}${unit === "%" ? " %" : ""}`;
    return el("span", { class: "scale small soft" }, end(low), el("span", { class: "ramp", "aria-hidden": "true" }), end(high), unit === "%" ? "" : ` ${visible(unit)}`);
  }

  function gridBox(grid) {
    const unique = (name) => [...new Set(grid.sheets.map((one) => one[name]))];
    const [scorers, owners] = [unique("scorer"), unique("model")];
    const kinds = [...new Set(grid.sheets.map((one) => JSON.stringify([one.metric, one.scorer])))];
    const metric = chooser("Metric", kinds, kinds.map(JSON.parse).map(([name, scorer]) => (scorers.length > 1 ? `${name} by ${scorer}` : name)));
    const model = chooser("Model", owners, owners);
    const text = el("p", { class: "cell-text", "aria-live": "polite" });
    const place = el("div");
    const legend = el("p", {});
    const draw = () => {
      const sheet = grid.sheets.find((one) => one.model === model.value && JSON.stringify([one.metric, one.scorer]) === metric.value);
      if (!sheet) {
        place.replaceChildren(el("p", { class: "soft" }, "This model was not measured by this."));
        legend.replaceChildren();
        text.replaceChildren();
        return;
      }
      const tell = ({ dataset }) => { if (dataset.row !== undefined) text.replaceChildren(...filled(el("span"), {}, cellText(grid, sheet, Number(dataset.row), Number(dataset.column))).childNodes); };
      place.replaceChildren(scrolling(gridTable(grid, sheet, tell)));
      const ends = (of, interval) => Object.fromEntries(["lower", "upper"].map((end, place) => [`${of}${end}`, plainNumber(interval.split(" to ")[place] || "")]));
      const numbers = () => grid.rows.flatMap(([perturbation], row) => grid.columns.flatMap((column, number) => {
        const cell = cellOf(sheet.cells[row][number]);
        return cell === null ? [] : [{ perturbation, data_set: column, metric: sheet.metric, model: sheet.model, value: cell.at, ...ends("", cell.interval), ...(data.changes ? { baseline: (baselineOf(sheet, cell) || {}).before_at } : {}), n: cell.n, parse_rate: plainNumber(cell.parseRate), drop: plainNumber(cell.drop), ...ends("drop_", cell.dropInterval), p_holm: cell.p }];
      }));
      legend.replaceChildren(...[scaleSign(sheet), saveMenu(`${sheet.metric} by perturbation and data set`, numbers, place)].filter(Boolean));
      text.replaceChildren("Point at a cell, or go there with Tab and the arrow keys, for its interval, its n and its parse rate.");
    };
    for (const one of [metric, model]) one.box.addEventListener("change", draw);
    draw();
    return el("div", { class: "gridbox" }, el("div", { class: "picks" }, metric.label || el("strong", {}, visible(JSON.parse(kinds[0])[0])), model.label, legend), place, text,
      grid.more ? el("p", { class: "small soft" }, `${count(grid.more)} more metrics are in run.json.`) : null);
  }

  function drawGrids(into) {
    into.append(el("p", { class: "soft" }, "A row for each perturbation, doses from easy to hard, a column for each data set; the stronger the shade the more. An exclamation mark: clearly fewer answers were parsed than under the clean perturbation."));
    for (const grid of data.grids) into.append(...[data.grids.length > 1 ? el("h3", {}, listed(grid.suites, 3)) : null, gridBox(grid)].filter(Boolean));
  }
