  // A curve: one number over the runs of a track, with intervals, the best, the last, and what dropped significantly.
  const CURVE_HEIGHT = 260;
  const [LEFT, RIGHT] = [52, 20];
  const byStep = data.points.every((point) => typeof point.step === "number");
  const whereOf = (point) => (byStep ? point.step : new Date(point.finished));
  const VERDICTS = { improved: "good", pass: "good", regressed: "bad", inconclusive: "warn", "not comparable": "plain" };

  function curveMarks(curve) {
    return curve.values.map((value, place) => value && { ...value, place, x: whereOf(data.points[place]), drop: curve.drops[place],
      about: [visible(data.points[place].label), `${value.value}${value.interval ? ` (${value.interval})` : ""}, n ${count(value.n)}`,
        curve.drops[place] ? visible(curve.drops[place].detail) : ""].filter(Boolean).join("\n") }).filter(Boolean);
  }

  function curvePlot(curve, width) {
    const marks = curveMarks(curve).filter((mark) => mark.at !== null);
    const steps = marks.slice(1).map((mark, number) => ({ from: marks[number], to: mark, dropped: mark.drop && mark.drop.status === "regressed" }));
    const ends = marks.filter((mark) => mark.place === curve.best || mark.place === curve.last)
      .map((mark) => ({ ...mark, text: [mark.place === curve.best ? "best" : "", mark.place === curve.last ? "last" : ""].filter(Boolean).join(", ") }));
    const heights = marks.flatMap((mark) => [mark.at, mark.low, mark.high]).filter((value) => typeof value === "number");
    let [from, to] = heights.length ? [Math.min(...heights), Math.max(...heights)] : [0, 1];
    if (from === to) [from, to] = [from - (Math.abs(from) / 10 || 1), to + (Math.abs(to) / 10 || 1)];
    const line = (chosen, options) => Plot.link(chosen, { x1: (one) => one.from.x, x2: (one) => one.to.x, y1: (one) => one.from.at, y2: (one) => one.to.at, ...options });
    const drawing = Plot.plot({
      width,
      height: CURVE_HEIGHT,
      marginLeft: LEFT,
      marginRight: RIGHT,
      marginTop: 24,
      marginBottom: 40,
      inset: 8,
      ariaLabel: `${visible(curve.name)} over the runs; the table below holds the numbers`,
      x: { type: byStep ? "linear" : "utc" },
      y: { domain: [from, to], nice: true },
      marks: [
        Plot.axisY({ ticks: 5, tickSize: LEFT + RIGHT - width, tickPadding: 6 + width - LEFT - RIGHT, label: null, stroke: "var(--line)", fill: "var(--soft)", fontSize: 11 }),
        Plot.axisX({ anchor: "bottom", ticks: Math.max(3, Math.min(7, width / 90)), tickSize: 0, label: byStep ? "step" : "when the run finished (UTC)",
          labelAnchor: "center", labelArrow: "none", labelOffset: 36, color: "var(--soft)", fontSize: 11 }),
        Plot.link(marks.filter((mark) => mark.low !== null && mark.high !== null), { x1: "x", x2: "x", y1: "low", y2: "high", stroke: "var(--accent)", strokeWidth: 2, strokeOpacity: 0.45 }),
        line(steps.filter((one) => !one.dropped), { stroke: "var(--accent)", strokeWidth: 2 }),
        line(steps.filter((one) => one.dropped), { stroke: "var(--bad)", strokeWidth: 2.5, strokeDasharray: "6 3" }),
        Plot.dot(marks, { x: "x", y: "at", r: (mark) => (mark.place === curve.best ? 7 : 4.5), symbol: (mark) => (mark.place === curve.best ? "star" : "circle"),
          stroke: (mark) => (mark.drop && mark.drop.status === "regressed" ? "var(--bad)" : "var(--accent)"), strokeWidth: 1.5,
          fill: (mark) => (mark.low === null ? "var(--ground)" : mark.drop && mark.drop.status === "regressed" ? "var(--bad)" : "var(--accent)"), title: "about" }),
        Plot.text(steps.filter((one) => one.dropped), { x: (one) => one.to.x, y: (one) => one.to.at, dx: -12, dy: 10, text: () => "✗", fill: "var(--bad)", fontSize: 13, fontWeight: 700,
          stroke: "var(--ground)", strokeWidth: 4 }),
        Plot.text(ends, { x: "x", y: "at", text: "text", dy: -13, fill: "var(--ink)", fontSize: 12, stroke: "var(--ground)", strokeWidth: 4 }),
      ],
      color: { type: "identity" },
      symbol: { type: "identity" },
    });
    drawing.setAttribute("role", "img");
    for (const part of drawing.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
    return drawing;
  }

  const axisText = (curve) => [visible(curve.metric), curve.unit ? `, ${visible(curve.unit)}` : "", ` (${curve.direction} is better)`].join("");

  function curveFigure(curve) {
    const numbers = () => curveMarks(curve).map((mark) => ({ run: data.points[mark.place].label, step: byStep ? data.points[mark.place].step : "", finished: data.points[mark.place].finished, value: mark.at, lower: mark.low, upper: mark.high, n: mark.n }));
    return drawnFigure([el("strong", {}, visible(curve.owner)), el("br"), el("span", { class: "soft" }, axisText(curve), " by ", visible(curve.scorer))],
      { name: curve.name, draw: (width) => curvePlot(curve, width), numbers, widest: 900 });
  }

  const verdictTag = (drop) => tag(VERDICTS[drop.status] || "plain", `${drop.mark} ${drop.status}`);

  function drawHeading() {
    byId("heading").append(
      themeButton(),
      el("h1", {}, visible(data.model)),
      facts([["Runs", visible(data.range)], ["Tests", visible(data.rules)]]),
      el("p", { class: `overall ${data.worse ? "bad" : "good"}` }, el("strong", {}, `${data.worse ? "✗" : "✓"} ${visible(data.summary[0].toUpperCase() + data.summary.slice(1))}.`)),
      ...data.notes.map((note) => el("p", { class: "banner plain", role: "note" }, visible(note))));
  }

  function drawEnds() {
    const rows = data.curves.filter((curve) => curve.values.some(Boolean)).map((curve) => {
      const [first, best, last] = [curve.values.findIndex(Boolean), curve.best, curve.last];
      const at = (place) => el("td", { class: "number" }, el("strong", {}, curve.values[place].value), el("div", { class: "small soft" }, visible(data.points[place].label)));
      return el("tr", {}, el("th", { scope: "row" }, visible(curve.owner), el("div", { class: "small soft" }, `${visible(curve.metric)} by ${visible(curve.scorer)}`)),
        at(first), at(best), at(last),
        curve.since
          ? el("td", { class: "verdict" }, verdictTag(curve.since), el("div", { class: "small soft" }, visible(curve.since.detail)))
          : el("td", { class: "verdict small soft" }, best === last ? "the last is the best" : "not compared with each other"));
    });
    byId("ends").append(table([["Eval and metric"], ["First", true], ["Best", true], ["Last", true], ["Last compared with best"]], rows, true));
  }

  function drawDrops() {
    if (!data.sentences.length) return;
    byId("drops").hidden = false;
    byId("drops").append(el("ul", { class: "sentences" }, data.sentences.map((text) => el("li", {}, visible(text)))));
  }

  function drawCurves() {
    const dashed = svg("svg", { class: "swatch", viewBox: "0 0 26 14", "aria-hidden": "true" },
      svg("line", { x1: 1, x2: 25, y1: 3, y2: 11, stroke: "var(--bad)", "stroke-width": 2.5, "stroke-dasharray": "6 3" }));
    byId("curves").append(
      el("ul", { class: "legend" },
        el("li", {}, sign({ color: "var(--accent)", symbol: "circle" }), " a run with its interval"),
        el("li", {}, sign({ color: "var(--accent)", symbol: "star" }), " the best"),
        el("li", {}, dashed, " ✗ a significant drop")),
      el("div", { class: "curves" }, data.curves.map(curveFigure)));
  }

  function numberRow(curve, value, place) {
    const drop = curve.drops[place];
    const marks = [place === curve.best ? "best" : "", place === curve.last ? "last" : ""].filter(Boolean).join(", ");
    return el("tr", {},
      el("th", { scope: "row" }, visible(data.points[place].label), marks ? el("span", { class: "small soft" }, ` ${marks}`) : null),
      el("td", { class: "number value" }, value.value),
      el("td", { class: "number" }, value.interval || el("span", { class: "small soft" }, visible(value.method))),
      el("td", { class: "number" }, count(value.n)),
      el("td", { class: "number" }, value.answered),
      el("td", { class: "number" }, drop ? drop.change : ""),
      el("td", { class: "number" }, drop ? drop.interval : ""),
      el("td", { class: "number" }, drop ? drop.flips : ""),
      el("td", {}, drop ? verdictTag(drop) : "", drop ? el("div", { class: "small soft" }, visible(drop.detail)) : null));
  }

  function drawNumbers() {
    const heads = [[byStep ? "Step" : "Run"], ["Value", true], ["Interval", true], ["n", true], ["Parse rate", true], ["Change", true], ["Interval", true], ["Worse / better", true], ["Compared with the run before"]];
    for (const curve of data.curves) {
      const box = el("details", {}, el("summary", {}, visible(curve.name)));
      whenOpen(box, () => [table(heads, curve.values.flatMap((value, place) => (value ? [numberRow(curve, value, place)] : [])), true),
        curve.signature ? el("p", { class: "small soft" }, "Scorer ", el("code", {}, visible(curve.signature))) : null]);
      byId("numbers").append(box);
    }
  }

  function drawRuns() {
    const rows = data.points.map((point) => el("tr", {}, el("th", { scope: "row" }, visible(point.label)), el("td", {}, visible(point.run)), el("td", {}, visible(point.model)),
      el("td", {}, el("code", {}, visible(point.spec))), el("td", { class: "nowrap" }, utc(visible(point.finished)))));
    byId("runs").append(table([[byStep ? "Step" : "Name"], ["Run"], ["Model"], ["Spec"], ["Finished"]], rows, true));
  }

  drawHeading();
  drawEnds();
  drawDrops();
  drawCurves();
  drawNumbers();
  drawRuns();
  drawContents();
  byId("footer").append("Written by pytest-audiobench. A change is a run minus the one before, of shares in percentage points (pp), on the samples both answered.");
