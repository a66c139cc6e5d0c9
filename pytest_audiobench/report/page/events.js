  // The events of an eval by what is known of each, counted over all of its samples.
  function eventsTable([title, rows]) {
    const tells = rows.some((row) => row[4] !== null);
    const heads = [[title], ["n", true], ["Found", true], ["Score", true], ...(tells ? [["Invented", true]] : [])];
    return table(heads, rows.map(([value, n, matched, score, guesses, invented]) => {
      const cell = el("td", { class: "number share" }, n ? score.toFixed(2) : "–");
      cell.style.setProperty("--share", `${Math.round(100 * Math.min(1, Math.max(0, score)))}%`);
      return el("tr", {}, el("th", { scope: "row" }, value), el("td", { class: "number" }, count(n)),
        el("td", { class: "number", title: `${count(matched)} of ${count(n)}` }, n ? `${Math.round(100 * matched / n)} %` : "–"), cell,
        tells ? el("td", { class: "number", title: `${count(invented)} of ${count(guesses)} guesses` }, guesses ? `${Math.round(100 * invented / guesses)} %` : "–") : null);
    }));
  }

  function drawEvents(into) {
    into.append(el("p", { class: "soft" }, "True events by what is known of them: how many there are, how many were matched with an event of the answer, and their mean score, in which a missed one counts as nothing. Invented: of the guesses of a type, those that were matched with nothing."));
    into.append(...longBoxes(data.events, "evals", ([item]) => evalText(data.evals[item]), (one) => {
      const [item, scenes, tables] = one;
      const { name, model } = data.evals[item];
      const box = el("details", { open: one === data.events[0] }, el("summary", {}, visible(named(name, model)), el("span", { class: "small soft" }, ` ${count(scenes)} scenes`)));
      whenOpen(box, () => [el("div", { class: "event-tables" }, tables.map(eventsTable))]);
      return box;
    }));
  }

