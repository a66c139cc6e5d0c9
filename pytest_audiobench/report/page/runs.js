  // All runs of a folder: found, sorted, filtered and chosen; asked for again while the page is looked at.
  const SHOWN_AT_ONCE = 200;
  const AGAIN_MS = { unread: 50, running: 2000, quiet: 8000 };
  const view = { search: "", model: "", suite: "", state: "", sort: "started", down: true, chosen: [], most: SHOWN_AT_ONCE };
  const rowOf = new Map();
  let [runs, etag, waiting, asked] = [data.runs, "", 0, ""];

  function readAddress() {
    const query = new URLSearchParams(location.search);
    for (const name of ["search", "model", "suite", "state", "sort"]) view[name] = query.get(name) || view[name];
    view.down = query.get("order") ? query.get("order") === "down" : view.down;
    view.chosen = query.getAll("run");
    asked = view.search;
  }

  // The address has what is looked at, so that the browser's way back from a run leads to the same list.
  function writeAddress() {
    const query = new URLSearchParams();
    for (const name of ["search", "model", "suite", "state"]) if (view[name]) query.set(name, view[name]);
    if (view.sort !== "started" || !view.down) { query.set("sort", view.sort); query.set("order", view.down ? "down" : "up"); }
    for (const name of view.chosen) query.append("run", name);
    history.replaceState(null, "", query.size ? `?${query}` : location.pathname);
  }

  const runAddress = (name) => `/run/${encodeURIComponent(name)}/`;
  const KEYS = {
    name: (run) => run.name, state: (run) => `${run.tone} ${run.word}`, started: (run) => run.started || "", models: (run) => run.models.join(" "),
    suites: (run) => run.suites.join(" "), n: (run) => run.n, score: (run) => (run.scores.length && run.scores[0].at !== null ? run.scores[0].at : -Infinity),
  };
  const COLUMNS = [["Compare"], ["Run", "name"], ["Verdict", "state"], ["Started", "started"], ["Models", "models"], ["Suites", "suites"], ["Samples", "n"], ["Scores", "score"]];

  const few = (texts, most) => [texts.slice(0, most).join(", "), texts.length > most ? el("span", { class: "soft" }, ` and ${count(texts.length - most)} more`) : null];
  const scoreLine = (run) => (score) => el("li", {}, run.scores.some((one) => one.name !== score.name) ? `${score.name} ` : "", run.models.length > 1 ? `${score.model} ` : "",
    el("span", { class: "soft" }, `${score.metric} `), el("span", { class: "nowrap" }, el("strong", {}, score.value), score.interval ? el("span", { class: "small soft" }, ` [${score.interval}]`) : null));

  function progressBar(run) {
    return run.state === "running" && run.total ? el("progress", { max: run.total, value: run.done, "aria-label": `${run.counts}` }) : null;
  }

  function drawRow(run) {
    const box = el("input", { type: "checkbox", "aria-label": `Choose ${run.name}`, disabled: run.state !== "finished" });
    box.checked = view.chosen.includes(run.name);
    box.addEventListener("change", () => choose(run.name, box.checked));
    const numeric = (text) => el("td", { class: "number" }, text);
    const link = run.state === "broken" ? visible(run.name) : el("a", { href: runAddress(run.name) }, run.name);
    if (run.state === "broken") {
      return el("tr", { class: "run broken" }, el("td", { class: "pick" }), el("th", { scope: "row" }, link), el("td", {}, el("span", { class: `tag ${run.tone}` }, run.word)),
        el("td", { colspan: COLUMNS.length - 3, class: "small error" }, run.error));
    }
    const rows = withLabels(COLUMNS, [el("tr", { class: `run ${run.state}` },
      el("td", { class: "pick" }, el("label", {}, box)),
      el("th", { scope: "row" }, link, run.command ? el("div", { class: "small soft command", title: run.command }, el("code", {}, run.command)) : null),
      el("td", {}, el("span", { class: `tag ${run.tone}` }, `${run.mark} ${run.word}`.trim()), progressBar(run), run.counts ? el("div", { class: "small soft" }, visible(run.counts)) : null),
      el("td", { class: "nowrap" }, utc(run.started || "").replace(" UTC", "").slice(0, 16), run.about.length ? el("div", { class: "small soft about" }, run.about.join(", ")) : null),
      el("td", {}, few(run.models, 4)), el("td", {}, few(run.suites, 4)), numeric(run.n ? count(run.n) : ""),
      el("td", { class: "scores" }, run.scores.length ? el("ul", {}, run.scores.slice(0, 3).map(scoreLine(run)),
        run.scores.length + run.more > 3 ? el("li", { class: "small soft" }, `and ${count(run.scores.length + run.more - 3)} more`) : null) : null))]);
    return rows[0];
  }

  function rowFor(run) {
    const text = JSON.stringify(run);
    const known = rowOf.get(run.name);
    if (known && known.text === text) return known.row;
    rowOf.set(run.name, { text, row: drawRow(run) });
    return rowOf.get(run.name).row;
  }

  // A row that stays where it is is not touched: it may have the focus.
  function place(body, rows) {
    rows.forEach((row, at) => { if (body.children[at] !== row) body.insertBefore(row, body.children[at] || null); });
    while (body.children.length > rows.length) body.lastChild.remove();
  }

  function draw() {
    const shown = runs.filter((run) => (!view.model || run.models.includes(view.model)) && (!view.suite || run.suites.includes(view.suite)) && (!view.state || run.word === view.state));
    const key = KEYS[view.sort] || KEYS.started;
    const sign = view.down ? -1 : 1;
    shown.sort((a, b) => { const [one, other] = [key(a), key(b)]; return one === other ? (a.name < b.name ? 1 : -1) : one < other ? -sign : sign; });
    place(body, shown.slice(0, view.most).map(rowFor));
    const going = runs.filter((run) => run.state === "running").length;
    status.textContent = [shown.length === data.all ? `${count(data.all)} runs` : `${count(shown.length)} of ${count(data.all)} runs`,
      going ? `${count(going)} running` : "", data.unread ? `reading ${count(data.unread)} more …` : ""].filter(Boolean).join(", ");
    further.hidden = shown.length <= view.most;
    further.textContent = further.hidden ? "" : `Show ${count(Math.min(SHOWN_AT_ONCE, shown.length - view.most))} more`;
    none.hidden = shown.length > 0 || data.unread > 0;
    none.textContent = data.all ? "No run has all of this: clear the search or a filter." : `${data.folder} holds no run yet: pytest evals makes one.`;
    for (const [control, name, values] of [[pickModel, "model", (run) => run.models], [pickSuite, "suite", (run) => run.suites], [pickState, "state", (run) => [run.word]]]) {
      options(control, [...new Set([...runs.flatMap(values), ...(view[name] ? [view[name]] : [])])].sort(), view[name]);
    }
    for (const button of table_.querySelectorAll("thead button")) {
      const own = button.dataset.key === view.sort;
      button.closest("th").setAttribute("aria-sort", own ? (view.down ? "descending" : "ascending") : "none");
    }
    drawChosen();
    writeAddress();
  }

  function options(control, values, chosen) {
    const text = JSON.stringify(values);
    if (control.dataset.values !== text) {
      control.dataset.values = text;
      control.replaceChildren(el("option", { value: "" }, "all"), ...values.filter(Boolean).map((value) => el("option", { value }, value)));
    }
    control.value = chosen;
  }

  function choose(name, on) {
    view.chosen = [...view.chosen.filter((one) => one !== name), ...(on ? [name] : [])];
    // Of two the earlier is the baseline, whichever was ticked first: the list has the newest on top.
    const started = new Map(runs.map((run) => [run.name, KEYS.started(run)]));
    if (on && view.chosen.length === 2) view.chosen.sort((a, b) => (started.get(a) < started.get(b) ? -1 : 1));
    drawChosen();
    writeAddress();
  }

  function drawChosen() {
    const query = new URLSearchParams(view.chosen.map((name) => ["run", name]));
    chosen.hidden = !view.chosen.length;
    const [baseline, ...compared] = view.chosen;
    chosenText.replaceChildren("Baseline ", el("strong", {}, baseline || ""), ...(compared.length ? [", compared with it: ", el("strong", {}, compared.join(", "))] : ["; choose a run to compare with it"]));
    swap.hidden = !compared.length;
    for (const [link, path] of [[compareLink, "/compare?"], [trackLink, "/track?order=time&"]]) {
      if (view.chosen.length > 1) link.setAttribute("href", `${path}${query}`); else link.removeAttribute("href");
    }
  }

  async function ask() {
    clearTimeout(waiting);
    const search = view.search;
    try {
      const reply = await fetch(`/runs.json?search=${encodeURIComponent(search)}`, { headers: etag && asked === search ? { "If-None-Match": etag } : {}, cache: "no-store" });
      gone.hidden = true;
      if (reply.status === 200 && search === view.search) {
        const found = await reply.json();
        [etag, asked] = [reply.headers.get("ETag") || "", search];
        runs = found.runs;
        Object.assign(data, { all: found.all, unread: found.unread });
        draw();
      }
    } catch {
      gone.hidden = false;
    }
    clearTimeout(waiting);
    if (!document.hidden) waiting = setTimeout(ask, search !== view.search || data.unread ? AGAIN_MS.unread : runs.some((run) => run.state === "running") ? AGAIN_MS.running : AGAIN_MS.quiet);
  }

  const labelled = (label, control) => el("span", { class: "labelled" }, el("label", { for: control.id }, label), " ", control);
  function picker(id) {
    const control = el("select", { id: `pick-${id}` });
    control.addEventListener("change", () => { view[id] = control.value; draw(); });
    return control;
  }

  readAddress();
  const search = el("input", { id: "search", type: "search", placeholder: "run, model, eval, date, command", autocomplete: "off", spellcheck: "false", value: view.search });
  let typing = 0;
  search.addEventListener("input", () => { view.search = search.value.trim(); clearTimeout(typing); typing = setTimeout(() => { writeAddress(); ask(); }, 150); });
  const [pickModel, pickSuite, pickState] = ["model", "suite", "state"].map(picker);
  const status = el("p", { class: "small soft", role: "status" });
  const gone = el("p", { class: "banner warn", role: "alert", hidden: true }, "The server does not answer: start audiobench view again. What is shown is as it was.");
  const none = el("p", { class: "banner plain", hidden: true });
  const further = el("button", { type: "button", class: "expand", hidden: true });
  further.addEventListener("click", () => { view.most += SHOWN_AT_ONCE; draw(); });
  const body = el("tbody");
  const heads = COLUMNS.map(([text, key]) => {
    const button = key && el("button", { type: "button", class: "sort", "data-key": key }, text);
    if (button) button.addEventListener("click", () => { view.down = view.sort === key ? !view.down : !["name", "models", "suites"].includes(key); view.sort = key; draw(); });
    return el("th", { scope: "col", class: key === "n" ? "number" : null }, button || el("span", { class: "small" }, text));
  });
  const table_ = el("table", { class: "stacking runs" }, el("thead", {}, el("tr", {}, heads)), body);

  function trackForm() {
    const model = el("input", { id: "track-model", type: "search", placeholder: "hf:checkpoints/*", autocomplete: "off" });
    const eval_ = el("input", { id: "track-eval", type: "search", placeholder: "*", autocomplete: "off" });
    const order = el("select", { id: "track-order" }, el("option", { value: "step" }, "step"), el("option", { value: "time" }, "time"));
    const go = el("button", { type: "submit" }, "Track");
    const form = el("form", { class: "line" }, labelled("Model", model), labelled("Eval", eval_), labelled("Ordered by", order), go);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      location.assign(`/track?${new URLSearchParams({ model: model.value, eval: eval_.value, order: order.value })}`);
    });
    return el("details", {}, el("summary", {}, "Track one model over all runs"), form);
  }

  byId("heading").append(themeButton(), el("h1", {}, "Runs"), el("p", { class: "soft small" }, data.folder));
  byId("runs").append(gone,
    el("div", { id: "filter", role: "search", "aria-label": "Find runs" }, el("div", { class: "line" }, labelled("Find", search), labelled("Model", pickModel), labelled("Suite", pickSuite), labelled("Verdict", pickState))),
    status, scrolling(table_), none, further, trackForm());
  const chosen = byId("chosen");
  const chosenText = el("span", { role: "status" });
  const [compareLink, trackLink] = [el("a", { class: "go" }, "Compare"), el("a", { class: "go" }, "Track by time")];
  const swap = el("button", { type: "button" }, "Next as baseline");
  swap.addEventListener("click", () => { view.chosen.push(view.chosen.shift()); draw(); });
  const clear = el("button", { type: "button" }, "Clear");
  clear.addEventListener("click", () => { view.chosen = []; for (const box of body.querySelectorAll("input:checked")) box.checked = false; draw(); });
  chosen.append(chosenText, el("span", { class: "links" }, compareLink, trackLink, swap, clear));
  byId("footer").append("Shown by audiobench view, which reads this folder and changes nothing.");
  document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
  document.addEventListener("keydown", (event) => { if (event.key === "/" && !event.target.closest("input, select")) { event.preventDefault(); search.focus(); } });
  draw();
  waiting = setTimeout(ask, data.unread ? AGAIN_MS.unread : AGAIN_MS.running);
