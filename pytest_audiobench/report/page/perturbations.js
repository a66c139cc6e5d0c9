  // What perturbations do: for each family a plot over its doses with the parse rate beside the score, then the numbers.
  const { curves: CURVES, summaries: SUMMARIES, more: MORE_CURVES } = data.perturbations;
  const CURVE_SIZES = { left: 46, right: 16, score: 250, parseRate: 92 };

  // Things of one suite, data set and metric belong together, whichever model did them.
  function together(things, names) {
    const found = new Map();
    for (const one of things) {
      const key = JSON.stringify(names.map((name) => one[name]));
      found.set(key, [...(found.get(key) || []), one]);
    }
    return [...found.values()];
  }

  const ofCurve = (own) => together(own, ["suite", "dataset", "series", "family", "metric", "scorer", "unit", "dose_unit"]);
  const ofSummary = (own) => together(own, ["suite", "dataset", "series", "metric", "scorer", "unit"]);
  const dropHead = (rows) => {
    const names = new Set(rows.map((row) => row.against).filter(Boolean));
    return names.size && names.size < 4 ? `Drop from ${[...names].map(visible).join(" or ")}` : "Drop";
  };

  // The regression line of a point's eval, which has the baseline's value; undefined where there is none.
  const lineKey = (...names) => JSON.stringify(names);
  const baselines = new Map((data.changes ? data.changes.lines : []).filter((line) => !line.group && line.before_at !== null).map((line) => [lineKey(line.eval, line.model, line.metric, line.scorer), line]));
  const baselineOf = (owner, point) => baselines.get(lineKey(point.eval, owner.model, owner.metric, owner.scorer));
  const hasBaselineOf = (owner) => owner.rows.some((row) => baselineOf(owner, row));

  // Each run of points that have intervals is one band; the drawing's own scales say where it lies.
  function bands(drawing, lines) {
    const [x, y] = ["x", "y"].map((name) => drawing.scale(name).apply);
    const first = drawing.querySelector("g");
    for (const { marks, color } of lines) {
      const at = (mark, edge) => `${x(mark.x).toFixed(2)},${y(mark[edge]).toFixed(2)}`;
      const runs = marks.reduce((found, mark) => (mark.low === null || mark.high === null ? [...found, []] : [...found.slice(0, -1), [...found.at(-1), mark]]), [[]]);
      for (const run of runs.filter((one) => one.length > 1)) {
        const outline = [...run.map((mark) => at(mark, "high")), ...run.map((mark) => at(mark, "low")).reverse()];
        drawing.insertBefore(svg("path", { d: `M${outline.join("L")}Z`, fill: color, "fill-opacity": 0.14, class: "band" }), first);
      }
    }
  }

  const PARSE_RATE_DASH = "1 4";
  const CLEAN_DASH = "7 4";
  const segmentsOf = (lines, place) => lines.flatMap(({ marks, color }) => {
    const known = marks.filter((mark) => typeof mark[place] === "number");
    return known.slice(1).map((mark, number) => ({ x1: known[number].x, y1: known[number][place], x2: mark.x, y2: mark[place], color }));
  });
  const ends4 = { x1: "x1", x2: "x2", y1: "y1", y2: "y2", stroke: "color" };

  // `lines` are {marks: [{x, at, low, high, parseRate, fewer, about}], clean, color, symbol}, one for each model; a mark's
  // `parseRate` is drawn beside its score where both are shares.
  function dosePlot({ lines, doses, harder, height, label, unit, from, to, name, bare }, width) {
    const { left, right } = CURVE_SIZES;
    const ends = harder === "lower" ? [Math.max(...doses), Math.min(...doses)] : [Math.min(...doses), Math.max(...doses)];
    const every = lines.flatMap((line) => line.marks.map((mark) => ({ ...mark, color: line.color, symbol: line.symbol })));
    const marks = every.filter((mark) => mark.at !== null);
    const parsed = every.filter((mark) => typeof mark.parseRate === "number");
    const cleans = lines.filter((line) => typeof line.clean === "number");
    const room = (width - left - right) / 34;
    const drawing = Plot.plot({
      width, height, marginLeft: left, marginRight: right, marginTop: 22, marginBottom: bare ? 8 : 40, inset: 8,
      ariaLabel: name,
      x: { type: "linear", domain: ends, axis: null },
      y: { domain: [from, to], nice: !bare },
      color: { type: "identity" },
      symbol: { type: "identity" },
      marks: [
        Plot.axisY({ ticks: bare ? [0, 50, 100] : 5, tickSize: left + right - width, tickPadding: 6 + width - left - right, label: null, stroke: "var(--line)", fill: "var(--soft)", fontSize: 11 }),
        bare ? null : Plot.axisX({ anchor: "bottom", ticks: doses.length <= room ? doses : Math.max(3, Math.floor(room / 2)), tickSize: 0, label, labelAnchor: "center", labelArrow: "none", labelOffset: 36, color: "var(--soft)", fontSize: 11 }),
        Plot.text([unit], { frameAnchor: "top-left", dx: -left + 4, dy: -20, text: (text) => text, fill: "var(--soft)", fontSize: 11, textAnchor: "start" }),
        Plot.link(cleans, { x1: () => ends[0], x2: () => ends[1], y1: "clean", y2: "clean", stroke: "color", strokeWidth: 1.5, strokeDasharray: CLEAN_DASH, strokeOpacity: 0.8, className: "clean" }),
        cleans.length ? Plot.text(cleans.slice(0, 1), { x: () => ends[1], y: "clean", text: () => "clean", dy: -8, textAnchor: "end", fill: "var(--soft)", fontSize: 11, stroke: "var(--ground)", strokeWidth: 4 }) : null,
        parsed.length ? Plot.link(segmentsOf(lines, "parseRate"), { ...ends4, strokeWidth: 1.75, strokeLinecap: "round", strokeDasharray: PARSE_RATE_DASH, className: "parse-rate" }) : null,
        parsed.length ? Plot.dot(parsed, { x: "x", y: "parseRate", r: (mark) => (mark.fewer ? 4 : 2.5), symbol: (mark) => (mark.fewer ? "times" : "circle"), stroke: "color", strokeWidth: (mark) => (mark.fewer ? 2 : 1.25), fill: "var(--ground)", title: "about", className: "parse-rate-signs" }) : null,
        Plot.link(segmentsOf(lines, "before"), { ...ends4, strokeWidth: 1.5, strokeOpacity: 0.5, className: "baseline" }),
        Plot.dot(every.filter((mark) => typeof mark.before === "number"), { x: "x", y: "before", r: 4, symbol: "diamond", stroke: "color", fill: "var(--ground)", title: (mark) => `baseline ${Number(mark.before.toFixed(1))}` }),
        Plot.link(segmentsOf(lines, "at"), { ...ends4, strokeWidth: 2 }),
        Plot.dot(marks, { x: "x", y: "at", r: 4.5, symbol: "symbol", stroke: "color", strokeWidth: 1.5, fill: (mark) => (mark.low === null ? "var(--ground)" : mark.color), title: "about" }),
      ],
    });
    bands(drawing, lines);
    drawing.setAttribute("role", "img");
    for (const part of drawing.querySelectorAll("[aria-label]")) if (part !== drawing) part.removeAttribute("aria-label");
    return drawing;
  }

  function doseLines(own, value) {
    return own.map((curve) => ({
      ...look(models.indexOf(curve.model)),
      ...value(curve),
      marks: curve.rows.map((row) => ({ x: row.dose, ...value(curve, row), fewer: Boolean(row.fewer), about: `${models.length > 1 ? `${visible(curve.model)}: ` : ""}${row.label} ${visible(curve.dose_unit)}: ${visible(row.value)}, ${row.interval || "no interval"}, n ${count(row.n)}, parse rate ${row.parse_rate}${row.fewer ? `; ${visible(row.fewer)}` : ""}` })),
    }));
  }

  function curvePictures(own, width) {
    const [{ metric, family, unit, dose_unit: doseUnit, harder }] = own;
    const doses = [...new Set(own.flatMap((curve) => curve.rows.map((row) => row.dose)))].sort((one, other) => one - other);
    const known = own.flatMap((curve) => [...curve.rows, ...(curve.clean ? [curve.clean] : [])].flatMap((row) => [row.at, row.low, row.high, (baselineOf(curve, row) || {}).before_at])).filter((value) => typeof value === "number");
    let [from, to] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
    // Shares stand on one scale with the parse rate; what has another unit, above a drawing of that rate.
    const isShare = unit === "%";
    if (isShare) [from, to] = [Math.min(from, 0), Math.max(to, 100)];
    if (from === to) to = from + 1;
    const shared = { doses, harder };
    const axis = [visible(doseUnit) || "dose", harder ? " (harder to the right)" : ""].join("");
    const score = dosePlot({ ...shared, lines: doseLines(own, (curve, row) => (row ? { at: row.at, low: row.low, high: row.high, before: (baselineOf(curve, row) || {}).before_at, parseRate: isShare ? row.parse_rate_at : null } : { clean: curve.clean && curve.clean.at })),
      height: CURVE_SIZES.score, label: axis, unit: unit ? `${visible(metric)}, ${visible(unit)}` : visible(metric), from, to,
      name: `${visible(metric)}${isShare ? " and parse rate" : ""} by ${visible(family)}; the table below holds the numbers` }, width);
    if (isShare) return [score];
    const parseRate = dosePlot({ ...shared, lines: doseLines(own, (curve, row) => (row ? { at: row.parse_rate_at, low: 0, high: null } : {})),
      height: CURVE_SIZES.parseRate, unit: "parse rate, %", from: 0, to: 100, bare: true,
      name: `The parse rate by ${visible(family)}; the table below holds the numbers` }, width);
    return [score, parseRate];
  }

  const fewerTag = (why, text = "! fewer parsed") => el("span", { class: "tag warn", title: why }, text);

  function perturbationRows(one, rows, label) {
    return rows.map((row) => el("tr", {},
      el("th", { scope: "row" }, visible(label(row))),
      el("td", { class: "number value" }, visible(row.value)),
      row.interval ? el("td", { class: "number", title: visible(row.method) }, row.interval) : el("td", { class: "small soft reason" }, visible(row.method.replace(/^no interval: /, ""))),
      el("td", { class: "number" }, count(row.n)),
      el("td", { class: "number" }, row.parse_rate, row.fewer ? [" ", fewerTag(row.fewer)] : ""),
      el("td", { class: "number", title: visible(row.drop_method) }, visible(row.drop)),
      el("td", { class: "number" }, row.drop_interval),
      el("td", { class: "number" }, row.p)));
  }

  function perturbationTable(one, rows, first, label) {
    const heads = [[first], [visible(one.metric), true], ["Interval", true], ["n", true], ["Parse rate", true], [dropHead(rows), true], ["Interval", true], ["p (Holm)", true]];
    return table(heads, perturbationRows(one, rows, label), true);
  }

  // The figures over all doses: a line each, with how it came about, or why there is none.
  function overDoses(one) {
    return facts(one.lines.map((line) => [line.name, el("div", {}, el("strong", {}, visible(line.value)), line.interval ? ` [${line.interval}]` : "", line.p ? ` · trend p (Holm) ${line.p}` : "",
      el("div", { class: "small soft" }, visible(line.method)))]));
  }

  const byModel = (own, make) => own.map((one) => [models.length > 1 ? el("h3", {}, visible(one.model)) : null, make(one)]);

  function perturbationOwner({ suite, dataset, series, scorer }) {
    const where = [...new Set([suite, dataset, series])].filter(Boolean).map(visible).join(", ");
    return el("span", { class: "soft" }, ` · ${where}`, scorers.size > 1 ? ` by ${visible(scorer)}` : "");
  }

  const lineSign = (dash, width, color = "var(--ink)") => svg("svg", { width: 26, height: 8, "aria-hidden": "true" },
    svg("line", { x1: 1, x2: 25, y1: 4, y2: 4, stroke: color, "stroke-width": width, "stroke-dasharray": dash, "stroke-linecap": "round" }));

  // Which line is what, then which colour is whose.
  function curveLegend(own) {
    const [{ metric, unit }] = own;
    const color = own.length > 1 ? undefined : look(models.indexOf(own[0].model)).color;
    const signs = [[null, 2, visible(metric)], unit === "%" ? [PARSE_RATE_DASH, 1.75, "parse rate"] : null,
      own.some((one) => one.clean) ? [CLEAN_DASH, 1.5, "clean perturbation"] : null].filter(Boolean);
    return [el("ul", { class: "legend kinds" }, signs.map(([dash, width, text]) => el("li", {}, lineSign(dash, width, color), " ", text)), own.some(hasBaselineOf) ? el("li", {}, "◇ baseline") : null),
      own.length > 1 ? el("ul", { class: "legend models" }, own.map((one) => el("li", {}, sign(look(models.indexOf(one.model))), " ", visible(one.model)))) : null];
  }

  function fewerLine(own) {
    const found = own.flatMap((one) => {
      const rows = one.rows.filter((row) => row.fewer);
      const where = rows.map((row) => row.label).join(", ");
      return rows.length ? [`${own.length > 1 ? `${visible(one.model)}: ` : ""}fewer parsed at ${visible(where)} ${visible(one.dose_unit)}`.trim()] : [];
    });
    return found.length ? el("p", { class: "fewer" }, found.map((text) => [tag("warn", `! ${text}`), " "])) : null;
  }

  function curveBox(own) {
    const [first] = own;
    const rows = () => own.flatMap((one) => [...(one.clean ? [{ ...one.clean, dose: "" }] : []), ...one.rows].map((row) => ({ model: one.model, metric: one.metric, family: one.family, dose: row.dose, dose_unit: one.dose_unit, unit: one.unit,
      value: row.at, lower: row.low, upper: row.high, ...(data.changes ? { baseline: (baselineOf(one, row) || {}).before_at } : {}), n: row.n, parse_rate: row.parse_rate_at })));
    const picture = drawnFigure([el("strong", {}, `${visible(first.metric)} under ${visible(first.family)}`), perturbationOwner(first)],
      { name: `${first.metric} under ${first.family}`, draw: (width) => curvePictures(own, width), numbers: rows, widest: 760, legend: curveLegend(own), after: fewerLine(own) });
    const numbers = el("details", { class: "inner" }, el("summary", {}, "The numbers as a table"));
    whenOpen(numbers, () => [byModel(own, (one) => perturbationTable(one, one.clean ? [one.clean, ...one.rows] : one.rows, visible(one.dose_unit) || "Dose", (row) => row.label))]);
    return el("div", { class: "curve" },
      picture,
      el("div", { class: "over" }, byModel(own, overDoses)), numbers);
  }

  function summaryBox(own) {
    const [first] = own;
    return el("div", {}, el("h3", {}, `${visible(first.metric)} over all perturbations`, perturbationOwner(first)),
      byModel(own, (one) => [one.rows.length ? perturbationTable(one, one.rows, "Perturbation", (row) => row.perturbation) : null, el("div", { class: "over" }, overDoses(one))]));
  }

  function drawPerturbations(into) {
    into.append(el("p", { class: "soft" }, "The same samples under every perturbation, so differences are of pairs. Bands are intervals; a hollow sign has none. ",
      "The dashed line is the clean perturbation, the dotted one the parse rate, a cross on it clearly fewer parsed: a refusal is no robustness."));
    const boxes = (isLeading) => [
      ofCurve(CURVES.filter((one) => one.leading === isLeading)).map(curveBox),
      ofSummary(SUMMARIES.filter((one) => one.leading === isLeading)).map(summaryBox)];
    into.append(...boxes(true).flat());
    const others = [...new Set(SUMMARIES.filter((one) => !one.leading).map((one) => (scorers.size > 1 ? `${one.metric} by ${one.scorer}` : one.metric)))];
    if (others.length) {
      const rest = el("details", {}, el("summary", {}, "Other metrics: ", visible(others.join(", "))));
      whenOpen(rest, () => boxes(false));
      into.append(rest);
    }
    if (MORE_CURVES) into.append(el("p", { class: "small soft" }, `${count(MORE_CURVES)} more curves are in run.json.`));
  }
