  // Plots: dots with their intervals, drawn by Observable Plot (the script before this one) in the page's own colours.
  // A plot is a picture to a screen reader; the table beside it holds the same numbers.
  const LANE = 16;
  const LABEL_LINE = 17;
  const MOST_ROWS = 60;
  const SYMBOLS = ["circle", "square", "triangle", "star", "wye", "cross"];
  const HUES = 6;
  const pen = document.createElement("canvas").getContext("2d");

  let family = "";
  const look = (number) => ({ color: `var(--series-${number % HUES})`, symbol: SYMBOLS[number % SYMBOLS.length] });

  function textWidth(text, bold) {
    // Asked for once: after each drawing the answer would have the whole page styled again.
    family ||= getComputedStyle(document.body).fontFamily;
    pen.font = `${bold ? 600 : 400} 12px ${family}`;
    return pen.measureText(text).width;
  }

  function shortened(text, width) {
    if (textWidth(text) <= width) return text;
    let length = Math.floor(text.length * width / textWidth(text));
    while (length > 1 && textWidth(`${text.slice(0, length)}…`) > width) length -= 1;
    return `${text.slice(0, length)}…`;
  }

  // A label in as many lines as it needs, three at most: broken between its words where these fit, else between their parts.
  const LABEL_PARTS = [/(?<= )(?![↑↓])/, /(?<=[ _/,])(?![↑↓])|(?=[[(])/];
  function wrapped(text, width) {
    const fits = (line) => textWidth(line) <= width;
    const ways = LABEL_PARTS.map((between) => text.split(between).reduce((lines, part) => {
      if (lines.length === 3 || fits(lines.at(-1) + part)) return [...lines.slice(0, -1), lines.at(-1) + part];
      return [...lines, part];
    }, [""]).filter(Boolean));
    return (ways.find((lines) => lines.every(fits)) || ways.at(-1)).map((line) => shortened(line.trimEnd(), width));
  }

  // `rows` are {label, marks}, a mark {at, low, high, most, limit, chance, color, symbol, hollow, cells, about, beside}; `heads` name the cells.
  // `axis` says what is drawn, `name` is the picture's text, `zero` asks for a line at nought; `whole` for an axis from 0 to 100; a `compact` plot has no cells,
  // and a mark that is `beside` stands in the lane of the one before it.
  function dotPlot({ name, axis, heads, rows, zero, compact, whole }, width) {
    const stacked = !compact && width < 40 * 16;
    const marks = rows.flatMap((row) => row.marks);
    const columns = stacked || compact ? [] : heads.map((head, place) => Math.max(...[head, ...marks.map((mark) => mark.cells[place])].map((text) => textWidth(text, true))) + 18);
    const left = stacked ? 2 : Math.min(Math.max(...rows.map((row) => textWidth(row.label))) + 18, width * (compact ? 0.44 : 0.36));
    const right = stacked ? 2 : columns.reduce((sum, one) => sum + one, 6);
    const labels = [];
    const ends = columns.map((_, place) => columns.slice(place + 1).reduce((sum, one) => sum + one, 0));
    const written = [];
    let y = 0;
    for (const row of rows) {
      const lines = wrapped(row.label, (stacked ? width * 0.66 : left) - 12);
      const lanes = row.marks.filter((mark) => !mark.beside).length;
      const spare = stacked ? 0 : Math.max(0, lines.length * LABEL_LINE - 8 - lanes * LANE) / 2;
      const beside = stacked ? y + lines.length * LABEL_LINE / 2 : y + 4 + spare + lanes * LANE / 2;
      labels.push({ y: beside, text: lines.join("\n"), full: row.label });
      if (stacked && row.marks.length === 1) written.push({ y: beside, text: row.marks[0].cells[0] });
      y += stacked ? lines.length * LABEL_LINE : 4 + spare;
      for (const mark of row.marks) {
        mark.y = y + (mark.beside ? -LANE / 2 : LANE / 2);
        y += mark.beside ? 0 : LANE;
      }
      y += 4 + spare;
    }
    const top = stacked || compact ? 4 : 24;
    const known = marks.flatMap((mark) => [mark.at, mark.low, mark.high, mark.most, mark.limit, mark.chance]).filter((value) => value !== null && value !== undefined);
    if (zero) known.push(0);
    if (whole) known.push(0, 100);
    let [from, to] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
    if (from === to) [from, to] = [from - (Math.abs(from) / 10 || 1), to + (Math.abs(to) / 10 || 1)];
    const texts = (anchor, weight) => ({ y: "y", text: "text", fontSize: 12, fill: "var(--ink)", fontWeight: weight, lineAnchor: "middle", stroke: "var(--ground)", strokeWidth: 4, ...anchor });
    const column = (place, options) => texts({ frameAnchor: "right", textAnchor: "end", dx: right - 2 - ends[place], fontVariant: "tabular-nums", ...options }, place ? 400 : 600);
    const drawing = Plot.plot({
      width,
      height: y + top + 36,
      marginLeft: left,
      marginRight: right,
      marginTop: top,
      marginBottom: 36,
      insetLeft: 8,
      insetRight: 8,
      ariaLabel: name,
      x: { domain: [from, to], nice: true },
      y: { domain: [y, 0], axis: null },
      color: { type: "identity" },
      symbol: { type: "identity" },
      marks: [
        Plot.gridX({ stroke: "var(--line)", strokeOpacity: 1, ticks: Math.max(3, Math.min(8, (width - left - right) / 80)) }),
        Plot.axisX({ anchor: "bottom", ticks: Math.max(3, Math.min(8, (width - left - right) / 80)), tickSize: 0, label: axis, labelAnchor: "center", labelArrow: "none", labelOffset: 34, color: "var(--soft)", fontSize: 11 }),
        zero ? Plot.ruleX([0], { stroke: "var(--soft)" }) : null,
        Plot.link(marks.filter((mark) => typeof mark.limit === "number"), { x1: "limit", x2: "limit", y1: (mark) => mark.y - LANE / 2 - 4, y2: (mark) => mark.y + LANE / 2 + 4, stroke: "var(--bad)", strokeDasharray: "4 3" }),
        Plot.link(marks.filter((mark) => typeof mark.chance === "number"), { x1: "chance", x2: "chance", y1: (mark) => mark.y - LANE / 2, y2: (mark) => mark.y + LANE / 2, stroke: "var(--soft)", strokeDasharray: "2 2", title: (mark) => `chance ${mark.chance} %` }),
        Plot.link(marks.filter((mark) => mark.low !== null && mark.high !== null), { x1: "low", x2: "high", y1: "y", y2: "y", stroke: "color", strokeWidth: 2, title: "about" }),
        Plot.link(marks.filter((mark) => typeof mark.most === "number"), { x1: "most", x2: "most", y1: (mark) => mark.y - 5, y2: (mark) => mark.y + 5, stroke: "color", strokeWidth: 2 }),
        Plot.dot(marks.filter((mark) => mark.at !== null), { x: "at", y: "y", r: 4.5, symbol: "symbol", stroke: "color", strokeWidth: 1.5, fill: (mark) => (mark.hollow ? "var(--ground)" : mark.color), title: "about" }),
        Plot.text(labels, texts({ frameAnchor: "left", textAnchor: "start", dx: 2 - left, title: "full", lineHeight: 1.2 }, 400)),
        stacked ? Plot.text(written, texts({ frameAnchor: "right", textAnchor: "end", fontVariant: "tabular-nums" }, 600)) : null,
        columns.map((_, place) => [
          Plot.text(marks, column(place, { text: (mark) => mark.cells[place], fill: (mark) => mark.tones?.[place] || "var(--ink)" })),
          Plot.text([0], column(place, { y: 0, dy: -12, text: () => heads[place], fill: "var(--soft)", fontWeight: 400 })),
        ]),
      ],
    });
    drawing.setAttribute("role", "img");
    // The library names the parts of a drawing, which nobody is told of within a picture, and which a group may not have.
    for (const part of drawing.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
    return drawing;
  }

  function sign({ color, symbol }) {
    const one = Plot.plot({ width: 14, height: 14, margin: 0, axis: null, x: { domain: [0, 1] }, y: { domain: [0, 1] },
      marks: [Plot.dot([0.5], { x: 0.5, y: 0.5, r: 4.5, symbol, fill: color })] });
    one.setAttribute("aria-hidden", "true");
    return one;
  }

  // Every figure is made here: it is drawn when it is first seen and whenever its width changes, and can be taken away:
  // `numbers` gives what it draws as objects, a row each; without them it is a table's menu.
  // Widths are read before anything is drawn: one after the other each drawing would have the whole page laid out again.
  const figures = new Map();
  const drawAll = (widths) => { for (const [box, width] of widths) figures.get(box)(Math.floor(width)); };
  const sizes = new ResizeObserver((entries) => drawAll(entries.map(({ target, contentRect }) => [target, contentRect.width])));
  function drawnFigure(caption, { name, draw, numbers, widest, legend = null, after = null }) {
    const box = el("div", { class: "canvas" });
    let drawn = 0;
    figures.set(box, (room) => {
      const width = Math.min(room, widest);
      if (!width || width === drawn) return;
      drawn = width;
      box.replaceChildren(...[draw(width)].flat());
    });
    sizes.observe(box);
    return el("figure", { class: "plot" }, el("figcaption", {}, caption), saveMenu(name, numbers, box), legend, box, after);
  }
  window.addEventListener("beforeprint", () => drawAll([...figures.keys()].map((box) => [box, box.clientWidth])));

  function plotFigure(title, spec, series) {
    const kept = { ...spec, rows: spec.rows.slice(0, MOST_ROWS) };
    const legend = series && series.length > 1
      ? el("ul", { class: "legend" }, series.map((label, number) => el("li", {}, sign(look(number)), " ", visible(label)))) : null;
    const numbers = () => spec.rows.flatMap((row) => row.marks.map((mark) => ({ row: row.label, series: mark.series || "", value: mark.at, lower: mark.low, upper: mark.high,
      ...(mark.chance === undefined ? {} : { chance: mark.chance }), ...(mark.limit === undefined ? {} : { bound: mark.most, margin: mark.limit }), ...Object.fromEntries(spec.heads.flatMap((head, place) => (["value", "score", "interval", "change", "uplift"].includes(head) ? [] : [[head, plainNumber(mark.cells[place])]]))) })));
    return drawnFigure(title, { name: spec.name, draw: (width) => dotPlot(kept, width), numbers, widest: 1000, legend,
      after: spec.rows.length > MOST_ROWS ? el("p", { class: "small soft" }, `The first ${MOST_ROWS} of ${count(spec.rows.length)} are drawn; the table has all.`) : null });
  }
