  // The confusion matrix: a table of counts for each eval whose labels repeat, each row shaded by its shares.
  const signed = (number) => (number > 0 ? `+${count(number)}` : number < 0 ? `−${count(-number)}` : "");

  // What a number counts, where the page has its samples and their labels are whole.
  function cellSamples(one, row, column, number) {
    const labels = [one.labels[row], one.columns[column]];
    const isWhole = ![row, column].some((place) => one.folded && place === one.labels.length - 1) && !labels.some((label) => label.endsWith("…"));
    if (!number || !isWhole || !evalsOnPage.has(data.evals[one.item])) return count(number);
    const link = sampleLink({ reference: labels[0], parsed: labels[1] }, count(number), data.evals[one.item]);
    link.setAttribute("aria-label", `${count(number)}: ${labels.map(visible).join(" answered as ")}`);
    return link;
  }

  function labelCell(one, row, column, total) {
    const number = one.counts[row][column];
    const moved = one.change ? one.change[row][column] : 0;
    const share = total ? number / total : 0;
    const cell = el("td", { class: `${row === column ? "right" : "wrong"}${number ? "" : " none"}`,
      title: `${visible(one.labels[row])} answered as ${visible(one.columns[column])}: ${count(number)} of ${count(total)}` },
      cellSamples(one, row, column, number), moved ? el("div", { class: "moved" }, signed(moved)) : null);
    // Errors are spread thin over a row, so that a tenth of it must be seen already.
    cell.style.setProperty("--share", `${Math.round(100 * (row === column ? share : Math.sqrt(share)))}%`);
    return cell;
  }

  function labelTable(one) {
    const short = one.columns.length <= 9 && one.columns.every((label) => label.length <= 14);
    const head = el("tr", {}, el("th", { scope: "col", class: "corner" }, "true ↓  answered →"),
      one.columns.map((label) => el("th", { scope: "col", class: short ? "number" : "upright" }, el("span", {}, visible(label)))),
      el("th", { scope: "col", class: "number" }, "n"), el("th", { scope: "col", class: "number" }, "right"));
    const rows = one.labels.map((label, row) => {
      const total = one.counts[row].reduce((sum, number) => sum + number, 0);
      const is_folded = one.folded && row === one.labels.length - 1;
      return el("tr", {}, el("th", { scope: "row" }, visible(label)), one.columns.map((_, column) => labelCell(one, row, column, total)),
        el("td", { class: "number" }, count(total)), el("td", { class: "number" }, total && !is_folded ? `${(100 * one.counts[row][row] / total).toFixed(1)} %` : "–"));
    });
    const box = el("table", { class: "labels" }, el("thead", {}, head), el("tbody", {}, rows));
    box.style.setProperty("--columns", one.columns.length);
    return scrolling(box);
  }

  function drawLabels(into) {
    const found = data.labels.filter((one) => one !== null);
    into.append(el("p", { class: "soft" }, "A row for each true label, a column for what the headline scorer parsed. Cells are shaded by their share of the row; a number leads to its samples.",
      found.some((one) => one.change) ? " Signed numbers are the change from the baseline, on the samples that both answered." : ""));
    into.append(...longBoxes(found, "evals", (one) => evalText(data.evals[one.item]), (one) => {
      const owner = data.evals[one.item];
      const box = el("details", { open: one === found[0] }, el("summary", {}, visible(named(owner.name, owner.model)),
        el("span", { class: "small soft" }, ` ${count(one.labels.length - (one.folded ? 1 : 0) + one.folded)} labels${one.change ? `, change over ${count(one.pairs)} pairs` : ""}`)));
      const numbers = () => one.labels.map((label, row) => ({ "true label": label, ...Object.fromEntries(one.columns.map((column, place) => [column, one.counts[row][place]])) }));
      whenOpen(box, () => [...withSave(`confusion matrix ${named(owner.name, owner.model)}`, numbers, labelTable(one)), one.folded ? el("p", { class: "small soft" }, `The ${count(one.folded)} rarest labels share the last row and column, right or wrong among themselves.`) : null]);
      return box;
    }));
    const missing = data.labels.length - found.length;
    if (missing) into.append(el("p", { class: "small soft" }, `${count(missing)} more tables would make this page too large: pytest_audiobench.load_run(run).confusion(eval) makes them.`));
  }
