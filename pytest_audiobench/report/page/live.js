  // A run that has not ended: how far it is, what its ended evals gave, what is to come; asked for again while it goes on.
  const AGAIN_MS = 1500;
  let [state, etag, stale] = [data, "", false];

  function drawHeading() {
    byId("heading").replaceChildren(themeButton(), el("p", { class: "back" }, el("a", { href: "/" }, "All runs")), el("h1", {}, state.name),
      facts([["Started", utc(state.started)], ["Models", state.models.join(", ")], ["Command", state.command ? el("code", {}, state.command) : ""], ["Plan", state.plan.join("; ")]]));
  }

  function bar(text, done, total) {
    return el("div", { class: "work" }, el("span", {}, text), el("progress", { max: Math.max(1, total), value: done, "aria-label": text }), el("span", { class: "number" }, `${count(done)} of ${count(total)}`));
  }

  function drawWork() {
    const alive = state.state === "running";
    byId("work").replaceChildren(
      el("p", { class: `overall ${alive ? "plain" : "warn"}`, role: "status" }, el("strong", {}, alive ? `▶ Running: ${state.counts}, ${count(state.n)} samples.` : `! Interrupted: ${state.counts}. `),
        alive ? "" : `Nothing was written since ${utc(state.changed)}. The same command again asks only for what is missing.`),
      stale ? el("p", { class: "banner warn" }, "The server does not answer: start audiobench view again.") : "",
      alive && state.total ? bar("Evals", state.done, state.total) : "",
      ...state.work.map((one) => bar(one.name, one.done, one.total)));
  }

  function evalRow(one) {
    const number = (text) => el("td", { class: "number" }, text);
    const score = one.score;
    return el("tr", {}, el("th", { scope: "row" }, one.name, state.models.length > 1 ? el("span", { class: "soft" }, ` · ${one.model}`) : null),
      el("td", {}, el("span", { class: `tag ${one.tone}` }, `${one.mark} ${one.outcome}`), one.message ? el("div", { class: "small soft" }, one.message) : null),
      el("td", {}, score ? score.metric : ""), el("td", { class: "number value" }, score ? score.value : ""), number(score ? score.interval : ""), number(count(one.n)), number(one.parseRate));
  }

  function drawEvals() {
    byId("evals").hidden = !state.rows.length;
    byId("evals").querySelector(".scroll")?.remove();
    byId("evals").append(table([["Eval"], ["Outcome"], ["Metric"], ["Value", true], ["Interval", true], ["n", true], ["Parse rate", true]], state.rows.map(evalRow), true));
    byId("waiting").hidden = !state.left;
    byId("waiting").querySelector("ul")?.remove();
    byId("waiting").append(el("ul", { class: "small" }, state.waiting.map((one) => el("li", {}, one.name, state.models.length > 1 ? ` · ${one.model}` : "")),
      state.left > state.waiting.length ? el("li", { class: "soft" }, `and ${count(state.left - state.waiting.length)} more`) : null));
  }

  async function ask() {
    try {
      const reply = await fetch("live.json", { headers: etag ? { "If-None-Match": etag } : {}, cache: "no-store" });
      stale = false;
      if (reply.status === 200) {
        const found = await reply.json();
        if (found.state === "finished") { location.reload(); return; }
        [state, etag] = [found, reply.headers.get("ETag") || ""];
        drawWork();
        drawEvals();
      }
    } catch {
      stale = true;
      drawWork();
    }
    setTimeout(ask, document.hidden ? 10 * AGAIN_MS : AGAIN_MS);
  }

  drawHeading();
  drawWork();
  drawEvals();
  byId("footer").append("Shown by audiobench view while the run goes on; its page follows once it has ended.");
  setTimeout(ask, AGAIN_MS);
