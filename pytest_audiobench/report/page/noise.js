  // What changes when the same is asked again under other conditions: each batch size, dtype, kernel and side of padding.
  function drawNoise(into) {
    for (const one of data.noise) {
      const heads = ["Condition", "Answers that differ, %", "Interval", "Outcomes that differ, %", "Interval", `${one.metric} moves by`, "Interval"].map((text, place) => [text, place > 0]);
      const rows = one.rows.map(([name, ...cells]) => el("tr", {}, el("th", { scope: "row" }, visible(name)), cells.map((text) => el("td", { class: "number" }, visible(text)))));
      into.append(el("h3", {}, visible(named(one.eval, one.model)), ` (n=${one.n})`), table(heads, rows, true));
    }
  }

